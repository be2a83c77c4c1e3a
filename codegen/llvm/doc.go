// Package llvm builds for targets of kind llvm: the C of package codegen/c, compiled by clang.
//
//	import _ "tvmgo/codegen/llvm"
//
//	t, err := target.New("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+dotprod")
//	m, err := codegen.Build(program, t)
//	ir, err := m.GetSource("ll")            // also "c", "s" and "asm"
//	err = m.SaveToFile("program.o", "o")    // also "ll", "bc", "s" and "c"
//	err = export.Library(ctx, m, "program.so")
//
// # The compiler
//
// It is clang of PATH, or the newest clang-N there, or what the environment variable TVMGO_CLANG names, of version 11 or newer. Build
// asks it at once whether it takes the target, so that a triple, a CPU or a feature that it doesn't know is an error there.
//
// No header of a C library is used. Compiling for another machine needs nothing of that machine, and gives the same object everywhere;
// only linking a shared library for it takes a linker: see package export.
//
// # The target's options
//
//	mtriple       the machine; without it, and without mcpu, the one that this program was built for
//	mcpu          as LLVM names it; "native" is the CPU of this machine
//	mattr         features, +name and -name, as LLVM names them
//	mabi          the calling convention, where the architecture has several
//	mfloat-abi    likewise: of Arm, MIPS and PowerPC; "hard" is how all others do it
//	opt-level     0 to 3; 3 if it is not given
//	fast-math     and the six options that it stands for: what the compiler may assume of floats. Without them it only makes one operation
//	              of a product and its sum, where the CPU has that; fast-math-contract=0 has it leave that, too
//	vector-width  how many bits vectors should have that the compiler makes itself
//	cl-opt        options of LLVM itself: -name or -name=value; a type, -name:int=value, may stand between
//	alias-check   0: functions do not compare the memory of their arguments (see package codegen/c)
//	bounds-check  functions check the indices that are not proved to be within their buffers
//	num-cores     is for schedules, and changes nothing here
//	system-lib    is for whoever exports: export.SystemLibrary, and .a files always are one
//
// jit is refused: code that is called at once goes through a library, too.
//
// # Calling at once
//
// A function of such a module can be called where the target is this machine: the first one that is asked for compiles and links
// the module into a library, which is kept on the disk for the next process (see TVMGO_CACHE_DIR).
package llvm
