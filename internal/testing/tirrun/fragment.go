package tirrun

import (
	"math"

	"tvmgo/tir"
)

// fragmentLane is what a thread of a warp passes to an intrinsic of fragments.
type fragmentLane struct {
	frame    *frame
	fragment [3]place // that is written or stored, and the operands of a product
	memory   place
	stride   int64
	value    passing
}

// place is a position in memory.
type place struct {
	m   *memory
	bit int64
}

// fragmentCode is a compiled call of an intrinsic of fragments.
type fragmentCode struct {
	*tir.FragmentCall
	at        *position
	fragments []*access
	memory    *access // nil: none
}

// fragments compiles a call of an intrinsic of fragments. The first thread of a warp holds its fragments.
func (c *compiler) fragments(e *tir.Call) value {
	if c.parallels > 0 {
		c.fail("%s is inside a parallel loop", e.Name)
	}
	described, err := tir.DescribeFragmentCall(e)
	if err != nil {
		c.fail("%v", err)
	}
	code := &fragmentCode{FragmentCall: described, at: c.at}
	for _, load := range []*tir.BufferLoad{code.Fragment, code.A, code.B} {
		if load != nil {
			code.fragments = append(code.fragments, c.access(load.Buffer, load.Indices, false))
		}
	}
	var stride, fill value
	if code.Memory != nil {
		code.memory = c.access(code.Memory.Buffer, code.Memory.Indices, code.Name == "fragment_store")
		stride = c.expr(code.Stride)
	}
	if code.Value != nil {
		fill = c.expr(code.Value)
	}
	return value{t: tir.Void, i: func(f *frame) int64 {
		if f.kernel == nil {
			f.fail(code.at, ErrSync, "%s outside of blocks and threads", e.Name)
		}
		w, me := f.place()
		if size := f.x.p.options.Warp; w.threads < size || size == 0 && w.threads < warpSize {
			f.fail(code.at, ErrSync, "%s in a warp that has only %d threads", e.Name, w.threads)
		}
		lane := fragmentLane{frame: f}
		for i, a := range code.fragments {
			m, bit := a.locate(f)
			lane.fragment[i] = place{m, bit}
		}
		if code.memory != nil {
			m, bit := code.memory.locate(f)
			lane.memory, lane.stride = place{m, bit}, stride.i(f)
		}
		switch {
		case fill.x != nil:
			lane.value.f = fill.x(f)
		case fill.i != nil:
			lane.value.i = fill.i(f)
		}
		w.lanes[me] = lane
		f.arrive(code.at, e, w, me, func() {
			code.run(f, w)
			for t := range w.arrived {
				w.got[t] = passing{}
			}
			clear(w.lanes)
		})
		return 0
	}}
}

// run executes the call for a warp whose threads have all arrived. f is one of them.
func (code *fragmentCode) run(f *frame, w *warp) {
	first := w.lanes[0]
	for _, l := range w.lanes {
		same := l.memory == first.memory && l.stride == first.stride && l.value.i == first.value.i &&
			math.Float64bits(l.value.f) == math.Float64bits(first.value.f)
		for i := range code.fragments {
			same = same && l.fragment[i].bit == first.fragment[i].bit
		}
		if !same {
			f.fail(code.at, ErrArgument, "%s: the threads of a warp pass different arguments", code.Name)
		}
	}
	switch code.Name {
	case "fragment_fill":
		rows, columns := code.Size(code.Fragment.Buffer.StorageScope())
		to := code.elements(f, first, 0, true)
		for i := range rows * columns {
			to.put(i, first.value)
		}
	case "fragment_load":
		code.transfer(f, w, false)
	case "fragment_store":
		code.transfer(f, w, true)
	case "fragment_mma":
		code.multiply(f, first)
	}
}

// fragmentElements are the elements of a fragment in memory.
type fragmentElements struct {
	place
	codec *codec
}

// elements returns a fragment for reading or writing.
func (code *fragmentCode) elements(f *frame, l fragmentLane, i int, write bool) fragmentElements {
	a := code.fragments[i]
	rows, columns := code.Size(a.buffer.StorageScope())
	e := fragmentElements{l.fragment[i], a.codec}
	bits := int64(rows*columns) * a.codec.bits
	switch {
	case e.bit%bits != 0:
		f.fail(code.at, ErrArgument, "%s: element %d of buffer %s is not the first one of a fragment: those have %d elements",
			code.Name, e.bit/a.codec.bits, a.buffer.Name, rows*columns)
	case e.bit+bits > int64(len(e.m.data))*8:
		f.fail(code.at, ErrBounds, "%s: buffer %s ends within the fragment of %d elements at element %d", code.Name,
			a.buffer.Name, rows*columns, e.bit/a.codec.bits)
	case write && e.m.ready != nil:
		e.m.setWritten(e.bit, bits)
	case !write && e.m.ready != nil && !e.m.written(e.bit, bits):
		f.fail(code.at, ErrUninitialized, "%s: fragment %d of buffer %s has not been written", code.Name, e.bit/bits,
			a.buffer.Name)
	}
	return e
}

func (e fragmentElements) get(i int) (v passing) {
	if bit := e.bit + int64(i)*e.codec.bits; e.codec.float {
		v.f = e.codec.getf(e.m.data, bit)
	} else {
		v.i = e.codec.geti(e.m.data, bit)
	}
	return v
}

func (e fragmentElements) put(i int, v passing) {
	if bit := e.bit + int64(i)*e.codec.bits; e.codec.float {
		e.codec.putf(e.m.data, bit, v.f)
	} else {
		e.codec.puti(e.m.data, bit, v.i)
	}
}

// transfer loads or stores a fragment. Each thread accesses some of the elements, in no natural order: a program that
// relies on which thread has which element is wrong.
func (code *fragmentCode) transfer(f *frame, w *warp, store bool) {
	first, a := w.lanes[0], code.memory
	scope := code.Fragment.Buffer.StorageScope()
	rows, columns := code.Size(scope)
	fragment := code.elements(f, first, 0, !store)
	rounds := a.buffer.DType == tir.Float32 && scope != tir.ScopeFragmentAcc
	for i := range rows * columns {
		row, column := int64(i/columns), int64(i%columns)
		if code.Layout == tir.ColMajor {
			row, column = column, row
		}
		at := fragmentElements{place{first.memory.m, first.memory.bit + (row*first.stride+column)*a.bits}, a.codec}
		lane := w.lanes[(i/columns*3+i%columns*7+5)%w.threads].frame
		last := a.last.i(lane)
		if at.bit < 0 || at.bit+a.bits > int64(len(at.m.data))*8 {
			f.fail(code.at, ErrBounds, "%s: row %d, column %d of the matrix at %s is outside of the %d bytes of %s", code.Name,
				i/columns, i%columns, a.place(lane, last), len(at.m.data), at.m.name)
		}
		switch {
		case at.m.ready == nil:
		case store:
			at.m.setWritten(at.bit, a.bits)
		case !at.m.written(at.bit, a.bits):
			f.fail(code.at, ErrUninitialized, "%s: row %d, column %d of the matrix at %s has not been written", code.Name,
				i/columns, i%columns, a.place(lane, last))
		}
		if len(lane.levels) > at.m.depth {
			lane.touch(a, last, at.m, at.bit, a.bits)
		}
		if store {
			at.put(0, fragment.get(i))
			at.m.spread(at.bit, a.bits)
			continue
		}
		v := at.get(0)
		if rounds {
			v.f = tensorFloat(v.f)
		}
		fragment.put(i, v)
	}
}

// tensorFloat rounds a float32 to 10 bits of fraction, to nearest, ties away from zero.
func tensorFloat(x float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return x
	}
	return float64(math.Float32frombits((math.Float32bits(float32(x)) + 0x1000) &^ 0x1fff))
}

// multiply adds a product to the sums.
func (code *fragmentCode) multiply(f *frame, l fragmentLane) {
	a, b := code.elements(f, l, 1, false), code.elements(f, l, 2, false)
	code.elements(f, l, 0, false)
	sums := code.elements(f, l, 0, true)
	t := code.Fragment.Buffer.DType
	x, y := make([]passing, code.M*code.K), make([]passing, code.K*code.N)
	for i := range x {
		x[i] = a.get(i)
	}
	for i := range y {
		y[i] = b.get(i)
	}
	for row := range code.M {
		for column := range code.N {
			var sum passing
			for k := range code.K {
				p, q := x[row*code.K+k], y[k*code.N+column]
				sum.f += p.f * q.f
				sum.i += p.i * q.i
			}
			i := row*code.N + column
			old := sums.get(i)
			sums.put(i, passing{i: old.i + sum.i, f: roundTo(t, old.f+sum.f)})
		}
	}
}
