package arith

import (
	"slices"

	"tvmgo/tir"
)

// fact states that a sum is at least 0.
type fact struct{ sum sum }

// learn narrows the range of the expression with this id.
func (a *Analyzer) learn(id int, r interval) {
	old, had := a.known[id]
	if had {
		r = r.intersect(old)
	}
	a.known[id] = r
	a.later(func() {
		if had {
			a.known[id] = old
		} else {
			delete(a.known, id)
		}
	})
}

func (a *Analyzer) setValue(v *tir.Var, value tir.Expr) {
	a.values[v] = value
	a.later(func() { delete(a.values, v) })
}

func (a *Analyzer) addFact(s sum) {
	if s.over || len(s.terms) == 0 {
		return
	}
	s = s.tightened()
	if len(s.terms) == 1 { // c*x + d >= 0
		x := s.terms[0]
		if x.coef > 0 {
			a.learn(x.id, interval{-floorDiv(s.c, x.coef), greatest})
		} else if x.coef != least {
			a.learn(x.id, interval{least, floorDiv(s.c, -x.coef)})
		}
		return
	}
	old := a.facts
	a.facts = append(old, fact{s}) // may overwrite what follows old: that has been undone
	a.later(func() { a.facts = old })
}

// forget drops the facts about a variable and about all expressions that contain it.
func (a *Analyzer) forget(v *tir.Var) {
	if old, had := a.values[v]; had {
		delete(a.values, v)
		a.later(func() { a.values[v] = old })
	}
	for other, value := range a.values {
		if a.mentions(value, v) {
			delete(a.values, other)
			a.later(func() { a.values[other] = value })
		}
	}
	if _, seen := a.ids[v]; !seen {
		return
	}
	for id, old := range a.known {
		if e := a.exprs[id]; e == nil || a.mentions(e, v) {
			delete(a.known, id)
			a.later(func() { a.known[id] = old })
		}
	}
	for id, old := range a.mods {
		if e := a.exprs[id]; e == nil || a.mentions(e, v) {
			delete(a.mods, id)
			a.later(func() { a.mods[id] = old })
		}
	}
	var kept []fact
	for _, f := range a.facts {
		if !f.mentions(a, v) {
			kept = append(kept, f)
		}
	}
	if old := a.facts; len(kept) != len(old) {
		a.facts = kept
		a.later(func() { a.facts = old })
	}
}

func (f fact) mentions(a *Analyzer, v *tir.Var) bool {
	for _, t := range f.sum.terms {
		if a.mentions(t.atom, v) {
			return true
		}
	}
	return false
}

// mentions reports whether v occurs in e. It visits shared subexpressions once.
func (a *Analyzer) mentions(e tir.Expr, v *tir.Var) bool {
	found, seen := false, map[tir.Expr]bool{}
	tir.Walk(e, func(n any) bool {
		x, isExpr := n.(tir.Expr)
		if found || isExpr && seen[x] {
			return false
		}
		seen[x] = true
		vars, _ := tir.Named(n)
		found = x == tir.Expr(v) || slices.Contains(vars, v)
		return true
	})
	return found
}

// assume adds the fact that cond holds.
func (a *Analyzer) assume(cond tir.Expr) {
	i := a.info(cond)
	if i.flags&(hasEffect|readsMemory|malformed) != 0 || i.t != tir.Bool {
		return
	}
	a.begin()
	defer a.end()
	a.assumeTruth(cond, true)
}

func (a *Analyzer) assumeTruth(cond tir.Expr, truth bool) {
	if !a.spend() {
		return
	}
	a.depth++
	defer func() { a.depth-- }()
	if truth {
		a.learn(a.id(cond), point(1))
	} else {
		a.learn(a.id(cond), point(0))
	}
	switch e := cond.(type) {
	case *tir.Not:
		a.assumeTruth(e.A, !truth)
	case *tir.Call:
		if e.Kind == tir.CallIntrinsic && e.Name == "likely" {
			a.assumeTruth(e.Args[0], truth)
		}
	case *tir.Binary:
		a.assumeBinary(e, truth)
	}
}

var opposite = map[tir.BinaryOp]tir.BinaryOp{tir.OpEQ: tir.OpNE, tir.OpNE: tir.OpEQ, tir.OpLT: tir.OpGE,
	tir.OpGE: tir.OpLT, tir.OpGT: tir.OpLE,
	tir.OpLE: tir.OpGT}

func (a *Analyzer) assumeBinary(e *tir.Binary, truth bool) {
	op := e.Op
	switch {
	case op == tir.OpAnd && truth, op == tir.OpOr && !truth:
		a.assumeTruth(e.A, truth)
		a.assumeTruth(e.B, truth)
		return
	case op == tir.OpAnd, op == tir.OpOr:
		return
	case !truth:
		op = opposite[op]
	}
	t := a.info(e.A).t
	if !isIndex(t) {
		return
	}
	x, y := a.simplify(e.A), a.simplify(e.B)
	d := a.sumExpanded(x, t).minus(a.sumExpanded(y, t)) // x - y
	switch op {
	case tir.OpLT:
		a.addFact(d.negated().plusConst(-1))
	case tir.OpLE:
		a.addFact(d.negated())
	case tir.OpGT:
		a.addFact(d.plusConst(-1))
	case tir.OpGE:
		a.addFact(d)
	case tir.OpEQ:
		a.addFact(d)
		a.addFact(d.negated())
		a.assumeRemainder(x, y)
	case tir.OpNE:
		a.assumeNotEqual(d)
	}
}

// assumeRemainder uses x % c == r.
func (a *Analyzer) assumeRemainder(x, y tir.Expr) {
	if _, swap := tir.IntValue(x); swap {
		x, y = y, x
	}
	m, isMod := x.(*tir.Binary)
	r, known := tir.IntValue(y)
	if !isMod || !known || m.Op != tir.OpFloorMod && m.Op != tir.OpMod {
		return
	}
	c, fixed := tir.IntValue(m.B)
	if !fixed || c < 1 || m.Op == tir.OpMod && r != 0 || r < 0 || r >= c {
		return
	}
	id := a.id(m.A)
	old, had := a.mods[id]
	a.mods[id] = modulus{c, r}
	a.later(func() {
		if had {
			a.mods[id] = old
		} else {
			delete(a.mods, id)
		}
	})
}

// assumeNotEqual uses d != 0: if 0 is an end of the range of d, the range excludes it.
func (a *Analyzer) assumeNotEqual(d sum) {
	if d.over || len(d.terms) != 1 || magnitudeOf(d.terms[0].coef) != 1 {
		return
	}
	x := d.terms[0]
	v := d.c
	if x.coef == 1 {
		v = -d.c
	}
	switch r := a.rangeOf(x.atom); v {
	case r.lo:
		a.learn(x.id, interval{v + 1, greatest})
	case r.hi:
		a.learn(x.id, interval{least, v - 1})
	}
}
