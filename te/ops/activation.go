package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// activation applies a formula to each element of a tensor of floats; 16-bit floats are computed in float32. c makes
// constants of the type in which the formula is computed.
func activation(x *te.Tensor, name string, f func(e tir.Expr, c func(float64) tir.Expr) tir.Expr) *te.Tensor {
	return mapOf(floats, x, name, wide(func(e tir.Expr) tir.Expr {
		return f(e, func(v float64) tir.Expr { return tir.Const(e.DType(), v) })
	}))
}

// GeluTanh approximates Gelu: x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))/2.
func GeluTanh(x *te.Tensor, name string) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		inner := tir.Mul(tir.Mul(c(math.Sqrt(2/math.Pi)), e), tir.Add(c(1), tir.Mul(c(0.044715), tir.Mul(e, e))))
		return tir.Mul(tir.Mul(c(0.5), e), tir.Add(c(1), tir.Intrin("tanh", inner)))
	})
}

// Swish is x·sigmoid(alpha·x).
func Swish(x *te.Tensor, name string, alpha float64) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		return tir.Mul(e, tir.Intrin("sigmoid", tir.Mul(c(alpha), e)))
	})
}

// Elu is x where x is positive, else alpha·(exp(x) - 1).
func Elu(x *te.Tensor, name string, alpha float64) *te.Tensor {
	return Selu(x, name, alpha, 1)
}

// Selu is gamma·x where x is positive, else gamma·alpha·(exp(x) - 1).
func Selu(x *te.Tensor, name string, alpha, gamma float64) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		return tir.Mul(c(gamma), tir.NewSelect(tir.GT(e, c(0)), e, tir.Mul(c(alpha), tir.Sub(tir.Intrin("exp", e), c(1)))))
	})
}

// Celu is x where x is positive, else alpha·(exp(x/alpha) - 1).
func Celu(x *te.Tensor, name string, alpha float64) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		low := tir.Mul(c(alpha), tir.Sub(tir.Intrin("exp", tir.Div(e, c(alpha))), c(1)))
		return tir.NewSelect(tir.GT(e, c(0)), e, low)
	})
}

// softplus is log(1 + exp(e)), without overflow.
func softplus(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
	minus := tir.Sub(c(0), tir.Intrin("fabs", e))
	return tir.Add(tir.Max(c(0), e), tir.Intrin("log1p", tir.Intrin("exp", minus)))
}

// Softplus is log(1 + exp(x)).
func Softplus(x *te.Tensor, name string) *te.Tensor { return activation(x, name, softplus) }

// Mish is x·tanh(log(1 + exp(x))).
func Mish(x *te.Tensor, name string) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		return tir.Mul(e, tir.Intrin("tanh", softplus(e, c)))
	})
}

// Softsign is x / (1 + |x|).
func Softsign(x *te.Tensor, name string) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		return tir.Div(e, tir.Add(c(1), tir.Intrin("fabs", e)))
	})
}

// hardSigmoid is alpha·e + beta, limited to the range from 0 to 1.
func hardSigmoid(e tir.Expr, c func(float64) tir.Expr, alpha, beta float64) tir.Expr {
	return tir.Max(c(0), tir.Min(c(1), tir.Add(tir.Mul(c(alpha), e), c(beta))))
}

// HardSigmoid is alpha·x + beta, limited to the range from 0 to 1.
func HardSigmoid(x *te.Tensor, name string, alpha, beta float64) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		return hardSigmoid(e, c, alpha, beta)
	})
}

// HardSwish is x·(x/6 + 1/2), where the second factor is limited to the range from 0 to 1.
func HardSwish(x *te.Tensor, name string) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		return tir.Mul(e, hardSigmoid(e, c, 1.0/6, 0.5))
	})
}

// ThresholdedRelu is x where it is greater than a threshold, else 0.
func ThresholdedRelu(x *te.Tensor, name string, threshold float64) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		return tir.NewSelect(tir.LE(e, c(threshold)), c(0), e)
	})
}

// Shrink is x + bias below -limit, x - bias above limit, and 0 between.
func Shrink(x *te.Tensor, name string, limit, bias float64) *te.Tensor {
	return activation(x, name, func(e tir.Expr, c func(float64) tir.Expr) tir.Expr {
		between := tir.NewSelect(isNaN(e), e, c(0))
		return tir.NewSelect(tir.LT(e, c(-limit)), tir.Add(e, c(bias)),
			tir.NewSelect(tir.GT(e, c(limit)), tir.Sub(e, c(bias)), between))
	})
}

// PRelu is x where x is not negative, else slope·x; both are broadcast as by Zip.
func PRelu(x, slope *te.Tensor, name string) *te.Tensor {
	return zipOf(numbers, x, slope, name, func(a, b tir.Expr) tir.Expr {
		return tir.NewSelect(tir.LT(a, tir.Const(a.DType(), 0)), tir.Mul(a, b), a)
	})
}
