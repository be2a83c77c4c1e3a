package arith

import (
	"fmt"
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
)

// SimplifyFunc returns a simplified function. The sizes of its tensor parameters are assumed not to be negative.
func SimplifyFunc(f *tir.PrimFunc) *tir.PrimFunc { return simplifyFunc(f, nil) }

func simplifyFunc(f *tir.PrimFunc, applied func(rule)) *tir.PrimFunc {
	if f == nil || f.Body == nil {
		return f
	}
	a := NewAnalyzer()
	a.applied = applied
	for _, p := range f.Params {
		if b := f.Buffers[p]; b != nil {
			for _, n := range b.Shape {
				if v, ok := n.(*tir.Var); ok && v != nil && isIndex(v.Type) {
					a.learn(a.id(v), interval{0, greatest})
				}
			}
		}
	}
	body := a.SimplifyStmt(f.Body)
	if body == f.Body {
		return f
	}
	c := *f
	c.Body = body
	return &c
}

// Simplify is the pass that simplifies all functions of a module. The result shares unchanged functions with m. The
// target is not used, and may be nil.
func Simplify(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	if m == nil {
		return nil, fmt.Errorf("simplify: the module is nil")
	}
	if i := slices.IndexFunc(m.Funcs, func(f *tir.PrimFunc) bool { return f == nil || f.Body == nil }); i >= 0 {
		return nil, fmt.Errorf("simplify: function %d of the module is nil or has no body: check it with tir.Check", i)
	}
	r := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		r.Funcs = append(r.Funcs, SimplifyFunc(f))
	}
	return r, nil
}
