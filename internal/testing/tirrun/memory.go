package tirrun

import (
	"encoding/binary"
	"math"
)

// poison fills fresh memory, so that functions that are given it do not find zeros.
const poison = 0xa5

// memory is what buffers lie in. Its shadows know which bits have been written, and who touched what.
type memory struct {
	name  string
	data  []byte
	ready []byte // the bits that have been written; nil: all
	unit  int    // bytes of the smallest element that was touched so far: what the detector of races tells apart
	depth int    // the levels of the frame from here on share this memory: those below have a copy of their own
	cells [][]cell

	copies map[copyKey]*memory // of threads and blocks
}

// private is the depth of memory that no two turns share.
const private = math.MaxInt

// copyKey names the turn of a ThreadBind loop.
type copyKey struct {
	dim   int
	value int64
}

// pointer is what variables of type Handle hold that stand for memory.
type pointer struct {
	m     *memory
	base  int64  // bytes
	array *Array // what a parameter was given; nil: an address alone
}

// fresh makes memory that nobody has written.
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

// copyFor is the memory of a turn. It begins as m is now.
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

// allWritten is for functions that do not tell.
func (m *memory) allWritten() { m.ready = nil }

// written says whether so many bits have been.
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

func (m *memory) mark(bit, n int64) {
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

// cell remembers who touched an element since a level's epoch began. Turns count from 1; 0 is nobody.
type cell struct {
	epoch          uint32
	writer, reader int32
}

const manyReaders = -1

// level is a loop whose turns run at once, or the threads of a block, as a frame sees it.
type level struct {
	*turns
	turn int32 // the one that the frame runs
}

// turns is what the turns of a loop have in common.
type turns struct {
	epoch uint32 // what was touched in another one does not matter
	what  string // of messages: "turns of parallel loop i"
	name  func(turn int32) string
}

// touch notes an access, and stops the program where it meets another.
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
			case c.writer != 0 && c.writer != lv.turn:
				f.race(a, last, lv, c.writer, "wrote")
			case write && c.reader == manyReaders:
				f.race(a, last, lv, 0, "read")
			case write && c.reader != 0 && c.reader != lv.turn:
				f.race(a, last, lv, c.reader, "read")
			}
			switch {
			case write:
				c.writer = lv.turn
			case c.reader == 0:
				c.reader = lv.turn
			case c.reader != lv.turn:
				c.reader = manyReaders
			}
		}
	}
}

// refine has the detector tell smaller elements apart, as of a view of the memory: each of their cells is what the
// larger one's was.
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
	f.fail(a.at, ErrRace, "%s: %s %s what %s %s: %s must not touch one element unless all read it", a.text(f, last),
		lv.name(lv.turn), does, who, did, lv.what)
}
