package transform

import (
	"slices"
	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/layout"
)

// ReuseStorage lets allocations whose lifetimes do not overlap share memory. A lifetime extends from the first
// statement that uses a buffer to the last one; a loop or a branch counts as one statement, so that values that one
// iteration leaves for the next are kept. Allocations share memory if
//
//   - they have the same scope and are in the same body of a loop, a branch, or the function;
//   - their sizes are constant, or the later one is provably not larger. The types may differ, except in scope
//     "local", for which devices use registers. A buffer of another size, type or shape than its memory becomes a
//     view (tir.View);
//   - both have more than [smallBytes], or both have not. On a CPU, small ones do not share: the compiler keeps them
//     in registers and arranges the stack itself. In scopes "shared…" memory is always scarce;
//   - the threads of a block that use them meet at a barrier (storage_sync) between the uses, and, in a loop, before
//     the next iteration. Memory of scope "local" belongs to one thread. Between large buffers in shared memory,
//     outside of loops and branches, a barrier is added.
//
// Double-buffered memory, memory with views, and images do not share. Neither the sum of all allocations nor the
// memory that is allocated at the same time grows. Allocations that nothing uses are removed.
func ReuseStorage(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	return Language{}.ReuseStorage()(m, t)
}

// ReuseStorage is the pass of this name for a language: buffers share only memory as which it can access both.
func (l Language) ReuseStorage() Pass {
	return func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
		return mapFuncs("reuse storage", m, func(f *tir.PrimFunc) (*tir.PrimFunc, error) {
			if !anyAlloc(f.Body) {
				return f, nil // no region has an allocation
			}
			r := &reuser{a: arith.NewAnalyzer(), fixed: l.FixedShared,
				apart: t != nil && t.Kind() != nil && t.DeviceType() == dlpack.CPU}
			return withBody(f, r.region(f.Body, standing{})), nil
		})
	}
}

// anyAlloc reports whether there is an allocation in a statement.
func anyAlloc(s tir.Stmt) (found bool) {
	tir.Walk(s, func(node any) bool {
		_, is := node.(*tir.Alloc)
		_, isExpr := node.(tir.Expr)
		found = found || is
		return !found && !isExpr
	})
	return found
}

// smallBytes is the size up to which an allocation is left to registers and the stack.
const smallBytes = 1024

// reuser transforms one function.
type reuser struct {
	a     *arith.Analyzer
	apart bool // small allocations don't share
	fixed bool // shared memory has elements of one width
}

// standing describes the position of a body.
type standing struct {
	kernel bool // within a loop over threads or blocks
	loop   bool // within a loop within that
	branch bool // within a branch within that
}

// region rewrites a body of a function, a loop or a branch: first the inner bodies, then itself.
func (r *reuser) region(s tir.Stmt, at standing) tir.Stmt {
	m := &tir.Mutator{PreStmt: func(s tir.Stmt) (tir.Stmt, bool) {
		switch s := s.(type) {
		case *tir.For:
			inner := at
			inner.loop = at.loop || at.kernel && s.Kind != tir.ThreadBind
			inner.kernel = at.kernel || s.Kind == tir.ThreadBind
			if body := r.region(s.Body, inner); body != s.Body {
				c := *s
				c.Body = body
				return &c, true
			}
			return s, true
		case *tir.While:
			inner := at
			inner.loop = at.kernel
			if body := r.region(s.Body, inner); body != s.Body {
				return &tir.While{Cond: s.Cond, Body: body}, true
			}
			return s, true
		case *tir.If:
			inner := at
			inner.branch = at.kernel
			then, other := r.region(s.Then, inner), s.Else
			if s.Else != nil {
				other = r.region(s.Else, inner)
			}
			if then != s.Then || other != s.Else {
				return &tir.If{Cond: s.Cond, Then: then, Else: other}, true
			}
			return s, true
		}
		if tir.Opaque(s) {
			inner := standing{kernel: at.kernel, loop: at.kernel}
			return tir.MapStmt(s, nil, func(body tir.Stmt) tir.Stmt { return r.region(body, inner) }), true
		}
		return nil, false
	}}
	if s = m.MutateStmt(s); s == nil {
		return &tir.Seq{}
	}
	if !at.kernel {
		s = r.widen(s, at)
	}
	return r.share(s, at)
}

// widen extends memory of a statement to the statements after it, if these can use it and the peak does not grow.
func (r *reuser) widen(s tir.Stmt, at standing) tir.Stmt {
	switch s := s.(type) {
	case *tir.Alloc:
		if body := r.widen(s.Body, at); body != s.Body {
			return &tir.Alloc{Buffer: s.Buffer, Body: body}
		}
	case *tir.LetStmt:
		if body := r.widen(s.Body, at); body != s.Body {
			return &tir.LetStmt{Var: s.Var, Value: s.Value, Body: body}
		}
	case *tir.AttrStmt:
		if body := r.widen(s.Body, at); body != s.Body {
			return &tir.AttrStmt{Key: s.Key, Node: s.Node, Value: s.Value, Body: body}
		}
	case *tir.Seq:
		return r.widenSeq(s, at)
	}
	return s
}

// maxWidened limits the number of pairs of statements of one sequence that are tried.
const maxWidened = 256

func (r *reuser) widenSeq(s *tir.Seq, at standing) tir.Stmt {
	list := make([]tir.Stmt, len(s.Stmts))
	changed := false
	for i, x := range s.Stmts {
		list[i] = r.widen(x, at)
		changed = changed || list[i] != x
	}
	tries := 0
	for i := 0; i < len(list); i++ {
		host, ok := list[i].(*tir.Alloc)
		for j := i + 1; ok && j < len(list) && tries < maxWidened; j++ {
			if !allocates(list[j]) {
				continue
			}
			tries++
			old := tir.Sequence(list[i : j+1]...)
			wider := &tir.Alloc{Buffer: host.Buffer,
				Body: tir.Sequence(append([]tir.Stmt{host.Body}, list[i+1:j+1]...)...)}
			before, after := r.share(old, at), r.share(wider, at)
			if total(after) >= total(before) || needsMore(after, before) {
				continue
			}
			list = append(append(append([]tir.Stmt{}, list[:i]...), wider), list[j+1:]...)
			host, j, changed = wider, i, true
		}
	}
	if !changed {
		return s
	}
	return tir.Sequence(list...)
}

// allocates reports whether a statement allocates before its first loop or branch.
func allocates(s tir.Stmt) bool {
	switch s := s.(type) {
	case *tir.Alloc:
		return true
	case *tir.LetStmt:
		return allocates(s.Body)
	case *tir.AttrStmt:
		return allocates(s.Body)
	case *tir.Seq:
		if slices.ContainsFunc(s.Stmts, allocates) {
			return true
		}
	}
	return false
}

// unknownBytes stands for a size that is not known before run time.
const unknownBytes = 1 << 40

// bytesOf returns the size of an allocation.
func bytesOf(b *tir.Buffer) int64 {
	n, ok := layout.ConstantSize(b)
	if !ok {
		return unknownBytes
	}
	return (n*int64(b.DType.Bits)*int64(b.DType.Lanes) + 7) / 8
}

// total returns the sum of all allocations within a statement.
func total(s tir.Stmt) (sum float64) {
	tir.Walk(s, func(node any) bool {
		if a, ok := node.(*tir.Alloc); ok {
			sum += float64(bytesOf(a.Buffer))
		}
		return true
	})
	return sum
}

// peak returns the largest sum of simultaneous allocations within a statement. Unknown sizes count as unknown bytes.
func peak(s tir.Stmt, unknown int64) (most float64) {
	within := func(parts ...tir.Stmt) float64 {
		for _, x := range parts {
			if x != nil {
				most = max(most, peak(x, unknown))
			}
		}
		return most
	}
	switch s := s.(type) {
	case *tir.Alloc:
		n := bytesOf(s.Buffer)
		if n == unknownBytes {
			n = unknown
		}
		return float64(n) + within(s.Body)
	}
	return within(bodies(s)...)
}
