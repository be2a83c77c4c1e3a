package transform

import (
	"slices"

	"tvmgo/tir"
)

// copier copies statements. A copy binds new variables and buffers, so that a program may contain several copies.
// Variables can be replaced while copying. A part that occurs several times is copied once, and shared in the copy as
// well.
type copier struct {
	vars    map[*tir.Var]tir.Expr
	buffers map[*tir.Buffer]*tir.Buffer
	swap    map[tir.Expr]tir.Expr // replacements for nodes of the original
	seen    map[tir.Expr]tir.Expr
	m       *tir.Mutator
}

// copied returns s with variables replaced by expressions of their types.
func copied(s tir.Stmt, vars map[*tir.Var]tir.Expr) tir.Stmt { return newCopier(vars).stmt(s) }

func newCopier(vars map[*tir.Var]tir.Expr) *copier {
	c := &copier{vars: map[*tir.Var]tir.Expr{}, buffers: map[*tir.Buffer]*tir.Buffer{}, seen: map[tir.Expr]tir.Expr{}}
	for v, e := range vars {
		c.vars[v] = e
	}
	c.m = &tir.Mutator{PreExpr: c.preExpr, PreStmt: c.preStmt}
	return c
}

func (c *copier) stmt(s tir.Stmt) tir.Stmt {
	r := c.m.MutateStmt(s)
	if r == nil {
		return &tir.Seq{}
	}
	return r
}

func (c *copier) expr(e tir.Expr) tir.Expr { return c.m.MutateExpr(e) }

func (c *copier) exprs(all []tir.Expr) []tir.Expr {
	if all == nil {
		return nil
	}
	out := make([]tir.Expr, len(all))
	for i, e := range all {
		out[i] = c.expr(e)
	}
	return out
}

// bind creates the variable that replaces v in the copy.
func (c *copier) bind(v *tir.Var) *tir.Var {
	if v == nil {
		return nil
	}
	n := tir.NewVar(v.Name, v.Type)
	c.vars[v] = n
	c.seen = map[tir.Expr]tir.Expr{} // these copies contain the previous replacement of v
	return n
}

func (c *copier) preExpr(e tir.Expr) (tir.Expr, bool) {
	switch x := e.(type) {
	case *tir.IntImm, *tir.FloatImm:
		return e, true
	case *tir.Var:
		if to, ok := c.vars[x]; ok {
			return to, true
		}
		return e, true
	}
	if r, ok := c.swap[e]; ok {
		return r, true
	}
	if r, ok := c.seen[e]; ok {
		return r, true
	}
	var r tir.Expr
	switch x := e.(type) {
	case *tir.Let:
		value := c.expr(x.Value)
		v := c.bind(x.Var)
		r = &tir.Let{Var: v, Value: value, Body: c.expr(x.Body)}
	case *tir.Binary, *tir.Cast, *tir.Select, *tir.Call:
		r = c.m.MutateParts(e)
	default:
		c.binds(e)
		r = c.named(c.m.MutateParts(e)).(tir.Expr)
	}
	c.seen[e] = r
	return r, true
}

// binds creates the replacements of the variables and buffers that a node defines.
func (c *copier) binds(node any) {
	vars, buffers := tir.Bound(node)
	for _, v := range vars {
		c.bind(v)
	}
	for _, b := range buffers {
		c.bindBuffer(b)
	}
}

// bindBuffer creates the buffer that replaces b in the copy.
func (c *copier) bindBuffer(b *tir.Buffer) *tir.Buffer {
	n := *b
	n.Shape, n.Strides = c.exprs(b.Shape), c.exprs(b.Strides)
	if b.Offset != nil {
		n.Offset = c.expr(b.Offset)
	}
	n.Data = c.bind(b.Data)
	c.buffers[b] = &n
	return &n
}

// named returns a node, whose parts are already copied, with the replacements of the variables and buffers that it
// names and defines.
func (c *copier) named(node any) any {
	if l, ok := node.(*tir.BufferLoad); ok {
		if b := c.buffers[l.Buffer]; b != nil {
			return &tir.BufferLoad{Buffer: b, Indices: l.Indices}
		}
		return l
	}
	vars, buffers := tir.Named(node)
	own, ownBuffers := tir.Bound(node)
	if len(vars)+len(buffers)+len(own)+len(ownBuffers) == 0 {
		return node
	}
	node = tir.Renamed(node, func(v *tir.Var) *tir.Var {
		if to, ok := c.vars[v].(*tir.Var); ok && slices.Contains(own, v) {
			return to
		}
		return v
	}, func(b *tir.Buffer) *tir.Buffer {
		if to := c.buffers[b]; to != nil {
			return to
		}
		return b
	})
	return tir.Replaced(node, c.vars)
}

func (c *copier) preStmt(s tir.Stmt) (tir.Stmt, bool) {
	switch s := s.(type) {
	case *tir.For:
		n := *s
		n.Min, n.Extent = c.expr(s.Min), c.expr(s.Extent)
		n.Var = c.bind(s.Var)
		n.Body = c.stmt(s.Body)
		return &n, true
	case *tir.LetStmt:
		value := c.expr(s.Value)
		return &tir.LetStmt{Var: c.bind(s.Var), Value: value, Body: c.stmt(s.Body)}, true
	case *tir.BufferStore:
		b := s.Buffer
		if to := c.buffers[b]; to != nil {
			b = to
		}
		return &tir.BufferStore{Buffer: b, Value: c.expr(s.Value), Indices: c.exprs(s.Indices)}, true
	case *tir.AttrStmt:
		n := *s
		n.Value = c.expr(s.Value)
		switch x := s.Node.(type) {
		case *tir.Var:
			if v, ok := c.vars[x].(*tir.Var); ok {
				n.Node = v
			}
		case *tir.Buffer:
			if b := c.buffers[x]; b != nil {
				n.Node = b
			}
		}
		n.Body = c.stmt(s.Body)
		return &n, true
	case *tir.If, *tir.While, *tir.Seq, *tir.Evaluate, *tir.Assert:
		return s, false
	}
	c.binds(s)
	return c.named(tir.MapStmt(s, c.expr, c.stmt)).(tir.Stmt), true
}
