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
// The compiler is clang in PATH, or the newest clang-N there, or the one that the environment variable TVMGO_CLANG
// names, of version 11 or newer. Build asks it at once whether it accepts the target, so an unknown triple, CPU or
// feature is an error of Build.
//
// No header of a C library is used. Compiling for another machine needs nothing of that machine, and gives the same
// object everywhere; only linking a shared library for it needs a linker: see package export.
//
// # Target options
//
//	mtriple       the machine; default, if mcpu is not set either: the machine that this program was built for
//	mcpu          by LLVM's name; "native" is the CPU of this machine
//	mattr         features by LLVM's names, +name and -name
//	mabi          the calling convention, if the architecture has several
//	mfloat-abi    the same for Arm, MIPS and PowerPC; all others use "hard"
//	opt-level     0 to 3, default 3
//	fast-math     and the six options that it stands for: what the compiler may assume of floats. By default it only
//	              contracts a product and its sum, where the CPU can; fast-math-contract=0 forbids this too
//	vector-width  how many bits the vectors have that the compiler makes itself
//	cl-opt        options of LLVM itself: -name or -name=value, also with a type, -name:int=value
//	alias-check   0: functions do not compare the memory of their arguments (see package codegen/c)
//	bounds-check  functions check the indices that are not proved to be within their buffers
//	num-cores     is used by schedules only
//	system-lib    is used by exporters: export.SystemLibrary; a .a file always is a system library
//
// Option jit is an error: code that is called at once is a library, too.
//
// # Calling functions
//
// If the target is this machine, functions of the module can be called: the first look-up compiles and links the module
// into a library, which is kept on disk for other processes (see TVMGO_CACHE_DIR).
package llvm
