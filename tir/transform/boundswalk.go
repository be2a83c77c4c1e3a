package transform

import "tvmgo/tir"

// stmt returns a statement with checks.
func (c *boundsChecker) stmt(s tir.Stmt) tir.Stmt {
	switch s := s.(type) {
	case *tir.BufferStore:
		value := c.expr(s.Value)
		indices, within := c.checked(s, s.Buffer, s.Indices, true)
		var r tir.Stmt = &tir.BufferStore{Buffer: s.Buffer, Value: value, Indices: indices}
		if within != nil {
			r = &tir.If{Cond: within, Then: r}
		}
		return r
	case *tir.For:
		n := *s
		n.Min, n.Extent = c.expr(s.Min), c.expr(s.Extent)
		c.a.Scope(func() {
			c.a.Bind(s.Var, s.Min, s.Extent)
			outer := c.kernel
			c.kernel = outer || s.Kind == tir.ThreadBind
			n.Body = c.stmt(s.Body)
			c.kernel = outer
		})
		return &n
	case *tir.While:
		n := &tir.While{Cond: c.expr(s.Cond)}
		c.a.With(s.Cond, func() { n.Body = c.stmt(s.Body) })
		return n
	case *tir.If:
		n := &tir.If{Cond: c.expr(s.Cond)}
		c.a.With(s.Cond, func() { n.Then = c.stmt(s.Then) })
		if s.Else != nil {
			c.a.With(tir.NewNot(s.Cond), func() { n.Else = c.stmt(s.Else) })
		}
		return n
	case *tir.LetStmt:
		n := &tir.LetStmt{Var: s.Var, Value: c.expr(s.Value)}
		c.let(s.Var, s.Value, func() { n.Body = c.stmt(s.Body) })
		return n
	case *tir.AttrStmt:
		return &tir.AttrStmt{Key: s.Key, Node: s.Node, Value: s.Value, Body: c.stmt(s.Body)}
	case *tir.Seq:
		return tir.Sequence(c.sequence(s.Stmts)...)
	case *tir.Evaluate:
		if c.report != nil && !c.kernel && returns(s) {
			return tir.Sequence(c.report.check(), s)
		}
	}
	c.other(s)
	return tir.MapStmt(s, c.expr, func(body tir.Stmt) tir.Stmt { return c.stmt(body) })
}

// other rejects nodes that may access elements of buffers by other means than a load or a store.
func (c *boundsChecker) other(node any) {
	if !c.change || c.err != nil || !tir.Opaque(node) {
		return
	}
	if _, buffers := tir.Named(node); len(buffers) > 0 {
		c.err = tir.NotKnown(node, "names buffer "+tir.NameOf(buffers[0]))
	}
}

// sequence adds checks to statements. Those after an assertion, or after a conditional return, use the condition that
// then holds.
func (c *boundsChecker) sequence(all []tir.Stmt) []tir.Stmt {
	if len(all) == 0 {
		return nil
	}
	out := []tir.Stmt{c.stmt(all[0])}
	var holds tir.Expr
	switch s := all[0].(type) {
	case *tir.Assert:
		holds = s.Cond
	case *tir.If:
		if s.Else == nil && returns(s.Then) {
			holds = tir.NewNot(s.Cond)
		}
	}
	if holds == nil {
		return append(out, c.sequence(all[1:])...)
	}
	c.a.With(holds, func() { out = append(out, c.sequence(all[1:])...) })
	return out
}

// returns reports whether a statement ends with a return.
func returns(s tir.Stmt) bool {
	if q, ok := s.(*tir.Seq); ok && len(q.Stmts) > 0 {
		s = q.Stmts[len(q.Stmts)-1]
	}
	e, ok := s.(*tir.Evaluate)
	if !ok {
		return false
	}
	call, ok := e.Value.(*tir.Call)
	return ok && call.Kind == tir.CallIntrinsic && (call.Name == "ret" || call.Name == "ret_none")
}

// let calls do with the value of a variable known.
func (c *boundsChecker) let(v *tir.Var, value tir.Expr, do func()) {
	c.a.Scope(func() {
		if tir.IsInt(v.Type) && v.Type.Lanes == 1 {
			c.a.Bind(v, value, tir.IntConst(v.Type, 1))
		}
		do()
	})
}

// expr returns an expression with checks.
func (c *boundsChecker) expr(e tir.Expr) tir.Expr {
	return (&tir.Mutator{PreExpr: c.special, Memo: map[tir.Expr]tir.Expr{}}).MutateExpr(e)
}

// special handles expressions that read memory, or contain conditions for their operands; it returns false for others.
func (c *boundsChecker) special(e tir.Expr) (tir.Expr, bool) {
	switch e := e.(type) {
	case *tir.BufferLoad:
		indices, within := c.checked(e, e.Buffer, e.Indices, false)
		var r tir.Expr = &tir.BufferLoad{Buffer: e.Buffer, Indices: indices}
		if within != nil {
			t := e.DType()
			r = tir.NewCall(tir.CallIntrinsic, t, "if_then_else", within, r, zeroOf(t))
		}
		return r, true
	case *tir.Select:
		return c.choice(e), true
	case *tir.Let:
		n := &tir.Let{Var: e.Var, Value: c.expr(e.Value)}
		c.let(e.Var, e.Value, func() { n.Body = c.expr(e.Body) })
		return n, true
	case *tir.Binary:
		if e.Op.IsLogical() {
			n := &tir.Binary{Op: e.Op, A: c.expr(e.A)}
			holds := e.A
			if e.Op == tir.OpOr {
				holds = tir.NewNot(e.A)
			}
			c.a.With(holds, func() { n.B = c.expr(e.B) })
			return n, true
		}
	case *tir.Call:
		switch {
		case e.Kind == tir.CallIntrinsic && e.Name == "if_then_else":
			return c.branches(e.Type, e.Args[0], e.Args[1], e.Args[2]), true
		// the user of the address is responsible for its bounds
		case e.Kind == tir.CallIntrinsic && (e.Name == "address_of" || e.Name == "prefetch"):
			return e, true
		}
	default:
		c.other(e)
	}
	return nil, false
}

func (c *boundsChecker) branches(t tir.Type, cond, then, other tir.Expr) tir.Expr {
	args := []tir.Expr{c.expr(cond), nil, nil}
	c.a.With(cond, func() { args[1] = c.expr(then) })
	c.a.With(tir.NewNot(cond), func() { args[2] = c.expr(other) })
	return &tir.Call{Kind: tir.CallIntrinsic, Name: "if_then_else", Type: t, Args: args}
}

// choice returns a Select. If a branch has an access that is not proved to be in bounds, the result evaluates only the
// selected branch.
func (c *boundsChecker) choice(e *tir.Select) tir.Expr {
	before, accesses := c.count, c.reported()
	r := &tir.Select{Cond: c.expr(e.Cond)}
	inCondition := c.count
	r.Then, r.Else = c.expr(e.Then), c.expr(e.Else)
	if !c.change || c.count == inCondition {
		return r
	}
	c.forget(before, accesses)
	return c.branches(e.DType(), e.Cond, e.Then, e.Else)
}

// zeroOf returns the zero of a type.
func zeroOf(t tir.Type) tir.Expr {
	one := tir.Const(tir.Element(t), 0)
	if t.Lanes == 1 {
		return one
	}
	return &tir.Broadcast{Value: one, Lanes: int(t.Lanes)}
}
