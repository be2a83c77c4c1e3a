package tirrun

import (
	"tvmgo/tir"
)

// copying is a store that happens later: at some moment until its thread has waited for its group.
type copying struct {
	a         *access
	last      int64
	m         *memory
	bit, bits int64
	data      []byte // the bits, from bit&7 on
}

// flight is the state of a thread's asynchronous copies.
type flight struct {
	open   []copying   // of the group that is not closed yet
	groups [][]copying // that are closed and in flight, oldest first
}

// flightOf returns the copies of the frame's thread.
func (f *frame) flightOf(at *position, what string) *flight {
	if f.kernel == nil {
		f.fail(at, ErrSync, "%s outside of blocks and threads", what)
	}
	k := f.kernel
	if k.flights == nil {
		k.flights = map[[numDims]int64]*flight{}
	}
	own := k.flights[f.dims]
	if own == nil {
		own = &flight{}
		k.flights[f.dims] = own
	}
	return own
}

// landed fails if a thread of the block ends with copies in flight.
func (f *frame) landed(at *position) {
	for dims, own := range f.kernel.flights {
		n := len(own.open)
		for _, g := range own.groups {
			n += len(g)
		}
		if n > 0 {
			f.fail(at, ErrSync, "%s ends while %d elements are copied asynchronously: wait for them with async_wait",
				f.kernel.name(f.kernel.iteration(dims)), n)
		}
	}
	clear(f.kernel.flights)
}

// begin starts a copy of bits, which are in data from bit&7 on. The destination is checked as if it was written now.
func (own *flight) begin(f *frame, a *access, last int64, m *memory, bit, bits int64, data []byte) {
	if m.flying == nil {
		m.flying = make([]int32, len(m.data))
	}
	f.grounded(a, last, m, bit, bits)
	if len(f.levels) > m.depth {
		f.touch(a, last, m, bit, bits)
	}
	me := f.kernel.iteration(f.dims)
	for i := bit >> 3; i <= (bit+bits-1)>>3; i++ {
		m.flying[i] = me
	}
	m.flights++
	own.open = append(own.open, copying{a, last, m, bit, bits, data})
}

// grounded fails if a byte of an access is the destination of an asynchronous copy.
func (f *frame) grounded(a *access, last int64, m *memory, bit, bits int64) {
	for i := bit >> 3; i <= (bit+bits-1)>>3; i++ {
		if who := m.flying[i]; who != 0 {
			f.fail(a.at, ErrRace, "%s: an asynchronous copy of %s to it is in flight: wait for it with async_wait before a "+
				"barrier", a.text(f, last), f.kernel.name(who))
		}
	}
}

// land ends a copy: the destination gets its value, as if the thread wrote it now.
func (f *frame) land(c copying) {
	for i := range c.bits {
		at, from := c.bit+i, c.bit&7+i
		by := byte(1) << (at & 7)
		c.m.data[at>>3] = c.m.data[at>>3]&^by | c.data[from>>3]>>(from&7)&1<<(at&7)
	}
	for i := c.bit >> 3; i <= (c.bit+c.bits-1)>>3; i++ {
		c.m.flying[i] = 0
	}
	c.m.flights--
	if c.m.ready != nil {
		c.m.setWritten(c.bit, c.bits)
	}
	c.m.spread(c.bit, c.bits)
	if len(f.levels) > c.m.depth {
		f.touch(c.a, c.last, c.m, c.bit, c.bits)
	}
}

// store starts the copy of an element. put writes a lane of it.
func (own *flight) store(f *frame, a *access, outer, i int64, put func(data []byte, bit int64, lane int64)) {
	m, bit := a.element(f, outer, i)
	data := make([]byte, (bit&7+a.bits+7)>>3)
	for l := range a.lanes {
		put(data, bit&7+l*a.codec.bits, l)
	}
	own.begin(f, a, i, m, bit, a.bits, data)
}

// storingLater compiles a store that is marked as an asynchronous copy: its value is computed now, and becomes visible
// when the thread has waited for the group.
func (c *compiler) storingLater(s *tir.BufferStore) func(*frame) {
	a := c.access(s.Buffer, s.Indices, true)
	t, codec := a.dtype(), a.codec
	v := c.expr(s.Value)
	if v.t != t {
		c.fail("store to buffer %s: a value of type %s for elements of type %s", s.Buffer.Name, v.t, t)
	}
	return func(f *frame) {
		own := f.flightOf(a.at, "an asynchronous copy")
		var scalar int64
		var scalarF float64
		switch {
		case v.vector():
			v.v(f)
		case codec.float:
			scalarF = v.x(f)
		default:
			scalar = v.i(f)
		}
		outer, n := int64(0), int64(0)
		if a.outer != nil {
			outer = a.outer(f)
		}
		store := func(i int64) {
			own.store(f, a, outer, i, func(data []byte, bit, lane int64) {
				x, y := scalar, scalarF
				if v.vector() && codec.float {
					y = f.f[int64(v.off)+n+lane]
				} else if v.vector() {
					x = f.i[int64(v.off)+n+lane]
				}
				if codec.float {
					codec.putf(data, bit, y)
				} else {
					codec.puti(data, bit, x)
				}
			})
			n += a.lanes
		}
		if !a.last.vector() {
			store(a.last.i(f))
			return
		}
		a.last.v(f)
		for l := range int(a.last.t.Lanes) {
			store(f.i[a.last.off+l])
		}
	}
}

// async compiles async_copy, async_commit and async_wait.
func (c *compiler) async(e *tir.Call) value {
	if c.parallels > 0 {
		c.fail("%s is inside a parallel loop", e.Name)
	}
	at := c.at
	switch e.Name {
	case "async_commit":
		return value{t: tir.Void, i: func(f *frame) int64 {
			own := f.flightOf(at, e.Name)
			own.groups, own.open = append(own.groups, own.open), nil
			return 0
		}}
	case "async_wait":
		most, ok := tir.IntValue(e.Args[0])
		if !ok || most < 0 {
			c.fail("async_wait takes a constant number of groups")
		}
		return value{t: tir.Void, i: func(f *frame) int64 {
			own := f.flightOf(at, e.Name)
			for int64(len(own.groups)) > most {
				for _, one := range own.groups[0] {
					f.land(one)
				}
				own.groups = own.groups[1:]
			}
			return 0
		}}
	}
	to, from := c.copied(e.Args[0], true), c.copied(e.Args[1], false)
	bytes, ok := tir.IntValue(e.Args[2])
	if !ok || bytes != 4 && bytes != 8 && bytes != 16 {
		c.fail("async_copy copies 4, 8 or 16 bytes, a constant")
	}
	return value{t: tir.Void, i: func(f *frame) int64 {
		own := f.flightOf(at, e.Name)
		source, first := from.run(f, bytes)
		if source.ready != nil && !source.written(first, bytes*8) {
			f.fail(at, ErrUninitialized, "async_copy of %d bytes at %s: they have not been written", bytes, from.place(f, 0))
		}
		if source.flights > 0 {
			f.grounded(from, 0, source, first, bytes*8)
		}
		if len(f.levels) > source.depth {
			f.touch(from, 0, source, first, bytes*8)
		}
		m, bit := to.run(f, bytes)
		own.begin(f, to, 0, m, bit, bytes*8, append([]byte(nil), source.data[first>>3:first>>3+bytes]...))
		return 0
	}}
}

// copied compiles an operand of async_copy: the address of an element.
func (c *compiler) copied(e tir.Expr, store bool) *access {
	call, ok := e.(*tir.Call)
	if !ok || call.Kind != tir.CallIntrinsic || call.Name != "address_of" || len(call.Args) != 1 {
		c.fail("async_copy takes addresses of elements of buffers (address_of), found %T", e)
	}
	load, ok := call.Args[0].(*tir.BufferLoad)
	if !ok {
		c.fail("async_copy takes addresses of elements of buffers, found that of %T", call.Args[0])
	}
	a := c.access(load.Buffer, load.Indices, store)
	if a.last.vector() {
		c.fail("async_copy takes the address of one element of buffer %s, found a vector", load.Buffer.Name)
	}
	return a
}

// run returns the bytes from an element on. They begin at a multiple of their number.
func (a *access) run(f *frame, bytes int64) (*memory, int64) {
	m, bit := a.locate(f)
	if bit+bytes*8 > int64(len(m.data))*8 {
		f.fail(a.at, ErrBounds, "async_copy of %d bytes at %s: they exceed the %d bytes of %s", bytes, a.place(f, 0),
			len(m.data), m.name)
	}
	if bit%(bytes*8) != 0 {
		f.fail(a.at, ErrArgument, "async_copy of %d bytes at %s: its offset is %d bytes, no multiple of %d", bytes,
			a.place(f, 0), bit/8, bytes)
	}
	return m, bit
}

// copiesLater reports whether a function starts asynchronous copies: it closes groups of them. Otherwise marks of such
// copies only allow them (transform.SoftwarePipeline).
func copiesLater(f *tir.PrimFunc) (found bool) {
	tir.Walk(f, func(node any) bool {
		call, ok := node.(*tir.Call)
		found = found || ok && call.Kind == tir.CallIntrinsic && call.Name == "async_commit"
		return !found
	})
	return found
}
