package te

import "tvmgo/tir"

// span is between what a value lies, both ends included; nil: not known.
type span struct{ lo, hi *poly }

func point(p poly) span { return span{&p, &p} }

func (s span) known() bool { return s.lo != nil && s.hi != nil }

func (s span) isPoint() bool { return s.known() && (s.lo == s.hi || s.lo.equal(*s.hi)) }

// spans says where variables lie; those that it does not know have one value that does not change.
type spans func(*tir.Var) (span, bool)

// spanOf is where a poly lies.
func (a *analyzer) spanOf(p poly, env spans) span {
	out := point(constPoly(p.typ, p.c))
	for _, t := range p.terms {
		s := a.spanOfTerm(p.typ, t, env)
		if t.coeff < 0 {
			s.lo, s.hi = s.hi, s.lo
		}
		out = span{addEnd(out.lo, s.lo, t.coeff), addEnd(out.hi, s.hi, t.coeff)}
	}
	return out
}

func addEnd(sum, end *poly, k int64) *poly {
	if sum == nil || end == nil {
		return nil
	}
	p := sum.plus(*end, k)
	return &p
}

// spanOfTerm is where the product of a term's factors lies.
func (a *analyzer) spanOfTerm(typ tir.Type, t term, env spans) span {
	out := point(constPoly(typ, 1))
	for i, f := range t.factors {
		s := a.spanOfFactor(f, env)
		if i == 0 {
			out = s
			continue
		}
		out = a.product(out, s)
	}
	return out
}

// product is known if neither factor is negative, or both are points.
func (a *analyzer) product(x, y span) span {
	times := func(p, q *poly) *poly {
		if p == nil || q == nil {
			return nil
		}
		if r, ok := p.times(*q); ok {
			return &r
		}
		return nil
	}
	if x.isPoint() && y.isPoint() {
		p := times(x.lo, y.lo)
		return span{p, p}
	}
	// A point of known sign goes with any span.
	if y.isPoint() {
		x, y = y, x
	}
	if x.isPoint() && a.plainlyNonNegative(*x.lo) {
		return span{times(x.lo, y.lo), times(x.lo, y.hi)}
	}
	if x.lo != nil && y.lo != nil && a.plainlyNonNegative(*x.lo) && a.plainlyNonNegative(*y.lo) {
		return span{times(x.lo, y.lo), times(x.hi, y.hi)}
	}
	return span{}
}

func (a *analyzer) spanOfFactor(f factor, env spans) span {
	if v, ok := f.expr.(*tir.Var); ok {
		if s, ok := env(v); ok {
			return s
		}
	}
	moves := func(v *tir.Var) bool { _, ok := env(v); return ok }
	if !mentions(f.expr, moves) {
		return point(poly{typ: f.expr.DType(), terms: []term{makeTerm(1, f)}})
	}
	of := func(e tir.Expr) span {
		if !isIndex(e.DType()) {
			return span{}
		}
		return a.spanOf(a.poly(e), env)
	}
	switch e := f.expr.(type) {
	case *tir.Cast:
		return mapSpan(of(e.Value), func(p poly) poly { return a.poly(tir.NewCast(e.Type, p.expr())) })
	case *tir.Select:
		return a.union(of(e.Then), of(e.Else))
	case *tir.Call:
		if e.Kind == tir.CallIntrinsic && e.Name == "if_then_else" {
			return a.union(of(e.Args[1]), of(e.Args[2]))
		}
	case *tir.Binary:
		return a.spanOfBinary(e.Op, of(e.A), of(e.B))
	}
	return span{}
}

func (a *analyzer) spanOfBinary(op tir.BinaryOp, x, y span) span {
	switch op {
	case tir.OpMin:
		out := span{both(x.lo, y.lo, a.minOf), both(x.hi, y.hi, a.minOf)}
		if out.hi == nil { // one of both is bound enough
			out.hi = either(x.hi, y.hi)
		}
		return out
	case tir.OpMax:
		out := span{both(x.lo, y.lo, a.maxOf), both(x.hi, y.hi, a.maxOf)}
		if out.lo == nil {
			out.lo = either(x.lo, y.lo)
		}
		return out
	case tir.OpAdd:
		return span{addEnd(x.lo, y.lo, 1), addEnd(x.hi, y.hi, 1)}
	case tir.OpSub:
		return span{addEnd(x.lo, y.hi, -1), addEnd(x.hi, y.lo, -1)}
	case tir.OpMul:
		return a.product(x, y)
	}
	if !y.isPoint() || !a.plainlyNonNegative(*y.lo) {
		return span{}
	}
	d := *y.lo
	if op == tir.OpMod && x.lo != nil && a.plainlyNonNegative(*x.lo) {
		op = tir.OpFloorMod
	}
	switch op {
	case tir.OpFloorDiv:
		return mapSpan(x, func(p poly) poly { return a.floorDiv(p, d) })
	case tir.OpFloorMod:
		if x.known() && a.floorDiv(*x.lo, d).equal(a.floorDiv(*x.hi, d)) {
			return mapSpan(x, func(p poly) poly { return a.floorMod(p, d) })
		}
		lo, hi := constPoly(d.typ, 0), d.plusConst(-1)
		return span{&lo, &hi}
	case tir.OpDiv: // rounds towards zero, and never turns back
		return mapSpan(x, func(p poly) poly { return a.poly(tir.Div(p.expr(), d.expr())) })
	case tir.OpMod:
		hi := d.plusConst(-1)
		lo := constPoly(d.typ, 0).plus(hi, -1)
		return span{&lo, &hi}
	}
	return span{}
}

func mapSpan(s span, f func(poly) poly) span {
	do := func(p *poly) *poly {
		if p == nil {
			return nil
		}
		q := f(*p)
		return &q
	}
	if s.lo == s.hi {
		p := do(s.lo)
		return span{p, p}
	}
	return span{do(s.lo), do(s.hi)}
}

func both(p, q *poly, f func(x, y poly) poly) *poly {
	if p == nil || q == nil {
		return nil
	}
	r := f(*p, *q)
	return &r
}

func either(p, q *poly) *poly {
	if p != nil {
		return p
	}
	return q
}

// union is the least span that has both.
func (a *analyzer) union(x, y span) span {
	if !x.known() || !y.known() {
		return span{}
	}
	return span{both(x.lo, y.lo, a.minOf), both(x.hi, y.hi, a.maxOf)}
}
