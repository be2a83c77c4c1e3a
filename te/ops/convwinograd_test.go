//go:build cgo

package ops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/te/ops/winograd"
	"tvmgo/tir"
)

var _ = valueCases("convwinograd", convwinogradCases)

// winogradConv makes a case of ConvWinograd from a convolution of an image and of filters, both in blocks. The filters
// are transformed here; results are those of a direct convolution.
func winogradConv(c convND, t tir.Type, tol float64) opCase {
	direct := blockedConv(c, t)
	g := winograd.Filters()
	at := func(i []int) float64 { // [out block, row, column, block, channel, out]
		sum := 0.0
		for p := range 3 {
			for q := range 3 {
				sum += g[i[1]][p] * direct.ins[1].at(i[0], i[3], p, q, i[4], i[5]) * g[i[2]][q]
			}
		}
		return sum
	}
	w := each(t, []int{c.w[0], 6, 6, c.w[1], c.w[4], c.w[5]}, at)
	return opCase{name: fmt.Sprintf("%s of %s", c.name, t), ins: []*nd{direct.ins[0], w}, want: direct.want, tol: tol,
		make: func(x []*te.Tensor) *te.Tensor { return ConvWinograd(x[0], x[1], "Y", c.options(x, t, t)...) }}
}

func convwinogradCases() (cases []opCase) {
	same := []int{1, 1, 1, 1}
	for _, c := range []convND{
		{name: "whole tiles", x: []int{1, 2, 8, 8, 4}, w: []int{2, 2, 3, 3, 4, 4}, pads: same},
		{name: "parts of tiles", x: []int{2, 1, 7, 9, 8}, w: []int{3, 1, 3, 3, 8, 4}, pads: same},
		{name: "no pads", x: []int{1, 3, 9, 6, 4}, w: []int{1, 3, 3, 3, 4, 8}},
		{name: "long pads", x: []int{1, 1, 2, 5, 4}, w: []int{4, 1, 3, 3, 4, 4}, pads: []int{3, 0, 2, 7}},
		{name: "long rows", x: []int{1, 1, 3, 61, 4}, w: []int{2, 1, 3, 3, 4, 4}, pads: same},
		{name: "one result", x: []int{1, 1, 1, 1, 4}, w: []int{1, 1, 3, 3, 4, 4}, pads: same},
		{name: "short blocks", x: []int{1, 2, 4, 5, 3}, w: []int{2, 2, 3, 3, 3, 5}, pads: same},
		{name: "none", x: []int{0, 2, 4, 5, 4}, w: []int{2, 2, 3, 3, 4, 4}},
	} {
		cases = append(cases, winogradConv(c, tir.Float32, 2e-4), winogradConv(c, tir.Float64, 1e-12))
	}
	return cases
}

func TestConvWinograd_Errors(t *testing.T) {
	x := te.Placeholder(dims([]int{1, 2, 8, 8, 4}), tir.Float32, "x")
	w := te.Placeholder(dims([]int{3, 6, 6, 2, 4, 4}), tir.Float32, "w")
	require.NoError(t, ConvWinograd(x, w, "Y").Err())
	of := func(t tir.Type, shape ...int) *te.Tensor { return te.Placeholder(dims(shape), t, "z") }
	for _, c := range []struct {
		y    *te.Tensor
		want string
	}{
		{ConvWinograd(of(tir.Float32, 1, 2, 8, 8), w, "Y"), "tensor z, has 4 dimensions: want 5"},
		{ConvWinograd(x, of(tir.Float32, 3, 6, 6, 4, 4), "Y"), "tensor z, has 5 dimensions: want 6"},
		{ConvWinograd(x, of(tir.Float32, 3, 4, 4, 2, 4, 4), "Y"), "want [out block, 6, 6, block, channel, out]"},
		{ConvWinograd(x, of(tir.Float32, 3, 6, 6, 1, 4, 4), "Y"), "want as many blocks and channels"},
		{ConvWinograd(x, of(tir.Float32, 3, 6, 6, 2, 8, 4), "Y"), "want as many blocks and channels"},
		{ConvWinograd(x, of(tir.Float64, 3, 6, 6, 2, 4, 4), "Y"), "float64"},
		{ConvWinograd(of(tir.Int32, 1, 2, 8, 8, 4), of(tir.Int32, 3, 6, 6, 2, 4, 4), "Y"),
			"want float32 or float64 for both"},
		{ConvWinograd(x, w, "Y", ConvAccumulateIn(tir.Float64)), "want float32 or float64 for both"},
		{ConvWinograd(x, w, "Y", Strides(2, 1)), "the only option is Pads"},
		{ConvWinograd(x, w, "Y", Groups(2)), "the only option is Pads"},
		{ConvWinograd(x, w, "Y", Pads(1)), "want 4"},
		{ConvWinograd(of(tir.Float32, 1, 2, 2, 8, 4), w, "Y"), "axis 2"},
	} {
		require.ErrorContains(t, c.y.Err(), c.want)
	}
}
