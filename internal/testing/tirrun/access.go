package tirrun

import (
	"encoding/binary"
	"fmt"
	"math"

	"tvmgo/tir"
)

// access is a compiled load or store.
type access struct {
	buffer *tir.Buffer
	store  bool
	at     *position
	slot   int // of the buffer's address
	codec  *codec
	lanes  int64 // per element
	bits   int64 // per element

	index []func(*frame) int64 // the indices except the last
	bound []func(*frame) int64 // the bounds of all dimensions
	outer func(*frame) int64   // the offset of all indices except the last, in elements; nil: 0
	last  value                // the last index; a constant 0 for a buffer without dimensions

	// The last dimension.
	lastBound, lastStride func(*frame) int64
	constBound            int64 // -1: not constant
	constStride           int64 // 0: not constant
}

// access compiles an access to a buffer.
func (c *compiler) access(b *tir.Buffer, indices []tir.Expr, store bool) *access {
	c.address(b)
	if !c.bound[b.Data] {
		c.fail("buffer %s is neither allocated here nor that of a parameter", b.Name)
	}
	if len(indices) != len(b.Shape) {
		c.fail("buffer %s has %d dimensions, and %d indices", b.Name, len(b.Shape), len(indices))
	}
	codec, _ := codecOf(b.DType)
	a := &access{buffer: b, store: store, at: c.at, slot: c.slots[b.Data], codec: codec, lanes: int64(b.DType.Lanes),
		constBound: -1}
	a.bits = codec.bits * a.lanes
	strides := c.strides(b)
	for d := range b.Shape {
		a.bound = append(a.bound, c.size(b.Shape[d], fmt.Sprintf("buffer %s: shape[%d]", b.Name, d)).i)
	}
	a.last = intConst(tir.Int64, 0)
	a.lastBound = func(*frame) int64 { return 1 }
	a.lastStride = a.lastBound
	a.constBound, a.constStride = 1, 1
	for d, x := range indices {
		v := c.expr(x)
		if !tir.IsInt(v.t) || v.vector() && d < len(indices)-1 {
			c.fail("buffer %s: index %d has type %s: want an integer", b.Name, d, v.t)
		}
		if d < len(indices)-1 {
			a.index = append(a.index, v.i)
			a.outer = add(a.outer, c.step(a, d, v.i, strides[d]))
			continue
		}
		a.last, a.lastBound, a.lastStride = v, a.bound[d], strides[d].i
		a.constBound, a.constStride = -1, 0
		if s := c.size(b.Shape[d], ""); s.isConst {
			a.constBound = s.n
		}
		if strides[d].isConst {
			a.constStride = strides[d].n
		}
	}
	if b.Offset != nil {
		a.outer = add(a.outer, c.size(b.Offset, "buffer "+b.Name+": offset").i)
	}
	return a
}

func add(p, q func(*frame) int64) func(*frame) int64 {
	if p == nil {
		return q
	}
	return func(f *frame) int64 { return p(f) + q(f) }
}

// step compiles the contribution of an index, except the last, to the element's offset.
func (c *compiler) step(a *access, d int, x func(*frame) int64, stride value) func(*frame) int64 {
	bound := a.bound[d]
	if s := c.size(a.buffer.Shape[d], ""); s.isConst && stride.isConst {
		high, by := uint64(max(s.n, 0)), stride.n
		return func(f *frame) int64 {
			i := x(f)
			if uint64(i) >= high {
				a.outside(f, d, i, int64(high), 0)
			}
			return i * by
		}
	}
	by := stride.i
	return func(f *frame) int64 {
		i := x(f)
		if n := bound(f); i < 0 || i >= n {
			a.outside(f, d, i, n, 0)
		}
		return i * by(f)
	}
}

// strides returns the strides of a buffer in elements.
func (c *compiler) strides(b *tir.Buffer) []value {
	out := make([]value, len(b.Shape))
	if b.Strides != nil {
		if len(b.Strides) != len(b.Shape) {
			c.fail("buffer %s has %d strides for %d dimensions", b.Name, len(b.Strides), len(b.Shape))
		}
		for d, s := range b.Strides {
			out[d] = c.size(s, fmt.Sprintf("buffer %s: strides[%d]", b.Name, d))
		}
		return out
	}
	step := intConst(tir.Int64, 1)
	for d := len(out) - 1; d >= 0; d-- {
		out[d] = step
		s := c.size(b.Shape[d], fmt.Sprintf("buffer %s: shape[%d]", b.Name, d))
		if s.isConst && step.isConst {
			step = intConst(tir.Int64, s.n*step.n)
		} else {
			p, q := s.i, step.i
			step = intValue(tir.Int64, func(f *frame) int64 { return p(f) * q(f) })
		}
	}
	return out
}

// outside fails because an index is out of bounds.
func (a *access) outside(f *frame, d int, i, bound, last int64) {
	f.fail(a.at, ErrBounds, "%s: index %d is %d, the bound is %d", a.text(f, last), d, i, bound)
}

// text describes the accessed element; last is the last index.
func (a *access) text(f *frame, last int64) string {
	s := "load "
	if a.store {
		s = "store "
	}
	return s + a.place(f, last)
}

// place names the accessed element; last is the last index.
func (a *access) place(f *frame, last int64) string {
	s := a.buffer.Name + "["
	for _, x := range a.index {
		s += fmt.Sprintf("%d, ", x(f))
	}
	if len(a.buffer.Shape) > 0 {
		if !a.last.vector() && len(a.index) < len(a.buffer.Shape) {
			last = a.last.i(f)
		}
		s += fmt.Sprint(last)
	}
	return s + "]"
}

// element returns the memory and the bit offset of an element. outer is the offset of the indices before the last.
func (a *access) element(f *frame, outer, i int64) (*memory, int64) {
	n := a.constBound
	if n < 0 {
		n = a.lastBound(f)
	}
	if i < 0 || i >= n {
		a.outside(f, len(a.buffer.Shape)-1, i, n, i)
	}
	stride := a.constStride
	if stride == 0 {
		stride = a.lastStride(f)
	}
	p, ok := f.h[a.slot].(*pointer)
	if !ok {
		f.fail(a.at, ErrArgument, "%s: the address of buffer %s is %T: want memory", a.text(f, i), a.buffer.Name, f.h[a.slot])
	}
	element := outer + i*stride
	bit := p.base*8 + element*a.bits
	m := p.m
	if bit < 0 || bit+a.bits > int64(len(m.data))*8 || element < -1<<40 || element > 1<<40 {
		f.fail(a.at, ErrBounds, "%s: element %d from its address is outside of the %d bytes of %s", a.text(f, i), element,
			len(m.data), m.name)
	}
	return m, bit
}

// memory is element with the checks of an access.
func (a *access) memory(f *frame, outer, i int64) (*memory, int64) {
	m, bit := a.element(f, outer, i)
	if m.flights > 0 {
		f.grounded(a, i, m, bit, a.bits)
	}
	if a.store {
		if m.ready != nil {
			m.setWritten(bit, a.bits)
		}
	} else if m.ready != nil && !m.written(bit, a.bits) {
		f.fail(a.at, ErrUninitialized, "%s: it has not been written", a.text(f, i))
	}
	if len(f.levels) > m.depth {
		f.touch(a, i, m, bit, a.bits)
	}
	return m, bit
}

// locate is element for an address without an access.
func (a *access) locate(f *frame) (*memory, int64) {
	outer := int64(0)
	if a.outer != nil {
		outer = a.outer(f)
	}
	return a.element(f, outer, a.last.i(f))
}

// find is memory for accesses to a single element.
func (a *access) find() func(f *frame) (*memory, int64) {
	last, outer := a.last.i, a.outer
	if outer == nil {
		return func(f *frame) (*memory, int64) { return a.memory(f, 0, last(f)) }
	}
	return func(f *frame) (*memory, int64) { return a.memory(f, outer(f), last(f)) }
}

// each calls do for each lane: slot n of the vector is at the given bit.
func (a *access) each(f *frame, do func(m *memory, bit int64, n int)) {
	outer := int64(0)
	if a.outer != nil {
		outer = a.outer(f)
	}
	n := 0
	element := func(i int64) {
		m, bit := a.memory(f, outer, i)
		for l := range a.lanes {
			do(m, bit+l*a.codec.bits, n)
			n++
		}
	}
	if !a.last.vector() {
		element(a.last.i(f))
		return
	}
	a.last.v(f)
	for l := range int(a.last.t.Lanes) {
		element(f.i[a.last.off+l])
	}
}

// dtype is the type of the loaded or stored value.
func (a *access) dtype() tir.Type {
	return tir.Vector(a.buffer.DType, int(a.lanes)*int(a.last.t.Lanes))
}

func (c *compiler) load(e *tir.BufferLoad) value {
	a := c.access(e.Buffer, e.Indices, false)
	t, get := a.dtype(), a.codec
	c.valid("load of buffer "+e.Buffer.Name, t)
	switch {
	case t.Lanes > 1:
		out := c.reserve(t)
		return value{t: t, off: out, v: func(f *frame) {
			a.each(f, func(m *memory, bit int64, n int) {
				if get.float {
					f.f[out+n] = get.getf(m.data, bit)
				} else {
					f.i[out+n] = get.geti(m.data, bit)
				}
			})
		}}
	case t == tir.Float32:
		find := a.find()
		return floatValue(t, func(f *frame) float64 {
			m, bit := find(f)
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(m.data[bit>>3:])))
		})
	case get.float:
		find := a.find()
		return floatValue(t, func(f *frame) float64 { m, bit := find(f); return get.getf(m.data, bit) })
	}
	find := a.find()
	return intValue(t, func(f *frame) int64 { m, bit := find(f); return get.geti(m.data, bit) })
}

// storing compiles a store. The value is computed before the access is checked.
func (c *compiler) storing(s *tir.BufferStore) func(*frame) {
	a := c.access(s.Buffer, s.Indices, true)
	t, put := a.dtype(), a.codec
	v := c.expr(s.Value)
	if v.t != t {
		c.fail("store to buffer %s: a value of type %s for elements of type %s", s.Buffer.Name, v.t, t)
	}
	switch {
	case v.vector():
		return func(f *frame) {
			v.v(f)
			a.each(f, func(m *memory, bit int64, n int) {
				if put.float {
					put.putf(m.data, bit, f.f[v.off+n])
				} else {
					put.puti(m.data, bit, f.i[v.off+n])
				}
				m.spread(bit, put.bits)
			})
		}
	case t == tir.Float32:
		find := a.find()
		return func(f *frame) {
			x := v.x(f)
			m, bit := find(f)
			binary.LittleEndian.PutUint32(m.data[bit>>3:], math.Float32bits(float32(x)))
			m.spread(bit, put.bits)
		}
	case put.float:
		find := a.find()
		return func(f *frame) {
			x := v.x(f)
			m, bit := find(f)
			put.putf(m.data, bit, x)
			m.spread(bit, put.bits)
		}
	}
	find := a.find()
	return func(f *frame) {
		x := v.i(f)
		m, bit := find(f)
		put.puti(m.data, bit, x)
		m.spread(bit, put.bits)
	}
}
