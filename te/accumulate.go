package te

import (
	"slices"

	"tvmgo/tir"
)

// maxRegisters is the number of elements up to which a thread keeps its results in registers while it accumulates them.
const maxRegisters = 128

// registers are the memory of scope "local" in which a thread of a device accumulates the results of a reduction. It
// stores them in the nest's own memory once, when they are complete.
type registers struct {
	buffers []*tir.Buffer // per result
	points  []int         // the data loops inside the reduction, which are the dimensions of buffers
}

// registers returns the registers of a nest whose first loop over a reduction axis is loops[first]. It returns nil for
// nests that are no reduction, are outside of kernels, or have registers as their own memory; and if the elements of a
// thread are more than maxRegisters or not known, so that no registers can hold them.
func (l *lowering) registers(n *nest, first int) *registers {
	if first < 0 || n.st.intrin != nil || l.scanned[n.st] != nil || scopeRank(n.scope) >= rankWarp ||
		!slices.ContainsFunc(slices.Concat(n.path, n.loops[:first]), bound) {
		return nil
	}
	r := &registers{}
	var shape []tir.Expr
	elements := int64(1)
	for i, lp := range n.loops[first:] {
		if lp.axis.Kind == tir.IterReduce || lp.v == nil {
			continue
		}
		width, ok := constant(lp.width)
		if !ok || width < 1 || bound(lp) || width > maxRegisters {
			return nil
		}
		elements *= width
		if elements > maxRegisters {
			return nil
		}
		r.points, shape = append(r.points, first+i), append(shape, lp.width)
	}
	if shape == nil {
		shape = []tir.Expr{tir.I32(1)}
	}
	for _, t := range n.st.op.tensors {
		b := tir.NewBuffer(t.name+".acc", t.typ, shape...)
		b.Scope = "local"
		r.buffers = append(r.buffers, b)
	}
	return r
}

// index returns the indices of an element, at the values of the nest's loops; nil stands for their variables.
func (r *registers) index(n *nest, leaves []tir.Expr) []tir.Expr {
	if r.points == nil {
		return []tir.Expr{tir.I32(0)}
	}
	at := make([]tir.Expr, len(r.points))
	for i, p := range r.points {
		if at[i] = n.loops[p].index(); leaves != nil {
			at[i] = leaves[p]
		}
	}
	return at
}

// around allocates the registers.
func (r *registers) around(body tir.Stmt) tir.Stmt {
	for _, b := range slices.Backward(r.buffers) {
		body = &tir.Alloc{Buffer: b, Body: body}
	}
	return body
}

// storeRegisters stores the results of a thread.
func (l *lowering) storeRegisters(n *nest, leaves []tir.Expr, first int, acc *registers) tir.Stmt {
	return l.overData(n, leaves, first, ".result", func(leaves []tir.Expr, _ []*loop) tir.Stmt {
		var stores []tir.Stmt
		at, index := l.indices(n, l.relative(n, leaves)), acc.index(n, leaves)
		for i, b := range l.buffersOf(n) {
			stores = append(stores, &tir.BufferStore{Buffer: b, Value: tir.BufferAt(acc.buffers[i], index...), Indices: at})
		}
		return tir.Sequence(stores...)
	})
}
