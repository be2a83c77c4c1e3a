package te

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/tir"
)

// A maximum starts with the least value of its type, and a minimum with the greatest.
func TestExtremes(t *testing.T) {
	for typ, want := range map[tir.Type][2]int64{tir.Int8: {-128, 127}, tir.UInt8: {0, 255},
		tir.Int32: {math.MinInt32, math.MaxInt32}, tir.UInt32: {0, math.MaxUint32},
		tir.Int64: {math.MinInt64, math.MaxInt64}, tir.UInt64: {0, -1}} {
		for i, e := range []tir.Expr{least(typ), greatest(typ)} {
			require.Equal(t, tir.Expr(&tir.IntImm{Type: typ, Value: want[i]}), e, typ.String())
		}
	}
}
