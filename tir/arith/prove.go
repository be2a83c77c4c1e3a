package arith

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// proveNonNegative reports whether a sum in mathematics mode is certainly at least 0.
func (a *Analyzer) proveNonNegative(s sum) bool {
	for depth := 1; depth <= proofDepth; depth++ { // try short proofs first
		a.attempts = maxAttempts
		if a.nonNegative(s, depth) {
			return true
		}
	}
	return false
}

// nonNegative tries the ranges of the terms, and then the facts: if x is a term of both s and a fact f, it eliminates
// x, and tries s*m - f*n instead of s. It starts with the term seen last, because inner loops are bounded by outer
// ones.
func (a *Analyzer) nonNegative(s sum, depth int) bool {
	if s.over {
		return false
	}
	if a.sumRange(s).lo >= 0 {
		return true
	}
	if depth == 0 || a.attempts <= 0 || !a.spend() || len(s.terms) == 0 {
		return false
	}
	s = s.tightened()
	key := s.key()
	if a.failed[key] >= depth {
		return false
	}
	a.attempts--
	if a.proveBeside(s, depth) {
		return true
	}
	a.failed[key] = depth
	return false
}

// proveBeside tries case distinctions and facts.
func (a *Analyzer) proveBeside(s sum, depth int) bool {
	terms := slices.Clone(s.terms)
	slices.SortFunc(terms, func(x, y term) int { return y.id - x.id })
	for _, x := range terms {
		if cases := a.cases(x); cases != nil {
			for _, c := range cases {
				rest := s.minus(sum{t: s.t, terms: []term{x}})
				rest.addScaled(c, x.coef)
				if !a.nonNegative(rest, depth-1) {
					return false
				}
			}
			return true
		}
	}
	for _, x := range terms {
		for _, f := range a.factsOf(x) {
			if c := f.coefOf(x.id); (c > 0) == (x.coef > 0) && c != 0 && c != least && x.coef != least {
				g := gcd(c, x.coef)
				rest := s.scaled(magnitudeOf(c / g))
				rest.addScaled(f, -magnitudeOf(x.coef/g))
				if a.nonNegative(rest.tightened(), depth-1) {
					return true
				}
			}
		}
	}
	return false
}

// cases returns the possible sums if the atom of x is a min, max or selection: one sum per operand.
func (a *Analyzer) cases(x term) []sum {
	switch e := x.atom.(type) {
	case *tir.Binary:
		if e.Op == tir.OpMin && x.coef > 0 || e.Op == tir.OpMax && x.coef < 0 {
			t := a.info(e).t
			return []sum{a.sumExpanded(e.A, t), a.sumExpanded(e.B, t)}
		}
	case *tir.Select:
		t := a.info(e).t
		return []sum{a.sumExpanded(e.Then, t), a.sumExpanded(e.Else, t)}
	}
	return nil
}

// factsOf returns the facts that mention the atom of x: stored ones, and those that follow from its operation.
func (a *Analyzer) factsOf(x term) []sum {
	var all []sum
	for _, f := range a.facts {
		if f.sum.coefOf(x.id) != 0 {
			all = append(all, f.sum)
		}
	}
	e, ok := x.atom.(*tir.Binary)
	if !ok {
		return all
	}
	t := a.info(e).t
	if !isIndex(t) {
		return all
	}
	self := sum{t: t, terms: []term{{1, e, x.id}}}
	switch e.Op {
	case tir.OpMul:
		all = a.factsOfProduct(all, e, t)
	case tir.OpMin:
		all = append(all, a.sumExpanded(e.A, t).minus(self), a.sumExpanded(e.B, t).minus(self))
	case tir.OpMax:
		all = append(all, self.minus(a.sumExpanded(e.A, t)), self.minus(a.sumExpanded(e.B, t)))
	case tir.OpFloorMod:
		n, d := a.sumExpanded(e.A, t), a.sumExpanded(e.B, t)
		if a.sumRange(d).lo >= 1 {
			all = append(all, d.minus(self).plusConst(-1))
			if a.sumRange(n).lo >= 0 {
				all = append(all, n.minus(self))
			}
		}
	case tir.OpFloorDiv:
		n, d := a.sumExpanded(e.A, t), a.sumExpanded(e.B, t)
		if a.sumRange(d).lo >= 1 {
			product := a.sumExpanded(&tir.Binary{Op: tir.OpMul, A: e, B: e.B}, t)
			rest := n.minus(product) // the remainder of the division
			all = append(all, rest, d.minus(rest).plusConst(-1))
		}
	}
	return all
}

// factsOfProduct appends the facts of each factor, multiplied by the other factors if these are not negative.
func (a *Analyzer) factsOfProduct(all []sum, e tir.Expr, t tir.Type) []sum {
	parts := factors(e)
	for i, f := range parts {
		var others tir.Expr
		for j, o := range parts {
			switch {
			case j == i:
			case others == nil:
				others = o
			default:
				others = &tir.Binary{Op: tir.OpMul, A: others, B: o}
			}
		}
		if others == nil || a.rangeOf(others).lo < 0 {
			continue
		}
		times := func(s sum) {
			if b := a.build(a.sumPlain(s, t)); b != nil {
				all = append(all, a.sumExpanded(&tir.Binary{Op: tir.OpMul, A: b, B: others}, t))
			}
		}
		x := a.sumExpanded(f, t)
		if r := a.rangeOf(f); r.lo != least && r.lo != typeRange(t).lo {
			times(x.plusConst(-r.lo))
		}
		if r := a.rangeOf(f); r.hi != greatest && r.hi != typeRange(t).hi {
			times(x.negated().plusConst(r.hi))
		}
		for _, known := range a.facts {
			if known.sum.coefOf(a.id(f)) != 0 {
				times(known.sum.as(t))
			}
		}
	}
	return all
}

func (s sum) as(t tir.Type) sum {
	s.t = t
	return s
}

// provedLE reports whether x <= y is certain, for index types.
func (a *Analyzer) provedLE(x, y tir.Expr, t tir.Type) bool {
	return a.proveNonNegative(a.sumExpanded(y, t).minus(a.sumExpanded(x, t)))
}

// ProveEqual reports whether two sizes are certain to be equal. Nothing is known about their variables.
func ProveEqual(a, b tir.Expr) bool {
	x, ok := a.(*tir.IntImm)
	if y, both := b.(*tir.IntImm); ok && both {
		return x.Value == y.Value
	}
	return compare.Equal(a, b) || NewAnalyzer().Prove(tir.EQ(a, b))
}
