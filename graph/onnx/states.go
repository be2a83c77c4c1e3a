package onnx

import (
	"encoding/binary"
	"math"

	"tvmgo/graph"
	"tvmgo/tir"
)

// Operators with a state that one call passes to the next.
func init() {
	add("CausalConvWithState", causalConv)
	add("LinearAttention", linearAttention)
	add("MaxUnpool", maxUnpool)
}

// causalConv is a convolution over time in which each position sees the ones before it, also those of an earlier call.
func causalConv(c *conv) error {
	x, w := c.in[0], c.in[1]
	channels, ok1 := tir.IntValue(x.Shape[1])
	k, ok2 := tir.IntValue(w.Shape[len(w.Shape)-1])
	if len(x.Shape) != 3 || len(w.Shape) != 3 || !ok1 || !ok2 {
		return c.fail("the data and the filters need 3 dimensions, and constant numbers of channels and elements")
	}
	s := c.steps(c.scope.fn)
	padded := x
	if past := c.operand(3); past != nil {
		padded = s.add("concat", graph.Attrs{"axis": int64(2)}, past, x)
	} else {
		padded = s.add("pad", nil, x, s.fn.Ints("pads", 0, 0, k-1, 0, 0, 0))
	}
	out := s.add("conv", graph.Attrs{"group": channels}, padded, w, c.operand(2))
	switch name := c.text("activation", "none"); name {
	case "none":
	case "silu", "swish":
		out = s.add("swish", nil, out)
	default:
		return c.fail("activation is %q: want none, silu or swish", name)
	}
	state := s.add("slice", nil, padded, s.fn.Ints("starts", 1-k), s.fn.Ints("ends", math.MaxInt64), s.fn.Ints("axes", 2))
	if k == 1 && s.err == nil {
		state = s.add("slice", nil, padded, s.fn.Ints("starts", 0), s.fn.Ints("ends", 0), s.fn.Ints("axes", 2))
	}
	if s.err != nil {
		return s.err
	}
	c.bind([]*graph.Value{out, state})
	return nil
}

// linearAttention updates a matrix of keys and values for each position, and reads it with the query.
func linearAttention(c *conv) error {
	heads, groups := c.integer("kv_num_heads", 0), int64(0)
	if n := c.integer("q_num_heads", 0); heads > 0 && n > 0 && n%heads == 0 {
		groups = n / heads
	} else {
		return c.fail("q_num_heads is %d and kv_num_heads %d: want a multiple of it", n, heads)
	}
	s := c.steps(c.scope.fn)
	split := func(v *graph.Value, more ...int64) *graph.Value { // [position, batch, heads…, feature] in float32
		v = s.reshape(v, append([]int64{0, 0, heads}, more...)...)
		perm := []int64{1, 0, 2, 3, 4}
		return s.add("cast", graph.Attrs{"to": tir.Float32}, s.transpose(v, perm[:3+len(more)]...))
	}
	q, k, v := split(c.in[0], groups, -1), split(c.in[1], -1), split(c.in[2], -1)
	decay, beta := c.operand(4), c.operand(5)
	if decay != nil {
		decay = split(decay, -1)
	}
	if beta != nil {
		beta = s.add("cast", graph.Attrs{"to": tir.Float32}, s.transpose(s.unsqueeze(beta, -1), 1, 0, 2, 3))
	}
	if s.err != nil {
		return s.err
	}
	state, err := c.firstState(k, v, heads)
	if err != nil {
		return err
	}
	scale := float64(c.real("scale", 0))
	if features, ok := tir.IntValue(q.Shape[4]); scale == 0 && ok {
		scale = 1 / math.Sqrt(float64(features))
	}
	factor, err := c.number(tir.Float32, scale)
	if err != nil {
		return c.fail("%w", err)
	}
	trips := s.reshape(s.add("shape", graph.Attrs{"start": int64(0), "end": int64(1)}, q))
	if s.err != nil {
		return s.err
	}
	outs, err := s.fn.AddLoop(&graph.Node{Source: c.source}, trips, nil, []*graph.Value{state},
		func(body *graph.Function, i, _ *graph.Value, now []*graph.Value) (more *graph.Value, next, rows []*graph.Value,
			err error) {
			b := c.steps(body)
			at := func(v *graph.Value) *graph.Value { return b.add("gather", nil, v, i) }
			state, value := now[0], b.unsqueeze(at(v), -2) // [batch, head, 1, feature]
			if decay != nil {
				state = b.add("mul", nil, state, b.add("exp", nil, b.unsqueeze(at(decay), -1)))
			}
			key := at(k)
			if beta != nil {
				known := b.add("matmul", nil, b.unsqueeze(key, -2), state)
				value = b.add("mul", nil, b.unsqueeze(at(beta), -2), b.add("sub", nil, value, known))
			}
			state = b.add("add", nil, state, b.add("matmul", nil, b.unsqueeze(key, -1), value))
			row := b.add("mul", nil, b.add("matmul", nil, at(q), state), factor)
			return nil, []*graph.Value{state}, []*graph.Value{row}, b.err
		})
	if err != nil {
		return err
	}
	t, stateType := c.in[0].DType, c.in[0].DType
	if c.operand(3) != nil {
		stateType = c.in[3].DType
	}
	out := s.reshape(s.transpose(outs[1], 1, 0, 2, 3, 4), 0, 0, -1)
	out = s.add("cast", graph.Attrs{"to": t}, out)
	last := s.add("cast", graph.Attrs{"to": stateType}, outs[0])
	if s.err != nil {
		return s.err
	}
	c.bind([]*graph.Value{out, last})
	return nil
}

// firstState returns the state before the first position: [batch, head, feature of keys, feature of values].
func (c *conv) firstState(k, v *graph.Value, heads int64) (*graph.Value, error) {
	s := c.steps(c.scope.fn)
	if past := c.operand(3); past != nil {
		state := s.add("cast", graph.Attrs{"to": tir.Float32}, past)
		return state, s.err
	}
	zero, err := c.number(tir.Float32, 0)
	if err != nil {
		return nil, c.fail("%w", err)
	}
	size := func(v *graph.Value, d int64) *graph.Value {
		return s.add("shape", graph.Attrs{"start": d, "end": d + 1}, v)
	}
	shape := s.add("concat", nil, size(k, 1), s.fn.Ints("heads", heads), size(k, 3), size(v, 3))
	state := s.add("constant_of_shape", nil, shape, zero)
	return state, s.err
}

// maxUnpool puts elements at the positions from which a max_pool took them.
func maxUnpool(c *conv) error {
	x := c.in[0]
	kernel := c.attrs["kernel_shape"]
	if kernel == nil || len(kernel.Ints) != len(x.Shape)-2 {
		return c.fail("kernel_shape is missing, or has not one number for each of the %d spatial dimensions", len(x.Shape)-2)
	}
	n := len(kernel.Ints)
	var shape []int64
	total := int64(1)
	for d, e := range x.Shape {
		size, ok := tir.IntValue(e)
		if !ok {
			return c.fail("dimension %d of the data is not known when the model is compiled", d)
		}
		if d >= 2 {
			stride := int64(1)
			if c.attrs["strides"] != nil {
				stride = c.at("strides", d-2)
			}
			size = (size-1)*stride - c.at("pads", d-2) - c.at("pads", d-2+n) + kernel.Ints[d-2]
		}
		shape = append(shape, size)
		total *= size
	}
	s := c.steps(c.scope.fn)
	zero, err := c.number(x.DType, 0)
	if err != nil {
		return c.fail("%w", err)
	}
	empty := s.add("constant_of_shape", nil, s.fn.Ints("shape", total), zero)
	out := s.add("scatter_elements", nil, empty, s.reshape(c.in[1], -1), s.reshape(x, -1))
	out = s.reshape(out, shape...)
	if to := c.operand(2); to != nil && s.err == nil {
		sizes := to.Elements()
		if len(sizes) != len(shape) {
			return c.fail("%w", &graph.ElementsError{Value: to})
		}
		pads := make([]int64, 2*len(shape))
		for d, e := range sizes {
			size, ok := tir.IntValue(e)
			if !ok {
				return c.fail("%w", &graph.ElementsError{Value: to})
			}
			pads[len(shape)+d] = size - shape[d]
		}
		out = s.add("pad", nil, out, s.fn.Ints("pads", pads...))
	}
	if s.err != nil {
		return s.err
	}
	c.bind([]*graph.Value{out})
	return nil
}

// floats makes a constant of type float32 with one dimension.
func (c *conv) floats(name string, values ...float32) (*graph.Value, error) {
	var data []byte
	for _, x := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return c.scope.fn.Const(name, tir.Float32, []int64{int64(len(values))}, data)
}
