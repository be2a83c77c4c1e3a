package te_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/te"
	"tvmgo/tir"
)

// squares is a chain of squares, all but the last inlined. Each reads the previous one twice.
func squares(t testing.TB, n int) (*tir.IRModule, error) {
	t.Helper()
	x := te.Placeholder(te.Dims(8), tir.Float32, "x")
	all := []*te.Tensor{x}
	for i := range n {
		y := all[len(all)-1]
		all = append(all, te.Compute(te.Dims(8), fmt.Sprintf("y%d", i), func(i ...tir.Expr) tir.Expr {
			return tir.Mul(y.At(i...), y.At(i...))
		}))
	}
	last := all[len(all)-1]
	s := must.Get(te.NewSchedule(last))(t)
	for _, y := range all[1 : len(all)-1] {
		s.Stage(y).ComputeInline()
	}
	return te.Lower(s, []any{x, last}, "squares")
}

// If inlining would make a formula too long, Lower returns an error that names the stage before it builds the formula.
func TestLower_InlinedTooOften(t *testing.T) {
	m, err := squares(t, 3)
	require.NoError(t, err)
	require.NoError(t, tir.Check(m))
	for _, n := range []int{20, 200} {
		_, err = squares(t, n)
		require.ErrorContains(t, err, "te: lower squares: tensor y")
		require.ErrorContains(t, err, "which itself inlines others: compute some of them at a loop (compute_at), "+
			"or as a whole (compute_root)")
	}
}
