package tir_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	. "tvmgo/tir"
)

// All codes of the floats of at most 8 bits have the values that the interpreter reads, and values have their codes.
func TestFloatOfBits(t *testing.T) {
	for code := dlpack.CodeFloat8E3M4; code <= dlpack.CodeFloat4E2M1FN; code++ {
		dt := Type{Code: uint8(code), Bits: 8, Lanes: 1}
		switch code {
		case dlpack.CodeFloat6E2M3FN, dlpack.CodeFloat6E3M2FN:
			dt.Bits = 6
		case dlpack.CodeFloat4E2M1FN:
			dt.Bits = 4
		}
		for bits := range 1 << dt.Bits {
			a := &tirrun.Array{DType: dt, Shape: []int64{1}, Data: []byte{byte(bits)}}
			want := must.Get(tirrun.Values[float64](a))(t)[0]
			got := FloatOfBits(dt, uint8(bits))
			back, ok := BitsOfFloat(dt, got)
			require.True(t, ok, "%s %x", dt, bits)
			if math.IsNaN(want) {
				require.True(t, math.IsNaN(got) && math.IsNaN(FloatOfBits(dt, back)), "%s %x", dt, bits)
				continue
			}
			require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s %x", dt, bits)
			require.Equal(t, uint8(bits), back, "%s", dt)
		}
	}
	for _, v := range []float64{0.3, 449, math.Inf(1)} {
		_, ok := BitsOfFloat(dlpack.Float8E4M3FN, v)
		require.False(t, ok)
	}
	_, ok := BitsOfFloat(Float16, 1)
	require.False(t, ok)
	require.Zero(t, FloatOfBits(Int8, 1))
}
