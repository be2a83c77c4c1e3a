package codegen_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/te"
	"tvmgo/tir"
)

// layer is relu(A·B + bias), unscheduled: its arguments A, B, bias and the result, the axis of the sum, and A·B.
func layer(rows, inner, cols int32) ([4]*te.Tensor, *tir.IterVar, *te.Tensor) {
	a, b := te.Placeholder(te.Dims(rows, inner), tir.Float32, "A"), te.Placeholder(te.Dims(inner, cols), tir.Float32, "B")
	bias := te.Placeholder(te.Dims(cols), tir.Float32, "bias")
	k := te.ReduceAxis(tir.I32(0), tir.I32(inner), "k")
	product := te.Compute(te.Dims(rows, cols), "product",
		func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	out := te.Compute(te.Dims(rows, cols), "out", func(i ...tir.Expr) tir.Expr {
		return tir.Max(tir.Add(product.At(i...), bias.At(i[1])), tir.F32(0))
	})
	return [4]*te.Tensor{a, b, bias, out}, k, product
}

// dense is relu(A·B + bias) with a schedule: tiles that do not divide the sizes, threads, vectors, and sums in separate
// memory.
func dense(t testing.TB, rows, inner, cols int32) *tir.IRModule {
	t.Helper()
	args, k, product := layer(rows, inner, cols)
	out := args[3]
	s := must.Get(te.NewSchedule(out))(t)
	st := s.Stage(out)
	outer, tile, _, lanes := st.Tile(out.Axes()[0], out.Axes()[1], 4, 8)
	st.Vectorize(lanes)
	st.Parallel(outer)
	sums := s.Stage(product)
	sums.ComputeAt(st, tile)
	sums.Reorder(k, product.Axes()[0], product.Axes()[1])
	return must.Get(te.Lower(s, []any{args[0], args[1], args[2], out}, "dense"))(t)
}

// TestBuild_TensorExpressions goes from formulas and a schedule to C and a library, and expects the same numbers from
// the library as from Go.
func TestBuild_TensorExpressions(t *testing.T) {
	const rows, inner, cols = 13, 7, 29
	m := built(t, dense(t, rows, inner, cols), kind(t, "c"))
	path := filepath.Join(t.TempDir(), "dense.so")
	require.NoError(t, export.Library(context.Background(), m, path))
	loaded := must.Open(runtime.Load(context.Background(), path))(t)

	values := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(math.Sin(float64(i*7 + n)))
		}
		return v
	}
	a, b, bias := values(rows*inner), values(inner*cols), values(cols)
	want := make([]float32, rows*cols)
	for i := range rows {
		for j := range cols {
			sum := 0.0
			for k := range inner {
				sum += float64(a[i*inner+k]) * float64(b[k*cols+j])
			}
			want[i*cols+j] = max(float32(sum)+bias[j], 0)
		}
	}
	for _, from := range []*runtime.Module{m, loaded} {
		f := must.Get(from.Function("dense"))(t)
		out := make([]float32, rows*cols)
		tensors := []any{modules.Tensor(t, a, rows, inner), modules.Tensor(t, b, inner, cols), modules.Tensor(t, bias, cols),
			modules.Tensor(t, out, rows, cols)}
		must.Get(f.Call(tensors...))(t)
		out = must.Get(runtime.ToSlice[float32](tensors[3].(*runtime.Tensor)))(t)
		require.InDeltaSlice(t, want, out, 1e-5)

		_, err := f.Call(tensors[0], tensors[1], tensors[2], tensors[0])
		require.ErrorContains(t, err, "dense: argument 3 (out)")
		f.Close()
	}
}
