//go:build cgo

package ops

import (
	"fmt"
	"math"
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// windowElement is an element of a window: its indices in the tensor, and whether it is inside.
type windowElement struct {
	at     []int
	inside bool
	padded bool // it is in the tensor or its padding
}

// windowsIn returns the shape of the results for a tensor with channels first, and the elements of a window. Strides
// and the other options are set.
func windowsIn(x *nd, w Windows) (shape []int, elements func(i []int) []windowElement) {
	spatial := len(w.Kernel)
	shape = slices.Clone(x.shape)
	for d := range spatial {
		n := x.shape[2+d]
		left := n + w.Pads[d] + w.Pads[spatial+d] - (w.Kernel[d]-1)*w.Dilations[d] - 1
		shape[2+d] = left/w.Strides[d] + 1
		if w.Ceil && left%w.Strides[d] != 0 && shape[2+d]*w.Strides[d] < n+w.Pads[d] {
			shape[2+d]++
		}
	}
	return shape, func(i []int) (all []windowElement) {
		points(w.Kernel, func(k []int) {
			e := windowElement{at: slices.Clone(i), padded: true}
			for d := range spatial {
				e.at[2+d] = i[2+d]*w.Strides[d] + k[d]*w.Dilations[d] - w.Pads[d]
				e.padded = e.padded && e.at[2+d] < x.shape[2+d]+w.Pads[spatial+d]
			}
			_, e.inside = x.inside(e.at)
			all = append(all, e)
		})
		return all
	}
}

var poolWindows = []struct {
	name string
	x    []int
	w    Windows
}{
	{"1-D", []int{2, 3, 9}, Windows{Kernel: []int{3}, Strides: []int{2}, Dilations: []int{1}, Pads: []int{1, 0}}},
	{"1-D, dilated", []int{1, 2, 11}, Windows{Kernel: []int{3}, Strides: []int{1}, Dilations: []int{2},
		Pads: []int{2, 1}, CountPads: true}},
	{"2-D, ceil", []int{1, 2, 6, 5}, Windows{Kernel: []int{3, 2}, Strides: []int{2, 2}, Dilations: []int{1, 1},
		Pads: []int{1, 0, 0, 1}, Ceil: true, CountPads: true}},
	{"2-D, a last window in the padding", []int{1, 1, 2, 2}, Windows{Kernel: []int{3, 3}, Strides: []int{3, 3},
		Dilations: []int{1, 1}, Pads: []int{1, 1, 1, 1}, Ceil: true, CountPads: true}},
	{"3-D", []int{2, 2, 4, 5, 3}, Windows{Kernel: []int{2, 3, 2}, Strides: []int{2, 1, 1}, Dilations: []int{1, 1, 1},
		Pads: []int{1, 0, 1, 0, 2, 0}}},
	{"3-D, ceil", []int{1, 2, 5, 4, 6}, Windows{Kernel: []int{2, 2, 3}, Strides: []int{3, 1, 2},
		Dilations: []int{2, 1, 1}, Pads: []int{1, 1, 0, 0, 0, 2}, Ceil: true, CountPads: true}},
	{"no images", []int{0, 2, 4}, Windows{Kernel: []int{2}, Strides: []int{2}, Dilations: []int{1}, Pads: []int{0, 0}}},
}

var _ = valueCases("poolnd", poolndCases)

func poolndCases() (cases []opCase) {
	for n, dt := range []tir.Type{tir.Float32, tir.Float16, tir.Float64, tir.UInt8, tir.Int32} {
		for k, p := range poolWindows {
			if dt != tir.Float32 && (n+k)%4 != 0 {
				continue
			}
			x, w := sample(dt, p.x...), p.w
			if p.name == "1-D" && dt == tir.Float32 {
				x.v[4] = math.NaN()
			}
			shape, elements := windowsIn(x, w)
			add := func(what string, t tir.Type, tol float64, f func(in []float64, padded int) float64,
				make func(x *te.Tensor) *te.Tensor) {
				want := each(t, shape, func(i []int) float64 {
					var in []float64
					padded := 0
					for _, e := range elements(i) {
						if e.inside {
							in = append(in, x.at(e.at...))
						}
						if e.padded {
							padded++
						}
					}
					return rounded16(t, f(in, padded))
				})
				cases = append(cases, opCase{name: fmt.Sprintf("%s %s of %s", what, p.name, dt), ins: []*nd{x}, want: want,
					tol: tol, make: func(x []*te.Tensor) *te.Tensor { return make(x[0]) }})
			}
			best := nanOr(math.Max, limitOf(dt, false))
			add("max", dt, 0, func(in []float64, _ int) float64 { return best(in) },
				func(x *te.Tensor) *te.Tensor { return MaxPool(x, "Y", w) })
			if !tir.IsFloat(dt) {
				continue
			}
			add("average", dt, tolerance(dt), func(in []float64, padded int) float64 {
				if !w.CountPads {
					padded = len(in)
				}
				return total(in) / max(1, float64(padded))
			}, func(x *te.Tensor) *te.Tensor { return AvgPool(x, "Y", w) })
			for _, exponent := range []float64{1, 2, 3} {
				if exponent != 2 && dt != tir.Float32 {
					continue
				}
				add(fmt.Sprintf("%v-norm", exponent), dt, 4*tolerance(dt), func(in []float64, _ int) float64 {
					return pNormBy(in, exponent)
				}, func(x *te.Tensor) *te.Tensor { return LpPool(x, "Y", w, exponent) })
			}
		}
	}
	for _, c := range []struct {
		layout string
		axes   []int
		shape  []int
	}{{"", []int{2}, []int{2, 3, 7}}, {"NDHWC", []int{1, 2, 3}, []int{2, 3, 2, 4, 3}}} {
		x := sample(tir.Float32, c.shape...)
		cases = append(cases,
			opCase{name: "global max " + c.layout, ins: []*nd{x}, make: func(x []*te.Tensor) *te.Tensor {
				return GlobalMaxPool(x[0], "Y", c.layout)
			}, want: folded(x, x.t, c.axes, true, nanOr(math.Max, math.Inf(-1)))},
			opCase{name: "global average " + c.layout, ins: []*nd{x}, make: func(x []*te.Tensor) *te.Tensor {
				return GlobalAvgPool(x[0], "Y", c.layout)
			}, tol: 1e-6, want: folded(x, x.t, c.axes, true, func(v []float64) float64 { return total(v) / float64(len(v)) })},
			opCase{name: "global norm " + c.layout, ins: []*nd{x}, make: func(x []*te.Tensor) *te.Tensor {
				return GlobalLpPool(x[0], "Y", c.layout, 3)
			}, tol: 1e-5, want: folded(x, x.t, c.axes, true, func(v []float64) float64 { return pNormBy(v, 3) })})
	}
	return cases
}

func pNormBy(v []float64, p float64) (sum float64) {
	for _, e := range v {
		sum += math.Pow(math.Abs(e), p)
	}
	return math.Pow(sum, 1/p)
}

var _ = valueCases("poolindices", poolindicesCases)

func poolindicesCases() (cases []opCase) {
	for n, dt := range []tir.Type{tir.Float32, tir.Int8, tir.Float16} {
		for k, p := range poolWindows {
			if p.name == "no images" || dt != tir.Float32 && (n+k)%3 != 0 {
				continue
			}
			x, w := sample(dt, p.x...), p.w
			if p.name == "1-D" && dt == tir.Float32 {
				x.v[4], x.v[12] = math.NaN(), math.Inf(-1)
			}
			shape, elements := windowsIn(x, w)
			first := func(i []int) (best windowElement, found bool) {
				for _, e := range elements(i) {
					if e.inside && (!found || !(x.at(best.at...) != x.at(best.at...)) &&
						!(x.at(e.at...) <= x.at(best.at...))) {
						best, found = e, true
					}
				}
				return best, found
			}
			for _, columns := range []bool{false, true} {
				positions := slices.Clone(x.shape)
				if columns {
					slices.Reverse(positions[2:])
				}
				want := each(tir.Int64, shape, func(i []int) float64 {
					best, _ := first(i)
					if columns {
						slices.Reverse(best.at[2:])
					}
					return float64((&nd{shape: positions}).position(best.at))
				})
				cases = append(cases, opCase{name: fmt.Sprintf("positions %s of %s, columns %v", p.name, dt, columns),
					ins: []*nd{x}, want: want,
					make: func(x []*te.Tensor) *te.Tensor { return MaxPoolIndices(x[0], "Y", w, columns)[1] }})
			}
			cases = append(cases, opCase{name: fmt.Sprintf("maxima %s of %s", p.name, dt), ins: []*nd{x},
				want: each(dt, shape, func(i []int) float64 {
					best, _ := first(i)
					return x.at(best.at...)
				}),
				make: func(x []*te.Tensor) *te.Tensor { return MaxPoolIndices(x[0], "Y", w, false)[0] }})
		}
	}
	return cases
}
