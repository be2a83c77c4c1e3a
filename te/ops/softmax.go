package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
)

// Softmax is exp(x) divided by its sum along an axis, the last one by default. The greatest element is subtracted
// first, so that exp does not overflow. The result is NaN if all elements are -inf, or one is inf. 16-bit floats are
// computed in float32.
func Softmax(x *te.Tensor, name string, axis ...int) *te.Tensor {
	at, bad := softmaxAxis(name, x, axis)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	top := over1(x, name+".max", at, func(e tir.Expr, k *tir.IterVar) tir.Expr { return te.Max(e, k) })
	e := te.Compute(x.ProducerShape(), name+".exp", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("exp", tir.Sub(castTo(work, x.At(i...)), castTo(work, top.At(along(i, at)...))))
	})
	sum := over1(e, name+".sum", at, func(e tir.Expr, k *tir.IterVar) tir.Expr { return te.Sum(e, k) })
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		return castTo(t, tir.Div(e.At(i...), sum.At(along(i, at)...)))
	})
	return by(out, &Operator{Kind: "softmax", Inputs: []*te.Tensor{x}, Parts: []*te.Tensor{top, e, sum}, Attrs: at,
		InverseDivisor: true}) // the sum is between 1 and the length of the axis
}

// LogSoftmax is the logarithm of Softmax. It remains accurate where Softmax underflows to 0.
func LogSoftmax(x *te.Tensor, name string, axis ...int) *te.Tensor {
	at, bad := softmaxAxis(name, x, axis)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	top := over1(x, name+".max", at, func(e tir.Expr, k *tir.IterVar) tir.Expr { return te.Max(e, k) })
	less := func(i []tir.Expr) tir.Expr {
		return tir.Sub(castTo(work, x.At(i...)), castTo(work, top.At(along(i, at)...)))
	}
	s := x.ProducerShape()
	k := reduceAxis(s[at], "k")
	sum := te.Compute(top.ProducerShape(), name+".sum", func(i ...tir.Expr) tir.Expr {
		j := append([]tir.Expr{}, i...)
		j[at] = k.Var
		return te.Sum(tir.Intrin("exp", less(j)), k)
	})
	log := te.Compute(top.ProducerShape(), name+".log", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("log", sum.At(i...))
	})
	out := te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		return castTo(t, tir.Sub(less(i), log.At(along(i, at)...)))
	})
	return by(out, &Operator{Kind: "logsoftmax", Inputs: []*te.Tensor{x}, Parts: []*te.Tensor{top, sum, log}, Attrs: at})
}

func softmaxAxis(name string, x *te.Tensor, axis []int) (int, *te.Tensor) {
	if bad := check(name, -1, x); bad != nil {
		return 0, bad
	}
	s := x.ProducerShape()
	if len(s) == 0 || !floats.has(x.ProducerDType()) {
		return 0, failed(name, "tensor %s has %d dimensions and type %s: want one dimension or more, and a type of floats",
			x.ProducerName(),
			len(s), x.ProducerDType())
	}
	switch len(axis) {
	case 0:
		return len(s) - 1, nil
	case 1:
		return axisOf(name, x, axis[0], len(s))
	}
	return 0, failed(name, "%d axes of tensor %s are given: want one", len(axis), x.ProducerName())
}

// over1 reduces one axis, which remains with size 1.
func over1(x *te.Tensor, name string, axis int, r func(e tir.Expr, k *tir.IterVar) tir.Expr) *te.Tensor {
	in := make([]bool, len(x.ProducerShape()))
	in[axis] = true
	return overAxes(x, name, in, true, func(e tir.Expr, k ...*tir.IterVar) tir.Expr { return r(e, k[0]) })
}

// along returns the indices with 0 for an axis.
func along(i []tir.Expr, axis int) []tir.Expr {
	at := append([]tir.Expr{}, i...)
	at[axis] = like(i[axis], 0)
	return at
}
