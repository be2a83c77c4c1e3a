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
