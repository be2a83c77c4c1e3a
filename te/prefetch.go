package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
)

// prefetching is a request to fetch what a later iteration of a loop will read.
type prefetching struct {
	t     *Tensor
	axis  *tir.IterVar
	ahead int64
	at    []tir.Expr // of PrefetchAt: indices, over the axes of the stage
}

// prefetchBytes is the distance of the addresses that are fetched: the size of a cache line.
const prefetchBytes = 64

// Prefetch makes each iteration of axis fetch into the cache what the iteration that follows ahead iterations later
// reads of t, which the stage reads inside that loop. It does not change results. A kernel for a device whose language
// has no prefetch is rejected when it is built.
func (st *Stage) Prefetch(t *Tensor, axis *tir.IterVar, ahead int) {
	const primitive = "prefetch"
	switch i := st.leaf(primitive, axis); {
	case i < 0:
	case t == nil:
		st.fail(primitive, "axis %s: the tensor is nil", axis.Var.Name)
	case !slices.Contains(st.reads(), t):
		st.fail(primitive, "axis %s: it does not read tensor %s", axis.Var.Name, t.name)
	case ahead < 1 || ahead > 1<<31-1:
		st.fail(primitive, "axis %s: tensor %s is fetched %d iterations ahead: want 1 or more", axis.Var.Name, t.name, ahead)
	default:
		st.prefetch = append(st.prefetch, prefetching{t: t, axis: axis, ahead: int64(ahead)})
	}
}

// PrefetchAt makes each iteration of axis fetch the cache line of one element of t, such as one that a later iteration
// reads or writes. at returns its indices, for those of the first element that the iteration computes; if they are
// outside of t, nothing is fetched. t is an input or a result of the schedule. It does not change results. A kernel for
// a device whose language has no prefetch is rejected when it is built.
func (st *Stage) PrefetchAt(t *Tensor, axis *tir.IterVar, at func(i ...tir.Expr) []tir.Expr) {
	const primitive = "prefetch_at"
	i := st.leaf(primitive, axis)
	if i < 0 {
		return
	}
	if t == nil || at == nil {
		st.fail(primitive, "axis %s: the tensor or the function of indices is nil", axis.Var.Name)
		return
	}
	if of := st.s.of[t.op]; of == nil || !of.output && !of.IsPlaceholder() {
		st.fail(primitive, "axis %s: tensor %s is neither an input nor a result of the schedule", axis.Var.Name, t.name)
		return
	}
	index := at(axisVars(st.axes)...)
	if len(index) != len(t.shape) {
		st.fail(primitive, "axis %s: %d indices of tensor %s: want %d", axis.Var.Name, len(index), t.name, len(t.shape))
		return
	}
	for d, x := range index {
		if x == nil || !isIndex(x.DType()) {
			st.fail(primitive, "axis %s: index %d of tensor %s is no integer", axis.Var.Name, d, t.name)
			return
		}
	}
	st.prefetch = append(st.prefetch, prefetching{t: t, axis: axis, at: index})
}

// prefetches puts the requests for a loop of a nest before the loop's body.
func (l *lowering) prefetches(n *nest, lp *loop, body tir.Stmt) (tir.Stmt, error) {
	for _, p := range slices.Backward(n.st.prefetch) {
		if p.axis != lp.axis {
			continue
		}
		fetch, err := l.fetch(n, lp, p)
		if err != nil {
			return nil, fmt.Errorf("prefetch of tensor %s: axis %s: tensor %s: %w", n.st.op.name, p.axis.Var.Name, p.t.name, err)
		}
		if fetch != nil {
			body = tir.Sequence(fetch, body)
		}
	}
	return body, nil
}

// fetch returns the loops over the cache lines of the part of the tensor that a later iteration reads; nil if there is
// none.
func (l *lowering) fetch(n *nest, lp *loop, p prefetching) (tir.Stmt, error) {
	switch {
	case lp.attrs.kind == tir.Vectorized:
		return nil, fmt.Errorf("the axis is vectorized: take an outer one")
	case bound(lp):
		return nil, fmt.Errorf("the axis is bound to %s, whose iterations run at the same time: take a serial one",
			lp.attrs.thread)
	case lp.v == nil:
		return nil, nil // a single iteration
	case p.at != nil:
		return l.fetchAt(n, lp, p)
	}
	if nest := l.nests[l.s.of[p.t.op]]; nest != nil && slices.Contains(nest.path, lp) {
		return nil, fmt.Errorf("it is computed inside the axis, in the iteration that reads it: take a loop inside of " +
			"that, or compute it further outside")
	}
	all := n.all()
	path := all[:slices.Index(all, lp)+1]
	var lo, size []tir.Expr
	var err error
	l.a.within(path, func() { lo, size, err = l.readAhead(n, path, p) })
	if err != nil {
		return nil, err
	}
	b := l.buffers[p.t]
	to := map[*tir.Var]tir.Expr{lp.v: tir.Add(lp.v, tir.IntConst(lp.v.Type, p.ahead))}
	conds := []tir.Expr{tir.LT(to[lp.v], widen(lp.extent, lp.v.Type))}
	index := make([]tir.Expr, len(lo))
	vars := make([]*tir.Var, len(lo))
	for d := range lo {
		t := lo[d].DType()
		line := int64(1)
		if d == len(lo)-1 {
			line = max(1, prefetchBytes*8/int64(p.t.typ.Bits))
			size[d] = l.a.ceilDiv(size[d], line)
		}
		index[d] = tir.Substitute(lo[d], to)
		if c, ok := constant(size[d]); !ok || c != 1 {
			vars[d] = tir.NewVar(fmt.Sprintf("ahead%d", d), t)
			l.a.Bind(vars[d], tir.IntConst(t, 0), size[d])
			index[d] = tir.Add(index[d], tir.Mul(vars[d], tir.IntConst(t, line)))
		}
		index[d] = l.a.Simplify(index[d])
		l.a.within(path, func() {
			for _, c := range []tir.Expr{tir.GE(index[d], tir.IntConst(t, 0)), tir.LT(index[d], widen(p.t.shape[d], t))} {
				if !l.a.Prove(c) {
					conds = append(conds, c)
				}
			}
		})
	}
	if nest := l.nests[l.s.of[p.t.op]]; nest != nil && nest.st.op.kind == opCompute {
		for d := range index {
			index[d] = l.a.Simplify(tir.Sub(index[d], nest.lo[d]))
		}
	}
	body := guarded(conds, fetchOf(tir.BufferAt(b, index...)))
	for d, v := range slices.Backward(vars) {
		if v == nil {
			continue
		}
		body = &tir.For{Var: v, Min: tir.IntConst(v.Type, 0), Extent: size[d], Body: body}
	}
	return body, nil
}

// fetchAt returns the statement that fetches one element.
func (l *lowering) fetchAt(n *nest, lp *loop, p prefetching) (tir.Stmt, error) {
	nest := l.nests[l.s.of[p.t.op]]
	if nest != nil && slices.Contains(nest.whole, false) || l.buffers[p.t] == nil {
		return nil, fmt.Errorf("it is computed inside of loops: take an input, or a result that is stored as a whole")
	}
	path := n.all()
	path = path[:slices.Index(path, lp)+1]
	leaves := make([]tir.Expr, len(n.loops))
	for i, x := range n.loops {
		if leaves[i] = x.index(); !slices.Contains(path, x) {
			leaves[i] = tir.IntConst(leaves[i].DType(), 0)
		}
	}
	index := make([]tir.Expr, len(p.at))
	var conds []tir.Expr
	l.a.within(path, func() {
		lowered := l.lowered(n, l.relative(n, leaves))
		for d := range index {
			index[d] = lowered(p.at[d])
			t := index[d].DType()
			for _, c := range []tir.Expr{tir.GE(index[d], tir.IntConst(t, 0)), tir.LT(index[d], widen(p.t.shape[d], t))} {
				if !l.a.Prove(c) {
					conds = append(conds, c)
				}
			}
		}
	})
	return guarded(conds, fetchOf(tir.BufferAt(l.buffers[p.t], index...))), nil
}

// fetchOf is the statement that fetches the cache line of an element.
func fetchOf(element tir.Expr) tir.Stmt {
	address := tir.NewCall(tir.CallIntrinsic, tir.Handle, "address_of", element)
	return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "prefetch", address)}
}

// readAhead returns the start and the size of what one iteration of the innermost loop of path reads of the tensor.
func (l *lowering) readAhead(n *nest, path []*loop, p prefetching) (lo, size []tir.Expr, err error) {
	env, _, _ := l.readerEnv(&nest{scope: "local", path: path}, n, n.all())
	needs := make([]span, len(p.t.shape))
	first, moves := true, false
	tir.Walk(l.bodies[n.st][0], func(x any) bool {
		load, ok := x.(*tir.ProducerLoad)
		if !ok || load.Producer != tir.Producer(p.t) {
			return true
		}
		for d, index := range load.Indices {
			s := span{}
			if isIndex(index.DType()) && !hasLoad(index) {
				s = l.a.cast(l.a.spanOf(index, env), p.t.shape[d].DType())
			}
			if !first {
				s = l.a.union(needs[d], s)
			}
			if needs[d] = s; !s.known() && err == nil {
				err = fmt.Errorf("which elements of dimension %d an iteration reads is not known", d)
			}
		}
		first = false
		return true
	})
	if first && err == nil {
		err = fmt.Errorf("the tensor is computed inline")
	}
	if err != nil {
		return nil, nil, err
	}
	v := path[len(path)-1].v
	for _, s := range needs {
		lo, size = append(lo, s.lo), append(size, l.a.Simplify(l.a.plus(l.a.sum(s.hi, s.lo, -1), 1)))
		moves = moves || mentions(s.lo, func(x *tir.Var) bool { return x == v })
	}
	if !moves {
		err = fmt.Errorf("each iteration reads the same elements")
	}
	return lo, size, err
}
