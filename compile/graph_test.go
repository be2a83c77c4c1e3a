package compile_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "tvmgo/codegen/all"
	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/must"
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

// Constants, operands and results with several elements in a byte, of known and of open sizes.
func TestGraph_Packed(t *testing.T) {
	int4, float4 := tir.Type{Code: dlpack.CodeInt, Bits: 4, Lanes: 1}, dlpack.Float4E2M1FN
	f := graph.NewFunction("main")
	x := f.Param("x", int4, f.Symbol("n"), tir.I32(5))
	// -1, 2, 7, -8, 3
	c, err := f.Const("c", int4, []int64{5}, []byte{0x2f, 0x87, 0x03})
	require.NoError(t, err)
	add := func(op string, attrs graph.Attrs, in ...*graph.Value) *graph.Value {
		out, err := f.Add(op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	as := func(v *graph.Value, to tir.Type) *graph.Value { return add("cast", graph.Attrs{"to": to}, v) }
	turned := add("transpose", graph.Attrs{"perm": []int64{1, 0}}, x)
	again := add("transpose", graph.Attrs{"perm": []int64{1, 0}}, add("identity", nil, turned))
	sum := add("add", nil, as(again, tir.Float32), as(c, tir.Float32))
	f.Return(as(sum, int4), as(sum, float4), turned, c)
	m, err := compile.Function(context.Background(), f, compile.Options{Target: must.Get(target.New("c"))(t)})
	require.NoError(t, err)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "m.so")
	require.NoError(t, export.Library(context.Background(), m.Module, path))
	model := must.Get(runtime.LoadModel(context.Background(), path))(t)
	defer model.Close()
	in := must.Get(runtime.NewTensor(int4, []int64{3, 5}, runtime.CPU))(t)
	defer in.Close()
	// 0 … 7, -8 … -2
	require.NoError(t, in.CopyFromBytes([]byte{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0x0e}))
	for range 2 {
		out := must.Get(model.Run(context.Background(), runtime.Ordered{in}))(t)
		for i, want := range []struct {
			t    tir.Type
			data []byte
			bits int
		}{
			// -1 3 9 -5 7, 4 8 14 -16 -4, -7 -3 3 -11 1: the lowest bits, and the nearest
			{int4, []byte{0x3f, 0xb9, 0x47, 0xe8, 0xc0, 0xd9, 0x53, 0x01}, 60},
			{float4, []byte{0x5a, 0xe7, 0x67, 0x77, 0xef, 0xdf, 0xf5, 0x02}, 60},
			{int4, []byte{0x50, 0x1a, 0xb6, 0x72, 0x3c, 0xd8, 0x94, 0x0e}, 60},
			{int4, []byte{0x2f, 0x87, 0x03}, 20},
		} {
			x := must.Get(out.Tensor(i))(t)
			require.Equal(t, want.t, x.DType())
			got := make([]byte, (want.bits+7)/8)
			require.NoError(t, x.CopyToBytes(got))
			got[len(got)-1] &= 0xf // the rest has any value
			require.Equal(t, want.data, got, "result %d", i)
		}
		require.NoError(t, out.Close())
	}
}
