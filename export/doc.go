// Package export writes a tree of modules into one shared library, which this runtime and Apache TVM load:
//
//	err := export.Library(ctx, m, "deploy.so")
//
// # What is written
//
// Modules that can be linked (runtime.Exportable: kinds c and static_library) are saved as lib0.c, lib1.o …, compiled,
// and become the library itself. All others are serialised into a block of data with the import tree (package blob). A
// root that is linked and imports nothing needs no such block.
//
// The linked modules become one module, which imports what any of them imports. If a linked module imports one that is
// not linked, and that one imports another linked module, the result would import itself: such a tree cannot be
// exported, and the error names these modules.
//
// A tree with one loaded library and nothing to compile, as [runtime.Load] returns it, is written by copying that
// library. If its imports have changed, the copy gets another block of data; a library that was exported without a
// block has no space for one. That library, and loaded libraries in other trees, are serialised as a whole, as kind
// library, which this runtime reads and Apache TVM's does not.
//
// # How it is built
//
// The compiler is the system's C compiler: $CC, or the first of cc, gcc and clang that is found; for a module in C++
// $CXX, c++, g++ or clang++; for one in CUDA C++ nvcc. [Compiler] selects another one, also for other machines, and
// [Compile] a Go function. The suffix of the path selects the form:
//
//	.so   a shared library
//	.a    a static library that registers itself when the program starts: see [SystemLibrary]
//	.tar  the objects, to be linked later
//	.o    all of them as one object
//
// Modules that are objects for another machine, as those of kind llvm can be, are linked by GCC for that machine
// (aarch64-linux-gnu-gcc), or else by clang with lld, which need none of its libraries. A single object is written to
// .tar and .o without any tool.
//
// The same tree gives the same bytes, whatever the folder, the time and the user.
//
// # What is checked
//
// Before a file gets its name it is read back: it must be complete, for the right machine, have the functions that the
// modules list, and contain the block of data unchanged. A child process then loads a shared library for this machine:
// a small program, built with the same compiler, that resolves everything which the library needs besides the runtime.
// No code of the calling program runs twice. [StaticCheck] omits the child process; the copy of a loaded library is not
// loaded again.
//
// Nothing appears under the path before all checks have passed, and if anything fails, an earlier file there stays. No
// other files remain; [KeepFiles] names a folder for the compiler's input, which the error of a failed compiler, a
// [CompileError], names.
package export
