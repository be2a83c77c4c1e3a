package tir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// Errors about what stands very deep say the ends of the path, and the reason can be seen.
func TestCheck_LongPathIsShortened(t *testing.T) {
	for _, deep := range []int{1_000, 250_000} {
		var e tir.Expr = &tir.Binary{Op: tir.OpAdd, A: tir.I32(1), B: nil}
		for range deep {
			e = &tir.Binary{Op: tir.OpAdd, A: e, B: tir.I32(1)}
		}
		f := &tir.PrimFunc{Name: "f", Result: tir.Void, Body: &tir.Evaluate{Value: e}, Buffers: map[*tir.Var]*tir.Buffer{}}
		err := tir.Check(&tir.IRModule{Funcs: []*tir.PrimFunc{f}})
		require.Error(t, err)
		require.Less(t, len(err.Error()), 1000)
		require.Contains(t, err.Error(), " more)…")
	}
}

// So does what tells two programs apart.
func TestDifference_LongPathIsShortened(t *testing.T) {
	deep := func(n int64) tir.Expr {
		e := tir.Expr(tir.I64(n))
		for range 50_000 {
			e = &tir.Binary{Op: tir.OpAdd, A: e, B: tir.I64(1)}
		}
		return e
	}
	text := tir.Difference(deep(1), deep(2))
	require.Less(t, len(text), 1000)
	require.Contains(t, text, "more)….a.a.")
	require.Contains(t, text, ": constant 1 of type int64 is not 2 of type int64")
}
