package relax

import (
	"math"
	"slices"

	"tvmgo/graph"
	"tvmgo/tir"
)

func init() {
	add("reshape", func(c *call) value { return c.reshaped(c.t(0), c.shape(1)) })
	add("permute_dims", func(c *call) value {
		attrs := graph.Attrs{}
		if perm := c.expr.Attrs.Ints("axes"); perm != nil {
			attrs["perm"] = perm
		}
		return c.node("transpose", attrs, c.t(0))
	})
	add("concat", func(c *call) value {
		at, ok := c.one("axis")
		list := c.tuple(0)
		if !ok {
			for k, v := range list {
				list[k] = c.flat(v)
			}
		}
		return c.node("concat", graph.Attrs{"axis": at}, list...)
	})
	add("stack", func(c *call) value {
		at, _ := c.one("axis")
		list := c.tuple(0)
		for k, v := range list {
			list[k] = c.node("unsqueeze", nil, v, c.list(at))
		}
		if len(list) > 0 {
			at = int64(axis(at, len(list[0].Shape)))
		}
		return c.node("concat", graph.Attrs{"axis": at}, list...)
	})
	add("split", split)
	add("expand_dims", func(c *call) value {
		return c.node("unsqueeze", nil, c.t(0), c.list(c.expr.Attrs.Ints("axis")...))
	})
	add("squeeze", func(c *call) value {
		if at := c.expr.Attrs.Ints("axis"); at != nil {
			return c.node("squeeze", nil, c.t(0), c.list(at...))
		}
		return c.node("squeeze", nil, c.t(0))
	})
	add("flatten", func(c *call) value { return c.flat(c.t(0)) })
	add("nn.batch_flatten", func(c *call) value { return c.node("flatten", nil, c.t(0)) })
	add("broadcast_to", func(c *call) value { return c.node("expand", nil, c.t(0), c.sizes(c.shape(1))) })
	add("repeat", repeat)
	add("tile", func(c *call) value {
		x, times := c.t(0), c.expr.Attrs.Ints("repeats")
		for len(times) < len(x.Shape) {
			times = append([]int64{1}, times...)
		}
		for len(x.Shape) < len(times) {
			x = c.node("unsqueeze", nil, x, c.list(0))
		}
		return c.node("tile", nil, x, c.list(times...))
	})
	add("flip", func(c *call) value {
		return c.node("slice", nil, c.t(0), c.list(-1), c.list(math.MinInt64), c.list(c.expr.Attrs.Integer("axis")),
			c.list(-1))
	})
	add("reverse_sequence", func(c *call) value {
		return c.node("reverse_sequence", graph.Attrs{"batch_axis": c.expr.Attrs.Int("batch_axis"),
			"time_axis": c.expr.Attrs.Int("seq_axis")}, c.t(0), c.as(c.t(1), tir.Int64))
	})
	add("strided_slice", stridedSlice)
	add("dynamic_strided_slice", func(c *call) value {
		begin, end, steps := c.t(1), c.t(2), c.t(3)
		if steps.Elements() == nil {
			fail("the strides have to be known when the model is compiled: make them a constant")
		}
		return c.node("slice", nil, c.t(0), begin, end, c.list(upTo(len(c.t(0).Shape))...), steps)
	})
	add("meshgrid", meshgrid)
	add("outer", func(c *call) value {
		return c.node("mul", nil, c.node("unsqueeze", nil, c.t(0), c.list(1)), c.node("unsqueeze", nil, c.t(1), c.list(0)))
	})
	add("collapse_sum_to", func(c *call) value { return c.collapse(c.t(0), c.shape(1)) })
	add("collapse_sum_like", func(c *call) value { return c.collapse(c.t(0), c.t(1).Shape) })
	add("shape_of", func(c *call) value { return shape(c.t(0).Shape) })
	add("tensor_to_shape", func(c *call) value { return c.read(c.scope, c.t(0)) })
	add("shape_to_tensor", func(c *call) value { return c.sizes(c.shape(0)) })
	add("size", func(c *call) value { return c.node("size", nil, c.t(0)) })
}

// upTo returns the numbers below n.
func upTo(n int) []int64 {
	out := make([]int64, n)
	for d := range out {
		out[d] = int64(d)
	}
	return out
}

// flat returns a tensor with one dimension.
func (c *call) flat(v *graph.Value) *graph.Value {
	if len(v.Shape) == 1 {
		return v
	}
	return c.node("reshape", nil, v, c.list(-1))
}

// split has the number of equal parts, or the indices at which parts begin, as an attribute.
func split(c *call) value {
	x := c.t(0)
	at := axis(c.expr.Attrs.Int("axis"), len(x.Shape))
	list := c.expr.Attrs.Ints("indices_or_sections")
	var outs []*graph.Value
	if parts, ok := c.expr.Attrs.Value("indices_or_sections").(int64); ok {
		if parts < 1 || parts > 1<<16 {
			fail("%d parts are wanted: want 1 to %d", parts, 1<<16)
		}
		outs = c.nodes("split", graph.Attrs{"axis": int64(at), "num_outputs": parts}, int(parts), x)
	} else {
		var sizes shape
		begin, n := tir.Expr(tir.I32(0)), x.Shape[at]
		for _, index := range list {
			end := tir.Expr(tir.I32(int32(min(max(index, 0), math.MaxInt32))))
			if m, ok := tir.IntValue(n); ok {
				end = tir.I32(int32(min(int64(m), max(index, 0))))
			}
			sizes, begin = append(sizes, plain(tir.Sub(end, begin))), end
		}
		sizes = append(sizes, plain(tir.Sub(n, begin)))
		outs = c.nodes("split", graph.Attrs{"axis": int64(at)}, len(sizes), x, c.sizes(sizes))
	}
	out := make(tuple, len(outs))
	for k, v := range outs {
		out[k] = v
	}
	return out
}

// repeat repeats each element along an axis, or without one each of all.
func repeat(c *call) value {
	x := c.t(0)
	times := c.expr.Attrs.Int("repeats")
	if times < 0 || times > math.MaxInt32 {
		fail("repeats is %d: want 0 to %d", times, math.MaxInt32)
	}
	at, ok := c.one("axis")
	if !ok {
		x = c.flat(x)
	}
	d := axis(at, len(x.Shape))
	wide := append(shape{}, x.Shape[:d+1]...)
	wide = append(append(wide, tir.I32(int32(times))), x.Shape[d+1:]...)
	out := slices.Clone(x.Shape)
	out[d] = plain(tir.Mul(out[d], tir.I32(int32(times))))
	return c.reshaped(c.node("expand", nil, c.node("unsqueeze", nil, x, c.list(int64(d+1))), c.sizes(wide)), out)
}

// stridedSlice has axes, begins, ends and strides as operands, or in old versions as attributes.
func stridedSlice(c *call) value {
	a := c.expr.Attrs
	x := c.t(0)
	var begin, end *graph.Value
	var at, steps []int64
	if c.has(1) {
		at, begin, end = c.ints(1), c.sizes(c.shape(2)), c.sizes(c.shape(3))
		if c.has(4) {
			steps = c.ints(4)
		}
	} else {
		at, steps = a.Ints("axes"), a.Ints("strides")
		begin, end = c.sizes(c.scope.sizesOf(a.Exprs("begin"))), c.sizes(c.scope.sizesOf(a.Exprs("end")))
	}
	if steps == nil {
		steps = slices.Repeat([]int64{1}, len(at))
	}
	return c.node("slice", nil, x, begin, end, c.list(at...), c.list(steps...))
}

// meshgrid gives each tensor of one dimension the shape of all.
func meshgrid(c *call) value {
	list := c.tuple(0)
	if c.text("indexing", "ij") != "ij" && len(list) > 1 {
		fail("indexing is not ij")
	}
	var all shape
	for k, v := range list {
		if len(v.Shape) > 1 {
			fail("tensor %d has %d dimensions: want one", k, len(v.Shape))
		}
		if len(v.Shape) == 0 {
			list[k] = c.flat(v)
		}
		all = append(all, list[k].Shape[0])
	}
	out := make(tuple, len(list))
	for k, v := range list {
		out[k] = c.node("expand", nil, c.along(v, k, len(list)), c.sizes(all))
	}
	return out
}

// collapse sums the dimensions that a broadcast from a shape would have repeated.
func (c *call) collapse(x *graph.Value, to []tir.Expr) *graph.Value {
	more := len(x.Shape) - len(to)
	if more < 0 {
		fail("the result has %d dimensions, and the data %d", len(to), len(x.Shape))
	}
	over := upTo(more)
	for d, n := range to {
		if v, ok := tir.IntValue(n); ok && v == 1 {
			over = append(over, int64(more+d))
		}
	}
	if len(over) == 0 {
		return x
	}
	return c.reshaped(c.node("reduce_sum", nil, x, c.list(over...)), to)
}
