//go:build cgo

package ops

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// shapesOf returns shapes for edge cases: without dimensions, with one, odd, empty, and large enough for vectors and
// threads.
var shapesOf = [][]int{{}, {1}, {0}, {7}, {3, 5}, {2, 0, 3}, {1, 1, 13}, {5, 37}}

var _ = valueCases("elementwise", elementwiseCases)

func elementwiseCases() []opCase {
	type unary struct {
		name  string
		make  func(*te.Tensor, string) *te.Tensor
		f     func(float64) float64
		types []tir.Type
		exact bool
		input func(float64) float64
	}
	positive := func(v float64) float64 { return math.Abs(v) + 0.25 }
	unit := func(v float64) float64 { return v / 3 }
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	var cases []opCase
	for _, u := range []unary{
		{"exp", Exp, math.Exp, floatTypes, false, nil},
		{"log", Log, math.Log, floatTypes, false, positive},
		{"sqrt", Sqrt, math.Sqrt, floatTypes, false, positive},
		{"rsqrt", Rsqrt, func(v float64) float64 { return 1 / math.Sqrt(v) }, floatTypes, false, positive},
		{"sin", Sin, math.Sin, floatTypes, false, nil},
		{"cos", Cos, math.Cos, floatTypes, false, nil},
		{"tan", Tan, math.Tan, floatTypes, false, unit},
		{"asin", Asin, math.Asin, floatTypes, false, unit},
		{"acos", Acos, math.Acos, floatTypes, false, unit},
		{"atan", Atan, math.Atan, floatTypes, false, nil},
		{"sinh", Sinh, math.Sinh, floatTypes, false, nil},
		{"cosh", Cosh, math.Cosh, floatTypes, false, nil},
		{"tanh", Tanh, math.Tanh, floatTypes, false, nil},
		{"asinh", Asinh, math.Asinh, floatTypes, false, nil},
		{"acosh", Acosh, math.Acosh, floatTypes, false, func(v float64) float64 { return math.Abs(v) + 1 }},
		{"atanh", Atanh, math.Atanh, floatTypes, false, unit},
		{"log1p", Log1p, math.Log1p, floatTypes, false, unit},
		{"expm1", Expm1, math.Expm1, floatTypes, false, nil},
		{"expm1 near 0", func(x *te.Tensor, n string) *te.Tensor { return Divide(Expm1(x, n+".e"), x, n) },
			func(v float64) float64 { return math.Expm1(v) / v }, []tir.Type{tir.Float32, tir.Float64}, false,
			func(v float64) float64 { return math.Ldexp(v+0.25, -20) }},
		{"erf", Erf, math.Erf, floatTypes, false, nil},
		{"sigmoid", Sigmoid, sigmoid, floatTypes, false, nil},
		{"silu", Silu, func(v float64) float64 { return v * sigmoid(v) }, floatTypes, false, nil},
		{"gelu", Gelu, func(v float64) float64 { return v * 0.5 * (1 + math.Erf(v/math.Sqrt2)) }, floatTypes, false, nil},
		{"square", Square, func(v float64) float64 { return v * v }, allNumbers, true, nil},
		{"neg", Neg, func(v float64) float64 { return -v }, allNumbers, true, nil},
		{"abs", Abs, math.Abs, allNumbers, true, nil},
		{"sign", Sign, func(v float64) float64 {
			switch {
			case v > 0:
				return 1
			case v < 0:
				return -1
			}
			return v
		}, allNumbers, true, nil},
		{"ceil", Ceil, math.Ceil, allNumbers, true, nil},
		{"floor", Floor, math.Floor, allNumbers, true, nil},
		{"trunc", Trunc, math.Trunc, allNumbers, true, nil},
		{"round", Round, math.RoundToEven, allNumbers, true, nil},
		{"relu", Relu, func(v float64) float64 { return math.Max(v, 0) }, allNumbers, true, nil},
		{"leaky", func(x *te.Tensor, n string) *te.Tensor { return LeakyRelu(x, n, 0.25) }, func(v float64) float64 {
			if v > 0 {
				return v
			}
			return v / 4
		}, floatTypes, true, nil},
		{"clip", func(x *te.Tensor, n string) *te.Tensor { return Clip(x, n, 1, 2) }, func(v float64) float64 {
			return math.Min(math.Max(v, 1), 2)
		}, allNumbers, true, nil},
	} {
		for k, dt := range u.types {
			x := sample(dt, shapesOf[(k+len(u.name))%len(shapesOf)]...)
			if k%2 == 0 {
				x = sample(dt, 5, 37)
			}
			if u.input != nil {
				for i := range x.v {
					x.v[i] = rounded16(dt, u.input(x.v[i]))
				}
			}
			want := filled(dt, x.shape, func(i int) float64 { return u.f(x.v[i]) })
			c := opCase{name: fmt.Sprintf("%s of %s%v", u.name, dt, x.shape), ins: []*nd{x}, want: want,
				make: func(x []*te.Tensor) *te.Tensor { return u.make(x[0], "Y") }}
			if !u.exact {
				c.tol = tolerance(dt)
			}
			cases = append(cases, c)
		}
	}
	// NaN, infinities, and ties of rounding
	for _, dt := range floatTypes {
		odd := &nd{dt, []int{9}, []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0.5, 1.5, 2.5, -0.5, -1.5, 0}}
		nan := math.NaN()
		inf := math.Inf(1)
		for name, w := range map[string]struct {
			make func(*te.Tensor, string) *te.Tensor
			want []float64
		}{
			"relu":  {Relu, []float64{nan, inf, 0, 0.5, 1.5, 2.5, 0, 0, 0}},
			"round": {Round, []float64{nan, inf, -inf, 0, 2, 2, 0, -2, 0}},
			"clip": {func(x *te.Tensor, n string) *te.Tensor {
				return Clip(x, n, -1, 2)
			}, []float64{nan, 2, -1, 0.5, 1.5, 2, -0.5, -1, 0}},
			"sigmoid": {func(x *te.Tensor, n string) *te.Tensor { return Floor(Sigmoid(x, n+".s"), n) },
				[]float64{nan, 1, 0, 0, 0, 0, 0, 0, 0}},
			"sign": {Sign, []float64{nan, 1, -1, 1, 1, 1, -1, -1, 0}},
		} {
			cases = append(cases, opCase{name: fmt.Sprintf("odd %s of %s", name, dt), ins: []*nd{odd},
				want: &nd{dt, []int{9}, w.want},
				make: func(x []*te.Tensor) *te.Tensor { return w.make(x[0], "Y") }})
		}
		for _, sign := range [][2]bool{{true, true}, {true, false}, {false, true}, {false, false}} {
			cases = append(cases, opCase{name: fmt.Sprintf("isinf of %s, %v", dt, sign), ins: []*nd{odd},
				want: &nd{tir.Bool, []int{9}, []float64{0, truth(sign[0]), truth(sign[1]), 0, 0, 0, 0, 0, 0}},
				make: func(x []*te.Tensor) *te.Tensor { return IsInf(x[0], "Y", sign[0], sign[1]) }})
		}
		cases = append(cases, opCase{name: fmt.Sprintf("isnan of %s", dt), ins: []*nd{odd},
			want: &nd{tir.Bool, []int{9}, []float64{1, 0, 0, 0, 0, 0, 0, 0, 0}},
			make: func(x []*te.Tensor) *te.Tensor { return IsNaN(x[0], "Y") }})
	}
	b := sample(tir.Bool, 3, 5)
	cases = append(cases, opCase{name: "not", ins: []*nd{b}, want: filled(tir.Bool, b.shape, func(i int) float64 {
		return truth(b.v[i] == 0)
	}),
		make: func(x []*te.Tensor) *te.Tensor { return LogicalNot(x[0], "Y") }})
	least := &nd{tir.Int8, []int{3}, []float64{-128, 127, -1}}
	for name, w := range map[string]struct {
		make func(*te.Tensor, string) *te.Tensor
		want []float64
	}{"abs": {Abs, []float64{-128, 127, 1}}, "neg": {Neg, []float64{-128, -127, 1}}, "square": {Square,
		[]float64{0, 1, 1}}} {
		cases = append(cases, opCase{name: "wrapping " + name, ins: []*nd{least}, want: &nd{tir.Int8, []int{3}, w.want},
			make: func(x []*te.Tensor) *te.Tensor { return w.make(x[0], "Y") }})
	}
	x := sample(tir.Int32, 5, 37)
	cases = append(cases, opCase{name: "map", ins: []*nd{x}, make: func(x []*te.Tensor) *te.Tensor {
		return Map(x[0], "Y", func(e tir.Expr) tir.Expr { return tir.Add(tir.Mul(e, e), tir.I32(3)) })
	}, want: filled(tir.Int32, x.shape, func(i int) float64 { return x.v[i]*x.v[i] + 3 })})
	return cases
}
