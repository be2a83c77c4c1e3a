package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// above returns how far an element of the last two dimensions is above the diagonal, compared with k by op.
func above(op tir.BinaryOp, i []tir.Expr, k tir.Expr) tir.Expr {
	row, column := tir.NewCast(tir.Int64, i[len(i)-2]), tir.NewCast(tir.Int64, i[len(i)-1])
	return tir.NewBinary(op, tir.Sub(column, row), tir.NewCast(tir.Int64, k))
}

// Trilu keeps a triangle of each matrix in the last two dimensions, and sets the other elements to 0: the diagonal that
// is k places above the main one and, if upper is set, what is above it, otherwise what is below. k is an integer, and
// may be an element of a tensor.
func Trilu(x *te.Tensor, name string, k tir.Expr, upper bool) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if n := len(x.ProducerShape()); n < 2 {
		return failed(name, "tensor %s has %d dimensions: want 2 or more", x.ProducerName(), n)
	}
	if bad := elements.of(name, x); bad != nil {
		return bad
	}
	op := tir.OpLE
	if upper {
		op = tir.OpGE
	}
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		return tir.NewSelect(above(op, i, k), x.At(i...), tir.Const(x.ProducerDType(), 0))
	})
	return by(out, &Operator{Kind: "trilu", Inputs: []*te.Tensor{x}})
}

// Eye is a matrix with 1 on the diagonal that is k places above the main one, and 0 elsewhere.
func Eye(rows, columns tir.Expr, k int, t tir.Type, name string) *te.Tensor {
	one, bad := valueOf(name, t, 1)
	if bad != nil {
		return bad
	}
	return te.Compute([]tir.Expr{rows, columns}, name, func(i ...tir.Expr) tir.Expr {
		return tir.NewSelect(above(tir.OpEQ, i, tir.I64(int64(k))), one, tir.Const(t, 0))
	})
}
