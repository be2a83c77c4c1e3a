package tir

import "slices"

// Copier copies statements. A copy binds new variables and buffers, so that a program may contain several copies.
// Variables can be replaced while copying. A part that occurs several times is copied once, and shared in the copy as
// well.
type Copier struct {
	vars    map[*Var]Expr
	buffers map[*Buffer]*Buffer
	Swap    map[Expr]Expr // replacements for nodes of the original
	seen    map[Expr]Expr
	m       *Mutator
}

// Copied returns s with variables replaced by expressions of their types.
func Copied(s Stmt, vars map[*Var]Expr) Stmt { return NewCopier(vars).Stmt(s) }

// NewCopier makes a copier that replaces variables by expressions of their types.
func NewCopier(vars map[*Var]Expr) *Copier {
	c := &Copier{vars: map[*Var]Expr{}, buffers: map[*Buffer]*Buffer{}, seen: map[Expr]Expr{}}
	for v, e := range vars {
		c.vars[v] = e
	}
	c.m = &Mutator{PreExpr: c.preExpr, PreStmt: c.preStmt}
	return c
}

// Stmt copies a statement.
func (c *Copier) Stmt(s Stmt) Stmt {
	r := c.m.MutateStmt(s)
	if r == nil {
		return &Seq{}
	}
	return r
}

// Expr copies an expression.
func (c *Copier) Expr(e Expr) Expr { return c.m.MutateExpr(e) }

func (c *Copier) exprs(all []Expr) []Expr {
	if all == nil {
		return nil
	}
	out := make([]Expr, len(all))
	for i, e := range all {
		out[i] = c.Expr(e)
	}
	return out
}

// bind creates the variable that replaces v in the copy.
func (c *Copier) bind(v *Var) *Var {
	if v == nil {
		return nil
	}
	n := NewVar(v.Name, v.Type)
	c.vars[v] = n
	c.seen = map[Expr]Expr{} // these copies contain the previous replacement of v
	return n
}

func (c *Copier) preExpr(e Expr) (Expr, bool) {
	switch x := e.(type) {
	case *IntImm, *FloatImm:
		return e, true
	case *Var:
		if to, ok := c.vars[x]; ok {
			return to, true
		}
		return e, true
	}
	if r, ok := c.Swap[e]; ok {
		return r, true
	}
	if r, ok := c.seen[e]; ok {
		return r, true
	}
	var r Expr
	switch x := e.(type) {
	case *Let:
		value := c.Expr(x.Value)
		v := c.bind(x.Var)
		r = &Let{Var: v, Value: value, Body: c.Expr(x.Body)}
	case *Binary, *Cast, *Select, *Call:
		r = c.m.MutateParts(e)
	default:
		c.binds(e)
		r = c.named(c.m.MutateParts(e)).(Expr)
	}
	c.seen[e] = r
	return r, true
}

// binds creates the replacements of the variables and buffers that a node defines.
func (c *Copier) binds(node any) {
	vars, buffers := Bound(node)
	for _, v := range vars {
		c.bind(v)
	}
	for _, b := range buffers {
		c.bindBuffer(b)
	}
}

// bindBuffer creates the buffer that replaces b in the copy.
func (c *Copier) bindBuffer(b *Buffer) *Buffer {
	n := *b
	n.Shape, n.Strides = c.exprs(b.Shape), c.exprs(b.Strides)
	if b.Offset != nil {
		n.Offset = c.Expr(b.Offset)
	}
	n.Data = c.bind(b.Data)
	c.buffers[b] = &n
	return &n
}

// named returns a node, whose parts are already copied, with the replacements of the variables and buffers that it
// names and defines.
func (c *Copier) named(node any) any {
	if l, ok := node.(*BufferLoad); ok {
		if b := c.buffers[l.Buffer]; b != nil {
			return &BufferLoad{Buffer: b, Indices: l.Indices}
		}
		return l
	}
	vars, buffers := Named(node)
	own, ownBuffers := Bound(node)
	if len(vars)+len(buffers)+len(own)+len(ownBuffers) == 0 {
		return node
	}
	node = Renamed(node, func(v *Var) *Var {
		if to, ok := c.vars[v].(*Var); ok && slices.Contains(own, v) {
			return to
		}
		return v
	}, func(b *Buffer) *Buffer {
		if to := c.buffers[b]; to != nil {
			return to
		}
		return b
	})
	return Replaced(node, c.vars)
}

func (c *Copier) preStmt(s Stmt) (Stmt, bool) {
	switch s := s.(type) {
	case *For:
		n := *s
		n.Min, n.Extent = c.Expr(s.Min), c.Expr(s.Extent)
		n.Var = c.bind(s.Var)
		n.Body = c.Stmt(s.Body)
		return &n, true
	case *LetStmt:
		value := c.Expr(s.Value)
		return &LetStmt{Var: c.bind(s.Var), Value: value, Body: c.Stmt(s.Body)}, true
	case *BufferStore:
		b := s.Buffer
		if to := c.buffers[b]; to != nil {
			b = to
		}
		return &BufferStore{Buffer: b, Value: c.Expr(s.Value), Indices: c.exprs(s.Indices)}, true
	case *AttrStmt:
		n := *s
		n.Value = c.Expr(s.Value)
		switch x := s.Node.(type) {
		case *Var:
			if v, ok := c.vars[x].(*Var); ok {
				n.Node = v
			}
		case *Buffer:
			if b := c.buffers[x]; b != nil {
				n.Node = b
			}
		}
		n.Body = c.Stmt(s.Body)
		return &n, true
	case *If, *While, *Seq, *Evaluate, *Assert:
		return s, false
	}
	c.binds(s)
	return c.named(MapStmt(s, c.Expr, c.Stmt)).(Stmt), true
}
