package spirv_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/tir"
)

// mathCases are intrinsics of one float, with the range of arguments that is tested.
var mathCases = []struct {
	name     string
	from, to float64
	of       func(float64) float64
}{
	{"exp", -110, 95, math.Exp}, {"exp2", -155, 130, math.Exp2}, {"exp10", -47, 40, func(x float64) float64 {
		return math.Pow(10, x)
	}},
	{"log", -1, 50, math.Log}, {"log2", 0, 50, math.Log2}, {"log10", 0, 50, math.Log10}, {"log1p", -1, 5, math.Log1p},
	{"sin", -100, 100, math.Sin}, {"cos", -100, 100, math.Cos}, {"tan", -10, 10, math.Tan},
	{"sin", -1e7, 1e7, math.Sin}, {"cos", -1e7, 1e7, math.Cos},
	{"asin", -1.01, 1.01, math.Asin}, {"acos", -1.01, 1.01, math.Acos}, {"atan", -20, 20, math.Atan},
	{"sinh", -90, 90, math.Sinh}, {"cosh", -90, 90, math.Cosh}, {"tanh", -10, 10, math.Tanh},
	{"asinh", -50, 50, math.Asinh}, {"acosh", 0.9, 50, math.Acosh}, {"atanh", -1.01, 1.01, math.Atanh},
	{"erf", -7, 7, math.Erf}, {"sigmoid", -80, 100, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"rsqrt", 0, 100, func(x float64) float64 { return 1 / math.Sqrt(x) }}, {"sqrt", 0, 100, math.Sqrt},
	{"floor", -5, 5, math.Floor}, {"ceil", -5, 5, math.Ceil}, {"trunc", -5, 5, math.Trunc},
	{"round", -5, 5, math.Round}, {"nearbyint", -5, 5, math.RoundToEven},
}

// Functions of floats are precise to a few units in the last place, also for special values.
func TestMath_Precise(t *testing.T) {
	need(t)
	const n = 4096
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0.5, -0.5, 1e-3, 2.5, -2.5}
	for _, typ := range []tir.Type{tir.Float32, tir.Float64} {
		text := ""
		for i, c := range mathCases {
			text += fmt.Sprintf(`
func f%d(a: handle, b: handle) {
  buffer A: %[2]s[4096], param a
  buffer B: %[2]s[4096], param b
  thread i in range(64), thread "blockIdx.x" {
    thread j in range(64), thread "threadIdx.x" { B[i * 64 + j] = %[3]s(A[i * 64 + j]) }
  }
}
`, i, typ, c.name)
		}
		lib := harness.Library(t, gpuprograms.Parsed(t, text))
		for i, c := range mathCases {
			in := make([]float64, n)
			for k := range in {
				in[k] = c.from + (c.to-c.from)*float64(k)/(n-1)
			}
			copy(in, special)
			for k := range 32 { // near zero and one
				in[len(special)+k] = math.Ldexp(1, -k-1)
				in[len(special)+32+k] = 1 - math.Ldexp(1, -k%20-4)
			}
			a := must.Get(tirrun.From(typ, in, n))(t)
			x := must.Get(tirrun.Values[float64](a))(t)
			given, out := gpuprograms.OnDevice(t, a, devices[0]), must.Open(runtime.NewTensor(typ, []int64{n}, devices[0]))(t)
			must.Get(gputest.Function(t, lib, fmt.Sprintf("f%d", i)).Call(given, out))(t)
			result := must.Get(tirrun.New(typ, n))(t)
			require.NoError(t, out.CopyToBytes(result.Data))
			got := must.Get(tirrun.Values[float64](result))(t)
			worst, at := 0.0, 0
			for k, v := range x {
				want := c.of(v)
				unit := math.Ldexp(1, -23)
				if least := math.Ldexp(1, -126); typ == tir.Float32 {
					want = float64(float32(want))
					unit = math.Max(math.Abs(want), least) * unit
				} else {
					unit = math.Max(math.Abs(want), 1e-307) * math.Ldexp(1, -52)
				}
				switch {
				case math.IsNaN(want) && math.IsNaN(got[k]), want == got[k]:
					continue
				}
				off := math.Abs(got[k]-want) / unit
				if math.IsNaN(off) {
					off = math.Inf(1)
				}
				if off > worst {
					worst, at = off, k
				}
			}
			limit := 8.0
			if typ == tir.Float64 && (c.name == "log2" || c.name == "acos") {
				limit = 1000 // package math loses digits near 1
			}
			require.LessOrEqual(t, worst, limit, "%s of %s at %v: %v, want %v", c.name, typ, x[at], got[at], c.of(x[at]))
		}
	}
}

// Functions of two floats agree with package math, also for special values; fmod is exact.
func TestMath_TwoArguments(t *testing.T) {
	need(t)
	list := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 2, -2, 0.5, -0.5, 3, -3, 10,
		-7.25, 1e-3, 1e10, -1e10, 1e-38, 0.1, 1.0000001, 0.9999999, 100, 37.5, 1e30, 17, 64, -64, 2.5, -2.5, 1e-40, 5e4}
	functions := map[string]func(a, b float64) float64{"pow": math.Pow, "atan2": math.Atan2, "hypot": math.Hypot,
		"fmod": math.Mod, "copysign": math.Copysign}
	var first, second []float64
	for _, x := range list {
		for _, y := range list {
			first, second = append(first, x), append(second, y)
		}
	}
	n := int64(len(first))
	for _, typ := range []tir.Type{tir.Float32, tir.Float64} {
		for name, of := range functions {
			lib := harness.Library(t, gpuprograms.Parsed(t, fmt.Sprintf(`
func f(a: handle, b: handle, c: handle) {
  buffer A: %[1]s[%[2]d], param a
  buffer B: %[1]s[%[2]d], param b
  buffer C: %[1]s[%[2]d], param c
  thread i in range(%[2]d), thread "blockIdx.x" { C[i] = %[3]s(A[i], B[i]) }
}
`, typ, n, name)))
			a, b := must.Get(tirrun.From(typ, first, n))(t), must.Get(tirrun.From(typ, second, n))(t)
			x, y := must.Get(tirrun.Values[float64](a))(t), must.Get(tirrun.Values[float64](b))(t)
			out := must.Open(runtime.NewTensor(typ, []int64{n}, devices[0]))(t)
			must.Get(gputest.Function(t, lib, "f").Call(gpuprograms.OnDevice(t, a, devices[0]),
				gpuprograms.OnDevice(t, b, devices[0]), out))(t)
			result := must.Get(tirrun.New(typ, n))(t)
			require.NoError(t, out.CopyToBytes(result.Data))
			for k, got := range must.Get(tirrun.Values[float64](result))(t) {
				want, within := of(x[k], y[k]), 1e-12 // package math multiplies repeatedly
				if typ == tir.Float32 {
					want, within = float64(float32(want)), 6e-7
				}
				if name == "fmod" || name == "copysign" {
					within = 0
				}
				if math.IsNaN(want) && math.IsNaN(got) || want == got && math.Signbit(want) == math.Signbit(got) {
					continue
				}
				if !(math.Abs(got-want) <= within*math.Abs(want)+1e-44) {
					t.Errorf("%s of %s: %v, %v: %v, want %v", name, typ, x[k], y[k], got, want)
				}
			}
		}
	}
}

// Powers that are floats are exact: those of integers, and square roots. Integers are converted from them.
func TestMath_ExactPowers(t *testing.T) {
	need(t)
	for typ, most := range map[tir.Type]float64{tir.Float32: 1 << 24, tir.Float64: 1 << 53} {
		var first, second, want []float64
		for base := 2.0; base < 1000; base++ {
			first, second, want = append(first, base*base), append(second, 0.5), append(want, base)
			for exponent, all := 1.0, base; all <= most; exponent, all = exponent+1, all*base {
				first, second, want = append(first, base), append(second, exponent), append(want, all)
			}
		}
		n := int64(len(first))
		lib := harness.Library(t, gpuprograms.Parsed(t, fmt.Sprintf(`
func f(a: handle, b: handle, c: handle) {
  buffer A: %[1]s[%[2]d], param a
  buffer B: %[1]s[%[2]d], param b
  buffer C: %[1]s[%[2]d], param c
  thread i in range(%[2]d), thread "blockIdx.x" { C[i] = pow(A[i], B[i]) }
}
`, typ, n)))
		a, b := must.Get(tirrun.From(typ, first, n))(t), must.Get(tirrun.From(typ, second, n))(t)
		out := must.Open(runtime.NewTensor(typ, []int64{n}, devices[0]))(t)
		must.Get(gputest.Function(t, lib, "f").Call(gpuprograms.OnDevice(t, a, devices[0]),
			gpuprograms.OnDevice(t, b, devices[0]), out))(t)
		result := must.Get(tirrun.New(typ, n))(t)
		require.NoError(t, out.CopyToBytes(result.Data))
		for k, got := range must.Get(tirrun.Values[float64](result))(t) {
			if got != want[k] {
				t.Errorf("%v to the power of %v in %s is %v, want %v", first[k], second[k], typ, got, want[k])
			}
		}
	}
}
