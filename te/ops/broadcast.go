package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Zip applies a function to the elements of two tensors, which are broadcast as in NumPy: shapes are matched from the last dimension on, and
// what has one element in a dimension, or lacks it, is repeated. Sizes that are variables are broadcast only where they lack.
func Zip(x, y *te.Tensor, name string, f func(a, b tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x, y); bad != nil {
		return bad
	}
	a, b := x.ProducerShape(), y.ProducerShape()
	shape := make([]tir.Expr, max(len(a), len(b)))
	for k := 1; k <= len(shape); k++ {
		d := len(shape) - k
		switch {
		case k > len(a):
			shape[d] = b[len(b)-k]
		case k > len(b), isOne(b[len(b)-k]):
			shape[d] = a[len(a)-k]
		case isOne(a[len(a)-k]), sameSize(a[len(a)-k], b[len(b)-k]):
			shape[d] = b[len(b)-k]
		default:
			return failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes, or 1", d, x.ProducerName(), y.ProducerName(),
				tir.Print(a[len(a)-k]), tir.Print(b[len(b)-k]))
		}
	}
	pick := func(t *te.Tensor, i []tir.Expr) tir.Expr {
		s := t.ProducerShape()
		at := make([]tir.Expr, len(s))
		for d := range s {
			at[d] = i[len(i)-len(s)+d]
			if isOne(s[d]) {
				at[d] = tir.IntConst(s[d].DType(), 0)
			}
		}
		return t.At(at...)
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr { return f(pick(x, i), pick(y, i)) })
}

// Add is the sum of two tensors, broadcast as Zip says.
func Add(x, y *te.Tensor, name string) *te.Tensor { return Zip(x, y, name, tir.Add) }

// Multiply is the product of two tensors by elements, broadcast as Zip says.
func Multiply(x, y *te.Tensor, name string) *te.Tensor { return Zip(x, y, name, tir.Mul) }
