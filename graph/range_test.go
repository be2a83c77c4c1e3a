package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/graph"
	"tvmgo/tir"
)

// Formulas of sizes that have ranges have limits.
func TestFunction_Largest(t *testing.T) {
	f := graph.NewFunction("main")
	n, m := f.Symbol("n"), f.Symbol("m")
	require.NoError(t, f.SetRange(n, graph.Range{Min: 2, Max: 64}))
	require.NoError(t, f.SetRange(m, graph.Range{Min: 0, Max: 1<<31 - 1}))
	three := tir.I32(3)
	for _, c := range []struct {
		size tir.Expr
		want int64
	}{
		{three, 3},
		{n, 64},
		{tir.Mul(n, three), 192},
		{tir.Sub(three, n), 1},
		{tir.FloorDiv(tir.Add(n, three), tir.I32(2)), 33},
		{tir.Sub(tir.I32(0), n), 0}, // a model with such a size stops
	} {
		got, ok := f.Largest([]tir.Expr{c.size})
		require.True(t, ok)
		require.Equal(t, []int64{c.want}, got)
	}
	_, ok := f.Clone().Largest([]tir.Expr{n, tir.Mul(n, tir.I32(1<<30))})
	require.False(t, ok)
	_, ok = f.Largest([]tir.Expr{n, f.Symbol("open")})
	require.False(t, ok)
	require.ErrorContains(t, f.SetRange(tir.NewVar("n", tir.Int32), graph.Exactly(1)), "not one of function")
	require.Equal(t, []*tir.Var{m, n}, f.Ranged())
}

func TestParseRange(t *testing.T) {
	for text, want := range map[string]graph.Range{"4": {4, 4}, "0..64": {0, 64}, "7..7": {7, 7}} {
		got, err := graph.ParseRange(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, err)
	}
	for text, want := range map[string]string{"": "such as 1..64", "x..y": "such as 1..64", "1..": "such as 1..64",
		"1...3": "such as 1..64", "5..1": "no size is in the range: want the least size first, 1..5",
		"-1..4": "want sizes from 0 to", "-1": "want sizes from 0 to", "1..2147483648": "want sizes from 0 to"} {
		_, err := graph.ParseRange(text)
		require.ErrorContains(t, err, want, text)
	}
}
