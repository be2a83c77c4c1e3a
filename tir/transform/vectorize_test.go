package transform_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
