package transform

import (
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// touch is one access to a buffer.
type touch struct {
	buffer  *tir.Buffer
	indices []tir.Expr
	store   bool
	inner   []*tir.For // loops between the analyzed one and the access, outermost first
	while   bool
}

// touches lists the accesses in a loop's body without opaque nodes. Variables of lets are replaced by their values if
// these read no memory.
func touches(body tir.Stmt) []touch {
	var all []touch
	var around []*tir.For
	whiles := 0
	lets := map[*tir.Var]tir.Expr{}
	indices := func(list []tir.Expr) []tir.Expr {
		out := make([]tir.Expr, len(list))
		for i, x := range list {
			out[i] = tir.Substitute(x, lets)
		}
		return out
	}
	note := func(b *tir.Buffer, list []tir.Expr, store bool) {
		all = append(all, touch{b, indices(list), store, append([]*tir.For{}, around...), whiles > 0})
	}
	exprs := func(list ...tir.Expr) {
		for _, e := range list {
			seen := map[any]bool{}
			tir.Walk(e, func(node any) bool {
				if seen[node] {
					return false
				}
				seen[node] = true
				switch n := node.(type) {
				case *tir.BufferLoad:
					note(n.Buffer, n.Indices, false)
				case *tir.Let:
					if !contains(n.Value, readsOrActs) {
						lets[n.Var] = tir.Substitute(n.Value, lets)
					}
				}
				return true
			})
		}
	}
	var visit func(s tir.Stmt)
	visit = func(s tir.Stmt) {
		switch s := s.(type) {
		case *tir.BufferStore:
			exprs(s.Indices...)
			exprs(s.Value)
			note(s.Buffer, s.Indices, true)
		case *tir.For:
			exprs(s.Min, s.Extent)
			around = append(around, s)
			visit(s.Body)
			around = around[:len(around)-1]
		case *tir.While:
			whiles++
			exprs(s.Cond)
			visit(s.Body)
			whiles--
		case *tir.LetStmt:
			exprs(s.Value)
			if !contains(s.Value, readsOrActs) {
				lets[s.Var] = tir.Substitute(s.Value, lets)
			}
			visit(s.Body)
		default:
			parts, inner := tir.Parts(s)
			exprs(parts...)
			for _, x := range inner {
				visit(x)
			}
		}
	}
	visit(body)
	return all
}

// MayChange reports whether an expression reads memory or has effects, so that its value may change with time, or has a
// variable for which varies is true; varies may be nil.
func MayChange(e tir.Expr, varies func(*tir.Var) bool) bool {
	return contains(e, func(node any) bool {
		v, isVar := node.(*tir.Var)
		return readsOrActs(node) || isVar && varies != nil && varies(v)
	})
}

// readsOrActs reports whether a node's value may change with time.
func readsOrActs(node any) bool {
	_, load := node.(*tir.BufferLoad)
	return load || isImpure(node)
}

// independent reports whether the iterations of a loop may run in lockstep, each statement for all iterations before
// the next statement: no iteration reads or writes elements that another one writes. Buffers with different addresses
// are assumed to be different memory, or the same memory element by element.
func independent(s *tir.For, iterations int64, body tir.Stmt) bool {
	all := touches(body)
	for i, x := range all {
		if !x.store {
			continue
		}
		alone := len(x.inner) == 0 && !x.while // a single store keeps its order
		for j, y := range all {
			if x.buffer.Data != y.buffer.Data || y.store && j < i {
				continue
			}
			if i == j && alone {
				continue
			}
			if !apart(s, iterations, x, y) {
				return false
			}
		}
	}
	return true
}

// apart reports whether two accesses to a buffer use different elements in different iterations of a loop.
func apart(s *tir.For, iterations int64, x, y touch) bool {
	if x.buffer != y.buffer || len(x.indices) != len(y.indices) {
		return false
	}
	a := arith.NewAnalyzer()
	at := func(v *tir.Var) func(t touch, i int) tir.Expr {
		return func(t touch, i int) tir.Expr { return tir.Substitute(t.indices[i], map[*tir.Var]tir.Expr{s.Var: v}) }
	}
	zero := minOf(s)
	bind := func(t touch, rename bool) map[*tir.Var]tir.Expr {
		names := map[*tir.Var]tir.Expr{}
		for _, f := range t.inner {
			v := f.Var
			if rename {
				v = tir.NewVar(f.Var.Name, f.Var.Type)
				names[f.Var] = v
			}
			a.Bind(v, tir.Substitute(tir.NewCast(v.Type, f.Min), names), tir.Substitute(tir.NewCast(v.Type, f.Extent),
				names))
		}
		return names
	}
	a.Bind(s.Var, zero, sized(s.Var.Type, iterations))
	bind(x, false)
	other := bind(y, true)
	_ = at
	for d := range x.indices {
		p, q := x.indices[d], tir.Substitute(y.indices[d], other)
		if p.DType() != q.DType() || p.DType().Lanes != 1 || p.DType().Bits < 32 || contains(p, readsOrActs) ||
			contains(q, readsOrActs) {
			continue
		}
		step, ok := stepOf(a, s.Var, p)
		also, okToo := stepOf(a, s.Var, q)
		if !ok || !okToo || step != also || step == 0 || step > 1<<20 || step < -1<<20 {
			continue
		}
		to := map[*tir.Var]tir.Expr{s.Var: zero}
		distance := a.Simplify(tir.Sub(tir.Substitute(p, to), tir.Substitute(q, to)))
		lo, hi, bounded := a.Bounds(distance)
		coef, base := a.Modular(distance)
		meets := func(n int64) bool {
			if bounded && (n < lo || n > hi) {
				return false
			}
			if coef == 0 {
				return n == base
			}
			return ((n-base)%coef+coef)%coef == 0
		}
		free := true
		for k := int64(1); k < iterations && free; k++ {
			free = !meets(k*step) && !meets(-k*step)
		}
		if free {
			return true
		}
	}
	return false
}

// stepOf returns the increment of an index per iteration of a loop.
func stepOf(a *arith.Analyzer, v *tir.Var, e tir.Expr) (int64, bool) {
	if !contains(e, func(node any) bool { return node == any(v) }) {
		return 0, true
	}
	next := tir.Substitute(e, map[*tir.Var]tir.Expr{v: tir.Add(v, sized(v.Type, 1))})
	c, ok := a.Simplify(tir.Sub(next, e)).(*tir.IntImm)
	if !ok {
		return 0, false
	}
	return c.Value, true
}
