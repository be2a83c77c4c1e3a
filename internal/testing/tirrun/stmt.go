package tirrun

import "tvmgo/tir"

// control says how a statement ended.
type control uint8

const (
	proceed  control = iota
	returned         // the function ends
)

// stmt compiles a statement.
func (c *compiler) stmt(s tir.Stmt) func(*frame) control {
	switch s := s.(type) {
	case *tir.BufferStore:
		do := c.storing
		if c.later {
			do = c.storingLater
		}
		store := do(s)
		return func(f *frame) control { store(f); return proceed }
	case *tir.For:
		return c.loop(s)
	case *tir.While:
		cond, at := c.condition(s.Cond, "condition of while"), c.at
		body := c.stmt(s.Body)
		return func(f *frame) control {
			for cond(f) != 0 {
				f.step(at)
				if body(f) != proceed {
					return returned
				}
			}
			return proceed
		}
	case *tir.If:
		return c.branch(s)
	case *tir.LetStmt:
		set := c.let(s.Var, s.Value)
		body := c.stmt(s.Body)
		c.leave(s.Var)
		return func(f *frame) control { set(f); return body(f) }
	case *tir.Assert:
		cond, at := c.condition(s.Cond, "assertion"), c.at
		err := &AssertError{s.Kind, s.Message}
		return func(f *frame) control {
			if cond(f) == 0 {
				panic(&Fault{Func: f.name, Sort: ErrAssert, Text: err.Error(), Path: at.path(f), Err: err})
			}
			return proceed
		}
	case *tir.Alloc:
		return c.alloc(s)
	case *tir.AttrStmt:
		if s.Key == tir.AttrAsync && c.copies && !c.later {
			c.later = true
			defer func() { c.later = false }()
		}
		return c.stmt(s.Body)
	case *tir.Seq:
		return c.sequence(s)
	case *tir.Evaluate:
		return c.evaluate(s)
	}
	c.fail("a statement is nil, or of a type that the interpreter does not know: %s", tir.NodeName(s))
	return nil
}

func (c *compiler) branch(s *tir.If) func(*frame) control {
	cond := c.condition(s.Cond, "condition of if")
	then := c.stmt(s.Then)
	other := func(*frame) control { return proceed }
	if s.Else != nil {
		other = c.stmt(s.Else)
	}
	return func(f *frame) control {
		if cond(f) != 0 {
			return then(f)
		}
		return other(f)
	}
}

func (c *compiler) sequence(s *tir.Seq) func(*frame) control {
	all := make([]func(*frame) control, len(s.Stmts))
	for i, x := range s.Stmts {
		all[i] = c.stmt(x)
	}
	return func(f *frame) control {
		for _, do := range all {
			if do(f) != proceed {
				return returned
			}
		}
		return proceed
	}
}

// evaluate compiles an expression with effects, including ret.
func (c *compiler) evaluate(s *tir.Evaluate) func(*frame) control {
	if call, ok := s.Value.(*tir.Call); ok && call.Kind == tir.CallIntrinsic &&
		(call.Name == "ret" || call.Name == "ret_none") {
		return c.ret(call)
	}
	v := c.expr(s.Value)
	switch {
	case v.vector():
		return func(f *frame) control { v.v(f); return proceed }
	case v.x != nil:
		return func(f *frame) control { v.x(f); return proceed }
	case v.h != nil:
		return func(f *frame) control { v.h(f); return proceed }
	}
	return func(f *frame) control { v.i(f); return proceed }
}

func (c *compiler) ret(call *tir.Call) func(*frame) control {
	if c.loops > 0 {
		c.fail("%s is inside a loop with concurrent iterations", call.Name)
	}
	want := noResult(c.fn.source.Result)
	if call.Name == "ret_none" {
		if want != tir.Void {
			c.fail("ret_none in a function that returns %s", want)
		}
		return func(*frame) control { return returned }
	}
	if len(call.Args) != 1 {
		c.fail("ret takes 1 argument, found %d", len(call.Args))
	}
	v := c.expr(call.Args[0])
	if want == tir.Void && tir.IsInt(v.t) && !v.vector() { // the status of C functions
		at := c.at
		return func(f *frame) control {
			if n := v.i(f); n != 0 {
				f.fail(at, ErrCall, "the function returned status %d", n)
			}
			return returned
		}
	}
	if v.t != want || v.vector() || tir.IsHandle(v.t) {
		c.fail("ret of type %s in a function that returns %s", v.t, want)
	}
	return func(f *frame) control {
		if v.x != nil {
			f.rf = v.x(f)
		} else {
			f.ri = v.i(f)
		}
		return returned
	}
}

// noResult returns Void for an unset type.
func noResult(t tir.Type) tir.Type {
	if t == (tir.Type{}) {
		return tir.Void
	}
	return t
}

// alloc compiles an allocation.
func (c *compiler) alloc(s *tir.Alloc) func(*frame) control {
	b := s.Buffer
	c.address(b)
	scope := storageScope(b)
	if scope == scopeUnknown {
		c.fail("buffer %s: scope %q is not supported: want global, shared or local", b.Name, b.StorageScope())
	}
	strides := c.strides(b)
	sizes := make([]func(*frame) int64, len(b.Shape))
	for d, x := range b.Shape {
		sizes[d] = c.size(x, "shape of buffer "+b.Name).i
	}
	offset := func(*frame) int64 { return 0 }
	if b.Offset != nil {
		offset = c.size(b.Offset, "offset of buffer "+b.Name).i
	}
	at, limit := c.at, c.p.options.MaxBytes
	bytes := func(f *frame) int {
		// float64 does not overflow, and a size for which it is not exact exceeds the limit.
		last, none := float64(offset(f)), false
		for d, size := range sizes {
			n, by := size(f), strides[d].i(f)
			if n < 0 || by < 0 {
				f.fail(at, ErrArgument, "allocation of buffer %s: dimension %d has size %d and stride %d", b.Name, d, n, by)
			}
			none = none || n == 0
			last += float64(n-1) * float64(by)
		}
		if none {
			last = -1
		}
		if last < -1 || last*float64(b.DType.Bits)*float64(b.DType.Lanes)/8 > float64(limit) {
			f.fail(at, ErrLimit, "allocation of buffer %s: %.0f elements of %s: the limit of Options.MaxBytes is %d",
				b.Name, last+1, b.DType, limit)
		}
		size, err := b.DType.Bytes(int64(last) + 1)
		if err != nil {
			f.fail(at, ErrArgument, "allocation of buffer %s: %v", b.Name, err)
		}
		return int(size)
	}
	slot := c.define(b.Data)
	if scope != scopeGlobal {
		c.local = append(c.local, localSlot{slot, scope})
	}
	body := c.stmt(s.Body)
	if scope != scopeGlobal {
		c.local = c.local[:len(c.local)-1]
	}
	c.leave(b.Data)
	unit := int(b.DType.Bits) / 8 * int(b.DType.Lanes)
	return func(f *frame) control {
		m := f.allocate(s, bytes(f), unit, scope)
		f.h[slot] = &pointer{m: m}
		return body(f)
	}
}

type scope uint8

const (
	scopeUnknown scope = iota
	scopeGlobal
	scopeShared
	scopeLocal
)

func storageScope(b *tir.Buffer) scope {
	switch b.StorageScope() {
	case "global", "global.workspace", "texture":
		return scopeGlobal
	case "shared", "shared.dyn":
		return scopeShared
	case "local", tir.ScopeFragmentA, tir.ScopeFragmentB, tir.ScopeFragmentAcc:
		return scopeLocal
	}
	return scopeUnknown
}

// allocate reuses memory of an earlier execution that is no longer used, or makes new memory.
func (f *frame) allocate(s *tir.Alloc, bytes, unit int, in scope) *memory {
	depth, k := len(f.levels), f.kernel
	if k != nil && (in == scopeShared || in == scopeGlobal && !f.inThread()) {
		depth = k.threads
	}
	if k != nil && in == scopeShared && f.inThread() {
		if m := k.shared[s]; m != nil && len(m.data) == bytes {
			return m
		}
		m := fresh(s.Buffer.Name, bytes, unit)
		m.depth = depth
		k.shared[s] = m
		return m
	}
	m := f.allocs[s]
	if m == nil || len(m.data) != bytes || m.ready == nil {
		m = fresh(s.Buffer.Name, bytes, unit)
		if f.allocs == nil {
			f.allocs = map[*tir.Alloc]*memory{}
		}
		f.allocs[s] = m
	} else {
		m.spoil()
		m.copies = nil
	}
	m.depth = depth
	return m
}
