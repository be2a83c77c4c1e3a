package codegen_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

// manyScales is a program of n functions that differ only in their names, except every tenth.
func manyScales(t testing.TB, n int) *tir.IRModule {
	t.Helper()
	source := ""
	for i := range n {
		factor := 2.0
		if i%10 == 9 {
			factor = float64(i)
		}
		source += fmt.Sprintf(`func f%d(A_handle: handle, B_handle: handle) {
  buffer A: float32[3], param A_handle
  buffer B: float32[3], param B_handle
  for i in range(3) {
    B[i] = A[i] * %.1f
  }
}
`, i, factor)
	}
	return must.Get(text.Parse(source))(t)
}

// A program of many functions is compiled as several C files, and equal bodies are compiled once. Each function is
// found by its own name, which its errors and its metadata contain. The same program gives the same bytes, whether it
// was compiled before or not.
func TestBuild_ManyFunctions(t *testing.T) {
	const n = 250
	var files [][]byte
	for _, cache := range []string{"off", t.TempDir(), ""} {
		if cache != "" {
			t.Setenv("TVMGO_CACHE_DIR", cache)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "many.so")
		require.NoError(t, export.Library(context.Background(), built(t, manyScales(t, n), kind(t, "c")), path,
			export.KeepFiles(filepath.Join(dir, "kept"))))
		require.FileExists(t, filepath.Join(dir, "kept", "lib0_1.c"), "more than one C file")
		data := must.Get(os.ReadFile(path))(t)
		files = append(files, data)
	}
	require.Equal(t, files[0], files[1])
	require.Equal(t, files[0], files[2], "from the cache")

	m := must.Open(runtime.LoadBytes(context.Background(), files[0]))(t)
	for _, i := range []int{0, 1, 9, 128, 199, 248, 249} {
		name := fmt.Sprintf("f%d", i)
		f := must.Get(m.Function(name))(t)
		factor := float32(2)
		if i%10 == 9 {
			factor = float32(i)
		}
		in := must.Get(runtime.FromSlice([]float32{1, 2, 3}))(t)
		out := must.Get(runtime.FromSlice([]float32{0, 0, 0}))(t)
		must.Get(f.Call(in, out))(t)
		require.Equal(t, []float32{factor, 2 * factor, 3 * factor}, must.Get(runtime.ToSlice[float32](out))(t), name)
		_, err := f.Call(in)
		require.ErrorContains(t, err, name+": expected 2 arguments, got 1: "+name+"(A: float32[3], B: float32[3])")
		short := must.Get(runtime.FromSlice([]float32{1}))(t)
		require.ErrorContains(t, must.Fail(f.Call(in, short)), name+": argument 1 (B): shape[0] is 1, expected 3")
		meta := must.Get(m.Metadata(name))(t)
		require.Contains(t, meta.Text, name+"(A: float32[3]")
		for _, c := range []interface{ Close() error }{in, out, short, f} {
			require.NoError(t, c.Close())
		}
	}
}

// Errors of a shared body name the function that was called, not the one that has the body.
func TestBuild_SharedBodyNamesCaller(t *testing.T) {
	source := ""
	for _, name := range []string{"first", "second"} {
		source += fmt.Sprintf(`func %s(n: int32) {
  assert n < 3, ValueError, "n is too large"
}
`, name)
	}
	program := must.Get(text.Parse(source))(t)
	m := built(t, program, kind(t, "c"))
	for _, name := range []string{"first", "second"} {
		f := must.Get(m.Function(name))(t)
		require.ErrorContains(t, must.Fail(f.Call(5)), name+": n is too large")
		require.NoError(t, f.Close())
	}
	require.NotContains(t, must.Get(m.GetSource("c"))(t), "second_body")
}

// Two long programs that have functions in common may be linked into one library.
func TestBuild_TwoOfManyFunctions(t *testing.T) {
	first := built(t, manyScales(t, 250), kind(t, "c"))
	program := manyScales(t, 250)
	for _, f := range program.Funcs {
		f.Name = "g" + f.Name
	}
	second := built(t, program, kind(t, "c"))
	require.NoError(t, first.Import(second))
	path := filepath.Join(t.TempDir(), "two.so")
	require.NoError(t, export.Library(context.Background(), first, path))
	m := must.Open(runtime.Load(context.Background(), path))(t)
	for _, name := range []string{"f3", "gf248"} {
		f := must.Get(m.Function(name))(t)
		require.ErrorContains(t, must.Fail(f.Call(1)), name+": expected 2 arguments, got 1")
		require.NoError(t, f.Close())
	}
}
