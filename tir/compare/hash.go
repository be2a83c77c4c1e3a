package compare

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/internal/scopes"
)

// Hash returns a hash of a node that [Equal] accepts. It is the same for nodes that are [Equal] or [EqualFree], in
// every process. It does not depend on the names of variables and buffers, but on their positions.
func Hash(node any) uint64 {
	h := &hasher{numbers: map[any]*numbered{}, memo: map[hashedAt]hashed{}}
	h.any(node)
	return h.sum.finish()
}

// sum is a hash to which numbers are added one after the other.
type sum uint64

func (s *sum) add(v uint64) {
	x := uint64(*s) ^ v*0x9E3779B97F4A7C15
	x ^= x >> 32
	x *= 0xD6E8FEB86659FD93
	x ^= x >> 29
	*s = sum(x*0x9FB21C651E98DF25 + 1)
}

func (s *sum) addText(text string) {
	s.add(uint64(len(text)))
	var word uint64
	for i := range len(text) {
		word = word<<8 | uint64(text[i])
		if i%8 == 7 {
			s.add(word)
			word = 0
		}
	}
	s.add(word)
}

func (s *sum) addType(t tir.Type) { s.add(uint64(t.Code)<<24 | uint64(t.Bits)<<16 | uint64(t.Lanes)) }

func (s sum) finish() uint64 {
	x := uint64(s)
	x ^= x >> 31
	x *= 0x9E3779B97F4A7C15
	return x ^ x>>32
}

// hasher hashes a program. A variable that is bound within the program is identified by the number of scopes between
// its use and its binding, and by its index in its scope; a free variable by the number of free ones that were met
// before.
type hasher struct {
	scopes.Scopes
	numbers map[any]*numbered
	undo    []unnumber
	outside uint64 // number of free variables, buffers and producers met so far
	inner   uint64 // number of bindings in the innermost scope
	memo    map[hashedAt]hashed
	binds   bool // the current node contains scopes, so that its hash depends on the number of open ones
	depth   int
	sum     sum
}

type numbered struct {
	level  int
	number uint64
}

type unnumber struct {
	what any
	was  *numbered
}

// hashedAt is a node and the number of open scopes around it; -1 if the hash does not depend on that number.
type hashedAt struct {
	node  any
	level int
}

type hashed struct {
	scopes.Stamp
	sum  sum
	open bool
}

// Numbers that precede each kind of value, so that values of different kinds have different hashes.
const (
	hashNil uint64 = iota + 1
	hashOther
	hashBound
	hashOutside
	hashEndless
	hashText
	hashInt
	hashFloat
	hashBool
	hashTarget
)

func (h *hasher) any(node any) {
	switch n := node.(type) {
	case tir.Expr, tir.Stmt:
		h.node(n)
	case *tir.Buffer:
		h.buffer(n)
	case *tir.IterVar:
		h.iter(n)
	case *tir.PrimFunc:
		h.function(n)
	case *tir.IRModule:
		h.module(n)
	default:
		h.sum.add(hashOther)
	}
}

// within opens a scope, and calls do, which binds and hashes in it.
func (h *hasher) within(do func()) {
	inner, undone := h.inner, len(h.undo)
	h.Enter()
	h.inner = 0
	do()
	for len(h.undo) > undone {
		u := h.undo[len(h.undo)-1]
		h.undo = h.undo[:len(h.undo)-1]
		putBack(h.numbers, u.what, u.was)
	}
	h.Leave()
	h.inner, h.binds = inner, true
}

func (h *hasher) bind(what any) {
	was := h.numbers[what]
	if was != nil {
		h.Era++
	}
	h.undo = append(h.undo, unnumber{what, was})
	h.inner++
	h.numbers[what] = &numbered{len(h.Open) - 1, h.inner}
}

func (h *hasher) bindVar(v *tir.Var) {
	if v == nil {
		h.sum.add(hashNil)
		return
	}
	h.sum.addType(v.Type)
	h.bind(v)
}

// same hashes the identity of a variable, a buffer or a producer.
func (h *hasher) same(what any) {
	n := h.numbers[what]
	if n == nil {
		h.outside++
		n = &numbered{-1, h.outside}
		h.numbers[what] = n
	}
	h.Use(n.level)
	if n.level < 0 {
		h.sum.add(hashOutside)
	} else {
		h.sum.add(hashBound + uint64(n.level)<<8)
	}
	h.sum.add(n.number)
}

func (h *hasher) variable(v *tir.Var) {
	if v == nil {
		h.sum.add(hashNil)
		return
	}
	h.sum.addType(v.Type)
	h.same(v)
}

// buffer hashes the use of a buffer. A free buffer is hashed without its parts: Equal compares free buffers as
// pointers, and EqualFree compares their parts only where they are first used.
func (h *hasher) buffer(b *tir.Buffer) {
	if b == nil {
		h.sum.add(hashNil)
		return
	}
	h.bufferHead(b)
	h.same(b)
}

func (h *hasher) bufferHead(b *tir.Buffer) {
	h.sum.addType(b.DType)
	h.sum.addText(b.StorageScope())
	h.sum.add(uint64(b.Alignment))
	h.sum.add(uint64(len(b.Shape)))
	h.sum.add(uint64(len(b.Strides)))
}

// bindBuffer hashes the definition of a buffer, which defines its address, too.
func (h *hasher) bindBuffer(b *tir.Buffer) {
	if b == nil {
		h.sum.add(hashNil)
		return
	}
	h.bufferHead(b)
	h.exprs(b.Shape)
	h.exprs(b.Strides)
	h.expr(b.Offset)
	if b.Data != nil && h.numbers[b.Data] == nil {
		h.bindVar(b.Data)
	} else {
		h.variable(b.Data)
	}
	h.bind(b)
}

func (h *hasher) attrs(all map[string]any) {
	h.sum.add(uint64(len(all)))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		h.sum.addText(key)
		switch v := all[key].(type) {
		case string:
			h.sum.add(hashText)
			h.sum.addText(v)
		case int64:
			h.sum.add(hashInt)
			h.sum.add(uint64(v))
		case float64:
			h.sum.add(hashFloat)
			h.sum.add(math.Float64bits(v))
		case bool:
			h.sum.add(hashBool)
			if v {
				h.sum.add(1)
			}
		case *target.Target:
			h.sum.add(hashTarget)
			if v != nil {
				h.sum.add(v.Hash())
			}
		default: // not a valid attribute
			h.sum.add(hashOther)
			if v != nil {
				h.sum.addText(reflect.TypeOf(v).String())
			}
		}
	}
}

func (h *hasher) module(m *tir.IRModule) {
	if m == nil {
		h.sum.add(hashNil)
		return
	}
	h.sum.add(uint64(len(m.Funcs)))
	for _, f := range m.Funcs {
		h.function(f)
	}
	h.attrs(m.Attrs)
}

func (h *hasher) function(f *tir.PrimFunc) {
	if f == nil {
		h.sum.add(hashNil)
		return
	}
	h.sum.addText(f.Name)
	h.sum.addType(f.Result)
	h.sum.add(uint64(len(f.Params)))
	h.sum.add(uint64(len(f.Buffers)))
	h.attrs(f.Attrs)
	h.within(func() {
		for _, p := range f.Params {
			h.bindVar(p)
		}
		for _, p := range f.Params {
			if b := f.Buffers[p]; b != nil {
				for _, v := range b.SizeVars() {
					if v != nil && h.numbers[v] == nil {
						h.bindVar(v)
					}
				}
			}
		}
		for i, p := range f.Params {
			if b := f.Buffers[p]; b != nil {
				h.sum.add(uint64(i))
				if h.numbers[b] == nil {
					h.bindBuffer(b)
				} else {
					h.buffer(b)
				}
			}
		}
		h.node(f.Body)
	})
}
