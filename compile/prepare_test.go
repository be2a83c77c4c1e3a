package compile_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob/vmcode"
	"tvmgo/compile"
	"tvmgo/export"
	"tvmgo/graph"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// Weights of matrix products are stored once, as the panels that kernels read, also for a product with one row, or with
// as many as a call has.
func TestFunction_PreparedConstants(t *testing.T) {
	const k, n = 96, 150
	r := rand.New(rand.NewPCG(1, 2))
	w, data := make([]float32, k*n), []byte{}
	for i := range w {
		w[i] = float32(r.IntN(7) - 3)
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(w[i]))
	}
	for _, rows := range []int32{1, 5, 40, 0} {
		size, calls := tir.Expr(tir.I32(rows)), []int64{int64(rows)}
		if rows == 0 {
			size, calls = tir.NewVar("rows", tir.Int64), []int64{0, 1, 2, 6, 7, 64, 101}
		}
		f := graph.NewFunction("main")
		weights := must.Get(f.Const("w", tir.Float32, []int64{k, n}, data))(t)
		x := f.Param("x", tir.Float32, size, tir.I32(k))
		y := must.Get(f.Add("matmul", nil, x, weights))(t)[0]
		z := must.Get(f.Add("matmul", nil, must.Get(f.Add("relu", nil, x))(t)[0], weights))(t)[0]
		f.Return(must.Get(f.Add("add", nil, y, z))(t)[0])
		c := must.Get(compile.Function(t.Context(), f, compile.Options{}))(t)
		var shapes [][]int64
		for _, constant := range c.Program.Code.Constants {
			if constant.Kind == vmcode.TensorConstant {
				shapes = append(shapes, constant.Tensor.Shape)
			}
		}
		require.Len(t, shapes, 1, "both products read the same panels")
		require.Len(t, shapes[0], 3)
		require.EqualValues(t, k, shapes[0][1])
		path := t.TempDir() + "/model.so"
		require.NoError(t, export.Library(t.Context(), c.Module, path))
		require.NoError(t, c.Close())

		model := must.Get(runtime.LoadModel(t.Context(), path))(t)
		for _, rows := range calls {
			in := make([]float32, rows*k)
			for i := range in {
				in[i] = float32(r.IntN(9) - 4)
			}
			want := make([]float32, rows*n)
			for i := range want {
				for j := range k {
					v := in[i/n*k+j]
					want[i] += (v + max(v, 0)) * w[j*n+i%n]
				}
			}
			out := must.Get(model.Run(t.Context(), runtime.Ordered{must.Get(runtime.FromSlice(in, rows, k))(t)}))(t)
			require.Equal(t, want, must.Get(runtime.ToSlice[float32](must.Get(out.Tensor(0))(t)))(t))
			require.NoError(t, out.Close())
		}
		require.NoError(t, model.Close())
	}
}

// With several targets, kernels of all of them read the weights as they are.
func TestFunction_PortableConstants(t *testing.T) {
	f := graph.NewFunction("main")
	w := must.Get(f.Const("w", tir.Float32, []int64{64, 64}, make([]byte, 64*64*4)))(t)
	x := f.Param("x", tir.Float32, tir.I32(32), tir.I32(64))
	f.Return(must.Get(f.Add("matmul", nil, x, w))(t)[0])
	both := []*target.Target{must.Get(target.New("c"))(t), must.Get(target.New("opencl"))(t)}
	c := must.Get(compile.Function(t.Context(), f, compile.Options{Targets: both}))(t)
	defer c.Close()
	require.True(t, slices.ContainsFunc(c.Program.Code.Constants, func(c vmcode.Constant) bool {
		return c.Kind == vmcode.TensorConstant && slices.Equal(c.Tensor.Shape, []int64{64, 64})
	}))
}
