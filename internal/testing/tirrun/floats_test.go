package tirrun

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// testdata/floats.json has the results of another implementation for the same numbers; floats.py writes it.
func TestFormats_AgreeWithMLDTypes(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/floats.json"))(t)
	var golden map[string]struct{ Bits, Values, From, To []uint32 }
	require.NoError(t, json.Unmarshal(text, &golden))
	require.Len(t, golden, len(formats))
	for name, g := range golden {
		dt := must.Get(dlpack.ParseDataType(name))(t)
		m := formatOf(dt)
		require.NotNil(t, m, name)
		for i, b := range g.Bits {
			want := math.Float32frombits(g.Values[i])
			got := m.decode(uint64(b))
			if math.IsNaN(float64(want)) {
				require.True(t, math.IsNaN(got), "%s %#x", name, b)
				continue
			}
			require.Equal(t, math.Float64bits(float64(want)), math.Float64bits(got), "%s: %#x is %v, not %v", name, b, want, got)
			require.Equal(t, b, uint32(m.encode(got)), "%s %v", name, got)
		}
		for i, b := range g.From {
			x := float64(math.Float32frombits(b))
			got := m.encode(x)
			if want := m.decode(uint64(g.To[i])); math.IsNaN(want) {
				require.True(t, math.IsNaN(m.decode(got)), "%s of %v is NaN, not %#x", name, x, got)
				continue
			}
			require.Equal(t, g.To[i], uint32(got), "%s of %v (%x)", name, x, x)
		}
	}
}

// exact rounds the sum of products, which big.Float computes exactly.
func exact(t tir.Type, x *big.Float) float64 {
	switch t {
	case tir.Float64:
		v, _ := x.Float64()
		return v
	case tir.Float32:
		v, _ := x.Float32()
		return float64(v)
	}
	m := formatOf(t)
	near, _ := x.Float64()
	if math.Abs(near) > m.decode(m.max) {
		return math.Inf(1)
	}
	best := math.Inf(1)
	distance := new(big.Float)
	var even uint64
	// The neighbours of the nearest value are candidates; at a tie the even one wins.
	mid := m.encode(near)
	for _, code := range []uint64{mid - 1, mid, mid + 1} {
		v := m.decode(code & 0xffff)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		d := new(big.Float).SetPrec(3000).Sub(x, big.NewFloat(v))
		d.Abs(d)
		if math.IsInf(best, 1) || d.Cmp(distance) < 0 || d.Cmp(distance) == 0 && code%2 == 0 && even%2 == 1 {
			best, even, distance = v, code, d
		}
	}
	return best
}

// Operations in float64 followed by rounding equal exact operations followed by rounding.
func TestOperations_RoundOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dt := range []tir.Type{tir.Float32, tir.Float16, tir.BFloat16, dlpack.Float8E4M3FN, tir.Float64} {
		// Double rounding shows in sums of operands with very different exponents.
		values := func() float64 { return roundTo(dt, math.Ldexp(r.Float64()*2-1, r.IntN(12)-6)) }
		if dt == tir.Float32 || dt == tir.Float64 {
			values = func() float64 { return roundTo(dt, math.Ldexp(r.Float64()*2-1, r.IntN(60)-30)) }
		}
		product := func(a, b float64) *big.Float {
			return new(big.Float).SetPrec(3000).Mul(big.NewFloat(a), big.NewFloat(b))
		}
		for range 3000 {
			a, b, c := values(), values(), values()
			if want := exact(dt, product(a, b)); want != 0 && !math.IsInf(want, 0) {
				require.Equal(t, want, floatOp(tir.OpMul, dt)(a, b), "%s %v*%v", dt, a, b)
			}
			if want := exact(dt, new(big.Float).SetPrec(3000).Add(product(a, b), big.NewFloat(c))); want != 0 &&
				!math.IsInf(want, 0) {
				require.Equal(t, want, fma(dt, a, b, c), "%s fma %v %v %v", dt, a, b, c)
			}
		}
	}
	// The exact sum is above the middle of two float32, by less than float64 can represent.
	a, b := 1+math.Ldexp(1, -23), 1.0
	require.Equal(t, float64(float32(a)), fma(tir.Float32, a, b, 0))
	tie := 1 + math.Ldexp(1, -12) // its square is 1 + 2^-11 + 2^-24: the middle
	require.Equal(t, 1+math.Ldexp(1, -11), fma(tir.Float32, tie, tie, 0))
	require.Equal(t, 1+math.Ldexp(1, -11)+math.Ldexp(1, -23), fma(tir.Float32, tie, tie, math.Ldexp(1, -100)))
	require.Equal(t, 1+math.Ldexp(1, -11), fma(tir.Float32, tie, tie, -math.Ldexp(1, -100)))
}

func TestCasts_IntsAndFloats(t *testing.T) {
	// Just above the middle of two bfloat16; rounded to float64 it is the middle.
	// 2^62 + 2^56 + 1
	require.Equal(t, math.Ldexp(1+1.0/64, 62), intToFloat(tir.Int64, tir.BFloat16, 1<<62+1<<56-1<<54+1<<54+1-1<<55+
		1<<54+1<<53+1<<53))
	// the middle goes to even
	require.Equal(t, math.Ldexp(1, 62), intToFloat(tir.Int64, tir.BFloat16, 1<<62+1<<54))
	require.Equal(t, math.Ldexp(1+1.0/128, 62), intToFloat(tir.Int64, tir.BFloat16, 1<<62+1<<54+1))
	require.Equal(t, -math.Ldexp(1+1.0/128, 62), intToFloat(tir.Int64, tir.BFloat16, -(1<<62+1<<54+1)))
	require.Equal(t, 16777216.0, intToFloat(tir.Int32, tir.Float32, 16777217))
	require.Equal(t, 18446744073709551616.0, intToFloat(tir.UInt64, tir.Float64, -1))
	require.Equal(t, float64(float32(uint64(1<<63+1<<39+1))), intToFloat(tir.UInt64, tir.Float32, -1<<63+1<<39+1))
	require.Equal(t, math.Inf(1), intToFloat(tir.Int32, tir.Float16, 65520))
	require.True(t, math.IsNaN(intToFloat(tir.Int8, tir.Type{Code: dlpack.CodeFloat8E8M0FNU, Bits: 8, Lanes: 1}, -4)),
		"the format has no sign")
	for _, c := range []struct {
		t    tir.Type
		x    float64
		want int64
	}{
		{tir.Int8, 127.9, 127}, {tir.Int8, 128, 127}, {tir.Int8, -128.9, -128}, {tir.Int8, -300, -128}, {tir.Int8, -1.9, -1},
		{tir.UInt8, -0.9, 0}, {tir.UInt8, -3, 0}, {tir.UInt8, 255.9, 255}, {tir.UInt8, 256, 255},
		{tir.Int64, 1e30, math.MaxInt64}, {tir.Int64, -1e30, math.MinInt64}, {tir.UInt64, 1e30, -1}, {tir.UInt64,
			math.Ldexp(1, 63), math.MinInt64},
		{tir.Int32, math.NaN(), 0}, {tir.UInt32, math.NaN(), 0}, {tir.Int32, math.Inf(1), math.MaxInt32}, {tir.Int32,
			math.Inf(-1), math.MinInt32},
	} {
		require.Equal(t, c.want, floatToInt(c.t, c.x), "%v as %s", c.x, c.t)
	}
}

// The layout of 1-bit types follows their sizes: int1 is packed, uint1 takes a byte, as bool does.
func TestArray_OneBit(t *testing.T) {
	signed := tir.Type{Code: dlpack.CodeInt, Bits: 1, Lanes: 1}
	a := must.Get(From(signed, []int{-1, 0, -1, 0, 0, 0, 0, 0, -1}, 9))(t)
	require.Equal(t, []byte{5, 1}, a.Data)
	require.Equal(t, []int{-1, 0, -1, 0, 0, 0, 0, 0, -1}, must.Get(Values[int](a))(t))
	b := must.Get(From(tir.Type{Code: dlpack.CodeUInt, Bits: 1, Lanes: 1}, []int{1, 0, 1}, 3))(t)
	require.Equal(t, []byte{1, 0, 1}, b.Data)
}
