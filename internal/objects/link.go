package objects

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/include"
	"tvmgo/internal/cc"
	"tvmgo/internal/unfinished"
)

// NoCompilerError says that the compiler which is needed is not there.
type NoCompilerError struct{ Err error }

func (e *NoCompilerError) Error() string {
	return "it has to be linked, and " + e.Err.Error() + ", or link it where there is a compiler (cc -shared) and " +
		"load the library"
}

func (e *NoCompilerError) Unwrap() error { return e.Err }

// LinkError says why the compiler could not link.
type LinkError struct {
	Command []string
	Output  string
	Err     error
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s: %v\n%s", strings.Join(e.Command, " "), e.Err, strings.TrimSpace(e.Output))
}

func (e *LinkError) Unwrap() error { return e.Err }

// Link makes a shared library of an object file, or of the objects and sources in an archive. Nothing of them runs, and
// nothing is left in the folder of temporary files, also when ctx ends, which stops the compiler.
func Link(ctx context.Context, r io.ReaderAt, size int64) (library []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := unfinished.MkdirTemp("tvmgo-link-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := unfinished.Remove(dir); e != nil && err == nil {
			library, err = nil, e
		}
	}()
	l := &linker{ctx: ctx, dir: dir}
	for _, sub := range []string{"in", "out", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	if err := l.extract(r, size); err != nil {
		return nil, err
	}
	if err := l.compile(); err != nil {
		return nil, err
	}
	return l.link()
}

type linker struct {
	ctx     context.Context
	dir     string
	sources []string // paths
	objects []string
	lang    cc.Language // that linking needs
}

func (l *linker) extract(r io.ReaderAt, size int64) error {
	head := make([]byte, 262)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if isObject, _ := IsObject(head[:n]); isObject {
		return l.add("object.o", io.NewSectionReader(r, 0, size))
	}
	return Each(r, size, func(name string, _ int64, content io.Reader) error { return l.add(name, content) })
}

// add writes a file into the folder.
func (l *linker) add(name string, content io.Reader) error {
	path, suffix := filepath.Join(l.dir, "in", name), filepath.Ext(name)
	lang, isSource := cc.Languages[suffix]
	if strings.HasPrefix(name, "._") { // what another system writes beside each file
		return nil
	}
	if !isSource && suffix != ".o" {
		return fmt.Errorf("%.100q in the archive is neither an object (.o) nor a source (.c, .cc, .cpp, .cu, .s): "+
			"leave it out", name)
	}
	if suffix == ".ll" {
		return fmt.Errorf("%.100q in the archive is LLVM IR: compile it with clang -c, and put the object into "+
			"the archive", name)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, withContext{l.ctx, content})
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if isSource {
		l.sources = append(l.sources, path)
		l.lang = max(l.lang, lang)
		return nil
	}
	l.objects = append(l.objects, path)
	if l.lang == cc.C && needsCXX(path) {
		l.lang = cc.CXX
	}
	return nil
}

// withContext ends reading with a context.
type withContext struct {
	ctx context.Context
	r   io.Reader
}

func (r withContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// cxxNames begin the names that C++'s library defines.
var cxxNames = []string{"_ZSt", "_ZNSt", "_ZNKSt", "_ZTVN10__cxxabi", "_Znw", "_Zna", "_Zdl", "_Zda",
	"__cxa_", "__gxx_"}

// needsCXX says whether an object calls C++'s library. What cannot be read the linker will refuse.
func needsCXX(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	symbols, err := f.Symbols()
	return err == nil && slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return s.Section == elf.SHN_UNDEF && s.Name != "__cxa_finalize" && s.Name != "__cxa_atexit" &&
			slices.ContainsFunc(cxxNames, func(prefix string) bool { return strings.HasPrefix(s.Name, prefix) })
	})
}

// baseHeader is what sources that Apache TVM generates include beside the headers of the ABI.
const baseHeader = `#ifndef TVM_DLL
#define TVM_DLL __attribute__((visibility("default")))
#endif
`

// compile turns sources into objects.
func (l *linker) compile() error {
	if len(l.sources) == 0 {
		return nil
	}
	headers := filepath.Join(l.dir, "include")
	if err := os.CopyFS(headers, include.Files); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(headers, "tvm", "runtime", "base.h"), []byte(baseHeader), 0o600); err != nil {
		return err
	}
	for i, source := range l.sources {
		lang := cc.Languages[filepath.Ext(source)]
		object := filepath.Join(l.dir, "out", fmt.Sprintf("source%d.o", i))
		pic := "-fPIC"
		if lang == cc.CUDA {
			pic = "-Xcompiler=-fPIC"
		}
		if err := l.run(lang, "-c", "-O2", pic, "-I"+headers, source, "-o", object); err != nil {
			return err
		}
		l.objects = append(l.objects, object)
	}
	return nil
}

func (l *linker) link() ([]byte, error) {
	out := filepath.Join(l.dir, "out", "library.so")
	args := append([]string{"-shared", "-o", out}, l.objects...)
	if l.lang != cc.CUDA {
		args = append(args, "-fPIC", "-Wl,--as-needed", "-lm")
	}
	if err := l.run(l.lang, args...); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

func (l *linker) run(lang cc.Language, args ...string) error {
	command, err := cc.Find(lang, "")
	if err != nil {
		return &NoCompilerError{err}
	}
	command = append(command, args...)
	cmd := unfinished.Command(l.ctx, command[0], command[1:]...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+filepath.Join(l.dir, "tmp"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	if cause := l.ctx.Err(); cause != nil {
		return cause
	}
	if err != nil {
		clean := strings.NewReplacer(filepath.Join(l.dir, "in")+"/", "", l.dir+"/", "")
		for i := range command {
			command[i] = clean.Replace(command[i])
		}
		return &LinkError{Command: command, Output: clean.Replace(cc.Excerpt(said.String())), Err: err}
	}
	return nil
}
