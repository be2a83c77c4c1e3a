package tir

import "maps"

// copier copies a program: variables and buffers that are bound within get others, of other names, and nothing is shared. One place of those
// that can be changed is, if there are so many.
type copier struct {
	vars          map[*Var]*Var
	buffers       map[*Buffer]*Buffer
	scope         []*Var // of the copy, that may be used
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

func (c *copier) function(f *PrimFunc) *PrimFunc {
	c.vars, c.buffers = map[*Var]*Var{}, map[*Buffer]*Buffer{}
	g := &PrimFunc{Name: f.Name, Buffers: map[*Var]*Buffer{}, Result: f.Result, Attrs: maps.Clone(f.Attrs)}
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
			for _, v := range ownSizes(b) {
				if v != nil && c.vars[v] == nil {
					c.bind(v)
				}
			}
			g.Buffers[c.vars[p]] = c.bindBuffer(b)
		}
	}
	if c.here("parameters are not") {
		g.Params = append(g.Params, NewVar("more", Int32))
	}
	g.Body = c.stmt(f.Body)
	return g
}

func (c *copier) bind(v *Var) *Var {
	w := NewVar(v.Name+"_copy", v.Type)
	c.vars[v] = w
	c.scope = append(c.scope, w)
	return w
}

func (c *copier) bindBuffer(b *Buffer) *Buffer {
	w := &Buffer{Name: b.Name + "_copy", Data: c.bind(b.Data), DType: b.DType, Shape: c.exprs(b.Shape), Scope: b.StorageScope(), Alignment: b.Alignment}
	if c.here("scope") {
		w.Scope = "warp"
	}
	if c.here("alignment") {
		w.Alignment = 128
	}
	if c.here("buffer " + b.Name + " of type float32 is not of type float16") {
		w.DType = Float16
	}
	if c.here("strides: 0 are not 1") {
		w.Strides = []Expr{I32(1)}
	}
	if c.here("offset: nil is not IntImm") {
		w.Offset = I32(0)
	}
	c.buffers[b] = w
	return w
}

func (c *copier) exprs(all []Expr) []Expr {
	var out []Expr
	for _, e := range all {
		out = append(out, c.expr(e))
	}
	return out
}

func (c *copier) expr(e Expr) Expr {
	switch e := e.(type) {
	case *Var:
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
			return I32(1)
		}
		return w
	case *IntImm:
		k := *e
		if c.here("constant ") {
			k.Value ^= 1
		}
		if c.here("of type int64") {
			k.Type = Int64
		}
		return &k
	case *FloatImm:
		k := *e
		if c.here("of type float32 is not ") {
			k.Value -= 0.25
		}
		return &k
	case *StringImm:
		k := *e
		if c.here(`is not "t+"`) {
			k.Value += "+"
		}
		return &k
	case *Binary:
		b := &Binary{Op: e.Op, A: c.expr(e.A), B: c.expr(e.B)}
		if c.here("operation ") {
			b.Op = (b.Op + 1) % numBinaryOps
		}
		if c.here("Binary is not Not") {
			return &Not{A: b}
		}
		return b
	case *Not:
		if c.here("Not is not ") {
			return BoolConst(true)
		}
		return &Not{A: c.expr(e.A)}
	case *Select:
		return &Select{Cond: c.expr(e.Cond), Then: c.expr(e.Then), Else: c.expr(e.Else)}
	case *Cast:
		k := &Cast{e.Type, c.expr(e.Value)}
		if c.here("cast to ") {
			k.Type = Int16
		}
		return k
	case *BufferLoad:
		return &BufferLoad{Buffer: c.buffer(e.Buffer), Indices: c.exprs(e.Indices)}
	case *Ramp:
		r := &Ramp{c.expr(e.Base), c.expr(e.Stride), e.Lanes}
		if c.here("ramp of ") {
			r.Lanes++
		}
		return r
	case *Broadcast:
		b := &Broadcast{c.expr(e.Value), e.Lanes}
		if c.here("broadcast of ") {
			b.Lanes++
		}
		return b
	case *Let:
		value := c.expr(e.Value)
		scope := c.scope
		l := &Let{Var: c.bind(e.Var), Value: value, Body: nil}
		l.Body = c.expr(e.Body)
		c.scope = scope
		return l
	case *Call:
		k := &Call{e.Kind, e.Name, e.Type, c.exprs(e.Args)}
		if c.here("call of ") {
			k.Name += "x"
		}
		if c.here("call of " + e.Kind.String()) {
			k.Kind = CallExtern
		}
		if c.here("parts is not of") {
			k.Args = append(k.Args, I32(1))
		}
		return k
	}
	panic(nodeName(e))
}

func (c *copier) buffer(b *Buffer) *Buffer {
	if c.here("buffer " + b.Name + " ") { // one from outside
		return NewBuffer(b.Name, Float64, I32(4), I32(4))
	}
	return c.buffers[b]
}

func (c *copier) stmt(s Stmt) Stmt {
	if c.here(nodeName(s) + " is not Evaluate") {
		return &Evaluate{I32(0)}
	}
	scope := c.scope
	defer func() { c.scope = scope }()
	switch s := s.(type) {
	case *BufferStore:
		return &BufferStore{c.buffer(s.Buffer), c.expr(s.Value), c.exprs(s.Indices)}
	case *For:
		f := &For{Kind: s.Kind, Min: c.expr(s.Min), Extent: c.expr(s.Extent), Thread: s.Thread, Annotations: maps.Clone(s.Annotations)}
		if c.here("loop ") {
			f.Kind = Vectorized
		}
		if c.here("loop ") {
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
			f.Var.Type = Int64
		}
		f.Body = c.stmt(s.Body)
		return f
	case *While:
		return &While{c.expr(s.Cond), c.stmt(s.Body)}
	case *If:
		i := &If{Cond: c.expr(s.Cond), Then: c.stmt(s.Then)}
		switch {
		case s.Else == nil && c.here("if.else: nil is not Seq"):
			i.Else = &Seq{}
		case s.Else != nil && c.here("is not nil"):
		case s.Else != nil:
			i.Else = c.stmt(s.Else)
		}
		return i
	case *LetStmt:
		value := c.expr(s.Value)
		l := &LetStmt{Var: c.bind(s.Var), Value: value}
		l.Body = c.stmt(s.Body)
		return l
	case *Assert:
		a := &Assert{c.expr(s.Cond), s.Kind, s.Message}
		if c.here("assertion ") {
			a.Message += "!"
		}
		return a
	case *Alloc:
		a := &Alloc{Buffer: c.bindBuffer(s.Buffer)}
		a.Body = c.stmt(s.Body)
		return a
	case *AttrStmt:
		a := &AttrStmt{s.Key, c.buffers[s.Node.(*Buffer)], c.expr(s.Value), c.stmt(s.Body)}
		if c.here("attribute ") {
			a.Key += "x"
		}
		if c.here("node: Buffer is not nil") {
			a.Node = nil
		}
		return a
	case *Seq:
		q := &Seq{}
		for _, x := range s.Stmts {
			q.Stmts = append(q.Stmts, c.stmt(x))
		}
		if c.here("statements are not") {
			q.Stmts = append(q.Stmts, &Evaluate{I32(0)})
		}
		return q
	}
	panic(nodeName(s))
}
