package tir

import "unsafe"

// Mutator makes a new program from an old one. Expr and Stmt are called for each node after its parts have been
// replaced, and return the replacement; a nil function leaves the nodes unchanged. If Stmt returns nil, the statement
// is removed. Unchanged nodes are shared with the old program.
type Mutator struct {
	Expr func(Expr) Expr
	Stmt func(Stmt) Stmt

	// PreExpr and PreStmt are called before the parts of a node are visited. If they return true, their first result
	// replaces the node, and its parts are not visited.
	PreExpr func(Expr) (Expr, bool)
	PreStmt func(Stmt) (Stmt, bool)

	// Memo, if not nil, maps expressions to their replacements: an expression that occurs several times is replaced
	// once. The functions must then not depend on the position of the expression.
	Memo map[Expr]Expr
}

// MutateExpr returns the replacement of an expression.
func (m *Mutator) MutateExpr(e Expr) Expr {
	t := TypeOf(e)
	if e == nil || t != nil && address(e) == nil {
		return e
	}
	if m.Memo == nil || t == nil {
		return m.mutateExpr(t, e)
	}
	if r, done := m.Memo[e]; done {
		return r
	}
	r := m.mutateExpr(t, e)
	m.Memo[e] = r
	return r
}

func (m *Mutator) mutateExpr(t *NodeType, e Expr) Expr {
	if m.PreExpr != nil {
		if r, done := m.PreExpr(e); done {
			return r
		}
	}
	if t != nil && len(t.parts) > 0 {
		if r, _ := m.parts(t, e); r != nil {
			e = r
		}
	}
	if m.Expr != nil {
		return m.Expr(e)
	}
	return e
}

// MutateParts returns an expression in which m has replaced what it replaces in the parts; e itself is not asked about.
func (m *Mutator) MutateParts(e Expr) Expr {
	if t := TypeOf(e); t != nil && len(t.parts) > 0 && address(e) != nil {
		if r, _ := m.parts(t, e); r != nil {
			return r
		}
	}
	return e
}

// exprs replaces expressions of a list; changed reports whether any of them changed.
func (m *Mutator) exprs(all []Expr) (out []Expr, changed bool) {
	for i, e := range all {
		r := m.MutateExpr(e)
		if r != e && !changed {
			changed = true
			out = append(make([]Expr, 0, len(all)), all[:i]...)
		}
		if changed {
			out = append(out, r)
		}
	}
	if !changed {
		return all, false
	}
	return out, true
}

// parts replaces the parts of a node. If any has changed, it returns a new node, as an expression or as a statement.
// Removed statements are nil in it.
func (m *Mutator) parts(t *NodeType, node any) (expr Expr, stmt Stmt) {
	p := address(node)
	var to unsafe.Pointer // the new node
	change := func() unsafe.Pointer {
		if to == nil {
			if t.IsStmt {
				stmt = t.newStmt()
				to = address(stmt)
			} else {
				expr = t.newExpr()
				to = address(expr)
			}
			t.copyFields(to, p)
		}
		return to
	}
	for i := range t.parts {
		f := &t.parts[i]
		switch f.part {
		case partExpr:
			old := *f.expr(p)
			if e := m.MutateExpr(old); e != old {
				*f.expr(change()) = e
			}
		case partExprs:
			if all, different := m.exprs(*f.exprs(p)); different {
				*f.exprs(change()) = all
			}
		case partStmt:
			old := *f.stmt(p)
			if s := m.MutateStmt(old); s != old {
				*f.stmt(change()) = s
			}
		case partStmts:
			if all, different := m.stmts(*f.stmts(p)); different {
				*f.stmts(change()) = all
			}
		}
	}
	return expr, stmt
}

// MutateStmt returns the replacement of a statement; nil if nothing is left.
func (m *Mutator) MutateStmt(s Stmt) Stmt {
	if IsNil(s) {
		return nil
	}
	if m.PreStmt != nil {
		if r, done := m.PreStmt(s); done {
			return r
		}
	}
	s = m.stmtParts(s)
	if s != nil && m.Stmt != nil {
		return m.Stmt(s)
	}
	return s
}

// MapExpr returns an expression with the parts that part returns for its own; the same one if none changes.
func MapExpr(e Expr, part func(Expr) Expr) Expr {
	m := Mutator{PreExpr: func(e Expr) (Expr, bool) { return part(e), true }}
	return m.MutateParts(e)
}

// MapStmt returns a statement with the parts that expr and body return for its own; the same one if none changes. It
// returns nil if nothing is left of it. A nil function leaves parts as they are.
func MapStmt(s Stmt, expr func(Expr) Expr, body func(Stmt) Stmt) Stmt {
	if IsNil(s) {
		return nil
	}
	m := Mutator{PreExpr: func(e Expr) (Expr, bool) {
		if expr == nil {
			return e, true
		}
		return expr(e), true
	}, PreStmt: func(s Stmt) (Stmt, bool) {
		if body == nil {
			return s, true
		}
		return body(s), true
	}}
	return m.stmtParts(s)
}

// stmtParts replaces the parts of a statement. A statement that has lost all its bodies is removed, except a while
// loop, which may not end, an opaque statement, and one whose expressions may have effects.
func (m *Mutator) stmtParts(s Stmt) Stmt {
	t := TypeOf(s)
	if t == nil {
		return s
	}
	_, n := m.parts(t, s)
	if n == nil {
		return s
	}
	switch n := n.(type) {
	case *Seq:
		if len(n.Stmts) == 0 {
			return nil
		}
		return Sequence(n.Stmts...)
	case *While:
		if n.Body == nil {
			n.Body = &Seq{}
		}
		return n
	}
	return withBodies(t, n)
}

// hasEffects reports whether the expressions of a statement may do more than compute values.
func hasEffects(s Stmt) (found bool) {
	seen := map[any]bool{}
	exprs, _ := Parts(s)
	for _, e := range exprs {
		Walk(e, func(node any) bool {
			if found || seen[node] {
				return false
			}
			seen[node] = true
			if c, ok := node.(*Call); ok {
				in := intrinsics[c.Name]
				found = c.Kind != CallIntrinsic || in == nil || !in.Pure
			} else {
				found = Opaque(node)
			}
			return !found
		})
	}
	return found
}

// withBodies returns a new statement, or nil if it has bodies, all of them were removed, and it does nothing else. A
// removed body that must not be nil becomes an empty sequence.
func withBodies(t *NodeType, s Stmt) Stmt {
	p, bodies, left := address(s), false, false
	for i := range t.parts {
		switch f := &t.parts[i]; f.part {
		case partStmt:
			bodies, left = true, left || *f.stmt(p) != nil
		case partStmts:
			bodies, left = true, left || len(*f.stmts(p)) > 0
		}
	}
	if bodies && !left && !t.Opaque && !hasEffects(s) {
		return nil
	}
	for i := range t.parts {
		if f := &t.parts[i]; f.part == partStmt && !f.Optional && *f.stmt(p) == nil {
			*f.stmt(p) = &Seq{}
		}
	}
	return s
}

// stmts replaces the statements of a list, and leaves out those that are removed.
func (m *Mutator) stmts(all []Stmt) (out []Stmt, changed bool) {
	for i, s := range all {
		r := m.MutateStmt(s)
		if r != s && !changed {
			changed = true
			out = append(make([]Stmt, 0, len(all)), all[:i]...)
		}
		if changed && r != nil {
			out = append(out, r)
		}
	}
	if !changed {
		return all, false
	}
	return out, true
}

// Substitute replaces variables in an expression by expressions of the same types.
func Substitute(e Expr, values map[*Var]Expr) Expr { return substituter(values).MutateExpr(e) }

// SubstituteStmt replaces variables in a statement by expressions of the same types. Variables that are bound within
// the statement must not be among them.
func SubstituteStmt(s Stmt, values map[*Var]Expr) Stmt { return substituter(values).MutateStmt(s) }

func substituter(values map[*Var]Expr) *Mutator {
	return &Mutator{Memo: map[Expr]Expr{}, Expr: func(e Expr) Expr {
		if v, ok := e.(*Var); ok {
			if r, ok := values[v]; ok {
				return r
			}
			return e
		}
		return Replaced(e, values).(Expr)
	}, Stmt: func(s Stmt) Stmt {
		if _, ok := s.(*AttrStmt); ok {
			return s
		}
		return Replaced(s, values).(Stmt)
	}}
}
