package passes

import (
	"context"

	"tvmgo/dlpack"
	"tvmgo/graph"
	"tvmgo/target"
	"tvmgo/tir"
)

// affine are the rules that put what follows a convolution or a matrix product with constant weights into the weights.
// They add arithmetic on constants, which is computed when the model is compiled.
var affine = []rewrite{normalized, scaled, biased, padded}

// weights runs the rules affine, unless no code can compute the new weights.
func weights(ctx context.Context, f *graph.Function, t *target.Target, o Options) error {
	if o.Evaluate == nil {
		return nil
	}
	return rules(affine...)(ctx, f, t, o)
}

// channels describes where an operator with weights has the channels of its result.
type channels struct {
	node    *graph.Node
	size    int64
	axis    int // of the result
	weights int // the axis of the weights
}

// linear returns the operator with constant weights that only computes a value.
func (e *edit) linear(v *graph.Value) *channels {
	n := e.from(v, "conv", "conv_transpose", "matmul", "gemm")
	if n == nil || !e.once(v) || !isFloat(v) || !e.constant(n.Inputs[1]) ||
		operand(n, 2) != nil && !e.constant(n.Inputs[2]) {
		return nil
	}
	c := &channels{node: n, axis: 1}
	rank := len(n.Inputs[1].Shape)
	switch n.Op.Name {
	case "conv":
	case "conv_transpose":
		if c.weights = 1; n.Attr("group") != int64(1) {
			return nil
		}
	case "matmul":
		if c.weights, c.axis = rank-1, len(v.Shape)-1; rank != 2 || len(v.Shape) < 1 {
			return nil
		}
	case "gemm":
		if c.weights = 1; n.Attr("transB") != int64(0) {
			c.weights = 0
		}
		if n.Attr("alpha") != 1.0 || n.Attr("beta") != 1.0 {
			return nil
		}
	}
	shape, ok := n.Inputs[1].StaticShape()
	if !ok {
		return nil
	}
	if size, err := dlpack.DataSize(shape, v.DType); err != nil || size > foldedLimit {
		return nil
	}
	c.size = shape[c.weights]
	return c
}

// perChannel returns a constant with one element for each channel as a value of one dimension; nil if v is none. It
// broadcasts v to rank dimensions, of which axis has the channels.
func (e *edit) perChannel(v *graph.Value, c *channels, rank int) *graph.Value {
	if !e.constant(v) || len(v.Shape) > rank {
		return nil
	}
	for d := range v.Shape {
		n, ok := tir.IntValue(v.Shape[d])
		if at := rank - len(v.Shape) + d; !ok || n != 1 && (at != c.axis || n != c.size) {
			return nil
		}
	}
	if isSingle(v) {
		return e.add("expand", nil, e.reshaped(v, 1), e.f.Ints("shape", c.size))
	}
	return e.reshaped(v, c.size)
}

// along gives a value with one element per channel the dimensions to multiply weights.
func (e *edit) along(v *graph.Value, c *channels, axis, rank int) *graph.Value {
	shape := make([]int64, rank)
	for d := range shape {
		shape[d] = 1
	}
	shape[axis] = c.size
	return e.reshaped(v, shape...)
}

// changed adds the operator with weights that are multiplied by scale, and a bias to which shift is added: one element
// for each channel, or nil. The result of a product without a bias gets an addition.
func (e *edit) changed(c *channels, scale, shift *graph.Value) *graph.Value {
	n := c.node
	w, bias := n.Inputs[1], operand(n, 2)
	if scale != nil {
		w = e.add("mul", nil, w, e.along(scale, c, c.weights, len(w.Shape)))
		if bias != nil {
			bias = e.add("mul", nil, bias, scale) // that of gemm is broadcast to rows of channels
		}
	}
	outer := shift
	if named(n, "conv", "conv_transpose", "gemm") && shift != nil {
		if outer = nil; bias == nil {
			bias = shift
		} else {
			bias = e.add("add", nil, bias, shift)
		}
	}
	if w == nil || operand(n, 2) != nil && bias == nil {
		return nil
	}
	in := []*graph.Value{n.Inputs[0], w}
	if bias != nil {
		in = append(in, bias)
	}
	out := e.add(n.Op.Name, n.Attrs, in...)
	if outer != nil && out != nil {
		out = e.add("add", nil, out, outer)
	}
	return out
}

// normalized puts the batch normalization of a result into the weights. That of another value becomes a product and a
// sum with constants.
func normalized(e *edit) *graph.Value {
	if !e.is("batch_normalization") || !isFloat(e.in(0)) || e.in(0).DType != e.in(1).DType || len(e.in(0).Shape) < 2 {
		return nil
	}
	for k := 1; k < 5; k++ {
		if !e.constant(e.in(k)) || e.in(k).DType != e.in(1).DType {
			return nil
		}
	}
	c := e.linear(e.in(0))
	if c != nil && c.axis != 1 {
		c = nil
	}
	scale, bias, mean, variance := e.in(1), e.in(2), e.in(3), e.in(4)
	epsilon := e.number(variance.DType, e.n.Attr("epsilon").(float64))
	factor := e.add("div", nil, scale, e.add("sqrt", nil, e.add("add", nil, variance, epsilon)))
	shift := e.add("sub", nil, bias, e.add("mul", nil, mean, factor))
	if c != nil {
		return e.changed(c, factor, shift)
	}
	if e.in(0).DType.Bits < 32 { // the operator computes in float32
		return nil
	}
	size, ok := tir.IntValue(scale.Shape[0])
	if !ok {
		return nil
	}
	shape := make([]int64, len(e.in(0).Shape)-1)
	for d := range shape {
		shape[d] = 1
	}
	shape[0] = size
	return e.add("add", nil, e.add("mul", nil, e.in(0), e.reshaped(factor, shape...)), e.reshaped(shift, shape...))
}

// scaled puts the multiplication of channels by constants into the weights.
func scaled(e *edit) *graph.Value {
	if !e.is("mul", "div") {
		return nil
	}
	for k := range 2 {
		if k == 1 && e.is("div") {
			break
		}
		c := e.linear(e.in(k))
		if c == nil {
			continue
		}
		factor := e.perChannel(e.in(1-k), c, len(e.in(k).Shape))
		if factor == nil {
			continue
		}
		if e.is("div") {
			factor = e.add("reciprocal", nil, factor)
		}
		return e.changed(c, factor, nil)
	}
	return nil
}

// biased puts the addition of constants to channels into the bias. Those of a matrix product stay: they are computed
// with it.
func biased(e *edit) *graph.Value {
	if !e.is("add", "sub") {
		return nil
	}
	for k := range 2 {
		if k == 1 && e.is("sub") {
			break
		}
		c := e.linear(e.in(k))
		if c == nil || !named(c.node, "conv", "conv_transpose") {
			continue
		}
		shift := e.perChannel(e.in(1-k), c, len(e.in(k).Shape))
		if shift == nil {
			continue
		}
		if e.is("sub") {
			shift = e.add("neg", nil, shift)
		}
		return e.changed(c, nil, shift)
	}
	return nil
}

// padded puts zeros around the operand of a convolution or an average into its own pads.
func padded(e *edit) *graph.Value {
	if !e.is("conv", "average_pool") {
		return nil
	}
	pad := e.from(e.in(0), "pad")
	if auto := e.n.Attr("auto_pad"); pad == nil || auto != "NOTSET" && auto != "" && auto != "VALID" ||
		pad.Attr("mode") != "constant" || operand(pad, 3) != nil {
		return nil
	}
	x := pad.Inputs[0]
	before, ok := ints(pad.Inputs[1])
	rank := len(x.Shape)
	if !ok || rank < 3 || len(before) != 2*rank || !allOf(before[:2], 0) || !allOf(before[rank:rank+2], 0) {
		return nil
	}
	more := append(append([]int64{}, before[2:rank]...), before[rank+2:]...)
	for _, p := range more {
		if p < 0 {
			return nil
		}
	}
	own, _ := e.n.Attr("pads").([]int64)
	if own == nil || e.n.Attr("auto_pad") == "VALID" {
		own = make([]int64, len(more))
	}
	changed := graph.Attrs{"auto_pad": "NOTSET"}
	if !e.fill(pad, own, more, changed) {
		return nil
	}
	for d := range more {
		more[d] += own[d]
	}
	changed["pads"] = more
	return e.add(e.n.Op.Name, with(e.n, changed), append([]*graph.Value{x}, e.n.Inputs[1:]...)...)
}

// fill reports whether pads of the operator have the effect of the values that a pad fills in. It may change
// attributes.
func (e *edit) fill(pad *graph.Node, own, more []int64, changed graph.Attrs) bool {
	value := 0.0
	if v := operand(pad, 2); v != nil {
		var ok bool
		if value, ok = number(v); !ok {
			return false
		}
	}
	switch e.n.Op.Name {
	case "conv":
		return value == 0
	case "average_pool":
		if value != 0 || e.n.Attr("ceil_mode") != int64(0) {
			return false
		}
		changed["count_include_pad"] = int64(1)
		return e.n.Attr("count_include_pad") == int64(1) || allOf(own, 0)
	}
	return false
}
