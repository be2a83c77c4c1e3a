//go:build cgo

package ops

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/te"
	"tvmgo/tir"
)

// TestErrors expects messages that name the tensor and the axis, and say what is valid.
func TestErrors(t *testing.T) {
	p := func(t tir.Type, name string, s ...int32) *te.Tensor { return te.Placeholder(te.Dims(s...), t, name) }
	f := tir.Float32
	x, y, ints, truths, scalar := p(f, "X", 3, 4), p(f, "Y", 3, 5), p(tir.Int32, "I", 3, 4), p(tir.Bool, "B", 3,
		4), p(f, "S")
	none, image, odd := p(f, "N", 3, 0), p(f, "IM", 1, 4, 6, 5), p(tir.Type{Code: 10, Bits: 8, Lanes: 1}, "O", 3, 4)
	filters := p(f, "F", 6, 4, 3, 3)
	n, m := te.Var("n"), te.Var("m")
	square := te.Placeholder([]tir.Expr{n, m}, f, "SQ")
	any1 := te.Placeholder([]tir.Expr{n, tir.I32(2)}, f, "V")
	conv := func(o ...ConvOption) *te.Tensor { return Conv2D(image, filters, "T", 1, 0, o...) }
	pool := func(w Window) *te.Tensor { return MaxPool2D(image, "T", w) }
	k2 := [2]int{2, 2}
	for _, c := range []struct {
		made *te.Tensor
		want string
	}{
		// elementwise
		{Exp(ints, "T"), "tensor I has type int32: want floats: cast it to float16, bfloat16, float32 or float64"},
		{Atanh(ints, "T"), "tensor I has type int32: want floats: cast it to float16, bfloat16, float32 or float64"},
		{Mish(ints, "T"), "tensor I has type int32: want floats"},
		{IsInf(ints, "T", true, true), "tensor I has type int32: want floats"},
		{BitwiseNot(truths, "T"), "tensor B has type bool: want integers"},
		{Neg(truths, "T"), "tensor B has type bool: want numbers: cast it to one of int8"},
		{Relu(odd, "T"), "tensor O has type float8_e4m3fn: want numbers"},
		{LogicalNot(x, "T"), "tensor X has type float32: want bool, as returned by comparisons"},
		{Clip(x, "T", 2, 1), "tensor X is limited to 2 … 1: want the first bound to be at most the second"},
		{Clip(x, "T", math.NaN(), 1), "tensor X is limited to NaN … 1"},
		{Clip(ints, "T", 0.5, 1), "the bounds of tensor I: tir: constant 0.5 is not of type int32"},
		{Map(nil, "T", tir.Negate), "operand 0: te: the tensor is nil"},
		// broadcast
		{Add(x, y, "T"), "dimension 1 of tensors X and Y is 4 and 5: want equal sizes, or 1"},
		{Add(x, ints, "T"), "tensor X has type float32, and tensor I has type int32: cast one of them"},
		{Power(truths, ints, "T"), "tensor B has type bool: want numbers"},
		{Power(x, y, "T"), "dimension 1 of tensors X and Y is 4 and 5: want equal sizes, or 1"},
		{TruncMod(x, ints, "T"), "tensor X has type float32, and tensor I has type int32: cast one of them"},
		{BitwiseXor(x, x, "T"), "tensor X has type float32: want integers: cast it to one of"},
		{LeftShift(ints, p(tir.Int8, "I8", 4), "T"), "tensor I has type int32, and tensor I8 has type int8: cast one"},
		{PRelu(x, y, "T"), "dimension 1 of tensors X and Y is 4 and 5: want equal sizes, or 1"},
		{Less(truths, truths, "T"), "tensor B has type bool: want numbers"},
		{Where(x, x, x, "T"), "tensor X has type float32: want bool"},
		{Where(truths, x, ints, "T"), "tensor X has type float32, and tensor I has type int32"},
		{Where(truths, x, p(f, "Z", 7), "T"), "dimension 1 of tensors B and Z is 4 and 7"},
		{Add(x, nil, "T"), "operand 1: te: the tensor is nil"},
		// reductions
		{Sum(x, "T", []int{2}, false), "axis 2 of tensor X does not exist: it has 2 dimensions: want -2 to 1"},
		{Sum(x, "T", []int{-3}, false), "axis -3 of tensor X does not exist"},
		{Max(x, "T", []int{1, -1}, false), "axis -1 of tensor X is given twice"},
		{Sum(truths, "T", nil, false), "tensor B has type bool: want numbers"},
		{All(x, "T", nil, false), "tensor X has type float32: want bool"},
		{Mean(ints, "T", nil, false), "tensor I has type int32: want floats"},
		{Mean(x, "T", []int{5}, false), "axis 5 of tensor X does not exist"},
		{Sum(scalar, "T", []int{0}, false), "axis 0 of tensor S does not exist: it has 0 dimensions"},
		{ArgMax(none, "T", []int{1}, false), "axis 1 of tensor N has no elements: it has no position to return"},
		{ArgMin(none, "T", nil, false), "axis 1 of tensor N has no elements"},
		{ArgMax(x, "T", []int{0, 0}, false), "axis 0 of tensor X is given twice"},
		{ArgMax(truths, "T", nil, false), "tensor B has type bool: want numbers"},
		// softmax and norms
		{Softmax(ints, "T"), "tensor I has 2 dimensions and type int32: want one dimension or more, and a type of floats"},
		{Softmax(scalar, "T"), "tensor S has 0 dimensions"},
		{Softmax(x, "T", 2), "axis 2 of tensor X does not exist"},
		{LogSoftmax(x, "T", 0, 1), "2 axes of tensor X are given: want one"},
		{LayerNorm(x, nil, nil, "T", 0, 1), "the last 0 dimensions of tensor X, which has 2: want 1 or more, and no " +
			"more than it has"},
		{LayerNorm(x, nil, nil, "T", 3, 1), "the last 3 dimensions of tensor X"},
		{LayerNorm(x, p(f, "G", 5), nil, "T", 1, 1), "dimension 1 of tensor X is 4, and dimension 0 of tensor G is 5: " +
			"want equal sizes"},
		{LayerNorm(x, p(tir.Float16, "G", 4), nil, "T", 1, 1), "tensor X has type float32, and tensor G has type float16"},
		{LayerNorm(x, nil, p(f, "G", 3, 4), "T", 1, 1), "operand 0, tensor G, has 2 dimensions: want 1"},
		{LayerNorm(x, nil, nil, "T", 1, -1), "eps is -1: want a number of 0 or more"},
		{RMSNorm(ints, nil, "T", 1, 1), "tensor I has type int32: want floats"},
		// matmul
		{Matmul(x, y, "T"), "tensor X has 4 columns, and tensor Y has 3 rows: want equal numbers"},
		{Matmul(x, y, "T", TransposeY()), "axis 1 of tensor X is 4, and axis 1 of tensor Y is 5: want equal sizes " +
			"to sum over"},
		{Matmul(x, p(f, "D", 4), "T"), "tensor D has 1 dimensions: want 2 or more"},
		{Matmul(p(f, "C", 2, 3, 4), p(f, "D", 3, 4, 5), "T"), "dimension 0 of tensors C and D is 2 and 3: want equal " +
			"sizes, or 1"},
		{Matmul(x, ints, "T", TransposeY()), "tensor X has type float32, and tensor I has type int32: cast one of " +
			"them, or choose by AccumulateIn what to compute in"},
		{Matmul(x, x, "T", TransposeY(), AccumulateIn(tir.Int32)), "tensor X has type float32, and products accumulate " +
			"in type int32: want a type of floats"},
		{Matmul(x, x, "T", AccumulateIn(tir.Bool)), "accumulate in type bool: want numbers"},
		{Matmul(truths, truths, "T"), "tensor B has type bool: want numbers"},
		{Matmul(x, x, "T", nil), "an option is nil"},
		// convolutions
		{conv(Groups(0)), "0 groups: want 1 or more"},
		{conv(Groups(3)), "tensor IM has 4 channels, and the filters F have 4 in each of 3 groups"},
		{Conv2D(image, p(f, "F", 3, 2, 3, 3), "T", 1, 0, Groups(2)), "tensor F has 3 filters, which cannot be divided " +
			"into 2 groups"},
		{Conv2D(p(f, "I6", 1, 6, 8, 8), p(f, "F", 5, 2, 3, 3), "T", 1, 0, Groups(3)), "tensor F has 5 filters, which " +
			"cannot be divided into 3 groups"},
		{Conv2D(image, p(f, "F", 6, 3, 3, 3), "T", 1, 0), "tensor IM has 4 channels, and the filters F have 3"},
		{Conv2D(x, filters, "T", 1, 0), "operand 0, tensor X, has 2 dimensions: want 4"},
		{conv(Strides(1, 0)), "axis 3 of tensor IM: stride 0 and dilation 1: want 1 or more"},
		{conv(Dilations(-1, 1)), "axis 2 of tensor IM: stride 1 and dilation -1"},
		{conv(Dilations(1, 3)), "axis 3 of tensor IM has 5 elements with its padding, and a window spans 7: " +
			"want no more"},
		{conv(Pads(0, 0, 0, -1)), "axis 3 of tensor IM: padding 0 and -1: want 0 or more"},
		{conv(Layout("CHWN")), `layout "CHWN": want "NCHW" or "NHWC"`},
		{conv(Bias(x)), "the bias, tensor X, has shape [3, 4]: want one element for each of 6 filters"},
		{conv(Bias(p(tir.Int32, "BI", 6))), "the bias, tensor BI, has type int32, and the result has type float32: cast it"},
		{conv(Bias(p(f, "BI", 5))), "the bias, tensor BI, has shape [5]"},
		{conv(nil), "an option is nil"},
		{Conv2D(image, p(tir.Int8, "F", 6, 4, 3, 3), "T", 1, 0), "tensor IM has type float32, and tensor F has type int8"},
		{Conv2D(image, p(f, "F", 6, 4, 0, 3), "T", 1, 0), "axis 2 of tensor IM: a window of 0 elements: want 1 or more"},
		// pooling
		{pool(Window{}), "axis 2 of tensor IM: a window of 0 elements: want 1 or more"},
		{pool(Window{Kernel: [2]int{7, 2}}), "axis 2 of tensor IM has 6 elements with its padding, and a window " +
			"spans 7"},
		{pool(Window{Kernel: k2, Pads: [4]int{0, 2, 0, 0}}), "axis 3 of tensor IM: padding 2 and 0 of a window that " +
			"spans 2 elements: want less"},
		{pool(Window{Kernel: k2, Strides: [2]int{-1, 1}}), "axis 2 of tensor IM: stride -1 and dilation 1"},
		{pool(Window{Kernel: k2, Layout: "HW"}), `layout "HW"`},
		{MaxPool2D(x, "T", Window{Kernel: k2}), "operand 0, tensor X, has 2 dimensions: want 4"},
		{AvgPool2D(p(tir.Int8, "P", 1, 1, 4, 4), "T", Window{Kernel: k2}), "tensor P has type int8: want floats"},
		{GlobalAvgPool2D(x, "T", ""), "operand 0, tensor X, has 2 dimensions: want 4"},
		{GlobalMaxPool2D(image, "T", "X"), `layout "X"`},
		// moves
		{Transpose(x, "T", 0, 2), "axis 2 of tensor X does not exist"},
		{Transpose(x, "T", 0, -2), "axis -2 of tensor X is given twice"},
		{Transpose(x, "T", 0), "operand 0, tensor X, has 2 dimensions: want 1"},
		{Reshape(x, "T", te.Dims(5, 2)...), "tensor X has int64(12) elements, and the new shape int64(10): want " +
			"equal numbers"},
		{Reshape(x, "T", te.Dims(-1, 5)...), "tensor X has int64(12) elements, and the new shape int64(10)"},
		{Reshape(x, "T", te.Dims(-1, -1)...), "new sizes 0 and 1 of tensor X are both -1: want at most one"},
		{Reshape(x, "T", te.Dims(-2)...), "new size 0 of tensor X is -2: want 0 or more, or -1"},
		{Reshape(x, "T", nil), "new size 0 of tensor X is nil"},
		{Reshape(none, "T", te.Dims(0, -1)...), "new size 1 of tensor N is -1, and others are 0: set the size"},
		{Reshape(any1, "T", te.Dims(4)...), "tensor V has n * 2 elements, and the new shape int64(4): want equal numbers"},
		{Flatten(x, "T", 3), "axis 3 of tensor X does not exist"},
		{Concat("T", 0), "there are no tensors to join"},
		{Concat("T", 0, x, y), "dimension 1 of tensors X and Y is 4 and 5: want equal sizes"},
		{Concat("T", 2, x, x), "axis 2 of tensor X does not exist"},
		{Concat("T", 0, x, ints), "tensor X has type float32, and tensor I has type int32"},
		{Concat("T", 0, x, scalar), "operand 1, tensor S, has 0 dimensions: want 2"},
		{Concat("T", 0, x, nil), "operand 1: te: the tensor is nil"},
		{Concat("T", 0, p(f, "L", math.MaxInt32, 1), p(f, "L", math.MaxInt32, 1)), "axis 0 of tensors L to L does " +
			"not fit into the index type"},
		{Stack("T", 0, x, y), "dimension 1 of tensors X and Y is 4 and 5"},
		{Stack("T", 3, x, x), "axis 3 of tensor X does not exist: it has 3 dimensions"},
		{Split(x, "T", 1, 1, 2)[1], "axis 1 of tensor X has 4 elements, and the sizes of the 2 parts add up to 3: " +
			"want equal numbers"},
		{Split(x, "T", 1, 5, -1)[0], "a part of axis 1 of tensor X has size -1: want 0 or more"},
		{Split(x, "T", 2, 1)[0], "axis 2 of tensor X does not exist"},
		{Split(any1, "T", 0, 1)[0], "axis 0 of tensor V has n elements"},
		{Split(x, "T", 0)[0], "axis 0 of tensor X has 3 elements, and the sizes of the 0 parts"},
		{Slice(x, "T", Range{Axis: 4}), "axis 4 of tensor X does not exist"},
		{Slice(x, "T", Range{Axis: 1, End: 1}, Range{Axis: -1, End: 1}), "axis -1 of tensor X is given twice"},
		{OpenSlice(any1, "T", OpenRange{Axis: 1}, OpenRange{Axis: -1}), "axis -1 of tensor V is given twice"},
		{OpenSlice(any1, "T", OpenRange{Begin: tir.F32(1)}), "an end of the range of axis 0 of tensor V has type " +
			"float32: want int32 or int64"},
		{OpenSlice(x, "T", OpenRange{Step: math.MinInt}), "axis 0 of tensor X: the step -9223372036854775808 does"},
		{OpenSlice(x, "T", OpenRange{End: ints.At(n, n)}), "the size reads a tensor: want constants and variables"},
		{Slice(x, "T", Range{0, 0, 1, math.MaxInt}), "axis 0 of tensor X: the step 9223372036854775807 does not fit " +
			"into the index type"},
		{Pad(x, "T", []int{1}, []int{1}), "operand 0, tensor X, has 2 dimensions: want 1"},
		{Pad(none, "T", []int{0, 1}, []int{0, 0}, PadWrap()), "dimension 1 of tensor N has size 0, and padding by " +
			"wrap of 1 and 0: want a size of 1 or more"},
		{BroadcastTo(x, "T", te.Dims(2)...), "dimension 1 of tensors X and shape is 4 and 2: want equal sizes, or 1"},
		{BroadcastTo(x, "T", te.Dims(-2)...), "the new shape of tensor X: te: placeholder shape: dimension 0: the size is"},
		{ExpandDims(x, "T", 3), "new axis 3 of tensor X: the result has 3 dimensions: want -3 to 2"},
		{ExpandDims(x, "T", 0, -4), "new axis -4 of tensor X is given twice"},
		{Squeeze(x, "T", 1), "axis 1 of tensor X has size 4: want 1"},
		{Squeeze(square, "T", 0), "axis 0 of tensor SQ has size n: want 1"},
		{Tile(x, "T", tir.I32(2)), "operand 0, tensor X, has 2 dimensions: want 1"},
		{Tile(x, "T", te.Dims(1, -1)...), "axis 1 of tensor X is repeated -1 times: want 0 or more"},
		{Tile(x, "T", nil, nil), "the number of repeats of axis 0 of tensor X is nil"},
		{Repeat(x, "T", 2, n), "axis 2 of tensor X does not exist"},
		{Repeat(x, "T", 1, tir.F32(2)), "the number of repeats of axis 1 of tensor X has type float32: want an integer"},
		{Reverse(x, "T", 0, 0), "axis 0 of tensor X is given twice"},
		{ReverseSequence(x, ints, "T", 0, 1), "operand 0, tensor I, has 2 dimensions: want 1"},
		{ReverseSequence(x, p(f, "L", 3), "T", 0, 1), "tensor L has type float32: want integers"},
		{ReverseSequence(x, p(tir.Int32, "L", 4), "T", 0, 1), "axis 0 of tensor X has 3 elements, and there are 4 " +
			"lengths in tensor L: want equal numbers"},
		{ReverseSequence(x, p(tir.Int32, "L", 3), "T", 1, -1), "axis 1 of tensor X is both the batch and the time"},
		{Trilu(p(f, "V1", 3), "T", n, true), "tensor V1 has 1 dimensions: want 2 or more"},
		{Eye(n, m, 0, tir.Handle, "T"), "the tensor has type handle: want numbers or bool"},
		{OneHotAlong(ints, p(f, "V2", 3), "T", n, 0), "tensor V2 has 3 elements: want 2, the values elsewhere and at"},
		{OneHotAlong(ints, p(f, "V2", 2), "T", n, 3), "axis 3 of tensor I does not exist: it has 3 dimensions"},
		{OneHotAlong(ints, p(f, "V2", 2), "T", nil, 0), "the depth for the indices of tensor I is nil"},
		{Pad(x, "T", []int{1, 4}, []int{0, 0}, PadReflect()), "dimension 1 of tensor X has size 4, and padding by " +
			"reflect of 4 and 0: want a size of 5 or more"},
		{Pad(none, "T", []int{0, 1}, []int{0, 0}, PadEdge()), "dimension 1 of tensor N has size 0, and padding by " +
			"edge of 1 and 0: want a size of 1 or more"},
		{Pad(none, "T", []int{0, 0}, []int{0, 1}, PadEdge()), "dimension 1 of tensor N has size 0, and padding by " +
			"edge of 0 and 1: want a size of 1 or more"},
		{Pad(ints, "T", []int{0, 1}, []int{0, 0}, PadValue(0.5)), "value 0.5: tir: constant 0.5 is not of type int32"},
		{Pad(x, "T", []int{math.MaxInt32, 0}, []int{0, 0}), "dimension 0 of tensor X has size 3, and with padding of " +
			"2147483647 " +
			"and 0 it does not fit into the index type"},
		{Pad(x, "T", []int{0, 0}, []int{0, 0}, nil), "an option is nil"},
		// indices
		{Take(x, x, "T", 0, Clamp), "tensor X has type float32: want integers: cast it to int32 or int64"},
		{Take(x, p(tir.UInt64, "U", 2), "T", 0, Clamp), "tensor U has type uint64: want integers: cast it to " +
			"int32 or int64"},
		{Take(x, ints, "T", 2, Clamp), "axis 2 of tensor X does not exist"},
		{Take(x, ints, "T", 0, 7), "bounds 7: want Clamp, Wrap, Zero or FromEnd"},
		{Take(none, ints, "T", 1, Wrap), "axis 1 of tensor N has no elements to select from"},
		{Take(odd, ints, "T", 0, Clamp), "tensor O has type float8_e4m3fn: want numbers or bool"},
		{Gather(x, p(tir.Int32, "J", 2), "T", 0, Clamp), "tensor X has 2 dimensions, and the index tensor J has 1: " +
			"want equal numbers"},
		{Gather(x, p(tir.Int32, "J", 3, 5), "T", 0, Clamp), "dimension 1 of tensors X and J is 4 and 5: want equal " +
			"sizes, or fewer indices"},
		{GatherND(x, p(tir.Int32, "J", 2, 3), "T", 0, Clamp), "the last dimension of tensor J has size 3: want a constant, " +
			"at most 2 for tensor X"},
		{GatherND(x, p(tir.Int32, "J"), "T", 0, Clamp), "0 batch dimensions of tensors X and J, which have 2 and 0"},
		{GatherND(x, p(tir.Int32, "J", 2, 1), "T", 1, Clamp), "dimension 0 of tensors X and J is 3 and 2: want equal sizes"},
		{GatherND(none, p(tir.Int32, "J", 2, 2), "T", 0, Clamp), "axis 1 of tensor N has no elements to select from"},
		{ScatterElements(x, x, x, "T", 0, Assign), "tensor X has type float32: want integers"},
		{ScatterElements(x, ints, y, "T", 0, Assign), "dimension 1 of tensors I and Y is 4 and 5: want equal sizes"},
		{ScatterElements(x, p(tir.Int32, "J", 4, 4), p(f, "U", 4, 4), "T", 1, Assign), "dimension 0 of tensors X and J " +
			"is 3 and 4: want no more than in the first one"},
		{ScatterElements(truths, ints, truths, "T", 0, AddTo), "tensor B has type bool: want numbers"},
		{ScatterElements(x, ints, x, "T", 0, 9), "reduction 9: want Assign, AddTo, MultiplyBy, Least or Greatest"},
		{ScatterND(x, p(tir.Int32, "J", 2, 1), x, "T", Assign), "tensor X has shape [3, 4]: want [2, 4], that of the " +
			"indices and the parts"},
		{ScatterND(x, te.Placeholder([]tir.Expr{n}, tir.Int32, "J"), x, "T", Assign), "the last dimension of tensor J has " +
			"size n: want a constant"},
		{UpdateCache(x, x, nil, "T", 0, false), "axis 0 of tensor X is that of the batch: want a later one"},
		{UpdateCache(x, p(f, "U", 2, 2), nil, "T", 1, false), "dimension 0 of tensors X and U is 3 and 2: want equal sizes"},
		{UpdateCache(x, x, p(tir.Int32, "U", 2), "T", 1, false), "tensor U has 2 elements: want one for each of 3 in the"},
		{OneHot(x, 3, 1, 0, f, "T"), "tensor X has type float32: want integers"},
		{OneHot(ints, -1, 1, 0, f, "T"), "the depth for the indices of tensor I is -1: want 0 or more"},
		{OneHot(ints, 2, 0.5, 0, tir.Int8, "T"), "value 0.5: tir: constant 0.5 is not of type int8"},
		{RotaryEmbedding(image, image, image, nil, "T", 0, false), "5 elements"},
		{RotaryEmbedding(image, p(f, "C", 1, 6, 1), p(f, "C", 1, 6, 2), nil, "T", 4, false), "tensor C has shape [1, 6, " +
			"1]: want [1, 6, 2]"},
		{RotaryEmbedding(image, p(f, "C", 9, 2), p(f, "C", 9, 2), p(tir.Int32, "PS", 6, 1), "T", 4, true), "tensor PS has " +
			"shape [6, 1]: want [1, 6]"},
		// quantised tensors
		{QuantizeLinear(ints, scalar, nil, "T", 0, 0, tir.Int32),
			"tensor I is to be quantised to type int32: want integers " +
				"of 2 to 16 bits"},
		{QuantizeOpen(x, scalar, "T", 0, 0, tir.Int8), "quantised to type int8 without saturation: want floats"},
		{QuantizeLinear(x, y, nil, "T", 0, 0, tir.Int8), "the scale, tensor Y, has shape [3, 5]: want one element, or 3 " +
			"for axis 0 of tensor X"},
		{QuantizeLinear(x, y, nil, "T", 1, 2, tir.Int8), "the scale, tensor Y, has shape [3, 5], for blocks of 2 elements " +
			"along axis 1 of tensor X: want [3, 2]"},
		{QuantizeLinear(x, scalar, ints, "T", 1, 2, tir.Int8), "the zero point, tensor I, has type int32: want int8"},
		{DequantizeLinear(x, scalar, nil, "T", 1, 0), "tensor X has type float32: want integers"},
		{DequantizeLinear(ints, scalar, ints, "T", 1, 0), "the zero point, tensor I, has shape [3, 4], and the scale, " +
			"tensor S, has []: want equal shapes"},
		{DynamicQuantizeLinear(ints, "T")[2], "tensor I has type int32: want floats"},
		{MatMulInteger(ints, ints, nil, nil, "T"), "tensor I has type int32: want int8 or uint8"},
		{MatMulInteger(p(tir.Int8, "A", 2, 3), p(tir.UInt8, "A", 3, 4), p(tir.Int8, "Z", 3), nil, "T"), "tensor Z has " +
			"shape [3]: want one element, or one for each of 2 in dimension 0 of tensor A"},
		{QLinearMatMul(Quantised{p(tir.Int8, "A", 2, 3), scalar, nil}, Quantised{p(tir.Int8, "A", 3, 4), scalar, nil}, x, nil,
			"T", tir.Int8), "tensor X has shape [3, 4]: want one element"},
		// recurrent layers
		{RNN(Recurrent{X: x, W: x, R: x}, "T")[1], "operand 0, tensor X, has 2 dimensions: want 3"},
		{GRU(Recurrent{X: p(f, "A", 2, 1, 3), W: p(f, "WW", 1, 8, 3), R: p(f, "RR", 1, 12, 4)}, "T")[0], "W, tensor WW, " +
			"has shape [1, 8, 3]: want [1, 12, 3]"},
		{LSTM(Recurrent{X: p(f, "A", 2, 1, 3), W: p(f, "WW", 1, 16, 3), R: p(f, "RR", 1, 16, 4), Clip: -1}, "T")[2], "the " +
			"limit of the arguments of activations is -1: want 0"},
		{RNN(Recurrent{X: p(f, "A", 2, 1, 3), W: p(f, "WW", 1, 4, 3), R: p(f, "RR", 1, 4, 4), Activations: []Activation{nil}},
			"T")[0], "1 activations: want 1, none of them nil"},
		{RNN(Recurrent{X: p(f, "A", 2, 1, 3), W: p(f, "WW", 1, 4, 3), R: p(f, "RR", 1, 4, 4), C: x}, "T")[0], "a cell " +
			"state, or weights for it, are given: want them for LSTM only"},
		{RNN(Recurrent{X: p(f, "A", 2, 1, 3), W: x, R: nil}, "T")[0], "operand 1, tensor X, has 2 dimensions: want 3"},
		// sums and matrices
		{SumSquare(truths, "T", nil, false), "tensor B has type bool: want numbers"},
		{L2(ints, "T", nil, false), "tensor I has type int32: want floats"},
		{LogSumExp(x, "T", []int{2}, false), "axis 2 of tensor X does not exist"},
		{StdDev(x, "T", nil, false, math.NaN()), "the correction is NaN: want a number"},
		{Hardmax(x, "T", 2), "axis 2 of tensor X does not exist"},
		{Det(x, "T"), "tensor X has shape [3, 4]: want square matrices in the last two dimensions"},
		{Det(scalar, "T"), "tensor S has shape []: want square matrices"},
		{Einsum("T", "ij"), `equation "ij": there are no tensors: want one or more`},
		{Einsum("T", "ij,jk", x), `equation "ij,jk": it has 2 terms for 1 tensors: want equal numbers`},
		{Einsum("T", "i", x), `equation "i": term "i" for tensor X, which has 2 dimensions: it has 1 letters: want one for`},
		{Einsum("T", "i?", x), `found '?': want letters`},
		{Einsum("T", "ij,ij", x, y), `dimension 1 of tensor Y is 5, and that of another "j" is 4: want equal sizes, or 1`},
		{Einsum("T", "ij->k", x), `result "k": no tensor has a dimension k`},
		{Einsum("T", "ij->ii", x), `result "ii": i occurs twice`},
		{Einsum("T", "ij,ij", x, ints), "tensor X has type float32, and tensor I has type int32"},
		// scans, orders and selections
		{CumSum(x, "T", 2), "axis 2 of tensor X does not exist"},
		{CumProd(truths, "T", 0), "tensor B has type bool: want numbers"},
		{CumSum(x, "T", 0, nil), "an option is nil"},
		{Sort(truths, "T", 0, false), "tensor B has type bool: want numbers"},
		{ArgSort(x, "T", 0, false, f), "the indices have type float32: want integers"},
		{Sort(scalar, "T", 0, false), "axis 0 of tensor S does not exist: it has 0 dimensions"},
		{TopK(x, "T", tir.I32(5), 1, true, tir.Int64)[1], "5 elements are selected from axis 1 of tensor X, which has 4: " +
			"want no more"},
		{TopK(x, "T", nil, 1, true, tir.Int64)[0], "the number of elements to select from tensor X is nil"},
		{TopK(x, "T", n, 1, true, f)[0], "the indices have type float32: want integers"},
		{ArgMaxLast(none, "T", []int{1}, false), "axis 1 of tensor N has no elements: it has no position to return"},
		{ArgMinLast(truths, "T", nil, false), "tensor B has type bool: want numbers"},
		{Nonzero(odd, "T")[1], "tensor O has type float8_e4m3fn: want numbers or bool"},
		{Compress(x, p(tir.Bool, "C", 5), "T", 1)[0], "tensor C has 5 elements, and axis 1 of tensor X has 4: want no more"},
		{Compress(x, p(tir.Int8, "C", 4), "T", 1)[1], "tensor C has type int8: want bool"},
		{Unique(scalar, "T", true)[4], "tensor S has no dimensions: want one or more"},
		{Unique(truths, "T", true)[0], "tensor B has type bool: want numbers"},
		{NonMaxSuppression(p(f, "BX", 1, 6, 4), p(f, "SC", 1, 2, 5), SuppressionLimits{}, "T", false)[0], "tensors BX and " +
			"SC have shapes [1, 6, 4] and [1, 2, 5]: want [images, n, 4] and [images, classes, n]"},
		{NonMaxSuppression(p(f, "BX", 1, 6, 4), p(f, "SC", 1, 2, 6), SuppressionLimits{Score: x}, "T", false)[1], "tensor " +
			"X has int64(12) elements: want 1"},
		{NonMaxSuppression(x, x, SuppressionLimits{}, "T", false)[1], "operand 0, tensor X, has 2 dimensions: want 3"},
		// variable sizes, and repeated axes
		{Add(square, Transpose(square, "SQ.t", 1, 0), "T"), "dimension 1 of tensors SQ and SQ.t is m and n: want"},
		{Matmul(square, square, "T"), "tensor SQ has m columns, and tensor SQ has n rows"},
		{Matmul(x, image, "T"), "tensor X has 4 columns, and tensor IM has 6 rows: want"},
		{Transpose(x, "T", 0, 1, 2), "operand 0, tensor X, has 2 dimensions: want 3"},
		{Transpose(x, "T", 1, 1), "axis 1 of tensor X is given twice"},
		{Pad(x, "T", []int{0, 1}, []int{0}), "2 paddings before and 1 after"},
		{Conv2D(image, filters, "T", 0, 0), "axis 2 of tensor IM: stride 0 and dilation 1: want 1"},
		{Relu(nil, "T"), "operand 0: te: the tensor is nil"},
		// types and new tensors
		{Cast(x, tir.Handle, "T"), "tensor X is to be cast to type handle: want numbers or bool"},
		{CastTo(x, odd.ProducerDType(), Rounding{Powers: "even"}, "T"), `numbers are to be rounded "even" to a power of ` +
			"two: want up, down, nearest"},
		{Cast(x, tir.Vector(f, 4), "T"), "tensor X is to be cast to type float32x4"},
		{Full(te.Dims(2), 300, tir.Int8, "T"), "value 300: tir: constant 300 is not within int8"},
		{Full(te.Dims(2), 1, tir.Handle, "T"), "the tensor has type handle: want numbers or bool"},
		{Full(te.Dims(-2), 1, f, "T"), "dimension 0: the size is -2: want 0 or more"},
		{Arange(0, 1, 0, f, "T"), "a range from 0 to 1 in steps of 0: want finite numbers, and a step other than 0"},
		{Arange(0, math.Inf(1), 1, f, "T"), "want finite numbers, and a step other than 0"},
		{Arange(0, 1e10, 1, f, "T"), "a range from 0 to 1e+10 in steps of 1 has more than 2147483647 elements"},
		{Arange(0, 300, 1, tir.UInt8, "T"), "value 299: tir: constant 299 is not within uint8"},
		{Arange(0, 2, 0.5, tir.Int8, "T"), "is not of type int8"},
		{Arange(0, 1, 1, tir.Bool, "T"), "the tensor has type bool: want numbers"},
	} {
		require.ErrorContains(t, c.made.Err(), "te: compute T: ", c.want)
		require.ErrorContains(t, c.made.Err(), c.want)
		// a tensor that reads it has the same error
		require.ErrorContains(t, Relu(c.made, "R").Err(), c.want)
		_, err := Schedule(newTarget(t, "c"), c.made)
		require.ErrorContains(t, err, c.want)
		require.False(t, strings.Contains(err.Error(), "%!"), err)
	}
}
