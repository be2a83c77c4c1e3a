package transform

import (
	"math"
	"strings"

	"tvmgo/tir"
)

// life describes an allocation of a body, and the range of statements of the body that use it, by their indices.
type life struct {
	buffer      *tir.Buffer
	node        *tir.Alloc
	first, last int // the first and the last statement that use it; first > last: none
	end         int // the last statement of the allocation
	bytes       int64
	own         bool // it must not share memory
	removed     bool // nothing uses it
	slot        *slot
	view        *tir.Buffer // the view that replaces the buffer; nil: none
}

// bodyLives lists the statements between loops and branches in order, and the allocations around them.
type bodyLives struct {
	lives   []*life // outer ones first
	of      map[*tir.Var]*life
	now     int
	barrier []int // the statements that are barriers of all threads of a block
	events  []tir.Stmt
	before  map[tir.Stmt]bool // the statements that get a barrier before them
}

// livesOf analyzes a body.
func livesOf(s tir.Stmt) *bodyLives {
	b := &bodyLives{of: map[*tir.Var]*life{}}
	b.stmt(s)
	return b
}

func (b *bodyLives) stmt(s tir.Stmt) {
	switch s := s.(type) {
	case *tir.Seq:
		for _, x := range s.Stmts {
			b.stmt(x)
		}
	case *tir.LetStmt:
		b.event(&tir.Evaluate{Value: s.Value})
		b.stmt(s.Body)
	case *tir.AttrStmt:
		b.speaksOf(s)
		if v, ok := s.Value.(*tir.Var); s.Value != nil && !(ok && b.of[v] != nil) {
			b.event(&tir.Evaluate{Value: s.Value})
		}
		b.stmt(s.Body)
	case *tir.Alloc:
		b.alloc(s)
	default:
		b.event(s)
	}
}

func (b *bodyLives) alloc(s *tir.Alloc) {
	x := s.Buffer
	l := &life{buffer: x, node: s, first: math.MaxInt, last: -1, bytes: bytesOf(x)}
	l.own = x.Offset != nil || isTexture(x.StorageScope())
	if other := b.of[x.Data]; other != nil { // the statement occurs twice
		other.own, l.own = true, true
	}
	b.lives = append(b.lives, l)
	b.of[x.Data] = l
	b.stmt(s.Body)
	l.end = b.now
}

// speaksOf excludes buffers that an attribute refers to from sharing, unless the attribute marks loads: these have
// arrived where the loop around them ends.
func (b *bodyLives) speaksOf(s *tir.AttrStmt) {
	if s.Key == AnnotationAsync {
		return
	}
	switch n := s.Node.(type) {
	case *tir.Buffer:
		b.keep(n.Data)
	case *tir.Var:
		b.keep(n)
	}
}

func (b *bodyLives) keep(v *tir.Var) {
	if l := b.of[v]; l != nil {
		l.own = true
	}
}

// event records what a statement uses. Its inner statements are not distinguished.
func (b *bodyLives) event(s tir.Stmt) {
	b.now++
	b.events = append(b.events, s)
	given := false // inside an opaque node, which may take the address of a load
	touch := func(v *tir.Var, address bool) {
		l := b.of[v]
		if l == nil {
			return
		}
		l.first, l.last = min(l.first, b.now), max(l.last, b.now)
		if address { // the callee may keep the address
			l.last = math.MaxInt
		}
	}
	buffer := func(x *tir.Buffer) {
		touch(x.Data, given)
		if l := b.of[x.Data]; l != nil && l.buffer != x {
			l.own = true
		}
	}
	if e, ok := s.(*tir.Evaluate); ok && isBarrier(e.Value) {
		b.barrier = append(b.barrier, b.now)
	}
	called := map[*tir.Call]bool{} // address_of that intrinsics of fragments use at once
	tir.Walk(s, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferLoad:
			buffer(n.Buffer)
		case *tir.BufferStore:
			buffer(n.Buffer)
		case *tir.Var:
			touch(n, true)
		case *tir.AttrStmt:
			b.speaksOf(n)
		case *tir.Call:
			if tir.IsFragmentCall(n) {
				for _, a := range n.Args {
					if address, ok := a.(*tir.Call); ok {
						called[address] = true
					}
				}
			}
			if n.Kind == tir.CallIntrinsic && n.Name == "address_of" && len(n.Args) > 0 && !called[n] {
				if load, ok := n.Args[0].(*tir.BufferLoad); ok {
					touch(load.Buffer.Data, true)
				}
			}
		default:
			given = given || tir.Opaque(n)
			vars, buffers := tir.Named(n)
			for _, x := range buffers {
				vars = append(vars, x.Data)
			}
			for _, v := range vars {
				touch(v, true)
				b.keep(v)
			}
		}
		return true
	})
}

// isBarrier reports whether all threads of a block wait for each other.
func isBarrier(e tir.Expr) bool {
	c, ok := e.(*tir.Call)
	if !ok || c.Kind != tir.CallIntrinsic || c.Name != "storage_sync" || len(c.Args) == 0 {
		return false
	}
	t, ok := c.Args[0].(*tir.StringImm)
	return ok && (t.Value == "shared" || t.Value == "shared.dyn" || t.Value == "global")
}

// waits reports whether there is a barrier after statement i and before j.
func (b *bodyLives) waits(i, j int) bool {
	for _, x := range b.barrier {
		if x > i && x < j {
			return true
		}
	}
	return false
}

// livesApart reports whether two lives do not overlap.
func livesApart(x, y *life) bool { return x.last < y.first || y.last < x.first }

// scarce reports whether memory of a scope is scarce on every device.
func scarce(scope string) bool { return strings.HasPrefix(scope, "shared") }
