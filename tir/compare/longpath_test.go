package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// The path to a difference that is nested very deep is shortened to its ends, and the reason can be seen.
func TestDifference_LongPathIsShortened(t *testing.T) {
	deep := func(n int64) tir.Expr {
		e := tir.Expr(tir.I64(n))
		for range 50_000 {
			e = &tir.Binary{Op: tir.OpAdd, A: e, B: tir.I64(1)}
		}
		return e
	}
	text := Difference(deep(1), deep(2))
	require.Less(t, len(text), 1000)
	require.Contains(t, text, "more)….a.a.")
	require.Contains(t, text, ": value 1 is not 2")
}
