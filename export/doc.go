// Package export writes a tree of modules into one shared library, which this runtime and Apache TVM load:
//
//	err := export.Library(ctx, m, "deploy.so")
//
// # What becomes of the modules
//
// Modules that can be linked (runtime.Exportable: kinds c and static_library) are saved as lib0.c, lib1.o …, compiled, and become
// the library itself. All others are serialised, and stand in the library as a block of data with the tree of imports (package
// blob). A root that is linked and imports nothing needs no such block.
//
// The linked modules become one: what one of them imports, all of them do. Where that would close a circle, because a linked
// module imports one that is not linked, which in turn imports another linked one, the tree can't be exported, and the error says
// which modules these are.
//
// A tree with one loaded library and nothing to compile, as [runtime.Load] returns it, is written by copying that library. If it
// imports something else by now, the copy gets another block of data; a library that was exported without any has no place for one.
// That one, and loaded libraries in other trees, are serialised whole, as kind library, which this runtime reads and Apache TVM's does
// not.
//
// # How it is built
//
// By the system's C compiler: $CC, or the first of cc, gcc and clang that is found; $CXX, c++, g++ and clang++ when a module is in
// C++; nvcc when one is in CUDA C++. [Compiler] names another, also for other machines, and [Compile] takes a Go function in its
// place. The suffix of the path says what is built:
//
//	.so   a shared library
//	.a    a static library that registers itself when the program starts: see [SystemLibrary]
//	.tar  the objects, to be linked later
//	.o    all of them as one object
//
// Modules that are objects for another machine already, as those of kind llvm can be, are linked by GCC for that machine
// (aarch64-linux-gnu-gcc), or else by clang with lld, which need none of its libraries. A single object goes into .tar and .o without any tool.
//
// The same tree gives the same bytes, whatever the folder, the time and the user.
//
// # What is proven
//
// Before a file takes its name it is read back: that it is complete, for the right machine, has the functions that the modules
// list, and carries the block of data unchanged. A shared library for this machine is then loaded by a child process, a small
// program built with the same compiler, which resolves all that the library needs besides the runtime; nothing of the caller's own
// program runs twice. [StaticCheck] leaves that out; the copy of a loaded library is not loaded again.
//
// Nothing appears under the path before all that is done, and what was there stays when something fails. Nothing is left
// elsewhere either; [KeepFiles] names a folder for what a compiler was given, which the error of one that fails, a [CompileError], names.
package export
