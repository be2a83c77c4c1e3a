package alias

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/transform"
)

// pinned reports whether a store and a load with the same indices address different elements in different iterations of
// the loops.
func (c *aliases) pinned(s, l access, loops []*tir.For) bool {
	left := slices.DeleteFunc(slices.Clone(loops), func(x *tir.For) bool { return !repeats(x) })
	free := func(groups []linear) {
		for again := true; again; {
			again = false
			for _, g := range groups {
				if done := g.pins(left, loops); len(done) > 0 {
					left = slices.DeleteFunc(left, func(x *tir.For) bool { return slices.Contains(done, x) })
					again = true
				}
			}
		}
	}
	var groups []linear
	for d := range s.indices {
		if d >= len(l.indices) || !compare.Equal(s.indices[d], l.indices[d]) {
			continue
		}
		if g, ok := c.linear(s.indices[d]); ok {
			groups = append(groups, g)
		}
	}
	free(groups)
	if len(left) == 0 {
		return true
	}
	if e := c.flat(s, l); e != nil { // a fused loop: x // n and x % n are indices of two dimensions
		if g, ok := c.linear(e); ok {
			free([]linear{g})
		}
	}
	return len(left) == 0
}

// flat returns the index of an element in a compact buffer whose shape is constant except for the first dimension; nil
// for other buffers.
func (c *aliases) flat(s, l access) tir.Expr {
	b := s.buffer
	if len(b.Shape) < 2 || b.Strides != nil || len(s.indices) != len(b.Shape) {
		return nil
	}
	var sum tir.Expr
	for d, x := range s.indices {
		if !compare.Equal(x, l.indices[d]) {
			return nil
		}
		if d == 0 {
			sum = x
			continue
		}
		if x.DType().Lanes != 1 || sum.DType() != x.DType() || b.Shape[d].DType() != x.DType() {
			return nil
		}
		sum = tir.Add(tir.Mul(sum, b.Shape[d]), x)
	}
	return c.a.Simplify(sum)
}

// linear is a sum of variables of the function times constants, and of invariant terms.
type linear struct {
	vars  []*tir.Var
	coefs []int64
	lanes []int64 // extents of vectors: the step times the number of lanes - 1
}

// linear splits an index into such a sum; false if it is not one.
func (c *aliases) linear(e tir.Expr) (linear, bool) {
	var g linear
	if r, ok := e.(*tir.Ramp); ok {
		step, constant := r.Stride.(*tir.IntImm)
		if !constant || step.Value == 0 {
			return g, false
		}
		g.lanes = append(g.lanes, magnitude(step.Value)*int64(r.Lanes-1))
		e = r.Base
	}
	return g, c.addLinear(&g, e, 1)
}

// mostCoef limits coefficients, so that nothing overflows.
const mostCoef = 1 << 40

func magnitude(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func (c *aliases) addLinear(g *linear, e tir.Expr, coef int64) bool {
	if magnitude(coef) > mostCoef {
		return false
	}
	switch e := e.(type) {
	case *tir.Var:
		if !c.bound[e] {
			return true
		}
		for i, v := range g.vars {
			if v == e {
				g.coefs[i] += coef
				return true
			}
		}
		g.vars, g.coefs = append(g.vars, e), append(g.coefs, coef)
		return true
	case *tir.Cast:
		t := e.Value.DType()
		return tir.IsSigned(t) && tir.IsInt(e.Type) && e.Type.Bits >= t.Bits && c.addLinear(g, e.Value, coef)
	case *tir.Binary:
		switch e.Op {
		case tir.OpAdd:
			return c.addLinear(g, e.A, coef) && c.addLinear(g, e.B, coef)
		case tir.OpSub:
			return c.addLinear(g, e.A, coef) && c.addLinear(g, e.B, -coef)
		case tir.OpMul:
			if k, ok := e.B.(*tir.IntImm); ok && magnitude(k.Value) <= mostCoef/max(magnitude(coef), 1) {
				return c.addLinear(g, e.A, coef*k.Value)
			}
		}
	}
	return !transform.MayChange(e, func(v *tir.Var) bool { return c.bound[v] })
}

// pins returns the loops of left that two iterations with equal sums have in common. The step of each of their
// variables is greater than the sum of all smaller steps times their extents. The other loops of common are in the same
// iteration for both; nothing is known about variables that belong to none of these loops.
func (g linear) pins(left, common []*tir.For) []*tir.For {
	type part struct {
		loop *tir.For
		coef int64
	}
	var parts []part
	for i, v := range g.vars {
		has := func(x *tir.For) bool { return x.Var == v }
		switch at := slices.IndexFunc(left, has); {
		case g.coefs[i] == 0:
		case at >= 0:
			parts = append(parts, part{left[at], magnitude(g.coefs[i])})
		case !slices.ContainsFunc(common, has):
			return nil
		}
	}
	slices.SortFunc(parts, func(x, y part) int { return int(x.coef - y.coef) })
	reach := int64(0)
	for _, n := range g.lanes {
		reach += n
	}
	var all []*tir.For
	for i, p := range parts {
		if p.coef <= reach {
			return nil
		}
		all = append(all, p.loop)
		n, constant := p.loop.Extent.(*tir.IntImm)
		if i == len(parts)-1 {
			break
		}
		if !constant || n.Value > mostCoef/p.coef {
			return nil
		}
		reach += p.coef * max(n.Value-1, 0)
	}
	return all
}
