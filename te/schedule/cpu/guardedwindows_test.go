//go:build cgo

package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tvmgo/internal/testing/errbound"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// window describes a convolution or a pooling.
type window struct {
	batch, channels, filters, height, width, kernel, stride, padding, groups int
}

// windowCases returns convolutions and poolings, whose images have every size up to 40 in some case.
func windowCases(r *rand.Rand, all bool) (cases []guarded) {
	list := []window{
		{1, 3, 8, 40, 40, 3, 1, 1, 1}, {1, 16, 33, 14, 15, 3, 1, 1, 1}, {2, 16, 16, 9, 28, 1, 1, 0, 1},
		{1, 32, 32, 13, 13, 3, 2, 1, 32}, {1, 8, 16, 12, 11, 3, 1, 1, 2}, {1, 3, 16, 33, 31, 7, 2, 3, 1},
		{1, 17, 5, 1, 1, 1, 1, 0, 1}, {1, 64, 64, 7, 7, 3, 1, 1, 1},
	}
	random := 8
	if all {
		random = 150
	}
	pick := func(n ...int) int { return n[r.IntN(len(n))] }
	for range random {
		w := window{pick(1, 2), 1 + r.IntN(upTo), 1 + r.IntN(upTo), 1 + r.IntN(upTo), 1 + r.IntN(upTo), pick(1, 2, 3, 5),
			pick(1, 2), pick(0, 1), 1}
		if w.kernel > 1 && r.IntN(3) == 0 {
			w.groups, w.filters = w.channels, w.channels
		}
		w.height, w.width = max(w.height, w.kernel), max(w.width, w.kernel)
		list = append(list, w)
	}
	list = append(list, depthwiseCases(r)...)
	for _, w := range list {
		cases = append(cases, w.convolution())
	}
	cases = append(cases, everySecond(3, 63), everySecond(3, 64), everySecond(2, 31), everySecond(2, 7))
	for _, average := range []bool{false, true} {
		n, m := te.Var("n"), te.Var("m")
		w := window{batch: 1, channels: 3, kernel: 3, stride: 2, padding: 1}
		open := te.Placeholder([]tir.Expr{tir.I32(1), tir.I32(3), n, m}, tir.Float32, "X")
		var sizes [][2]int
		for d := 1; d <= upTo; d++ {
			sizes = append(sizes, [2]int{d, 1 + r.IntN(upTo)}, [2]int{1 + r.IntN(upTo), d})
		}
		cases = append(cases, w.pooling(open, average, sizes))
		for _, w := range list[:12] {
			w.kernel, w.padding = max(w.kernel, 2), min(w.padding, 1)
			w.height, w.width = max(w.height, w.kernel), max(w.width, w.kernel)
			x := holder(tir.Float32, "X", w.batch, w.channels, w.height, w.width)
			cases = append(cases, w.pooling(x, average, [][2]int{{w.height, w.width}}))
		}
	}
	return cases
}

// depthwiseCases returns convolutions with a filter for each channel, of images whose height and width have every size
// up to 40 in some case, with each stride and padding.
func depthwiseCases(r *rand.Rand) (list []window) {
	order := r.Perm(upTo)
	for i := range upTo {
		w := window{1 + i%2, 3, 3, i + 1, order[i] + 1, 3, 1 + i%2, i / 2 % 3, 3}
		if i%5 == 4 {
			w.kernel, w.filters = 2+i/5%4, 6
		}
		w.height, w.width = max(w.height, w.kernel-2*w.padding), max(w.width, w.kernel-2*w.padding)
		list = append(list, w)
	}
	return append(list, window{1, 2, 2, 112, 112, 3, 1, 1, 2}, window{1, 2, 2, 112, 56, 3, 2, 1, 2},
		window{2, 3, 3, 6, 18, 3, 1, 0, 3}, window{1, 3, 6, 9, 33, 3, 2, 0, 3}) // whole tiles, nothing is padded
}

// everySecond takes every second column of a matrix, up to the last one if their number is odd.
func everySecond(rows, columns int) guarded {
	x := holder(tir.Float32, "X", rows, columns)
	return guarded{
		name:  "every second column",
		ins:   []*te.Tensor{x},
		out:   ops.Slice(x, "S", ops.Range{Axis: 1, End: columns, Step: 2}),
		calls: [][][]int{{{rows, columns}, {rows, (columns + 1) / 2}}},
		want: func(_ [][]int, in [][]errbound.Number) (all []errbound.Number) {
			for i := range rows {
				for j := 0; j < columns; j += 2 {
					all = append(all, in[0][i*columns+j])
				}
			}
			return all
		},
	}
}

// over returns the number of windows along a dimension.
func (w window) over(size int) int { return (size+2*w.padding-w.kernel)/w.stride + 1 }

// inside calls f with the positions in an image, and in a window, of the elements of the window at i and j.
func (w window) inside(i, j, height, width int, f func(y, x, at int)) {
	for a := range w.kernel {
		for b := range w.kernel {
			y, x := i*w.stride+a-w.padding, j*w.stride+b-w.padding
			if y >= 0 && y < height && x >= 0 && x < width {
				f(y, x, a*w.kernel+b)
			}
		}
	}
}

func (w window) convolution() guarded {
	image := []int{w.batch, w.channels, w.height, w.width}
	filters := []int{w.filters, w.channels / w.groups, w.kernel, w.kernel}
	x, y := holder(tir.Float32, "X", image...), holder(tir.Float32, "W", filters...)
	bias := holder(tir.Float32, "B", w.filters)
	rows, columns := w.over(w.height), w.over(w.width)
	return guarded{
		name:   fmt.Sprintf("conv, stride %d, padding %d, groups %d", w.stride, w.padding, w.groups),
		ins:    []*te.Tensor{x, y, bias},
		out:    ops.Conv2D(x, y, "C", w.stride, w.padding, ops.Groups(w.groups), ops.Bias(bias)),
		calls:  [][][]int{{image, filters, {w.filters}, {w.batch, w.filters, rows, columns}}},
		finite: []int{1},
		want: func(_ [][]int, in [][]errbound.Number) (all []errbound.Number) {
			each := w.channels / w.groups
			area := w.kernel * w.kernel
			for n := range w.batch {
				for o := range w.filters {
					for at := range rows * columns {
						var a, b []errbound.Number
						for c := range each {
							channel := o/(w.filters/w.groups)*each + c
							w.inside(at/columns, at%columns, w.height, w.width, func(y, x, k int) {
								a = append(a, in[0][((n*w.channels+channel)*w.height+y)*w.width+x])
								b = append(b, in[1][(o*each+c)*area+k])
							})
						}
						all = append(all, f32.Add(f32.Dot(a, b), in[2][o]))
					}
				}
			}
			return all
		},
	}
}

func (w window) pooling(x *te.Tensor, average bool, sizes [][2]int) guarded {
	o := ops.Window{Kernel: [2]int{w.kernel, w.kernel}, Strides: [2]int{w.stride, w.stride},
		Pads: [4]int{w.padding, w.padding, w.padding, w.padding}}
	c := guarded{name: fmt.Sprintf("max pool %d, stride %d, padding %d", w.kernel, w.stride, w.padding),
		ins: []*te.Tensor{x}, out: ops.MaxPool2D(x, "P", o)}
	if average {
		c.name, c.out = "average"+c.name[len("max"):], ops.AvgPool2D(x, "P", o)
	}
	for _, s := range sizes {
		c.calls = append(c.calls, [][]int{{w.batch, w.channels, s[0], s[1]},
			{w.batch, w.channels, w.over(s[0]), w.over(s[1])}})
	}
	c.want = func(shapes [][]int, in [][]errbound.Number) (all []errbound.Number) {
		height, width, rows, columns := shapes[0][2], shapes[0][3], shapes[1][2], shapes[1][3]
		for n := range w.batch * w.channels {
			for at := range rows * columns {
				var within []errbound.Number
				most := math.Inf(-1)
				w.inside(at/columns, at%columns, height, width, func(y, x, _ int) {
					v := in[0][(n*height+y)*width+x]
					within, most = append(within, v), math.Max(most, v.Value)
				})
				if average {
					all = append(all, f32.Div(f32.Sum(within), errbound.Number{Value: float64(len(within))}))
				} else {
					all = append(all, errbound.Number{Value: most})
				}
			}
		}
		return all
	}
	return c
}
