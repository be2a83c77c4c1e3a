package arith

import "tvmgo/tir"

// simplifyLogical simplifies && and ||. The second operand is evaluated only if the first does not decide; so it is
// simplified under that assumption, and replaces the whole only if it cannot fail.
func (a *Analyzer) simplifyLogical(e *tir.Binary) tir.Expr {
	and := e.Op == tir.OpAnd
	x := a.simplify(e.A)
	t := a.info(x).t
	if c, ok := splat(x); ok {
		a.hit(ruleAndOrConst)
		if (c == 1) == and {
			return a.simplify(e.B)
		}
		return makeBool(!and, t)
	}
	plain := a.simplify(e.B)
	if c, ok := splat(plain); ok {
		a.hit(ruleAndOrConst)
		if (c == 1) == and {
			return x
		}
		return makeBool(!and, t)
	}
	if a.id(x) == a.id(plain) {
		a.hit(ruleSameOperands)
		return x
	}
	y := plain
	if t.Lanes == 1 {
		a.scoped(x, and, func() { y = a.simplify(y) })
		if c, ok := tir.IntValue(y); ok {
			if (c == 1) == and { // the first implies the second
				a.hit(ruleAndOrImplied)
				return x
			}
			a.hit(ruleAndOrContradict)
			return makeBool(!and, t)
		}
		if a.info(plain).flags&mayFail == 0 {
			first := x
			a.scoped(plain, and, func() { first = a.simplify(x) })
			if c, ok := tir.IntValue(first); ok && (c == 1) == and { // the second implies the first
				a.hit(ruleAndOrImplied)
				return plain
			}
		}
	}
	if x == e.A && y == e.B {
		return e
	}
	return &tir.Binary{Op: e.Op, A: x, B: y}
}

// scoped calls do with the additional fact that cond has the given truth value.
func (a *Analyzer) scoped(cond tir.Expr, truth bool, do func()) {
	a.push()
	defer a.pop()
	if !truth {
		cond = a.not(cond)
	}
	a.assume(cond)
	do()
}

// not negates a simplified condition.
func (a *Analyzer) not(x tir.Expr) tir.Expr {
	if a.info(x).flags&(hasEffect|malformed) != 0 {
		return &tir.Not{A: x}
	}
	if c, ok := splat(x); ok {
		a.hit(ruleFold)
		return makeBool(c == 0, a.info(x).t)
	}
	switch e := x.(type) {
	case *tir.Not:
		a.hit(ruleNotNot)
		return e.A
	case *tir.Binary:
		t := a.info(e.A).t
		op, ok := opposite[e.Op]
		switch {
		case ok && (!tir.IsFloat(t) || e.Op == tir.OpEQ || e.Op == tir.OpNE):
			// comparisons with NaN are false, so !(x < y) is not x >= y
			a.hit(ruleNotCompare)
			return a.make(op, e.A, e.B)
		case e.Op.IsLogical() && a.spend():
			a.hit(ruleNotLogical)
			op := tir.OpOr
			if e.Op == tir.OpOr {
				op = tir.OpAnd
			}
			return &tir.Binary{Op: op, A: a.not(e.A), B: a.not(e.B)}
		}
	case *tir.Broadcast:
		a.hit(ruleBroadcastOp)
		return &tir.Broadcast{Value: a.not(e.Value), Lanes: e.Lanes}
	}
	return &tir.Not{A: x}
}

func (a *Analyzer) simplifySelect(e *tir.Select) tir.Expr {
	cond := a.simplify(e.Cond)
	effects := a.info(e).flags&hasEffect != 0
	if c, ok := splat(cond); ok && !effects {
		a.hit(ruleSelectConst)
		if c == 1 {
			return a.simplify(e.Then)
		}
		return a.simplify(e.Else)
	}
	then, other := e.Then, e.Else
	if n, ok := cond.(*tir.Not); ok && !effects {
		a.hit(ruleSelectNot)
		cond, then, other = n.A, other, then
	}
	// Both operands are evaluated in any case, so one that may fail must not be simplified under the condition.
	then, other = a.branch(cond, true, then, mayFail), a.branch(cond, false, other, mayFail)
	if !effects && a.id(then) == a.id(other) {
		a.hit(ruleSelectSame)
		return then
	}
	if r := a.selectBool(cond, then, other); r != nil && !effects {
		a.hit(ruleSelectBool)
		return r
	}
	if cond == e.Cond && then == e.Then && other == e.Else {
		return e
	}
	return &tir.Select{Cond: cond, Then: then, Else: other}
}

// branch simplifies an operand under the condition that selects it, unless it has a property of unless.
func (a *Analyzer) branch(cond tir.Expr, truth bool, e tir.Expr, unless uint8) tir.Expr {
	e = a.simplify(e)
	if a.info(cond).t.Lanes != 1 || a.info(e).flags&unless != 0 || isTrivial(e) {
		return e
	}
	a.scoped(cond, truth, func() { e = a.simplify(e) })
	return e
}

// selectBool simplifies a selection between boolean constants.
func (a *Analyzer) selectBool(cond, then, other tir.Expr) tir.Expr {
	if !tir.IsBool(a.info(then).t) {
		return nil
	}
	c, ok1 := splat(then)
	d, ok2 := splat(other)
	switch {
	case ok1 && ok2 && c == 1 && d == 0:
		return cond
	case ok1 && ok2 && c == 0 && d == 1:
		return a.not(cond)
	}
	return nil
}

func (a *Analyzer) simplifyCall(e *tir.Call) tir.Expr {
	if e.Kind != tir.CallIntrinsic {
		return a.parts(e)
	}
	switch e.Name {
	case "if_then_else":
		return a.simplifyIfThenElse(e)
	case "likely":
		x := a.simplify(e.Args[0])
		if _, ok := splat(x); ok && a.info(x).t == e.Type {
			a.hit(ruleLikely)
			return x
		}
		if inner, ok := x.(*tir.Call); ok && inner.Kind == tir.CallIntrinsic && inner.Name == "likely" {
			a.hit(ruleLikely)
			return x
		}
		if x == e.Args[0] {
			return e
		}
		return &tir.Call{Kind: e.Kind, Name: e.Name, Type: e.Type, Args: []tir.Expr{x}}
	}
	r := a.parts(e)
	if c, ok := r.(*tir.Call); ok {
		if f := foldIntrinsic(c); f != nil {
			a.hit(ruleIntrinsicFold)
			return f
		}
	}
	return r
}

// simplifyIfThenElse simplifies if_then_else, which evaluates only the selected operand.
func (a *Analyzer) simplifyIfThenElse(e *tir.Call) tir.Expr {
	cond := a.simplify(e.Args[0])
	if c, ok := tir.IntValue(cond); ok {
		a.hit(ruleSelectConst)
		if c == 1 {
			return a.simplify(e.Args[1])
		}
		return a.simplify(e.Args[2])
	}
	then, other := a.branch(cond, true, e.Args[1], 0), a.branch(cond, false, e.Args[2], 0)
	effects := a.info(e).flags&hasEffect != 0
	if !effects && a.id(then) == a.id(other) {
		a.hit(ruleSelectSame)
		return then
	}
	if cond == e.Args[0] && then == e.Args[1] && other == e.Args[2] {
		return e
	}
	return &tir.Call{Kind: e.Kind, Name: e.Name, Type: e.Type, Args: []tir.Expr{cond, then, other}}
}
