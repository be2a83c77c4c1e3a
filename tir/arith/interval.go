package arith

import "tvmgo/tir"

// Domain is the range of Extent integers from Min on.
type Domain struct{ Min, Extent tir.Expr }

// EvalInterval returns the least and the greatest value of e, of type int32 or int64, while the variables of domains
// are in their domains. The results are expressions of the other variables; nil means that no such bound is known. For
// sums of variables times constants the bounds are exact; otherwise they may be wider. The bounds assume that no domain
// is empty.
func (a *Analyzer) EvalInterval(e tir.Expr, domains map[*tir.Var]Domain) (least, greatest tir.Expr) {
	i := a.info(e)
	if isNil(e) || !isIndex(i.t) || i.flags&hasEffect != 0 {
		return nil, nil
	}
	a.begin()
	defer a.end()
	v := &evaluator{a: a, domains: domains, seen: map[tir.Expr]symbolic{}, free: map[tir.Expr]bool{}}
	a.push() // so that the domains help to simplify
	defer a.pop()
	for _, x := range v.order(e) {
		a.Bind(x, domains[x].Min, domains[x].Extent)
	}
	r := v.eval(a.simplify(e))
	return r.min, r.max
}

// symbolic is an interval whose ends are expressions; nil: unbounded.
type symbolic struct{ min, max tir.Expr }

type evaluator struct {
	a       *Analyzer
	domains map[*tir.Var]Domain
	seen    map[tir.Expr]symbolic
	free    map[tir.Expr]bool
}

// order returns the variables of domains in the order in which they occur, so that answers do not depend on the map's
// order.
func (v *evaluator) order(e tir.Expr) []*tir.Var {
	var all []*tir.Var
	done := map[tir.Expr]bool{}
	tir.Walk(e, func(n any) bool {
		x, isExpr := n.(tir.Expr)
		if isExpr && done[x] {
			return false
		}
		done[x] = true
		if y, ok := n.(*tir.Var); ok {
			if d, ok := v.domains[y]; ok && !isNil(d.Min) && !isNil(d.Extent) {
				all = append(all, y)
			}
		}
		return true
	})
	return all
}

// isFree reports whether e contains no variable of the domains.
func (v *evaluator) isFree(e tir.Expr) bool {
	if r, ok := v.free[e]; ok {
		return r
	}
	r := true
	switch e := e.(type) {
	case *tir.Var:
		_, in := v.domains[e]
		r = !in
	case *tir.Reduce, *tir.Let:
		r = false
	default:
		for _, p := range tir.ExprParts(e) {
			r = r && v.isFree(p)
		}
	}
	v.free[e] = r
	return r
}

func (v *evaluator) eval(e tir.Expr) symbolic {
	if r, ok := v.seen[e]; ok {
		return r
	}
	if v.isFree(e) {
		return symbolic{e, e}
	}
	if !v.a.spend() {
		return symbolic{}
	}
	v.a.depth++
	r := v.parts(e)
	v.a.depth--
	range_, t := v.a.rangeOf(e), v.a.info(e).t // constant bounds, where no symbolic ones are found
	if full := typeRange(t); r.min == nil && range_.lo != least && range_.lo != full.lo {
		r.min = makeInt(t, range_.lo)
	}
	if full := typeRange(t); r.max == nil && range_.hi != greatest && range_.hi != full.hi {
		r.max = makeInt(t, range_.hi)
	}
	v.seen[e] = r
	return r
}

func (v *evaluator) parts(e tir.Expr) symbolic {
	switch e := e.(type) {
	case *tir.Var:
		d := v.domains[e]
		d.Min, d.Extent = asType(d.Min, e.Type), asType(d.Extent, e.Type)
		if v.a.info(d.Min).t != e.Type || v.a.info(d.Extent).t != e.Type || !v.isFree(d.Min) || !v.isFree(d.Extent) {
			return symbolic{}
		}
		low := v.a.simplify(d.Min)
		last := tir.Expr(&tir.Binary{Op: tir.OpSub, A: &tir.Binary{Op: tir.OpAdd, A: low, B: d.Extent},
			B: makeInt(e.Type, 1)})
		return symbolic{low, v.a.simplify(last)}
	case *tir.Select:
		return v.either(v.eval(e.Then), v.eval(e.Else))
	case *tir.Cast:
		from := v.a.info(e.Value).t
		if isIndex(from) && isIndex(e.Type) && typeRange(from).within(typeRange(e.Type)) {
			r := v.eval(e.Value)
			return symbolic{v.cast(r.min, e.Type), v.cast(r.max, e.Type)}
		}
	case *tir.Call:
		if e.Kind == tir.CallIntrinsic && e.Name == "if_then_else" && isIndex(e.Type) {
			return v.either(v.eval(e.Args[1]), v.eval(e.Args[2]))
		}
	case *tir.Binary:
		return v.binary(e)
	}
	return symbolic{}
}

func (v *evaluator) cast(e tir.Expr, t tir.Type) tir.Expr {
	if e == nil {
		return nil
	}
	return v.a.cast(t, e, nil)
}

// op applies an operation; the result is nil if an operand is nil.
func (v *evaluator) op(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	if x == nil || y == nil {
		return nil
	}
	return v.a.make(op, x, y)
}

func (v *evaluator) either(x, y symbolic) symbolic {
	return symbolic{v.op(tir.OpMin, x.min, y.min), v.op(tir.OpMax, x.max, y.max)}
}

func (v *evaluator) binary(e *tir.Binary) symbolic {
	t := v.a.info(e).t
	if !isIndex(t) {
		return symbolic{}
	}
	if e.Op <= tir.OpMul {
		return v.sum(e, t)
	}
	x, y := v.eval(e.A), v.eval(e.B)
	switch e.Op {
	case tir.OpMin, tir.OpMax:
		r := symbolic{v.op(e.Op, x.min, y.min), v.op(e.Op, x.max, y.max)}
		if e.Op == tir.OpMin && r.max == nil { // one bound is enough
			r.max = first(x.max, y.max)
		}
		if e.Op == tir.OpMax && r.min == nil {
			r.min = first(x.min, y.min)
		}
		return r
	case tir.OpFloorDiv, tir.OpDiv:
		if v.isFree(e.B) {
			switch sign := v.a.rangeOf(e.B); {
			case sign.lo >= 1:
				return symbolic{v.op(e.Op, x.min, e.B), v.op(e.Op, x.max, e.B)}
			case sign.hi <= -1:
				return symbolic{v.op(e.Op, x.max, e.B), v.op(e.Op, x.min, e.B)}
			}
		}
	case tir.OpFloorMod:
		return v.floorMod(x, y, t)
	case tir.OpMod:
		if y.max != nil && v.a.rangeOf(e.A).lo >= 0 {
			return v.floorMod(x, y, t)
		}
	}
	return symbolic{}
}

func first(x, y tir.Expr) tir.Expr {
	if x == nil {
		return y
	}
	return x
}

// floorMod returns the remainders of x divided by y, if y is positive.
func (v *evaluator) floorMod(x, y symbolic, t tir.Type) symbolic {
	if y.min == nil || v.a.rangeOf(y.min).lo < 1 {
		return symbolic{}
	}
	zero := makeInt(t, 0)
	if x.min != nil && x.max != nil && v.a.provedLE(zero, x.min, t) &&
		v.a.provedLE(v.op(tir.OpAdd, x.max, makeInt(t, 1)), y.min, t) {
		return x
	}
	return symbolic{zero, v.op(tir.OpSub, y.max, makeInt(t, 1))}
}

// sum adds up the bounds of the terms.
func (v *evaluator) sum(e tir.Expr, t tir.Type) symbolic {
	s := v.a.sumOf(e, t)
	if s.over {
		return symbolic{}
	}
	low, high := sum{t: t, c: s.c}, sum{t: t, c: s.c}
	lowOK, highOK := true, true
	for _, x := range s.terms {
		r := v.atom(x.atom, t)
		if x.coef < 0 {
			r.min, r.max = r.max, r.min
		}
		if lowOK = lowOK && r.min != nil; lowOK {
			v.a.collect(&low, r.min, x.coef, plainTerms)
		}
		if highOK = highOK && r.max != nil; highOK {
			v.a.collect(&high, r.max, x.coef, plainTerms)
		}
	}
	r := symbolic{}
	if lowOK {
		r.min = v.a.build(v.a.recombine(low))
	}
	if highOK {
		r.max = v.a.build(v.a.recombine(high))
	}
	return r
}

// atom bounds a term: a product, or anything else.
func (v *evaluator) atom(e tir.Expr, t tir.Type) symbolic {
	b, ok := e.(*tir.Binary)
	if !ok || b.Op != tir.OpMul {
		return v.eval(e)
	}
	if v.isFree(e) {
		return symbolic{e, e}
	}
	free := tir.Expr(nil)
	var bound []tir.Expr
	for _, f := range factors(e) {
		switch {
		case !v.isFree(f):
			bound = append(bound, f)
		case free == nil:
			free = f
		default:
			free = &tir.Binary{Op: tir.OpMul, A: free, B: f}
		}
	}
	if len(bound) != 1 || free == nil {
		return symbolic{}
	}
	r := v.eval(bound[0])
	switch sign := v.a.rangeOf(free); {
	case sign.lo >= 0:
	case sign.hi <= 0:
		r.min, r.max = r.max, r.min
	default:
		return symbolic{}
	}
	return symbolic{v.op(tir.OpMul, r.min, free), v.op(tir.OpMul, r.max, free)}
}
