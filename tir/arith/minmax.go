package arith

import "tvmgo/tir"

const maxOperands = 8 // limit for the pairwise comparison of the operands of a min or max

// minMax simplifies min and max of simplified scalar integers; nil if no rule applies.
func (a *Analyzer) minMax(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	if r := a.chosen(op, x, y, t); r != nil {
		a.hit(ruleMinMaxProved)
		return r
	}
	if !isIndex(t) {
		return nil
	}
	if r := a.flatMinMax(op, x, y, t); r != nil {
		return r
	}
	p, q := a.sumOf(x, t), a.sumOf(y, t)
	if p.over || q.over {
		return nil
	}
	common := sum{t: t}
	for _, z := range p.terms {
		if q.coefOf(z.id) == z.coef {
			common.addTerm(z.coef, z.atom, z.id)
		}
	}
	if p.c == q.c {
		common.c = p.c
	}
	if common.size() > 0 {
		l, r := a.build(p.minus(common)), a.build(q.minus(common))
		if l == nil || r == nil {
			return nil
		}
		a.hit(ruleMinMaxCommon)
		common.addScaled(a.sumOf(a.make(op, l, r), t), 1)
		return a.build(a.recombine(common))
	}
	g := gcd(gcd(p.gcd(), p.c), gcd(q.gcd(), q.c))
	if g < 2 {
		return nil
	}
	l, r := a.build(p.divided(g)), a.build(q.divided(g))
	if l == nil || r == nil {
		return nil
	}
	a.hit(ruleMinMaxFactor)
	return a.build(a.sumOf(a.make(op, l, r), t).scaled(g))
}

// chosen returns the operand that is certainly the result, or nil.
func (a *Analyzer) chosen(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	if truth, ok := a.decide(tir.OpLE, x, y, t); ok {
		if truth == (op == tir.OpMin) {
			return x
		}
		return y
	}
	if truth, ok := a.decide(tir.OpLE, y, x, t); ok && truth {
		if op == tir.OpMin {
			return y
		}
		return x
	}
	return nil
}

// flatMinMax removes redundant operands of nested operations; nil if there are none.
func (a *Analyzer) flatMinMax(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	var all []tir.Expr
	var spread func(e tir.Expr)
	spread = func(e tir.Expr) {
		if b, ok := e.(*tir.Binary); ok && b.Op == op && len(all) <= maxOperands {
			spread(b.A)
			spread(b.B)
			return
		}
		all = append(all, e)
	}
	spread(x)
	spread(y)
	if len(all) == 2 || len(all) > maxOperands {
		return nil
	}
	var kept []tir.Expr
next:
	for _, e := range all {
		for i, k := range kept {
			if r := a.chosen(op, k, e, t); r != nil {
				kept[i] = r
				continue next
			}
			if c, ok := tir.IntValue(k); ok { // merge constants
				if d, ok := tir.IntValue(e); ok {
					kept[i] = makeInt(t, min(c, d))
					if op == tir.OpMax {
						kept[i] = makeInt(t, max(c, d))
					}
					continue next
				}
			}
		}
		kept = append(kept, e)
	}
	if len(kept) == len(all) {
		return nil
	}
	a.hit(ruleMinMaxFlat)
	r := kept[0]
	for _, e := range kept[1:] {
		r = &tir.Binary{Op: op, A: r, B: e}
	}
	return r
}
