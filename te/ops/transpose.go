package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Transpose permutes the dimensions: dimension d of the result is dimension order[d] of x; a negative number counts
// from the end. Without an order the dimensions are reversed.
func Transpose(x *te.Tensor, name string, order ...int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	dims := len(x.ProducerShape())
	if len(order) == 0 {
		for d := range dims {
			order = append(order, dims-1-d)
		}
	}
	if bad := check(name, len(order), x); bad != nil {
		return bad
	}
	shape, from, seen := make([]tir.Expr, dims), make([]int, dims), make([]bool, dims)
	for d, axis := range order {
		at, bad := axisOf(name, x, axis, dims)
		if bad != nil {
			return bad
		}
		if seen[at] {
			return failed(name, "axis %d of tensor %s is given twice", axis, x.ProducerName())
		}
		shape[d], from[d], seen[at] = x.ProducerShape()[at], at, true
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		at := make([]tir.Expr, dims)
		for d := range i {
			at[from[d]] = i[d]
		}
		return x.At(at...)
	})
	return by(out, &Operator{Kind: "transpose", Inputs: []*te.Tensor{x}, Attrs: from})
}
