package arith

import (
	"slices"

	"tvmgo/tir"
)

// recombine merges terms of a sum. Each iteration leaves fewer terms, or smaller ones.
func (a *Analyzer) recombine(s sum) sum {
	for range 2*len(s.terms) + 4 {
		r, changed := a.recombineOnce(s)
		if !changed || r.over {
			break
		}
		s = r
	}
	if r, ok := a.sumShorter(s); ok {
		s = r
	}
	return s
}

func (a *Analyzer) recombineOnce(s sum) (sum, bool) {
	if s.over || len(s.terms) == 0 || !a.spend() {
		return s, false
	}
	for _, x := range s.terms {
		b, ok := x.atom.(*tir.Binary)
		if !ok {
			continue
		}
		var r sum
		switch b.Op {
		case tir.OpFloorMod:
			r, ok = a.recombineMod(s, x, b)
		case tir.OpFloorDiv:
			r, ok = a.recombineDiv(s, x, b)
		case tir.OpMin, tir.OpMax:
			r, ok = a.recombineMinMax(s, x, b)
		case tir.OpMul:
			r, ok = a.recombineProduct(s, x)
		default:
			ok = false
		}
		if ok {
			return r, true
		}
	}
	return s, false
}

// without returns s without the terms with these ids.
func (s sum) without(ids ...int) sum {
	r := s
	r.terms = nil
	for _, x := range s.terms {
		if !slices.Contains(ids, x.id) {
			r.terms = append(r.terms, x)
		}
	}
	return r
}

// has reports whether s contains the terms of x times coef, ignoring constants.
func (s sum) has(x sum, coef int64) bool {
	for _, t := range x.terms {
		c, ok := mulOK(t.coef, coef)
		if !ok || c == 0 || s.coefOf(t.id) != c {
			return false
		}
	}
	return !x.over && len(x.terms) > 0
}

// recombineMod merges the remainder x with the matching quotient.
func (a *Analyzer) recombineMod(s sum, x term, b *tir.Binary) (sum, bool) {
	n := a.sumOf(b.A, s.t)
	c, fixed := tir.IntValue(b.B)
	for _, y := range s.terms {
		d, ok := y.atom.(*tir.Binary)
		if !ok || !fixed || c == 0 || y.id == x.id {
			continue
		}
		whole, fits := mulOK(x.coef, c)
		if !fits || y.coef != whole {
			continue
		}
		e, by := tir.IntValue(d.B)
		switch {
		case d.Op == tir.OpFloorDiv && by && e == c && a.id(d.A) == a.id(b.A):
			a.hit(ruleDivMod)
			r := s.without(x.id, y.id)
			r.addScaled(n, x.coef)
			return r, true
		case d.Op == tir.OpFloorMod && by && e > 0 && c > 0:
			shift, is := a.quotientShift(d.A, n, c)
			if all, fits := mulOK(c, e); is && fits && point(all).within(typeRange(s.t)) {
				a.hit(ruleModLevels)
				r := s.without(x.id, y.id)
				m, _ := a.modConst(n.plusConst(shift), all)
				r.addScaled(m, x.coef)
				return r, true
			}
		}
	}
	if fixed && c > 0 && s.has(n, -x.coef) {
		whole, fits := mulOK(-x.coef, c)
		if fits && point(whole).within(typeRange(s.t)) {
			a.hit(ruleSubMod)
			r := s.without(x.id)
			r.addScaled(n, x.coef)
			q, _ := a.divConst(n, c)
			r.addScaled(q, whole)
			return r, true
		}
	}
	return s, false
}

// quotientShift returns the multiple m of c for which q is floordiv(n+m, c); false if there is none. The remainders of
// n and of n+m are equal.
func (a *Analyzer) quotientShift(q tir.Expr, n sum, c int64) (m int64, ok bool) {
	r, _ := a.divConst(n, c)
	difference := a.sumOf(q, n.t)
	difference.addScaled(r, -1)
	if difference.over || len(difference.terms) > 0 {
		return 0, false
	}
	return mulOK(difference.c, c)
}

// recombineDiv replaces x - (x/c)*c by a remainder, and (x/c)*c by its value if the remainder is known.
func (a *Analyzer) recombineDiv(s sum, x term, b *tir.Binary) (sum, bool) {
	c, fixed := tir.IntValue(b.B)
	if !fixed || c < 2 || x.coef%c != 0 {
		return s, false
	}
	n, k := a.sumOf(b.A, s.t), x.coef/c
	if m := a.sumModulus(n); m.coef%c == 0 {
		a.hit(ruleDivExact)
		r := s.without(x.id)
		r.addScaled(n.plusConst(-floorMod(m.base, c)), k)
		return r, true
	}
	if s.has(n, -k) {
		a.hit(ruleSubDiv)
		r := s.without(x.id)
		r.addScaled(n, k)
		m, _ := a.modConst(n, c)
		r.addScaled(m, -k)
		return r, true
	}
	return s, false
}

// recombineProduct replaces (x/n)*n + x%n by x.
func (a *Analyzer) recombineProduct(s sum, x term) (sum, bool) {
	all := factors(x.atom)
	for i, f := range all {
		d, ok := f.(*tir.Binary)
		if !ok || d.Op != tir.OpFloorDiv {
			continue
		}
		by := a.sumOf(d.B, s.t)
		if len(by.terms) != 1 || by.c != 0 {
			by = sum{t: s.t}
			by.addTerm(1, d.B, a.id(d.B))
		}
		p := sum{t: s.t}
		a.addProduct(&p, by.terms[0].coef, slices.Delete(slices.Clone(all), i, i+1), s.t)
		if len(p.terms) != 1 || p.terms[0].id != by.terms[0].id || by.terms[0].coef == 0 || x.coef%by.terms[0].coef != 0 {
			continue
		}
		k := x.coef / by.terms[0].coef
		for _, y := range s.terms {
			m, ok := y.atom.(*tir.Binary)
			if ok && m.Op == tir.OpFloorMod && y.coef == k && a.id(m.A) == a.id(d.A) && a.id(m.B) == a.id(d.B) {
				a.hit(ruleDivModSymbol)
				r := s.without(x.id, y.id)
				r.addScaled(a.sumOf(d.A, s.t), k)
				return r, true
			}
		}
	}
	return s, false
}

// recombineMinMax moves a term into min(x, y) if it cancels there.
func (a *Analyzer) recombineMinMax(s sum, x term, b *tir.Binary) (sum, bool) {
	if x.coef != 1 && x.coef != -1 {
		return s, false
	}
	left, right := a.sumOf(b.A, s.t), a.sumOf(b.B, s.t)
	rest, part := s.without(x.id), sum{t: s.t}
	for _, t := range rest.terms {
		if t.coef != least && (left.coefOf(t.id) == -t.coef*x.coef || right.coefOf(t.id) == -t.coef*x.coef) {
			part.addTerm(t.coef, t.atom, t.id)
		}
	}
	if len(part.terms) == 0 {
		return s, false
	}
	l, r := left.plus(part.scaled(x.coef)), right.plus(part.scaled(x.coef))
	others := rest.minus(part)
	if l.size()+r.size()+others.size() >= left.size()+right.size()+rest.size() {
		return s, false
	}
	le, re := a.build(l), a.build(r)
	if le == nil || re == nil {
		return s, false
	}
	a.hit(ruleSumMinMax)
	others.addScaled(a.sumOf(a.make(b.Op, le, re), s.t), x.coef)
	return others, true
}

// sumShorter expands products of sums if terms cancel.
func (a *Analyzer) sumShorter(s sum) (sum, bool) {
	products := 0
	for _, x := range s.terms {
		if b, ok := x.atom.(*tir.Binary); ok && b.Op == tir.OpMul {
			products++
		}
	}
	if products < 2 || s.over {
		return s, false
	}
	e := a.build(s)
	if e == nil {
		return s, false
	}
	r := a.sumPlain(a.sumExpanded(e, s.t), s.t)
	if r.over || r.size() >= s.size() {
		return s, false
	}
	a.hit(ruleSumExpand)
	return r, true
}
