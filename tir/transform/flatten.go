package transform

import (
	"maps"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/compare"
	"tvmgo/tir/layout"
)

// FlattenStorage gives each access to a buffer one index. Strides (also those that storage_align made larger) and
// the offset become part of the index, as expressions where they are not constant. Allocations then have one
// dimension, and so have parameters of kernels. Other parameters keep the shape by which their tensors are checked; the
// body uses a view (tir.View) of one dimension. Buffers of one contiguous dimension stay as they are, and so do images
// (scope "texture"), whose dimensions are those of the device.
//
// Vectors of indices with a constant step stay ramps. An index has 32 bits if these reach all of the memory and no
// index of the program is wider, otherwise 64. Negative strides are rejected.
func FlattenStorage(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
	return mapFuncs("flatten storage", m, func(f *tir.PrimFunc) (*tir.PrimFunc, error) {
		l := &flattener{a: arith.NewAnalyzer(), flat: map[*tir.Buffer]*tir.Buffer{}, small: map[*tir.Buffer]bool{},
			used: map[*tir.Buffer]bool{}}
		body, kernel := f.Body, IsKernel(f)
		var views []*tir.Buffer
		own := maps.Clone(f.Buffers)
		for _, p := range f.Params {
			b := f.Buffers[p]
			switch {
			case b == nil || !l.replace(b, !kernel):
			case kernel:
				own[p] = l.flat[b]
			default:
				views = append(views, l.flat[b])
			}
		}
		tir.Walk(body, func(node any) bool {
			switch n := node.(type) {
			case *tir.Alloc:
				l.replace(n.Buffer, false)
			case *tir.AttrStmt:
				if b, ok := n.Node.(*tir.Buffer); ok && n.Key == tir.AttrView {
					l.replace(b, false)
				}
			}
			return l.err == nil
		})
		if l.err != nil {
			return nil, l.err
		}
		if len(l.flat) == 0 {
			return f, nil
		}
		m := &tir.Mutator{Expr: l.expr, Stmt: l.stmt}
		if body = m.MutateStmt(body); body == nil {
			body = &tir.Seq{}
		}
		if l.err != nil {
			return nil, l.err
		}
		for i := len(views) - 1; i >= 0; i-- {
			if l.used[views[i]] {
				body = tir.View(views[i], body)
			}
		}
		f = withBody(f, body)
		f.Buffers = own
		return f, nil
	})
}

// flattener transforms one function.
type flattener struct {
	a     *arith.Analyzer
	flat  map[*tir.Buffer]*tir.Buffer
	small map[*tir.Buffer]bool
	used  map[*tir.Buffer]bool // names of buffers that replace parameters
	err   error
}

// replace creates the buffer with one dimension that replaces b, unless b already has one dimension.
func (l *flattener) replace(b *tir.Buffer, view bool) bool {
	if b == nil || l.err != nil || isTexture(b.StorageScope()) {
		return false
	}
	if len(b.Shape) == 1 && b.Offset == nil && b.Strides == nil {
		return false
	}
	n, err := layout.Size(b)
	if err != nil {
		l.err = err
		return false
	}
	size := l.a.Simplify(n)
	if c, ok := tir.IntValue(size); ok && c < 1<<31 {
		l.small[b] = true
		size = tir.I32(int32(c))
	}
	flat := &tir.Buffer{Name: b.Name, Data: b.Data, DType: b.DType, Shape: []tir.Expr{size}, Scope: b.Scope,
		Alignment: b.Alignment}
	if view {
		flat.Name = b.Name + "_flat"
	}
	l.flat[b] = flat
	return true
}

// index returns the single index that replaces the indices of b.
func (l *flattener) index(b *tir.Buffer, indices []tir.Expr) []tir.Expr {
	if at := fusedIndex(b, indices); at != nil {
		l.used[l.flat[b]] = true
		return []tir.Expr{at}
	}
	at, err := layout.Element(b, indices, l.small[b])
	if err != nil {
		if l.err == nil {
			l.err = err
		}
		return indices
	}
	l.used[l.flat[b]] = true
	return []tir.Expr{l.a.Simplify(at)}
}

func (l *flattener) expr(e tir.Expr) tir.Expr {
	if load, ok := e.(*tir.BufferLoad); ok {
		if flat := l.flat[load.Buffer]; flat != nil {
			return &tir.BufferLoad{Buffer: flat, Indices: l.index(load.Buffer, load.Indices)}
		}
	} else {
		l.other(e)
	}
	return e
}

// other rejects a node that names a buffer whose elements get other indices, or defines one of several dimensions.
func (l *flattener) other(node any) {
	_, buffers := tir.Named(node)
	_, own := tir.Bound(node)
	for _, b := range append(buffers, own...) {
		if l.err == nil && b != nil && (l.flat[b] != nil || len(b.Shape) != 1) {
			l.err = tir.NotKnown(node, "names buffer "+b.Name)
		}
	}
}

func (l *flattener) stmt(s tir.Stmt) tir.Stmt {
	switch s := s.(type) {
	case *tir.BufferStore:
		if flat := l.flat[s.Buffer]; flat != nil {
			return &tir.BufferStore{Buffer: flat, Value: s.Value, Indices: l.index(s.Buffer, s.Indices)}
		}
	case *tir.Alloc:
		if flat := l.flat[s.Buffer]; flat != nil {
			return &tir.Alloc{Buffer: flat, Body: s.Body}
		}
	case *tir.AttrStmt:
		if b, ok := s.Node.(*tir.Buffer); ok && l.flat[b] != nil {
			l.used[l.flat[b]] = true
			return &tir.AttrStmt{Key: s.Key, Node: l.flat[b], Value: s.Value, Body: s.Body}
		}
	default:
		l.other(s)
	}
	return s
}

// fusedIndex returns e for the indices floordiv(e, n), floormod(e, n) of a contiguous buffer whose last dimension is n,
// and so on for more dimensions: the loop of e runs over the elements in order. It returns nil for other indices.
func fusedIndex(b *tir.Buffer, indices []tir.Expr) tir.Expr {
	if len(indices) != len(b.Shape) || len(indices) < 2 || b.Strides != nil || b.Offset != nil {
		return nil
	}
	at := indices[0]
	for d, x := range indices[1:] {
		quotient, okQ := at.(*tir.Binary)
		rest, okR := x.(*tir.Binary)
		if !okQ || !okR || quotient.Op != tir.OpFloorDiv || rest.Op != tir.OpFloorMod ||
			!compare.Equal(quotient.A, rest.A) || !compare.Equal(quotient.B, rest.B) ||
			!compare.Equal(rest.B, b.Shape[d+1]) {
			return nil
		}
		at = rest.A
	}
	return at
}
