package export

import (
	"context"

	"tvmgo/blob"
)

// Option changes how a library is built. None of them changes what the modules compute.
type Option func(*config)

type config struct {
	layout    blob.Layout
	layoutIs  bool // was set
	packing   Packing
	compiler  []string
	sysroot   string
	flags     []string
	includes  []string
	objects   []string
	libraries []string
	system    bool
	prefix    string
	compile   CompileFunc
	keep      string
	static    bool
}

// Layout says for whom the block of serialised modules is laid out: blob.Modern (the default) is read by TVM v0.22 and newer,
// blob.Legacy by v0.20 and older.
func Layout(l blob.Layout) Option { return func(c *config) { c.layout, c.layoutIs = l, true } }

// Compiler names the C compiler (or C++ or CUDA compiler, if the modules need one) that compiles and links, and arguments that it
// always gets. A cross compiler gives a library for its machine. The default is searched for: see the package's comment.
func Compiler(path string, args ...string) Option {
	return func(c *config) { c.compiler = append([]string{path}, args...) }
}

// Sysroot is the folder that has the headers and libraries of the machine that the library is for.
func Sysroot(dir string) Option { return func(c *config) { c.sysroot = dir } }

// Flags are more arguments for compiling and linking, for example "-O3" or "-Lfolder". They come after those of this package.
func Flags(flags ...string) Option {
	return func(c *config) { c.flags = append(c.flags, flags...) }
}

// Includes are more folders to search for headers, before those of this module, which are always there.
func Includes(dirs ...string) Option {
	return func(c *config) { c.includes = append(c.includes, dirs...) }
}

// Objects are more files to link: objects, archives, libraries.
func Objects(paths ...string) Option {
	return func(c *config) { c.objects = append(c.objects, paths...) }
}

// Libraries are more libraries to link, by name: "m" stands for -lm. Of "a|b" the first is linked that the compiler finds. A linked module
// may ask for more, by a function get_link_libraries that lists them.
func Libraries(names ...string) Option {
	return func(c *config) { c.libraries = append(c.libraries, names...) }
}

// SystemLibrary makes the functions and the block of modules register themselves when the program that they are linked into
// starts, to be found by runtime.SystemLib(prefix) or the global function ffi.SystemLib. The prefix goes before each name, so that
// several such libraries fit into one program; it may be empty, else it must do as the start of a C identifier. It is what .a files
// always do, with an empty prefix by default. Link them with -Wl,--whole-archive, since no name in them is referred to.
func SystemLibrary(prefix string) Option {
	return func(c *config) { c.system, c.prefix = true, prefix }
}

// Packing is the form in which the block of serialised modules goes through the compiler.
type Packing int

const (
	PackAssembler Packing = iota // included by the assembler: any size in little time
	PackC                        // a C array, which every compiler understands, and is slow at
	PackLLVM                     // LLVM IR, compiled by clang
)

// Pack chooses how the block of serialised modules is compiled. The default is PackAssembler.
func Pack(p Packing) Option {
	return func(c *config) { c.packing = p }
}

// CompileFunc builds output out of files, which are sources and objects: lib0.c, lib1.o, devc.s, then those of [Objects]. When ctx
// ends it should stop.
type CompileFunc func(ctx context.Context, output string, files []string, options CompileOptions) error

// CompileOptions is what else a CompileFunc is told.
type CompileOptions struct {
	Dir       string   // of the sources; devc.s includes devc.bin, which lies there, by its bare name
	Includes  []string // folders with headers
	Flags     []string
	Libraries []string
	Sysroot   string
}

// Compile builds with a Go function instead of a compiler. It is given every suffix.
func Compile(f CompileFunc) Option { return func(c *config) { c.compile = f } }

// KeepFiles leaves what is compiled in a folder, which is made if it isn't there: sources, objects, devc.bin.
func KeepFiles(dir string) Option { return func(c *config) { c.keep = dir } }

// StaticCheck reads the library back without loading it in a child process. It is for libraries that need what this machine does
// not have, such as a device's driver. Those for other machines are never loaded.
func StaticCheck() Option { return func(c *config) { c.static = true } }
