package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// CumulativeOption is an option of CumSum and CumProd.
type CumulativeOption func(*cumulative)

type cumulative struct{ exclusive, reverse bool }

// Exclusive leaves out the element itself: the first result is that of no elements.
func Exclusive() CumulativeOption { return func(c *cumulative) { c.exclusive = true } }

// Backward begins at the end of the axis.
func Backward() CumulativeOption { return func(c *cumulative) { c.reverse = true } }

// CumSum replaces each element by the sum of the elements along the axis up to and including it. Integers wrap; 16-bit
// floats are summed in float32, and each sum is rounded.
func CumSum(x *te.Tensor, name string, axis int, options ...CumulativeOption) *te.Tensor {
	return accumulated("cumsum", x, name, axis, 0, tir.Add, options)
}

// CumProd replaces each element by the product of the elements along the axis up to and including it; see CumSum.
func CumProd(x *te.Tensor, name string, axis int, options ...CumulativeOption) *te.Tensor {
	return accumulated("cumprod", x, name, axis, 1, tir.Mul, options)
}

func accumulated(kind string, x *te.Tensor, name string, axis int, first float64, op func(a, b tir.Expr) tir.Expr,
	options []CumulativeOption) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := numbers.of(name, x); bad != nil {
		return bad
	}
	s, t := x.ProducerShape(), x.ProducerDType()
	at, bad := axisOf(name, x, axis, len(s))
	if bad != nil {
		return bad
	}
	var c cumulative
	for _, o := range options {
		if o == nil {
			return failed(name, "an option is nil")
		}
		o(&c)
	}
	work := workType(t)
	return statement(kind, name, s, t, []*te.Tensor{x}, func(ins []*tir.Buffer, out *tir.Buffer) tir.Stmt {
		return parallel(without(s, at), func(rest []tir.Expr) tir.Stmt {
			return cells([]tir.Type{work}, "sum", func(v []cell) tir.Stmt {
				sum := v[0]
				return tir.Sequence(sum.set(tir.Const(work, first)), serial(s[at], "k", func(k tir.Expr) tir.Stmt {
					if c.reverse {
						k = tir.Sub(plus(s[at], -1), k)
					}
					i := inserted(rest, at, k)
					add := sum.set(op(sum.get(), tir.NewCast(work, tir.BufferAt(ins[0], i...))))
					result := store(out, tir.NewCast(t, sum.get()), i...)
					if c.exclusive {
						return tir.Sequence(result, add)
					}
					return tir.Sequence(add, result)
				}))
			})
		})
	})
}
