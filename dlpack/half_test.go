package dlpack

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFloat16(t *testing.T) {
	for v, bits := range map[float64]Float16Bits{0: 0, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65519.9: 0x7bff,
		65520: 0x7c00, -1e300: 0xfc00,
		math.Inf(1): 0x7c00, 0x1p-14: 0x0400, 0x1p-24: 1, 0x1p-25: 0, 0x1.0000000001p-25: 1, 0x3p-25: 2, 5e-324: 0,
		0.1:         0x2e66,
		1 + 0x1p-11: 0x3c00, 1 + 0x3p-11: 0x3c02, 2 - 0x1p-12: 0x4000,
		1 + 0x1p-11 + 0x1p-40: 0x3c01, // a float32 between would end at the tie
	} {
		require.Equal(t, bits, Float16Of(v), "%g", v)
	}
	require.Equal(t, Float16Bits(0x8000), Float16Of(math.Copysign(0, -1)))
	require.Equal(t, "0.099975586 -Inf 65504", fmt.Sprint(Float16Of(0.1), Float16Of(math.Inf(-1)), Float16Of(65504)))
}

func TestBFloat16(t *testing.T) {
	for v, bits := range map[float64]BFloat16Bits{0: 0, 1: 0x3f80, -2: 0xc000, 3.140625: 0x4049, 0x1.fep127: 0x7f7f,
		0x1.fefp127: 0x7f7f, 0x1.ffp127: 0x7f80,
		math.MaxFloat32: 0x7f80, -1e300: 0xff80, math.Inf(1): 0x7f80, 0x1p-126: 0x0080, 0x1p-133: 1, 0x1p-134: 0,
		0x1.8p-134: 1, 0x3p-134: 2,
		1 + 0x1p-8: 0x3f80, 1 + 0x3p-8: 0x3f82, 1 + 0x1p-8 + 0x1p-40: 0x3f81} {
		require.Equal(t, bits, BFloat16Of(v), "%g", v)
	}
	require.Equal(t, "3.140625 +Inf", fmt.Sprint(BFloat16Of(3.14), BFloat16Of(math.Inf(1))))
}

// All numbers, and the middle between each and the next.
func TestHalves_RoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		f, b := Float16Bits(i), BFloat16Bits(i)
		x, y := float64(f.Float32()), float64(b.Float32())
		if i&0x7fff <= 0x7c00 {
			require.Equal(t, f, Float16Of(x))
		} else {
			require.True(t, math.IsNaN(x))
			require.Equal(t, f|0x200, Float16Of(x), "quiet")
		}
		if i&0x7fff <= 0x7f80 {
			require.Equal(t, b, BFloat16Of(y))
		} else {
			require.True(t, math.IsNaN(y))
			require.Equal(t, b|0x40, BFloat16Of(y), "quiet")
		}
		even := uint16(i + i&1)
		if i&0x7fff < 0x7bff {
			middle := (x + float64((f + 1).Float32())) / 2
			require.Equal(t, Float16Bits(even), Float16Of(middle))
			require.Equal(t, f, Float16Of(middle-(middle-x)/2))
			require.Equal(t, f+1, Float16Of(middle+(middle-x)/2))
		}
		if i&0x7fff < 0x7f7f {
			middle := (y + float64((b + 1).Float32())) / 2
			require.Equal(t, BFloat16Bits(even), BFloat16Of(middle))
			require.Equal(t, b, BFloat16Of(middle-(middle-y)/2))
			require.Equal(t, b+1, BFloat16Of(middle+(middle-y)/2))
		}
	}
}

func TestDataTypeOf_Halves(t *testing.T) {
	require.Equal(t, Float16, DataTypeOf[Float16Bits]())
	require.Equal(t, BFloat16, DataTypeOf[BFloat16Bits]())
	type code uint16
	require.Equal(t, UInt16, DataTypeOf[code]())
	require.Zero(t, testing.AllocsPerRun(10, func() { DataTypeOf[Float16Bits]() }))
}
