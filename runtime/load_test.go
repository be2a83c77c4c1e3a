package runtime_test

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

//go:embed testdata
var embedded embed.FS

const multiC = artifacts + "modern/multi_c.so"

// requireAddone calls the module's addone.
func requireAddone(t *testing.T, m *runtime.Module) {
	t.Helper()
	in, out := tensor(t, []float32{1, 2, 3}), tensor(t, make([]float32, 3))
	call(t, function(t, m, "addone"), in, out)
	require.Equal(t, []float32{2, 3, 4}, slice[float32](t, out))
}

func TestLoad_Sources(t *testing.T) {
	machine.Need(t, multiC)
	raw := readFile(t, multiC)
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	for name, load := range map[string]func() (*runtime.Module, error){
		"file":                   func() (*runtime.Module, error) { return runtime.Load(ctx, multiC) },
		"file, can be cancelled": func() (*runtime.Module, error) { return runtime.Load(cancellable, multiC) },
		"private copy": func() (*runtime.Module, error) {
			return runtime.Load(ctx, multiC,
				runtime.PrivateCopy())
		},
		"bytes":                   func() (*runtime.Module, error) { return runtime.LoadBytes(ctx, raw) },
		"bytes, can be cancelled": func() (*runtime.Module, error) { return runtime.LoadBytes(cancellable, raw) },
		"bytes with a name": func() (*runtime.Module, error) {
			return runtime.LoadBytes(ctx, raw,
				runtime.Name("model"))
		},
		"file system": func() (*runtime.Module, error) {
			return runtime.LoadFS(ctx, os.DirFS(artifacts),
				"modern/multi_c.so")
		},
		"file system in memory": func() (*runtime.Module,
			error) {
			return runtime.LoadFS(ctx, fstest.MapFS{"m.so": {Data: raw}}, "m.so")
		},
		"every load a private copy": func() (*runtime.Module, error) {
			runtime.SetPrivateCopies(true)
			defer runtime.SetPrivateCopies(false)
			return runtime.Load(ctx, multiC)
		},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			m := must.Open(load())(t)
			requireAddone(t, m)
		})
	}
}

func TestLoad_BytesAreNotNeededAfterwards(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	raw := readFile(t, multiC)
	m := loadBytes(t, raw)
	clear(raw)
	requireAddone(t, m)
}

// A path that now names another file gives another module; the one loaded before is not affected.
func TestLoad_FileReplacedOnDisk(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "m.so")
	write := func(from string) {
		require.NoError(t, os.WriteFile(path+".new", readFile(t, from), 0o644))
		require.NoError(t, os.Rename(path+".new", path))
	}
	write(artifacts + "modern/addone_llvm.so")
	first := modules.Load(t, path)
	write(multiC)
	second := modules.Load(t, path)
	require.NotContains(t, first.Functions(), "vadd")
	require.Contains(t, second.Functions(), "vadd")
	requireAddone(t, first)
	requireAddone(t, second)
	require.NoError(t, os.Remove(path))
	require.NoError(t, first.Close())
	requireAddone(t, second)
}

func TestLoad_RelativePathWithoutSlash(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "libc.so"), readFile(t, multiC), 0o644))
	t.Chdir(dir)
	requireAddone(t, modules.Load(t, "libc.so"))
}

func TestLoad_BadFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir.so"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(dir, "loop.so"), filepath.Join(dir, "loop.so")))
	for _, c := range []struct {
		name, path string
		kind       error
		says       []string
	}{
		{"empty path", "", runtime.ErrInvalidArgument, []string{"load"}},
		{"missing file", filepath.Join(dir, "missing.so"), runtime.ErrNotFound, []string{"missing.so", "no such file"}},
		{"missing directory", "no/such/folder/m.so", runtime.ErrNotFound, []string{"no/such/folder/m.so"}},
		{"directory", filepath.Join(dir, "dir.so"), runtime.ErrCorruptModule, []string{"directory"}},
		{"loop of links", filepath.Join(dir, "loop.so"), runtime.ErrFailed, []string{"loop.so"}},
		{"device file", "/dev/null", nil, []string{"/dev/null"}},
		{"empty file", file("empty.so", ""), runtime.ErrCorruptModule, []string{"empty.so"}},
		{"text file", file("text.so", strings.Repeat("this is no library\n", 1000)), runtime.ErrCorruptModule,
			[]string{"text.so"}},
		{"linker script", file("script.so", "INPUT(libc.so.6)\n"), runtime.ErrCorruptModule, []string{"script.so"}},
		{"no suffix", file("model", "\x7fELF"), runtime.ErrInvalidArgument, []string{"model", "suffix"}},
		{"suffix of a folder", filepath.Join(dir, "v1.so", "model"), runtime.ErrInvalidArgument, []string{"suffix"}},
		{"unknown suffix", file("model.onnx", "x"), runtime.ErrNotFound, []string{"model.onnx", `"onnx"`}},
		{"long suffix", file("model."+strings.Repeat("x", 200), "x"), runtime.ErrNotFound, nil},
		{"zero byte in path", multiC + "\x00.so", runtime.ErrInvalidArgument, []string{"zero byte"}},
	} {
		for _, opts := range [][]runtime.LoadOption{nil, {runtime.PrivateCopy()}} {
			t.Run(fmt.Sprintf("%s/%d options", c.name, len(opts)), func(t *testing.T) {
				noLeaks(t)
				_, err := runtime.Load(ctx, c.path, opts...)
				if c.kind == nil {
					require.Error(t, err)
				} else {
					requireError(t, err, c.kind, c.says...)
				}
				require.LessOrEqual(t, len(err.Error()), 800)
			})
		}
	}
}

func TestLoad_BadBytes(t *testing.T) {
	noLeaks(t)
	for name, data := range map[string][]byte{"nil": nil, "empty": {}, "one byte": {0x7f}, "magic": []byte("\x7fELF"),
		"text": []byte(strings.Repeat("text", 100))} {
		_, err := runtime.LoadBytes(ctx, data, runtime.Name("model "+name))
		requireError(t, err, runtime.ErrCorruptModule, "model "+name)
	}
	_, err := runtime.LoadBytes(ctx, readFile(t, multiC), runtime.Name("a\x00b"))
	requireError(t, err, runtime.ErrInvalidArgument, "zero byte")
}

func TestLoad_FileSystemErrorsAreKept(t *testing.T) {
	noLeaks(t)
	_, err := runtime.LoadFS(ctx, embedded, "testdata/missing.so")
	requireError(t, err, runtime.ErrNotFound, "testdata/missing.so")
	require.ErrorIs(t, err, fs.ErrNotExist)
	requireError(t, must.Fail(runtime.LoadFS(ctx, embedded, "testdata")), runtime.ErrFailed, "testdata")
	_, err = runtime.LoadFS(ctx, embedded, "testdata/probe.c")
	requireError(t, err, runtime.ErrCorruptModule, "testdata/probe.c")
}

// asNobody calls f on a thread without root's permissions, also in tests that run as root.
func asNobody(t *testing.T, f func() error) error {
	if os.Getuid() == 0 {
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		require.NoError(t, syscall.Setfsuid(65534))
		defer syscall.Setfsuid(0)
	}
	return f()
}

// errors.Is finds the system's error, with every loader and every way of opening a file.
func TestLoad_SystemErrorsAreFound(t *testing.T) {
	machine.NeedNative(t, "build/scripts/arm64.sh has one user")
	noLeaks(t)
	dir := t.TempDir()
	loads := map[string]func(path string) error{
		"Load": func(path string) error {
			m, err := runtime.Load(ctx, path)
			m.Close()
			return err
		},
		"private": func(path string) error {
			m, err := runtime.Load(ctx, path, runtime.PrivateCopy())
			m.Close()
			return err
		},
		"from C": func(path string) error {
			f := must.Get(runtime.Global("ffi.ModuleLoadFromFile"))(t)
			defer f.Close()
			_, err := f.Call(path)
			return err
		},
		"LoadFS": func(path string) error {
			m, err := runtime.LoadFS(ctx, os.DirFS("/"), strings.TrimPrefix(path, "/"))
			m.Close()
			return err
		},
	}
	for how, load := range loads {
		for _, name := range []string{"nope.so", "nope", "nope.cl", "nope.cu", "nope.ptx", "nope.c", "nope.o",
			"nope.vulkan", "nope.json", "no/dir/nope.so"} {
			err := load(dir + "/" + name)
			require.ErrorContains(t, err, "no such file")
			require.ErrorIs(t, err, fs.ErrNotExist, "%s of %s: %v", how, name, err)
		}
		for _, name := range []string{"secret.so", "secret.ptx", "secret"} {
			require.NoError(t, os.WriteFile(dir+"/"+name, []byte("x"), 0o000))
			err := asNobody(t, func() error { return load(dir + "/" + name) })
			require.ErrorIs(t, err, fs.ErrPermission, "%s of %s: %v", how, name, err)
			require.NotErrorIs(t, err, fs.ErrNotExist)
			require.NoError(t, os.Remove(dir+"/"+name))
		}
	}
	for _, bad := range []string{dir, "testdata/probe.c"} { // existing files that are not libraries
		_, err := runtime.Load(ctx, bad)
		require.NotErrorIs(t, err, fs.ErrNotExist)
	}
	require.NoError(t, os.WriteFile(dir+"/k.cl", []byte("kernel"), 0o600))
	_, err := runtime.Load(ctx, dir+"/k.cl")
	requireError(t, err, runtime.ErrNotFound, "k.tvm_meta.json is missing")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestLoad_Truncated(t *testing.T) {
	machine.Need(t, multiC)
	for _, file := range []string{"modern/multi_c.so", "modern/addone_llvm.so", "classic/multi_llvm.so",
		"classic/gpu_opencl.so"} {
		t.Run(file, func(t *testing.T) {
			noLeaks(t)
			raw := readFile(t, artifacts+file)
			// The section headers at the end of a file are not needed to run it.
			step := max(1, len(raw)/150)
			loaded := 0
			for n := 0; n < len(raw); n += step {
				m, err := runtime.LoadBytes(ctx, raw[:n])
				if err == nil {
					loaded++
					if strings.Contains(file, "gpu_") { // its kernels need the device
						function(t, m, "addone").Close()
					} else {
						requireAddone(t, m)
					}
					m.Close()
					continue
				}
				require.True(t, isKind(err, runtime.ErrCorruptModule, runtime.ErrNotFound), "%d bytes: %v", n, err)
			}
			require.Less(t, loaded, 60, "the segments fill more than half of the file")
		})
	}
}

func isKind(err error, kinds ...error) bool {
	for _, k := range kinds {
		if e, ok := err.(*runtime.Error); ok && e.Is(k) {
			return true
		}
	}
	return false
}

func TestLoad_PrivateCopiesShareNothing(t *testing.T) {
	noLeaks(t)
	path := buildC(t, probeSource)
	count := func(m *runtime.Module) any { return call(t, function(t, m, "count")) }
	a, b := modules.Load(t, path, runtime.PrivateCopy()), modules.Load(t, path, runtime.PrivateCopy())
	first := count(a)
	require.Equal(t, int64(1), first)
	require.Equal(t, int64(2), count(a))
	require.Equal(t, int64(1), count(b))
}

func TestLoad_ManyGoroutinesLoadOneFile(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for g := range cap(errs) {
		wg.Go(func() {
			var opts []runtime.LoadOption
			if g%4 == 0 {
				opts = append(opts, runtime.PrivateCopy())
			}
			m, err := runtime.Load(ctx, cpuFile(g), opts...)
			if err == nil {
				var f *runtime.Function
				if f, err = m.Function("addone"); err == nil {
					err = f.Close()
				}
				m.Close()
			}
			errs <- err
		})
	}
	wg.Wait()
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}

func cpuFile(i int) string { return artifacts + cpuArtifacts[i%len(cpuArtifacts)].file }

func TestLoad_FunctionKeepsLibrary(t *testing.T) {
	machine.Need(t, multiC)
	noLeaks(t)
	before := runtime.Live().Mappings
	m := must.Get(runtime.Load(ctx, multiC))(t)
	f := must.Get(m.Function("addone"))(t)
	require.NoError(t, m.Close())
	in, out := tensor(t, []float32{1}), tensor(t, []float32{0})
	call(t, f, in, out)
	require.Equal(t, []float32{2}, slice[float32](t, out))
	b := must.Get(f.Bind(in, out))(t)
	require.NoError(t, f.Close())
	require.NoError(t, b.Call())
	require.Equal(t, before+1, runtime.Live().Mappings)
	require.NoError(t, b.Close())
	require.Equal(t, before, runtime.Live().Mappings)
}

func TestLoad_FilesWithoutMarkerHaveTheirFunctions(t *testing.T) {
	noLeaks(t)
	m := modules.Load(t, buildC(t,
		`int answer(void* args, int* codes, int n, long* ret, int* code, void* r) { *ret = 42; *code = 0; return 0; }`))
	require.Equal(t, int64(42), call(t, function(t, m, "answer")))
}

func TestLoad_FilesThatCannotBeHere(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct{ name, source, says string }{
		{"v0.21", `void* __tvm_ffi_library_ctx; int f(void) { return 0; }`, "v0.21"},
		{"v0.21 by its slots", `void* __TVMFFIErrorSetRaisedFromCStr; int f(void) { return 0; }`, "v0.21"},
		{"system library, classic", `extern int TVMBackendRegisterSystemLibSymbol(const char*, void*);
int f(void) { return 0; }
__attribute__((constructor)) static void start(void) { TVMBackendRegisterSystemLibSymbol("f", f); }`, "system library"},
		{"system library, modern", `extern int TVMFFIEnvModRegisterSystemLibSymbol(const char*, void*);
int f(void) { return 0; }
__attribute__((constructor)) static void start(void) { TVMFFIEnvModRegisterSystemLibSymbol("f", f); }`,
			"system library"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireError(t, must.Fail(runtime.Load(ctx, buildC(t, c.source))), runtime.ErrNotSupported, c.says)
		})
	}
}

// The functions TVMBackendAnyList* have two signatures under one name: each file gets those of its generation.
func TestLoad_RegisterAccessOfBothGenerations(t *testing.T) {
	noLeaks(t)
	modern := modules.Load(t, buildC(t, `
#include <tvm/ffi/c_api.h>
extern int TVMBackendAnyListSetPackedArg(void* list, int index, TVMFFIAny* args, int offset);
extern int TVMBackendAnyListMoveFromPackedReturn(void* list, int index, TVMFFIAny* args, int offset);
int __tvm_ffi_second(void* s, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) {
  TVMFFIAny out[2] = {{0}};
  if (TVMBackendAnyListSetPackedArg((void*)a, 1, out, 1) != 0) return -1;
  return TVMBackendAnyListMoveFromPackedReturn(r, 0, out, 1);
}`))
	require.Equal(t, int64(7), call(t, function(t, modern, "second"), 5, 7))
	classic := modules.Load(t, buildC(t, `
#include <tvm/runtime/c_runtime_api.h>
void* __tvm_module_ctx;
extern int TVMBackendAnyListSetPackedArg(void* list, int index, TVMValue* values, int* codes, int offset);
int second(TVMValue* a, int* codes, int n, TVMValue* ret, int* code, void* resource) {
  TVMValue v[2];
  int c[2];
  if (TVMBackendAnyListSetPackedArg(a[0].v_handle, 1, v, c, 1) != 0) return -1;
  *ret = v[1];
  *code = c[1];
  return 0;
}`))
	registers := [4]int64{1, 5, 1, 7} // two values of the C ABI: type index, payload
	require.Equal(t, int64(7), call(t, function(t, classic, "second"), runtime.Ptr(&registers[0])))
}
