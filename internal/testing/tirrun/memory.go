package tirrun

import (
	"encoding/binary"
	"math"
)

// poison fills new memory, so that functions that get it do not see zeros.
const poison = 0xa5

// memory is an allocation, with records of which bits have been written, and who accessed them.
type memory struct {
	name  string
	data  []byte
	ready []byte // a bit set of the written bits; nil: all
	unit  int    // bytes of the smallest element accessed so far: the granularity of the race detector
	depth int    // levels of the frame from here on share the memory; those before have copies
	cells [][]cell

	flying  []int32 // the thread with an asynchronous copy to each byte; 0: none; nil until there is one
	flights int     // copies to the memory that are in flight

	copies map[copyKey]*memory // for threads and blocks
}

// private is the depth of memory that no two iterations share.
const private = math.MaxInt

// copyKey identifies an iteration of a ThreadBind loop.
type copyKey struct {
	dim   int
	value int64
}

// pointer is the value of a variable of type Handle that refers to memory.
type pointer struct {
	m     *memory
	base  int64  // in bytes
	array *Array // the argument; nil: only an address
}

// fresh makes memory that has not been written.
func fresh(name string, bytes, unit int) *memory {
	m := &memory{name: name, data: make([]byte, bytes), ready: make([]byte, bytes), unit: max(unit, 1)}
	m.spoil()
	return m
}

func (m *memory) spoil() {
	for i := range m.data {
		m.data[i] = poison
	}
	clear(m.ready)
}

// copyFor returns the copy of the memory for an iteration. A new copy has the current contents of m.
func (m *memory) copyFor(key copyKey, depth int) *memory {
	if c := m.copies[key]; c != nil {
		return c
	}
	c := &memory{name: m.name, data: append([]byte(nil), m.data...), unit: m.unit, depth: depth}
	if m.ready != nil {
		c.ready = append([]byte{}, m.ready...)
	}
	if m.copies == nil {
		m.copies = map[copyKey]*memory{}
	}
	m.copies[key] = c
	return c
}

// spread repeats a store of n bits in the copies that threads have: code of the block outside of its threads is
// executed by each of them.
func (m *memory) spread(bit, n int64) {
	for _, c := range m.copies {
		for i := bit; i < bit+n; i++ {
			by := byte(1) << (i & 7)
			c.data[i>>3] = c.data[i>>3]&^by | m.data[i>>3]&by
			if c.ready != nil {
				c.ready[i>>3] |= by
			}
		}
		c.spread(bit, n)
	}
}

// allWritten is for functions whose accesses are unknown.
func (m *memory) allWritten() { m.ready = nil }

// written reports whether n bits have been written.
func (m *memory) written(bit, n int64) bool {
	at := bit >> 3
	switch {
	case n == 32 && bit&7 == 0:
		return binary.LittleEndian.Uint32(m.ready[at:]) == math.MaxUint32
	case n == 8 && bit&7 == 0:
		return m.ready[at] == 0xff
	}
	for i := bit; i < bit+n; i++ {
		if m.ready[i>>3]>>(i&7)&1 == 0 {
			return false
		}
	}
	return true
}

func (m *memory) setWritten(bit, n int64) {
	at := bit >> 3
	switch {
	case n == 32 && bit&7 == 0:
		binary.LittleEndian.PutUint32(m.ready[at:], math.MaxUint32)
		return
	case bit&7 == 0 && n&7 == 0:
		for i := at; i < at+n>>3; i++ {
			m.ready[i] = 0xff
		}
		return
	}
	for i := bit; i < bit+n; i++ {
		m.ready[i>>3] |= 1 << (i & 7)
	}
}

// cell records who accessed an element since the start of a level's epoch. Iterations count from 1; 0 is none.
type cell struct {
	epoch          uint32
	writer, reader int32
}

const manyReaders = -1

// level is a loop whose iterations are concurrent, or the threads of a block, as a frame sees it.
type level struct {
	*iterations
	iteration int32 // the iteration that the frame executes
}

// iterations is shared by the iterations of a loop.
type iterations struct {
	epoch uint32 // accesses of other epochs do not matter
	what  string // for messages: "iterations of parallel loop i"
	name  func(iteration int32) string
}

// touch records an access, and fails if it is a data race.
func (f *frame) touch(a *access, last int64, m *memory, bit, n int64) {
	write := a.store
	if bytes := max(int(n>>3), 1); bytes < m.unit {
		m.refine(bytes)
	}
	for l := m.depth; l < len(f.levels); l++ {
		lv := f.levels[l]
		for len(m.cells) <= l {
			m.cells = append(m.cells, nil)
		}
		if m.cells[l] == nil {
			m.cells[l] = make([]cell, (len(m.data)+m.unit-1)/m.unit)
		}
		for u := int(bit>>3) / m.unit; u <= int((bit+n-1)>>3)/m.unit; u++ {
			c := &m.cells[l][u]
			if c.epoch != lv.epoch {
				*c = cell{epoch: lv.epoch}
			}
			switch {
			case c.writer != 0 && c.writer != lv.iteration:
				f.race(a, last, lv, c.writer, "wrote")
			case write && c.reader == manyReaders:
				f.race(a, last, lv, 0, "read")
			case write && c.reader != 0 && c.reader != lv.iteration:
				f.race(a, last, lv, c.reader, "read")
			}
			switch {
			case write:
				c.writer = lv.iteration
			case c.reader == 0:
				c.reader = lv.iteration
			case c.reader != lv.iteration:
				c.reader = manyReaders
			}
		}
	}
}

// refine reduces the granularity of the race detector, for a view with smaller elements. The new cells copy those of
// the larger elements.
func (m *memory) refine(unit int) {
	if m.unit%unit != 0 {
		unit = 1
	}
	each := m.unit / unit
	for l, cells := range m.cells {
		if cells == nil {
			continue
		}
		finer := make([]cell, (len(m.data)+unit-1)/unit)
		for u := range finer {
			finer[u] = cells[u/each]
		}
		m.cells[l] = finer
	}
	m.unit = unit
}

func (f *frame) race(a *access, last int64, lv level, other int32, did string) {
	does, who := "reads", "others"
	if a.store {
		does = "writes"
	}
	if other != 0 {
		who = lv.name(other)
	}
	f.fail(a.at, ErrRace, "%s: %s %s what %s %s: %s must not access the same element unless all read it", a.text(f, last),
		lv.name(lv.iteration), does, who, did, lv.what)
}
