package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// GroupNormAttrs holds the options of GroupNorm.
type GroupNormAttrs struct {
	Groups  int // of channels
	Channel int // the number of channels of a group; 0 if it is not constant
}

// GroupNorm divides the channels, dimension 1 of x, into groups, and normalizes each group of channels with all
// dimensions that follow: (x - mean) / √(variance + eps) · gamma + beta. gamma and beta have one element per channel
// and the type of x; nil stands for 1 and 0. The variance is computed from the differences to the mean. 16-bit floats
// are computed in float32.
func GroupNorm(x, gamma, beta *te.Tensor, name string, groups int, eps float64) *te.Tensor {
	if bad := checkGroups(name, x, gamma, beta, groups, eps); bad != nil {
		return bad
	}
	s := x.ProducerShape()
	t := x.ProducerDType()
	g := &groupNorm{tensor: x, name: name, work: workType(t)}
	each := simplified(tir.FloorDiv(s[1], like(s[1], groups)))
	g.each = each
	g.shape = []tir.Expr{s[0], like(s[1], groups)}
	in := make([]bool, len(s))
	for d := 2; d < len(s); d++ {
		in[d] = true
	}
	count := tir.Mul(countOf(s, in, g.work), tir.NewCast(g.work, each))
	if c, ok := constSize(each); ok {
		count = tir.Mul(countOf(s, in, g.work), tir.Const(g.work, float64(c)))
	}
	sum := g.reduced(".sum", g.x)
	mean := te.Compute(g.shape, name+".mean", func(i ...tir.Expr) tir.Expr { return tir.Div(sum.At(i...), count) })
	less := func(i []tir.Expr) tir.Expr { return tir.Sub(g.x(i), mean.At(i[0], g.group(i[1]))) }
	squares := g.reduced(".squares", func(i []tir.Expr) tir.Expr { return tir.Mul(less(i), less(i)) })
	scale := te.Compute(g.shape, name+".scale", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("rsqrt", tir.Add(tir.Div(squares.At(i...), count), tir.Const(g.work, eps)))
	})
	out := te.Compute(s, name, func(i ...tir.Expr) tir.Expr {
		e := tir.Mul(less(i), scale.At(i[0], g.group(i[1])))
		if gamma != nil {
			e = tir.Mul(e, castTo(g.work, gamma.At(i[1])))
		}
		if beta != nil {
			e = tir.Add(e, castTo(g.work, beta.At(i[1])))
		}
		return castTo(t, e)
	})
	attrs := &GroupNormAttrs{Groups: groups}
	if c, ok := constSize(each); ok {
		attrs.Channel = int(c)
	}
	o := &Operator{Kind: "groupnorm", Inputs: []*te.Tensor{x}, Parts: []*te.Tensor{sum, mean, squares, scale},
		Attrs: attrs}
	for _, w := range []*te.Tensor{gamma, beta} {
		if w != nil {
			o.Inputs = append(o.Inputs, w)
		}
	}
	return by(out, o)
}

func checkGroups(name string, x, gamma, beta *te.Tensor, groups int, eps float64) *te.Tensor {
	s, bad := checkChannels(name, x)
	if bad != nil {
		return bad
	}
	if bad := checkNorm(name, x, 1, eps, nil, nil); bad != nil {
		return bad
	}
	n, constant := constSize(s[1])
	if groups < 1 || constant && n%int64(groups) != 0 {
		return failed(name, "%d groups of the %s channels of tensor %s: want a number that divides them", groups,
			text.Print(s[1]), x.ProducerName())
	}
	if rest := simplified(tir.FloorMod(s[1], like(s[1], groups))); !constant && !arith.ProveEqual(rest, like(s[1], 0)) {
		return failed(name, "%d groups of the %s channels of tensor %s, which may not divide them: want a constant number "+
			"of channels", groups, text.Print(s[1]), x.ProducerName())
	}
	for _, w := range []*te.Tensor{gamma, beta} {
		if w == nil {
			continue
		}
		if bad := check(name, 1, w); bad != nil {
			return bad
		}
		if bad := sameType(name, x, w); bad != nil {
			return bad
		}
		if size := w.ProducerShape()[0]; !arith.ProveEqual(size, s[1]) {
			return failed(name, "tensor %s has %s elements, and tensor %s has %s channels: want equal numbers",
				w.ProducerName(), text.Print(size), x.ProducerName(), text.Print(s[1]))
		}
	}
	return nil
}

// groupNorm is the state of GroupNorm.
type groupNorm struct {
	tensor *te.Tensor
	name   string
	work   tir.Type
	each   tir.Expr   // channels of a group
	shape  []tir.Expr // of a value per group
}

// x returns an element in the type of the computation.
func (g *groupNorm) x(i []tir.Expr) tir.Expr { return castTo(g.work, g.tensor.At(i...)) }

// group returns the group of a channel.
func (g *groupNorm) group(channel tir.Expr) tir.Expr { return tir.FloorDiv(channel, g.each) }

// reduced returns the sum of f over the elements of each group.
func (g *groupNorm) reduced(suffix string, f func(i []tir.Expr) tir.Expr) *te.Tensor {
	s := g.tensor.ProducerShape()
	k := []*tir.IterVar{reduceAxis(g.each, "channel")}
	for _, n := range s[2:] {
		k = append(k, reduceAxis(n, "k"))
	}
	return te.Compute(g.shape, g.name+suffix, func(i ...tir.Expr) tir.Expr {
		at := []tir.Expr{i[0], tir.Add(tir.Mul(i[1], g.each), k[0].Var)}
		for _, a := range k[1:] {
			at = append(at, a.Var)
		}
		return te.Sum(f(at), k...)
	})
}

// Variance is the mean of the squared differences to the mean over the axes, which are given as for Sum; NaN for no
// elements. 16-bit floats are computed in float32.
func Variance(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
	return variance("variance", x, name, axes, keepDims, 0)
}

// VarianceCorrected is the sum of the squared differences to the mean, divided by the number of elements less a
// correction: with 1, an unbiased estimate of the variance of a population. The divisor is not below 0. See Variance.
func VarianceCorrected(x *te.Tensor, name string, axes []int, keepDims bool, correction float64) *te.Tensor {
	return variance("variance", x, name, axes, keepDims, correction)
}

// StdDev is the square root of VarianceCorrected.
func StdDev(x *te.Tensor, name string, axes []int, keepDims bool, correction float64) *te.Tensor {
	return variance("stddev", x, name, axes, keepDims, correction)
}

func variance(kind string, x *te.Tensor, name string, axes []int, keepDims bool, correction float64) *te.Tensor {
	if math.IsNaN(correction) || math.IsInf(correction, 0) {
		return failed(name, "the correction is %v: want a number", correction)
	}
	in, bad := floats.reduced(name, x, axes)
	if bad != nil {
		return bad
	}
	t := x.ProducerDType()
	work := workType(t)
	s := x.ProducerShape()
	n := countOf(s, in, work)
	sum := overAxes(x, name+".sum", in, true, func(e tir.Expr, k ...*tir.IterVar) tir.Expr {
		if len(k) == 0 {
			return castTo(work, e)
		}
		return te.Sum(castTo(work, e), k...)
	})
	mean := te.Compute(sum.ProducerShape(), name+".mean", func(i ...tir.Expr) tir.Expr {
		return tir.Div(sum.At(i...), n)
	})
	row := func(i []tir.Expr) []tir.Expr {
		at := append([]tir.Expr{}, i...)
		for d := range at {
			if in[d] {
				at[d] = like(i[d], 0)
			}
		}
		return at
	}
	k := make([]*tir.IterVar, len(s))
	var over []*tir.IterVar
	for d := range s {
		if in[d] {
			k[d] = reduceAxis(s[d], "k")
			over = append(over, k[d])
		}
	}
	// The indices of the result lack the axes, unless they are kept.
	full := func(i []tir.Expr) []tir.Expr {
		at, next := make([]tir.Expr, len(s)), 0
		for d := range s {
			switch {
			case in[d]:
				at[d] = k[d].Var
				if keepDims {
					next++
				}
			default:
				at[d] = i[next]
				next++
			}
		}
		return at
	}
	var shape []tir.Expr
	for d, size := range s {
		if !in[d] {
			shape = append(shape, size)
		} else if keepDims {
			shape = append(shape, like(size, 1))
		}
	}
	squares := te.Compute(shape, name+".squares", func(i ...tir.Expr) tir.Expr {
		at := full(i)
		less := tir.Sub(castTo(work, x.At(at...)), mean.At(row(at)...))
		if len(over) == 0 {
			return tir.Mul(less, less)
		}
		return te.Sum(tir.Mul(less, less), over...)
	})
	divisor := n
	if correction != 0 {
		divisor = tir.Max(tir.Const(work, 0), tir.Sub(n, tir.Const(work, correction)))
	}
	out := te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		e := tir.Div(squares.At(i...), divisor)
		if kind == "stddev" {
			e = tir.Intrin("sqrt", e)
		}
		return castTo(t, e)
	})
	return by(out, &Operator{Kind: kind, Inputs: []*te.Tensor{x}, Parts: []*te.Tensor{sum, mean, squares}})
}
