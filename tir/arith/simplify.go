package arith

import "tvmgo/tir"

// simplify does one pass of Simplify. The result has the type of e. Malformed expressions stay as they are.
func (a *Analyzer) simplify(e tir.Expr) tir.Expr {
	if r, ok := a.simple[e]; ok {
		return r
	}
	i := a.info(e)
	if i.flags&malformed != 0 || !a.spend() {
		return e
	}
	a.depth++
	r := a.simplifyNode(e, i)
	if i.flags&hasEffect == 0 && i.t.Lanes == 1 && (isIndex(i.t) || tir.IsBool(i.t)) {
		if _, done := tir.IntValue(r); !done {
			if b := a.rangeOf(r); b.lo == b.hi {
				a.hit(ruleConstRange)
				r = makeInt(i.t, b.lo)
			}
		}
	}
	a.depth--
	a.simple[e] = r
	return r
}

func (a *Analyzer) simplifyNode(e tir.Expr, i info) tir.Expr {
	switch e := e.(type) {
	case *tir.Var:
		if v, ok := a.values[e]; ok {
			a.hit(ruleBoundVar)
			return v
		}
		return e
	case *tir.IntImm, *tir.FloatImm, *tir.StringImm:
		return e
	case *tir.Binary:
		return a.simplifyBinary(e, i)
	case *tir.Not:
		return a.not(a.simplify(e.A))
	case *tir.Select:
		return a.simplifySelect(e)
	case *tir.Cast:
		return a.cast(e.Type, a.simplify(e.Value), e)
	case *tir.Let:
		return a.simplifyLet(e)
	case *tir.Call:
		return a.simplifyCall(e)
	case *tir.Ramp:
		return a.ramp(a.simplify(e.Base), a.simplify(e.Stride), e.Lanes, e)
	case *tir.Reduce:
		return a.simplifyReduce(e)
	}
	return a.parts(e)
}

// parts returns e with simplified operands.
func (a *Analyzer) parts(e tir.Expr) tir.Expr { return tir.MapExpr(e, a.simplify) }

func (a *Analyzer) simplifyBinary(e *tir.Binary, i info) tir.Expr {
	if i.flags&hasEffect != 0 {
		return a.parts(e)
	}
	if e.Op.IsLogical() {
		return a.simplifyLogical(e)
	}
	if e.Op <= tir.OpMul && isIndex(i.t) {
		return a.simplifySum(e, i.t)
	}
	x, y := a.simplify(e.A), a.simplify(e.B)
	if r := a.binary(e.Op, x, y); r != nil {
		return r
	}
	if x == e.A && y == e.B {
		return e
	}
	return &tir.Binary{Op: e.Op, A: x, B: y}
}

// make returns a simplified operation on simplified values.
func (a *Analyzer) make(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	e := &tir.Binary{Op: op, A: x, B: y}
	if op <= tir.OpMul && isIndex(a.info(x).t) {
		s := a.sumOf(e, a.info(x).t)
		return a.asExpr(a.recombine(s), e)
	}
	if r := a.binary(op, x, y); r != nil {
		return r
	}
	return e
}

// binary applies rules to an operation with simplified operands, except to sums of index types; nil if none applies.
func (a *Analyzer) binary(op tir.BinaryOp, x, y tir.Expr) tir.Expr {
	t := a.info(x).t
	if (a.info(x).flags|a.info(y).flags)&hasEffect != 0 || !a.spend() {
		return nil
	}
	if r := foldBinary(op, x, y); r != nil {
		a.hit(ruleFold)
		return r
	}
	if r := a.identity(op, x, y, t); r != nil {
		return r
	}
	if t.Lanes > 1 {
		return a.vectorBinary(op, x, y, t)
	}
	switch {
	case op.IsComparison():
		return a.compare(op, x, y, t)
	case op == tir.OpMin || op == tir.OpMax:
		return a.minMax(op, x, y, t)
	case op >= tir.OpDiv && op <= tir.OpFloorMod && isIndex(t):
		return a.divide(op, x, y, t)
	case op >= tir.OpDiv && op <= tir.OpFloorMod && tir.IsInt(t):
		return a.divideSmall(op, x, y, t)
	}
	return nil
}

// simplifySum simplifies additions, subtractions and multiplications of index types.
func (a *Analyzer) simplifySum(e *tir.Binary, t tir.Type) tir.Expr {
	s := sum{t: t}
	a.collect(&s, e, 1, simplified)
	if s.over {
		return e
	}
	r := a.build(a.recombine(s))
	if r == nil {
		return e
	}
	if sameShape(r, e, 0) {
		return e
	}
	a.hit(ruleSum)
	return r
}

// identity applies rules that also hold for integers that wrap.
func (a *Analyzer) identity(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	if tir.IsFloat(t) {
		return a.floatIdentity(op, x, y)
	}
	c, right := splat(y)
	d, left := splat(x)
	r := func() tir.Expr {
		switch {
		case !tir.IsInt(t):
		case right && c == 0 && (op == tir.OpAdd || op == tir.OpSub):
			return x
		case left && d == 0 && op == tir.OpAdd:
			return y
		case right && c == 1 && (op == tir.OpMul || op == tir.OpDiv || op == tir.OpFloorDiv):
			return x
		case left && d == 1 && op == tir.OpMul:
			return y
		case right && c == 0 && op == tir.OpMul, left && d == 0 && op == tir.OpMul,
			right && c == 1 && (op == tir.OpMod || op == tir.OpFloorMod), op == tir.OpSub && a.id(x) == a.id(y):
			return makeInt(t, 0)
		}
		return nil
	}()
	if r != nil {
		a.hit(ruleIdentity)
		return r
	}
	if a.id(x) != a.id(y) {
		return nil
	}
	switch op {
	case tir.OpMin, tir.OpMax:
		r = x
	case tir.OpEQ, tir.OpLE, tir.OpGE:
		r = makeBool(true, t)
	case tir.OpNE, tir.OpLT, tir.OpGT:
		r = makeBool(false, t)
	default:
		return nil
	}
	a.hit(ruleSameOperands)
	return r
}

// splat returns the common value of all lanes of a constant.
func splat(e tir.Expr) (int64, bool) {
	if b, ok := e.(*tir.Broadcast); ok {
		e = b.Value
	}
	return tir.IntValue(e)
}

// divideSmall divides integers that may wrap.
func (a *Analyzer) divideSmall(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	n, d := a.rangeOf(x), a.rangeOf(y)
	if n.lo >= 0 && d.lo > n.hi && n.hi != greatest {
		a.hit(ruleSmallDividend)
		if op == tir.OpMod || op == tir.OpFloorMod {
			return x
		}
		return makeInt(t, 0)
	}
	return nil
}

// simplifyLet substitutes trivial values.
func (a *Analyzer) simplifyLet(e *tir.Let) tir.Expr {
	value := a.simplify(e.Value)
	used := a.mentions(e.Body, e.Var)
	var body tir.Expr
	a.Scope(func() {
		a.define(e.Var, value)
		body = a.simplify(e.Body)
	})
	switch {
	case a.info(value).flags&hasEffect == 0 && !a.mentions(body, e.Var):
		if used {
			a.hit(ruleLetInline)
		} else {
			a.hit(ruleLetUnused)
		}
		return body
	case value == e.Value && body == e.Body:
		return e
	}
	return &tir.Let{Var: e.Var, Value: value, Body: body}
}

// define adds the fact that a variable has a value.
func (a *Analyzer) define(v *tir.Var, value tir.Expr) {
	a.begin()
	defer a.end()
	i := a.info(value)
	r, m := a.rangeOf(value), a.modular(value)
	a.forget(v)
	if i.flags&malformed != 0 || i.t != v.Type || a.mentions(value, v) {
		return
	}
	if isTrivial(value) {
		a.setValue(v, value)
		return
	}
	if tir.IsInt(v.Type) || tir.IsBool(v.Type) {
		a.learn(a.id(v), r)
	}
	if !isIndex(v.Type) || i.flags&(hasEffect|readsMemory) != 0 {
		return
	}
	if m != anyNumber {
		id := a.id(v)
		a.mods[id] = m
		a.later(func() { delete(a.mods, id) })
	}
	d := a.sumExpanded(v, v.Type).minus(a.sumExpanded(value, v.Type))
	a.addFact(d)
	a.addFact(d.negated())
}

// isTrivial reports whether a value is as cheap to compute as to store.
func isTrivial(e tir.Expr) bool {
	switch e := e.(type) {
	case *tir.Var, *tir.IntImm, *tir.FloatImm, *tir.StringImm:
		return true
	case *tir.Broadcast:
		return isTrivial(e.Value)
	}
	return false
}

func (a *Analyzer) simplifyReduce(e *tir.Reduce) tir.Expr {
	var r tir.Expr
	a.Scope(func() {
		for _, x := range e.Axes {
			if x != nil && x.Var != nil {
				a.Bind(x.Var, x.Min, x.Extent)
			}
		}
		r = a.parts(e)
	})
	return r
}
