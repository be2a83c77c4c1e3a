package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

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
