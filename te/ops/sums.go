package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// summed is a function of the sum over axes of a function of the elements, in the type in which sums are computed.
func summed(c class, x *te.Tensor, name string, axes []int, keepDims bool,
	before, after func(tir.Expr) tir.Expr) *te.Tensor {
	in, bad := c.reduced(name, x, axes)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	from := name
	if after != nil || work != t {
		from = name + ".sum"
	}
	sum := overAxes(x, from, in, keepDims, func(e tir.Expr, k ...*tir.IterVar) tir.Expr {
		if e = before(tir.NewCast(work, e)); len(k) == 0 {
			return e
		}
		return te.Sum(e, k...)
	})
	by(sum, &Operator{Kind: "sum", Inputs: []*te.Tensor{x}})
	if from == name {
		return sum
	}
	return Map(sum, name, func(e tir.Expr) tir.Expr {
		if after != nil {
			e = after(e)
		}
		return tir.NewCast(t, e)
	})
}

func squared(e tir.Expr) tir.Expr { return tir.Mul(e, e) }

// SumSquare is the sum of the squares of the elements; see Sum for axes and keepDims.
func SumSquare(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return summed(numbers, x, name, axes, keepDims, squared, nil)
}

// L1 is the sum of the absolute values of the elements; see Sum for axes and keepDims.
func L1(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return summed(numbers, x, name, axes, keepDims, magnitude, nil)
}

// L2 is the square root of the sum of the squares of the elements; see Sum for axes and keepDims.
func L2(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return summed(floats, x, name, axes, keepDims, squared, func(e tir.Expr) tir.Expr { return tir.Intrin("sqrt", e) })
}

// LogSum is the logarithm of the sum of the elements; see Sum for axes and keepDims.
func LogSum(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return summed(floats, x, name, axes, keepDims, func(e tir.Expr) tir.Expr { return e },
		func(e tir.Expr) tir.Expr { return tir.Intrin("log", e) })
}

// LogSumExp is the logarithm of the sum of exp(x), -inf for no elements; see Sum for axes and keepDims. The greatest
// element is subtracted first, so that exp does not overflow.
func LogSumExp(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	in, bad := floats.reduced(name, x, axes)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	greatest := Max(x, name+".max", axes, true)
	top := Map(greatest, name+".top", func(e tir.Expr) tir.Expr { // a number, also for infinite elements
		e = tir.NewCast(work, e)
		finite := tir.LT(tir.Intrin("fabs", e), tir.Const(work, math.Inf(1)))
		return tir.NewSelect(tir.Or(finite, isNaN(e)), e, tir.Const(work, 0))
	})
	less := te.Compute(x.ProducerShape(), name+".less", func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		for d := range at {
			if in[d] {
				at[d] = like(i[d], 0)
			}
		}
		return tir.Intrin("exp", tir.Sub(tir.NewCast(work, x.At(i...)), top.At(at...)))
	})
	sum := Sum(less, name+".sum", axes, keepDims)
	var kept []int
	for d := range in {
		if in[d] {
			kept = append(kept, d)
		}
	}
	if !keepDims && len(kept) > 0 {
		top = Squeeze(top, name+".flat", kept...)
	}
	return Zip(sum, top, name, func(s, m tir.Expr) tir.Expr { return tir.NewCast(t, tir.Add(tir.Intrin("log", s), m)) })
}

// Hardmax is 1 for the first greatest element along an axis, and 0 for the others.
func Hardmax(x *te.Tensor, name string, axis int) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	at, bad := axisOf(name, x, axis, len(x.ProducerShape()))
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	if empty(x.ProducerShape()) {
		return Map(x, name, func(e tir.Expr) tir.Expr { return e })
	}
	best := ArgMax(x, name+".best", []int{at}, true)
	if err := best.Err(); err != nil {
		return failed(name, "%w", err)
	}
	return te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		first := tir.EQ(tir.NewCast(tir.Int64, i[at]), best.At(along(i, at)...))
		return tir.NewSelect(first, tir.Const(t, 1), tir.Const(t, 0))
	})
}

// Det is the determinant of each matrix in the last two dimensions, which have equal sizes; 1 for matrices without
// elements. It is computed by Gaussian elimination, in which the greatest element of a column is the pivot; 16-bit
// floats are computed in float32.
func Det(x *te.Tensor, name string) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	r := len(s) - 2
	if r < 0 || !arith.ProveEqual(s[r], s[r+1]) {
		return failed(name, "tensor %s has shape %s: want square matrices in the last two dimensions", x.ProducerName(),
			shapeText(s))
	}
	t := x.ProducerDType()
	work := workType(t)
	all := te.Extern([]te.ExternResult{{Shape: s[:r], Type: work}, {Shape: s, Type: work}}, []*te.Tensor{x}, name+".lu",
		func(ins, outs []*tir.Buffer) tir.Stmt {
			return parallel(s[:r], func(batch []tir.Expr) tir.Stmt {
				return determinant(s[r], outs[0], outs[1], batch, func(i, j tir.Expr) tir.Expr {
					return tir.NewCast(work, tir.BufferAt(ins[0], append(append([]tir.Expr{}, batch...), i, j)...))
				})
			})
		})
	out := Map(all[0], name, func(e tir.Expr) tir.Expr { return tir.NewCast(t, e) })
	return by(out, &Operator{Kind: "det", Inputs: []*te.Tensor{x}})
}

// determinant computes the determinant of one n x n matrix, whose elements get copied to a.
func determinant(n tir.Expr, out, a *tir.Buffer, batch []tir.Expr, element func(i, j tir.Expr) tir.Expr) tir.Stmt {
	full := func(i, j tir.Expr) []tir.Expr { return append(append([]tir.Expr{}, batch...), i, j) }
	at := func(i, j tir.Expr) tir.Expr { return tir.BufferAt(a, full(i, j)...) }
	abs := func(e tir.Expr) tir.Expr { return tir.Intrin("fabs", e) }
	work := a.DType
	return cells([]tir.Type{work, n.DType()}, "pivot", func(v []cell) tir.Stmt {
		det, p := v[0], v[1]
		step := func(k tir.Expr) tir.Stmt {
			search := serial(n, "i", func(i tir.Expr) tir.Stmt {
				return when([]tir.Expr{tir.GT(i, k)}, &tir.If{Cond: tir.GT(abs(at(i, k)), abs(at(p.get(), k))), Then: p.set(i)})
			})
			swap := tir.Sequence(det.set(tir.Negate(det.get())), serial(n, "j", func(j tir.Expr) tir.Stmt {
				return let("upper", at(k, j), func(upper tir.Expr) tir.Stmt {
					return tir.Sequence(store(a, at(p.get(), j), full(k, j)...), store(a, upper, full(p.get(), j)...))
				})
			}))
			eliminate := serial(n, "i", func(i tir.Expr) tir.Stmt {
				return when([]tir.Expr{tir.GT(i, k)}, let("factor", tir.Div(at(i, k), at(k, k)), func(f tir.Expr) tir.Stmt {
					return serial(n, "j", func(j tir.Expr) tir.Stmt {
						return when([]tir.Expr{tir.GT(j, k)}, store(a, tir.Sub(at(i, j), tir.Mul(f, at(k, j))), full(i, j)...))
					})
				}))
			})
			return tir.Sequence(p.set(k), search, &tir.If{Cond: tir.NE(p.get(), k), Then: swap},
				det.set(tir.Mul(det.get(), at(k, k))), &tir.If{Cond: tir.NE(at(k, k), tir.Const(work, 0)), Then: eliminate})
		}
		return tir.Sequence(
			nested([]tir.Expr{n, n}, "i", func(i []tir.Expr) tir.Stmt {
				return store(a, element(i[0], i[1]), full(i[0], i[1])...)
			}),
			det.set(tir.Const(work, 1)), serial(n, "k", step), store(out, det.get(), batch...))
	})
}
