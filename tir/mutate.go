package tir

// Mutator makes a new program of an old one. Its functions are called for each node after its parts have been replaced, and give what stands in its
// place; nil functions leave nodes alone. For a statement, nil takes it away. What does not change is shared with the old program.
type Mutator struct {
	Expr func(Expr) Expr
	Stmt func(Stmt) Stmt

	// PreExpr and PreStmt are asked before the parts; where they answer true, their first result stands instead of the node, and its
	// parts are not looked at.
	PreExpr func(Expr) (Expr, bool)
	PreStmt func(Stmt) (Stmt, bool)

	// Memo, where it is not nil, has what became of expressions: one that stands in several places is replaced once. The functions must
	// not depend on the place then.
	Memo map[Expr]Expr
}

// MutateExpr gives an expression in which m has replaced what it replaces.
func (m *Mutator) MutateExpr(e Expr) Expr {
	if isNil(e) {
		return e
	}
	if m.Memo == nil || isForeign(e) {
		return m.mutateExpr(e)
	}
	if r, done := m.Memo[e]; done {
		return r
	}
	r := m.mutateExpr(e)
	m.Memo[e] = r
	return r
}

func (m *Mutator) mutateExpr(e Expr) Expr {
	if m.PreExpr != nil {
		if r, done := m.PreExpr(e); done {
			return r
		}
	}
	e = m.exprParts(e)
	if m.Expr != nil {
		return m.Expr(e)
	}
	return e
}

// exprs replaces expressions of a list; changed says whether any was.
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

func (m *Mutator) exprParts(e Expr) Expr {
	switch e := e.(type) {
	case *Binary:
		if a, b := m.MutateExpr(e.A), m.MutateExpr(e.B); a != e.A || b != e.B {
			return &Binary{Op: e.Op, A: a, B: b}
		}
	case *Not:
		if a := m.MutateExpr(e.A); a != e.A {
			return &Not{A: a}
		}
	case *Select:
		if c, t, f := m.MutateExpr(e.Cond), m.MutateExpr(e.Then), m.MutateExpr(e.Else); c != e.Cond || t != e.Then || f != e.Else {
			return &Select{Cond: c, Then: t, Else: f}
		}
	case *Cast:
		if v := m.MutateExpr(e.Value); v != e.Value {
			return &Cast{e.Type, v}
		}
	case *BufferLoad:
		if x, changed := m.exprs(e.Indices); changed {
			return &BufferLoad{Buffer: e.Buffer, Indices: x}
		}
	case *ProducerLoad:
		if x, changed := m.exprs(e.Indices); changed {
			return &ProducerLoad{e.Producer, x}
		}
	case *Ramp:
		if b, s := m.MutateExpr(e.Base), m.MutateExpr(e.Stride); b != e.Base || s != e.Stride {
			return &Ramp{b, s, e.Lanes}
		}
	case *Broadcast:
		if v := m.MutateExpr(e.Value); v != e.Value {
			return &Broadcast{v, e.Lanes}
		}
	case *Shuffle:
		if v, changed := m.exprs(e.Vectors); changed {
			return &Shuffle{v, e.Indices}
		}
	case *Let:
		if v, b := m.MutateExpr(e.Value), m.MutateExpr(e.Body); v != e.Value || b != e.Body {
			return &Let{Var: e.Var, Value: v, Body: b}
		}
	case *Call:
		if a, changed := m.exprs(e.Args); changed {
			return &Call{e.Kind, e.Name, e.Type, a}
		}
	case *Reduce:
		s, changed := m.exprs(e.Sources)
		c := m.MutateExpr(e.Cond)
		if changed || c != e.Cond {
			return &Reduce{e.Combiner, s, e.Axes, c, e.Value}
		}
	}
	return e
}

// MutateStmt gives a statement in which m has replaced what it replaces; nil if nothing is left.
func (m *Mutator) MutateStmt(s Stmt) Stmt {
	if isNil(s) {
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

// stmtParts replaces the parts of a statement. What has lost its body goes.
func (m *Mutator) stmtParts(s Stmt) Stmt {
	switch s := s.(type) {
	case *BufferStore:
		x, changed := m.exprs(s.Indices)
		if v := m.MutateExpr(s.Value); changed || v != s.Value {
			return &BufferStore{s.Buffer, v, x}
		}
	case *For:
		low, n, body := m.MutateExpr(s.Min), m.MutateExpr(s.Extent), m.MutateStmt(s.Body)
		if body == nil {
			return nil
		}
		if low != s.Min || n != s.Extent || body != s.Body {
			c := *s
			c.Min, c.Extent, c.Body = low, n, body
			return &c
		}
	case *While:
		c, body := m.MutateExpr(s.Cond), m.MutateStmt(s.Body)
		if body == nil {
			body = &Seq{}
		}
		if c != s.Cond || body != s.Body {
			return &While{c, body}
		}
	case *If:
		c, then, other := m.MutateExpr(s.Cond), m.MutateStmt(s.Then), m.MutateStmt(s.Else)
		if then == nil && other == nil {
			return nil
		}
		if then == nil {
			then = &Seq{}
		}
		if c != s.Cond || then != s.Then || other != s.Else {
			return &If{c, then, other}
		}
	case *LetStmt:
		v, body := m.MutateExpr(s.Value), m.MutateStmt(s.Body)
		if body == nil {
			return nil
		}
		if v != s.Value || body != s.Body {
			return &LetStmt{s.Var, v, body}
		}
	case *Assert:
		if c := m.MutateExpr(s.Cond); c != s.Cond {
			return &Assert{c, s.Kind, s.Message}
		}
	case *Alloc:
		body := m.MutateStmt(s.Body)
		if body == nil {
			return nil
		}
		if body != s.Body {
			return &Alloc{s.Buffer, body}
		}
	case *AttrStmt:
		v, body := m.MutateExpr(s.Value), m.MutateStmt(s.Body)
		if body == nil {
			return nil
		}
		if v != s.Value || body != s.Body {
			return &AttrStmt{s.Key, s.Node, v, body}
		}
	case *Seq:
		return m.seq(s)
	case *Evaluate:
		if v := m.MutateExpr(s.Value); v != s.Value {
			return &Evaluate{v}
		}
	}
	return s
}

func (m *Mutator) seq(s *Seq) Stmt {
	changed := false
	out := make([]Stmt, 0, len(s.Stmts))
	for _, x := range s.Stmts {
		r := m.MutateStmt(x)
		changed = changed || r != x
		if r != nil {
			out = append(out, r)
		}
	}
	switch {
	case !changed:
		return s
	case len(out) == 0:
		return nil
	}
	return Sequence(out...)
}

// Substitute replaces variables by expressions of their types.
func Substitute(e Expr, values map[*Var]Expr) Expr { return substituter(values).MutateExpr(e) }

// SubstituteStmt replaces variables by expressions of their types. Variables that are bound within are not to be among them.
func SubstituteStmt(s Stmt, values map[*Var]Expr) Stmt { return substituter(values).MutateStmt(s) }

func substituter(values map[*Var]Expr) *Mutator {
	return &Mutator{Memo: map[Expr]Expr{}, Expr: func(e Expr) Expr {
		if v, ok := e.(*Var); ok {
			if r, ok := values[v]; ok {
				return r
			}
		}
		return e
	}}
}
