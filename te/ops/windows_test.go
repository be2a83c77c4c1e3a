//go:build cgo

package ops

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/tir"
)

// anySize are functions with variable sizes, which are built once and called with tensors of several sizes.
var anySize = map[string]func() openCase{}

// anySizeCase adds a function for TestAnySize_Images: its calls, and the names of the sizes of each input, as in
// openCase.
func anySizeCase(name string, make func() openCase) bool {
	anySize[name] = make
	return true
}

func TestAnySize_Images(t *testing.T) {
	var cases []openCase
	for _, make := range anySize {
		cases = append(cases, make())
	}
	runOpen(t, newTarget(t, "c"), nil, cases)
}

var _ = anySizeCase("conv", func() openCase {
	o := openCase{sizes: []string{"n _ s"}}
	for _, s := range [][2]int{{3, 5}, {1, 2}, {0, 4}, {2, 33}} {
		c := convND{name: "conv", x: []int{s[0], 2, s[1]}, w: []int{3, 2, 3}, strides: []int{2}, pads: []int{1, 1}}
		o.calls = append(o.calls, c.conv(tir.Float32, tir.Float32))
	}
	return o
})

var _ = anySizeCase("convtranspose", func() openCase {
	o := openCase{sizes: []string{"n _ h w"}}
	for _, s := range [][3]int{{3, 5, 2}, {1, 1, 1}, {0, 4, 3}, {2, 13, 20}} {
		c := convND{name: "transposed", x: []int{s[0], 2, s[1], s[2]}, w: []int{2, 3, 3, 2}, strides: []int{2, 3},
			pads: []int{1, 0, 1, 0}}
		o.calls = append(o.calls, c.transposed(tir.Float32, tir.Float32))
	}
	return o
})

var _ = anySizeCase("positions", func() openCase {
	o := openCase{sizes: []string{"n _ h _ w"}}
	for _, s := range [][3]int{{3, 5, 2}, {1, 2, 1}, {2, 13, 20}} {
		x := sample(tir.Float32, s[0], 2, s[1], 4, s[2])
		w := Windows{Kernel: []int{2, 2, 1}, Strides: []int{1, 2, 1}, Dilations: []int{1, 1, 1}, Pads: repeated(6, 0)}
		shape, elements := windowsIn(x, w)
		o.calls = append(o.calls, opCase{name: "positions", ins: []*nd{x}, want: each(tir.Int64, shape,
			func(i []int) float64 {
				best := elements(i)[0].at
				for _, e := range elements(i) {
					if x.at(e.at...) > x.at(best...) {
						best = e.at
					}
				}
				return float64(x.position(best))
			}), make: func(x []*te.Tensor) *te.Tensor { return MaxPoolIndices(x[0], "Y", w, false)[1] }})
	}
	return o
})

// refusal is a tensor that carries an error.
type refusal struct {
	y    *te.Tensor
	want string
}

// refused expects that tensors carry errors.
func refused(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		require.ErrorContains(t, c.y.Err(), c.want)
	}
}

func TestConv_Errors(t *testing.T) {
	row, w := placeholder("x", 1, 4, 9), placeholder("w", 6, 4, 3)
	n := te.Placeholder([]tir.Expr{tir.I32(4), tir.I32(4), te.Var("k")}, tir.Float32, "n")
	conv := func(o ...ConvOption) *te.Tensor { return Conv(row, w, "y", o...) }
	transposed := func(o ...ConvOption) *te.Tensor { return ConvTranspose(row, placeholder("f", 4, 2, 3), "y", o...) }
	refused(t, []refusal{
		{Conv(placeholder("v", 1, 2), w, "y"), "tensor v has 2 dimensions: want 3 to 5, for batch, channels and 1 to 3 " +
			"spatial ones"},
		{Conv(row, placeholder("w4", 1, 4, 1, 1), "y"), "operand 0, tensor w4, has 4 dimensions: want 3"},
		{conv(Strides(1, 1)), "2 strides for 1 spatial dimensions: want 1"},
		{conv(Pads(1)), "1 pads for 1 spatial dimensions: want 2"},
		{conv(Dilations(1, 1, 1)), "3 dilations for 1 spatial dimensions: want 1"},
		{conv(Layout("NCHW")), `layout "NCHW": want "NCW" or "NWC"`},
		{conv(OutputPadding(1)), "output padding: only ConvTranspose has it"},
		{conv(OffsetGroups(1)), "groups of offsets: only DeformConv has them"},
		{conv(Dilations(5)), "axis 2 of tensor x has 9 elements with its padding, and a window spans 11"},
		{ConvTranspose(row, w, "y"), "tensor x has 4 channels, and the filters w have 6: want equal numbers"},
		{transposed(Layout("NWC")), `layout "NWC": want "NCW" for transposed convolutions`},
		{transposed(Groups(0)), "0 groups: want 1 or more"},
		{transposed(Groups(3)), "tensor x has 4 channels, which cannot be divided into 3 groups"},
		{ConvTranspose(row, n, "y"), "dimension 2 of the filters n is k: want a constant of 1 or more"},
		{transposed(Strides(0)), "axis 2 of tensor x: stride 0 and dilation 1: want 1 or more"},
		{transposed(OutputPadding(-1)), "padding 0 and 0, and -1 of the result: want 0 or more"},
		{transposed(nil), "an option is nil"},
		{transposed(Bias(placeholder("b", 3))), "the bias, tensor b, has shape [3]: want one element for each of 2 filters"},
	})
}

func TestPool_Errors(t *testing.T) {
	x := placeholder("x", 1, 2, 9)
	ints := te.Placeholder(te.Dims(1, 2, 9), tir.Int32, "i")
	k2 := []int{2}
	refused(t, []refusal{
		{MaxPool(x, "y", Windows{}), "0 window sizes for 1 spatial dimensions: want 1"},
		{AvgPool(x, "y", Windows{Kernel: k2, Strides: []int{1, 1}}), "2 strides for 1 spatial dimensions: want 1"},
		{LpPool(x, "y", Windows{Kernel: k2, Pads: []int{1}}, 2), "1 pads for 1 spatial dimensions: want 2"},
		{MaxPoolIndices(x, "y", Windows{Kernel: k2, Pads: []int{0, 2}}, false)[1], "padding 0 and 2 of a window that " +
			"spans 2 elements: want less"},
		{LpPool(x, "y", Windows{Kernel: k2}, 0), "the 0-norm of tensor x: want a finite number of 1 or more"},
		{GlobalLpPool(x, "y", "", 0.5), "the 0.5-norm of tensor x"},
		{GlobalLpPool(ints, "y", "", 1), "tensor i has type int32: want floats"},
		{GlobalMaxPool(x, "y", "NCHW"), `layout "NCHW": want "NCW" or "NWC"`},
		{GlobalAvgPool(placeholder("v", 1, 2), "y", ""), "tensor v has 2 dimensions: want 3 to 5"},
	})
}
