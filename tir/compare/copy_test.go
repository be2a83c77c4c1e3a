package compare

import (
	"maps"

	"tvmgo/tir"
)

// copier copies a program: variables and buffers that are bound within get others, of other names, and nothing is
// shared. One place of those that can be changed is, if there are so many.
type copier struct {
	vars          map[*tir.Var]*tir.Var
	buffers       map[*tir.Buffer]*tir.Buffer
	scope         []*tir.Var // of the copy, that may be used
	sites, change int
	what          string // what Difference says of the change
}

func (c *copier) here(what string) bool {
	c.sites++
	if c.sites-1 == c.change {
		c.what = what
		return true
	}
	return false
}

func (c *copier) function(f *tir.PrimFunc) *tir.PrimFunc {
	c.vars, c.buffers = map[*tir.Var]*tir.Var{}, map[*tir.Buffer]*tir.Buffer{}
	g := &tir.PrimFunc{Name: f.Name, Buffers: map[*tir.Var]*tir.Buffer{}, Result: f.Result, Attrs: maps.Clone(f.Attrs)}
	if c.here("attrs[a]") {
		g.Attrs["a"] = int64(2)
	}
	if c.here("function main is not") {
		g.Name = "other"
	}
	for _, p := range f.Params {
		g.Params = append(g.Params, c.bind(p))
	}
	for _, p := range f.Params {
		if b := f.Buffers[p]; b != nil {
			for _, v := range b.SizeVars() {
				if v != nil && c.vars[v] == nil {
					c.bind(v)
				}
			}
			g.Buffers[c.vars[p]] = c.bindBuffer(b)
		}
	}
	if c.here("parameters are not") {
		g.Params = append(g.Params, tir.NewVar("more", tir.Int32))
	}
	g.Body = c.stmt(f.Body)
	return g
}

func (c *copier) bind(v *tir.Var) *tir.Var {
	w := tir.NewVar(v.Name+"_copy", v.Type)
	c.vars[v] = w
	c.scope = append(c.scope, w)
	return w
}

func (c *copier) bindBuffer(b *tir.Buffer) *tir.Buffer {
	w := &tir.Buffer{Name: b.Name + "_copy", Data: c.bind(b.Data), DType: b.DType, Shape: c.exprs(b.Shape),
		Scope: b.StorageScope(), Alignment: b.Alignment}
	if c.here("scope") {
		w.Scope = "warp"
	}
	if c.here("alignment") {
		w.Alignment = 128
	}
	if c.here("buffer " + b.Name + " of type float32 is not of type float16") {
		w.DType = tir.Float16
	}
	if c.here("strides: 0 are not 1") {
		w.Strides = []tir.Expr{tir.I32(1)}
	}
	if c.here("offset: nil is not IntImm") {
		w.Offset = tir.I32(0)
	}
	c.buffers[b] = w
	return w
}

func (c *copier) exprs(all []tir.Expr) []tir.Expr {
	var out []tir.Expr
	for _, e := range all {
		out = append(out, c.expr(e))
	}
	return out
}

func (c *copier) expr(e tir.Expr) tir.Expr {
	switch e := e.(type) {
	case *tir.Var:
		w := c.vars[e]
		for _, other := range c.scope {
			if other != w && other.Type == w.Type {
				if c.here("variable " + e.Name + " is not variable") {
					return other
				}
				break
			}
		}
		if c.here("Var is not IntImm") {
			return tir.I32(1)
		}
		return w
	case *tir.IntImm:
		k := *e
		if c.here("value ") {
			k.Value ^= 1
		}
		if c.here(" is not int64") {
			k.Type = tir.Int64
		}
		return &k
	case *tir.FloatImm:
		k := *e
		if c.here("value ") {
			k.Value -= 0.25
		}
		return &k
	case *tir.StringImm:
		k := *e
		if c.here(`is not "t+"`) {
			k.Value += "+"
		}
		return &k
	case *tir.Binary:
		b := &tir.Binary{Op: e.Op, A: c.expr(e.A), B: c.expr(e.B)}
		if c.here("op ") {
			b.Op = (b.Op + 1) % tir.BinaryOp(len(tir.Names[tir.BinaryOp]()))
		}
		if c.here("Binary is not Not") {
			return &tir.Not{A: b}
		}
		return b
	case *tir.Not:
		if c.here("Not is not ") {
			return tir.BoolConst(true)
		}
		return &tir.Not{A: c.expr(e.A)}
	case *tir.Select:
		return &tir.Select{Cond: c.expr(e.Cond), Then: c.expr(e.Then), Else: c.expr(e.Else)}
	case *tir.Cast:
		k := &tir.Cast{Type: e.Type, Value: c.expr(e.Value)}
		if c.here("type ") {
			k.Type = tir.Int16
		}
		return k
	case *tir.BufferLoad:
		return &tir.BufferLoad{Buffer: c.buffer(e.Buffer), Indices: c.exprs(e.Indices)}
	case *tir.Ramp:
		r := &tir.Ramp{Base: c.expr(e.Base), Stride: c.expr(e.Stride), Lanes: e.Lanes}
		if c.here("lanes ") {
			r.Lanes++
		}
		return r
	case *tir.Broadcast:
		b := &tir.Broadcast{Value: c.expr(e.Value), Lanes: e.Lanes}
		if c.here("lanes ") {
			b.Lanes++
		}
		return b
	case *tir.Let:
		value := c.expr(e.Value)
		scope := c.scope
		l := &tir.Let{Var: c.bind(e.Var), Value: value, Body: nil}
		l.Body = c.expr(e.Body)
		c.scope = scope
		return l
	case *tir.Call:
		k := &tir.Call{Kind: e.Kind, Name: e.Name, Type: e.Type, Args: c.exprs(e.Args)}
		if c.here("name ") {
			k.Name += "x"
		}
		if c.here("kind " + e.Kind.String()) {
			k.Kind = tir.CallExtern
		}
		if c.here("args: ") {
			k.Args = append(k.Args, tir.I32(1))
		}
		return k
	}
	panic(tir.NodeName(e))
}

func (c *copier) buffer(b *tir.Buffer) *tir.Buffer {
	if c.here("buffer " + b.Name + " ") { // one from outside
		return tir.NewBuffer(b.Name, tir.Float64, tir.I32(4), tir.I32(4))
	}
	return c.buffers[b]
}

func (c *copier) stmt(s tir.Stmt) tir.Stmt {
	if c.here(tir.NodeName(s) + " is not Evaluate") {
		return &tir.Evaluate{Value: tir.I32(0)}
	}
	scope := c.scope
	defer func() { c.scope = scope }()
	switch s := s.(type) {
	case *tir.BufferStore:
		return &tir.BufferStore{Buffer: c.buffer(s.Buffer), Value: c.expr(s.Value), Indices: c.exprs(s.Indices)}
	case *tir.For:
		f := &tir.For{Kind: s.Kind, Min: c.expr(s.Min), Extent: c.expr(s.Extent), Thread: s.Thread,
			Annotations: maps.Clone(s.Annotations)}
		if c.here("kind ") {
			f.Kind = tir.Vectorized
		}
		if c.here("thread ") {
			f.Thread = "threadIdx.x"
		}
		if c.here("annotations[more]") {
			if f.Annotations == nil {
				f.Annotations = map[string]any{}
			}
			f.Annotations["more"] = true
		}
		f.Var = c.bind(s.Var)
		if c.here("of type int32 is not of type int64") {
			f.Var.Type = tir.Int64
		}
		f.Body = c.stmt(s.Body)
		return f
	case *tir.While:
		return &tir.While{Cond: c.expr(s.Cond), Body: c.stmt(s.Body)}
	case *tir.If:
		i := &tir.If{Cond: c.expr(s.Cond), Then: c.stmt(s.Then)}
		switch {
		case s.Else == nil && c.here("if.else: nil is not Seq"):
			i.Else = &tir.Seq{}
		case s.Else != nil && c.here("is not nil"):
		case s.Else != nil:
			i.Else = c.stmt(s.Else)
		}
		return i
	case *tir.LetStmt:
		value := c.expr(s.Value)
		l := &tir.LetStmt{Var: c.bind(s.Var), Value: value}
		l.Body = c.stmt(s.Body)
		return l
	case *tir.Assert:
		a := &tir.Assert{Cond: c.expr(s.Cond), Kind: s.Kind, Message: s.Message}
		if c.here("message ") {
			a.Message += "!"
		}
		return a
	case *tir.Alloc:
		a := &tir.Alloc{Buffer: c.bindBuffer(s.Buffer)}
		a.Body = c.stmt(s.Body)
		return a
	case *tir.AttrStmt:
		a := &tir.AttrStmt{Key: s.Key, Node: c.buffers[s.Node.(*tir.Buffer)], Value: c.expr(s.Value), Body: c.stmt(s.Body)}
		if c.here("key ") {
			a.Key += "x"
		}
		if c.here("node: Buffer is not nil") {
			a.Node = nil
		}
		return a
	case *tir.Seq:
		q := &tir.Seq{}
		for _, x := range s.Stmts {
			q.Stmts = append(q.Stmts, c.stmt(x))
		}
		if c.here("statements are not") {
			q.Stmts = append(q.Stmts, &tir.Evaluate{Value: tir.I32(0)})
		}
		return q
	}
	panic(tir.NodeName(s))
}
