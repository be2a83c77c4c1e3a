package arith

import (
	"slices"

	"tvmgo/tir"
)

// divide simplifies divisions of index types; nil if no rule applies.
func (a *Analyzer) divide(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	c, fixed := tir.IntValue(y)
	if op == tir.OpDiv || op == tir.OpMod {
		return a.truncated(op, x, y, t)
	}
	if fixed && (c == 0 || c == least) {
		return nil
	}
	s := a.sumOf(x, t)
	if s.over {
		return nil
	}
	var r sum
	changed := false
	switch {
	case !fixed && op == tir.OpFloorDiv:
		r, changed = a.divSymbol(s, x, y, t, false)
	case !fixed:
		r, changed = a.divSymbol(s, x, y, t, true)
	case op == tir.OpFloorDiv:
		r, changed = a.divConst(s, c)
	default:
		r, changed = a.modConst(s, c)
	}
	if !changed {
		return nil
	}
	return a.build(a.recombine(r))
}

// truncated simplifies divisions that round towards zero.
func (a *Analyzer) truncated(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	n, d := a.rangeOf(x), a.rangeOf(y)
	if n.lo >= 0 && d.lo >= 1 {
		a.hit(ruleTruncToFloor)
		if op == tir.OpDiv {
			return a.make(tir.OpFloorDiv, x, y)
		}
		return a.make(tir.OpFloorMod, x, y)
	}
	c, fixed := tir.IntValue(y)
	if !fixed || c == 0 || c == least {
		return nil
	}
	s := a.sumOf(x, t)
	if s.over || s.c == least || s.c%c != 0 || s.gcd()%c != 0 || len(s.terms) == 0 {
		return nil
	}
	a.hit(ruleTruncExact)
	if op == tir.OpMod {
		return makeInt(t, 0)
	}
	return a.build(s.divided(c))
}

// bucket returns floordiv(s, c) if all values of s have the same quotient.
func (a *Analyzer) bucket(s sum, c int64) (int64, bool) {
	r := a.sumRange(s)
	if r.finite() && r.lo <= r.hi && floorDiv(r.lo, c) == floorDiv(r.hi, c) {
		return floorDiv(r.lo, c), true
	}
	if len(a.facts) == 0 {
		return 0, false
	}
	x := a.build(s)
	if x == nil {
		return 0, false
	}
	s = a.sumExpanded(x, s.t)
	return 0, a.proveNonNegative(s) && a.proveNonNegative(s.negated().plusConst(c-1))
}

// splitBy splits s into g*high and low. low has no term that g divides, and its constant is in [0, g).
func (s sum) splitBy(g int64) (high, low sum) {
	high, low = sum{t: s.t, c: floorDiv(s.c, g)}, sum{t: s.t, c: floorMod(s.c, g)}
	for _, x := range s.terms {
		if x.coef%g == 0 {
			high.terms = append(high.terms, term{x.coef / g, x.atom, x.id})
		} else {
			low.terms = append(low.terms, x)
		}
	}
	return high, low
}

// splits returns the common divisors of c and a coefficient of s, except 1 and c, greatest first.
func (s sum) splits(c int64) []int64 {
	var all []int64
	for _, x := range s.terms {
		if g := gcd(x.coef, c); g > 1 && g < c {
			all = append(all, g)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return slices.Compact(all)
}

// divConst returns floordiv(s, c).
func (a *Analyzer) divConst(s sum, c int64) (sum, bool) {
	if c < 0 {
		a.hit(ruleNegDivisor)
		s, c = s.negated(), -c
		if s.over {
			return s, false
		}
		r, _ := a.divConst(s, c)
		return r, true
	}
	if c == 1 {
		return s, true
	}
	q, low := s.splitBy(c)
	changed := len(q.terms) > 0 || q.c != 0
	if changed {
		a.hit(ruleDivTerms)
	}
	r, more := a.divLow(low, c)
	return q.plus(r), changed || more
}

// divLow returns floordiv(s, c) where c divides no term of s.
func (a *Analyzer) divLow(s sum, c int64) (sum, bool) {
	zero := sum{t: s.t}
	if k, ok := a.bucket(s, c); ok {
		a.hit(ruleDivRange)
		return zero.plusConst(k), true
	}
	if !a.spend() {
		return a.keepDiv(s, c), false
	}
	for _, g := range s.splits(c) {
		high, low := s.splitBy(g)
		if k, ok := a.bucket(low, g); ok {
			a.hit(ruleDivFactor)
			r, _ := a.divConst(high.plusConst(k), c/g)
			return r, true
		}
	}
	if len(s.terms) == 1 && s.terms[0].coef == 1 {
		if inner, ok := s.terms[0].atom.(*tir.Binary); ok {
			d, fixed := tir.IntValue(inner.B)
			product, fits := mulOK(c, d)
			fits = fits && point(product).within(typeRange(s.t))
			switch {
			case fixed && d > 0 && fits && inner.Op == tir.OpFloorDiv:
				x := a.sumOf(inner.A, s.t)
				shift, ok := mulOK(s.c, d)
				if x.addConst(shift); ok && !x.over {
					a.hit(ruleDivNested)
					r, _ := a.divConst(x, product)
					return r, true
				}
			case fixed && d > 0 && d%c == 0 && inner.Op == tir.OpFloorMod && s.c == 0:
				a.hit(ruleDivOfMod)
				x, _ := a.divConst(a.sumOf(inner.A, s.t), c)
				r, _ := a.modConst(x, d/c)
				return r, true
			}
		}
	}
	return a.keepDiv(s, c), false
}

// keepDiv returns a division that cannot be simplified.
func (a *Analyzer) keepDiv(s sum, c int64) sum { return a.keep(tir.OpFloorDiv, s, makeInt(s.t, c)) }

func (a *Analyzer) keep(op tir.BinaryOp, s sum, by tir.Expr) sum {
	r := sum{t: s.t}
	x := a.build(s)
	if x == nil {
		r.over = true
		return r
	}
	e := &tir.Binary{Op: op, A: x, B: by}
	r.addTerm(1, e, a.id(e))
	return r
}

// modConst returns floormod(s, c).
func (a *Analyzer) modConst(s sum, c int64) (sum, bool) {
	if c < 0 {
		a.hit(ruleNegDivisor)
		s = s.negated()
		if s.over {
			return s, false
		}
		r, _ := a.modConst(s, -c)
		return r.negated(), true
	}
	if c == 1 {
		return sum{t: s.t}, true
	}
	s, opened := a.openMods(s, c)
	q, low := s.splitBy(c)
	changed := len(q.terms) > 0 || q.c != 0
	if changed {
		a.hit(ruleModTerms)
	}
	r, more := a.modLow(low, c)
	return r, opened || changed || more
}

// openMods expands remainders within s if that does not change the remainder of s.
func (a *Analyzer) openMods(s sum, c int64) (sum, bool) {
	r, changed := sum{t: s.t, c: s.c}, false
	for _, x := range s.terms {
		if b, ok := x.atom.(*tir.Binary); ok && b.Op == tir.OpFloorMod {
			if d, fixed := tir.IntValue(b.B); fixed && d != 0 {
				if whole, fits := mulOK(x.coef, d); fits && whole%c == 0 {
					a.hit(ruleModNested)
					r.addScaled(a.sumOf(b.A, s.t), x.coef)
					changed = true
					continue
				}
			}
		}
		r.addTerm(x.coef, x.atom, x.id)
	}
	if r.over {
		return s, false
	}
	return r, changed
}

// modLow returns floormod(s, c) where c divides no term of s.
func (a *Analyzer) modLow(s sum, c int64) (sum, bool) {
	if k, ok := a.bucket(s, c); ok {
		a.hit(ruleModRange)
		shift, fits := mulOK(-k, c)
		r := s.plusConst(shift)
		r.over = r.over || !fits
		return r, true
	}
	if m := a.sumModulus(s); m.coef%c == 0 {
		a.hit(ruleModKnown)
		return sum{t: s.t, c: floorMod(m.base, c)}, true
	}
	if !a.spend() {
		return a.keep(tir.OpFloorMod, s, makeInt(s.t, c)), false
	}
	for _, g := range s.splits(c) {
		high, low := s.splitBy(g)
		if k, ok := a.bucket(low, g); ok {
			a.hit(ruleModFactor)
			r, _ := a.modConst(high.plusConst(k), c/g)
			low.addConst(-k * g)
			return r.scaled(g).plus(low), true
		}
	}
	return a.keep(tir.OpFloorMod, s, makeInt(s.t, c)), false
}

// divSymbol returns floordiv(s, y), or floormod, for a divisor that is not constant.
func (a *Analyzer) divSymbol(s sum, x, y tir.Expr, t tir.Type, mod bool) (sum, bool) {
	zero := sum{t: t}
	divide, op := ruleDivSymbol, tir.OpFloorDiv
	if mod {
		divide, op = ruleModSymbol, tir.OpFloorMod
	}
	if a.id(x) == a.id(y) {
		a.hit(divide)
		if mod {
			return zero, true
		}
		return zero.plusConst(1), true
	}
	by := a.sumExpanded(y, t)
	for _, form := range []sum{s, a.sumPlain(a.sumExpanded(x, t), t)} {
		if form.over {
			continue
		}
		q, rest := a.splitSymbol(form, y, t)
		small := a.sumExpanded(a.asExpr(rest, x), t)
		if a.proveNonNegative(small) && a.proveNonNegative(by.minus(small).plusConst(-1)) {
			a.hit(divide)
			if mod {
				return rest, true
			}
			return q, true
		}
		if len(q.terms) == 0 && q.c == 0 {
			continue
		}
		a.hit(divide)
		r := zero
		if rest.size() > 0 {
			r = a.keep(op, rest, y)
		}
		if !mod {
			r = q.plus(r)
		}
		return r, true
	}
	return zero, false
}

// sumPlain converts a sum in mathematics mode to one of a single type, which build accepts.
func (a *Analyzer) sumPlain(s sum, t tir.Type) sum {
	for _, x := range s.terms {
		if a.info(x.atom).t != t {
			s.over = true
		}
	}
	return s
}

// splitSymbol splits s into y*high and the rest: high has the terms that contain y as a factor.
func (a *Analyzer) splitSymbol(s sum, y tir.Expr, t tir.Type) (high, rest sum) {
	high, rest = sum{t: t}, sum{t: t, c: s.c}
	d := a.sumOf(y, t)
	coef, all := int64(1), []tir.Expr{y}
	if len(d.terms) == 1 && d.c == 0 && !d.over {
		coef, all = d.terms[0].coef, factors(d.terms[0].atom)
	}
	for _, x := range s.terms {
		left := factors(x.atom)
		divides := x.coef%coef == 0
		for _, f := range all {
			at := slices.IndexFunc(left, func(l tir.Expr) bool { return a.id(l) == a.id(f) })
			if at < 0 {
				divides = false
				break
			}
			left = slices.Delete(left, at, at+1)
		}
		if divides {
			a.addProduct(&high, x.coef/coef, left, t)
		} else {
			rest.addTerm(x.coef, x.atom, x.id)
		}
	}
	return high, rest
}
