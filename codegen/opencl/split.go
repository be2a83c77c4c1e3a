package opencl

import (
	"fmt"

	"tvmgo/target"
	"tvmgo/tir"
)

// splitVectors makes of stores of vectors that OpenCL does not have several of those that it has. All are computed before the first is stored.
func splitVectors(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return rewritten(m, &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
		if st, ok := s.(*tir.BufferStore); ok {
			return splitStore(st)
		}
		return s
	}}), nil
}

// rewritten is a module with the bodies that a mutator makes of its functions'.
func rewritten(m *tir.IRModule, by *tir.Mutator) *tir.IRModule {
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		if body := by.MutateStmt(f.Body); body != nil && body != f.Body {
			c := *f
			c.Body = body
			f = &c
		}
		out.Funcs = append(out.Funcs, f)
	}
	return out
}

func splitStore(s *tir.BufferStore) tir.Stmt {
	t := s.Value.DType()
	if t.Lanes < 2 || len(s.Indices) == 0 {
		return s
	}
	if _, has := (vectors{}).Type(t); has || tir.IsBool(t) {
		return s
	}
	if _, has := (vectors{}).Type(tir.Vector(t, 2)); !has {
		return s
	}
	last := len(s.Indices) - 1
	var stores []tir.Stmt
	var values []tir.Expr
	var names []*tir.Var
	for from, left := 0, int(t.Lanes); left > 0; {
		width := 16
		for width > left {
			width /= 2
		}
		value, ok := slice(s.Value, from, width)
		index, fine := slice(s.Indices[last], from, width)
		if !ok || !fine {
			return s
		}
		v := tir.NewVar(fmt.Sprintf("%s_%d", s.Buffer.Name, from), value.DType())
		names, values = append(names, v), append(values, value)
		stores = append(stores, &tir.BufferStore{Buffer: s.Buffer, Value: v, Indices: append(append([]tir.Expr{}, s.Indices[:last]...), index)})
		from += width
		left -= width
	}
	body := tir.Sequence(stores...)
	for i := len(names) - 1; i >= 0; i-- {
		body = &tir.LetStmt{Var: names[i], Value: values[i], Body: body}
	}
	return body
}

// slice is some neighbouring lanes of an expression; false where it cannot be cut.
func slice(e tir.Expr, from, width int) (out tir.Expr, ok bool) {
	cut := func(all ...tir.Expr) []tir.Expr {
		parts := make([]tir.Expr, len(all))
		for i, x := range all {
			if x.DType().Lanes == 1 {
				parts[i] = x
				continue
			}
			p, fine := slice(x, from, width)
			if !fine {
				return nil
			}
			parts[i] = p
		}
		return parts
	}
	switch e := e.(type) {
	case *tir.Broadcast:
		if width == 1 {
			return e.Value, true
		}
		return &tir.Broadcast{Value: e.Value, Lanes: width}, true
	case *tir.Ramp:
		base := e.Base
		if from > 0 {
			base = tir.Add(base, steps(e.Stride, int64(from)))
		}
		if width == 1 {
			return base, true
		}
		return &tir.Ramp{Base: base, Stride: e.Stride, Lanes: width}, true
	case *tir.Binary:
		if p := cut(e.A, e.B); p != nil {
			return &tir.Binary{Op: e.Op, A: p[0], B: p[1]}, true
		}
	case *tir.Not:
		if p := cut(e.A); p != nil {
			return &tir.Not{A: p[0]}, true
		}
	case *tir.Select:
		if p := cut(e.Cond, e.Then, e.Else); p != nil {
			return &tir.Select{Cond: p[0], Then: p[1], Else: p[2]}, true
		}
	case *tir.Cast:
		if p := cut(e.Value); p != nil {
			return &tir.Cast{Type: tir.Vector(e.Type, width), Value: p[0]}, true
		}
	case *tir.BufferLoad:
		if p := cut(e.Indices...); p != nil {
			return &tir.BufferLoad{Buffer: e.Buffer, Indices: p}, true
		}
	case *tir.Call:
		if in, known := tir.LookupIntrinsic(e.Name); e.Kind == tir.CallIntrinsic && known && in.Pure {
			for _, a := range e.Args {
				if a.DType().Lanes != e.Type.Lanes {
					return nil, false
				}
			}
			if p := cut(e.Args...); p != nil {
				return &tir.Call{Kind: e.Kind, Name: e.Name, Type: tir.Vector(e.Type, width), Args: p}, true
			}
		}
	}
	return nil, false
}

// steps is a stride, so many times.
func steps(stride tir.Expr, n int64) tir.Expr {
	if c, ok := stride.(*tir.IntImm); ok {
		return tir.IntConst(c.Type, c.Value*n)
	}
	return tir.Mul(stride, tir.IntConst(stride.DType(), n))
}
