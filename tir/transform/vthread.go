package transform

import (
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// Virtual threads are iterations that one thread of a device executes, and that otherwise behave like threads: each
// has its own memory of scope "local", they share memory of scope "shared", and they meet at barriers. They advance
// together: each statement is executed for all of them before the next one, in an unrolled loop. Local memory gets a
// dimension for them. So one barrier of the thread is a barrier of all its virtual threads, and a statement that is the
// same for all of them is executed once.

// virtual expands a loop over virtual threads.
func (f *kernelForm) virtual(s *tir.For, have []string) tir.Stmt {
	within := map[*tir.Var]bool{}
	meets := false
	tir.Walk(s.Body, func(node any) bool {
		switch n := node.(type) {
		case *tir.Alloc:
			within[n.Buffer.Data] = true
		case *tir.BufferStore:
			if scope := n.Buffer.StorageScope(); scope == "local" && !within[n.Buffer.Data] {
				f.fail("loop %s over %s stores to buffer %s, of which each of its iterations has its own: allocate it "+
					"within", s.Var.Name, s.Thread, n.Buffer.Name)
			}
			meets = meets || isShared(n.Buffer.StorageScope())
		case *tir.Call:
			meets = meets || n.Kind == tir.CallIntrinsic && n.Name == "storage_sync"
		default:
			if tir.Opaque(n) {
				f.fail("%w", tir.NotKnown(n, "stands in loop "+s.Var.Name+" over "+s.Thread))
			}
		}
		return f.err == nil
	})
	body := f.stmt(s.Body, have)
	if f.err != nil || body == nil {
		return body
	}
	n, constant := count(s.Extent)
	low, fixed := s.Min.(*tir.IntImm)
	if !constant || !fixed || n > MaxUnrolled {
		if meets {
			f.fail("loop %s over %s shares memory between its iterations, and their number is not constant: split it, and bind "+
				"the inner axis", s.Var.Name, s.Thread)
		}
		return &tir.For{Kind: tir.Serial, Var: s.Var, Min: s.Min, Extent: s.Extent, Body: body}
	}
	w := &weaver{f: f, loop: s, low: low.Value, n: n, differ: map[*tir.Var]bool{s.Var: true},
		wide: map[*tir.Buffer]*tir.Buffer{}}
	return w.stmt(w.widen(body))
}

// weaver expands one loop over virtual threads.
type weaver struct {
	f      *kernelForm
	loop   *tir.For
	low, n int64
	differ map[*tir.Var]bool // variables, and addresses of local buffers, whose values differ between virtual threads
	wide   map[*tir.Buffer]*tir.Buffer
}

// differs reports whether a value may differ between virtual threads.
func (w *weaver) differs(all ...tir.Expr) bool {
	return slices.ContainsFunc(all, func(e tir.Expr) bool {
		return contains(e, func(node any) bool {
			switch n := node.(type) {
			case *tir.Var:
				return w.differ[n]
			case *tir.BufferLoad:
				return w.differ[n.Buffer.Data]
			}
			return false
		})
	})
}

// widen finds what differs between virtual threads, and gives the local buffers among it a dimension for them.
func (w *weaver) widen(s tir.Stmt) tir.Stmt {
	for before := -1; before != len(w.differ); {
		before = len(w.differ)
		w.spread(s, false)
	}
	index := tir.Expr(w.loop.Var)
	if w.low != 0 {
		index = tir.Sub(index, sized(index.DType(), w.low))
	}
	at := func(list []tir.Expr) []tir.Expr { return append([]tir.Expr{index}, list...) }
	m := &tir.Mutator{PreStmt: func(s tir.Stmt) (tir.Stmt, bool) {
		if a, ok := s.(*tir.Alloc); ok && w.differ[a.Buffer.Data] {
			b := *a.Buffer
			b.Shape = append([]tir.Expr{sized(index.DType(), w.n)}, b.Shape...)
			if len(b.Strides) > 0 {
				b.Strides = append([]tir.Expr{tir.Mul(b.Strides[0], tir.NewCast(b.Strides[0].DType(), a.Buffer.Shape[0]))},
					b.Strides...)
			}
			w.wide[a.Buffer] = &b
		}
		return s, false
	}, Expr: func(e tir.Expr) tir.Expr {
		if l, ok := e.(*tir.BufferLoad); ok && w.wide[l.Buffer] != nil {
			return &tir.BufferLoad{Buffer: w.wide[l.Buffer], Indices: at(l.Indices)}
		}
		return e
	}, Stmt: func(s tir.Stmt) tir.Stmt {
		switch s := s.(type) {
		case *tir.BufferStore:
			if b := w.wide[s.Buffer]; b != nil {
				return &tir.BufferStore{Buffer: b, Value: s.Value, Indices: at(s.Indices)}
			}
		case *tir.Alloc:
			if b := w.wide[s.Buffer]; b != nil {
				return &tir.Alloc{Buffer: b, Body: s.Body}
			}
		case *tir.AttrStmt:
			if b, ok := s.Node.(*tir.Buffer); ok && w.wide[b] != nil {
				return &tir.AttrStmt{Key: s.Key, Node: w.wide[b], Value: s.Value, Body: s.Body}
			}
		}
		return s
	}}
	return m.MutateStmt(s)
}

// spread adds to differ what a statement, below conditions that differ or not, makes different.
func (w *weaver) spread(s tir.Stmt, below bool) {
	switch s := s.(type) {
	case *tir.BufferStore:
		if s.Buffer.StorageScope() == "local" && (below || w.differs(s.Value) || w.differs(s.Indices...)) {
			w.differ[s.Buffer.Data] = true
		}
		return
	case *tir.For:
		if w.differs(s.Min) {
			w.differ[s.Var] = true
		}
		below = below || w.differs(s.Min, s.Extent)
	case *tir.While:
		below = below || w.differs(s.Cond)
	case *tir.If:
		below = below || w.differs(s.Cond)
	case *tir.AttrStmt:
		below = below || w.differs(s.Value)
	case *tir.LetStmt:
		if w.differs(s.Value) {
			w.differ[s.Var] = true
			below = below || hasLoad(s.Value) // stmt executes the body for one virtual thread after the other
		}
	}
	exprs, inner := tir.Parts(s)
	for _, e := range exprs {
		tir.Walk(e, func(node any) bool {
			switch n := node.(type) {
			case *tir.Let:
				if w.differs(n.Value) {
					w.differ[n.Var] = true
				}
			case *tir.Call: // memory whose address is taken may be stored to
				if l, ok := addressed(n); ok && (l.Buffer.StorageScope() == "local" || tir.IsFragment(l.Buffer.StorageScope())) {
					w.differ[l.Buffer.Data] = true
				}
			}
			return true
		})
	}
	for _, x := range inner {
		w.spread(x, below)
	}
}

// addressed returns the element whose address a call takes.
func addressed(c *tir.Call) (*tir.BufferLoad, bool) {
	if c.Kind != tir.CallIntrinsic || c.Name != "address_of" || len(c.Args) != 1 {
		return nil, false
	}
	l, ok := c.Args[0].(*tir.BufferLoad)
	return l, ok
}

// stmt executes a statement for all virtual threads.
func (w *weaver) stmt(s tir.Stmt) tir.Stmt {
	inner := func() tir.Stmt { return tir.MapStmt(s, nil, w.stmt) }
	switch x := s.(type) {
	case *tir.Seq, *tir.Alloc:
		return inner()
	case *tir.AttrStmt:
		if !w.differs(x.Value) {
			return inner()
		}
	case *tir.For:
		if !w.differs(x.Min, x.Extent) {
			return inner()
		}
	case *tir.While:
		if !w.differs(x.Cond) {
			return inner()
		}
	case *tir.If:
		if !w.differs(x.Cond) {
			return inner()
		}
		if only, rest, ok := w.single(x.Cond); ok && x.Else == nil {
			then := x.Then
			if rest != nil {
				then = &tir.If{Cond: rest, Then: then}
			}
			return tir.Copied(then, map[*tir.Var]tir.Expr{w.loop.Var: only})
		}
	case *tir.LetStmt:
		if !w.differs(x.Value) {
			return inner()
		}
		if !hasLoad(x.Value) {
			return w.stmt(tir.SubstituteStmt(x.Body, map[*tir.Var]tir.Expr{x.Var: x.Value}))
		}
	case *tir.Evaluate:
		if isSync(x) {
			return x
		}
	case *tir.BufferStore:
		if !w.differs(x.Value) && !w.differs(x.Indices...) && !w.differ[x.Buffer.Data] {
			return x
		}
	}
	return w.each(s)
}

// single reports whether a condition holds for one virtual thread alone, and returns it with the rest of the condition,
// nil if there is none.
func (w *weaver) single(cond tir.Expr) (only, rest tir.Expr, ok bool) {
	for _, c := range conjuncts(cond) {
		plain := c
		if l, is := c.(*tir.Call); is && l.Kind == tir.CallIntrinsic && l.Name == "likely" {
			plain = l.Args[0]
		}
		b, is := plain.(*tir.Binary)
		if is && b.Op == tir.OpEQ && b.A == tir.Expr(w.loop.Var) && only == nil {
			if n, fixed := b.B.(*tir.IntImm); fixed && n.Value >= w.low && n.Value < w.low+w.n {
				only = n
				continue
			}
		}
		if rest == nil {
			rest = c
		} else {
			rest = tir.And(rest, c)
		}
	}
	return only, rest, only != nil
}

// each executes a statement for one virtual thread after the other.
func (w *weaver) each(s tir.Stmt) tir.Stmt {
	w.alone(s)
	v := tir.NewVar(w.loop.Var.Name, w.loop.Var.Type)
	return &tir.For{Kind: tir.Unrolled, Var: v, Min: sized(v.Type, w.low), Extent: sized(v.Type, w.n),
		Body: tir.Copied(s, map[*tir.Var]tir.Expr{w.loop.Var: v})}
}

// alone records an error if virtual threads may have to wait for each other within a statement.
func (w *weaver) alone(s tir.Stmt) {
	if _, simple := s.(*tir.BufferStore); simple {
		return
	}
	stored := map[*tir.Var][]tir.Expr{}
	tir.Walk(s, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferStore:
			if isShared(n.Buffer.StorageScope()) {
				stored[n.Buffer.Data] = n.Indices
			}
		case *tir.Evaluate:
			if isSync(n) {
				w.f.fail("loop %s over %s has a barrier below a condition that differs between its iterations: put the "+
					"condition around each part", w.loop.Var.Name, w.loop.Thread)
			}
		}
		return true
	})
	check := func(b *tir.Buffer, at []tir.Expr) {
		own, is := stored[b.Data]
		if is && !slices.EqualFunc(own, at, func(p, q tir.Expr) bool { return compare.EqualFree(p, q) }) {
			w.f.fail("loop %s over %s stores to buffer %s and accesses other elements of it below a condition that differs "+
				"between its iterations, which takes a barrier between: put the condition around each of them",
				w.loop.Var.Name, w.loop.Thread, b.Name)
		}
	}
	tir.Walk(s, func(node any) bool {
		switch n := node.(type) {
		case *tir.BufferStore:
			check(n.Buffer, n.Indices)
		case *tir.BufferLoad:
			check(n.Buffer, n.Indices)
		}
		return true
	})
}
