package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

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
	out := te.Compute([]tir.Expr{a[0], b[1]}, name, func(i ...tir.Expr) tir.Expr {
		return te.Sum(tir.Mul(x.At(i[0], k.Var), y.At(k.Var, i[1])), k)
	})
	return by(out, &Operator{Kind: "matmul", Inputs: []*te.Tensor{x, y}})
}
