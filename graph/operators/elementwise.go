package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// unary is an operator on one tensor, without attributes.
func unary(name string, f func(x *te.Tensor, name string) *te.Tensor) *graph.Op {
	return simple(name, 1, func(c *graph.Call) *te.Tensor { return f(c.In(0), c.Name) })
}

// scaled is an operator on one tensor with attributes that are floats.
func scaled(name string, f func(c *graph.Call, x *te.Tensor) *te.Tensor, attrs ...graph.Attr) *graph.Op {
	return with(name, 1, 1, func(c *graph.Call) *te.Tensor { return f(c, c.In(0)) }, attrs...)
}

func of(x tir.Expr, v float64) tir.Expr { return tir.Const(x.DType(), v) }

// wide computes a formula of 16-bit floats in float32.
func wide(f func(tir.Expr) tir.Expr) func(tir.Expr) tir.Expr {
	return func(e tir.Expr) tir.Expr {
		if t := e.DType(); isNarrow(t) {
			return tir.NewCast(t, f(tir.NewCast(tir.Float32, e)))
		}
		return f(e)
	}
}

func init() {
	for name, f := range map[string]func(*te.Tensor, string) *te.Tensor{
		"abs": ops.Abs, "acos": ops.Acos, "acosh": ops.Acosh, "asin": ops.Asin, "asinh": ops.Asinh, "atan": ops.Atan,
		"atanh": ops.Atanh, "bitwise_not": ops.BitwiseNot, "ceil": ops.Ceil, "cos": ops.Cos, "cosh": ops.Cosh, "erf": ops.Erf,
		"exp": ops.Exp, "floor": ops.Floor, "hard_swish": ops.HardSwish, "is_nan": ops.IsNaN, "log": ops.Log,
		"mish": ops.Mish, "neg": ops.Neg, "not": ops.LogicalNot, "relu": ops.Relu, "round": ops.Round,
		"sigmoid": ops.Sigmoid, "sign": ops.Sign, "sin": ops.Sin, "sinh": ops.Sinh, "softplus": ops.Softplus,
		"softsign": ops.Softsign, "sqrt": ops.Sqrt, "tan": ops.Tan, "tanh": ops.Tanh,
	} {
		register(unary(name, f))
	}
	register(
		unary("reciprocal", func(x *te.Tensor, name string) *te.Tensor {
			return ops.Map(x, name, wide(func(e tir.Expr) tir.Expr { return tir.Div(of(e, 1), e) }))
		}),
		scaled("is_inf", func(c *graph.Call, x *te.Tensor) *te.Tensor {
			return ops.IsInf(x, c.Name, c.Flag("detect_positive"), c.Flag("detect_negative"))
		}, integer("detect_negative", 1), integer("detect_positive", 1)),
		scaled("leaky_relu", func(c *graph.Call, x *te.Tensor) *te.Tensor {
			return ops.LeakyRelu(x, c.Name, c.Float("alpha"))
		}, float("alpha", 0.01)),
		scaled("elu", func(c *graph.Call, x *te.Tensor) *te.Tensor { return ops.Elu(x, c.Name, c.Float("alpha")) },
			float("alpha", 1)),
		scaled("celu", func(c *graph.Call, x *te.Tensor) *te.Tensor { return ops.Celu(x, c.Name, c.Float("alpha")) },
			float("alpha", 1)),
		scaled("selu", func(c *graph.Call, x *te.Tensor) *te.Tensor {
			return ops.Selu(x, c.Name, c.Float("alpha"), c.Float("gamma"))
		}, float("alpha", 1.67326319217681884765625), float("gamma", 1.05070102214813232421875)),
		scaled("hard_sigmoid", func(c *graph.Call, x *te.Tensor) *te.Tensor {
			return ops.HardSigmoid(x, c.Name, c.Float("alpha"), c.Float("beta"))
		}, float("alpha", 0.2), float("beta", 0.5)),
		scaled("thresholded_relu", func(c *graph.Call, x *te.Tensor) *te.Tensor {
			return ops.ThresholdedRelu(x, c.Name, c.Float("alpha"))
		}, float("alpha", 1)),
		scaled("shrink", func(c *graph.Call, x *te.Tensor) *te.Tensor {
			return ops.Shrink(x, c.Name, c.Float("lambd"), c.Float("bias"))
		}, float("bias", 0), float("lambd", 0.5)),
		scaled("gelu", func(c *graph.Call, x *te.Tensor) *te.Tensor {
			switch c.Text("approximate") {
			case "none":
				return ops.Gelu(x, c.Name)
			case "tanh":
				return ops.GeluTanh(x, c.Name)
			}
			c.Fail("approximate is %q: want none or tanh", c.Text("approximate"))
			return nil
		}, word("approximate", "none")),
		scaled("swish", func(c *graph.Call, x *te.Tensor) *te.Tensor { return ops.Swish(x, c.Name, c.Float("alpha")) },
			float("alpha", 1)),
		scaled("cast", func(c *graph.Call, x *te.Tensor) *te.Tensor { return rounded(c, x, c.Type("to")) }, typed("to"),
			integer("saturate", 1), word("round_mode", "up")),
		with("cast_like", 2, 2, func(c *graph.Call) *te.Tensor { return rounded(c, c.In(0), c.DType(1)) },
			integer("saturate", 1), word("round_mode", "up")),
		with("clip", 1, 3, clip),
		scaled("bit_cast", func(c *graph.Call, x *te.Tensor) *te.Tensor { return bitCast(c, x, c.Type("to")) }, typed("to")),
		view(unary("identity", copied)),
	)
}

func copied(x *te.Tensor, name string) *te.Tensor {
	return ops.Map(x, name, func(e tir.Expr) tir.Expr { return e })
}

func cast(x *te.Tensor, to tir.Type, name string) *te.Tensor {
	if x.ProducerDType() == to {
		return copied(x, name)
	}
	return ops.Cast(x, to, name)
}

// rounded converts elements by the attributes saturate and round_mode of a cast.
func rounded(c *graph.Call, x *te.Tensor, to tir.Type) *te.Tensor {
	if x.ProducerDType() == to {
		return copied(x, c.Name)
	}
	return ops.CastTo(x, to, ops.Rounding{Saturate: c.Flag("saturate"), Powers: c.Text("round_mode")}, c.Name)
}

// scalar returns the element of an operand of one element.
func scalar(c *graph.Call, i int) tir.Expr {
	at := make([]tir.Expr, c.Rank(i))
	for d, n := range c.Shape(i) {
		if !isOne(n) {
			c.Fail("operand %d has more than one element: want one", i)
		}
		at[d] = tir.I32(0)
	}
	return c.In(i).At(at...)
}

// clip has the operands data, min and max.
func clip(c *graph.Call) *te.Tensor {
	return ops.Map(c.In(0), c.Name, func(x tir.Expr) tir.Expr {
		if c.Has(1) {
			x = tir.NewSelect(tir.LT(x, scalar(c, 1)), scalar(c, 1), x)
		}
		if c.Has(2) {
			x = tir.NewSelect(tir.GT(x, scalar(c, 2)), scalar(c, 2), x)
		}
		return x
	})
}

// bitCast gives the bits of elements another type of the same size.
func bitCast(c *graph.Call, x *te.Tensor, to tir.Type) *te.Tensor {
	from := x.ProducerDType()
	if from.Bits != to.Bits {
		c.Fail("elements of type %s have another size than %s", from, to)
	}
	return ops.Map(x, c.Name, func(e tir.Expr) tir.Expr {
		switch {
		case tir.IsBool(from), tir.IsBool(to), tir.IsInt(from) && tir.IsInt(to):
			return tir.NewCast(to, e)
		}
		return tir.NewCall(tir.CallIntrinsic, to, "reinterpret", e)
	})
}
