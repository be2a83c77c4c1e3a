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
	return NewHostModule(code, names(m.Funcs), append(hostFlags(t), libraryFlags(m)...)...)
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
	for column, value := range map[string]any{ColumnPasses: hostPasses, target.ColumnPartitioner: target.Predicate(TakesFunctions)} {
		_ = target.SetAttr(hostKind, column, value) // a program may have set its own before
	}
}

// libraryFlags are the libraries that a program's calls of C functions need.
func libraryFlags(m *tir.IRModule) []string {
	for _, f := range m.Funcs {
		found := false
		tir.Walk(f.Body, func(node any) bool {
			c, ok := node.(*tir.Call)
			found = found || ok && c.Kind == tir.CallExtern && strings.HasPrefix(c.Name, "cblas_")
			return !found
		})
		if found {
			return []string{"-lopenblas|cblas|blas"}
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
// exported as any module of that kind, and its functions can be called at once: the first call of Function compiles it alone, with the
// flags, into a library that is kept on the disk for the next process (see TVMGO_CACHE_DIR), and that sees what the module imports.
// Flags that begin with -l are libraries that the code calls, which are linked at an export, too; see export.Libraries.
func NewHostModule(code string, names []string, flags ...string) (*runtime.Module, error) {
	source, err := runtime.NewCSource(code, "c", names, nil)
	if err != nil {
		return nil, err
	}
	h := &hostModule{source: source, code: code, names: slices.Clone(names)}
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

	mu      sync.Mutex
	imports []*runtime.Module // owned
	loaded  *runtime.Module
}

func (h *hostModule) Functions() []string { return slices.Clone(h.names) }

// librariesQuery is what package export asks.
const librariesQuery = "get_link_libraries"

func (h *hostModule) Function(name string) (*runtime.Function, error) {
	if name == export.FlagsQuery {
		list := make([]any, len(h.flags))
		for i, f := range h.flags {
			list[i] = f
		}
		return runtime.NewFunction(func(...any) (any, error) { return list, nil })
	}
	if !slices.Contains(h.names, name) {
		if name == librariesQuery {
			return runtime.NewFunction(func(...any) (any, error) {
				all := make([]any, len(h.libraries))
				for i, l := range h.libraries {
					all[i] = l
				}
				return all, nil
			})
		}
		return h.source.Function(name) // which answers questions of exporters
	}
	m, err := h.library()
	switch {
	case errors.Is(err, runtime.ErrNotFound): // of a compiler or library: it is not the function that is missing
		return nil, &runtime.Error{Kind: runtime.ErrNotSupported, Code: "NotSupportedError", Message: fmt.Sprintf("function %s of C source: %v", name, err)}
	case err != nil:
		return nil, fmt.Errorf("function %s of C source: %w", name, err)
	}
	return m.Function(name)
}

// library is the code as a library, compiled once.
func (h *hostModule) library() (*runtime.Module, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loaded != nil {
		return h.loaded, nil
	}
	m, err := h.compile(context.Background())
	if err != nil {
		return nil, err // the next call tries again
	}
	for _, dep := range h.imports {
		if err := m.Import(dep); err != nil {
			m.Close()
			return nil, err
		}
	}
	h.loaded = m
	return m, nil
}

// ImportsChanged lets the library import what the module does.
func (h *hostModule) ImportsChanged(list func() ([]*runtime.Module, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, err := list()
	if err != nil {
		return // no memory: what was there stays
	}
	before := h.imports
	h.imports = now
	defer closeAll(before)
	if h.loaded == nil {
		return
	}
	added := now
	if n := len(before); n <= len(now) && sameModules(before, now[:n]) {
		added = now[n:]
	} else if h.loaded.ClearImports() != nil {
		return
	}
	for _, dep := range added {
		_ = h.loaded.Import(dep) // no circle: the library is imported by nobody
	}
}

func sameModules(a, b []*runtime.Module) bool {
	return slices.EqualFunc(a, b, func(x, y *runtime.Module) bool { return x.ID() == y.ID() })
}

func closeAll(all []*runtime.Module) {
	for _, m := range all {
		m.Close()
	}
}

// cache has the libraries of all processes.
const cache = diskcache.Cache("host")

func (h *hostModule) compile(ctx context.Context) (*runtime.Module, error) {
	key := diskcache.Key("1", h.code, strings.Join(h.flags, "\x00"), strings.Join(h.libraries, "\x00"), headers(), compiler())
	if data := cache.Read(key); data != nil {
		if m, err := runtime.LoadBytes(ctx, data); err == nil {
			return m, nil
		} // else it is for another machine, or broken: compile it
	}
	dir, err := os.MkdirTemp("", "tvmgo-codegen-")
	if err != nil {
		return nil, fmt.Errorf("no folder for the library: %w: set TMPDIR to one that can be written", err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "host.so")
	// what the check would find, the load finds, too
	if err := export.Library(ctx, h.source, path, export.Flags(h.flags...), export.Libraries(h.libraries...), export.StaticCheck()); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := runtime.LoadBytes(ctx, data)
	if err != nil {
		return nil, err
	}
	_ = cache.Write(key, data) // which is only faster the next time
	return m, nil
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
	return h.describe(function, func(m *runtime.Module, function string) (string, error) {
		meta, err := m.Metadata(function)
		if err != nil {
			return "", err
		}
		return meta.Text, nil
	})
}

// Doc is the documentation of a function.
func (h *hostModule) Doc(function string) (string, error) {
	return h.describe(function, (*runtime.Module).Doc)
}

func (h *hostModule) describe(function string, ask func(*runtime.Module, string) (string, error)) (string, error) {
	if !slices.Contains(h.names, function) {
		return "", nil
	}
	m, err := h.library()
	if err != nil {
		return "", err
	}
	text, err := ask(m, function)
	if errors.Is(err, runtime.ErrNotFound) {
		return "", nil
	}
	return text, err
}

func (h *hostModule) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	closeAll(h.imports)
	err := h.source.Close()
	if h.loaded != nil {
		err = errors.Join(err, h.loaded.Close())
	}
	return err
}
