package transform

import (
	"fmt"

	"tvmgo/tir"
)

// eachFunc makes a module whose functions have other bodies; what stays the same is shared with m.
func eachFunc(pass string, m *tir.IRModule, body func(f *tir.PrimFunc) (tir.Stmt, error)) (*tir.IRModule, error) {
	if m == nil {
		return nil, fmt.Errorf("tir: %s: the module is nil", pass)
	}
	out := &tir.IRModule{Attrs: m.Attrs}
	for i, f := range m.Funcs {
		if f == nil {
			return nil, fmt.Errorf("tir: %s: function %d of the module is nil", pass, i)
		}
		s, err := body(f)
		if err != nil {
			return nil, fmt.Errorf("tir: %s: function %s: %w", pass, f.Name, err)
		}
		if s == nil {
			s = &tir.Seq{}
		}
		if f.Body != nil && s != f.Body {
			c := *f
			c.Body = s
			f = &c
		}
		out.Funcs = append(out.Funcs, f)
	}
	return out, nil
}

// count is a constant number of turns.
func count(e tir.Expr) (int64, bool) {
	if c, ok := e.(*tir.IntImm); ok && c != nil && tir.IsInt(c.Type) && c.Value >= 0 {
		return c.Value, true
	}
	return 0, false
}

// sized is an int constant of a type.
func sized(t tir.Type, n int64) tir.Expr { return &tir.IntImm{Type: t, Value: n} }

// plus is a + n.
func plus(a tir.Expr, n int64) tir.Expr {
	if n == 0 {
		return a
	}
	if c, ok := a.(*tir.IntImm); ok {
		return sized(c.Type, c.Value+n)
	}
	return tir.Add(a, sized(a.DType(), n))
}

// minOf is the first value of a loop's variable, in its type.
func minOf(s *tir.For) tir.Expr {
	if c, ok := s.Min.(*tir.IntImm); ok {
		return sized(s.Var.Type, c.Value)
	}
	return tir.NewCast(s.Var.Type, s.Min)
}

// isImpure says whether a node does more than to give a value.
func isImpure(node any) bool {
	switch n := node.(type) {
	case *tir.Call:
		in, known := tir.LookupIntrinsic(n.Name)
		return n.Kind != tir.CallIntrinsic || !known || !in.Pure
	case *tir.Assert, *tir.Bad, *tir.ProducerLoad, *tir.Reduce:
		return true
	}
	return false
}

// contains says whether a tree has such a node; parts that stand in several places are looked at once.
func contains(tree any, is func(node any) bool) bool {
	found, seen := false, map[any]bool{}
	tir.Walk(tree, func(node any) bool {
		if found || seen[node] {
			return false
		}
		seen[node] = true
		found = is(node)
		return !found
	})
	return found
}
