package tvmjson

import (
	"slices"
	"strings"

	"tvmgo/tir"
)

// statement reads a statement; nil if it does nothing.
func (r *reader) statement(n node) tir.Stmt {
	if n.Name() == "SeqStmt" {
		return r.sequence(flat(n, nil))
	}
	return r.sequence([]node{n})
}

// flat returns the statements of sequences within sequences.
func flat(n node, list []node) []node {
	for _, s := range n.At("seq").List() {
		if s.Name() == "SeqStmt" {
			list = flat(s, list)
		} else {
			list = append(list, s)
		}
	}
	return list
}

// sequence reads statements that follow each other. Some define a variable or a buffer for all that follow.
func (r *reader) sequence(list []node) tir.Stmt {
	var done []tir.Stmt
	for i, n := range list {
		rest := func() tir.Stmt { return r.sequence(list[i+1:]) }
		if _, ok := n.Maybe("body"); ok {
			rest = nil
		}
		var s tir.Stmt
		switch n.Name() {
		case "Bind":
			return tir.Sequence(append(done, r.letStmt(n, rest))...)
		case "AllocBuffer":
			b := r.newBuffer(describe(n.At("buffer")), nil)
			return tir.Sequence(append(done, r.allocated(n, b, rest))...)
		case "DeclBuffer":
			s = r.declare(n, rest)
			if rest != nil {
				return tir.Sequence(append(done, s)...)
			}
		default:
			s = r.single(n)
		}
		done = append(done, s)
	}
	if len(done) == 0 {
		return nil
	}
	return tir.Sequence(done...)
}

// body reads the statement in a field; a statement that does nothing is an empty Seq.
func (r *reader) body(n node, field string) tir.Stmt {
	if s := r.statement(n.At(field)); s != nil {
		return s
	}
	return &tir.Seq{}
}

// single reads a statement that defines nothing for those that follow it.
func (r *reader) single(n node) tir.Stmt {
	switch n.Name() {
	case "For":
		return r.loop(n)
	case "BufferStore":
		return r.store(n)
	case "SBlockRealize", "BlockRealize":
		return r.block(n)
	case "IfThenElse":
		s := &tir.If{Cond: r.condition(n.At("condition")), Then: r.body(n, "then_case")}
		if e, ok := n.Maybe("else_case"); ok {
			s.Else = r.statement(e)
		}
		return s
	case "LetStmt":
		return r.letStmt(n, nil)
	case "Evaluate":
		return r.evaluate(n)
	case "While":
		return &tir.While{Cond: r.condition(n.At("condition")), Body: r.body(n, "body")}
	case "AttrStmt":
		return r.attribute(n)
	case "Allocate":
		return r.allocate(n)
	case "AssertStmt":
		return r.assertion(n)
	case "Return":
		value, ok := n.Maybe("value")
		if !ok {
			return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "ret_none")}
		}
		e := r.expr(value)
		return &tir.Evaluate{Value: good(n, tir.NewCall(tir.CallIntrinsic, e.DType(), "ret", e))}
	case "":
		n.Fail("a statement is null")
	}
	n.Unsupported("node %s", n.Key())
	return nil
}

func (r *reader) condition(n node) tir.Expr { return good(n, tir.NewCast(tir.Bool, r.expr(n))) }

func (r *reader) store(n node) tir.Stmt {
	if p, ok := n.Maybe("predicate"); ok {
		p.Unsupported("stores with a predicate")
	}
	b, indices := r.buffer(n.At("buffer")).at(n, r.exprs(n.At("indices")))
	value := r.expr(n.At("value"))
	if len(indices) != len(b.Shape) {
		n.Fail("%d indices for buffer %s, which has %d dimensions", len(indices), b.Name, len(b.Shape))
	}
	return &tir.BufferStore{Buffer: b, Indices: indices, Value: value}
}

func (r *reader) letStmt(n node, rest func() tir.Stmt) (s tir.Stmt) {
	x := n.At("var")
	v, value := tir.NewVar(nameOf(x), r.typeOf(x)), r.expr(n.At("value"))
	if tir.IsHandle(v.Type) { // another name of an address
		if data, ok := value.(*tir.Var); ok {
			if m := r.memoryAt(data); m != nil {
				r.remember(x, m)
			}
			r.within(x, data, func() { s = r.bodyOr(n, rest) })
			return s
		}
		n.Unsupported("a variable that is an address which is computed")
	}
	r.within(x, v, func() { s = r.bodyOr(n, rest) })
	if s == nil {
		return nil
	}
	return &tir.LetStmt{Var: v, Value: value, Body: s}
}

// bodyOr reads what is in the scope of a definition: the statement's body, or what follows it.
func (r *reader) bodyOr(n node, rest func() tir.Stmt) tir.Stmt {
	if rest != nil {
		return rest()
	}
	return r.statement(n.At("body"))
}

// allocated reads what is in the scope of a buffer that is allocated.
func (r *reader) allocated(n node, b *tir.Buffer, rest func() tir.Stmt) tir.Stmt {
	body := r.bodyOr(n, rest)
	if body == nil {
		return nil
	}
	if m := r.memoryAt(b.Data); m != nil {
		body = m.around(body)
	}
	return &tir.Alloc{Buffer: b, Body: body}
}

// allocate reads an allocation of files up to 0.25: a variable that is an address.
func (r *reader) allocate(n node) tir.Stmt {
	x := n.At("buffer_var")
	b := &tir.Buffer{Name: nameOf(x), DType: dataType(n), Shape: r.exprs(n.At("extents"))}
	b.Data = tir.NewVar(b.Name, tir.Handle)
	if t, ok := x.Maybe("type_annotation"); ok && t.Name() == "PointerType" {
		if b.Scope = t.TextAt("storage_scope"); b.Scope == "global" {
			b.Scope = ""
		}
	}
	r.remember(x, &memory{data: b.Data, base: b})
	r.bind(x, b.Data)
	return r.allocated(n, b, nil)
}

// declare reads a declaration of a buffer over memory that exists.
func (r *reader) declare(n node, rest func() tir.Stmt) tir.Stmt {
	d := describe(n.At("buffer"))
	var data tir.Expr
	if n.Has("data") {
		data = r.expr(n.At("data"))
	} else {
		data = r.expr(d.fields.At("data"))
	}
	v, ok := data.(*tir.Var)
	if !ok {
		n.Unsupported("a buffer at an address that is computed")
		v = tir.NewVar("?", tir.Handle)
	}
	if a := r.buffers[d.node.Index()]; a != nil && a.buffer != nil && a.buffer.Data == v {
		return r.bodyOr(n, rest) // it is the buffer that owns the memory
	}
	b := r.newBuffer(d, v)
	if m := r.memoryAt(v); m != nil && m.base != nil {
		if r.isBase(d, b, m) {
			return r.bodyOr(n, rest)
		}
		b.Scope = m.base.Scope
	}
	body := r.bodyOr(n, rest)
	if body == nil {
		return nil
	}
	return tir.View(b, body)
}

// evaluate reads an expression that is computed for its effect.
func (r *reader) evaluate(n node) tir.Stmt {
	e := r.expr(n.At("value"))
	c, ok := e.(*tir.Call)
	if !ok {
		return nil
	}
	var s tir.Stmt = &tir.Evaluate{Value: e}
	if c.Kind != tir.CallExtern && c.Kind != tir.CallPacked {
		return s
	}
	var written []*tir.Buffer
	for _, a := range c.Args {
		if at, ok := a.(*tir.Call); ok && at.Kind == tir.CallIntrinsic && at.Name == "address_of" && len(at.Args) == 1 {
			if load, ok := at.Args[0].(*tir.BufferLoad); ok && !r.reads[at] && !slices.Contains(written, load.Buffer) {
				written = append(written, load.Buffer)
			}
		}
	}
	for _, b := range written {
		s = &tir.AttrStmt{Key: tir.AttrWrites, Node: b, Value: b.Data, Body: s}
	}
	return s
}

// dropped are attributes that say nothing about what a program computes.
var dropped = []string{"pragma_", "storage_alignment", "buffer_dim_align", "double_buffer_scope", "extern_scope",
	"compute_scope", "device_", "reduce_scope", "volatile_scope", "tir.", "tirx.", "hand_threaded", "import_"}

func (r *reader) attribute(n node) tir.Stmt {
	key := n.TextAt("attr_key")
	switch {
	case key == "thread_extent" || key == "virtual_thread":
		axis := n.At("node")
		return r.threadLoop(n, axis.At("var"), axis, tir.I32(0), n.At("value"), func() tir.Stmt {
			return r.statement(n.At("body"))
		})
	case slices.ContainsFunc(dropped, func(p string) bool { return strings.HasPrefix(key, p) }):
	default:
		n.Unsupported("attribute %q", key)
	}
	return r.statement(n.At("body"))
}

func (r *reader) assertion(n node) tir.Stmt {
	s := &tir.Assert{Cond: r.condition(n.At("condition")), Kind: "RuntimeError"}
	if m, ok := n.Maybe("message"); ok {
		text, _ := m.Value()
		s.Message, _ = text.(string)
	} else {
		if kind, _ := n.At("error_kind").Value(); kind != nil {
			s.Kind, _ = kind.(string)
		}
		for _, part := range n.At("message_parts").List() {
			text, _ := part.Value()
			piece, _ := text.(string)
			s.Message += piece
		}
	}
	if s.Kind == "" {
		s.Kind = "RuntimeError"
	}
	if body, ok := n.Maybe("body"); ok {
		return tir.Sequence(s, r.statement(body))
	}
	return s
}
