package relax

import (
	"math"

	"tvmgo/graph"
	"tvmgo/tir"
)

// reduced is the rule for reductions with the attributes axis and keepdims.
func reduced(f func(c *call, x *graph.Value, over *graph.Value, keep graph.Attrs) *graph.Value) rule {
	return func(c *call) value {
		x := c.t(0)
		list := c.expr.Attrs.Ints("axis")
		if list == nil {
			list = upTo(len(x.Shape))
		}
		if len(list) == 0 {
			return x
		}
		return f(c, x, c.list(list...), graph.Attrs{"keepdims": c.int("keepdims", 0)})
	}
}

func init() {
	for name, op := range map[string]string{"sum": "reduce_sum", "mean": "reduce_mean", "max": "reduce_max",
		"min": "reduce_min", "prod": "reduce_prod"} {
		add(name, reduced(func(c *call, x, over *graph.Value, keep graph.Attrs) *graph.Value {
			return c.node(op, keep, x, over)
		}))
	}
	variance := func(c *call, x, over *graph.Value, keep graph.Attrs) *graph.Value {
		centered := c.node("sub", nil, x, c.node("reduce_mean", nil, x, over))
		return c.node("reduce_mean", keep, c.node("mul", nil, centered, centered), over)
	}
	add("variance", reduced(variance))
	add("std", reduced(func(c *call, x, over *graph.Value, keep graph.Attrs) *graph.Value {
		return c.node("sqrt", nil, variance(c, x, over, keep))
	}))
	for name, op := range map[string]string{"argmax": "arg_max", "argmin": "arg_min"} {
		add(name, func(c *call) value {
			x := c.t(0)
			at, ok := c.one("axis")
			if ok {
				return c.node(op, graph.Attrs{"axis": at, "keepdims": c.int("keepdims", 0)}, x)
			}
			out := c.node(op, graph.Attrs{"axis": int64(0), "keepdims": int64(0)}, c.flat(x))
			if c.flag("keepdims") {
				return c.reshaped(out, ones(len(x.Shape)))
			}
			return out
		})
	}
	add("median", median)
	for name, op := range map[string]string{"cumsum": "cum_sum", "cumprod": "cum_prod"} {
		add(name, func(c *call) value {
			x := c.as(c.t(0), c.dtype("dtype"))
			at, ok := c.one("axis")
			if !ok {
				x = c.flat(x)
			}
			attrs := graph.Attrs{}
			if c.expr.Attrs.Set("exclusive") {
				attrs["exclusive"] = int64(1)
			}
			return c.node(op, attrs, x, c.list(at))
		})
	}
	add("full", func(c *call) value {
		return c.filled(c.sizes(c.shape(0)), c.as(c.t(1), c.dtype("dtype")))
	})
	add("full_like", func(c *call) value {
		x := c.t(0)
		t := c.dtype("dtype")
		if t == tir.Void {
			t = x.DType
		}
		return c.filled(c.node("shape", nil, x), c.as(c.t(1), t))
	})
	for name, v := range map[string]float64{"zeros": 0, "ones": 1} {
		add(name, func(c *call) value { return c.filled(c.sizes(c.shape(0)), c.number(c.dtype("dtype"), v)) })
		add(name+"_like", func(c *call) value {
			x := c.t(0)
			t := c.dtype("dtype")
			if t == tir.Void {
				t = x.DType
			}
			return c.filled(c.node("shape", nil, x), c.number(t, v))
		})
	}
	add("eye", func(c *call) value {
		t := c.dtype("dtype")
		like := c.filled(c.sizes(shape{graph.Size(c.scalar(0)), graph.Size(c.scalar(1))}), c.number(t, 0))
		return c.node("eye_like", graph.Attrs{"k": c.diagonal(2)}, like)
	})
	add("eye_like", func(c *call) value {
		attrs := graph.Attrs{"k": c.diagonal(1)}
		if t := c.dtype("dtype"); t != tir.Void {
			attrs["dtype"] = t
		}
		return c.node("eye_like", attrs, c.t(0))
	})
	add("arange", func(c *call) value {
		t := c.dtype("dtype")
		in := make([]*graph.Value, 3)
		for k := range in {
			in[k] = c.tensor(c.scope, scalar{c.scalar(k)}, t)
		}
		return c.node("range", nil, in...)
	})
	add("hamming_window", hamming)
	for name, upper := range map[string]int64{"tril": 0, "triu": 1} {
		add(name, func(c *call) value {
			k := c.list(c.int("k", 0))
			if c.has(1) {
				k = c.tensor(c.scope, scalar{c.scalar(1)}, tir.Int64)
			}
			return c.node("trilu", graph.Attrs{"upper": upper}, c.t(0), c.node("squeeze", nil, k))
		})
	}
	add("quantize", func(c *call) value { return c.quantised("quantize_linear") })
	add("dequantize", func(c *call) value { return c.quantised("dequantize_linear") })
}

// hamming has the operands size, whether the window is periodic, and the parameters alpha and beta.
func hamming(c *call) value {
	size, periodic := fixed(c.scalar(0)), fixed(c.scalar(1)) != 0
	alpha, beta := c.float(2), c.float(3)
	if size < 0 || size > mostAveraged {
		fail("the window has %d elements: want 0 to %d", size, mostAveraged)
	}
	period := float64(size)
	if !periodic {
		period--
	}
	elems := make([]float64, size)
	for k := range elems {
		if elems[k] = alpha - beta*math.Cos(2*math.Pi*float64(k)/period); size == 1 {
			elems[k] = 1
		}
	}
	return c.numbersOf(c.dtype("dtype"), []int64{size}, elems)
}

func ones(rank int) shape {
	out := make(shape, rank)
	for d := range out {
		out[d] = tir.I32(1)
	}
	return out
}

// diagonal returns an argument that is the number of a diagonal.
func (c *call) diagonal(k int) int64 {
	if !c.has(k) {
		return 0
	}
	n, ok := tir.IntValue(c.scalar(k))
	if !ok {
		fail("argument %d is not constant", k)
	}
	return n
}

// median returns the element in the middle of the order, the lower one of two. With one axis, its index is a second
// result.
func median(c *call) value {
	x := c.t(0)
	list := c.expr.Attrs.Ints("axis")
	keep := c.flag("keepdims")
	rank := len(x.Shape)
	all := list == nil
	if all {
		x, list = c.flat(x), []int64{0}
	}
	if len(list) != 1 {
		fail("%d axes are given: want one or none", len(list))
	}
	d := axis(list[0], len(x.Shape))
	outs := c.nodes("top_k", graph.Attrs{"axis": int64(d), "largest": int64(0)}, 2, x, c.sizes(shape{x.Shape[d]}))
	middle := c.node("squeeze", nil, c.sizes(shape{plain(tir.FloorDiv(tir.Sub(x.Shape[d], tir.I32(1)), tir.I32(2)))}))
	results := tuple{}
	for _, v := range outs {
		v = c.node("gather", graph.Attrs{"axis": int64(d)}, v, middle)
		switch {
		case keep && all:
			v = c.reshaped(v, ones(rank))
		case keep:
			v = c.node("unsqueeze", nil, v, c.list(int64(d)))
		}
		results = append(results, v)
	}
	if all {
		return results[0]
	}
	return results
}

// quantised has the operands data, scale and zero point.
func (c *call) quantised(op string) *graph.Value {
	x, scale, zero := c.t(0), c.t(1), c.t(2)
	attrs := graph.Attrs{"axis": c.int("axis", -1)}
	t := c.dtype("out_dtype")
	if op == "quantize_linear" {
		return c.node(op, attrs, x, scale, c.as(zero, t))
	}
	attrs["output_dtype"] = t
	return c.node(op, attrs, x, scale, c.as(zero, x.DType))
}
