package tvmjson

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// description is what a file says about a buffer, which is a node of its own or the type of a variable.
type description struct {
	node, fields node
	name         string
	dtype        tir.Type
	scope        string
}

func isBufferVar(n node) bool {
	if !n.Has("ty") {
		return false
	}
	return n.At("ty").Name() == "BufferType"
}

func describe(n node) description {
	d := description{node: n, fields: n, name: nameOf(n)}
	if isBufferVar(n) {
		d.fields = n.At("ty")
		d.dtype = dataType(d.fields.At("dtype"))
		d.scope = d.fields.TextAt("storage_scope")
	} else {
		if n.Name() != "Buffer" {
			n.Fail("want a buffer")
		}
		d.dtype = dataType(n)
		if t, ok := n.At("data").Maybe("type_annotation"); ok && t.Name() == "PointerType" {
			d.scope = t.TextAt("storage_scope")
		}
	}
	if d.scope == "global" {
		d.scope = ""
	}
	return d
}

// access says how a buffer of the file is accessed: by the indices themselves, or as a region of another buffer.
type access struct {
	buffer *tir.Buffer
	of     *access    // the buffer of which it is a region
	first  []tir.Expr // the region's first indices, one for each dimension of that buffer
}

// at returns the buffer, and its indices for those of the region.
func (a *access) at(n node, indices []tir.Expr) (*tir.Buffer, []tir.Expr) {
	if a.of == nil {
		return a.buffer, indices
	}
	lead := len(a.first) - len(indices)
	if lead < 0 {
		n.Fail("%d indices for a region of %d dimensions", len(indices), len(a.first))
	}
	all := append([]tir.Expr{}, a.first[:lead]...)
	for i, x := range indices {
		all = append(all, sum(n, a.first[lead+i], x))
	}
	return a.of.at(n, all)
}

// sum adds two indices, whose types may differ.
func sum(n node, a, b tir.Expr) tir.Expr {
	if zero(a) {
		return b
	}
	if zero(b) && b.DType().Lanes == 1 {
		return a
	}
	return good(n, tir.Add(a, b))
}

func zero(e tir.Expr) bool { v, ok := tir.IntValue(e); return ok && v == 0 }

// memory is a variable that is an address: of a parameter's tensor or of an allocation. Buffers over it that no
// statement declares are declared around all that is in its scope.
type memory struct {
	data  *tir.Var
	base  *tir.Buffer // nil for a parameter that is only an address
	views []*tir.Buffer
}

// around declares the buffers over the memory around a statement.
func (m *memory) around(body tir.Stmt) tir.Stmt {
	if body == nil {
		return nil
	}
	for _, b := range m.views {
		body = tir.View(b, body)
	}
	m.views = nil
	return body
}

// remember makes a variable, or a buffer, the address of memory.
func (r *reader) remember(n node, m *memory) {
	r.memories[n.Index()] = m
	if !slices.Contains(r.all, m) {
		r.all = append(r.all, m)
	}
}

// memoryAt returns the memory at an address; nil if there is none.
func (r *reader) memoryAt(data tir.Expr) *memory {
	i := slices.IndexFunc(r.all, func(m *memory) bool { return tir.Expr(m.data) == data })
	if i < 0 {
		return nil
	}
	return r.all[i]
}

// newBuffer makes a buffer, which accesses to its node then mean. data is its address; nil: it has memory of its own.
func (r *reader) newBuffer(d description, data *tir.Var) *tir.Buffer {
	own := data == nil
	if own {
		data = tir.NewVar(d.name, tir.Handle)
	}
	b := &tir.Buffer{Name: d.name, Data: data, DType: d.dtype, Scope: d.scope}
	b.Shape = r.exprs(d.fields.At("shape"))
	if s := r.exprs(d.fields.At("strides")); len(s) > 0 {
		if len(s) != len(b.Shape) {
			d.node.Fail("buffer %s has %d strides for %d dimensions", b.Name, len(s), len(b.Shape))
		}
		b.Strides = s
	}
	if o, ok := d.fields.Maybe("elem_offset"); ok {
		if e := r.expr(o); !zero(e) {
			b.Offset = e
		}
	}
	if layout, ok := d.fields.Maybe("axis_separators"); ok && len(layout.List()) > 0 {
		d.node.Unsupported("buffers with axis separators")
	}
	r.define(d.node, b, own)
	return b
}

// define makes accesses to a node mean a buffer.
func (r *reader) define(n node, b *tir.Buffer, own bool) {
	r.buffers[n.Index()] = &access{buffer: b}
	if own {
		m := &memory{data: b.Data, base: b}
		r.remember(n, m)
		if !isBufferVar(n) {
			data := n.At("data")
			r.remember(data, m)
			r.bind(data, b.Data)
		}
	}
}

// buffer returns how a buffer is accessed.
func (r *reader) buffer(n node) *access {
	if a := r.buffers[n.Index()]; a != nil {
		return a
	}
	d := describe(n)
	if !isBufferVar(n) {
		if m := r.memories[n.At("data").Index()]; m != nil {
			return r.over(d, m)
		}
	}
	n.Fail("buffer %s is used outside of its scope", d.name)
	return nil
}

// over declares a buffer over memory of which another one has been declared.
func (r *reader) over(d description, m *memory) *access {
	b := r.newBuffer(d, m.data)
	if r.isBase(d, b, m) {
		return r.buffers[d.node.Index()]
	}
	b.Scope = ""
	if m.base != nil {
		b.Scope = m.base.Scope
	}
	m.views = append(m.views, b)
	return r.buffers[d.node.Index()]
}

// isBase reports whether a buffer is equal to that for which its memory is allocated, which its node then means.
func (r *reader) isBase(d description, b *tir.Buffer, m *memory) bool {
	base := m.base
	if base == nil || b.DType != base.DType || b.Strides != nil || base.Strides != nil || b.Offset != nil ||
		base.Offset != nil || !slices.EqualFunc(b.Shape, base.Shape, func(x, y tir.Expr) bool {
		return compare.Equal(x, y)
	}) {
		return false
	}
	r.buffers[d.node.Index()] = &access{buffer: base}
	return true
}

// region reads a region of a buffer: the buffer, and the first index and the extent of each dimension.
func (r *reader) region(n node) (a *access, first, extents []tir.Expr) {
	source := "buffer"
	if n.Has("source") {
		source = "source"
	}
	a = r.buffer(n.At(source))
	for _, x := range n.At("region").List() {
		first = append(first, r.expr(x.At("min")))
		extents = append(extents, r.expr(x.At("extent")))
	}
	return a, first, extents
}

// match makes a buffer mean a region of another one.
func (r *reader) match(n node) {
	d := describe(n.At("buffer"))
	of, first, extents := r.region(n.At("source"))
	shape := d.fields.At("shape").List()
	lead := len(first) - len(shape)
	if lead < 0 {
		n.Fail("a buffer of %d dimensions matches a region of %d", len(shape), len(first))
	}
	base, origin := of.at(n, first)
	if base.DType != d.dtype {
		n.Fail("a buffer of type %s matches one of type %s", d.dtype, base.DType)
	}
	strides := stridesOf(n, base)
	if len(strides) != len(origin) {
		n.Fail("a region of %d dimensions of buffer %s, which has %d", len(origin), base.Name, len(strides))
	}
	for i, x := range shape {
		r.solve(x, extents[lead+i])
	}
	for i, x := range d.fields.At("strides").List() {
		if at := len(strides) - len(shape) + i; at >= 0 && at < len(strides) {
			r.solve(x, strides[at])
		}
	}
	if o, ok := d.fields.Maybe("elem_offset"); ok {
		r.solve(o, offsetOf(n, base, origin))
	}
	r.buffers[d.node.Index()] = &access{of: of, first: first}
	if !isBufferVar(d.node) {
		data := d.node.At("data")
		r.bind(data, base.Data)
		if m := r.memoryAt(base.Data); m != nil {
			r.remember(data, m)
		}
	}
}

// solve gives a variable that is not known the value with which it is compared.
func (r *reader) solve(n node, value tir.Expr) {
	if name := n.Name(); (name == "Var" || name == "SizeVar") && r.vars[n.Index()] == nil {
		r.bind(n, good(n, tir.NewCast(r.typeOf(n), value)))
	}
}

// stridesOf returns the strides of a buffer.
func stridesOf(n node, b *tir.Buffer) []tir.Expr {
	if b.Strides != nil {
		return b.Strides
	}
	out := make([]tir.Expr, len(b.Shape))
	var s tir.Expr = tir.I32(1)
	for i := len(b.Shape) - 1; i >= 0; i-- {
		out[i] = s
		s = times(n, s, b.Shape[i])
	}
	return out
}

// offsetOf returns the distance of an element from the beginning of a buffer's memory.
func offsetOf(n node, b *tir.Buffer, indices []tir.Expr) tir.Expr {
	var at tir.Expr = tir.I32(0)
	if b.Offset != nil {
		at = b.Offset
	}
	for i, s := range stridesOf(n, b) {
		at = sum(n, at, times(n, indices[i], s))
	}
	return at
}

func times(n node, a, b tir.Expr) tir.Expr {
	x, isX := tir.IntValue(a)
	y, isY := tir.IntValue(b)
	switch {
	case isX && x == 1:
		return b
	case isY && y == 1:
		return a
	case isX && isY && x > -1<<31 && x < 1<<31 && y > -1<<31 && y < 1<<31:
		return good(n, tir.IntConst(a.DType(), x*y))
	}
	return good(n, tir.Mul(a, b))
}
