//go:build cgo

package ops

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("activation", activationCases)

func activationCases() (cases []opCase) {
	softplus := func(v float64) float64 { return math.Log1p(math.Exp(v)) }
	hard := func(v float64) float64 { return math.Min(math.Max(v, 0), 1) }
	positive := func(v, low float64) float64 {
		if v > 0 {
			return v
		}
		return low
	}
	nan, inf := math.NaN(), math.Inf(1)
	for k, a := range []struct {
		name string
		make func(x *te.Tensor, name string) *te.Tensor
		f    func(v float64) float64
		odd  []float64 // the results for NaN, ∞, -∞, 100 and -100
	}{
		{"gelu by tanh", GeluTanh, func(v float64) float64 {
			return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		}, []float64{nan, inf, nan, 100, 0}},
		{"swish", func(x *te.Tensor, n string) *te.Tensor { return Swish(x, n, 0.5) }, func(v float64) float64 {
			return v / (1 + math.Exp(-v/2))
		}, []float64{nan, inf, nan, 100, 0}},
		{"elu", func(x *te.Tensor, n string) *te.Tensor { return Elu(x, n, 0.5) }, func(v float64) float64 {
			return positive(v, math.Expm1(v)/2)
		}, []float64{nan, inf, -0.5, 100, -0.5}},
		{"selu", func(x *te.Tensor, n string) *te.Tensor { return Selu(x, n, 1.5, 2) }, func(v float64) float64 {
			return 2 * positive(v, 1.5*math.Expm1(v))
		}, []float64{nan, inf, -3, 200, -3}},
		{"celu", func(x *te.Tensor, n string) *te.Tensor { return Celu(x, n, 2) }, func(v float64) float64 {
			return positive(v, 2*math.Expm1(v/2))
		}, []float64{nan, inf, -2, 100, -2}},
		{"softplus", Softplus, softplus, []float64{nan, inf, 0, 100, 0}},
		{"mish", Mish, func(v float64) float64 { return v * math.Tanh(softplus(v)) }, []float64{nan, inf, nan, 100, 0}},
		{"softsign", Softsign, func(v float64) float64 { return v / (1 + math.Abs(v)) },
			[]float64{nan, nan, nan, 100.0 / 101, -100.0 / 101}},
		{"hardsigmoid", func(x *te.Tensor, n string) *te.Tensor { return HardSigmoid(x, n, 0.25, 0.5) },
			func(v float64) float64 { return hard(v/4 + 0.5) }, []float64{nan, 1, 0, 1, 0}},
		{"hardswish", HardSwish, func(v float64) float64 { return v * hard(v/6+0.5) }, []float64{nan, inf, nan, 100, 0}},
		{"thresholded", func(x *te.Tensor, n string) *te.Tensor { return ThresholdedRelu(x, n, 1) },
			func(v float64) float64 { return v * truth(v > 1) }, []float64{nan, inf, 0, 100, 0}},
		{"shrink", func(x *te.Tensor, n string) *te.Tensor { return Shrink(x, n, 1, 0.5) }, func(v float64) float64 {
			return (v + 0.5*truth(v < 0) - 0.5*truth(v > 0)) * truth(math.Abs(v) > 1)
		}, []float64{nan, inf, -inf, 99.5, -99.5}},
	} {
		for n, dt := range floatTypes {
			x := sample(dt, 5, 37)
			if n == 3 {
				x = sample(dt, shapesOf[k%len(shapesOf)]...)
			}
			cases = append(cases, opCase{name: fmt.Sprintf("%s of %s", a.name, dt), ins: []*nd{x}, tol: 2 * tolerance(dt),
				want: filled(dt, x.shape, func(i int) float64 { return a.f(x.v[i]) }),
				make: func(x []*te.Tensor) *te.Tensor { return a.make(x[0], "Y") }})
		}
		dt := floatTypes[k%4]
		cases = append(cases, opCase{name: fmt.Sprintf("odd %s of %s", a.name, dt), tol: 2 * tolerance(dt),
			ins:  []*nd{{dt, []int{5}, []float64{nan, inf, -inf, 100, -100}}},
			want: filled(dt, []int{5}, func(i int) float64 { return a.odd[i] }),
			make: func(x []*te.Tensor) *te.Tensor { return a.make(x[0], "Y") }})
	}
	for _, dt := range allNumbers {
		x, slope := sample(dt, 2, 3, 5), sample(dt, 3, 1)
		cases = append(cases, opCase{name: fmt.Sprintf("prelu of %s", dt), ins: []*nd{x, slope}, tol: tolerance(dt),
			want: each(dt, x.shape, func(i []int) float64 {
				if v := x.at(i...); v >= 0 {
					return v
				}
				return rounded16(dt, x.at(i...)*slope.at(i[1], 0))
			}),
			make: func(x []*te.Tensor) *te.Tensor { return PRelu(x[0], x[1], "Y") }})
	}
	return cases
}

var _ = valueCases("bits", bitsCases)

func bitsCases() (cases []opCase) {
	shift := func(left bool) func(t tir.Type, a, b int64) int64 {
		return func(t tir.Type, a, b int64) int64 {
			switch within := b >= 0 && b < int64(t.Bits); {
			case within && left:
				return a << b
			case within:
				return a >> b
			case a < 0 && !left:
				return -1
			}
			return 0
		}
	}
	for _, b := range []struct {
		name string
		make func(x, y *te.Tensor, name string) *te.Tensor
		f    func(t tir.Type, a, b int64) int64
	}{
		{"and", BitwiseAnd, func(_ tir.Type, a, b int64) int64 { return a & b }},
		{"or", BitwiseOr, func(_ tir.Type, a, b int64) int64 { return a | b }},
		{"xor", BitwiseXor, func(_ tir.Type, a, b int64) int64 { return a ^ b }},
		{"left", LeftShift, shift(true)},
		{"right", RightShift, shift(false)},
		{"not", func(x, y *te.Tensor, name string) *te.Tensor {
			return BitwiseAnd(BitwiseNot(x, name+".not"), y, name)
		}, func(_ tir.Type, a, b int64) int64 { return ^a & b }},
	} {
		for _, dt := range intTypes {
			x := represented(filled(dt, []int{3, 12}, func(i int) float64 { return float64(i*29 - 300) }))
			y := represented(filled(dt, []int{12}, func(i int) float64 {
				return []float64{0, 1, 2, 5, 7, 8, 16, 31, 32, 63, 64, -1}[i]
			}))
			cases = append(cases, opCase{name: fmt.Sprintf("bits %s of %s", b.name, dt), ins: []*nd{x, y},
				want: each(dt, x.shape, func(i []int) float64 {
					return wrapped(dt, b.f(dt, int64(x.at(i...)), int64(y.at(i[1]))))
				}),
				make: func(x []*te.Tensor) *te.Tensor { return b.make(x[0], x[1], "Y") }})
		}
	}
	return cases
}

// represented replaces integers that float64 cannot represent by 3.
func represented(x *nd) *nd {
	for i, v := range x.v {
		if math.Abs(v) > 1<<53 {
			x.v[i] = 3
		}
	}
	return x
}

var _ = valueCases("powers", powersCases)

func powersCases() (cases []opCase) {
	for k, dt := range intTypes {
		for _, by := range []tir.Type{dt, intTypes[(k+3)%len(intTypes)]} {
			x := represented(filled(dt, []int{9, 1}, func(i int) float64 {
				return []float64{0, 1, 2, 3, 5, 7, -1, -2, -3}[i]
			}))
			y := represented(filled(by, []int{11}, func(i int) float64 {
				return []float64{0, 1, 2, 3, 4, 7, 20, 100, -1, -2, -5}[i]
			}))
			if dt.Bits == 64 || by.Bits == 64 { // float64 represents these powers
				for i := range y.v {
					y.v[i] = min(y.v[i], 18)
				}
			}
			cases = append(cases, opCase{name: fmt.Sprintf("power of %s by %s", dt, by), ins: []*nd{x, y},
				want: each(dt, []int{9, 11}, func(i []int) float64 {
					a, b, r := int64(x.at(i[0], 0)), y.at(i[1]), int64(1)
					if b < 0 {
						if v := x.at(i[0], 0); v != 1 && v != -1 {
							return 0
						}
						b = -b
					}
					for n := uint64(b); n > 0; n >>= 1 {
						if n&1 == 1 {
							r *= a
						}
						a *= a
					}
					return wrapped(dt, r)
				}),
				make: func(x []*te.Tensor) *te.Tensor { return Power(x[0], x[1], "Y") }})
		}
	}
	for _, c := range []struct{ x, y tir.Type }{{tir.Int32, tir.Float32}, {tir.Float32, tir.Int64},
		{tir.Float16, tir.Int32}, {tir.Int8, tir.Float16}, {tir.Float64, tir.Float32}, {tir.UInt64, tir.Float64}} {
		x, y := filled(c.x, []int{5}, func(i int) float64 { return float64(i + 1) }), sample(c.y, 3, 1)
		cases = append(cases, opCase{name: fmt.Sprintf("power of %s by %s", c.x, c.y), ins: []*nd{x, y},
			tol: 4 * tolerance(c.x),
			want: each(c.x, []int{3, 5}, func(i []int) float64 {
				v := math.Pow(x.at(i[1]), y.at(i[0], 0))
				if tir.IsInt(c.x) {
					v = math.Trunc(v)
				}
				return rounded16(c.x, v)
			}),
			make: func(x []*te.Tensor) *te.Tensor { return Power(x[0], x[1], "Y") }})
	}
	return cases
}
