package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tvmgo/include"
	"tvmgo/internal/cc"
	"tvmgo/runtime"
)

// buildJob is the state of one export: modules are written into a folder as sources, compiled, and linked into one
// output.
type buildJob struct {
	*toolchain
	ctx    context.Context
	tree   *tree
	config *config
	dir    string
	out    *output

	sources    []string        // lib0.c, lib1.o …: base names, in the order of the linked modules
	units      []string        // lib0_1.c …: the further sources of modules that are compiled as several sources
	own        map[string]bool // sources that include only headers of this Go module and of the system
	id         string          // of the compiler
	identified sync.Once
	flags      map[string][]string // of one source
	lang       cc.Language         // that all sources need
	blobSize   int64               // 0: there is no blob
	objects    []string            // base names of the files that are linked
	bare       bool                // the compiler is for another machine, whose libraries are not installed here
}

const blobFile = "devc.bin"

func (b *buildJob) build() error {
	if err := b.writeSources(); err != nil {
		return err
	}
	if err := b.writeHeaders(); err != nil {
		return err
	}
	if b.config.compile != nil {
		return b.buildCustom()
	}
	if done, err := b.buildOfOne(); done || err != nil {
		return err
	}
	command, err := b.findTools()
	if err != nil {
		return err
	}
	if err := b.useCompiler(command); err != nil {
		return err
	}
	defer os.RemoveAll(b.tempDir)
	if b.config.sysroot != "" {
		b.command = append(b.command, "--sysroot="+b.config.sysroot)
	}
	suffix := filepath.Ext(b.out.path)
	var child *checker
	if suffix == sharedSuffix && !b.config.static {
		child = startChecker(b.toolchain, b.dir)
		defer child.stop()
	}
	if err := b.compileAll(); err != nil {
		return err
	}
	began := time.Now()
	switch suffix {
	case archiveSuffix:
		err = b.archive()
	case tarSuffix:
		err = b.tar()
	case objectSuffix:
		err = b.object()
	default:
		err = b.link()
	}
	if err != nil {
		return err
	}
	b.report(filepath.Base(b.out.path), began, false)
	mode := fs.FileMode(0o666)
	if suffix == sharedSuffix {
		mode = 0o777
		if err := b.checkLibrary(child); err != nil {
			return err
		}
	}
	return b.out.publish(mode)
}

func (b *buildJob) useCompiler(command []string) error {
	b.toolchain = &toolchain{ctx: b.ctx, command: command, keepDir: b.kept(), stubs: b.bare,
		tempDir: filepath.Join(b.dir, "tmp"),
		nvcc:    strings.HasPrefix(filepath.Base(command[0]), "nvcc")}
	return os.MkdirAll(b.tempDir, 0o777)
}

// kept returns the folder if it is kept, else "".
func (b *buildJob) kept() string {
	if b.config.keep == "" {
		return ""
	}
	return b.dir
}

// writeSources saves the modules into the folder: linked ones as a file each, the others as the blob.
func (b *buildJob) writeSources() error {
	b.flags, b.own = map[string][]string{}, map[string]bool{}
	for k, i := range b.tree.linked() {
		n := b.tree.nodes[i]
		format, err := sourceFormat(n)
		if err != nil {
			return fmt.Errorf("%s: %w", b.tree.place(i), err)
		}
		name := fmt.Sprintf("lib%d.%s", k, format)
		units, err := b.unitsOf(n.module, format)
		if err != nil {
			return fmt.Errorf("%s: %w", b.tree.place(i), err)
		}
		if len(units) == 0 {
			err = n.module.SaveToFile(filepath.Join(b.dir, name), format)
		} else {
			err = b.writeUnits(name, units)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.tree.place(i), err)
		}
		if info, err := os.Stat(filepath.Join(b.dir, name)); err != nil || !info.Mode().IsRegular() {
			return runtime.Errorf(runtime.ErrFailed, "%s: SaveToFile wrote no file in the format %q", b.tree.place(i), format)
		}
		if b.flags[name], err = askFlags(n.module, format); err != nil {
			return fmt.Errorf("%s: %w", b.tree.place(i), err)
		}
		for k := range max(len(units)-1, 0) {
			b.flags[unitName(name, k+1)] = b.flags[name]
		}
		b.lang = max(b.lang, cc.Languages["."+format])
		b.sources = append(b.sources, name)
	}
	if !b.tree.needsBlob() {
		return nil
	}
	data, err := b.tree.blob(b.config.layout)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(b.dir, blobFile))
	if err != nil {
		return err
	}
	b.blobSize, err = data.WriteTo(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the imported modules: %w", err)
	}
	return nil
}

// sourceFormat returns the format in which a linked module is saved.
func sourceFormat(n *node) (string, error) {
	formats, err := writeFormats(n.module)
	if err != nil {
		return "", err
	}
	for _, f := range formats {
		if _, known := cc.Languages["."+f]; known || f == "o" {
			return f, nil
		}
	}
	if len(formats) > 0 {
		return "", runtime.Errorf(runtime.ErrNotSupported, "it is linked, but saved only as %s, which no compiler here "+
			"takes: c, cc, cpp, cu, ll, s or o "+
			"would do", strings.Join(formats, ", "))
	}
	if n.kind == "c" {
		return "c", nil
	}
	return "o", nil
}

// writeFormats returns the formats in which a module can be saved, the preferred one first.
func writeFormats(m *runtime.Module) ([]string, error) {
	f, err := runtime.Global("ffi.ModuleGetWriteFormats")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v, err := f.Call(m)
	if err != nil {
		return nil, err
	}
	var formats []string
	list, _ := v.([]any)
	for _, x := range list {
		if s, ok := x.(string); ok {
			formats = append(formats, s)
		}
	}
	return formats, nil
}

// includeDir makes the directory with the headers of this Go module that the sources include.
const includeDir = "include"

func (b *buildJob) writeHeaders() error {
	if b.config.compile == nil && !b.hasText() {
		return nil
	}
	to := filepath.Join(b.dir, includeDir)
	if err := os.RemoveAll(to); err != nil { // of an earlier run with KeepFiles
		return err
	}
	return os.CopyFS(to, include.Files)
}

func (b *buildJob) hasText() bool {
	for _, s := range b.sources {
		if filepath.Ext(s) != ".o" {
			return true
		}
	}
	return false
}

// compileAll turns sources and blob into objects, several at once.
func (b *buildJob) compileAll() error {
	var steps []func() error
	for _, s := range slices.Concat(b.sources, b.units) {
		object := strings.TrimSuffix(s, filepath.Ext(s)) + ".o"
		b.objects = append(b.objects, object)
		if object != s {
			steps = append(steps, func() error { return b.compileSource(s, object) })
		}
	}
	if b.blobSize > 0 {
		object := b.config.prefix + "devc.o"
		b.objects = append(b.objects, object)
		steps = append(steps, func() error { return b.compileBlob(object) })
	}
	if err := together(steps); err != nil {
		return err
	}
	if len(b.sources) > 1 {
		if err := b.shareContext(); err != nil {
			return err
		}
	}
	if b.config.system {
		return b.register()
	}
	return nil
}

// together runs steps concurrently and returns the first error in their order.
func together(steps []func() error) error {
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	room := make(chan struct{}, max(goruntime.GOMAXPROCS(0), 1))
	for i, step := range steps {
		wg.Go(func() {
			room <- struct{}{}
			errs[i] = step()
			<-room
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// isText are the suffixes of sources that can include a header.
var isText = map[string]bool{".c": true, ".cc": true, ".cpp": true}

// compileSource compiles one source. It runs in the caller's folder, because flags may contain relative paths.
func (b *buildJob) compileSource(source, object string) error {
	args := []string{"-c", "-O2"}
	if b.nvcc {
		args = append(args, "-Xcompiler=-fPIC")
	} else {
		args = append(args, "-fPIC", "-frandom-seed="+object)
		args = append(args, "-ffile-prefix-map="+b.dir+"=.")
		if cwd, err := os.Getwd(); err == nil {
			args = append(args, "-ffile-prefix-map="+cwd+"=.")
		}
	}
	if filepath.Ext(source) == ".ll" {
		command, err := b.clang()
		if err != nil {
			return err
		}
		_, err = b.run(b.dir, append(command, "-c", "-fPIC", "-O2", source, "-o", object)...)
		return err
	}
	for _, dir := range append(append([]string(nil), b.config.includes...), filepath.Join(b.dir, includeDir)) {
		args = append(args, "-I"+dir)
	}
	args = append(args, b.flags[source]...)
	args = append(args, b.config.flags...)
	if !b.nvcc && isText[filepath.Ext(source)] && b.hasText() { // otherwise there are no headers
		args = append(args, "-include", filepath.Join(b.dir, includeDir, include.CPUNote))
	}
	if filepath.Ext(source) == ".c" && !b.nvcc {
		args = append(args, "-x", "c") // a C++ compiler would take it for C++
	}
	return b.cached(source, object, args, func() error {
		return b.compiler("", append(args, filepath.Join(b.dir, source), "-o", filepath.Join(b.dir, object))...)
	})
}

// compileBlob makes the object that carries the blob. Its sources name each other, so that it runs in their folder.
func (b *buildJob) compileBlob(object string) error {
	began := time.Now()
	defer func() { b.report(object, began, false) }()
	source, err := b.writeBlobSource()
	if err != nil {
		return err
	}
	if b.config.packing == PackLLVM {
		command, err := b.clang()
		if err != nil {
			return err
		}
		_, err = b.run(b.dir, append(command, "-c", "-fPIC", source, "-o", object)...)
		return err
	}
	args := []string{"-c", "-fPIC"}
	if b.config.packing == PackC {
		args = append(args, "-x", "c")
	}
	args = append(args, source, "-o", object)
	if b.nvcc { // it takes no assembler sources
		host, err := findCompiler(&config{}, cc.C)
		if err != nil {
			return err
		}
		_, err = b.run(b.dir, append(host, args...)...)
		return err
	}
	for _, flag := range b.config.flags {
		if strings.HasPrefix(flag, "-m") || strings.HasPrefix(flag, "--target=") { // which machine the object is for
			args = append(args, flag)
		}
	}
	return b.compiler(b.dir, args...)
}

// writeBlobSource writes the source that contains the blob, and returns its base name.
func (b *buildJob) writeBlobSource() (string, error) {
	symbol := blobSymbol(b.config.layout, b.config.prefix)
	base := b.config.prefix + "devc"
	switch b.config.packing {
	case PackC:
		return base + ".c", b.translateBlob(base+".c", func(w io.Writer, r io.Reader) error {
			return writeC(w, symbol, r, b.blobSize, "")
		})
	case PackLLVM:
		return base + ".ll", b.translateBlob(base+".ll", func(w io.Writer, r io.Reader) error {
			return writeLLVM(w, symbol, r, b.blobSize, "", "")
		})
	}
	text := assemblerSource(symbol, blobFile, b.blobSize)
	return base + ".s", os.WriteFile(filepath.Join(b.dir, base+".s"), []byte(text), 0o666)
}

func (b *buildJob) translateBlob(name string, translate func(io.Writer, io.Reader) error) error {
	in, err := os.Open(filepath.Join(b.dir, blobFile))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(b.dir, name))
	if err != nil {
		return err
	}
	return errors.Join(translate(out, in), out.Close())
}

// clang returns the command that compiles LLVM IR for the compiler's machine.
func (b *buildJob) clang() ([]string, error) {
	if strings.Contains(filepath.Base(b.command[0]), "clang") {
		return append([]string(nil), b.command...), nil
	}
	path, err := cc.Tool("clang")
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrNotFound, "LLVM IR needs clang, which is not in PATH: install it (Debian: apt "+
			"install clang), or pack with "+
			"PackAssembler: %w", err)
	}
	triple, err := b.run("", append(append([]string(nil), b.command...), "-dumpmachine")...)
	if err != nil {
		return nil, err
	}
	return []string{path, "--target=" + strings.TrimSpace(triple), "-Wno-override-module"}, nil
}

// buildCustom builds with the caller's function.
func (b *buildJob) buildCustom() error {
	var files []string
	for _, s := range b.sources {
		files = append(files, filepath.Join(b.dir, s))
	}
	if b.blobSize > 0 {
		source, err := b.writeBlobSource()
		if err != nil {
			return err
		}
		files = append(files, filepath.Join(b.dir, source))
	}
	c := b.config
	files = append(files, c.objects...)
	options := CompileOptions{Dir: b.dir,
		Includes: append(append([]string(nil), c.includes...), filepath.Join(b.dir, includeDir)),
		Flags:    c.flags, Libraries: c.libraries, Sysroot: c.sysroot}
	if err := c.compile(b.ctx, b.out.temp, files, options); err != nil {
		return fmt.Errorf("the function of the option Compile: %w", err)
	}
	info, err := os.Stat(b.out.temp)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return runtime.Errorf(runtime.ErrFailed, "the function of the option Compile returned without an error and wrote "+
			"nothing to %s", b.out.temp)
	}
	var child *checker
	if !c.static {
		if command, err := findCompiler(&config{}, cc.C); err == nil {
			if err := b.useCompiler(command); err != nil {
				return err
			}
			defer os.RemoveAll(b.tempDir)
			child = startChecker(b.toolchain, b.dir)
			defer child.stop()
		}
	}
	if isSharedLibrary(b.out.temp) {
		if err := b.checkLibrary(child); err != nil {
			return err
		}
	}
	return b.out.publish(info.Mode().Perm() | 0o666)
}
