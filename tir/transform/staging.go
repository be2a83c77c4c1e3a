package transform

import (
	"tvmgo/tir"
)

// stage divides statements that fill a buffer in two: the first computes the values and keeps them in registers, the
// second stores them. It returns the registers; none if the statements cannot be divided: memory of a thread needs no
// registers, and the number of values must be constant and at most [maxStaged].
func stage(of []*tir.Buffer, s tir.Stmt) (registers []*tir.Buffer, load, store tir.Stmt) {
	g := &stager{of: map[*tir.Var]bool{}, ok: true, own: map[*tir.Var]bool{}}
	for _, b := range of {
		if !isShared(b.StorageScope()) {
			return nil, nil, nil
		}
		g.of[b.Data] = true
	}
	load, store = g.stmt(s)
	if !g.ok || len(g.registers) == 0 || g.total > maxStaged || load == nil || store == nil {
		return nil, nil, nil
	}
	reads := func(s tir.Stmt, of map[*tir.Var]bool) bool {
		return contains(s, func(node any) bool {
			l, ok := node.(*tir.BufferLoad)
			return ok && of[l.Buffer.Data]
		})
	}
	if reads(store, g.own) || reads(load, g.of) { // each half needs what the other one computes
		return nil, nil, nil
	}
	return g.registers, load, tir.Copied(store, nil)
}

type stager struct {
	of        map[*tir.Var]bool // the addresses of the buffers that are filled
	loops     []*tir.For
	registers []*tir.Buffer
	own       map[*tir.Var]bool // memory within the statements
	total     int64
	ok        bool
}

func (g *stager) stmt(s tir.Stmt) (load, store tir.Stmt) {
	switch s := s.(type) {
	case *tir.BufferStore:
		if !g.of[s.Buffer.Data] {
			return s, nil
		}
		return g.value(s)
	case *tir.For:
		if s.Kind != tir.ThreadBind {
			g.loops = append(g.loops, s)
			defer func() { g.loops = g.loops[:len(g.loops)-1] }()
		}
		a, b := g.stmt(s.Body)
		around := func(body tir.Stmt) tir.Stmt {
			if body == nil {
				return nil
			}
			c := *s
			c.Body = body
			return &c
		}
		return around(a), around(b)
	case *tir.If:
		then, thenStore := g.stmt(s.Then)
		other, otherStore := g.both(s.Else)
		if then != nil || other != nil {
			load = &tir.If{Cond: s.Cond, Then: orNothing(then), Else: other}
		}
		if thenStore != nil || otherStore != nil {
			store = &tir.If{Cond: s.Cond, Then: orNothing(thenStore), Else: otherStore}
		}
		return load, store
	case *tir.Seq:
		var loads, stores []tir.Stmt
		for _, x := range s.Stmts {
			a, b := g.stmt(x)
			if a != nil {
				loads = append(loads, a)
			}
			if b != nil {
				stores = append(stores, b)
			}
		}
		return some(loads), some(stores)
	case *tir.Alloc:
		g.own[s.Buffer.Data] = true
		g.ok = g.ok && !isShared(s.Buffer.StorageScope())
		a, b := g.stmt(s.Body)
		if a != nil {
			a = &tir.Alloc{Buffer: s.Buffer, Body: a}
		}
		return a, b
	case *tir.LetStmt:
		a, b := g.stmt(s.Body)
		if a != nil {
			a = &tir.LetStmt{Var: s.Var, Value: s.Value, Body: a}
		}
		if b != nil {
			b = &tir.LetStmt{Var: s.Var, Value: s.Value, Body: b}
		}
		return a, b
	}
	g.ok = false
	return s, nil
}

func (g *stager) both(s tir.Stmt) (load, store tir.Stmt) {
	if s == nil {
		return nil, nil
	}
	return g.stmt(s)
}

// value keeps one value per iteration of the loops around.
func (g *stager) value(s *tir.BufferStore) (load, store tir.Stmt) {
	n := int64(1)
	var shape, at []tir.Expr
	for _, l := range g.loops {
		extent, constant := count(l.Extent)
		if !constant || extent < 1 || n > maxStaged {
			g.ok = false
			return s, nil
		}
		n *= extent
		shape = append(shape, sized(l.Var.Type, extent))
		index := tir.Expr(l.Var)
		if low, ok := l.Min.(*tir.IntImm); !ok || low.Value != 0 {
			index = tir.Sub(l.Var, minOf(l))
		}
		at = append(at, index)
	}
	if len(shape) == 0 {
		shape, at = []tir.Expr{tir.I32(1)}, []tir.Expr{tir.I32(0)}
	}
	if s.Value.DType().Lanes != 1 || s.Buffer.DType.Lanes != 1 {
		g.ok = false
		return s, nil
	}
	g.total += n
	r := tir.NewBuffer(s.Buffer.Name+".next", s.Buffer.DType, shape...)
	r.Scope = "local"
	g.registers = append(g.registers, r)
	return &tir.BufferStore{Buffer: r, Value: s.Value, Indices: at},
		&tir.BufferStore{Buffer: s.Buffer, Value: tir.BufferAt(r, at...), Indices: s.Indices}
}

func orNothing(s tir.Stmt) tir.Stmt {
	if s == nil {
		return &tir.Seq{}
	}
	return s
}

func some(all []tir.Stmt) tir.Stmt {
	if len(all) == 0 {
		return nil
	}
	return tir.Sequence(all...)
}
