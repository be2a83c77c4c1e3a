package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// pNorm computes p-norms: (Σ|x|ᵖ)^(1/p).
type pNorm struct {
	p       float64
	t, work tir.Type
}

func newPNorm(name string, x *te.Tensor, p float64) (*pNorm, *te.Tensor) {
	if !(p >= 1) || math.IsInf(p, 1) {
		return nil, failed(name, "the %v-norm of tensor %s: want a finite number of 1 or more", p, x.ProducerName())
	}
	t := x.ProducerDType()
	return &pNorm{p, t, workType(t)}, nil
}

// term is what an element adds to the sum.
func (n *pNorm) term(e tir.Expr) tir.Expr {
	e = castTo(n.work, e)
	switch n.p {
	case 1:
		return tir.Intrin("fabs", e)
	case 2:
		return tir.Mul(e, e)
	}
	return tir.Intrin("pow", tir.Intrin("fabs", e), tir.Const(n.work, n.p))
}

// norm is the norm for a sum, in the type of the computation.
func (n *pNorm) norm(sum tir.Expr) tir.Expr {
	switch n.p {
	case 1:
		return sum
	case 2:
		return tir.Intrin("sqrt", sum)
	}
	return tir.Intrin("pow", sum, tir.Const(n.work, 1/n.p))
}

// root is the norm for a sum, in the type of the tensor.
func (n *pNorm) root(sum tir.Expr) tir.Expr { return n.back(n.norm(sum)) }

// back converts a value to the type of the tensor.
func (n *pNorm) back(e tir.Expr) tir.Expr { return tir.NewCast(n.t, e) }

// sum sums the terms over the axes, which remain with size 1.
func (n *pNorm) sum(x *te.Tensor, name string, axes []int) *te.Tensor {
	in, bad := axesOf(name, x, axes)
	if bad != nil {
		return bad
	}
	return overAxes(x, name, in, true, func(e tir.Expr, k ...*tir.IterVar) tir.Expr {
		if len(k) == 0 {
			return n.term(e)
		}
		return te.Sum(n.term(e), k...)
	})
}

// pNormOf is the p-norm over axes, which remain with size 1.
func pNormOf(x *te.Tensor, name string, axes []int, p float64) *te.Tensor {
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	n, bad := newPNorm(name, x, p)
	if bad != nil {
		return bad
	}
	return Map(n.sum(x, name+".sum", axes), name, n.root)
}
