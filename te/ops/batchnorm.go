package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// BatchNorm normalizes each channel, dimension 1 of x, by numbers that are known: (x - mean) / √(variance + eps) ·
// gamma + beta. All four are vectors of floats with one element per channel; nil stands for a gamma of 1 and a beta of
// 0. It is computed in the widest of the types, and in float32 at least.
func BatchNorm(x, gamma, beta, mean, variance *te.Tensor, name string, eps float64) *te.Tensor {
	s, bad := checkChannels(name, x)
	if bad != nil {
		return bad
	}
	if bad := checkNorm(name, x, 1, eps, nil, nil); bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	for n, w := range []*te.Tensor{mean, variance, gamma, beta} {
		if w == nil && n > 1 {
			continue
		}
		if bad := check(name, 1, w); bad != nil {
			return bad
		}
		if bad := floats.of(name, w); bad != nil {
			return bad
		}
		if size := w.ProducerShape()[0]; !arith.ProveEqual(size, s[1]) {
			return failed(name, "tensor %s has %s elements, and tensor %s has %s channels: want equal numbers",
				w.ProducerName(), text.Print(size), x.ProducerName(), text.Print(s[1]))
		}
		if w := workType(w.ProducerDType()); w.Bits > work.Bits {
			work = w
		}
	}
	return te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		of := func(w *te.Tensor) tir.Expr { return castTo(work, w.At(i[1])) }
		e := tir.Mul(tir.Sub(castTo(work, x.At(i...)), of(mean)), tir.Intrin("rsqrt", tir.Add(of(variance),
			tir.Const(work, eps))))
		if gamma != nil {
			e = tir.Mul(e, of(gamma))
		}
		if beta != nil {
			e = tir.Add(e, of(beta))
		}
		return castTo(t, e)
	})
}

// checkChannels returns the shape of a tensor of floats that has channels in dimension 1.
func checkChannels(name string, x *te.Tensor) ([]tir.Expr, *te.Tensor) {
	if bad := check(name, -1, x); bad != nil {
		return nil, bad
	}
	s := x.ProducerShape()
	if len(s) < 2 {
		return nil, failed(name, "tensor %s has %d dimensions: want 2 or more, the second for channels", x.ProducerName(),
			len(s))
	}
	return s, floats.of(name, x)
}

// InstanceNorm is GroupNorm with each channel in a group of its own. The number of channels is constant.
func InstanceNorm(x, gamma, beta *te.Tensor, name string, eps float64) *te.Tensor {
	s, bad := checkChannels(name, x)
	if bad != nil {
		return bad
	}
	channels, known := constSize(s[1])
	if !known {
		return failed(name, "tensor %s has %s channels: want a constant number", x.ProducerName(), text.Print(s[1]))
	}
	return GroupNorm(x, gamma, beta, name, max(1, int(channels)), eps)
}

// MeanVarianceNorm is (x - mean) / (√variance + eps), with the mean and the variance of the elements over the axes,
// which are given as for Sum. The variance is computed from the differences to the mean. 16-bit floats are computed in
// float32.
func MeanVarianceNorm(x *te.Tensor, name string, axes []int, eps float64) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	if !(eps >= 0) || math.IsInf(eps, 1) {
		return failed(name, "eps is %v: want a number of 0 or more", eps)
	}
	t, from := x.ProducerDType(), x
	work := workType(t)
	if work != t {
		from = Cast(x, work, name+".wide")
	}
	mean := Mean(from, name+".mean", axes, true)
	variance := Variance(from, name+".variance", axes, true)
	if bad := check(name, -1, mean, variance); bad != nil {
		return bad
	}
	return te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		deviation := tir.Add(tir.Intrin("sqrt", pick(variance, i)), tir.Const(work, eps))
		return castTo(t, tir.Div(tir.Sub(from.At(i...), pick(mean, i)), deviation))
	})
}

// LpNormalization divides the elements by their p-norm along an axis, (Σ|x|ᵖ)^(1/p), with p of 1 or more; where the
// norm is 0, the result is 0. 16-bit floats are computed in float32.
func LpNormalization(x *te.Tensor, name string, axis int, p float64) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := floats.of(name, x); bad != nil {
		return bad
	}
	n, bad := newPNorm(name, x, p)
	if bad != nil {
		return bad
	}
	at, bad := axisOf(name, x, axis, len(x.ProducerShape()))
	if bad != nil {
		return bad
	}
	sum := n.sum(x, name+".sum", []int{at})
	out := te.Compute(x.ProducerShape(), name, func(i ...tir.Expr) tir.Expr {
		row := append([]tir.Expr{}, i...)
		row[at] = like(i[at], 0)
		norm, zero := n.norm(sum.At(row...)), tir.Const(n.work, 0)
		return n.back(tir.NewSelect(tir.EQ(norm, zero), zero, tir.Div(castTo(n.work, x.At(i...)), norm)))
	})
	return by(out, &Operator{Kind: "lpnormalization", Inputs: []*te.Tensor{x}, Parts: []*te.Tensor{sum}, Attrs: p})
}

// LRN normalizes across neighbouring channels, dimension 1 of x: x / (bias + alpha/size · sum)^beta, where sum is that
// of the squares of size channels: (size-1)/2, rounded down, before the element's own, and the others behind. 16-bit
// floats are computed in float32.
func LRN(x *te.Tensor, name string, size int, alpha, beta, bias float64) *te.Tensor {
	s, bad := checkChannels(name, x)
	if bad != nil {
		return bad
	}
	if size < 1 || size > 1<<20 {
		return failed(name, "the squares of %d channels of tensor %s: want 1 or more, and at most %d", size,
			x.ProducerName(), 1<<20)
	}
	t := x.ProducerDType()
	work := workType(t)
	for _, v := range []float64{alpha, beta, bias} {
		if _, bad := valueOf(name, work, v); bad != nil {
			return bad
		}
	}
	before := (size - 1) / 2
	k := reduceAxis(like(s[1], size), "channel")
	sum := te.Compute(s, name+".sum", func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		at[1] = plus(tir.Add(i[1], k.Var), -before)
		e := castTo(work, x.At(at...))
		return te.Sum(where([]tir.Expr{tir.GE(at[1], like(at[1], 0)), tir.LT(at[1], s[1])}, tir.Mul(e, e),
			tir.Const(work, 0)), k)
	})
	sum = by(sum, &Operator{Kind: "lrn", Inputs: []*te.Tensor{x}})
	return te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		base := tir.Add(tir.Const(work, bias), tir.Mul(tir.Const(work, alpha/float64(size)), sum.At(i...)))
		return castTo(t, tir.Div(castTo(work, x.At(i...)), tir.Intrin("pow", base, tir.Const(work, beta))))
	})
}

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
