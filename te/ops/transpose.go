package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Transpose puts dimensions into another order: dimension d of the result is dimension order[d] of x.
func Transpose(x *te.Tensor, name string, order ...int) *te.Tensor {
	if bad := check(name, len(order), x); bad != nil {
		return bad
	}
	shape := make([]tir.Expr, len(order))
	for d, from := range order {
		if from < 0 || from >= len(order) {
			return failed(name, "there is no dimension %d of tensor %s", from, x.ProducerName())
		}
		for _, before := range order[:d] {
			if before == from {
				return failed(name, "dimension %d of tensor %s is given twice", from, x.ProducerName())
			}
		}
		shape[d] = x.ProducerShape()[from]
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := make([]tir.Expr, len(order))
		for d, from := range order {
			at[from] = i[d]
		}
		return x.At(at...)
	})
}
