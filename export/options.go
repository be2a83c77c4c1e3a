package export

import (
	"context"
	"time"

	"tvmgo/blob"
)

// Option is an option of Library. No option changes what the modules compute.
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
	report    func(file string, took time.Duration, cached bool)
}

// Layout selects the layout of the serialized modules: blob.Modern (the default) for TVM v0.22 and newer, blob.Legacy
// for v0.20 and older.
func Layout(l blob.Layout) Option { return func(c *config) { c.layout, c.layoutIs = l, true } }

// Compiler names the compiler that compiles and links (of C, or of C++ or CUDA C++ if the modules need that), and
// arguments that it always gets. A cross compiler makes a library for its machine. The package comment says which
// compiler is the default.
func Compiler(path string, args ...string) Option {
	return func(c *config) { c.compiler = append([]string{path}, args...) }
}

// Sysroot is the directory with the headers and libraries of the machine that the library is for.
func Sysroot(dir string) Option { return func(c *config) { c.sysroot = dir } }

// Flags adds arguments for compiling and linking, for example "-O3" or "-Ldirectory", after those of this package.
func Flags(flags ...string) Option {
	return func(c *config) { c.flags = append(c.flags, flags...) }
}

// Includes adds directories with headers, which are searched before those of this module.
func Includes(dirs ...string) Option {
	return func(c *config) { c.includes = append(c.includes, dirs...) }
}

// Objects adds files to link: objects, archives, libraries.
func Objects(paths ...string) Option {
	return func(c *config) { c.objects = append(c.objects, paths...) }
}

// Libraries adds libraries to link, by name: "m" stands for -lm. For "a|b" the first one that the compiler finds is
// linked. A linked module can request libraries itself, by a function get_link_libraries that lists them.
func Libraries(names ...string) Option {
	return func(c *config) { c.libraries = append(c.libraries, names...) }
}

// SystemLibrary makes the functions and the block of modules register themselves when the program that they are linked
// into starts. runtime.SystemLib(prefix), or the global function ffi.SystemLib, finds them. The prefix precedes each
// name, so that one program can link several such libraries; it is empty or the start of a C identifier. Files with the
// suffix .a always do this, by default with an empty prefix. Link them with -Wl,--whole-archive, because nothing refers
// to their names.
func SystemLibrary(prefix string) Option {
	return func(c *config) { c.system, c.prefix = true, prefix }
}

// Packing is the form in which the compiler gets the block of serialized modules.
type Packing int

const (
	PackAssembler Packing = iota // included by the assembler: fast for any size
	PackC                        // a C array, which every compiler supports, but compiles slowly
	PackLLVM                     // LLVM IR, compiled by clang
)

// Pack selects how the block of serialized modules is compiled. The default is PackAssembler.
func Pack(p Packing) Option {
	return func(c *config) { c.packing = p }
}

// CompileFunc builds output from files, which are sources and objects: lib0.c, lib1.o, devc.s, then those of Objects.
// If ctx ends it should stop.
type CompileFunc func(ctx context.Context, output string, files []string, options CompileOptions) error

// CompileOptions holds the settings that Library passes to a CompileFunc.
type CompileOptions struct {
	Dir       string   // of the sources; devc.s includes devc.bin, which lies there, by its bare name
	Includes  []string // folders with headers
	Flags     []string
	Libraries []string
	Sysroot   string
}

// Compile builds with a Go function instead of a compiler. Every suffix of the path is allowed then.
func Compile(f CompileFunc) Option { return func(c *config) { c.compile = f } }

// KeepFiles keeps the compiler's input and output in a directory, which is created if necessary: sources, objects,
// devc.bin.
func KeepFiles(dir string) Option { return func(c *config) { c.keep = dir } }

// Report calls a function after each file that is compiled or linked, with the name of the output, such as lib0.o, and
// the time that it took. cached says that the compiler was not called. Several goroutines may call it at once.
func Report(f func(file string, took time.Duration, cached bool)) Option {
	return func(c *config) { c.report = f }
}

// StaticCheck checks the library without loading it in a child process. Use it for a library that needs something that
// this machine lacks, such as a device's driver. Libraries for other machines are never loaded.
func StaticCheck() Option { return func(c *config) { c.static = true } }
