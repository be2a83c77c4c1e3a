package cuda

import (
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/transform"
)

// asyncCopies makes asynchronous copies of the loads from global to shared memory that a program marks
// (transform.AnnotationAsync): those of 4, 8 or 16 aligned bytes. Others remain loads and stores. A load that is
// guarded by a condition becomes a copy below the condition, and a store of the other value.
func asyncCopies(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	out := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		changed := *f
		a := &asyncCopier{}
		changed.Body = a.stmt(f.Body, false)
		out.Funcs = append(out.Funcs, &changed)
	}
	return out, nil
}

type asyncCopier struct{ known arith.Multiples }

func (a *asyncCopier) stmt(s tir.Stmt, marked bool) tir.Stmt {
	switch s := s.(type) {
	case *tir.AttrStmt:
		if s.Key == transform.AnnotationAsync {
			return a.stmt(s.Body, true)
		}
	case *tir.LetStmt:
		a.known.Let(s.Var, s.Value)
	case *tir.BufferStore:
		if marked {
			if c := a.copied(s, s.Value); c != nil {
				return c
			}
		}
		return s
	}
	return tir.MapStmt(s, nil, func(body tir.Stmt) tir.Stmt { return a.stmt(body, marked) })
}

// copied returns the asynchronous copy of a store's value; nil if there is none.
func (a *asyncCopier) copied(s *tir.BufferStore, value tir.Expr) tir.Stmt {
	switch e := value.(type) {
	case *tir.Call:
		if e.Kind != tir.CallIntrinsic || e.Name != "if_then_else" || e.Args[0].DType().Lanes != 1 {
			return nil
		}
		c := a.copied(s, e.Args[1])
		if c == nil {
			return nil
		}
		return &tir.If{Cond: e.Args[0], Then: c,
			Else: &tir.BufferStore{Buffer: s.Buffer, Value: e.Args[2], Indices: s.Indices}}
	case *tir.BufferLoad:
		to, from := s.Buffer.StorageScope(), e.Buffer.StorageScope()
		lanes := int(e.DType().Lanes)
		bytes := lanes * int(e.DType().Bits) / 8
		if to != "shared" && to != dynamicScope || from != "global" || bytes != 4 && bytes != 8 && bytes != 16 {
			return nil
		}
		if lanes > 1 && (Language.Widest(s.Buffer, s.Indices, &a.known) != lanes ||
			Language.Widest(e.Buffer, e.Indices, &a.known) != lanes) {
			return nil
		}
		return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "async_copy",
			addressOf(s.Buffer, s.Indices), addressOf(e.Buffer, e.Indices), tir.I32(int32(bytes)))}
	}
	return nil
}

// addressOf returns the address of the first element of an access.
func addressOf(b *tir.Buffer, indices []tir.Expr) tir.Expr {
	first := append([]tir.Expr{}, indices...)
	if r, ok := first[len(first)-1].(*tir.Ramp); ok {
		first[len(first)-1] = r.Base
	}
	return tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", &tir.BufferLoad{Buffer: b, Indices: first})
}
