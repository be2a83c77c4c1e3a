package arith

import "tvmgo/tir"

// compare simplifies comparisons of simplified scalars; nil if no rule applies.
func (a *Analyzer) compare(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	if truth, ok := a.decide(op, x, y, t); ok {
		a.hit(ruleCompareProved)
		return makeBool(truth, t)
	}
	if tir.IsBool(t) {
		return a.compareBool(op, x, y)
	}
	if !isIndex(t) {
		return nil
	}
	e := &tir.Binary{Op: op, A: x, B: y}
	r := a.ordered(op, a.sumOf(x, t).minus(a.sumOf(y, t)), t)
	if r == nil || sameShape(r, e, 0) {
		return nil
	}
	if _, done := tir.IntValue(r); !done {
		a.hit(ruleCompareOrder)
	}
	return r
}

// compareBool simplifies comparisons with a constant truth value.
func (a *Analyzer) compareBool(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	if _, ok := tir.IntValue(x); ok {
		x, y = y, x
	}
	c, ok := tir.IntValue(y)
	if !ok || op != tir.OpEQ && op != tir.OpNE {
		return nil
	}
	a.hit(ruleCompareOrder)
	if (c == 1) == (op == tir.OpEQ) {
		return x
	}
	return a.not(x)
}

// decide reports whether a comparison is always true or always false.
func (a *Analyzer) decide(op tir.BinaryOp, x, y tir.Expr, t tir.Type) (truth, ok bool) {
	if r := a.known[a.id(&tir.Binary{Op: op, A: x, B: y})]; r.lo == r.hi && r.lo == 1 {
		return true, true
	}
	if !tir.IsInt(t) && !tir.IsBool(t) {
		return false, false
	}
	switch op {
	case tir.OpGT:
		op, x, y = tir.OpLT, y, x
	case tir.OpGE:
		op, x, y = tir.OpLE, y, x
	}
	lessEqual := func(x, y tir.Expr, gap int64) bool { // x + gap <= y
		if isIndex(t) {
			return a.proveNonNegative(a.sumExpanded(y, t).minus(a.sumExpanded(x, t)).plusConst(-gap))
		}
		p, q := a.rangeOf(x), a.rangeOf(y)
		if p.hi == greatest || q.lo == least {
			return false
		}
		return q.lo > p.hi || gap == 0 && q.lo == p.hi
	}
	switch op {
	case tir.OpLT:
		if lessEqual(x, y, 1) {
			return true, true
		}
		return false, lessEqual(y, x, 0)
	case tir.OpLE:
		if lessEqual(x, y, 0) {
			return true, true
		}
		return false, lessEqual(y, x, 1)
	}
	if lessEqual(x, y, 1) || lessEqual(y, x, 1) || a.differ(x, y, t) {
		return op == tir.OpNE, true
	}
	return op == tir.OpEQ, lessEqual(x, y, 0) && lessEqual(y, x, 0)
}

// differ reports whether two numbers certainly have different remainders.
func (a *Analyzer) differ(x, y tir.Expr, t tir.Type) bool {
	if !isIndex(t) {
		return false
	}
	m := a.sumModulus(a.sumExpanded(x, t).minus(a.sumExpanded(y, t)))
	if m.base != 0 {
		a.hit(ruleCompareParity)
		return true
	}
	return false
}

// ordered returns the canonical form of the comparison of d with 0: added terms on the left, subtracted ones on the
// right, in lowest terms, with <, <=, == or !=, and >= only for a constant on the right. It returns nil if that form
// cannot be written.
func (a *Analyzer) ordered(op tir.BinaryOp, d sum, t tir.Type) tir.Expr {
	if d.over || len(d.terms) == 0 {
		return nil
	}
	if op == tir.OpEQ || op == tir.OpNE {
		if g := d.gcd(); g > 1 && d.c%g == 0 {
			a.hit(ruleCompareFactor)
			d = d.divided(g)
		}
		if d.terms[0].coef < 0 {
			d = d.negated()
		}
		left, right := d.sides()
		if d.c == least {
			return nil
		}
		return a.makeCompare(op, left, right.plusConst(-d.c))
	}
	switch op { // all in the form d <= 0
	case tir.OpLT:
		d = d.plusConst(1)
	case tir.OpGT:
		d = d.negated().plusConst(1)
	case tir.OpGE:
		d = d.negated()
	}
	d = a.reduceOrder(d)
	if d.over || d.c == least {
		return nil
	}
	left, right := d.sides()
	switch {
	case len(left.terms) == 0:
		return a.makeCompare(tir.OpGE, right, left.plusConst(d.c))
	case d.c == 0 && len(right.terms) > 0:
		return a.makeCompare(tir.OpLE, left, right)
	}
	return a.makeCompare(tir.OpLT, left, right.plusConst(-d.c).plusConst(1))
}

// sides separates added from subtracted terms, without the constant.
func (s sum) sides() (added, subtracted sum) {
	added, subtracted = sum{t: s.t, over: s.over}, sum{t: s.t, over: s.over}
	for _, x := range s.terms {
		if x.coef > 0 {
			added.terms = append(added.terms, x)
		} else {
			subtracted.over = subtracted.over || x.coef == least
			subtracted.terms = append(subtracted.terms, term{-x.coef, x.atom, x.id})
		}
	}
	return added, subtracted
}

func (a *Analyzer) makeCompare(op tir.BinaryOp, x, y sum) tir.Expr {
	l, r := a.build(x), a.build(y)
	if l == nil || r == nil {
		return nil
	}
	return &tir.Binary{Op: op, A: l, B: r}
}

// reduceOrder returns a simpler sum that is <= 0 exactly where d is: in lowest terms, and without terms too small to
// make a difference.
func (a *Analyzer) reduceOrder(d sum) sum {
	for range 8 {
		if d.over {
			return d
		}
		if g := d.gcd(); g > 1 && d.c != least {
			a.hit(ruleCompareFactor)
			d = d.negated().divided(g).negated() // S <= -c if and only if S/g <= floordiv(-c, g)
			continue
		}
		r, ok := a.dropLow(d)
		if !ok {
			r, ok = a.openQuotient(d)
		}
		if !ok {
			return d
		}
		d = r
	}
	return d
}

// dropLow replaces g*U + T <= c by U <= (c - t)/g, where t is the least value of T, if the greatest one gives the same
// quotient.
func (a *Analyzer) dropLow(d sum) (sum, bool) {
	for _, x := range d.terms {
		g := magnitudeOf(x.coef)
		if g < 2 || d.c == least {
			continue
		}
		d0 := d
		d0.c = 0
		high, low := d0.splitBy(g)
		r := a.sumRange(low)
		if len(low.terms) == 0 || !r.finite() || r.lo > r.hi {
			continue
		}
		limit, ok1 := addOK(-d.c, -r.lo)
		width, ok2 := addOK(r.hi, -r.lo)
		if !ok1 || !ok2 || width > floorMod(limit, g) {
			continue
		}
		a.hit(ruleCompareFactor)
		high.addConst(-floorDiv(limit, g))
		return high, true
	}
	return d, false
}

// openQuotient replaces x/c <= k by x <= k*c + c-1, and x/c >= k by x >= k*c.
func (a *Analyzer) openQuotient(d sum) (sum, bool) {
	if len(d.terms) != 1 || magnitudeOf(d.terms[0].coef) != 1 || d.c == least {
		return d, false
	}
	b, ok := d.terms[0].atom.(*tir.Binary)
	if !ok || b.Op != tir.OpFloorDiv {
		return d, false
	}
	c, fixed := tir.IntValue(b.B)
	if !fixed || c < 2 {
		return d, false
	}
	n := a.sumOf(b.A, d.t)
	var r sum
	if d.terms[0].coef == 1 { // x/c <= k
		m, fits := mulOK(-d.c, c)
		r = n.plusConst(-m).plusConst(1 - c)
		r.over = r.over || !fits
	} else { // -(x/c) + k <= 0
		m, fits := mulOK(d.c, c)
		r = n.negated().plusConst(m)
		r.over = r.over || !fits
	}
	if r.over || !point(r.c).within(typeRange(d.t)) {
		return d, false
	}
	a.hit(ruleCompareDiv)
	return r, true
}
