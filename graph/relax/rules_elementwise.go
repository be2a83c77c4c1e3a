package relax

import (
	"math"

	"tvmgo/graph"
	"tvmgo/tir"
)

// same is the rule for an operator that package operators has with the same operands, and without attributes.
func same(op string, operands int) rule {
	return func(c *call) value {
		in := make([]*graph.Value, operands)
		for k := range in {
			in[k] = c.t(k)
		}
		return c.node(op, nil, in...)
	}
}

// first is the rule for an operator that returns its first operand.
func first(c *call) value { return c.arg(0) }

func init() {
	for name, op := range map[string]string{
		"abs": "abs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
		"bitwise_not": "bitwise_not", "ceil": "ceil", "cos": "cos", "cosh": "cosh", "erf": "erf", "exp": "exp",
		"floor": "floor", "isinf": "is_inf", "isnan": "is_nan", "log": "log", "logical_not": "not", "negative": "neg",
		"round": "round", "sigmoid": "sigmoid", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan",
		"tanh": "tanh", "nn.relu": "relu", "nn.silu": "swish", "nn.gelu": "gelu", "nn.selu": "selu",
	} {
		add(name, same(op, 1))
	}
	for name, op := range map[string]string{
		"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow", "maximum": "max",
		"minimum": "min", "equal": "equal", "greater": "greater", "greater_equal": "greater_or_equal", "less": "less",
		"less_equal": "less_or_equal", "logical_and": "and", "logical_or": "or", "logical_xor": "xor",
		"bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "floor_mod": "mod",
	} {
		add(name, same(op, 2))
	}
	add("where", same("where", 3))
	add("not_equal", func(c *call) value { return c.node("not", nil, c.node("equal", nil, c.t(0), c.t(1))) })
	add("square", func(c *call) value { return c.node("mul", nil, c.t(0), c.t(0)) })
	add("rsqrt", func(c *call) value { return c.node("reciprocal", nil, c.node("sqrt", nil, c.t(0))) })
	add("isfinite", func(c *call) value {
		return c.node("not", nil, c.node("or", nil, c.node("is_nan", nil, c.t(0)), c.node("is_inf", nil, c.t(0))))
	})
	add("trunc", func(c *call) value {
		x := c.t(0)
		if !tir.IsFloat(x.DType) {
			return x
		}
		return c.node("mul", nil, c.node("sign", nil, x), c.node("floor", nil, c.node("abs", nil, x)))
	})
	add("ewise_fma", func(c *call) value {
		return c.node("add", nil, c.node("mul", nil, c.t(0), c.t(1)), c.t(2))
	})
	add("mod", func(c *call) value { return c.node("mod", graph.Attrs{"fmod": int64(1)}, c.t(0), c.t(1)) })
	add("floor_divide", func(c *call) value {
		x, y := c.t(0), c.t(1)
		if tir.IsFloat(x.DType) {
			return c.node("floor", nil, c.node("div", nil, x, y))
		}
		return c.node("div", nil, c.node("sub", nil, x, c.node("mod", nil, x, y)), y) // without remainder
	})
	add("left_shift", shift("LEFT"))
	add("right_shift", shift("RIGHT"))
	add("log_add_exp", func(c *call) value {
		x, y := c.t(0), c.t(1)
		top := c.node("max", nil, x, y)
		part := func(v *graph.Value) *graph.Value { return c.node("exp", nil, c.node("sub", nil, v, top)) }
		return c.node("add", nil, top, c.node("log", nil, c.node("add", nil, part(x), part(y))))
	})
	add("atan2", atan2)
	add("clip", func(c *call) value {
		x := c.t(0)
		bound := func(k int) *graph.Value { return c.tensor(c.scope, scalar{c.scalar(k)}, x.DType) }
		return c.node("clip", nil, x, bound(1), bound(2))
	})
	cast := func(c *call) value { return c.as(c.t(0), c.dtype("dtype")) }
	add("astype", cast)
	add("wrap_param", cast)
	add("nn.gelu_tanh", func(c *call) value { return c.node("gelu", graph.Attrs{"approximate": "tanh"}, c.t(0)) })
	add("nn.leakyrelu", func(c *call) value {
		return c.node("leaky_relu", graph.Attrs{"alpha": c.expr.Attrs.Float("alpha")}, c.t(0))
	})
	add("nn.softplus", softplus)
	add("nn.prelu", func(c *call) value {
		x := c.t(0)
		at := axis(c.int("axis", 1), len(x.Shape))
		return c.node("prelu", nil, x, c.along(c.t(1), at, len(x.Shape)))
	})
	for _, op := range []string{"softmax", "log_softmax"} {
		add("nn."+op, func(c *call) value { return c.node(op, graph.Attrs{"axis": c.int("axis", -1)}, c.t(0)) })
	}
	for _, op := range []string{"to_vdevice", "hint_on_device", "builtin.stop_lift_params", "memory.ensure_zero_offset"} {
		add(op, first) // all data is on the device that the program runs on
	}
}

func shift(direction string) rule {
	return func(c *call) value {
		x, y := c.t(0), c.t(1)
		like := c.node("expand", nil, y, c.node("shape", nil, x))
		x = c.node("expand", nil, x, c.node("shape", nil, y))
		return c.node("bit_shift", graph.Attrs{"direction": direction}, x, like)
	}
}

// along gives a tensor of one dimension the rank of another one, in which it is a dimension. Tensors with one element
// need none.
func (c *call) along(v *graph.Value, at, rank int) *graph.Value {
	if len(v.Shape) != 1 || at == rank-1 {
		return v
	}
	var added []int64
	for d := at + 1; d < rank; d++ {
		added = append(added, int64(d-at))
	}
	return c.node("unsqueeze", nil, v, c.list(added...))
}

// atan2 is the angle of the point (y, x).
func atan2(c *call) value {
	y, x := c.t(0), c.t(1)
	zero := c.number(x.DType, 0)
	num := func(v float64) *graph.Value { return c.number(x.DType, v) }
	where := func(cond, a, b *graph.Value) *graph.Value { return c.node("where", nil, cond, a, b) }
	less := func(a, b *graph.Value) *graph.Value { return c.node("less", nil, a, b) }
	angle := c.node("atan", nil, c.node("div", nil, y, x))
	behind := c.node("add", nil, angle, where(less(y, zero), num(-math.Pi), num(math.Pi)))
	on := where(less(zero, y), num(math.Pi/2), where(less(y, zero), num(-math.Pi/2), zero))
	return where(less(zero, x), angle, where(less(x, zero), behind, on))
}

// softplus is log(1 + exp(beta·x)) / beta, and x above a threshold of beta·x.
func softplus(c *call) value {
	x := c.t(0)
	beta := c.number(x.DType, c.expr.Attrs.Float("beta"))
	scaled := c.node("mul", nil, x, beta)
	soft := c.node("div", nil, c.node("softplus", nil, scaled), beta)
	large := c.node("greater", nil, scaled, c.number(x.DType, c.expr.Attrs.Float("threshold")))
	return c.node("where", nil, large, x, soft)
}
