package codegen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"tvmgo/codegen/c"
	"tvmgo/codegen/internal/atonce"
	"tvmgo/export"
	"tvmgo/include"
	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/diskcache"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// hostKind is the kind of target that this package builds itself.
const hostKind = "c"

// buildHost is target.build.c.
func buildHost(m *tir.IRModule, t *target.Target) (*runtime.Module, error) {
	var e c.Emitter
	code, err := e.Emit(m, t)
	if err != nil {
		return nil, fail(runtime.ErrInvalidArgument, "ValueError", "%w", err)
	}
	flags := hostFlags(t)
	for _, l := range Libraries(m) {
		flags = append(flags, "-l"+l)
	}
	return NewHostModule(code, names(m.Funcs), flags...)
}

// hostPasses run before C is written.
var hostPasses = func() []Pass {
	all := []Pass{transform.LibraryCalls} // while products are loops
	for _, p := range transform.ForC() {
		all = append(all, p)
	}
	return all
}()

func init() {
	if err := AsHost(hostKind); err != nil {
		panic(fmt.Sprintf("codegen: %v", err)) // it is always there
	}
}

// AsHost gives a kind of target the columns of kind c: the passes before C is written, and a partitioner that takes functions for the CPU. What a
// program has set before stays. It fails where there is no such kind.
func AsHost(kind string) error {
	for column, value := range map[string]any{ColumnPasses: hostPasses, target.ColumnPartitioner: target.Predicate(TakesFunctions)} {
		if err := target.SetAttr(kind, column, value); err != nil && !errors.Is(err, target.ErrDuplicate) {
			return fail(runtime.ErrInvalidArgument, "ValueError", "build kind %q as kind %s: %w", kind, hostKind, err)
		}
	}
	return nil
}

// Libraries are the libraries that a program's calls of C functions need, as export.Libraries takes them.
func Libraries(m *tir.IRModule) []string {
	for _, f := range m.Funcs {
		found := false
		tir.Walk(f.Body, func(node any) bool {
			c, ok := node.(*tir.Call)
			found = found || ok && c.Kind == tir.CallExtern && strings.HasPrefix(c.Name, "cblas_")
			return !found
		})
		if found {
			return []string{"openblas|cblas|blas"}
		}
	}
	return nil
}

// hostFlags are what the C compiler is told of the target's processor.
func hostFlags(t *target.Target) []string {
	var flags []string
	if v, err := target.Get[string](t, "march"); err == nil && v != "" {
		flags = append(flags, "-march="+v)
	}
	if v, err := target.Get[string](t, "mcpu"); err == nil && v != "" {
		flags = append(flags, cpuFlag(v))
	}
	return flags
}

// cpuFlag is what GCC calls a processor's option: on x86, where -march chooses the instructions, it is what to tune for.
func cpuFlag(cpu string) string {
	name, _, _ := strings.Cut(cpu, "+")
	for _, triple := range []string{"aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"} {
		if name != "generic" && cpufeatures.ValidCPU(triple, name) {
			return "-mcpu=" + cpu
		}
	}
	if goruntime.GOARCH == "amd64" || goruntime.GOARCH == "386" || cpufeatures.ValidCPU("x86_64-linux-gnu", name) {
		return "-mtune=" + cpu
	}
	return "-mcpu=" + cpu
}

// NewHostModule makes a module of kind c from code that defines the functions of these names, as package codegen/c writes it. It can be
// exported as any module of that kind, with the flags, and its functions can be called at once: the first call of Function compiles it alone, with the
// flags, into a library that is kept on the disk for the next process (see TVMGO_CACHE_DIR), and that sees what the module imports.
// Flags that begin with -l are libraries that the code calls, which are linked at an export, too; see export.Libraries.
func NewHostModule(code string, names []string, flags ...string) (*runtime.Module, error) {
	source, err := runtime.NewCSource(code, "c", names, nil)
	if err != nil {
		return nil, err
	}
	h := &hostModule{source: source, code: code, names: slices.Clone(names)}
	h.library.Make = h.compile
	for _, f := range flags {
		if l, ok := strings.CutPrefix(f, "-l"); ok {
			h.libraries = append(h.libraries, l)
		} else {
			h.flags = append(h.flags, f)
		}
	}
	m, err := runtime.NewModule(hostKind, runtime.Serializable|runtime.Runnable|runtime.Exportable, h)
	if err != nil {
		source.Close()
	}
	return m, err
}

// hostModule is C that is compiled when it is first called.
type hostModule struct {
	source    *runtime.Module
	code      string
	names     []string
	flags     []string
	libraries []string
	library   atonce.Library
}

func (h *hostModule) Functions() []string { return slices.Clone(h.names) }

func (h *hostModule) Function(name string) (*runtime.Function, error) {
	switch {
	case slices.Contains(h.names, name):
	case name == export.FlagsQuery:
		return atonce.Texts(h.flags)
	case name == export.LibrariesQuery:
		return atonce.Texts(h.libraries)
	default:
		return h.source.Function(name) // which answers questions of exporters
	}
	m, err := h.library.Module()
	switch {
	case errors.Is(err, runtime.ErrNotFound): // of a compiler or library: it is not the function that is missing
		return nil, &runtime.Error{Kind: runtime.ErrNotSupported, Code: "NotSupportedError", Message: fmt.Sprintf("function %s of C source: %v", name, err)}
	case err != nil:
		return nil, fmt.Errorf("function %s of C source: %w", name, err)
	}
	return m.Function(name)
}

// ImportsChanged lets the library import what the module does.
func (h *hostModule) ImportsChanged(list func() ([]*runtime.Module, error)) {
	h.library.ImportsChanged(list)
}

// cache has the libraries of all processes.
const cache = diskcache.Cache("host")

func (h *hostModule) compile() (*runtime.Module, error) {
	key := diskcache.Key("1", h.code, strings.Join(h.flags, "\x00"), strings.Join(h.libraries, "\x00"), headers(), compiler())
	ctx := context.Background()
	return atonce.Load(ctx, cache, key, func(path string) error {
		// what the check would find, the load finds, too
		return export.Library(ctx, h.source, path, export.Flags(h.flags...), export.Libraries(h.libraries...), export.StaticCheck())
	})
}

// headers is a name for what the code includes.
var headers = sync.OnceValue(func() string {
	parts := []string{}
	_ = fs.WalkDir(include.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(include.Files, path)
		parts = append(parts, path, string(b))
		return err
	})
	return diskcache.Key(parts...)
})

// compiler is a name for what export compiles with.
func compiler() string {
	names := []string{"cc", "gcc", "clang"}
	if words := strings.Fields(os.Getenv("CC")); len(words) > 0 {
		names = words[:1]
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			return fmt.Sprint(os.Getenv("CC"), path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return ""
}

func (h *hostModule) GetSource(format string) (string, error) { return h.source.GetSource(format) }
func (h *hostModule) SaveToBinary() ([]byte, error)           { return h.source.SaveToBinary() }
func (h *hostModule) WriteFormats() []string                  { return []string{"c"} }

func (h *hostModule) SaveToFile(path, format string) error { return h.source.SaveToFile(path, format) }

// Metadata is what the code says of a function, which is compiled for it.
func (h *hostModule) Metadata(function string) (string, error) {
	if !slices.Contains(h.names, function) {
		return "", nil
	}
	return h.library.Metadata(function)
}

// Doc is the documentation of a function.
func (h *hostModule) Doc(function string) (string, error) {
	if !slices.Contains(h.names, function) {
		return "", nil
	}
	return h.library.Doc(function)
}

func (h *hostModule) Close() error { return errors.Join(h.source.Close(), h.library.Close()) }
