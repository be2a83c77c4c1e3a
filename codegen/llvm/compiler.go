package llvm

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tvmgo/include"
	"tvmgo/internal/clang"
	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/diskcache"
	"tvmgo/internal/unfinished"
	"tvmgo/runtime"
	"tvmgo/target"
)

// headers replace those of the C library.
//
//go:embed headers/*.h
var headers embed.FS

// compiler is clang for one target.
type compiler struct {
	clang   *clang.Clang
	target  *target.Target
	options *options
	machine string // what objects are for
}

// newCompiler finds clang and checks that it accepts the target.
func newCompiler(ctx context.Context, t *target.Target) (*compiler, error) {
	o, err := readOptions(t)
	if err != nil {
		return nil, err
	}
	found, err := clang.Find(ctx)
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrNotSupported, "the C that kind llvm generates is compiled by clang: %w", err)
	}
	c := &compiler{clang: found, target: t, options: o}
	if err := c.probe(ctx); err != nil {
		return nil, c.explain(err)
	}
	return c, nil
}

// base are the arguments of every compilation: clang's own assembler, and code that may lie anywhere.
func (c *compiler) base() []string {
	args := append(c.options.flags(), "-fintegrated-as")
	if t, err := cpufeatures.Parse(c.options.triple); err == nil && strings.HasPrefix(t.OS, "win") {
		return args // where all code does
	}
	return append(args, "-fPIC")
}

// accepted maps flags that a compiler has accepted to the machine of its objects.
var accepted sync.Map

// probe compiles a tiny function with all flags. Features that LLVM doesn't know are an error.
func (c *compiler) probe(ctx context.Context) error {
	key := diskcache.Key(append(c.options.flags(), c.clang.ID())...)
	if known, ok := accepted.Load(key); ok {
		c.machine = known.(string)
		return nil
	}
	args := append(c.base(), "-x", "c", "-c", "-o", "-", "-")
	object, said, err := c.clang.Run(ctx, []byte("float probe(float x) { return x; }\n"), args...)
	if err != nil {
		return err
	}
	if unknownFeature().Match(said) {
		return &clang.RunError{Command: c.clang.Command(args...), Said: string(said), Err: os.ErrInvalid}
	}
	c.machine = machineOf(object)
	accepted.Store(key, c.machine)
	return nil
}

// form is a format that clang writes.
type form string

// The arguments of clang for each form.
var forms = map[form][]string{
	"ll": {"-S", "-emit-llvm"},
	"bc": {"-c", "-emit-llvm"},
	"s":  {"-S"},
	"o":  {"-c"},
}

// compile compiles generated C.
func (c *compiler) compile(ctx context.Context, code string, to form) ([]byte, error) {
	dir, err := unfinished.MkdirTemp("tvmgo-llvm-")
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrFailed, "no folder for the compiler: %w: set TMPDIR to one that can be written",
			err)
	}
	defer unfinished.Remove(dir)
	if err := writeHeaders(dir); err != nil {
		return nil, runtime.Errorf(runtime.ErrFailed, "write the headers: %w", err)
	}
	args := append(c.base(), "-std=gnu11", "-fno-math-errno", "-Werror=implicit-function-declaration", "-nostdlibinc",
		"-isystem", dir, "-include", filepath.Join(dir, include.CPUNote))
	args = append(append(args, forms[to]...), "-x", "c", "-o", "-", "-")
	out, _, err := c.clang.Run(ctx, []byte(code), args...)
	if err != nil && ctx.Err() == nil {
		err = runtime.Errorf(runtime.ErrFailed, "compile the generated C: %w", err)
	}
	return out, err
}

// writeHeaders writes the headers that generated code includes into a folder.
func writeHeaders(dir string) error {
	return eachHeader(func(path string, text []byte) error {
		to := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	})
}

func eachHeader(f func(path string, text []byte) error) error {
	own, err := fs.Sub(headers, "headers")
	if err != nil {
		return err
	}
	for _, from := range []fs.FS{own, include.Files} {
		err := fs.WalkDir(from, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".h") {
				return err
			}
			text, err := fs.ReadFile(from, path)
			if err != nil {
				return err
			}
			return f(path, text)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// headersID is a hash of the headers.
var headersID = sync.OnceValue(func() string {
	var parts []string
	_ = eachHeader(func(path string, text []byte) error { // which are part of the program, and can be read
		parts = append(parts, path, string(text))
		return nil
	})
	return diskcache.Key(parts...)
})
