package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// LayerNorm normalizes the last dims dimensions: (x - mean) / √(variance + eps) · gamma + beta. gamma and beta have the
// shape of these dimensions and the type of x; nil stands for 1 and 0. The variance is computed in a second pass, from
// the differences to the mean. 16-bit floats are computed in float32.
func LayerNorm(x, gamma, beta *te.Tensor, name string, dims int, eps float64) *te.Tensor {
	if bad := checkNorm(name, x, dims, eps, gamma, beta); bad != nil {
		return bad
	}
	n := newNorm(x, name, dims)
	sum := n.reduced(".sum", func(i []tir.Expr) tir.Expr { return n.x(i) })
	mean := te.Compute(sum.ProducerShape(), name+".mean", func(i ...tir.Expr) tir.Expr {
		return tir.Div(sum.At(i...), n.count)
	})
	less := func(i []tir.Expr) tir.Expr { return tir.Sub(n.x(i), mean.At(n.row(i)...)) }
	squares := n.reduced(".squares", func(i []tir.Expr) tir.Expr { return tir.Mul(less(i), less(i)) })
	scale := n.scale(squares, eps)
	return n.finish("layernorm", less, scale, gamma, beta, sum, mean, squares, scale)
}

// RMSNorm normalizes the last dims dimensions: x / √(mean(x²) + eps) · gamma. gamma is as for LayerNorm.
func RMSNorm(x, gamma *te.Tensor, name string, dims int, eps float64) *te.Tensor {
	if bad := checkNorm(name, x, dims, eps, gamma, nil); bad != nil {
		return bad
	}
	n := newNorm(x, name, dims)
	squares := n.reduced(".squares", func(i []tir.Expr) tir.Expr { return tir.Mul(n.x(i), n.x(i)) })
	scale := n.scale(squares, eps)
	return n.finish("rmsnorm", n.x, scale, gamma, nil, squares, scale)
}

func checkNorm(name string, x *te.Tensor, dims int, eps float64, gamma, beta *te.Tensor) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	if dims < 1 || dims > len(s) {
		return failed(name, "the last %d dimensions of tensor %s, which has %d: want 1 or more, and no more "+
			"than it has", dims,
			x.ProducerName(), len(s))
	}
	if !(eps >= 0) || math.IsInf(eps, 1) {
		return failed(name, "eps is %v: want a number of 0 or more", eps)
	}
	for _, g := range []*te.Tensor{gamma, beta} {
		if g == nil {
			continue
		}
		if bad := check(name, dims, g); bad != nil {
			return bad
		}
		if bad := sameType(name, x, g); bad != nil {
			return bad
		}
		for d, n := range g.ProducerShape() {
			if at := len(s) - dims + d; !arith.ProveEqual(s[at], n) {
				return failed(name, "dimension %d of tensor %s is %s, and dimension %d of tensor %s is %s: want equal sizes",
					at, x.ProducerName(), text.Print(s[at]), d, g.ProducerName(), text.Print(n))
			}
		}
	}
	return nil
}

// norm is the state of a normalization operator.
type norm struct {
	tensor *te.Tensor
	name   string
	lead   int // the number of leading dimensions, which are not normalized
	work   tir.Type
	count  tir.Expr
}

func newNorm(x *te.Tensor, name string, dims int) *norm {
	s := x.ProducerShape()
	n := &norm{tensor: x, name: name, lead: len(s) - dims, work: workType(x.ProducerDType())}
	in := make([]bool, len(s))
	for d := n.lead; d < len(s); d++ {
		in[d] = true
	}
	n.count = countOf(s, in, n.work)
	return n
}

// x returns an element in the type of the computation.
func (n *norm) x(i []tir.Expr) tir.Expr { return castTo(n.work, n.tensor.At(i...)) }

// row returns the indices of a value that is shared by all normalized dimensions.
func (n *norm) row(i []tir.Expr) []tir.Expr {
	at := append([]tir.Expr{}, i...)
	for d := n.lead; d < len(at); d++ {
		at[d] = like(i[d], 0)
	}
	return at
}

// reduced returns the sum of f over the normalized dimensions, which remain with size 1.
func (n *norm) reduced(suffix string, f func(i []tir.Expr) tir.Expr) *te.Tensor {
	s := n.tensor.ProducerShape()
	shape := append([]tir.Expr{}, s...)
	var k []*tir.IterVar
	for d := n.lead; d < len(s); d++ {
		shape[d] = like(s[d], 1)
		k = append(k, reduceAxis(s[d], "k"))
	}
	return te.Compute(shape, n.name+suffix, func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		for d, a := range k {
			at[n.lead+d] = a.Var
		}
		return te.Sum(f(at), k...)
	})
}

// scale returns 1 / √(mean of squares + eps).
func (n *norm) scale(squares *te.Tensor, eps float64) *te.Tensor {
	return te.Compute(squares.ProducerShape(), n.name+".scale", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("rsqrt", tir.Add(tir.Div(squares.At(i...), n.count), tir.Const(n.work, eps)))
	})
}

func (n *norm) finish(kind string, value func([]tir.Expr) tir.Expr, scale, gamma, beta *te.Tensor,
	parts ...*te.Tensor) *te.Tensor {
	o := &Operator{Kind: kind, Inputs: []*te.Tensor{n.tensor}, Parts: parts, Attrs: n.lead}
	for _, g := range []*te.Tensor{gamma, beta} {
		if g != nil {
			o.Inputs = append(o.Inputs, g)
		}
	}
	out := te.Compute(n.tensor.ProducerShape(), n.name, func(i ...tir.Expr) tir.Expr {
		e := tir.Mul(value(i), scale.At(n.row(i)...))
		if gamma != nil {
			e = tir.Mul(e, castTo(n.work, gamma.At(i[n.lead:]...)))
		}
		if beta != nil {
			e = tir.Add(e, castTo(n.work, beta.At(i[n.lead:]...)))
		}
		return castTo(n.tensor.ProducerDType(), e)
	})
	return by(out, o)
}
