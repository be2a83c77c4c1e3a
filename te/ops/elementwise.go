package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Map applies a function to each element.
func Map(x *te.Tensor, name string, f func(tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	return te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr { return f(x.At(i...)) })
}

// Relu is x where that is positive, else 0.
func Relu(x *te.Tensor, name string) *te.Tensor {
	return Map(x, name, func(e tir.Expr) tir.Expr { return tir.Max(e, tir.Const(e.DType(), 0)) })
}
