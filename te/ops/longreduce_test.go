//go:build cgo

package ops

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("longreduce", longreduceCases)

// longreduceCases reduce more elements than threads, vectors, and unrolled loads have, of every type, by sizes that
// these do not divide: rows, columns, middle axes and everything. Ties, infinities and NaN are at changing positions.
func longreduceCases() []opCase {
	type layout struct{ shape, axes []int }
	var layouts []layout
	for i, n := range []int{2, 31, 33, 64, 1023, 4099} {
		layouts = append(layouts, layout{[]int{3, n}, []int{1}}, layout{[]int{n, 16}, []int{0}})
		if i%2 == 0 {
			layouts = append(layouts, layout{[]int{n}, nil}, layout{[]int{n, 3}, []int{0}})
		}
	}
	layouts = append(layouts, layout{[]int{65537}, nil}, layout{[]int{33, 1025}, nil}, layout{[]int{2, 1 << 15}, []int{1}},
		layout{[]int{700, 48}, []int{0}}, layout{[]int{3, 37, 32}, []int{1}}, layout{[]int{3, 37, 33}, []int{1}},
		layout{[]int{4, 6, 12, 8}, []int{0, 2, 3}}, layout{[]int{5, 64, 2, 16}, []int{0, 2}},
		layout{[]int{9, 7, 7, 7}, []int{2, 3}}, layout{[]int{40, 1000}, []int{1}}, layout{[]int{1, 2056, 1}, []int{1}},
		layout{[]int{300, 4, 4}, []int{0}}, layout{[]int{0, 64}, []int{0}}, layout{[]int{64, 0}, []int{1}})
	var cases []opCase
	add := func(kind string, x *nd, l layout, result tir.Type, keep bool, tol float64, f func([]float64) float64,
		make func(x *te.Tensor, name string, axes []int, keep bool) *te.Tensor) {
		cases = append(cases, opCase{name: fmt.Sprintf("%s of %s%v over %v", kind, x.t, l.shape, l.axes), ins: []*nd{x},
			tol: tol, want: folded(x, result, l.axes, keep, f),
			make: func(in []*te.Tensor) *te.Tensor { return make(in[0], "Y", l.axes, keep) }})
	}
	greater := func(a, b float64) bool { return a > b }
	less := func(a, b float64) bool { return a < b }
	types := append([]tir.Type{tir.Bool}, allNumbers...)
	for n, l := range layouts {
		for round := range 3 {
			dt, keep := types[(4*n+5*round)%len(types)], (n+round)%2 == 0
			x := sample(dt, l.shape...)
			kind := (n + round) % 5
			switch {
			case dt == tir.Bool && kind%2 == 0:
				x = filled(dt, l.shape, func(i int) float64 { return truth(i == 40) })
				add("any", x, l, dt, keep, 0, func(v []float64) float64 { return truth(total(v) > 0) }, Any)
			case dt == tir.Bool:
				x = filled(dt, l.shape, func(i int) float64 { return truth(i != 40) })
				add("all", x, l, dt, keep, 0, func(v []float64) float64 { return truth(total(v) == float64(len(v))) }, All)
			case kind == 0 || count(l.shape) == 0 || kind == 4 && !tir.IsFloat(dt):
				add("sum", x, l, dt, keep, 0, func(v []float64) float64 {
					if tir.IsFloat(dt) {
						return total(v)
					}
					return wrapped(dt, int64(total(v)))
				}, Sum)
			case kind == 1:
				add("max", strew(x), l, dt, keep, 0, nanOr(math.Max, limitOf(dt, false)), Max)
			case kind == 2:
				add("argmax", strew(x), l, tir.Int64, keep, 0, firstBest(greater), ArgMax)
			case kind == 3:
				add("argmin", strew(x), l, tir.Int64, keep, 0, firstBest(less), ArgMin)
			default:
				add("mean", x, l, dt, keep, tolerance(dt), func(v []float64) float64 { return total(v) / float64(len(v)) }, Mean)
			}
		}
	}
	return cases
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// strew puts the extreme values of a type, infinities and NaN at positions that are far from each other.
func strew(x *nd) *nd {
	least, most := limitOf(x.t, false), limitOf(x.t, true)
	if x.t.Bits == 64 && !tir.IsFloat(x.t) { // exact in float64
		least, most = max(least, -1<<52), 1<<52
	}
	for i := range x.v {
		switch {
		case tir.IsFloat(x.t) && i%1777 == 1500:
			x.v[i] = math.NaN()
		case i%211 == 40:
			x.v[i] = least
		case i%197 == 50:
			x.v[i] = most
		}
	}
	return x
}

// firstBest returns the position of the best element, of the first if there are several, or of the first NaN.
func firstBest(better func(a, b float64) bool) func([]float64) float64 {
	return func(v []float64) float64 {
		at := 0
		for i, x := range v {
			if v[at] == v[at] && (x != x || better(x, v[at])) {
				at = i
			}
		}
		return float64(at)
	}
}
