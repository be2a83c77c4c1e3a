//go:build cgo

package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

var _ = valueCases("convblocked", convblockedCases)

// blockedConv makes a case of ConvBlocked from a convolution of shapes in blocks.
func blockedConv(c convND, t tir.Type) opCase {
	x, w := sample(t, c.x...), sample(t, c.w...)
	for i := range w.v { // another pattern than that of x
		w.v[i] *= float64(i%3) - 1
	}
	spatial := convND{x: c.x[:4], strides: c.strides, dilate: c.dilate, pads: c.pads, groups: c.groups}.full()
	single, blocked := len(c.w) == 4, len(c.x) == 5
	kernel := c.w[2:4]
	if single {
		kernel = c.w[1:3]
	}
	shape := []int{c.x[0], c.w[0]}
	for d := range 2 {
		size := c.x[2+d] + spatial.pads[d] + spatial.pads[2+d]
		shape = append(shape, (size-(kernel[d]-1)*spatial.dilate[d]-1)/spatial.strides[d]+1)
	}
	want := each(t, append(shape, c.w[len(c.w)-1]), func(i []int) float64 {
		sum := 0.0
		points(c.w[:len(c.w)-1], func(k []int) {
			if k[0] != i[1] {
				return
			}
			at, filter := []int{i[0], i[1]}, append(append([]int{}, k...), i[4])
			p := k[1:]
			if !single {
				at[1] = i[1]/(c.w[0]/spatial.groups)*c.w[1] + k[1]
				p = k[2:]
			}
			for d := range 2 {
				at = append(at, i[2+d]*spatial.strides[d]+p[d]*spatial.dilate[d]-spatial.pads[d])
			}
			switch {
			case single:
				at = append(at, i[4])
			case blocked:
				at = append(at, k[4])
			}
			e, _ := x.inside(at)
			sum += e * w.at(filter...)
		})
		return sum
	})
	return opCase{name: fmt.Sprintf("%s of %s", c.name, t), ins: []*nd{x, w}, want: want,
		make: func(x []*te.Tensor) *te.Tensor { return ConvBlocked(x[0], x[1], "Y", c.options(x, t, t)...) }}
}

func convblockedCases() (cases []opCase) {
	same := []int{1, 1, 1, 1}
	all := []convND{
		{name: "1x1", x: []int{1, 2, 5, 7, 16}, w: []int{3, 2, 1, 1, 16, 16}},
		{name: "3x3", x: []int{2, 1, 6, 14, 16}, w: []int{4, 1, 3, 3, 16, 16}, pads: same},
		{name: "long rows", x: []int{1, 1, 3, 37, 8}, w: []int{2, 1, 3, 3, 8, 16}, pads: same},
		{name: "long rows without pads", x: []int{1, 1, 3, 61, 8}, w: []int{1, 1, 2, 3, 8, 32}, strides: []int{1, 2}},
		{name: "all options", x: []int{1, 4, 9, 11, 16}, w: []int{6, 2, 3, 2, 16, 16}, strides: []int{2, 3},
			dilate: []int{1, 2}, pads: []int{2, 0, 1, 3}, groups: 2},
		{name: "not divided", x: []int{2, 3, 15, 19}, w: []int{2, 3, 5, 4, 16}, strides: []int{2, 2},
			pads: []int{2, 1, 2, 2}},
		{name: "each channel", x: []int{1, 3, 9, 10, 16}, w: []int{3, 3, 3, 16}, strides: []int{2, 1}, pads: same},
		{name: "short blocks", x: []int{1, 2, 4, 5, 3}, w: []int{2, 2, 2, 2, 3, 5}},
		{name: "one pixel", x: []int{2, 5, 1, 1, 16}, w: []int{4, 5, 1, 1, 16, 16}},
		{name: "none", x: []int{0, 2, 4, 5, 16}, w: []int{2, 2, 2, 2, 16, 16}},
	}
	for n, t := range []tir.Type{tir.Float32, tir.Float64, tir.Int32} {
		for k, c := range all {
			if t == tir.Float32 || (n+k)%3 == 0 {
				cases = append(cases, blockedConv(c, t))
			}
		}
	}
	return cases
}
