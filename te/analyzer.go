package te

import "tvmgo/tir"

// analyzer simplifies expressions of whole numbers, and says between what they lie. It knows loops and sizes; those that it does not know may
// have any value.
type analyzer struct {
	loops map[*tir.Var]tir.Expr // how often a loop runs, from 0 on; free of variables of loops
	sizes map[*tir.Var]bool     // that are not negative
}

func newAnalyzer() *analyzer {
	return &analyzer{map[*tir.Var]tir.Expr{}, map[*tir.Var]bool{}}
}

// simplify is what can be done without knowing anything.
func simplify(e tir.Expr) tir.Expr { return newAnalyzer().simplify(e) }

// simplify makes an expression shorter, of whichever type.
func (a *analyzer) simplify(e tir.Expr) tir.Expr {
	m := &tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) {
		if isIndex(e.DType()) {
			return a.poly(e).expr(), true
		}
		return e, false
	}}
	return m.MutateExpr(e)
}

// inner simplifies the parts of an expression that stays.
func (a *analyzer) inner(e tir.Expr) tir.Expr {
	first := true
	m := &tir.Mutator{PreExpr: func(x tir.Expr) (tir.Expr, bool) {
		if first {
			first = false
			return x, false
		}
		if isIndex(x.DType()) {
			return a.poly(x).expr(), true
		}
		return x, false
	}}
	return m.MutateExpr(e)
}

// atom is an expression as the one factor of a poly.
func atom(e tir.Expr) poly {
	return poly{typ: e.DType(), terms: []term{makeTerm(1, factor{e, exprKey(e)})}}
}

// poly is an expression of type int32 or int64 as a poly. What goes beyond the type is not defined, so that order does not matter.
func (a *analyzer) poly(e tir.Expr) poly {
	switch e := e.(type) {
	case *tir.IntImm:
		return constPoly(e.Type, e.Value)
	case *tir.Binary:
		return a.binary(e)
	case *tir.Var:
		return atom(e)
	case *tir.Cast:
		if isIndex(e.Value.DType()) {
			if v := a.poly(e.Value); v.isConst() {
				return constPoly(e.Type, v.c)
			}
		}
	}
	return atom(a.inner(e))
}

func (a *analyzer) binary(e *tir.Binary) poly {
	x, y := a.poly(e.A), a.poly(e.B)
	switch e.Op {
	case tir.OpAdd:
		return x.plus(y, 1)
	case tir.OpSub:
		return x.plus(y, -1)
	case tir.OpMul:
		if p, ok := x.times(y); ok {
			return p
		}
	case tir.OpDiv:
		if a.nonNegative(x) && a.nonNegative(y) {
			return a.floorDiv(x, y)
		}
	case tir.OpMod:
		if a.nonNegative(x) && a.nonNegative(y) {
			return a.floorMod(x, y)
		}
	case tir.OpFloorDiv:
		return a.floorDiv(x, y)
	case tir.OpFloorMod:
		return a.floorMod(x, y)
	case tir.OpMin:
		return a.minOf(x, y)
	case tir.OpMax:
		return a.maxOf(x, y)
	}
	return atom(tir.NewBinary(e.Op, x.expr(), y.expr()))
}

func (a *analyzer) minOf(x, y poly) poly {
	switch d := y.plus(x, -1); {
	case a.nonNegative(d):
		return x
	case a.nonNegative(x.plus(y, -1)):
		return y
	}
	return atom(tir.Min(x.expr(), y.expr()))
}

func (a *analyzer) maxOf(x, y poly) poly {
	switch d := y.plus(x, -1); {
	case a.nonNegative(d):
		return y
	case a.nonNegative(x.plus(y, -1)):
		return x
	}
	return atom(tir.Max(x.expr(), y.expr()))
}

// divide splits x into d·q + r, such that d divides nothing of r; ok is false where d is no product that is known to be positive.
func (a *analyzer) divide(x, d poly) (q, r poly, ok bool) {
	q, r = constPoly(x.typ, 0), constPoly(x.typ, 0)
	if d.isConst() {
		if d.c <= 0 {
			return q, r, false
		}
		for _, t := range x.terms {
			part := poly{typ: x.typ, terms: []term{t}}
			if t.coeff%d.c == 0 {
				part.terms = []term{makeTerm(t.coeff/d.c, t.factors...)}
				q = q.plus(part, 1)
			} else {
				r = r.plus(part, 1)
			}
		}
		q.c = floorDivInt(x.c, d.c)
		r.c = x.c - q.c*d.c
		return q, r, true
	}
	if len(d.terms) != 1 || d.c != 0 || d.terms[0].coeff != 1 || !a.nonNegative(d) {
		return q, r, false
	}
	for _, t := range x.terms {
		if rest, ok := without(t, d.terms[0]); ok {
			if len(rest.factors) == 0 {
				q.c += rest.coeff
			} else {
				q = q.plus(poly{typ: x.typ, terms: []term{rest}}, 1)
			}
			continue
		}
		r = r.plus(poly{typ: x.typ, terms: []term{t}}, 1)
	}
	r.c = x.c
	return q, r, true
}

// without takes the factors of d out of t.
func without(t, d term) (term, bool) {
	left := append([]factor{}, t.factors...)
next:
	for _, f := range d.factors {
		for i, g := range left {
			if g.key == f.key {
				left = append(left[:i:i], left[i+1:]...)
				continue next
			}
		}
		return t, false
	}
	return makeTerm(t.coeff, left...), true
}

func (a *analyzer) floorDiv(x, d poly) poly {
	q, r, ok := a.divide(x, d)
	if !ok {
		return atom(tir.FloorDiv(x.expr(), d.expr()))
	}
	if a.within(r, d) {
		return q
	}
	if !d.isConst() && r.is(-1) { // a divisor is not 0, so that this one is 1 or more
		return q.plusConst(-1)
	}
	r, d, _ = shorten(r, d)
	return q.plus(atom(tir.FloorDiv(r.expr(), d.expr())), 1)
}

// shorten divides both by what all factors of r and the constant d have in common: floor((g·x+c) / (g·d)) is floor((x+floor(c/g)) / d).
func shorten(r, d poly) (poly, poly, int64) {
	if !d.isConst() {
		return r, d, 1
	}
	g := d.c
	for _, t := range r.terms {
		for c := t.coeff; c != 0; {
			g, c = c, g%c
		}
	}
	if g = max(g, -g); g <= 1 {
		return r, d, 1
	}
	out := constPoly(r.typ, floorDivInt(r.c, g))
	for _, t := range r.terms {
		out.terms = append(out.terms, makeTerm(t.coeff/g, t.factors...))
	}
	return out, constPoly(d.typ, d.c/g), g
}

func (a *analyzer) floorMod(x, d poly) poly {
	_, r, ok := a.divide(x, d)
	switch {
	case !ok:
		return atom(tir.FloorMod(x.expr(), d.expr()))
	case a.within(r, d):
		return r
	case !d.isConst() && r.is(-1):
		return d.plusConst(-1)
	}
	x, e, g := shorten(r, d)
	low := r.c - g*floorDivInt(r.c, g)
	return constPoly(r.typ, low).plus(atom(tir.FloorMod(x.expr(), e.expr())), g)
}

// within says whether 0 <= r < d is sure.
func (a *analyzer) within(r, d poly) bool {
	if r.is(0) {
		return true
	}
	if r.isConst() && d.isConst() {
		return r.c >= 0 && r.c < d.c
	}
	return a.nonNegative(r) && a.nonNegative(d.plus(r, -1).plusConst(-1))
}

func floorDivInt(x, d int64) int64 {
	q := x / d
	if x%d != 0 && (x < 0) != (d < 0) {
		q--
	}
	return q
}

// nonNegative says whether a poly is sure to be 0 or more.
func (a *analyzer) nonNegative(p poly) bool {
	if a.plainlyNonNegative(p) {
		return true
	}
	s := a.spanOf(p, a.loopSpan)
	return s.lo != nil && a.plainlyNonNegative(*s.lo)
}

// plainlyNonNegative looks at signs alone.
func (a *analyzer) plainlyNonNegative(p poly) bool {
	if p.c < 0 {
		return false
	}
	for _, t := range p.terms {
		if t.coeff < 0 {
			return false
		}
		for _, f := range t.factors {
			if !a.factorNonNegative(f.expr) {
				return false
			}
		}
	}
	return true
}

func (a *analyzer) factorNonNegative(e tir.Expr) bool {
	switch e := e.(type) {
	case *tir.Var:
		_, loop := a.loops[e]
		return loop || a.sizes[e]
	case *tir.Cast:
		return isIndex(e.Type) && isIndex(e.Value.DType()) && a.plainlyNonNegative(a.poly(e.Value))
	case *tir.Binary:
		x, y := func() bool { return a.plainlyNonNegative(a.poly(e.A)) }, func() bool { return a.plainlyNonNegative(a.poly(e.B)) }
		switch e.Op {
		case tir.OpFloorDiv, tir.OpMin, tir.OpMul, tir.OpAdd:
			return x() && y()
		case tir.OpFloorMod:
			return y()
		case tir.OpMax:
			return x() || y()
		}
	}
	return false
}

// loopSpan is where the variables of loops lie.
func (a *analyzer) loopSpan(v *tir.Var) (span, bool) {
	n, ok := a.loops[v]
	if !ok {
		return span{}, false
	}
	lo, hi := constPoly(v.Type, 0), a.poly(n).plusConst(-1)
	return span{&lo, &hi}, true
}

// free says whether no variable of a loop is in an expression.
func (a *analyzer) free(p poly) bool {
	for _, t := range p.terms {
		for _, f := range t.factors {
			if mentions(f.expr, func(v *tir.Var) bool { _, ok := a.loops[v]; return ok }) {
				return false
			}
		}
	}
	return true
}

// mentions says whether an expression has a variable of a set.
func mentions(e tir.Expr, in func(*tir.Var) bool) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		if v, ok := n.(*tir.Var); ok && in(v) {
			found = true
		}
		return !found
	})
	return found
}
