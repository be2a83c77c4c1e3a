package errbound

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/testseed"
)

// Computations in float32, of random numbers of all sizes, are within the bounds, and the bounds are not far too wide.
func TestFloat32(t *testing.T) {
	r := testseed.Rand(t)
	f := Float32
	number := func() float32 { return float32(math.Ldexp(r.Float64()-0.5, r.IntN(12)-6)) }
	inv := func(x float32) float32 { return 1 / x }
	worst := map[string]float64{}
	check := func(name string, n Number, computed float32) {
		require.True(t, n.Has(float64(computed)), "%s: %v is not within %v", name, computed, n)
		worst[name] = math.Max(worst[name], math.Abs(float64(computed)-n.Value)/n.Error)
	}
	for range 20000 {
		x, y := number(), number()
		a, b := Exact(float64(x))[0], Exact(float64(y))[0]
		check("add", f.Add(a, b), x+y)
		check("sub", f.Sub(a, b), x-y)
		check("mul", f.Mul(a, b), x*y)
		small := x * 0x1p-130
		check("tiny", f.Mul(Exact(float64(small))[0], b), small*y)
		check("div", f.Div(a, b), x*inv(y))
		check("sqrt", f.Sqrt(Number{Value: math.Abs(a.Value)}), float32(math.Sqrt(math.Abs(float64(x)))))
		check("exp", f.Exp(a), float32(math.Exp(float64(x))))
		s := x + y
		sum := f.Add(a, b)
		check("mul of sums", f.Mul(sum, sum), s*s)
		check("exp of a sum", f.Exp(sum), float32(math.Exp(float64(s))))
		if math.Abs(sum.Value) > 0x1p-6 {
			check("div by a sum", f.Div(a, sum), x/s)
		}
		p := x*x + y*y
		check("sqrt of a sum", f.Sqrt(f.Dot([]Number{a, b}, []Number{a, b})), float32(math.Sqrt(float64(p))))
	}
	for range 200 {
		n := 1 + r.IntN(300)
		var x, y []Number
		total, dot := float32(0), float32(0)
		exact := new(big.Float).SetPrec(2000)
		for range n {
			v, w := number(), number()
			x, y = append(x, Exact(float64(v))...), append(y, Exact(float64(w))...)
			total += v
			dot += v * w
			exact.Add(exact, new(big.Float).Mul(big.NewFloat(float64(v)), big.NewFloat(float64(w))))
		}
		check("sum", f.Sum(x), total)
		got := f.Dot(x, y)
		check("dot", got, dot)
		true64, _ := exact.Float64()
		require.InDelta(t, true64, got.Value, got.Error*1e-6)
	}
	for name, most := range worst {
		require.Greater(t, most, 0.02, "the bound of %s is too wide", name)
	}
	t.Log(worst)
}

func TestSpecialValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	n := Exact(inf, -inf, nan, 0, 3)
	for _, c := range []struct {
		got  Number
		want float64
	}{
		{Float32.Add(n[0], n[4]), inf}, {Float32.Add(n[0], n[1]), nan}, {Float32.Mul(n[0], n[3]), nan},
		{Float32.Mul(n[1], n[4]), -inf}, {Float32.Div(n[4], n[0]), 0}, {Float32.Exp(n[1]), 0}, {Float32.Exp(n[0]), inf},
		{Float32.Sum(n[3:]), 3}, {Float32.Sum(n), nan}, {Float32.Dot(n[:1], n[4:]), inf}, {Float32.Sqrt(n[0]), inf},
	} {
		require.True(t, c.got.Has(c.want), "%v has %v", c.got, c.want)
		for _, other := range []float64{inf, -inf, nan, 1} {
			same := other == c.want || math.IsNaN(other) && math.IsNaN(c.want)
			require.Equal(t, same, c.got.Has(other), "%v has %v", c.got, other)
		}
	}
}
