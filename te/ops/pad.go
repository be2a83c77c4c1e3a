package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

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
