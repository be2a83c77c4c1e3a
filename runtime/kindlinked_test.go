package runtime_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/runtime"
)

const addSource = `#include <math.h>
#include <tvm/ffi/c_api.h>
int helper(int);
int __tvm_ffi_add(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)n;
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + helper((int)args[1].v_int64) + (int64_t)sqrt((double)args[0].v_int64) * 0;
  return 0;
}
`

const helperSource = "int helper(int x) { return x * 10; }\n"

const cxxSource = "#include <string>\nextern \"C\" int helper(int x) { return std::stoi(std::to_string(x) + \"0\"); }\n"

// compiled returns an object.
func compiled(t testing.TB, source string, flags ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.o")
	cmd := exec.Command(compiler(t),
		append([]string{"-c", "-fPIC", "-O1", "-I../include", "-x", "c", "-", "-o", path}, flags...)...)
	cmd.Stdin = strings.NewReader(source)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return readFile(t, path)
}

// archived returns an archive of files; each name is followed by its content.
func archived(t testing.TB, files ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := tar.Header{Name: files[i].(string), Mode: 0o644, Typeflag: tar.TypeReg}
		var content []byte
		switch v := files[i+1].(type) {
		case tar.Header:
			h.Typeflag, h.Linkname = v.Typeflag, v.Linkname
		case string:
			content = []byte(v)
		case []byte:
			content = v
		}
		h.Size = int64(len(content))
		require.NoError(t, w.WriteHeader(&h))
		must.Get(w.Write(content))(t)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write(data))(t)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// ownTemp gives the test its own folder for temporary files, which must be empty at the end.
func ownTemp(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() { require.Empty(t, entries(t, dir)) })
	return dir
}

// TestLoad_Linked loads objects and archives of them in every way.
func TestLoad_Linked(t *testing.T) {
	ownTemp(t)
	add, helper := compiled(t, addSource), compiled(t, helperSource)
	one := compiled(t, addSource+helperSource)
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	for name, data := range map[string][]byte{
		"one.o": one, "two.tar": archived(t, "lib0.o", add, "devc.o", helper),
		"zipped.tar":  zipped(t, archived(t, "./lib0.o", add, "./devc.o", helper)),
		"sources.tar": archived(t, "lib0.c", addSource, "lib1.o", helper, "folder/", tar.Header{Typeflag: tar.TypeDir}),
		"cxx.tar":     archived(t, "lib0.c", addSource, "lib1.cc", cxxSource),
		"folder.tar":  archived(t, "a/lib0.o", one, "a/._lib0.o", "of another system"),
	} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, data, 0o666))
		for how, load := range map[string]func() (*runtime.Module, error){
			"file":        func() (*runtime.Module, error) { return runtime.Load(ctx, path) },
			"cancellable": func() (*runtime.Module, error) { return runtime.Load(cancellable, path) },
			"private":     func() (*runtime.Module, error) { return runtime.Load(ctx, path, runtime.PrivateCopy()) },
			"bytes":       func() (*runtime.Module, error) { return runtime.LoadBytes(ctx, data, runtime.Name(name)) },
			"file system": func() (*runtime.Module, error) {
				return runtime.LoadFS(ctx, fstest.MapFS{name: {Data: data}}, name)
			},
			"C": func() (*runtime.Module, error) {
				return call(t, global(t, "ffi.ModuleLoadFromFile"), path).(*runtime.Module), nil
			},
			"C, classic": func() (*runtime.Module, error) {
				return call(t, global(t, "runtime.ModuleLoadFromFile"), path,
					filepath.Ext(name)[1:]).(*runtime.Module), nil
			},
		} {
			m, err := load()
			require.NoError(t, err, "%s %s", name, how)
			require.Equal(t, []string{"add"}, m.Functions(), "%s %s", name, how)
			f := must.Get(m.Function("add"))(t)
			require.EqualValues(t, 43, call(t, f, 3, 4), "%s %s", name, how)
			require.NoError(t, f.Close())
			require.NoError(t, m.Close())
		}
		require.Equal(t, []string{name}, entries(t, filepath.Dir(path)))
	}
}

// TestLoad_LinkedBlob loads an object that contains modules and code, as an exporter packs them.
func TestLoad_LinkedBlob(t *testing.T) {
	ownTemp(t)
	tree := testdataBlob(t)
	code := "__attribute__((visibility(\"default\"))) const unsigned char __tvm_ffi__library_bin[] = {"
	for _, b := range tree {
		code += fmt.Sprint(b, ",")
	}
	path := filepath.Join(t.TempDir(), "m.tar")
	require.NoError(t, os.WriteFile(path, archived(t, "lib0.o", compiled(t, addSource+helperSource), "devc.o",
		compiled(t, code+"};\n")), 0o666))
	m := modules.Load(t, path)
	deps := must.Get(m.Imports())(t)
	require.Len(t, deps, 1)
	require.Equal(t, "c", deps[0].Kind())
	require.NoError(t, deps[0].Close())
}

func testdataBlob(t testing.TB) []byte {
	t.Helper()
	source := must.Get(runtime.NewCSource("int x;\n", "c", nil, nil))(t)
	defer source.Close()
	payload := must.Get(source.SaveToBinaryFor(blob.Modern))(t)
	return modernTree([]entry{{"_lib", nil}, {"c", payload}}, [][]int{{1}, {}})
}

// TestLoad_LinkedRefused loads invalid archives. No file is left, and nothing is written outside the folder for
// temporary files.
func TestLoad_LinkedRefused(t *testing.T) {
	temp := ownTemp(t)
	o := compiled(t, helperSource)
	bomb := zipped(t, archived(t, "lib0.o", make([]byte, 1<<20)))
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"outside":  {archived(t, "../lib0.o", o), `the name "../lib0.o" leaves the archive`},
		"far out":  {archived(t, "a/../../lib0.o", o), "leaves the archive"},
		"absolute": {archived(t, filepath.Join(temp, "lib0.o"), o), "leaves the archive"},
		"link": {archived(t, "lib0.o", tar.Header{Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
			`"lib0.o" in the archive is not a regular file`},
		"hard link": {archived(t, "lib0.o", o, "x.o", tar.Header{Typeflag: tar.TypeLink, Linkname: "lib0.o"}),
			"is not a regular file"},
		"device": {archived(t, "lib0.o", tar.Header{Typeflag: tar.TypeFifo}), "is not a regular file"},
		"twice":  {archived(t, "lib0.o", o, "a/lib0.o", o), `two files in the archive have the name "lib0.o"`},
		"other": {archived(t, "lib0.o", o, "README", "text"),
			`"README" in the archive is neither an object (.o) nor a source`},
		"LLVM IR":    {archived(t, "lib0.ll", "x"), "compile it with clang -c"},
		"nothing":    {archived(t), "the archive has no file"},
		"truncated":  {archived(t, "lib0.o", o)[:700], "the archive is damaged"},
		"half a zip": {bomb[:len(bomb)/2], "the archive is damaged"},
		"no object":  {archived(t, "lib0.o", "text"), "lib0.o"},
		"wrong code": {archived(t, "lib0.c", "int x = ;\n"), "lib0.c:1:9: error: expected expression"},
		"unresolved": {archived(t, "lib0.c", "#include \"nope.h\"\n"), "nope.h"},
		"empty":      {nil, "the archive is empty"},
	} {
		path := filepath.Join(t.TempDir(), "m.tar")
		require.NoError(t, os.WriteFile(path, c.data, 0o666))
		_, err := runtime.Load(ctx, path)
		require.ErrorContains(t, err, "load "+path+": ", name)
		require.ErrorContains(t, err, c.says, name)
		require.NotContains(t, err.Error(), temp+"/tvmgo-link-", name)
		require.Empty(t, entries(t, temp), name)
	}
	many := []any{}
	for i := range 4097 {
		many = append(many, strconv.Itoa(i)+".c", "")
	}
	require.ErrorContains(t, must.Fail(runtime.LoadBytes(ctx, archived(t, many...))), "more than 4096 files")
	requireError(t, must.Fail(runtime.Load(ctx, filepath.Join(temp, "none.tar"))), runtime.ErrNotFound, "none.tar")
	requireError(t, must.Fail(runtime.Load(ctx, filepath.Join(temp, "none.o"))), runtime.ErrNotFound, "none.o")
}

// TestLoad_LinkedWithoutCompiler checks that the error names what is missing, and that objects for other machines need
// no compiler.
func TestLoad_LinkedWithoutCompiler(t *testing.T) {
	ownTemp(t)
	o := compiled(t, addSource+helperSource)
	foreign := bytes.Clone(o)
	foreign[18], foreign[19] = 0xf3, 0 // RISC-V
	if foreign[18] == o[18] {
		foreign[18] = 62
	}
	path, other := filepath.Join(t.TempDir(), "m.o"), filepath.Join(t.TempDir(), "other.o")
	require.NoError(t, os.WriteFile(path, o, 0o666))
	require.NoError(t, os.WriteFile(other, foreign, 0o666))
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	_, err := runtime.Load(ctx, path)
	requireError(t, err, runtime.ErrNotFound, "none of cc, gcc, clang is in PATH", "install a C compiler", "cc -shared")
	t.Setenv("CC", "no-such-compiler -x")
	_, err = runtime.Load(ctx, path)
	requireError(t, err, runtime.ErrNotFound, `the compiler "no-such-compiler" of the environment variable CC`)
	require.Equal(t, "static_library", modules.Load(t, other).Kind())
	m := call(t, global(t, "runtime.ModuleLoadStaticLibrary"), path, []any{"add"}).(*runtime.Module)
	require.Equal(t, "static_library", m.Kind())
	require.NoError(t, m.Close())
}

// TestLoad_LinkedCancelled checks that a compiler that never ends is stopped with its child processes, and leaves no
// files.
func TestLoad_LinkedCancelled(t *testing.T) {
	temp := ownTemp(t)
	dir, object := t.TempDir(), compiled(t, helperSource) // compile this before the compiler is replaced
	started, never, script := filepath.Join(dir, "started"), filepath.Join(dir, "never"), filepath.Join(dir, "cc")
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	require.NoError(t, syscall.Mkfifo(never, 0o600))
	require.NoError(t, os.WriteFile(script,
		[]byte(fmt.Sprintf("#!/bin/sh\n: > \"$TMPDIR/left\"\n(echo > %s; cat %s)\n", started, never)), 0o700))
	t.Setenv("CC", script)
	path := filepath.Join(t.TempDir(), "m.tar")
	require.NoError(t, os.WriteFile(path, archived(t, "lib0.o", object), 0o666))
	cancellable, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = os.ReadFile(started) // until the script's child has run
		cancel()
	}()
	require.ErrorIs(t, must.Fail(runtime.Load(cancellable, path)), context.Canceled)
	require.Empty(t, entries(t, temp))
	require.Equal(t, []string{"m.tar"}, entries(t, filepath.Dir(path)))
	f, err := os.OpenFile(never, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		f.Close()
	}
	require.True(t, errors.Is(err, syscall.ENXIO), "the pipe must have no reader left: %v", err)
	require.ErrorIs(t, must.Fail(runtime.Load(cancellable, path)), context.Canceled)
}

// TestLoad_LinkedOfAnotherLoader checks that another loader that was registered for a format is used.
func TestLoad_LinkedOfAnotherLoader(t *testing.T) {
	old := global(t, "ffi.Module.load_from_file.tar")
	own, err := runtime.NewFunction(func(args ...any) (any, error) { return nil, fmt.Errorf("mine: %v", args[0]) })
	require.NoError(t, err)
	defer own.Close()
	require.NoError(t, runtime.RegisterGlobal("ffi.Module.load_from_file.tar", own, true))
	defer func() { require.NoError(t, runtime.RegisterGlobal("ffi.Module.load_from_file.tar", old, true)) }()
	require.ErrorContains(t, must.Fail(runtime.Load(ctx, "x.tar")), "mine: x.tar")
}

// TestLoad_LinkedOfTVM runs objects that Apache TVM exports.
func TestLoad_LinkedOfTVM(t *testing.T) {
	dir := t.TempDir()
	wheel.Run(t, nil, "testdata/export_objects.py", dir)
	machine.Need(t, filepath.Join(dir, "llvm.o"))
	ownTemp(t)
	for _, name := range []string{"llvm.tar", "llvm.o", "c.tar"} {
		m := modules.Load(t, filepath.Join(dir, name))
		require.Contains(t, m.Functions(), "vadd", name)
		f := must.Get(m.Function("vadd"))(t)
		a, b, c := fromSlice(t, []float32{1, 2, 3}), fromSlice(t, []float32{10, 20, 30}),
			fromSlice(t, make([]float32, 3))
		_, err := f.Call(a, b, c)
		require.NoError(t, err, name)
		require.Equal(t, []float32{11, 22, 33}, must.Get(runtime.ToSlice[float32](c))(t), name)
		require.NoError(t, f.Close())
	}
}

func fromSlice(t testing.TB, data []float32) *runtime.Tensor {
	t.Helper()
	return must.Open(runtime.FromSlice(data))(t)
}
