package operators

import (
	"math"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// wide computes a formula of 16-bit floats in float32.
func wide(f func(tir.Expr) tir.Expr) func(tir.Expr) tir.Expr {
	return func(e tir.Expr) tir.Expr {
		if t := e.DType(); isNarrow(t) {
			return tir.NewCast(t, f(tir.NewCast(tir.Float32, e)))
		}
		return f(e)
	}
}

// unary is an operator that applies a formula to each element.
func unary(name string, f func(c *graph.Call, x tir.Expr) tir.Expr, attrs ...graph.Attr) *graph.Op {
	return with(name, 1, 1, func(c *graph.Call) *te.Tensor {
		return ops.Map(c.In(0), c.Name, wide(func(x tir.Expr) tir.Expr { return f(c, x) }))
	}, attrs...)
}

// function is an operator that applies an intrinsic to floats.
func function(name, intrinsic string) *graph.Op {
	return unary(name, func(_ *graph.Call, x tir.Expr) tir.Expr { return tir.Intrin(intrinsic, x) })
}

func of(x tir.Expr, v float64) tir.Expr { return tir.Const(x.DType(), v) }

func exp(x tir.Expr) tir.Expr { return tir.Intrin("exp", x) }

// softplus is log(1 + exp(x)), without overflow.
func softplus(x tir.Expr) tir.Expr {
	return tir.Add(tir.Max(x, of(x, 0)), tir.Intrin("log1p", exp(tir.Negate(tir.Intrin("fabs", x)))))
}

func hardSigmoid(x tir.Expr, alpha, beta float64) tir.Expr {
	return tir.Max(of(x, 0), tir.Min(of(x, 1), tir.Add(tir.Mul(of(x, alpha), x), of(x, beta))))
}

// gelu is x·Φ(x), or its approximation by tanh.
func gelu(x tir.Expr, approximate bool) tir.Expr {
	half := tir.Mul(of(x, 0.5), x)
	if !approximate {
		return tir.Mul(half, tir.Add(of(x, 1), tir.Intrin("erf", tir.Mul(x, of(x, math.Sqrt2/2)))))
	}
	cubic := tir.Mul(of(x, 0.044715), tir.Mul(x, tir.Mul(x, x)))
	return tir.Mul(half, tir.Add(of(x, 1), tir.Intrin("tanh", tir.Mul(of(x, math.Sqrt(2/math.Pi)), tir.Add(x, cubic)))))
}

func init() {
	for _, name := range []string{"exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
		"tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "floor", "ceil"} {
		register(function(name, name))
	}
	register(
		function("round", "nearbyint"),
		simple("neg", 1, func(c *graph.Call) *te.Tensor { return ops.Neg(c.In(0), c.Name) }),
		simple("abs", 1, func(c *graph.Call) *te.Tensor { return ops.Abs(c.In(0), c.Name) }),
		simple("sign", 1, func(c *graph.Call) *te.Tensor { return ops.Sign(c.In(0), c.Name) }),
		simple("not", 1, func(c *graph.Call) *te.Tensor { return ops.LogicalNot(c.In(0), c.Name) }),
		simple("is_nan", 1, func(c *graph.Call) *te.Tensor { return ops.IsNaN(c.In(0), c.Name) }),
		simple("relu", 1, func(c *graph.Call) *te.Tensor { return ops.Relu(c.In(0), c.Name) }),
		unary("bitwise_not", func(_ *graph.Call, x tir.Expr) tir.Expr { return tir.Intrin("bitwise_not", x) }),
		unary("reciprocal", func(_ *graph.Call, x tir.Expr) tir.Expr { return tir.Div(of(x, 1), x) }),
		with("is_inf", 1, 1, isInf, integer("detect_negative", 1), integer("detect_positive", 1)),
		unary("leaky_relu", func(c *graph.Call, x tir.Expr) tir.Expr {
			return tir.NewSelect(tir.LT(x, of(x, 0)), tir.Mul(x, of(x, c.Float("alpha"))), x)
		}, float("alpha", 0.01)),
		unary("elu", func(c *graph.Call, x tir.Expr) tir.Expr {
			return tir.NewSelect(tir.LT(x, of(x, 0)), tir.Mul(of(x, c.Float("alpha")), tir.Sub(exp(x), of(x, 1))), x)
		}, float("alpha", 1)),
		unary("celu", func(c *graph.Call, x tir.Expr) tir.Expr {
			a := of(x, c.Float("alpha"))
			return tir.Add(tir.Max(of(x, 0), x), tir.Min(of(x, 0), tir.Mul(a, tir.Sub(exp(tir.Div(x, a)), of(x, 1)))))
		}, float("alpha", 1)),
		unary("selu", func(c *graph.Call, x tir.Expr) tir.Expr {
			a := of(x, c.Float("alpha"))
			below := tir.Sub(tir.Mul(a, exp(x)), a)
			return tir.Mul(of(x, c.Float("gamma")), tir.NewSelect(tir.LE(x, of(x, 0)), below, x))
		}, float("alpha", 1.67326319217681884765625), float("gamma", 1.05070102214813232421875)),
		unary("softplus", func(_ *graph.Call, x tir.Expr) tir.Expr { return softplus(x) }),
		unary("softsign", func(_ *graph.Call, x tir.Expr) tir.Expr {
			return tir.Div(x, tir.Add(of(x, 1), tir.Intrin("fabs", x)))
		}),
		unary("hard_sigmoid", func(c *graph.Call, x tir.Expr) tir.Expr {
			return hardSigmoid(x, c.Float("alpha"), c.Float("beta"))
		}, float("alpha", 0.2), float("beta", 0.5)),
		unary("hard_swish", func(_ *graph.Call, x tir.Expr) tir.Expr { return tir.Mul(x, hardSigmoid(x, 1./6, 0.5)) }),
		unary("mish", func(_ *graph.Call, x tir.Expr) tir.Expr { return tir.Mul(x, tir.Intrin("tanh", softplus(x))) }),
		unary("thresholded_relu", func(c *graph.Call, x tir.Expr) tir.Expr {
			return tir.NewSelect(tir.GT(x, of(x, c.Float("alpha"))), x, of(x, 0))
		}, float("alpha", 1)),
		unary("shrink", shrink, float("bias", 0), float("lambd", 0.5)),
		unary("gelu", func(c *graph.Call, x tir.Expr) tir.Expr {
			switch c.Text("approximate") {
			case "none", "tanh":
			default:
				c.Fail("approximate is %q: want none or tanh", c.Text("approximate"))
			}
			return gelu(x, c.Text("approximate") == "tanh")
		}, word("approximate", "none")),
		unary("swish", func(c *graph.Call, x tir.Expr) tir.Expr {
			return tir.Mul(x, tir.Intrin("sigmoid", tir.Mul(of(x, c.Float("alpha")), x)))
		}, float("alpha", 1)),
		with("cast", 1, 1, func(c *graph.Call) *te.Tensor { return cast(c.In(0), c.Type("to"), c.Name) }, typed("to"),
			integer("saturate", 1)),
		with("cast_like", 2, 2, func(c *graph.Call) *te.Tensor { return cast(c.In(0), c.DType(1), c.Name) },
			integer("saturate", 1)),
		with("clip", 1, 3, clip),
	)
	identity := simple("identity", 1, func(c *graph.Call) *te.Tensor {
		return te.Compute(c.Shape(0), c.Name, func(i ...tir.Expr) tir.Expr { return c.In(0).At(i...) })
	})
	identity.View = true
	register(identity)
}

func isInf(c *graph.Call) *te.Tensor {
	return ops.Map(c.In(0), c.Name, func(x tir.Expr) tir.Expr {
		if isNarrow(x.DType()) {
			x = tir.NewCast(tir.Float32, x)
		}
		is := tir.BoolConst(false)
		if c.Flag("detect_positive") {
			is = tir.Or(is, tir.EQ(x, of(x, math.Inf(1))))
		}
		if c.Flag("detect_negative") {
			is = tir.Or(is, tir.EQ(x, of(x, math.Inf(-1))))
		}
		return is
	})
}

func shrink(c *graph.Call, x tir.Expr) tir.Expr {
	b := tir.Const(tir.Float32, c.Float("bias"))
	l := c.Float("lambd")
	t := x.DType()
	if t == tir.Float64 {
		b = of(x, c.Float("bias"))
	}
	y := x
	if tir.IsInt(t) {
		y = tir.NewCast(tir.Float32, x)
	}
	low := tir.NewSelect(tir.LT(y, of(y, -l)), tir.Add(y, b), of(y, 0))
	return tir.NewCast(t, tir.NewSelect(tir.GT(y, of(y, l)), tir.Sub(y, b), low))
}

// cast converts elements: to bool by comparison with 0.
func cast(x *te.Tensor, to tir.Type, name string) *te.Tensor {
	if x.ProducerDType() == to {
		return ops.Map(x, name, func(e tir.Expr) tir.Expr { return e })
	}
	return ops.Cast(x, to, name)
}

// scalar returns the element of an operand of one element.
func scalar(c *graph.Call, i int) tir.Expr {
	at := make([]tir.Expr, c.Rank(i))
	for d, n := range c.Shape(i) {
		if v, ok := tir.IntValue(n); !ok || v != 1 {
			c.Fail("operand %d has more than one element: want one", i)
		}
		at[d] = tir.I32(0)
	}
	return c.In(i).At(at...)
}

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
