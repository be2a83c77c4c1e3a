package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A tensor in scope "local" whose own loops are bound to threadIdx, inside loops of its reader that are bound to the
// same indices, is distributed over these threads: each thread computes a part, and keeps it in its own memory. Thus
// the threads of a block keep a row in their registers:
//
//	for i → blockIdx.x, t → threadIdx.x:
//	  row: local[4]; for o in 4: row[o] = A[i, o*32 + t]
//	  … a reduction of the row across threads …
//	  for o in 4: C[i, o*32 + t] = row[o] / sum
//
// The memory has one dimension for each loop of the tensor that is not bound. Each reader must read, in each thread,
// only elements of that thread; Lower proves it by the values that the indices give to the tensor's loops.

// spreads reports whether the nest's elements are distributed over the threads of an index.
func (n *nest) spreads(thread string) bool {
	if n.st.at == nil || n.st.output || scopeRank(n.scope) != rankLocal {
		return false
	}
	return slices.ContainsFunc(n.st.leaves, func(x *tir.IterVar) bool {
		m := n.st.attrs[x]
		return m != nil && m.kind == tir.ThreadBind && m.thread == thread && x.Kind == tir.IterData
	})
}

// own returns the nest's loops that its distributed memory has as dimensions; spread is false if its memory is not
// distributed.
func (n *nest) own() (loops []*loop, spread bool) {
	for _, lp := range n.loops {
		switch {
		case lp.axis.Kind == tir.IterReduce:
		case lp.same != nil && isThread(lp, "threadIdx") && n.spreads(lp.attrs.thread):
			spread = true
		case lp.v != nil:
			loops = append(loops, lp)
		}
	}
	return loops, spread
}

// checkSpread returns an error if the memory of a nest is distributed, and something needs it as a whole.
func (l *lowering) checkSpread(n *nest) error {
	if _, spread := n.own(); !spread {
		return nil
	}
	st := n.st
	what := ""
	switch {
	case len(st.aligns) > 0:
		what = "storage_align of it needs its memory as a whole"
	case st.swizzle.axis != nil:
		what = "storage_swizzle by axis " + st.swizzle.axis.Var.Name + " of it needs its memory as a whole"
	case st.stages > 0:
		what = st.overlap() + " of it needs its memory as a whole"
	case st.intrin != nil:
		what = "its intrinsic " + st.intrin.name + " computes tiles"
	}
	for _, r := range l.order {
		if !slices.ContainsFunc(l.reads(r), func(t *Tensor) bool { return t.op == st.op }) {
			continue
		}
		prefetched := slices.ContainsFunc(r.prefetch, func(p prefetching) bool { return p.t.op == st.op })
		switch {
		case r.op.kind != opCompute:
			what = fmt.Sprintf("operation %s reads its buffer", r.op.name)
		case r.intrin != nil:
			what = fmt.Sprintf("intrinsic %s of tensor %s reads tiles", r.intrin.name, r.op.name)
		case prefetched:
			what = fmt.Sprintf("tensor %s prefetches it", r.op.name)
		}
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("tensor %s in scope %s: its elements are distributed over %s, and %s: set scope \"shared\"",
		st.op.name, n.scope, n.spreadOver(), what)
}

// spreadOver names the thread indices that the nest's elements are distributed over.
func (n *nest) spreadOver() string {
	names := ""
	for _, lp := range n.loops {
		if lp.same != nil && isThread(lp, "threadIdx") {
			if names != "" {
				names += " and "
			}
			names += lp.attrs.thread
		}
	}
	return names
}

// held returns the indices of an element of a distributed tensor in the memory of the thread that reads it. at is
// counted from the start of the region.
func (l *lowering) held(n *nest, at []tir.Expr) ([]tir.Expr, error) {
	value := map[*tir.IterVar]tir.Expr{}
	for i, a := range n.st.axes {
		value[a] = l.a.Simplify(widen(at[i], a.Var.Type))
	}
	for _, a := range n.st.units {
		value[a] = tir.I32(0)
	}
	for _, r := range n.st.rels {
		if r.parent.Kind == tir.IterReduce {
			continue
		}
		t := r.parent.Var.Type
		if r.fuse {
			value[r.parent] = l.a.Simplify(tir.Add(tir.Mul(widen(value[r.outer], t), widen(n.extent[r.inner], t)),
				widen(value[r.inner], t)))
			continue
		}
		value[r.outer] = l.a.Simplify(tir.FloorDiv(value[r.parent], n.extent[r.inner]))
		value[r.inner] = l.a.Simplify(tir.FloorMod(value[r.parent], n.extent[r.inner]))
	}
	for _, lp := range n.loops {
		if lp.same == nil || lp.axis.Kind == tir.IterReduce || l.a.same(value[lp.axis], widen(lp.v, lp.axis.Var.Type)) {
			continue
		}
		return nil, fmt.Errorf("it reads tensor %s in scope %s, whose elements are distributed over %s: "+
			"thread %s needs an element of thread %s: split and bind the loops of both in the same way, or set scope "+
			"\"shared\"", n.st.op.name, n.scope, n.spreadOver(), lp.v.Name, text.Print(value[lp.axis]))
	}
	loops, _ := n.own()
	index := make([]tir.Expr, len(loops))
	for i, lp := range loops {
		index[i] = value[lp.axis]
	}
	return index, nil
}
