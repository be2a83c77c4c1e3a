//go:build cgo

package ops

import (
	"fmt"
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// pixel returns an element of an image, and false if the indices are outside of it.
func pixel(x *nd, nhwc bool, n, c, h, w int) (v float64, ok bool) {
	at := []int{n, c, h, w}
	if nhwc {
		at = []int{n, h, w, c}
	}
	for d, i := range at {
		if i < 0 || i >= x.shape[d] {
			return 0, false
		}
	}
	return x.at(at...), true
}

var _ = valueCases("conv2d", conv2dCases)

// conv describes a convolution.
type conv struct {
	name            string
	x               []int // batch, channels, height, width
	out, kh, kw     int
	strides, dilate [2]int
	pads            [4]int
	groups          int
	nhwc, bias      bool
}

// size returns the height and the width of the result.
func (c conv) size() (height, width int) {
	of := func(n, k, s, d, pads int) int { return max(0, n+pads-(k-1)*d-1+s) / s }
	return of(c.x[2], c.kh, c.strides[0], c.dilate[0], c.pads[0]+c.pads[2]),
		of(c.x[3], c.kw, c.strides[1], c.dilate[1], c.pads[1]+c.pads[3])
}

// of makes a case with types of the image, the filters, the sums (Void: by the operands) and the result.
func (c conv) of(xt, wt, acc, result tir.Type) opCase {
	xs, ws := c.x, []int{c.out, c.x[1] / c.groups, c.kh, c.kw}
	if c.nhwc {
		xs, ws = []int{xs[0], xs[2], xs[3], xs[1]}, []int{ws[2], ws[3], ws[1], ws[0]}
	}
	x, w := sample(xt, xs...), sample(wt, ws...)
	for i := range w.v { // another pattern than that of the image
		w.v[i] = rounded16(wt, w.v[i]*float64(i%3))
	}
	oh, ow := c.size()
	shape := []int{c.x[0], c.out, oh, ow}
	if c.nhwc {
		shape = []int{c.x[0], oh, ow, c.out}
	}
	ins := []*nd{x, w}
	bias := sample(result, c.out)
	if c.bias {
		ins = append(ins, bias)
	}
	perIn, perOut := c.x[1]/c.groups, c.out/c.groups
	return opCase{name: fmt.Sprintf("%s of %s and %s", c.name, xt, wt), ins: ins,
		make: func(x []*te.Tensor) *te.Tensor {
			options := []ConvOption{Strides(c.strides[0], c.strides[1]), Dilations(c.dilate[0], c.dilate[1]),
				Pads(c.pads[0], c.pads[1], c.pads[2], c.pads[3]), Groups(c.groups)}
			if c.nhwc {
				options = append(options, Layout("NHWC"))
			}
			if c.bias {
				options = append(options, Bias(x[2]))
			}
			if acc != tir.Void {
				options = append(options, ConvAccumulateIn(acc))
			}
			if c.strides[0] == c.strides[1] && c.pads == [4]int{c.pads[0], c.pads[0], c.pads[0], c.pads[0]} {
				return Conv2D(x[0], x[1], "Y", c.strides[0], c.pads[0], options[1:]...)
			}
			return Conv2D(x[0], x[1], "Y", 1, 0, options...)
		}, want: each(result, shape, func(i []int) float64 {
			n, o, h, v := i[0], i[1], i[2], i[3]
			if c.nhwc {
				h, v, o = i[1], i[2], i[3]
			}
			sum := 0.0
			for k := range perIn {
				for p := range c.kh {
					for q := range c.kw {
						e, _ := pixel(x, c.nhwc, n, o/perOut*perIn+k, h*c.strides[0]+p*c.dilate[0]-c.pads[0],
							v*c.strides[1]+q*c.dilate[1]-c.pads[1])
						f := []int{o, k, p, q}
						if c.nhwc {
							f = []int{p, q, k, o}
						}
						sum += e * w.at(f...)
					}
				}
			}
			if c.bias {
				sum += bias.v[o]
			}
			return rounded16(result, sum)
		})}
}

func conv2dCases() []opCase {
	one := [2]int{1, 1}
	var cases []opCase
	add := func(c conv, xt, wt, acc tir.Type, result tir.Type) { cases = append(cases, c.of(xt, wt, acc, result)) }
	plain := conv{"plain", []int{2, 3, 7, 6}, 2, 3, 2, one, one, [4]int{}, 1, false, false}
	all := []conv{plain,
		{"strides", []int{1, 2, 9, 8}, 3, 3, 3, [2]int{2, 3}, one, [4]int{1, 0, 2, 1}, 1, false, true},
		{"dilation", []int{1, 2, 9, 11}, 1, 3, 2, one, [2]int{2, 3}, [4]int{1, 2, 0, 1}, 1, false, false},
		{"groups", []int{1, 4, 5, 5}, 6, 3, 3, one, one, [4]int{1, 1, 1, 1}, 2, false, true},
		{"depthwise", []int{2, 3, 5, 6}, 6, 2, 3, [2]int{2, 1}, one, [4]int{0, 1, 1, 0}, 3, false, false},
		{"nhwc", []int{2, 3, 5, 6}, 4, 3, 2, [2]int{1, 2}, one, [4]int{1, 1, 0, 1}, 1, true, true},
		{"nhwc groups", []int{1, 4, 4, 5}, 4, 2, 2, one, [2]int{2, 1}, [4]int{1, 0, 0, 0}, 4, true, false},
		{"pointwise", []int{1, 5, 3, 4}, 7, 1, 1, one, one, [4]int{}, 1, false, true},
		{"no images", []int{0, 2, 4, 4}, 3, 3, 3, one, one, [4]int{1, 1, 1, 1}, 1, false, false},
		{"stride 2, padding 1", []int{2, 3, 7, 6}, 2, 3, 2, [2]int{2, 2}, one, [4]int{1, 1, 1, 1}, 1, false, false},
		{"stride 3, padding 2", []int{2, 3, 7, 6}, 2, 3, 2, [2]int{3, 3}, one, [4]int{2, 2, 2, 2}, 1, false, false},
		{"threads", []int{1, 8, 20, 20}, 16, 3, 3, one, one, [4]int{1, 1, 1, 1}, 1, false, true}}
	for n, dt := range []tir.Type{tir.Float32, tir.Float64, tir.Float16, tir.BFloat16, tir.Int32, tir.UInt8} {
		for k, c := range all {
			if dt == tir.Float32 || (n+k)%5 == 0 {
				add(c, dt, dt, tir.Void, dt)
			}
		}
	}
	add(plain, tir.UInt8, tir.Int8, tir.Int32, tir.Int32)
	add(all[3], tir.Int8, tir.Int8, tir.Int32, tir.Int32)
	add(all[5], tir.Float16, tir.Float32, tir.Float32, tir.Float32)
	return cases
}

var _ = valueCases("pool", poolCases)

func poolCases() []opCase {
	var cases []opCase
	add := func(name string, dt tir.Type, x *nd, w Window) {
		nhwc := w.Layout == "NHWC"
		n, c, height, width := x.shape[0], x.shape[1], x.shape[2], x.shape[3]
		if nhwc {
			height, width, c = x.shape[1], x.shape[2], x.shape[3]
		}
		strides, dilate := w.Strides, w.Dilations
		for d := range 2 {
			if strides[d] == 0 {
				strides[d] = w.Kernel[d]
			}
			dilate[d] = max(dilate[d], 1)
		}
		size := func(n, d int) int {
			left := n + w.Pads[d] + w.Pads[d+2] - (w.Kernel[d]-1)*dilate[d] - 1
			out := left/strides[d] + 1
			if w.Ceil && left%strides[d] != 0 && out*strides[d] < n+w.Pads[d] {
				out++
			}
			return out
		}
		oh, ow := size(height, 0), size(width, 1)
		shape := []int{n, c, oh, ow}
		if nhwc {
			shape = []int{n, oh, ow, c}
		}
		pool := func(maximum bool) *nd {
			return each(dt, shape, func(i []int) float64 {
				b, c, h, v := i[0], i[1], i[2], i[3]
				if nhwc {
					h, v, c = i[1], i[2], i[3]
				}
				best, sum, in, counted := limitOf(dt, false), 0.0, 0, 0
				for p := range w.Kernel[0] {
					for q := range w.Kernel[1] {
						y, z := h*strides[0]+p*dilate[0]-w.Pads[0], v*strides[1]+q*dilate[1]-w.Pads[1]
						if e, ok := pixel(x, nhwc, b, c, y, z); ok {
							if best = math.Max(best, e); e != e {
								best = e
							}
							sum += e
							in++
						}
						if y < height+w.Pads[2] && z < width+w.Pads[3] {
							counted++
						}
					}
				}
				switch {
				case maximum:
					return best
				case w.CountPads:
					return rounded16(dt, sum/float64(counted))
				}
				return rounded16(dt, sum/float64(in))
			})
		}
		cases = append(cases, opCase{name: fmt.Sprintf("max %s of %s", name, dt), ins: []*nd{x}, want: pool(true),
			make: func(x []*te.Tensor) *te.Tensor { return MaxPool2D(x[0], "Y", w) }})
		if tir.IsFloat(dt) {
			cases = append(cases, opCase{name: fmt.Sprintf("average %s of %s", name, dt), ins: []*nd{x}, want: pool(false),
				tol:  tolerance(dt),
				make: func(x []*te.Tensor) *te.Tensor { return AvgPool2D(x[0], "Y", w) }})
		}
	}
	for n, dt := range allNumbers {
		for k, c := range []struct {
			name string
			x    []int
			w    Window
		}{{"plain", []int{2, 3, 6, 7}, Window{Kernel: [2]int{2, 3}}}, {"padded", []int{1, 2, 5, 5},
			Window{Kernel: [2]int{3, 3}, Strides: [2]int{2, 1}, Pads: [4]int{1, 1, 1, 2}}},
			{"counting pads", []int{1, 2, 5, 5}, Window{Kernel: [2]int{3, 3}, Strides: [2]int{2, 1}, Pads: [4]int{1, 1, 1, 2},
				CountPads: true}},
			{"ceil", []int{1, 1, 6, 8}, Window{Kernel: [2]int{3, 3}, Strides: [2]int{2, 3}, Pads: [4]int{1, 0, 1, 0},
				Ceil: true}},
			{"ceil counting pads", []int{1, 1, 6, 8}, Window{Kernel: [2]int{3, 3}, Strides: [2]int{2, 3},
				Pads: [4]int{1, 0, 1, 1}, Ceil: true, CountPads: true}},
			{"ceil, late", []int{1, 1, 5, 5}, Window{Kernel: [2]int{1, 2}, Strides: [2]int{3, 4}, Pads: [4]int{0, 1, 0, 1},
				Ceil: true}},
			{"dilated", []int{1, 2, 7, 8}, Window{Kernel: [2]int{2, 3}, Strides: [2]int{1, 2}, Dilations: [2]int{3, 2},
				Pads: [4]int{1, 2, 0, 1}}},
			{"nhwc", []int{2, 5, 6, 3}, Window{Kernel: [2]int{3, 2}, Strides: [2]int{2, 2}, Pads: [4]int{1, 0, 1, 1},
				Layout: "NHWC"}},
			{"no images", []int{0, 3, 4, 4}, Window{Kernel: [2]int{2, 2}}}} {
			if dt == tir.Float32 || (n+k)%5 == 0 {
				add(c.name, dt, sample(dt, c.x...), c.w)
			}
		}
	}
	for position := range 4 {
		x := &nd{tir.Float32, []int{1, 1, 2, 2}, []float64{1, 2, 3, 4}}
		x.v[position] = math.NaN()
		add("no number", tir.Float32, x, Window{Kernel: [2]int{2, 2}})
	}
	for k, layout := range []string{"", "NHWC"} {
		axes := [][]int{{2, 3}, {1, 2}}[k]
		x := sample(tir.Float32, 2, 3, 4, 5)
		cases = append(cases, opCase{name: "global max " + layout, ins: []*nd{x}, make: func(x []*te.Tensor) *te.Tensor {
			return GlobalMaxPool2D(x[0], "Y", layout)
		},
			want: folded(x, tir.Float32, axes, true, nanOr(math.Max, math.Inf(-1)))})
		cases = append(cases, opCase{name: "global average " + layout, ins: []*nd{x}, make: func(x []*te.Tensor) *te.Tensor {
			return GlobalAvgPool2D(x[0], "Y", layout)
		}, tol: 1e-6,
			want: folded(x, tir.Float32, axes, true, func(v []float64) (r float64) {
				for _, e := range v {
					r += e / float64(len(v))
				}
				return r
			})})
	}
	return cases
}
