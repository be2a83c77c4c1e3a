package relax

import (
	"tvmgo/graph"
	"tvmgo/tir"
)

func init() {
	add("take", take)
	add("gather_elements", func(c *call) value {
		return c.node("gather_elements", graph.Attrs{"axis": c.expr.Attrs.Int("axis")}, c.t(0), c.t(1))
	})
	add("gather_nd", func(c *call) value {
		return c.node("gather_nd", graph.Attrs{"batch_dims": c.int("batch_dims", 0)}, c.t(0), c.as(c.t(1), tir.Int64))
	})
	add("index_tensor", func(c *call) value {
		list := c.tuple(1)
		var all []*graph.Value
		for _, v := range list {
			all = append(all, c.node("unsqueeze", nil, c.broadcast(v, list), c.list(-1)))
		}
		return c.node("gather_nd", nil, c.t(0), c.as(c.node("concat", graph.Attrs{"axis": int64(-1)}, all...), tir.Int64))
	})
	add("index_put", func(c *call) value {
		list := c.tuple(1)
		var all []*graph.Value
		for _, v := range list {
			all = append(all, c.node("unsqueeze", nil, c.broadcast(v, list), c.list(-1)))
		}
		index := c.as(c.node("concat", graph.Attrs{"axis": int64(-1)}, all...), tir.Int64)
		x := c.t(0)
		rows := append(shape{}, index.Shape[:len(index.Shape)-1]...)
		rows = append(rows, x.Shape[len(list):]...)
		update := c.node("expand", nil, c.t(2), c.sizes(rows))
		kind := "none"
		if c.flag("accumulate") {
			kind = "add"
		}
		return c.node("scatter_nd", graph.Attrs{"reduction": kind}, x, index, update)
	})
	add("scatter_elements", func(c *call) value {
		x, index, update := c.t(0), c.t(1), c.t(2)
		return c.node("scatter_elements", graph.Attrs{"axis": c.expr.Attrs.Integer("axis"), "reduction": c.reduction()}, x,
			index, update)
	})
	add("scatter_nd", func(c *call) value {
		return c.node("scatter_nd", graph.Attrs{"reduction": c.reduction()}, c.t(0), c.as(c.t(1), tir.Int64), c.t(2))
	})
	add("slice_scatter", sliceScatter)
	add("one_hot", func(c *call) value {
		on, off := c.scalar(1), c.scalar(2)
		t := on.DType()
		values := c.node("concat", nil, c.flat(c.tensor(c.scope, scalar{off}, t)), c.flat(c.tensor(c.scope, scalar{on}, t)))
		return c.node("one_hot", graph.Attrs{"axis": c.int("axis", -1)}, c.t(0), c.list(c.expr.Attrs.Int("depth")), values)
	})
	add("nonzero", func(c *call) value {
		outs := c.nodes("nonzero", nil, 2, c.t(0))
		return c.node("prefix", graph.Attrs{"axis": int64(1)}, outs...)
	})
	add("unique", unique)
	add("bucketize", func(c *call) value {
		x, limits := c.node("unsqueeze", nil, c.t(0), c.list(-1)), c.t(1)
		op, t := "greater", tir.Int64
		if c.flag("right") {
			op = "greater_or_equal"
		}
		if c.flag("out_int32") {
			t = tir.Int32
		}
		below := c.as(c.node(op, nil, x, limits), t)
		return c.node("reduce_sum", graph.Attrs{"keepdims": int64(0)}, below, c.list(-1))
	})

	add("sort", func(c *call) value { return c.sorted("axis", "descending")[0] })
	add("argsort", func(c *call) value { return c.as(c.sorted("axis", "descending")[1], c.dtype("dtype")) })
	add("topk", topK)
}

// reduction returns the attribute that says how an update changes an element.
func (c *call) reduction() string {
	switch r := c.text("reduction", "update"); r {
	case "update":
		return "none"
	case "add", "mul", "min", "max":
		return r
	default:
		fail("reduction is %q: want update, add, mul, min or max", r)
		return ""
	}
}

// broadcast gives a tensor the shape that a list of tensors has in common.
func (c *call) broadcast(v *graph.Value, list []*graph.Value) *graph.Value {
	for _, like := range list {
		v = c.node("expand", nil, v, c.node("shape", nil, like))
	}
	return v
}

// take reads elements along an axis, or without one of all. The attribute mode says what an index outside reads.
func take(c *call) value {
	x, index := c.t(0), c.index(1)
	at, ok := c.one("axis")
	if !ok {
		x = c.flat(x)
	}
	d := axis(at, len(x.Shape))
	size := c.as(c.node("squeeze", nil, c.sizes(shape{x.Shape[d]})), index.DType)
	zero, one := c.number(index.DType, 0), c.number(index.DType, 1)
	last := c.node("sub", nil, size, one)
	inside := func() *graph.Value { return c.node("max", nil, c.node("min", nil, index, last), zero) }
	attrs := graph.Attrs{"axis": int64(d)}
	switch mode := c.text("mode", "fast"); mode {
	case "fast":
	case "wrap":
		index = c.node("mod", nil, index, size)
	case "clip":
		index = inside()
	default:
		fail("mode is %q: want fast, wrap or clip", mode)
	}
	return c.node("gather", attrs, x, index)
}

// index returns an argument that is a tensor of integers, or one integer.
func (c *call) index(k int) *graph.Value {
	if v, ok := c.arg(k).(scalar); ok {
		return c.tensor(c.scope, v, tir.Int64)
	}
	return c.t(k)
}

// sliceScatter replaces elements of a slice, whose bounds have to be constants.
func sliceScatter(c *call) value {
	x, source := c.t(0), c.t(1)
	d := axis(c.int("axis", 0), len(x.Shape))
	begin, end, step := c.scalar(2), c.scalar(3), c.scalar(4)
	row := c.node("range", nil, c.tensor(c.scope, scalar{begin}, tir.Int64), c.tensor(c.scope, scalar{end}, tir.Int64),
		c.tensor(c.scope, scalar{step}, tir.Int64))
	index := c.node("expand", nil, c.along(row, d, len(x.Shape)), c.node("shape", nil, source))
	return c.node("scatter_elements", graph.Attrs{"axis": int64(d)}, x, index, source)
}

// unique returns the different elements, and further results that attributes, which are operands in some versions, ask
// for.
func unique(c *call) value {
	set := func(k int, name string) bool {
		if c.has(k) {
			v, ok := tir.IntValue(c.scalar(k))
			return ok && v != 0
		}
		return c.flag(name)
	}
	sorted, index, inverse, counts := set(1, "sorted"), set(2, "return_index"), set(3, "return_inverse"),
		set(4, "return_counts")
	if c.has(5) {
		if v, ok := c.in[5].(scalar); ok {
			if n, _ := tir.IntValue(v.expr); n != 0 || len(c.t(0).Shape) > 1 {
				fail("axis is given: want none")
			}
		}
	}
	how := graph.Attrs{"sorted": int64(0)}
	if sorted {
		how["sorted"] = int64(1)
	}
	all := c.nodes("unique", how, 5, c.flat(c.t(0)))
	out := tuple{c.node("prefix", nil, all[0], all[4])}
	if index {
		out = append(out, c.node("prefix", nil, all[1], all[4]))
	}
	if inverse {
		out = append(out, all[2])
	}
	if counts {
		out = append(out, c.node("prefix", nil, all[3], all[4]))
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}

// sorted returns the elements in order along an axis, and their indices.
func (c *call) sorted(axisName, descending string) []*graph.Value {
	x := c.t(0)
	d := axis(c.int(axisName, -1), len(x.Shape))
	return c.nodes("top_k", graph.Attrs{"axis": int64(d), "largest": c.int(descending, 0)}, 2, x,
		c.sizes(shape{x.Shape[d]}))
}

func topK(c *call) value {
	x := c.t(0)
	d := axis(c.int("axis", -1), len(x.Shape))
	k := c.expr.Attrs.Int("k")
	count := c.sizes(shape{x.Shape[d]}) // without a number, all
	if k >= 1 {
		count = c.list(k)
	}
	outs := c.nodes("top_k", graph.Attrs{"axis": int64(d), "largest": c.int("largest", 1)}, 2, x, count)
	index := c.as(outs[1], c.dtype("dtype"))
	switch r := c.text("ret_type", "both"); r {
	case "both":
		return tuple{outs[0], index}
	case "values":
		return outs[0]
	case "indices":
		return index
	default:
		fail("ret_type is %q: want both, values or indices", r)
	}
	return nil
}
