package narrow

import "tvmgo/tir"

// stmt replaces statements that bind or store narrow values.
func (l *legalizer) stmt(s tir.Stmt) (tir.Stmt, bool) {
	m := &l.mutator
	switch s := s.(type) {
	case *tir.BufferStore:
		n := l.storage[s.Buffer]
		if n == nil {
			return nil, false
		}
		value := m.MutateExpr(s.Value)
		indices := make([]tir.Expr, len(s.Indices))
		for i, x := range s.Indices {
			indices[i] = m.MutateExpr(x)
		}
		return l.write(n, indices, value), true
	case *tir.Alloc:
		n := l.store(s.Buffer, false)
		if n == nil {
			return nil, false
		}
		return &tir.Alloc{Buffer: n.bytes, Body: l.body(s.Body)}, true
	case *tir.LetStmt:
		value := m.MutateExpr(s.Value)
		v := l.bindVar(s.Var)
		body := l.body(s.Body)
		if v == s.Var && value == s.Value && body == s.Body {
			return s, true
		}
		return &tir.LetStmt{Var: v, Value: value, Body: body}, true
	case *tir.For:
		return l.loop(s), true
	case *tir.AttrStmt:
		return l.attr(s)
	default:
		if tir.Opaque(s) {
			l.other(s)
		}
	}
	return nil, false
}

// body returns the new body of a statement; an empty one if nothing remains.
func (l *legalizer) body(s tir.Stmt) tir.Stmt {
	if s = l.mutator.MutateStmt(s); s == nil {
		return &tir.Seq{}
	}
	return s
}

func (l *legalizer) loop(s *tir.For) tir.Stmt {
	c := *s
	c.Min, c.Extent = l.mutator.MutateExpr(s.Min), l.mutator.MutateExpr(s.Extent)
	c.Var = l.bindVar(s.Var)
	outer := l.parallel
	switch {
	case s.Kind == tir.ThreadBind:
		if n, ok := tir.IntValue(s.Extent); !ok || n != 1 {
			l.parallel = true
		}
	case s.Kind == tir.Parallel && l.writesPacked(s.Body):
		c.Kind = tir.Serial
	}
	c.Body = l.body(s.Body)
	l.parallel = outer
	if c.Min == s.Min && c.Extent == s.Extent && c.Var == s.Var && c.Kind == s.Kind && c.Body == s.Body {
		return s
	}
	return &c
}

// writesPacked reports whether a statement writes elements that share bytes.
func (l *legalizer) writesPacked(s tir.Stmt) bool {
	return tir.Contains(s, func(node any) bool {
		w, ok := node.(*tir.BufferStore)
		return ok && l.storage[w.Buffer] != nil && l.storage[w.Buffer].packed
	})
}

func (l *legalizer) attr(s *tir.AttrStmt) (tir.Stmt, bool) {
	c := *s
	switch n := s.Node.(type) {
	case *tir.Var:
		if v, ok := l.vars[n].(*tir.Var); ok {
			c.Node = v
		}
	case *tir.Buffer:
		if s.Key == tir.AttrView && !l.legal(n.DType) && l.storage[n] == nil {
			l.store(n, true)
		}
		if x := l.storage[n]; x != nil {
			c.Node = x.bytes
		}
	}
	c.Value = l.mutator.MutateExpr(s.Value)
	c.Body = l.body(s.Body)
	return &c, true
}
