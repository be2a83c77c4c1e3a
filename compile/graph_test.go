package compile_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	_ "tvmgo/codegen/all"
	"tvmgo/compile"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/graph"
	_ "tvmgo/graph/operators"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	_ "tvmgo/runtime/all"
	"tvmgo/target"
	"tvmgo/tir"
)

// doubled is relu(x) twice, one after the other along a dimension of open size, which is computed from the shape of x.
func doubled(t *testing.T) *graph.Function {
	t.Helper()
	f := graph.NewFunction("main")
	add := func(op string, attrs graph.Attrs, in ...*graph.Value) *graph.Value {
		return must.Get(f.Add(op, attrs, in...))(t)[0]
	}
	x := f.Param("x", tir.Float32, f.Symbol("n"), tir.I32(4))
	y := add("relu", nil, x)
	n := add("gather", nil, add("shape", nil, x), f.Ints("zero", 0))
	z := add("reshape", nil, y, add("concat", nil, f.Ints("two", 2), f.Ints("two", 2), n))
	require.Equal(t, ": float32[2, 2, n]", z.String())
	f.Return(add("concat", graph.Attrs{"axis": int64(2)}, z, z))
	return f
}

// library compiles a function for targets into a library.
func library(t *testing.T, f *graph.Function, targets ...*target.Target) string {
	t.Helper()
	c := must.Get(compile.Function(t.Context(), f, compile.Options{Targets: targets}))(t)
	defer c.Close()
	path := filepath.Join(t.TempDir(), "model.so")
	require.NoError(t, export.Library(t.Context(), c.Module, path))
	return path
}

// runDoubled runs the library of doubled for two sizes.
func runDoubled(t *testing.T, model *runtime.Model) {
	t.Helper()
	for _, c := range []struct{ in, want []float32 }{
		{[]float32{1, -2, 3, 4}, []float32{1, 1, 0, 0, 3, 3, 4, 4}},
		{[]float32{1, -2, 3, 4, 5, 6, -7, 8}, []float32{1, 0, 1, 0, 3, 4, 3, 4, 5, 6, 5, 6, 0, 8, 0, 8}},
	} {
		n := int64(len(c.in) / 4)
		x := must.Get(runtime.FromSlice(c.in, n, 4))(t)
		out := must.Get(model.Run(t.Context(), runtime.Ordered{x}))(t)
		y := must.Get(out.Tensor(0))(t)
		require.Equal(t, []int64{2, 2, 2 * n}, y.Shape())
		require.Equal(t, c.want, must.Get(runtime.ToSlice[float32](y))(t))
		require.NoError(t, out.Close())
	}
}

func TestFunction(t *testing.T) {
	model := must.Get(runtime.LoadModel(t.Context(), library(t, doubled(t))))(t)
	defer model.Close()
	runDoubled(t, model)
}

// Sizes that have a range are checked, and tensors of such sizes share storages for the greatest one.
func TestFunction_Range(t *testing.T) {
	f := graph.NewFunction("main")
	n, m := f.Symbol("n"), f.Symbol("m")
	x, y := f.Param("x", tir.Float32, tir.I32(2), n), f.Param("y", tir.Float32, m)
	require.NoError(t, f.SetRange(n, graph.Range{Min: 2, Max: 5}))
	require.NoError(t, f.SetRange(m, graph.Range{Min: 0, Max: 3}))
	total := func(v *graph.Value) *graph.Value {
		return must.Get(f.Add("reduce_sum", nil, must.Get(f.Add("softmax", nil, v))(t)[0]))(t)[0]
	}
	f.Return(must.Get(f.Add("add", nil, total(x), total(y)))(t)...)
	model := must.Get(runtime.LoadModel(t.Context(), library(t, f)))(t)
	defer model.Close()
	for _, c := range []struct {
		n, m int64
		want string
	}{
		{2, 3, ""},
		{5, 1, ""},
		{1, 3, "the model is compiled for sizes 2..5 of dimension 1 : dimension 1 of the shape (2, 1) is 1"},
		{6, 3, "annotation=R.Tensor((2, n), dtype=\"float32\")) the model is compiled for sizes 2..5 of dimension 1 "},
		{3, 4, "annotation=R.Tensor((m,), dtype=\"float32\")) the model is compiled for sizes 0..3 of dimension 0 "},
	} {
		a := must.Get(runtime.FromSlice(make([]float32, 2*c.n), 2, c.n))(t)
		b := must.Get(runtime.FromSlice(make([]float32, c.m), c.m))(t)
		out, err := model.Run(t.Context(), runtime.Ordered{a, b})
		if c.want != "" {
			require.ErrorContains(t, err, c.want)
			continue
		}
		sum := must.Get(out.Tensor(0))(t)
		require.InDeltaSlice(t, []float32{3}, must.Get(runtime.ToSlice[float32](sum))(t), 1e-5)
		require.NoError(t, out.Close())
	}
}

// storages counts the storages that a program allocates, and those whose size is not constant.
func storages(t *testing.T, f *graph.Function) (all, open int) {
	t.Helper()
	c := must.Get(compile.Function(t.Context(), f, compile.Options{}))(t)
	defer c.Close()
	for _, in := range c.Program.Code.Code {
		if in.Op == vmcode.Call && c.Program.Code.Functions[in.Callee].Name == "vm.builtin.alloc_storage" {
			if all++; in.Args[1].Kind == vmcode.InRegister {
				open++
			}
		}
	}
	return all, open
}

// Tensors of different sizes share storages if the sizes have ranges; results have memory of their own size.
func TestFunction_RangeOfStorages(t *testing.T) {
	f := graph.NewFunction("main")
	n := f.Symbol("n")
	x := f.Param("x", tir.Float32, tir.I32(4), n)
	for range 4 { // each value has one more column than the last one
		one := must.Get(f.Const("one", tir.Float32, []int64{4, 1}, make([]byte, 16)))(t)
		y := must.Get(f.Add("concat", graph.Attrs{"axis": int64(1)}, x, one))(t)[0]
		x = must.Get(f.Add("softmax", nil, y))(t)[0]
	}
	f.Return(x)
	all, open := storages(t, f)
	require.Equal(t, all, open)
	require.NoError(t, f.SetRange(n, graph.Range{Min: 1, Max: 64}))
	fewer, open := storages(t, f)
	require.Less(t, fewer, all)
	require.Equal(t, 1, open)
}

// A library for several targets runs on the devices of each of them.
func TestFunction_Targets(t *testing.T) {
	dev := dlpack.Device{Type: dlpack.OpenCL}
	if !runtime.DeviceExists(dev) {
		gputest.Missing(t, dev.Type, "there is no OpenCL device")
	}
	path := library(t, doubled(t), must.Get(target.New("c"))(t), must.Get(target.New("opencl"))(t))
	for _, devices := range [][]dlpack.Device{{runtime.CPU}, {dev, runtime.CPU}} {
		model := must.Get(runtime.LoadModel(t.Context(), path, runtime.OnDevices(devices...)))(t)
		runDoubled(t, model)
		require.NoError(t, model.Close())
	}
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
	m, err := compile.Function(context.Background(), f, compile.Options{})
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
