package transform

import (
	"fmt"

	"tvmgo/tir"
)

// mapFuncs returns a module with the functions that change returns for those of m. It returns m itself if none changes.
func mapFuncs(pass string, m *tir.IRModule, change func(f *tir.PrimFunc) (*tir.PrimFunc, error)) (*tir.IRModule,
	error) {
	if err := checkFuncs(pass, m); err != nil {
		return nil, err
	}
	funcs := make([]*tir.PrimFunc, len(m.Funcs))
	same := true
	for i, f := range m.Funcs {
		g, err := changed(f, change)
		if err != nil {
			return nil, fmt.Errorf("%s: function %s: %w", pass, f.Name, err)
		}
		funcs[i] = g
		same = same && g == f
	}
	if same {
		return m, nil
	}
	return &tir.IRModule{Funcs: funcs, Attrs: m.Attrs}, nil
}

// checkFuncs returns an error if a pass cannot process a module's functions.
func checkFuncs(pass string, m *tir.IRModule) error {
	if m == nil {
		return fmt.Errorf("%s: the module is nil", pass)
	}
	for i, f := range m.Funcs {
		if f == nil || f.Body == nil {
			return fmt.Errorf("%s: function %d of the module is nil or has no body: check it with tir.Check", pass, i)
		}
	}
	return nil
}

// mapBodies is mapFuncs for passes that change bodies alone.
func mapBodies(pass string, m *tir.IRModule, body func(f *tir.PrimFunc) (tir.Stmt, error)) (*tir.IRModule, error) {
	return mapFuncs(pass, m, func(f *tir.PrimFunc) (*tir.PrimFunc, error) {
		s, err := body(f)
		if err != nil {
			return nil, err
		}
		return withBody(f, s), nil
	})
}

// changed returns change(f), or an error if f is so malformed that a pass panics.
func changed(f *tir.PrimFunc, change func(f *tir.PrimFunc) (*tir.PrimFunc, error)) (g *tir.PrimFunc, err error) {
	defer func() {
		if p := recover(); p != nil {
			g, err = nil, fmt.Errorf("the program is malformed (%v): check it with tir.Check", p)
		}
	}()
	return change(f)
}

// withBody returns f with another body; nil stands for an empty one.
func withBody(f *tir.PrimFunc, body tir.Stmt) *tir.PrimFunc {
	if body == f.Body {
		return f
	}
	g := *f
	if body == nil {
		body = &tir.Seq{}
	}
	g.Body = body
	return &g
}

// count returns the value of e if it is a constant number of iterations.
func count(e tir.Expr) (int64, bool) {
	if c, ok := e.(*tir.IntImm); ok && c != nil && tir.IsInt(c.Type) && c.Value >= 0 {
		return c.Value, true
	}
	return 0, false
}

// sized returns an integer constant of a type.
func sized(t tir.Type, n int64) tir.Expr { return &tir.IntImm{Type: t, Value: n} }

// plus returns a + n.
func plus(a tir.Expr, n int64) tir.Expr {
	if n == 0 {
		return a
	}
	if c, ok := a.(*tir.IntImm); ok {
		return sized(c.Type, c.Value+n)
	}
	return tir.Add(a, sized(a.DType(), n))
}

// minOf returns the first value of a loop variable, in the variable's type.
func minOf(s *tir.For) tir.Expr {
	if c, ok := s.Min.(*tir.IntImm); ok {
		return sized(s.Var.Type, c.Value)
	}
	return tir.NewCast(s.Var.Type, s.Min)
}

// isImpure reports whether a node does more than compute a value.
func isImpure(node any) bool {
	switch n := node.(type) {
	case *tir.Call:
		in, known := tir.LookupIntrinsic(n.Name)
		return n.Kind != tir.CallIntrinsic || !known || !in.Pure
	case *tir.Assert, *tir.Bad, *tir.ProducerLoad, *tir.Reduce:
		return true
	}
	return tir.Opaque(node)
}

// bodies returns the statements in a statement.
func bodies(s tir.Stmt) []tir.Stmt {
	_, all := tir.Parts(s)
	return all
}

// contains reports whether is holds for a node of a tree. It visits parts that occur several times once.
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
