package transform

import (
	"fmt"

	"tvmgo/target"
	"tvmgo/tir"
)

// SplitVectors replaces each store of a vector whose number of lanes the language does not have by several stores of
// smaller vectors and scalars. All values are computed before the first is stored. If the language has no vectors of
// the element type at all, the store stays as it is, and so do values that cannot be split: those of packed calls and
// of opaque nodes, for example.
func SplitVectors(l Language) Pass {
	return func(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
		by := &tir.Mutator{Stmt: func(s tir.Stmt) tir.Stmt {
			if st, ok := s.(*tir.BufferStore); ok {
				return l.splitStore(st)
			}
			return s
		}}
		return mapBodies("split vectors", m, func(f *tir.PrimFunc) (tir.Stmt, error) {
			return by.MutateStmt(f.Body),
				nil
		})
	}
}

func (l *Language) splitStore(s *tir.BufferStore) tir.Stmt {
	t := s.Value.DType()
	if t.Lanes < 2 || len(s.Indices) == 0 || len(l.Lanes) == 0 || contains(s, tir.Opaque) {
		return s
	}
	if l.HasVector(t) || tir.IsBool(t) || !l.HasVector(tir.Vector(t, l.Lanes[0])) {
		return s
	}
	last := len(s.Indices) - 1
	var stores []tir.Stmt
	var values []tir.Expr
	var names []*tir.Var
	for from, left := 0, int(t.Lanes); left > 0; {
		width := 1
		for _, n := range l.Lanes {
			if n <= left && l.HasVector(tir.Vector(t, n)) {
				width = n
			}
		}
		value, ok := lanesOf(s.Value, from, width)
		index, fine := lanesOf(s.Indices[last], from, width)
		if !ok || !fine {
			return s
		}
		v := tir.NewVar(fmt.Sprintf("%s_%d", s.Buffer.Name, from), value.DType())
		names, values = append(names, v), append(values, value)
		stores = append(stores, &tir.BufferStore{Buffer: s.Buffer, Value: v,
			Indices: append(append([]tir.Expr{}, s.Indices[:last]...), index)})
		from += width
		left -= width
	}
	body := tir.Sequence(stores...)
	for i := len(names) - 1; i >= 0; i-- {
		body = &tir.LetStmt{Var: names[i], Value: values[i], Body: body}
	}
	return body
}

// lanesOf returns an expression for width adjacent lanes of e; false if e cannot be split.
func lanesOf(e tir.Expr, from, width int) (out tir.Expr, ok bool) {
	cut := func(all ...tir.Expr) []tir.Expr {
		parts := make([]tir.Expr, len(all))
		for i, x := range all {
			if x.DType().Lanes == 1 {
				parts[i] = x
				continue
			}
			p, fine := lanesOf(x, from, width)
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
				if a.DType().Lanes != e.Type.Lanes && e.Name != "if_then_else" { // its condition may be a scalar
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

// steps returns stride * n.
func steps(stride tir.Expr, n int64) tir.Expr {
	if c, ok := stride.(*tir.IntImm); ok {
		return tir.IntConst(c.Type, c.Value*n)
	}
	return tir.Mul(stride, tir.IntConst(stride.DType(), n))
}
