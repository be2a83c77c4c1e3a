package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/signing"
	"tvmgo/runtime"
)

// Every kind of file that Load opens needs its signature.
func TestWithTrust_Formats(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	key := signing.NewKey(t)
	trusted := runtime.WithTrust(key.Public())
	one := compiled(t, addSource+helperSource)
	object, archive := filepath.Join(dir, "host.o"), filepath.Join(dir, "host.tar")
	writeFile(t, object, one)
	writeFile(t, archive, archived(t, "lib0.o", one))
	foreign := filepath.Join(dir, "foreign.o")
	writeFile(t, foreign, bytes.Repeat([]byte("x"), 100))
	source := filepath.Join(dir, "source.c")
	writeFile(t, source, []byte("int f;"))
	kernels := imports(t, modules.Load(t, artifacts+"modern/gpu_cuda_ptx.so"))[0]
	ptx := filepath.Join(dir, "kernels.ptx")
	require.NoError(t, kernels.SaveToFile(ptx, ""))
	library := filepath.Join(dir, "library.so")
	writeFile(t, library, readFile(t, buildC(t, probeSource)))
	files := []string{object, archive, foreign, source, ptx, library}
	for _, path := range files {
		for _, ctx := range []context.Context{ctx, t.Context()} {
			require.NoError(t, must.Get(runtime.Load(ctx, path))(t).Close(), path)
			requireError(t, must.Fail(runtime.Load(ctx, path, trusted)), runtime.ErrUntrusted,
				"load "+path+": it is not signed")
			signing.Sign(t, key, path)
			if path == ptx {
				requireError(t, must.Fail(runtime.Load(ctx, path, trusted)), runtime.ErrUntrusted,
					"load "+filepath.Join(dir, "kernels.tvm_meta.json")+": it is not signed")
				signing.Sign(t, key, filepath.Join(dir, "kernels.tvm_meta.json"))
			}
			require.NoError(t, must.Get(runtime.Load(ctx, path, trusted))(t).Close())
			require.NoError(t, os.Remove(path+".minisig"))
			os.Remove(filepath.Join(dir, "kernels.tvm_meta.json.minisig"))
		}
	}
}

// A loader that the program registered opens the file itself: it is not called.
func TestWithTrust_OwnLoader(t *testing.T) {
	noLeaks(t)
	called := 0
	f := goFunction(t, func(args ...any) (any, error) { called++; return nil, errors.New("called") })
	const name = "ffi.Module.load_from_file.own"
	require.NoError(t, runtime.RegisterGlobal(name, f, false))
	defer runtime.RemoveGlobal(name)
	path := filepath.Join(t.TempDir(), "m.own")
	writeFile(t, path, []byte("x"))
	key := signing.NewKey(t)
	signing.Sign(t, key, path)
	require.ErrorContains(t, must.Fail(runtime.Load(ctx, path)), "called")
	requireError(t, must.Fail(runtime.Load(ctx, path, runtime.WithTrust(key.Public()))), runtime.ErrUntrusted,
		"load "+path+": the program's own loader "+name+" opens it", "put its module into a shared library (.so)")
	require.Equal(t, 1, called)

	// Also one in the place of ours.
	text := filepath.Join(t.TempDir(), "m.c")
	writeFile(t, text, []byte("int f;"))
	signing.Sign(t, key, text)
	const ours = "ffi.Module.load_from_file.c"
	before := global(t, ours)
	require.NoError(t, runtime.RegisterGlobal(ours, f, true))
	requireError(t, must.Fail(runtime.Load(ctx, text, runtime.WithTrust(key.Public()))), runtime.ErrUntrusted, ours)
	require.NoError(t, runtime.RegisterGlobal(ours, before, true))
}

// What a loader loads is checked in the same way, on this thread and on another.
func TestWithTrust_Within(t *testing.T) {
	noLeaks(t)
	inner := copied(t, buildC(t, endsProcess))
	object := strings.TrimSuffix(inner, ".so") + ".o"
	writeFile(t, object, compiled(t, addSource+helperSource))
	key := signing.NewKey(t)
	for name, load := range map[string]func() (any, error){
		"on this thread": func() (any, error) { return runtime.Load(ctx, inner) },
		"on another":     func() (any, error) { return runtime.Load(t.Context(), inner) },
		"an object":      func() (any, error) { return runtime.Load(t.Context(), object) },
		"by C":           func() (any, error) { return global(t, "ffi.ModuleLoadFromFile").Call(inner, "so") },
		"by the loader":  func() (any, error) { return global(t, "ffi.Module.load_from_file.so").Call(inner, "so") },
		"by that of .o":  func() (any, error) { return global(t, "ffi.Module.load_from_file.o").Call(object, "o") },
		"with other keys": func() (any, error) {
			return runtime.Load(ctx, inner, runtime.WithTrust(signing.NewKey(t).Public()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var inside error
			moduleKind(t, runtime.ModuleKind{Name: named, Load: func(runtime.Payload) (runtime.ModuleImpl, error) {
				_, inside = load()
				return &goModule{}, nil
			}})
			path := filepath.Join(t.TempDir(), "m.so")
			writeFile(t, path, withBlob(t, probeSource, modernTree([]entry{lib(), of("a")}, [][]int{{1}, nil})))
			signing.Sign(t, key, path)
			modules.Load(t, path, runtime.WithTrust(key.Public()))
			requireError(t, inside, runtime.ErrUntrusted, "it is not signed")
		})
	}
	require.NoError(t, must.Get(runtime.Load(ctx, object))(t).Close(), "after the load, others are as before")
}

// The dynamic linker opens the libraries that a file was linked with. Those of the system are trusted; those beside the
// file or below the current folder are not, because nobody has checked them.
func TestWithTrust_LinkedLibraries(t *testing.T) {
	noLeaks(t)
	system, dir := t.TempDir(), t.TempDir()
	key := signing.NewKey(t)
	link := func(to, source string, args ...string) {
		cmd := exec.Command(compiler(t), append([]string{"-shared", "-fPIC", "-x", "c", "-", "-x", "none", "-o", to,
			"-I" + must.Get(filepath.Abs("../include"))(t)}, args...)...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(source)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, folder := range []string{system, dir} {
		link(filepath.Join(folder, "libhelper.so"), helperSource, "-Wl,-soname,libhelper.so")
	}
	link("bare.so", helperSource)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"beside": {[]string{"-Wl,-rpath,$ORIGIN"},
			"it needs the library libhelper.so, which the dynamic linker would take from the folder of the file ($ORIGIN)"},
		"beside, another form": {[]string{"-Wl,-rpath,/none:${ORIGIN}/."}, "of the file ($ORIGIN)"},
		"old tag":              {[]string{"-Wl,-rpath,$ORIGIN,--disable-new-dtags"}, "of the file ($ORIGIN)"},
		"current folder":       {[]string{"-Wl,-rpath,lib"}, "would take from the current folder"},
		"nothing":              {[]string{"-Wl,-rpath,/none:"}, "from the current folder"},
		"system":               {[]string{"-Wl,-rpath," + system}, ""},
		"system first":         {[]string{"-Wl,-rpath," + system + ":$ORIGIN"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "m.so")
			link(path, addSource, append(c.args, "-L.", "-lhelper", "-lm")...)
			signing.Sign(t, key, path)
			m, err := runtime.Load(ctx, path, runtime.WithTrust(key.Public()))
			if c.says != "" {
				requireError(t, err, runtime.ErrUntrusted, "load "+path+": it needs", c.says)
				return
			}
			require.NoError(t, err)
			defer m.Close()
			require.Equal(t, int64(21), call(t, function(t, m, "add"), 1, 2))
		})
	}
	path := filepath.Join(dir, "m.so")
	link(path, addSource, "./bare.so", "-lm")
	signing.Sign(t, key, path)
	requireError(t, must.Fail(runtime.Load(ctx, path, runtime.WithTrust(key.Public()))), runtime.ErrUntrusted,
		"it needs the library ./bare.so, which the dynamic linker would take from the current folder")
}

// A library that registers functions is loaded once in a process: a check that comes later is too late.
func TestWithTrust_LoadedBefore(t *testing.T) {
	for _, before := range []bool{false, true} {
		path := copied(t, buildC(t, registersSource(before)))
		key := signing.NewKey(t)
		signing.Sign(t, key, path)
		trusted := runtime.WithTrust(key.Public())
		if before {
			modules.Load(t, path)
			requireError(t, must.Fail(runtime.Load(ctx, path, trusted)), runtime.ErrUntrusted,
				"the process has loaded it before without a check of its signature")
			continue
		}
		modules.Load(t, path, trusted)
		modules.Load(t, path, trusted)
		modules.Load(t, path)
	}
}

// registersSource is a library that registers a function of its own.
func registersSource(before bool) string {
	return fmt.Sprintf(`#include <tvm/ffi/c_api.h>
static int body(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
	(void)self, (void)args, (void)n, (void)result;
	return 0;
}
__attribute__((constructor)) static void opened(void) {
	TVMFFIByteArray name = {"tvmgo_test.registered.%d", 24};
	TVMFFIObjectHandle f;
	if (TVMFFIFunctionCreate(0, body, 0, &f) == 0) TVMFFIFunctionSetGlobal(&name, f, 0);
}
`, map[bool]int{true: 1}[before])
}
