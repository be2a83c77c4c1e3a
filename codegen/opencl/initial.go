package opencl

import (
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
)

// initializeAll makes all work items store the initial constants of their private memory, also those that a condition
// excludes because they have no element to compute. Nobody can read that memory before, so this changes no result.
//
// PoCL 3.1 compiles the condition incorrectly if a loop with a barrier follows, and then the same condition:
//
//	for (…) { int sum[1]; if (y + i < n && x < m) sum[0] = 0; for (…) { barrier(…); if (y + i < n && x < m) … } }
func initializeAll(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	changed := false
	by := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		if _, ok := s.(*tir.Alloc); !ok {
			return s
		}
		out, ok := unconditional(s, nil)
		if !ok {
			return s
		}
		changed = true
		return out
	}}
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		c := *f
		c.Body = by.MutateStmt(f.Body)
		out.Funcs = append(out.Funcs, &c)
	}
	if !changed {
		return m, nil
	}
	return out, nil
}

// unconditional returns a statement without the condition around its first part, if that part stores constants in
// memory that was just allocated.
func unconditional(s tir.Stmt, fresh []*tir.Buffer) (tir.Stmt, bool) {
	switch s := s.(type) {
	case *tir.Alloc:
		if s.Buffer.StorageScope() != "local" {
			return s, false
		}
		body, ok := unconditional(s.Body, append(slices.Clone(fresh), s.Buffer))
		return &tir.Alloc{Buffer: s.Buffer, Body: body}, ok
	case *tir.Seq:
		if len(s.Stmts) == 0 {
			return s, false
		}
		first, ok := unconditional(s.Stmts[0], fresh)
		return tir.Sequence(append([]tir.Stmt{first}, s.Stmts[1:]...)...), ok
	case *tir.If:
		if s.Else == nil && storesConstants(s.Then, fresh, map[*tir.Var]int64{}) {
			return s.Then, true
		}
	}
	return s, false
}

// storesConstants reports whether a statement only stores constants within buffers, by loops of constant extents.
func storesConstants(s tir.Stmt, to []*tir.Buffer, ends map[*tir.Var]int64) bool {
	switch s := s.(type) {
	case *tir.Seq:
		return !slices.ContainsFunc(s.Stmts, func(x tir.Stmt) bool { return !storesConstants(x, to, ends) })
	case *tir.For:
		from, zero := tir.IntValue(s.Min)
		n, known := tir.IntValue(s.Extent)
		ends[s.Var] = n
		return zero && from == 0 && known && s.Kind != tir.ThreadBind && storesConstants(s.Body, to, ends)
	case *tir.BufferStore:
		if !slices.Contains(to, s.Buffer) || len(s.Indices) != len(s.Buffer.Shape) {
			return false
		}
		switch s.Value.(type) {
		case *tir.IntImm, *tir.FloatImm:
		default:
			return false
		}
		for d, index := range s.Indices {
			size, _ := tir.IntValue(s.Buffer.Shape[d])
			at, ok := tir.IntValue(index)
			if v, isVar := index.(*tir.Var); isVar && ends[v] > 0 {
				at, ok = ends[v]-1, true
			}
			if !ok || at < 0 || at >= size {
				return false
			}
		}
		return true
	}
	return false
}
