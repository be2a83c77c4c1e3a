package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/target"
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/transform"
)

// A tile of a product of matrices becomes vectors in memory of constant indices, which compilers keep in registers.
func TestForC_TileOfMatmul(t *testing.T) {
	const n = 96
	a, b := te.Placeholder(te.Dims(n, n), tir.Float32, "A"), te.Placeholder(te.Dims(n, n), tir.Float32, "B")
	k := te.ReduceAxis(tir.I32(0), tir.I32(n), "k")
	r := te.Compute(te.Dims(n, n), "C", func(i ...tir.Expr) tir.Expr { return te.Sum(tir.Mul(a.At(i[0], k.Var), b.At(k.Var, i[1])), k) })
	s, err := te.NewSchedule(r)
	require.NoError(t, err)
	acc := s.CacheWrite(r, "local")
	st := s.Stage(r)
	_, yo, xi, yi := st.Tile(r.Axes()[0], r.Axes()[1], 6, 32)
	st.Unroll(xi)
	st.Vectorize(yi)
	l := s.Stage(acc)
	l.ComputeAt(st, yo)
	ko, ki := l.Split(l.ReduceAxes()[0], 4)
	l.Reorder(ko, ki, l.Axes()[0], l.Axes()[1])
	l.Unroll(l.Axes()[0])
	l.Vectorize(l.Axes()[1])
	m, err := te.Lower(s, []any{a, b, r}, "matmul")
	require.NoError(t, err)
	for _, p := range transform.ForC() {
		m, err = p(m, nil)
		require.NoError(t, err)
		require.NoError(t, tir.Check(m))
	}
	stores := 0
	tir.Walk(m, func(node any) bool {
		switch n := node.(type) {
		case *tir.For:
			require.Equal(t, tir.Serial, n.Kind)
		case *tir.BufferStore:
			require.Equal(t, tir.Vector(tir.Float32, 16), n.Value.DType())
			stores++
		}
		return true
	})
	require.Equal(t, 3*6*2, stores, "of zeros, of sums, and of results; for each row two")
}

// How long vectors are depends on the target's CPU.
func TestVectorize_Width(t *testing.T) {
	for options, want := range map[string]int{
		"c": 16, "c -march=native": 16, "c -march=x86-64-v4": 16, "c -march=skylake-avx512": 16, "c -march=x86-64-v3": 8, "c -march=znver3": 8, "c -march=x86-64": 4,
		"llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu": 8, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+avx2": 8,
		"llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72": 4, "llvm -vector-width=256": 8, "c -mcpu=haswell": 16,
	} {
		k, err := target.New(options)
		require.NoError(t, err, options)
		m, err := tir.Parse(`func f(a: handle) {
  buffer A: float32[32], param a
  vectorized i in range(32) {
    A[i] = 1.0
  }
}`)
		require.NoError(t, err)
		m, err = transform.Vectorize(m, k)
		require.NoError(t, err)
		stores := 0
		tir.Walk(m, func(node any) bool {
			if s, ok := node.(*tir.BufferStore); ok {
				require.Equal(t, want, int(s.Value.DType().Lanes), options)
				stores++
			}
			return true
		})
		require.Equal(t, 32/want, stores, options)
	}
}
