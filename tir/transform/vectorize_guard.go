package transform

import (
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// together returns a condition that is the same in all lanes and holds exactly where cond does, because lanes that
// start at a multiple of their number lie on the same side of a bound that is one, too. nil: there is none.
func (z *lockstep) together(cond tir.Expr) tir.Expr {
	return z.everyConjunct(cond, func(b *tir.Binary, x, bound tir.Expr, stride int64) tir.Expr {
		if stride != 1 || b.Op != tir.OpLT && b.Op != tir.OpGE {
			return nil
		}
		an := arith.NewAnalyzer()
		for _, e := range []tir.Expr{x, bound} {
			rest, constant := an.Simplify(tir.FloorMod(e, sized(e.DType(), int64(z.lanes)))).(*tir.IntImm)
			if !constant || rest.Value != 0 {
				return nil
			}
		}
		return &tir.Binary{Op: b.Op, A: x, B: bound}
	})
}

// all returns a condition that holds only if cond holds in all lanes; nil: there is none.
func (z *lockstep) all(cond tir.Expr) tir.Expr {
	return z.everyConjunct(cond, func(b *tir.Binary, x, bound tir.Expr, stride int64) tir.Expr {
		span := stride * int64(z.lanes-1)
		up := b.Op == tir.OpLT || b.Op == tir.OpLE
		if span > 0 == up { // the last lane decides, otherwise the first one
			if c, constant := bound.(*tir.IntImm); constant {
				return &tir.Binary{Op: b.Op, A: x, B: sized(c.Type, c.Value-span)}
			}
			x = plus(x, span)
		}
		return &tir.Binary{Op: b.Op, A: x, B: bound}
	})
}

// everyConjunct replaces the conjuncts of a condition that differ between lanes. They compare integers that grow by a
// constant from lane to lane with a bound that is the same in all.
func (z *lockstep) everyConjunct(cond tir.Expr,
	replace func(b *tir.Binary, x, bound tir.Expr, stride int64) tir.Expr) (all tir.Expr) {
	for _, c := range conjuncts(cond) {
		if z.differs(c) {
			likely, plain := false, c
			if call, ok := c.(*tir.Call); ok && call.Kind == tir.CallIntrinsic && call.Name == "likely" {
				likely, plain = true, call.Args[0]
			}
			b, ok := plain.(*tir.Binary)
			if ok && z.same(b.A) { // of comparisons alone: others are left out below
				b = flipped(b)
			}
			if ok && (b.Op == tir.OpGT || b.Op == tir.OpGE || b.Op == tir.OpLT || b.Op == tir.OpLE) &&
				tir.IsInt(b.A.DType()) && z.same(b.B) {
				c = z.lineOf(b, replace)
			} else {
				c = nil
			}
			if c != nil && likely {
				c = tir.Intrin("likely", c)
			}
		} else if mayFail(c) {
			c = nil
		}
		switch {
		case c == nil:
			return nil
		case all == nil:
			all = c
		default:
			all = tir.And(all, c)
		}
	}
	return all
}

// flipped returns a comparison with its operands exchanged.
func flipped(b *tir.Binary) *tir.Binary {
	op := b.Op
	switch b.Op {
	case tir.OpLT:
		op = tir.OpGT
	case tir.OpLE:
		op = tir.OpGE
	case tir.OpGT:
		op = tir.OpLT
	case tir.OpGE:
		op = tir.OpLE
	}
	return &tir.Binary{Op: op, A: b.B, B: b.A}
}

// lineOf replaces a comparison whose left side grows by a constant from lane to lane; nil if it does not.
func (z *lockstep) lineOf(b *tir.Binary,
	replace func(b *tir.Binary, x, bound tir.Expr, stride int64) tir.Expr) tir.Expr {
	v, ok := z.value(b.A)
	if !ok {
		return nil
	}
	r, ok := v.(*tir.Ramp)
	if !ok {
		return nil
	}
	stride, ok := r.Stride.(*tir.IntImm)
	if !ok || stride.Value == 0 || stride.Value > 1<<20 || stride.Value < -1<<20 {
		return nil
	}
	return replace(b, r.Base, b.B, stride.Value)
}

// edges executes a statement below a condition that differs between lanes: in a kernel as vectors where the condition
// holds in all lanes, otherwise iteration by iteration.
func (z *lockstep) edges(cond tir.Expr, s tir.Stmt) (tir.Stmt, bool) {
	if !z.device {
		return z.serial(&tir.If{Cond: cond, Then: s})
	}
	before := z.vectors
	c := z.together(cond)
	if c != nil {
		if then, ok := z.stmt(s); ok && z.vectors > before {
			return &tir.If{Cond: c, Then: then}, true
		}
	}
	if c = z.all(cond); c != nil && !never(c) {
		then, ok := z.stmt(s)
		if edge, fine := z.serial(&tir.If{Cond: cond, Then: s}); ok && fine && z.vectors > before {
			return &tir.If{Cond: c, Then: then, Else: edge}, true
		}
	}
	return z.serial(&tir.If{Cond: cond, Then: s})
}

// never reports whether a condition certainly does not hold.
func never(cond tir.Expr) bool { return arith.NewAnalyzer().Prove(&tir.Not{A: cond}) }

// guardedStore stores a value that an if_then_else reads below a condition that differs between lanes: as a vector
// where the condition holds in all lanes, otherwise iteration by iteration.
func (z *lockstep) guardedStore(s *tir.BufferStore) (tir.Stmt, bool) {
	var choice *tir.Call
	tir.Walk(s.Value, func(node any) bool {
		if c, ok := node.(*tir.Call); ok && c.Kind == tir.CallIntrinsic && c.Name == "if_then_else" && choice == nil &&
			z.differs(c.Args[0]) && (mayFail(c.Args[1]) || mayFail(c.Args[2])) {
			choice = c
		}
		_, let := node.(*tir.Let)
		return choice == nil && !let
	})
	if choice == nil {
		return nil, false
	}
	with := func(value tir.Expr) *tir.BufferStore {
		m := &tir.Mutator{PreExpr: func(e tir.Expr) (tir.Expr, bool) {
			if e == tir.Expr(choice) {
				return value, true
			}
			return e, false
		}}
		return &tir.BufferStore{Buffer: s.Buffer, Value: m.MutateExpr(s.Value), Indices: s.Indices}
	}
	if c := z.together(choice.Args[0]); c != nil {
		same := *choice
		same.Args = []tir.Expr{c, choice.Args[1], choice.Args[2]}
		return z.store(with(&same))
	}
	c := z.all(choice.Args[0])
	if c == nil || never(c) {
		return nil, false
	}
	inside, ok := z.store(with(choice.Args[1]))
	if !ok {
		return nil, false
	}
	edge, ok := z.serial(s)
	return &tir.If{Cond: c, Then: inside, Else: edge}, ok
}
