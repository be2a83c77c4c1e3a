//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// folded computes a reduction by its definition: f gets all elements of a result.
func folded(x *nd, t tir.Type, axes []int, keep bool, f func(v []float64) float64) *nd {
	in := make([]bool, len(x.shape))
	for d := range in {
		in[d] = axes == nil
	}
	for _, a := range axes {
		in[(a+len(in))%len(in)] = true
	}
	var shape []int
	for d, n := range x.shape {
		if !in[d] {
			shape = append(shape, n)
		} else if keep {
			shape = append(shape, 1)
		}
	}
	out := each(t, shape, func([]int) float64 { return 0 })
	lists := make([][]float64, len(out.v))
	each(t, x.shape, func(i []int) float64 {
		var at []int
		for d, n := range i {
			if !in[d] {
				at = append(at, n)
			} else if keep {
				at = append(at, 0)
			}
		}
		lists[out.position(at)] = append(lists[out.position(at)], x.at(i...))
		return 0
	})
	for n := range lists {
		out.v[n] = rounded16(t, f(lists[n]))
	}
	return out
}

// nanOr applies f to numbers, or returns NaN if one of them is NaN.
func nanOr(f func(a, b float64) float64, start float64) func([]float64) float64 {
	return func(v []float64) float64 {
		for _, x := range v {
			if x != x {
				return x
			}
		}
		r := start
		for _, x := range v {
			r = f(r, x)
		}
		return r
	}
}

func limitOf(t tir.Type, greatest bool) float64 {
	if tir.IsFloat(t) {
		if greatest {
			return math.Inf(1)
		}
		return math.Inf(-1)
	}
	bits := float64(t.Bits)
	switch {
	case tir.IsSigned(t) && greatest:
		return math.Exp2(bits-1) - 1
	case tir.IsSigned(t):
		return -math.Exp2(bits - 1)
	case greatest:
		return math.Exp2(bits) - 1
	}
	return 0
}

var _ = valueCases("reduce", reduceCases)

func reduceCases() []opCase {
	type layout struct {
		shape, axes []int
		keep        bool
	}
	layouts := []layout{{[]int{3, 5}, []int{1}, false}, {[]int{3, 5}, []int{0}, false}, {[]int{3, 5}, nil, false},
		{[]int{2, 3, 4}, []int{-1, 0}, true},
		{[]int{2, 3, 4}, []int{1}, true}, {[]int{}, nil, true}, {[]int{4}, []int{}, false}, {[]int{2, 0, 3}, []int{1},
			false}, {[]int{0, 3}, []int{1}, true},
		{[]int{1, 1}, []int{-2}, false}, {[]int{5, 37}, []int{0}, true}, {[]int{5, 37}, []int{1}, false}, {[]int{0},
			nil, false}, {[]int{7}, []int{0}, true},
		{[]int{2, 3, 2, 5}, []int{2, -3}, false}}
	var cases []opCase
	add := func(n int, kind string, dt, result tir.Type, make func(x *te.Tensor, name string, axes []int,
		keep bool) *te.Tensor, f func([]float64) float64, tol float64) {
		for k := n; k < len(layouts)+n; k += 4 {
			l := layouts[k%len(layouts)]
			x := sample(dt, l.shape...)
			if kind == "prod" {
				for i := range x.v {
					x.v[i] = rounded16(dt, float64(i%3)-0.5*float64(i%2))
				}
			}
			cases = append(cases, opCase{name: fmt.Sprintf("%s of %s%v over %v, %v", kind, dt, l.shape, l.axes, l.keep),
				ins: []*nd{x}, tol: tol,
				make: func(x []*te.Tensor) *te.Tensor { return make(x[0], "Y", l.axes, l.keep) }, want: folded(x, result,
					l.axes, l.keep, f)})
		}
	}
	sum := func(v []float64) (r float64) {
		for _, x := range v {
			r += x
		}
		return r
	}
	prod := func(v []float64) float64 {
		r := 1.0
		for _, x := range v {
			r *= x
		}
		return r
	}
	mean := func(v []float64) float64 { return sum(v) / float64(len(v)) }
	for n, dt := range allNumbers {
		add(n, "sum", dt, dt, Sum, sum, 0)
		of := func(f func(float64) float64) func(v []float64) float64 {
			return func(v []float64) (r float64) {
				for _, x := range v {
					r += f(x)
				}
				return r
			}
		}
		square := func(x float64) float64 { return x * x }
		add(n, "squares", dt, dt, SumSquare, of(square), tolerance(dt))
		add(n+1, "magnitudes", dt, dt, L1, of(math.Abs), 0)
		if tir.IsFloat(dt) {
			add(n, "length", dt, dt, L2, func(v []float64) float64 { return math.Sqrt(of(square)(v)) }, tolerance(dt))
			log := func(x *te.Tensor, name string, axes []int, keep bool) *te.Tensor {
				return LogSum(Abs(x, name+".a"), name, axes, keep)
			}
			add(n+1, "log", dt, dt, log, func(v []float64) float64 { return math.Log(of(math.Abs)(v)) }, 2*tolerance(dt))
			add(n+2, "logsumexp", dt, dt, LogSumExp, func(v []float64) float64 { return math.Log(of(math.Exp)(v)) },
				2*tolerance(dt))
			spread := func(correction float64) func(v []float64) float64 {
				return func(v []float64) float64 {
					m := sum(v) / float64(len(v))
					return of(func(x float64) float64 { return square(x - m) })(v) / math.Max(0, float64(len(v))-correction)
				}
			}
			add(n+3, "variance", dt, dt, func(x *te.Tensor, name string, axes []int, keep bool) *te.Tensor {
				return VarianceCorrected(x, name, axes, keep, 1)
			}, spread(1), 2*tolerance(dt))
			add(n, "deviation", dt, dt, func(x *te.Tensor, name string, axes []int, keep bool) *te.Tensor {
				return StdDev(x, name, axes, keep, 0.5)
			}, func(v []float64) float64 { return math.Sqrt(spread(0.5)(v)) }, 2*tolerance(dt))
			inf := math.Inf(1)
			for k, row := range [][]float64{{inf, 1, -inf}, {-inf, -inf, -inf}, {1000, 1000, -1000}, {math.NaN(), 1, inf}} {
				want := []float64{inf, -inf, 1000 + math.Ln2, math.NaN()}[k]
				cases = append(cases, opCase{name: fmt.Sprintf("odd logsumexp %d of %s", k, dt), ins: []*nd{{dt, []int{3}, row}},
					want: &nd{dt, []int{1}, []float64{rounded16(dt, want)}}, tol: 2 * tolerance(dt),
					make: func(x []*te.Tensor) *te.Tensor { return LogSumExp(x[0], "Y", nil, true) }})
			}
		}
		add(n+1, "prod", dt, dt, Prod, prod, tolerance(dt))
		add(n+2, "max", dt, dt, Max, nanOr(math.Max, limitOf(dt, false)), 0)
		add(n+3, "min", dt, dt, Min, nanOr(math.Min, limitOf(dt, true)), 0)
		if tir.IsFloat(dt) {
			add(n, "mean", dt, dt, Mean, mean, tolerance(dt))
		}
	}
	for n := range 4 {
		add(n, "all", tir.Bool, tir.Bool, All, func(v []float64) float64 {
			if slices.Contains(v, 0) {
				return 0
			}
			return 1
		}, 0)
		add(n, "any", tir.Bool, tir.Bool, Any, func(v []float64) float64 { return truth(sum(v) > 0) }, 0)
	}
	for _, dt := range floatTypes {
		nan := math.NaN()
		for position := range 3 {
			x := &nd{dt, []int{3}, []float64{1, 2, 3}}
			x.v[position] = nan
			for name, make := range map[string]func(*te.Tensor, string, []int, bool) *te.Tensor{
				"max": Max, "min": Min,
			} {
				cases = append(cases, opCase{name: fmt.Sprintf("%s with NaN at %d", name, position), ins: []*nd{x},
					want: &nd{dt, []int{}, []float64{nan}},
					make: func(x []*te.Tensor) *te.Tensor { return make(x[0], "Y", nil, false) }})
			}
		}
	}
	// sums of 16 bits are exact in float32: 2048 and more ones would stay 2048 in float16
	ones := filled(tir.Float16, []int{3000}, func(int) float64 { return 1 })
	cases = append(cases, opCase{name: "long sum", ins: []*nd{ones}, want: &nd{tir.Float16, []int{}, []float64{3000}},
		make: func(x []*te.Tensor) *te.Tensor { return Sum(x[0], "Y", nil, false) }})
	return cases
}

var _ = valueCases("argmax", argmaxCases)

func argmaxCases() []opCase {
	var cases []opCase
	for n, dt := range allNumbers {
		for k, l := range []struct {
			shape, axes []int
			keep        bool
		}{{[]int{3, 5}, []int{1}, false}, {[]int{3, 5}, []int{0}, true}, {[]int{4, 6}, nil, false}, {[]int{2, 3, 4},
			[]int{-1, 1}, true}, {[]int{0, 3}, []int{1}, false},
			{[]int{}, nil, false}, {[]int{1}, []int{0}, false}, {[]int{33}, []int{0}, true}, {[]int{3}, []int{}, false}} {
			if (n+k)%3 != 0 {
				continue
			}
			x := sample(dt, l.shape...)
			for i := range x.v {
				x.v[i] = rounded16(dt, math.Abs(math.Floor(x.v[i]/2))) // ties
			}
			cases = append(cases,
				opCase{name: fmt.Sprintf("argmax of %s%v over %v", dt, l.shape, l.axes), ins: []*nd{x},
					make: func(x []*te.Tensor) *te.Tensor { return ArgMax(x[0], "Y", l.axes, l.keep) },
					want: folded(x, tir.Int64, l.axes, l.keep, firstBest(func(a, b float64) bool { return a > b }))},
				opCase{name: fmt.Sprintf("argmin of %s%v over %v", dt, l.shape, l.axes), ins: []*nd{x},
					make: func(x []*te.Tensor) *te.Tensor { return ArgMin(x[0], "Y", l.axes, l.keep) },
					want: folded(x, tir.Int64, l.axes, l.keep, firstBest(func(a, b float64) bool { return a < b }))})
		}
	}
	nan, inf := math.NaN(), math.Inf(-1)
	for want, v := range map[float64][]float64{0: {nan, 9, nan}, 1: {1, nan, 2}, 2: {5, 6, nan}} {
		x := &nd{tir.Float32, []int{3}, v}
		for _, make := range []func(x *te.Tensor, name string, axes []int, keep bool) *te.Tensor{ArgMax, ArgMin} {
			cases = append(cases, opCase{name: fmt.Sprint("position of ", v), ins: []*nd{x},
				want: &nd{tir.Int64, []int{}, []float64{want}},
				make: func(x []*te.Tensor) *te.Tensor { return make(x[0], "Y", nil, false) }})
		}
	}
	cases = append(cases, opCase{name: "all are the least", ins: []*nd{{tir.Float32, []int{3}, []float64{inf, inf, inf}}},
		want: &nd{tir.Int64, []int{}, []float64{0}},
		make: func(x []*te.Tensor) *te.Tensor { return ArgMax(x[0], "Y", nil, false) }})
	return cases
}
