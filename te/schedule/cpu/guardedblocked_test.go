//go:build cgo

package cpu_test

import (
	"fmt"
	"math/rand/v2"

	"tvmgo/internal/testing/errbound"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/te/ops/winograd"
	"tvmgo/tir"
)

// block is the number of channels of a block: that of the longest vectors, several of shorter ones.
const block = 16

// blockedCases returns convolutions of images in blocks: direct ones, and those by Winograd's algorithm.
func blockedCases(r *rand.Rand, all bool) (cases []guarded) {
	list := []window{{1, 1, 2, 14, 29, 3, 1, 1, 1}, {2, 2, 1, 7, 8, 3, 1, 1, 1}, {1, 1, 1, 1, 1, 3, 1, 1, 1}}
	random := 3
	if all {
		random = 60
	}
	for range random {
		w := window{1 + r.IntN(2), 1 + r.IntN(2), 1 + r.IntN(4), 1 + r.IntN(upTo), 1 + r.IntN(upTo), 3, 1, r.IntN(3), 1}
		w.height, w.width = max(w.height, 3), max(w.width, 3)
		list = append(list, w)
	}
	for _, w := range list {
		cases = append(cases, w.blocked(false), w.blocked(true))
	}
	return cases
}

// blocked is a convolution of 3×3 whose numbers of channels and of filters are those of blocks. Filters for Winograd's
// algorithm are inputs: the bounds hold for any numbers.
func (w window) blocked(byWinograd bool) guarded {
	image := []int{w.batch, w.channels, w.height, w.width, block}
	filters := []int{w.filters, w.channels, 3, 3, block, block}
	result := []int{w.batch, w.filters, w.over(w.height), w.over(w.width), block}
	c := guarded{name: fmt.Sprintf("blocked conv, padding %d", w.padding), finite: []int{1}}
	make, want := ops.ConvBlocked, w.direct
	if byWinograd {
		c.name = fmt.Sprintf("conv by Winograd's algorithm, padding %d", w.padding)
		filters = []int{w.filters, 6, 6, w.channels, block, block}
		make, want = ops.ConvWinograd, w.winograd
	}
	x, y := holder(tir.Float32, "X", image...), holder(tir.Float32, "W", filters...)
	p := w.padding
	c.ins, c.out = []*te.Tensor{x, y}, make(x, y, "C", ops.Pads(p, p, p, p))
	c.calls = [][][]int{{image, filters, result}}
	c.want = func(_ [][]int, in [][]errbound.Number) []errbound.Number {
		all := newNumbers(result...)
		for n := range w.batch {
			want(in[0], in[1], n, func(o, i, j, e int, v errbound.Number) {
				all[(((n*w.filters+o)*result[2]+i)*result[3]+j)*block+e] = v
			})
		}
		return all
	}
	return c
}

func newNumbers(shape ...int) []errbound.Number { return make([]errbound.Number, elements(shape)) }

// at returns an element of an image of blocks; 0 outside.
func (w window) at(x []errbound.Number, n, c, i, j, e int) errbound.Number {
	if i < 0 || i >= w.height || j < 0 || j >= w.width {
		return errbound.Number{}
	}
	return x[(((n*w.channels+c)*w.height+i)*w.width+j)*block+e]
}

// direct computes the results of an image of the batch.
func (w window) direct(x, y []errbound.Number, n int, set func(o, i, j, e int, v errbound.Number)) {
	for i := range w.over(w.height) {
		for j := range w.over(w.width) {
			var image []errbound.Number
			for k := range w.channels * 9 * block {
				at := k / block % 9
				image = append(image, w.at(x, n, k/block/9, i+at/3-w.padding, j+at%3-w.padding, k%block))
			}
			for o := range w.filters * block {
				var filter []errbound.Number
				for k := range image {
					filter = append(filter, y[(o/block*len(image)+k)*block+o%block])
				}
				set(o/block, i, j, o%block, f32.Dot(image, filter))
			}
		}
	}
}

// transformed returns M·x·Mᵀ, with a rounding for each product and sum.
func transformed(m [][]float64, x [6][6]errbound.Number) (out [6][6]errbound.Number) {
	combined := func(row []float64, element func(k int) errbound.Number) errbound.Number {
		var a, b []errbound.Number
		for k, factor := range row {
			if factor != 0 {
				a, b = append(a, errbound.Number{Value: factor}), append(b, element(k))
			}
		}
		return f32.Dot(a, b)
	}
	var rows [6][6]errbound.Number
	for p := range m {
		for j := range 6 {
			rows[p][j] = combined(m[p], func(k int) errbound.Number { return x[k][j] })
		}
	}
	for p := range m {
		for q := range m {
			out[p][q] = combined(m[q], func(k int) errbound.Number { return rows[p][k] })
		}
	}
	return out
}

// winograd does the steps of the algorithm for an image of the batch.
func (w window) winograd(x, y []errbound.Number, n int, set func(o, i, j, e int, v errbound.Number)) {
	rows, columns := w.over(w.height), w.over(w.width)
	for i := 0; i < rows; i += 4 {
		for j := 0; j < columns; j += 4 {
			var images [][6][6]errbound.Number
			for k := range w.channels * block {
				var tile [6][6]errbound.Number
				for at := range 36 {
					tile[at/6][at%6] = w.at(x, n, k/block, i+at/6-w.padding, j+at%6-w.padding, k%block)
				}
				images = append(images, transformed(winograd.Image(), tile))
			}
			for o := range w.filters * block {
				var products [6][6]errbound.Number
				for at := range 36 {
					var a, b []errbound.Number
					for k, image := range images {
						a = append(a, image[at/6][at%6])
						b = append(b, y[((o/block*36+at)*len(images)+k)*block+o%block])
					}
					products[at/6][at%6] = f32.Dot(a, b)
				}
				results := transformed(winograd.Result(), products)
				for at := range 16 {
					if i+at/4 < rows && j+at%4 < columns {
						set(o/block, i+at/4, j+at%4, o%block, results[at/4][at%4])
					}
				}
			}
		}
	}
}
