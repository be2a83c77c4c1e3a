package arith

import "tvmgo/tir"

// ramp makes a ramp of simplified operands; it returns old if nothing changes.
func (a *Analyzer) ramp(base, stride tir.Expr, lanes int, old *tir.Ramp) tir.Expr {
	effects := (a.info(base).flags|a.info(stride).flags)&hasEffect != 0
	if lanes == 1 && !effects {
		a.hit(ruleRampFlat)
		return base
	}
	if isConst(stride, 0) {
		a.hit(ruleRampFlat)
		return &tir.Broadcast{Value: base, Lanes: lanes}
	}
	if old != nil && base == old.Base && stride == old.Stride {
		return old
	}
	return &tir.Ramp{Base: base, Stride: stride, Lanes: lanes}
}

// line takes apart a vector whose lanes increase by a stride: a ramp or, with stride 0, a broadcast.
func line(e tir.Expr, t tir.Type) (base, stride tir.Expr, ok bool) {
	switch e := e.(type) {
	case *tir.Ramp:
		return e.Base, e.Stride, true
	case *tir.Broadcast:
		return e.Value, makeInt(tir.Element(t), 0), true
	}
	return nil, nil, false
}

// vectorBinary simplifies operations on ramps and broadcasts; nil if no rule applies.
func (a *Analyzer) vectorBinary(op tir.BinaryOp, x, y tir.Expr, t tir.Type) tir.Expr {
	lanes := int(t.Lanes)
	p, ok1 := x.(*tir.Broadcast)
	q, ok2 := y.(*tir.Broadcast)
	if ok1 && ok2 {
		a.hit(ruleBroadcastOp)
		return &tir.Broadcast{Value: a.make(op, p.Value, q.Value), Lanes: lanes}
	}
	if !tir.IsInt(t) {
		return nil
	}
	b, s, ok := line(x, t)
	c, d, okToo := line(y, t)
	if !ok || !okToo {
		return nil
	}
	switch op {
	case tir.OpAdd, tir.OpSub: // also exact for integers that wrap
		a.hit(ruleRampAdd)
		return a.ramp(a.make(op, b, c), a.make(op, s, d), lanes, nil)
	case tir.OpMul:
		if ok1 {
			b, s, c, ok2 = c, d, b, true
		}
		if ok2 {
			a.hit(ruleRampMul)
			return a.ramp(a.make(op, b, c), a.make(op, s, c), lanes, nil)
		}
	case tir.OpFloorDiv, tir.OpFloorMod:
		if n, fixed := tir.IntValue(c); ok2 && fixed && n > 0 && isIndex(tir.Element(t)) {
			return a.rampDivide(op, b, s, c, n, lanes)
		}
	case tir.OpDiv, tir.OpMod:
		if n, fixed := tir.IntValue(c); ok2 && fixed && n > 0 && isIndex(tir.Element(t)) && a.rangeOf(x).lo >= 0 {
			if op == tir.OpDiv {
				return a.rampDivide(tir.OpFloorDiv, b, s, c, n, lanes)
			}
			return a.rampDivide(tir.OpFloorMod, b, s, c, n, lanes)
		}
	}
	if !isIndex(tir.Element(t)) {
		return nil
	}
	last := func(b, s tir.Expr) tir.Expr {
		return a.make(tir.OpAdd, b, a.make(tir.OpMul, s, makeInt(tir.Element(t), int64(lanes-1))))
	}
	both := func(op tir.BinaryOp) (truth, ok bool) { // linear functions cross at most once: comparing the ends is enough
		first, ok1 := a.decide(op, b, c, tir.Element(t))
		then, ok2 := a.decide(op, last(b, s), last(c, d), tir.Element(t))
		return first, ok1 && ok2 && first == then
	}
	switch op {
	case tir.OpLT, tir.OpLE, tir.OpGT, tir.OpGE:
		if truth, ok := both(op); ok {
			a.hit(ruleRampCompare)
			return makeBool(truth, t)
		}
	case tir.OpMin, tir.OpMax:
		if truth, ok := both(tir.OpLE); ok {
			a.hit(ruleRampMinMax)
			if truth == (op == tir.OpMin) {
				return x
			}
			return y
		}
	}
	return nil
}

// rampDivide divides a ramp by a constant n > 0.
func (a *Analyzer) rampDivide(op tir.BinaryOp, base, stride, by tir.Expr, n int64, lanes int) tir.Expr {
	hit := ruleRampDiv
	if op == tir.OpFloorMod {
		hit = ruleRampMod
	}
	step, fixed := tir.IntValue(stride)
	if !fixed {
		return nil
	}
	rest := a.make(tir.OpFloorMod, base, by)
	reach, fits := mulOK(step, int64(lanes-1))
	ends := a.rangeOf(rest)
	switch {
	case step%n == 0 && op == tir.OpFloorDiv:
		a.hit(hit)
		return a.ramp(a.make(op, base, by), makeInt(a.info(base).t, step/n), lanes, nil)
	case step%n == 0:
		a.hit(hit)
		return &tir.Broadcast{Value: rest, Lanes: lanes}
	case !fits || ends.add(point(min(reach, 0))).lo < 0 || ends.add(point(max(reach, 0))).hi >= n:
		return nil
	case op == tir.OpFloorDiv: // all lanes are between two multiples of n
		a.hit(hit)
		return &tir.Broadcast{Value: a.make(op, base, by), Lanes: lanes}
	}
	a.hit(hit)
	return a.ramp(rest, stride, lanes, nil)
}
