package tir

import (
	"reflect"
	"slices"
)

// polynomial is a sum of products of atoms. An atom is a variable, or any other expression that is not a sum or
// product.
type polynomial []monomial

type monomial struct {
	atoms []int // numbers of atoms, sorted
	coef  int64
}

const (
	maxMonomials = 48
	maxCoef      = 1 << 40
)

// atom returns the number of an expression; equal expressions have the same number.
func (p *indexProof) atom(e Expr) int {
	for i, old := range p.atoms {
		if old == e {
			return i
		}
		if _, isVar := e.(*Var); !isVar && p.w.spend() && same(old, e) {
			return i
		}
	}
	p.atoms = append(p.atoms, e)
	return len(p.atoms) - 1
}

func constantPoly(n int64) polynomial {
	if n == 0 {
		return polynomial{}
	}
	return polynomial{{nil, n}}
}

// poly converts an expression to a polynomial; the result is false if that would be too large.
func (p *indexProof) poly(e Expr) (polynomial, bool) {
	if e == nil || !p.w.spend() {
		return nil, false
	}
	t := e.DType()
	switch x := e.(type) {
	case *IntImm:
		return constantPoly(x.Value), x.Value > -maxCoef && x.Value < maxCoef
	case *Cast: // of indices to a wider type
		if from := x.Value.DType(); (t == Int64 || t == Int32) && (from == t || from == Int32) {
			return p.poly(x.Value)
		}
	case *Binary:
		if t != Int32 && t != Int64 || x.Op > OpMul {
			break
		}
		a, ok := p.poly(x.A)
		b, fine := p.poly(x.B)
		switch {
		case !ok || !fine:
			return nil, false
		case x.Op == OpMul:
			return a.times(b)
		case x.Op == OpSub:
			b, _ = b.times(constantPoly(-1))
		}
		return a.plus(b)
	}
	return polynomial{{[]int{p.atom(e)}, 1}}, true
}

func (a polynomial) plus(b polynomial) (polynomial, bool) {
	out := slices.Clone(a)
	for _, m := range b {
		i := slices.IndexFunc(out, func(o monomial) bool { return slices.Equal(o.atoms, m.atoms) })
		if i < 0 {
			out = append(out, m)
			continue
		}
		out[i].coef += m.coef
		if out[i].coef > maxCoef || out[i].coef < -maxCoef {
			return nil, false
		}
	}
	out = slices.DeleteFunc(out, func(m monomial) bool { return m.coef == 0 })
	return out, len(out) <= maxMonomials
}

func (a polynomial) times(b polynomial) (polynomial, bool) {
	out, ok := polynomial{}, true
	for _, x := range a {
		for _, y := range b {
			c := satMul(x.coef, y.coef)
			if c > maxCoef || c < -maxCoef {
				return nil, false
			}
			atoms := append(slices.Clone(x.atoms), y.atoms...)
			slices.Sort(atoms)
			if out, ok = out.plus(polynomial{{atoms, c}}); !ok {
				return nil, false
			}
		}
	}
	return out, true
}

// spanOf returns a range that contains all values of a polynomial.
func (p *indexProof) spanOf(a polynomial) span {
	sum := span{}
	for _, m := range a {
		r := span{m.coef, m.coef}
		for _, atom := range m.atoms {
			r = r.mul(p.span(p.atoms[atom]))
		}
		sum = sum.add(r)
	}
	return sum
}

// split writes a polynomial as v*factor + rest; the result is false if v occurs in any other way.
func (p *indexProof) split(a polynomial, v *Var) (factor, rest polynomial, ok bool) {
	n := slices.Index(p.atoms, Expr(v))
	for i, e := range p.atoms {
		if i != n && e != Expr(v) && slices.Contains(variables(e, p.w.spend), v) {
			if slices.ContainsFunc(a, func(m monomial) bool { return slices.Contains(m.atoms, i) }) {
				return nil, nil, false
			}
		}
	}
	for _, m := range a {
		i := slices.Index(m.atoms, n)
		if n < 0 || i < 0 {
			rest = append(rest, m)
			continue
		}
		left := slices.Delete(slices.Clone(m.atoms), i, i+1)
		if slices.Contains(left, n) {
			return nil, nil, false
		}
		factor = append(factor, monomial{left, m.coef})
	}
	return factor, rest, true
}

// extreme replaces the variables of loops, from the innermost outwards, by the end of their range at which the
// polynomial is greatest (up) or least. It also returns which end that is for each variable (true: the last iteration).
// The result is false if that is not known.
func (p *indexProof) extreme(a polynomial, up bool) (polynomial, map[*Var]bool, bool) {
	ends := map[*Var]bool{}
	for i := len(p.enclosing) - 1; i >= 0; i-- {
		loop := p.enclosing[i].loop
		if loop == nil {
			continue
		}
		factor, rest, ok := p.split(a, loop.Var)
		if !ok {
			return nil, nil, false
		}
		if len(factor) == 0 {
			continue
		}
		sign := p.spanOf(factor)
		var last bool
		switch {
		case sign.lo >= 0:
			last = up
		case sign.hi <= 0:
			last = !up
		default:
			return nil, nil, false
		}
		end, ok := p.poly(p.plain(loop.Min))
		if n, fine := p.poly(p.plain(loop.Extent)); !ok || !fine {
			return nil, nil, false
		} else if last {
			if end, ok = end.plus(n); ok {
				end, ok = end.plus(constantPoly(-1))
			}
		}
		if !ok {
			return nil, nil, false
		}
		ends[loop.Var] = last
		if factor, ok = factor.times(end); !ok {
			return nil, nil, false
		}
		if a, ok = rest.plus(factor); !ok {
			return nil, nil, false
		}
	}
	return a, ends, true
}

// same reports whether two expressions that are evaluated at the same position are structurally equal. Two different
// lets are never the same.
func same(a, b Expr) bool {
	t := TypeOf(a)
	switch {
	case a == b:
		return true
	case IsNil(a) || IsNil(b) || t != TypeOf(b) || t == varNode || t == letNode || t == reduceNode || t == badNode:
		return false
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		switch x, y := f.In(a), f.In(b); f.part {
		case partExpr:
			if !same(*x.(*Expr), *y.(*Expr)) {
				return false
			}
		case partExprs:
			if !slices.EqualFunc(*x.(*[]Expr), *y.(*[]Expr), same) {
				return false
			}
		default:
			if list, ok := x.(*[]int); ok {
				if !slices.Equal(*list, *y.(*[]int)) {
					return false
				}
			} else if !reflect.ValueOf(x).Elem().Equal(reflect.ValueOf(y).Elem()) {
				return false
			}
		}
	}
	return true
}
