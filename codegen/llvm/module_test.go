package llvm_test

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

func TestModule_CallsAtOnce(t *testing.T) {
	before := runtime.Live()
	t.Run("", func(t *testing.T) {
		m := built(t, parsed(t, addProgram), "llvm")
		require.Equal(t, "llvm", m.Kind())
		require.Equal(t, []string{"add"}, m.Functions())
		requireAdds(t, m)
		require.ErrorContains(t, call(t, m, "add", modules.Tensor(t, []float32{1}), modules.Tensor(t, []float32{1, 2}),
			modules.Empty(t, dlpack.Float32, 1)),
			"add: argument 1 (b): shape[0] is 2")
		require.ErrorIs(t, must.Fail(m.Function("missing")), runtime.ErrNotFound)
		f, err := m.Function("add") // lives longer than the module
		require.NoError(t, err)
		require.NoError(t, m.Close())
		out := modules.Empty(t, dlpack.Float32, 1)
		must.Get(f.Call(modules.Tensor(t, []float32{1}), modules.Tensor(t, []float32{2}), out))(t)
		require.Equal(t, []float32{3}, modules.Slice[float32](t, out))
		require.NoError(t, f.Close())
	})
	require.Equal(t, before, runtime.Live())
}

// The C is the same as that of kind c.
func TestModule_Sources(t *testing.T) {
	p := parsed(t, addProgram+dotProgram)
	m := built(t, p, "llvm -mtriple=x86_64-linux-gnu")
	const about = "\nTVMGO_EXPORT int __tvm_ffi__metadata_" // metadata functions contain the target
	fromC, _, found := strings.Cut(source(t, built(t, p, "c"), "c"), about)
	require.True(t, found)
	own, _, _ := strings.Cut(source(t, m, "c"), about)
	require.Equal(t, fromC, own)
	ir := source(t, m, "ll")
	require.Contains(t, ir, `target triple = "x86_64-`)
	require.Contains(t, ir, "define i32 @__tvm_ffi_add(")
	require.Contains(t, ir, "define i32 @__tvm_ffi_dot(")
	require.Equal(t, ir, source(t, m, ""))
	require.Contains(t, source(t, m, "s"), "__tvm_ffi_add:")
	require.Equal(t, source(t, m, "s"), source(t, m, "asm"))
	_, err := m.GetSource("ptx")
	require.ErrorIs(t, err, runtime.ErrNotSupported)
	require.ErrorContains(t, err, `no format "ptx": want ll, c, s or asm`)
}

func TestModule_SaveToFile(t *testing.T) {
	m := built(t, parsed(t, addProgram), "llvm")
	dir := t.TempDir()
	for _, row := range []struct{ name, format, begin string }{
		{"a.o", "", elf.ELFMAG}, {"a.obj", "", elf.ELFMAG}, {"b", "o", elf.ELFMAG}, {"a.bc", "", "BC\xc0\xde"},
		{"a.ll", "", "; ModuleID"},
		{"a.s", "", "\t.text"}, {"a.asm", "", "\t.text"}, {"a.c", "", "/* Generated"},
	} {
		path := filepath.Join(dir, row.name)
		require.NoError(t, m.SaveToFile(path, row.format), row.name)
		data := must.Get(os.ReadFile(path))(t)
		require.True(t, bytes.HasPrefix(data, []byte(row.begin)), "%s: %q", row.name, data[:min(20, len(data))])
	}
	err := m.SaveToFile(filepath.Join(dir, "a.ptx"), "")
	require.ErrorContains(t, err, `no format "ptx": want one of o, obj, ll, bc, s, asm, c`)
	require.ErrorContains(t, m.SaveToFile(filepath.Join(dir, "none", "a.o"), ""), "none")
	require.ErrorIs(t, must.Fail(m.SaveToBinary()), runtime.ErrNotSupported)
	require.Len(t, must.Get(os.ReadDir(dir))(t), 8)
}

// A symbolic link is kept, and its destination is written.
func TestModule_SaveToFile_FollowsLinks(t *testing.T) {
	m := built(t, parsed(t, addProgram), "llvm")
	dir, other := t.TempDir(), t.TempDir()
	link, real := filepath.Join(dir, "a.c"), filepath.Join(other, "real")
	require.NoError(t, os.Symlink(real, link))
	for range 2 { // first to a missing file, then to a file
		require.NoError(t, m.SaveToFile(link, ""))
		require.Equal(t, real, must.Get(os.Readlink(link))(t))
		data := must.Get(os.ReadFile(real))(t)
		require.True(t, bytes.HasPrefix(data, []byte("/* Generated")))
	}
}

// The same program gives the same bytes, wherever it is compiled.
func TestModule_SameBytes(t *testing.T) {
	object := func() []byte {
		t.Setenv("TMPDIR", t.TempDir())
		path := filepath.Join(t.TempDir(), "a.o")
		require.NoError(t, built(t, parsed(t, addProgram), "llvm").SaveToFile(path, ""))
		return must.Get(os.ReadFile(path))(t)
	}
	require.Equal(t, object(), object())
}

func TestModule_Answers(t *testing.T) {
	m := built(t, parsed(t, addProgram), "llvm -mcpu=x86-64-v2 -mtriple=x86_64-linux-gnu -system-lib")
	for name, want := range map[string]any{"get_func_names": []any{"add"}, "get_symbol": "add", "get_const_vars": []any{},
		"__tvm_is_system_module": true, "__tvm_get_system_lib_prefix": ""} {
		f, err := m.Function(name)
		require.NoError(t, err, name)
		got := must.Get(f.Call())(t)
		if list, ok := want.([]any); ok {
			require.ElementsMatch(t, list, got, name)
		} else {
			require.Equal(t, want, got, name)
		}
		require.NoError(t, f.Close())
	}
	f := must.Open(m.Function("_get_target_string"))(t)
	require.Contains(t, must.Get(f.Call())(t), `"mcpu":"x86-64-v2"`)
}

func TestModule_Exports(t *testing.T) {
	for _, name := range []string{"add.so", "add.tar", "add.a"} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, export.Library(context.Background(), built(t, parsed(t, addProgram), "llvm"), path), name)
		if name == "add.so" {
			requireAdds(t, modules.Load(t, path))
		}
	}
}

// Modules of this kind and of kind c that import each other become one library.
func TestModule_ExportsImports(t *testing.T) {
	machine.NeedX86(t)
	m := built(t, parsed(t, dotProgram), "llvm")
	require.NoError(t, m.Import(built(t, parsed(t, addProgram), "llvm -mcpu=x86-64-v2 -mtriple=x86_64-linux-gnu")))
	require.NoError(t, m.Import(built(t, parsed(t, strings.ReplaceAll(addProgram, "func add", "func sum")), "c")))
	path := filepath.Join(t.TempDir(), "dot.so")
	require.NoError(t, export.Library(context.Background(), m, path))
	l := modules.Load(t, path)
	requireAdds(t, l)
	out := modules.Empty(t, dlpack.Float32, 1)
	require.NoError(t, call(t, l, "dot", modules.Tensor(t, []float32{3}), modules.Tensor(t, []float32{0}), out))
	require.Equal(t, []float32{1}, modules.Slice[float32](t, out))
	require.NoError(t, call(t, l, "sum", modules.Tensor(t, []float32{3}), modules.Tensor(t, []float32{2}), out))
	require.Equal(t, []float32{5}, modules.Slice[float32](t, out))
}

// A function that is called directly finds what the module imports, also what it imports later.
func TestModule_ImportsAtOnce(t *testing.T) {
	const twice = `func twice(a_handle: handle, c_handle: handle) {
  buffer a: float32[3], param a_handle
  buffer c: float32[3], param c_handle
  eval packed add[void](a_handle, a_handle, c_handle)
}
`
	before := runtime.Live()
	t.Run("", func(t *testing.T) {
		m := built(t, parsed(t, twice), "llvm")
		out := modules.Empty(t, dlpack.Float32, 3)
		require.ErrorContains(t, call(t, m, "twice", modules.Tensor(t, []float32{1, 2, 3}), out), "Cannot find function add")
		require.NoError(t, m.Import(built(t, parsed(t, addProgram), "c")))
		require.NoError(t, call(t, m, "twice", modules.Tensor(t, []float32{1, 2, 3}), out))
		require.Equal(t, []float32{2, 4, 6}, modules.Slice[float32](t, out))
	})
	require.Equal(t, before, runtime.Live())
}

// Several goroutines that call one module for the first time get the same library.
func TestModule_ConcurrentFirstCalls(t *testing.T) {
	m := built(t, parsed(t, addProgram), "llvm")
	functions, errs := make([]*runtime.Function, 8), make([]error, 8)
	var wg sync.WaitGroup
	for k := range functions {
		wg.Go(func() { functions[k], errs[k] = m.Function("add") })
	}
	wg.Wait()
	for k, f := range functions {
		require.NoError(t, errs[k])
		require.NoError(t, f.Close())
	}
	requireAdds(t, m)
}

// Every intrinsic is declared, and computes the same as in C.
func TestModule_Intrinsics(t *testing.T) {
	var source bytes.Buffer
	source.WriteString("func all(a_handle: handle, c_handle: handle) {\n" +
		"  buffer a: float32[1], param a_handle\n  buffer c: float64[1], param c_handle\n")
	for _, i := range tir.Intrinsics() {
		if _, isFloat := map[int]bool{1: true, 2: true, 3: true}[i.Args]; !isFloat || !i.Pure {
			continue
		}
		args := bytes.Repeat([]byte("a[0], "), i.Args)
		line := "  c[0] = cast(float64, " + i.Name + "(" + string(args[:len(args)-2]) + "))\n"
		if _, err := text.Parse("func f(h: handle, k: handle) {\n  buffer a: float32[1], param h\n  buffer c: float64[1], " +
			"param k\n" + line + "}\n"); err != nil {
			continue // it takes other types
		}
		source.WriteString(line)
	}
	source.WriteString("}\n")
	require.Greater(t, bytes.Count(source.Bytes(), []byte("c[0] =")), 30)
	p := parsed(t, source.String())
	m := built(t, p, "llvm")
	path := filepath.Join(t.TempDir(), "all.so")
	require.NoError(t, export.Library(context.Background(), m, path)) // which resolves every name
}
