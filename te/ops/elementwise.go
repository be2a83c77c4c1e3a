package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// Map applies f to each element.
func Map(x *te.Tensor, name string, f func(tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	return te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr { return f(x.At(i...)) })
}

// mapOf is Map for tensors whose type is in a class.
func mapOf(c class, x *te.Tensor, name string, f func(tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := c.of(name, x); bad != nil {
		return bad
	}
	return Map(x, name, f)
}

// function applies an intrinsic to each element of a tensor of floats; 16-bit floats are computed in float32.
func function(x *te.Tensor, name, intrinsic string) *te.Tensor {
	return mapOf(floats, x, name, wide(func(e tir.Expr) tir.Expr { return tir.Intrin(intrinsic, e) }))
}

// Exp is e to the power of x.
func Exp(x *te.Tensor, name string) *te.Tensor { return function(x, name, "exp") }

// Log is the natural logarithm.
func Log(x *te.Tensor, name string) *te.Tensor { return function(x, name, "log") }

// Sqrt is the square root.
func Sqrt(x *te.Tensor, name string) *te.Tensor { return function(x, name, "sqrt") }

// Rsqrt is 1 divided by the square root.
func Rsqrt(x *te.Tensor, name string) *te.Tensor { return function(x, name, "rsqrt") }

// Sin is the sine of an angle in radians.
func Sin(x *te.Tensor, name string) *te.Tensor { return function(x, name, "sin") }

// Cos is the cosine of an angle in radians.
func Cos(x *te.Tensor, name string) *te.Tensor { return function(x, name, "cos") }

// Tan is the tangent of an angle in radians.
func Tan(x *te.Tensor, name string) *te.Tensor { return function(x, name, "tan") }

// Asin is the inverse of the sine, from -π/2 to π/2; NaN beyond -1 … 1.
func Asin(x *te.Tensor, name string) *te.Tensor { return function(x, name, "asin") }

// Acos is the inverse of the cosine, from 0 to π; NaN beyond -1 … 1.
func Acos(x *te.Tensor, name string) *te.Tensor { return function(x, name, "acos") }

// Atan is the inverse of the tangent, from -π/2 to π/2.
func Atan(x *te.Tensor, name string) *te.Tensor { return function(x, name, "atan") }

// Sinh is the hyperbolic sine.
func Sinh(x *te.Tensor, name string) *te.Tensor { return function(x, name, "sinh") }

// Cosh is the hyperbolic cosine.
func Cosh(x *te.Tensor, name string) *te.Tensor { return function(x, name, "cosh") }

// Tanh is the hyperbolic tangent.
func Tanh(x *te.Tensor, name string) *te.Tensor { return function(x, name, "tanh") }

// Asinh is the inverse of the hyperbolic sine.
func Asinh(x *te.Tensor, name string) *te.Tensor { return function(x, name, "asinh") }

// Acosh is the inverse of the hyperbolic cosine, 0 or more; NaN below 1.
func Acosh(x *te.Tensor, name string) *te.Tensor { return function(x, name, "acosh") }

// Atanh is the inverse of the hyperbolic tangent; NaN beyond -1 … 1.
func Atanh(x *te.Tensor, name string) *te.Tensor { return function(x, name, "atanh") }

// Log1p is log(1 + x), which is accurate for small x, too.
func Log1p(x *te.Tensor, name string) *te.Tensor { return function(x, name, "log1p") }

// Expm1 is exp(x) - 1, which is accurate for small x, too.
func Expm1(x *te.Tensor, name string) *te.Tensor {
	return mapOf(floats, x, name, wide(func(e tir.Expr) tir.Expr {
		t := e.DType()
		one, half := tir.Const(t, 1), tir.Const(t, 0.5)
		small := tir.LE(tir.Intrin("fabs", e), half)
		// tanh(x/2)·2 / (1 - tanh(x/2)), whose operands have no rounding error that matters near 0
		h := tir.Intrin("tanh", tir.Mul(tir.NewSelect(small, e, tir.Const(t, 0)), half))
		return tir.NewSelect(small, tir.Div(tir.Add(h, h), tir.Sub(one, h)), tir.Sub(tir.Intrin("exp", e), one))
	}))
}

// Erf is the error function.
func Erf(x *te.Tensor, name string) *te.Tensor { return function(x, name, "erf") }

// Sigmoid is 1 / (1 + exp(-x)).
func Sigmoid(x *te.Tensor, name string) *te.Tensor { return function(x, name, "sigmoid") }

// Silu is x·sigmoid(x).
func Silu(x *te.Tensor, name string) *te.Tensor {
	return mapOf(floats, x, name, wide(func(e tir.Expr) tir.Expr { return tir.Mul(e, tir.Intrin("sigmoid", e)) }))
}

// Gelu is x·(1 + erf(x/√2))/2.
func Gelu(x *te.Tensor, name string) *te.Tensor {
	return mapOf(floats, x, name, wide(func(e tir.Expr) tir.Expr {
		t := e.DType()
		return tir.Mul(tir.Mul(tir.Const(t, 0.5), e),
			tir.Add(tir.Const(t, 1), tir.Intrin("erf", tir.Mul(e, tir.Const(t, math.Sqrt2/2)))))
	}))
}

// Square is x·x.
func Square(x *te.Tensor, name string) *te.Tensor {
	return mapOf(numbers, x, name, squared)
}

// Neg is -x; integers wrap.
func Neg(x *te.Tensor, name string) *te.Tensor { return mapOf(numbers, x, name, tir.Negate) }

// Abs is |x|; the least integer of a type stays as it is.
func Abs(x *te.Tensor, name string) *te.Tensor {
	return mapOf(numbers, x, name, magnitude)
}

// magnitude is the absolute value of a number.
func magnitude(e tir.Expr) tir.Expr {
	switch t := e.DType(); {
	case tir.IsFloat(t):
		return tir.Intrin("fabs", e)
	case tir.IsSigned(t):
		return tir.NewSelect(tir.LT(e, tir.Const(t, 0)), tir.Negate(e), e)
	}
	return e
}

// Sign is -1, 0 or 1; NaN for NaN.
func Sign(x *te.Tensor, name string) *te.Tensor {
	return mapOf(numbers, x, name, func(e tir.Expr) tir.Expr {
		t := e.DType()
		zero, one := tir.Const(t, 0), tir.Const(t, 1)
		if t.Code == tir.UInt8.Code {
			return tir.NewSelect(tir.GT(e, zero), one, zero)
		}
		return tir.NewSelect(tir.GT(e, zero), one, tir.NewSelect(tir.LT(e, zero), tir.Const(t, -1), e))
	})
}

// rounded applies an intrinsic that returns integral values; integers stay as they are.
func rounded(x *te.Tensor, name, intrinsic string) *te.Tensor {
	return mapOf(numbers, x, name, func(e tir.Expr) tir.Expr {
		if !tir.IsFloat(e.DType()) {
			return e
		}
		return tir.Intrin(intrinsic, e)
	})
}

// Ceil is ⌈x⌉.
func Ceil(x *te.Tensor, name string) *te.Tensor { return rounded(x, name, "ceil") }

// Floor is ⌊x⌋.
func Floor(x *te.Tensor, name string) *te.Tensor { return rounded(x, name, "floor") }

// Trunc is x rounded towards zero.
func Trunc(x *te.Tensor, name string) *te.Tensor { return rounded(x, name, "trunc") }

// Round is x rounded to the nearest integer, ties to even, as in NumPy.
func Round(x *te.Tensor, name string) *te.Tensor { return rounded(x, name, "nearbyint") }

// Relu is max(x, 0); NaN stays NaN.
func Relu(x *te.Tensor, name string) *te.Tensor {
	return mapOf(numbers, x, name, func(e tir.Expr) tir.Expr { return tir.Max(tir.Const(e.DType(), 0), e) })
}

// LeakyRelu is x where x is positive, else slope·x.
func LeakyRelu(x *te.Tensor, name string, slope float64) *te.Tensor {
	return mapOf(floats, x, name, wide(func(e tir.Expr) tir.Expr {
		t := e.DType()
		return tir.NewSelect(tir.GT(e, tir.Const(t, 0)), e, tir.Mul(e, tir.Const(t, slope)))
	}))
}

// Clip limits x to the range from least to greatest; NaN stays NaN.
func Clip(x *te.Tensor, name string, least, greatest float64) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if !(least <= greatest) {
		return failed(name, "tensor %s is limited to %v … %v: want the first bound to be at most the second",
			x.ProducerName(), least, greatest)
	}
	t := x.ProducerDType()
	if bad := numbers.of(name, x); bad != nil {
		return bad
	}
	lo, hi := tir.Const(t, least), tir.Const(t, greatest)
	for _, c := range []tir.Expr{lo, hi} {
		if b, ok := c.(*tir.Bad); ok {
			return failed(name, "the bounds of tensor %s: %w", x.ProducerName(), b.Err)
		}
	}
	return Map(x, name, func(e tir.Expr) tir.Expr { return tir.Min(hi, tir.Max(lo, e)) })
}

// LogicalNot is the negation of a tensor of bool.
func LogicalNot(x *te.Tensor, name string) *te.Tensor { return mapOf(bools, x, name, tir.NewNot) }

// BitwiseNot inverts each bit of an integer.
func BitwiseNot(x *te.Tensor, name string) *te.Tensor {
	return mapOf(ints, x, name, func(e tir.Expr) tir.Expr { return tir.Intrin("bitwise_not", e) })
}

// IsNaN is true where a floating-point x is NaN.
func IsNaN(x *te.Tensor, name string) *te.Tensor { return mapOf(floats, x, name, isNaN) }

// IsInf is true where a floating-point x is infinite with one of the chosen signs.
func IsInf(x *te.Tensor, name string, positive, negative bool) *te.Tensor {
	return mapOf(floats, x, name, func(e tir.Expr) tir.Expr {
		t := e.DType()
		above, below := tir.EQ(e, limit(t, true)), tir.EQ(e, limit(t, false))
		switch {
		case positive && negative:
			return tir.Or(above, below)
		case positive:
			return above
		case negative:
			return below
		}
		return tir.BoolConst(false)
	})
}
