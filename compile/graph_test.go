package compile_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/compile"
	"tvmgo/export"
	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/target"
	"tvmgo/tir"
)

func TestGraph(t *testing.T) {
	f := graph.NewFunction("main")
	x := f.Param("x", tir.Float32, f.Symbol("n"), tir.I32(4))
	y, err := f.Add("relu", nil, x)
	require.NoError(t, err)
	s, err := f.Add("shape", nil, x)
	require.NoError(t, err)
	n, err := f.Add("gather", nil, s[0], f.Ints("zero", 0))
	require.NoError(t, err)
	shape, err := f.Add("concat", nil, f.Ints("two", 2), f.Ints("two", 2), n[0])
	require.NoError(t, err)
	z, err := f.Add("reshape", nil, y[0], shape[0])
	require.NoError(t, err)
	require.Equal(t, "reshape: float32[2, 2, n]", "reshape"+z[0].String())
	w, err := f.Add("add", nil, z[0], z[0])
	require.NoError(t, err)
	f.Return(w[0])
	tg, err := target.New("c")
	require.NoError(t, err)
	m, err := compile.Function(context.Background(), f, compile.Options{Target: tg})
	require.NoError(t, err)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "m.so")
	require.NoError(t, export.Library(context.Background(), m.Module, path))
	model, err := runtime.LoadModel(context.Background(), path)
	require.NoError(t, err)
	defer model.Close()
	in, err := runtime.FromSlice([]float32{1, -2, 3, 4, 5, 6, -7, 8})
	require.NoError(t, err)
	in, err = in.Reshape(2, 4)
	require.NoError(t, err)
	out, err := model.Run(context.Background(), runtime.Ordered{in})
	require.NoError(t, err)
	t.Log(out)
}
