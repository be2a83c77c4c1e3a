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
	names := make([]string, len(m.Funcs))
	for i, f := range m.Funcs {
		names[i] = f.Name
	}
	return NewHostModule(code, names, hostFlags(t)...)
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
// exported as any module of that kind, where it is compiled with the flags, too, and its functions can be called at once: the first call of Function compiles it alone, with the
// flags, into a library that is kept on the disk for the next process (see TVMGO_CACHE_DIR). Modules that it imports are not seen by
// functions called in this way: export it to have them.
func NewHostModule(code string, names []string, flags ...string) (*runtime.Module, error) {
	source, err := runtime.NewCSource(code, "c", names, nil)
	if err != nil {
		return nil, err
	}
	h := &hostModule{source: source, code: code, names: slices.Clone(names), flags: slices.Clone(flags)}
	m, err := runtime.NewModule(hostKind, runtime.Serializable|runtime.Runnable|runtime.Exportable, h)
	if err != nil {
		source.Close()
	}
	return m, err
}

// hostModule is C that is compiled when it is first called.
type hostModule struct {
	source *runtime.Module
	code   string
	names  []string
	flags  []string

	mu     sync.Mutex
	loaded *runtime.Module
}

func (h *hostModule) Functions() []string { return slices.Clone(h.names) }

func (h *hostModule) Function(name string) (*runtime.Function, error) {
	if name == export.FlagsQuery {
		list := make([]any, len(h.flags))
		for i, f := range h.flags {
			list[i] = f
		}
		return runtime.NewFunction(func(...any) (any, error) { return list, nil })
	}
	if !slices.Contains(h.names, name) {
		return h.source.Function(name) // which answers questions of exporters
	}
	m, err := h.library()
	switch {
	case errors.Is(err, runtime.ErrNotFound): // of a compiler: it is not the function that is missing
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
	h.loaded = m // after an error nil: the next call tries again
	return m, err
}

// cache has the libraries of all processes.
const cache = diskcache.Cache("host")

func (h *hostModule) compile(ctx context.Context) (*runtime.Module, error) {
	key := diskcache.Key("1", h.code, strings.Join(h.flags, "\x00"), headers(), compiler())
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
	if err := export.Library(ctx, h.source, path, export.Flags(h.flags...), export.StaticCheck()); err != nil {
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

// Metadata and Doc are those of a library, which has none.
func (h *hostModule) Metadata(string) (string, error) { return "", nil }

// Doc is the documentation of a function.
func (h *hostModule) Doc(string) (string, error) { return "", nil }

func (h *hostModule) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.source.Close()
	if h.loaded != nil {
		err = errors.Join(err, h.loaded.Close())
	}
	return err
}
