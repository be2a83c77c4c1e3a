package arith

import (
	"slices"

	"tvmgo/tir"
)

// sum is a sum of terms and a constant: the form in which index arithmetic is compared. A product of values that are
// not constant is one atom.
type sum struct {
	t     tir.Type
	terms []term // in the order of first occurrence; ids are unique, coefficients are not 0
	c     int64
	over  bool // overflow, or too many terms: the sum has no meaning
}

type term struct {
	coef int64
	atom tir.Expr
	id   int
}

const maxTerms = 2000

// collectMode says how the operands of a sum are processed.
type collectMode uint8

const (
	plainTerms collectMode = iota // unchanged
	simplified                    // simplified first
	// products of sums are expanded, and value-preserving casts ignored: for proofs, not for output
	mathematics
)

func (s *sum) addConst(v int64) {
	c, ok := addOK(s.c, v)
	s.c = c
	s.over = s.over || !ok
}

func (s *sum) addTerm(coef int64, atom tir.Expr, id int) {
	if coef == 0 {
		return
	}
	for i := range s.terms {
		if s.terms[i].id == id {
			c, ok := addOK(s.terms[i].coef, coef)
			s.over = s.over || !ok
			s.terms[i].coef = c
			if c == 0 {
				s.terms = slices.Delete(s.terms, i, i+1)
			}
			return
		}
	}
	if len(s.terms) >= maxTerms {
		s.over = true
		return
	}
	s.terms = append(s.terms, term{coef, atom, id})
}

// addScaled adds coef*x.
func (s *sum) addScaled(x sum, coef int64) {
	s.over = s.over || x.over
	for _, t := range x.terms {
		c, ok := mulOK(t.coef, coef)
		s.over = s.over || !ok
		s.addTerm(c, t.atom, t.id)
	}
	c, ok := mulOK(x.c, coef)
	s.over = s.over || !ok
	s.addConst(c)
}

func (s sum) clone() sum {
	s.terms = slices.Clone(s.terms)
	return s
}

func (s sum) plus(x sum) sum {
	r := s.clone()
	r.addScaled(x, 1)
	return r
}

func (s sum) minus(x sum) sum {
	r := s.clone()
	r.addScaled(x, -1)
	return r
}

func (s sum) plusConst(v int64) sum {
	r := s
	r.addConst(v)
	return r
}

func (s sum) scaled(c int64) sum {
	r := sum{t: s.t}
	r.addScaled(s, c)
	return r
}

func (s sum) negated() sum { return s.scaled(-1) }

func (s sum) coefOf(id int) int64 {
	for _, t := range s.terms {
		if t.id == id {
			return t.coef
		}
	}
	return 0
}

// size returns the number of summands.
func (s sum) size() int {
	if s.c != 0 {
		return len(s.terms) + 1
	}
	return len(s.terms)
}

// gcd returns the greatest common divisor of the coefficients; 0 if there are no terms.
func (s sum) gcd() int64 {
	g := int64(0)
	for _, t := range s.terms {
		g = gcd(g, t.coef)
	}
	return g
}

// divided divides the terms by g, which divides them exactly, and rounds the divided constant down.
func (s sum) divided(g int64) sum {
	r := sum{t: s.t, c: floorDiv(s.c, g), over: s.over}
	for _, t := range s.terms {
		r.terms = append(r.terms, term{t.coef / g, t.atom, t.id})
	}
	return r
}

// tightened returns a sum that is >= 0 exactly where s is, in lowest terms.
func (s sum) tightened() sum {
	if g := s.gcd(); g > 1 {
		return s.divided(g)
	}
	return s
}

// sumOf converts e, whose operands are already simplified, to a sum.
func (a *Analyzer) sumOf(e tir.Expr, t tir.Type) sum {
	s := sum{t: t}
	a.collect(&s, e, 1, plainTerms)
	return s
}

// sumExpanded converts e to a sum for proofs.
func (a *Analyzer) sumExpanded(e tir.Expr, t tir.Type) sum {
	s := sum{t: t}
	a.collect(&s, e, 1, mathematics)
	return s
}

// collect adds coef*e to s.
func (a *Analyzer) collect(s *sum, e tir.Expr, coef int64, mode collectMode) {
	if s.over {
		return
	}
	switch e := e.(type) {
	case *tir.IntImm:
		v, ok := mulOK(e.Value, coef)
		s.over = s.over || !ok
		s.addConst(v)
		return
	case *tir.Cast:
		if from := a.info(e.Value).t; mode == mathematics && isIndex(from) && typeRange(from).within(typeRange(e.Type)) &&
			isIndex(e.Type) {
			a.collect(s, e.Value, coef, mode)
			return
		}
	case *tir.Binary:
		if a.collectBinary(s, e, coef, mode) {
			return
		}
	}
	if mode == simplified {
		if r := a.simplify(e); r != e {
			a.collect(s, r, coef, plainTerms)
			return
		}
	}
	s.addTerm(coef, e, a.id(e))
}

func (a *Analyzer) collectBinary(s *sum, e *tir.Binary, coef int64, mode collectMode) bool {
	if e.Op > tir.OpMul || !isIndex(a.info(e).t) || a.info(e).flags&hasEffect != 0 {
		return false
	}
	if !a.spend() {
		s.over = true
		return true
	}
	if e.Op == tir.OpMul {
		x, y := e.A, e.B
		if _, ok := tir.IntValue(x); ok {
			x, y = y, x
		}
		if c, ok := tir.IntValue(y); ok {
			c, ok = mulOK(c, coef)
			s.over = s.over || !ok
			a.collect(s, x, c, mode)
			return true
		}
		a.collectProduct(s, e, coef, mode)
		return true
	}
	a.collect(s, e.A, coef, mode)
	if e.Op == tir.OpSub {
		s.over = s.over || coef == least
		coef = -coef
	}
	a.collect(s, e.B, coef, mode)
	return true
}

const maxExpanded = 24 // limit for the terms of an expanded product

func (a *Analyzer) collectProduct(s *sum, e *tir.Binary, coef int64, mode collectMode) {
	t := a.info(e).t
	x, y := sum{t: t}, sum{t: t}
	a.collect(&x, e.A, 1, mode)
	a.collect(&y, e.B, 1, mode)
	if mode == simplified { // terms of a factor merge whether or not the product is expanded
		x, y = a.recombine(x), a.recombine(y)
	}
	if x.over || y.over {
		s.over = true
		return
	}
	if len(y.terms) == 0 {
		x, y = y, x
	}
	if len(x.terms) == 0 { // the product is constant
		c, ok := mulOK(x.c, coef)
		s.over = s.over || !ok
		s.addScaled(y, c)
		return
	}
	if mode == mathematics && x.size()*y.size() <= maxExpanded {
		for _, p := range x.terms {
			for _, q := range y.terms {
				c, ok := mulOK(p.coef, q.coef)
				d, ok2 := mulOK(c, coef)
				s.over = s.over || !ok || !ok2
				a.addProduct(s, d, append(a.factorsAs(p.atom, t), a.factorsAs(q.atom, t)...), t)
			}
		}
		xc, ok := mulOK(x.c, coef)
		yc, ok2 := mulOK(y.c, coef)
		c, ok3 := mulOK(xc, y.c)
		s.over = s.over || !ok || !ok2 || !ok3
		x.c, y.c = 0, 0
		s.addScaled(x, yc)
		s.addScaled(y, xc)
		s.addConst(c)
		return
	}
	c := coef
	var all []tir.Expr
	for _, p := range []sum{x, y} {
		g := gcd(p.gcd(), p.c)
		if g > 1 {
			p = p.divided(g)
			var ok bool
			c, ok = mulOK(c, g)
			s.over = s.over || !ok
		}
		b := a.build(p)
		if b == nil {
			s.over = true
			return
		}
		all = append(all, a.factorsAs(b, t)...)
	}
	a.addProduct(s, c, all, t)
}

// factors returns the factors of a product.
func factors(e tir.Expr) []tir.Expr {
	if b, ok := e.(*tir.Binary); ok && b.Op == tir.OpMul {
		return append(factors(b.A), factors(b.B)...)
	}
	return []tir.Expr{e}
}

// factorsAs returns the factors of a product, converted to one type.
func (a *Analyzer) factorsAs(e tir.Expr, t tir.Type) []tir.Expr {
	all := factors(e)
	for i, f := range all {
		if a.info(f).t != t {
			all[i] = &tir.Cast{Type: t, Value: f}
		}
	}
	return all
}

// addProduct adds a term whose atom is a product of factors, in canonical order.
func (a *Analyzer) addProduct(s *sum, coef int64, all []tir.Expr, t tir.Type) {
	slices.SortStableFunc(all, func(x, y tir.Expr) int { return a.id(x) - a.id(y) })
	var p tir.Expr
	for _, f := range all {
		if c, ok := tir.IntValue(f); ok {
			coef, ok = mulOK(coef, c)
			s.over = s.over || !ok
			continue
		}
		if p == nil {
			p = f
		} else {
			p = &tir.Binary{Op: tir.OpMul, A: p, B: f}
		}
	}
	if p == nil {
		s.addConst(coef)
		return
	}
	if b, ok := p.(*tir.Binary); ok && b.Op == tir.OpMul {
		if _, known := a.ids[p]; !known {
			n := a.intern(a.productKey(p))
			a.ids[p] = n
			if a.exprs[n] == nil {
				a.exprs[n] = p
			}
		}
	}
	s.addTerm(coef, p, a.id(p))
}

// build converts a sum to an expression: added terms first, then subtracted ones, then the constant; nil if the type
// does not have a constant.
func (a *Analyzer) build(s sum) tir.Expr {
	r := typeRange(s.t)
	if s.over || !point(s.c).within(r) {
		return nil
	}
	var e tir.Expr
	join := func(op tir.BinaryOp, x tir.Expr) {
		if e == nil {
			e = x
		} else {
			e = &tir.Binary{Op: op, A: e, B: x}
		}
	}
	times := func(x tir.Expr, c int64) tir.Expr {
		if c == 1 {
			return x
		}
		return &tir.Binary{Op: tir.OpMul, A: x, B: makeInt(s.t, c)}
	}
	constLeft := s.c
	for _, t := range s.terms {
		if !point(t.coef).within(r) || t.coef == r.lo {
			return nil
		}
		if t.coef > 0 {
			join(tir.OpAdd, times(t.atom, t.coef))
		}
	}
	if e == nil && constLeft > 0 {
		e, constLeft = makeInt(s.t, constLeft), 0
	}
	for _, t := range s.terms {
		switch {
		case t.coef > 0:
		case e == nil:
			e = times(t.atom, t.coef)
		default:
			join(tir.OpSub, times(t.atom, -t.coef))
		}
	}
	switch {
	case e == nil:
		return makeInt(s.t, constLeft)
	case constLeft < 0 && constLeft != r.lo:
		join(tir.OpSub, makeInt(s.t, -constLeft))
	case constLeft != 0:
		join(tir.OpAdd, makeInt(s.t, constLeft))
	}
	return e
}

// asExpr converts a sum to an expression; it returns otherwise if that is not possible.
func (a *Analyzer) asExpr(s sum, otherwise tir.Expr) tir.Expr {
	if e := a.build(s); e != nil {
		return e
	}
	return otherwise
}
