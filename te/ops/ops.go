package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

// failed is a tensor with an error.
func failed(name, format string, args ...any) *te.Tensor {
	err := &tir.Bad{Err: fmt.Errorf(format, args...)}
	return te.Compute(nil, name, func(...tir.Expr) tir.Expr { return err })
}

// check says whether tensors are there, and have as many dimensions as they should; nil if so.
func check(name string, dims int, all ...*te.Tensor) *te.Tensor {
	for i, t := range all {
		if err := t.Err(); err != nil {
			return failed(name, "operand %d: %w", i, err)
		}
		if n := len(t.ProducerShape()); dims >= 0 && n != dims {
			return failed(name, "operand %d, tensor %s, has %d dimensions: want %d", i, t.ProducerName(), n, dims)
		}
	}
	return nil
}

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

func isOne(n tir.Expr) bool {
	c, ok := n.(*tir.IntImm)
	return ok && c.Value == 1
}

// sameSize says whether two sizes are the same number, or the same expression.
func sameSize(a, b tir.Expr) bool {
	x, ok := a.(*tir.IntImm)
	if y, both := b.(*tir.IntImm); ok && both {
		return x.Value == y.Value
	}
	return tir.Equal(a, b)
}

// Add is the sum of two tensors, broadcast as Zip says.
func Add(x, y *te.Tensor, name string) *te.Tensor { return Zip(x, y, name, tir.Add) }

// Multiply is the product of two tensors by elements, broadcast as Zip says.
func Multiply(x, y *te.Tensor, name string) *te.Tensor { return Zip(x, y, name, tir.Mul) }

// Matmul is the product of matrices [n, k] and [k, m].
func Matmul(x, y *te.Tensor, name string) *te.Tensor {
	if bad := check(name, 2, x, y); bad != nil {
		return bad
	}
	a, b := x.ProducerShape(), y.ProducerShape()
	if !sameSize(a[1], b[0]) {
		return failed(name, "tensor %s has %s columns, and tensor %s %s rows: want as many", x.ProducerName(), tir.Print(a[1]), y.ProducerName(), tir.Print(b[0]))
	}
	k := te.ReduceAxis(tir.IntConst(a[1].DType(), 0), a[1], "k")
	return te.Compute([]tir.Expr{a[0], b[1]}, name, func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(x.At(i[0], k.Var), y.At(k.Var, i[1])), k)
	})
}

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

// Pad puts zeros around a tensor: before[d] and after[d] of them in dimension d.
func Pad(x *te.Tensor, name string, before, after []int) *te.Tensor {
	if bad := check(name, len(before), x); bad != nil {
		return bad
	}
	if len(after) != len(before) {
		return failed(name, "%d paddings before and %d after: want as many", len(before), len(after))
	}
	old := x.ProducerShape()
	shape := make([]tir.Expr, len(old))
	for d, n := range old {
		if before[d] < 0 || after[d] < 0 {
			return failed(name, "the padding of dimension %d is %d and %d: want 0 or more", d, before[d], after[d])
		}
		shape[d] = plus(n, before[d]+after[d])
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		var within tir.Expr
		at := make([]tir.Expr, len(i))
		for d := range i {
			if at[d] = i[d]; before[d] == 0 && after[d] == 0 {
				continue
			}
			at[d] = plus(i[d], -before[d])
			ok := tir.And(tir.GE(at[d], tir.I32(0)), tir.LT(at[d], old[d]))
			if within == nil {
				within = ok
			} else {
				within = tir.And(within, ok)
			}
		}
		if within == nil {
			return x.At(at...)
		}
		return tir.Intrin("if_then_else", within, x.At(at...), tir.Const(x.ProducerDType(), 0))
	})
}

// plus is n + c, computed where n is constant.
func plus(n tir.Expr, c int) tir.Expr {
	if k, ok := n.(*tir.IntImm); ok {
		return tir.IntConst(k.Type, k.Value+int64(c))
	}
	if c == 0 {
		return n
	}
	return tir.Add(n, tir.IntConst(n.DType(), int64(c)))
}

// Conv2D convolves [batch, channel, height, width] with filters [out, channel, kernel height, kernel width], with the same stride and padding in
// both directions.
func Conv2D(x, w *te.Tensor, name string, stride, padding int) *te.Tensor {
	if bad := check(name, 4, x, w); bad != nil {
		return bad
	}
	if stride < 1 || padding < 0 {
		return failed(name, "stride %d and padding %d: want a stride of 1 or more, and no negative padding", stride, padding)
	}
	f := w.ProducerShape()
	if c := x.ProducerShape()[1]; !sameSize(c, f[1]) {
		return failed(name, "tensor %s has %s channels, and the filters %s have %s", x.ProducerName(), tir.Print(c), w.ProducerName(), tir.Print(f[1]))
	}
	if padding > 0 {
		x = Pad(x, name+".pad", []int{0, 0, padding, padding}, []int{0, 0, padding, padding})
	}
	s := x.ProducerShape()
	axis := func(n tir.Expr, name string) *tir.IterVar { return te.ReduceAxis(tir.IntConst(n.DType(), 0), n, name) }
	c, p, q := axis(f[1], "c"), axis(f[2], "p"), axis(f[3], "q")
	size := func(n, k tir.Expr) tir.Expr {
		a, ok := n.(*tir.IntImm)
		if b, both := k.(*tir.IntImm); ok && both {
			return tir.IntConst(a.Type, max(0, (a.Value-b.Value+int64(stride))/int64(stride)))
		}
		return tir.FloorDiv(tir.Add(tir.Sub(n, k), tir.IntConst(n.DType(), int64(stride))), tir.IntConst(n.DType(), int64(stride)))
	}
	return te.Compute([]tir.Expr{s[0], f[0], size(s[2], f[2]), size(s[3], f[3])}, name, func(i ...tir.Expr) tir.Expr {
		at := func(i tir.Expr, k *tir.Var) tir.Expr {
			return tir.Add(tir.Mul(i, tir.IntConst(i.DType(), int64(stride))), k)
		}
		return te.Sum(tir.Mul(x.At(i[0], c.Var, at(i[2], p.Var), at(i[3], q.Var)), w.At(i[1], c.Var, p.Var, q.Var)), c, p, q)
	})
}

// Softmax is exp(x) along the last dimension, divided by its sum.
func Softmax(x *te.Tensor, name string) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	if len(s) == 0 || !tir.IsFloat(x.ProducerDType()) {
		return failed(name, "tensor %s has %d dimensions of type %s: want one or more, of floats", x.ProducerName(), len(s), x.ProducerDType())
	}
	last := len(s) - 1
	axis := func() *tir.IterVar { return te.ReduceAxis(tir.IntConst(s[last].DType(), 0), s[last], "k") }
	with := func(i []tir.Expr, k tir.Expr) []tir.Expr { return append(append([]tir.Expr{}, i...), k) }
	k, l := axis(), axis()
	top := te.Compute(s[:last], name+".max", func(i ...tir.Expr) tir.Expr { return te.Max(x.At(with(i, k.Var)...), k) })
	e := te.Compute(s, name+".exp", func(i ...tir.Expr) tir.Expr { return tir.Intrin("exp", tir.Sub(x.At(i...), top.At(i[:last]...))) })
	sum := te.Compute(s[:last], name+".sum", func(i ...tir.Expr) tir.Expr { return te.Sum(e.At(with(i, l.Var)...), l) })
	return te.Compute(s, name, func(i ...tir.Expr) tir.Expr { return tir.Div(e.At(i...), sum.At(i[:last]...)) })
}
