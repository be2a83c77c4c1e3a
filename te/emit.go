package te

import (
	"fmt"
	"slices"

	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// produce returns the statement that computes a nest.
func (l *lowering) produce(n *nest) (tir.Stmt, error) {
	if n.st.op.kind == opExtern {
		return l.produceExtern(n)
	}
	if n.st.op.kind == opScan {
		return &tir.Seq{}, nil // its initial values and updates have stored it
	}
	if err := l.checkShuffles(n); err != nil {
		return nil, err
	}
	if n.acrossThreads() {
		return l.produceAcross(n)
	}
	leaves := make([]tir.Expr, len(n.loops))
	for i, lp := range n.loops {
		leaves[i] = lp.index()
	}
	first := slices.IndexFunc(n.loops, func(lp *loop) bool { return lp.axis.Kind == tir.IterReduce })
	acc := l.registers(n, first)
	var value map[*tir.IterVar]tir.Expr
	var body tir.Stmt
	var conds, ofData []tir.Expr
	var err error
	l.a.within(n.all(), func() {
		value = l.relative(n, leaves)
		body, err = l.store(n, value, acc)
		conds = l.conditions(n, value, false)
	})
	if err != nil {
		return nil, err
	}
	l.a.within(n.ofData(), func() { ofData = l.conditions(n, value, true) })
	last := len(n.loops)
	if n.st.intrin != nil {
		last = n.tileLoop()
		if n.st.intrinEdges {
			body, conds, err = l.tensorizedWhole(n, leaves, conds, body)
		} else {
			l.a.within(n.all(), func() { body, err = l.tensorized(n, leaves, conds, first) })
		}
		if err != nil {
			return nil, err
		}
	}
	if n.st.nontemporal {
		body = nonTemporal(l.buffers[n.st.op.tensors[0]], body)
	}
	for i, lp := range slices.Backward(n.loops[:last]) {
		if inside := n.inside[lp]; len(inside) > 0 {
			body, conds = guarded(conds, body), nil
			for _, in := range slices.Backward(inside) {
				if body, err = l.around(in, body); err != nil {
					return nil, err
				}
			}
		}
		if len(n.st.prefetch) > 0 {
			if body, err = l.prefetches(n, lp, body); err != nil {
				return nil, err
			}
		}
		body, conds = lp.guard(lp.v, conds, body)
		body = lp.around(lp.v, body)
		if i == first {
			var ofSum []tir.Expr // conditions of the reduction, which must not prevent its initialization
			conds, ofSum = divide(conds, ofData)
			body = guarded(ofSum, body)
			start, err := l.initialize(n, leaves, first, acc)
			if err != nil {
				return nil, err
			}
			if body = tir.Sequence(start, body); acc != nil {
				body = acc.around(tir.Sequence(body, l.storeRegisters(n, leaves, first, acc)))
			}
		}
	}
	return guarded(conds, body), nil
}

// guard puts the conditions that depend on the loop variable inside the loop, and returns the others, which are checked
// once outside. Loops of threads and parallel loops keep all conditions inside, because every iteration must reach the
// code that follows.
func (lp *loop) guard(v *tir.Var, conds []tir.Expr, body tir.Stmt) (tir.Stmt, []tir.Expr) {
	var within, outside []tir.Expr
	for _, c := range conds {
		depends := func(n any) bool { return n == any(v) }
		if v != nil && (bound(lp) || lp.attrs.kind == tir.Parallel || tir.Contains(c, depends)) {
			within = append(within, c)
		} else {
			outside = append(outside, c)
		}
	}
	return guarded(within, body), outside
}

// divide separates the conditions that are also in others from those that are not.
func divide(conds, others []tir.Expr) (among, not []tir.Expr) {
	for _, c := range conds {
		if slices.ContainsFunc(others, func(o tir.Expr) bool { return compare.Equal(c, o) }) {
			among = append(among, c)
		} else {
			not = append(not, c)
		}
	}
	return among, not
}

// around wraps body in the loop, with v as its variable.
func (lp *loop) around(v *tir.Var, body tir.Stmt) tir.Stmt {
	if v == nil || lp.same != nil {
		return body
	}
	kind := lp.attrs.kind
	if n, ok := constant(lp.width); ok && n < 1 && kind == tir.Vectorized {
		kind = tir.Serial // a vector has at least one lane
	}
	return &tir.For{Kind: kind, Var: v, Min: tir.IntConst(v.Type, 0), Extent: lp.width, Thread: lp.attrs.thread,
		Annotations: lp.attrs.pragma, Body: body}
}

func (l *lowering) produceExtern(n *nest) (tir.Stmt, error) {
	var ins, outs []*tir.Buffer
	for _, t := range n.st.op.inputs {
		ins = append(ins, l.buffers[t])
	}
	for _, t := range n.st.op.tensors {
		outs = append(outs, l.buffers[t])
	}
	body := n.st.op.extern(ins, outs)
	if body == nil {
		return nil, fmt.Errorf("extern operation %s returns no statement", n.st.op.name)
	}
	if err := badOf(body); err != nil {
		return nil, fmt.Errorf("extern operation %s: %w", n.st.op.name, err)
	}
	for _, f := range n.st.rewrites {
		var err error
		if body, err = f(body); err == nil {
			err = badOf(body)
		}
		if err != nil {
			return nil, fmt.Errorf("rewrite of extern operation %s: %w", n.st.op.name, err)
		}
	}
	if callsOut(body) {
		for _, b := range outs {
			body = &tir.AttrStmt{Key: tir.AttrWrites, Node: b, Value: b.Data, Body: body}
		}
	}
	return body, nil
}

// callsOut reports whether a statement calls functions, which may write to their arguments.
func callsOut(s tir.Stmt) bool {
	return tir.Contains(s, func(node any) bool {
		c, ok := node.(*tir.Call)
		return ok && c.Kind != tir.CallIntrinsic
	})
}

// initialize sets the results, or the registers that accumulate them, to the reduction's identity.
func (l *lowering) initialize(n *nest, leaves []tir.Expr, first int, acc *registers) (tir.Stmt, error) {
	r := l.bodies[n.st][0].(*tir.Reduce)
	var err error
	body := l.overData(n, leaves, first, ".init", func(leaves []tir.Expr, inits []*loop) (body tir.Stmt) {
		if n.st.intrin != nil {
			body, err = l.resetTile(n, leaves, inits)
			return body
		}
		into, at := l.buffersOf(n), l.indices(n, l.relative(n, leaves))
		if acc != nil {
			into, at = acc.buffers, acc.index(n, leaves)
		}
		var stores []tir.Stmt
		for i, b := range into {
			stores = append(stores, &tir.BufferStore{Buffer: b, Value: r.Combiner.Identity[i], Indices: at})
		}
		return tir.Sequence(stores...)
	})
	if err != nil {
		return nil, err
	}
	return body, badOf(body)
}

// overData executes a statement for each point of the data loops inside the first reduction loop, in copies of these
// loops. body gets the indices of all loops and the loops around it; those of the reduction are not among them.
func (l *lowering) overData(n *nest, leaves []tir.Expr, first int, suffix string,
	body func(leaves []tir.Expr, around []*loop) tir.Stmt) tir.Stmt {
	leaves = slices.Clone(leaves)
	vars := make([]*tir.Var, len(n.loops))
	around := n.ofData()
	for i, lp := range n.loops[first:] {
		if lp.axis.Kind == tir.IterReduce || lp.v == nil || lp.same != nil {
			continue
		}
		v := tir.NewVar(lp.v.Name+suffix, lp.v.Type)
		l.a.loops[v] = lp.width
		vars[first+i], leaves[first+i] = v, v
		around = append(around, &loop{axis: lp.axis, v: v, width: lp.width})
	}
	var conds []tir.Expr
	l.a.within(around, func() { conds = l.conditions(n, l.relative(n, leaves), true) })
	loops := n.loops[first:]
	if n.st.intrin != nil {
		loops = n.loops[first:n.tileLoop()]
	}
	var s tir.Stmt
	l.a.within(around, func() { s = body(leaves, around) })
	for i, lp := range slices.Backward(loops) {
		s, conds = lp.guard(vars[first+i], conds, s)
		s = lp.around(vars[first+i], s)
	}
	return guarded(conds, s)
}

// buffersOf returns the buffers of the results.
func (l *lowering) buffersOf(n *nest) (all []*tir.Buffer) {
	for _, t := range n.st.op.tensors {
		all = append(all, l.buffers[t])
	}
	return all
}

// indices returns the indices of an element in the nest's buffers.
func (l *lowering) indices(n *nest, value map[*tir.IterVar]tir.Expr) []tir.Expr {
	if loops, spread := n.own(); spread {
		own := make([]tir.Expr, len(loops))
		for i, lp := range loops {
			own[i] = value[lp.axis]
		}
		return own
	}
	return l.place(n, l.inRegion(n, value))
}

// inRegion returns the indices of an element, counted from the start of the nest's region.
func (l *lowering) inRegion(n *nest, value map[*tir.IterVar]tir.Expr) []tir.Expr {
	at := make([]tir.Expr, len(n.st.axes))
	for i, a := range n.st.axes {
		at[i] = value[a]
		if l.scanned[n.st] != nil {
			at[i] = l.a.Simplify(tir.Add(n.lo[i], value[a]))
		}
	}
	return at
}

// store computes one element of each result, or accumulates one value into it or into a register.
func (l *lowering) store(n *nest, value map[*tir.IterVar]tir.Expr, acc *registers) (tir.Stmt, error) {
	into, at := l.buffersOf(n), l.indices(n, value)
	bodies := l.bodies[n.st]
	if _, isReduce := bodies[0].(*tir.Reduce); isReduce {
		if acc != nil {
			into, at = acc.buffers, acc.index(n, nil)
		}
		return l.reduceInto(n, value, into, at)
	}
	lowered := l.lowered(n, value)
	var stores []tir.Stmt
	for i, b := range bodies {
		stores = append(stores, &tir.BufferStore{Buffer: into[i], Value: lowered(b), Indices: at})
	}
	body := tir.Sequence(stores...)
	if err := badOf(body); err != nil {
		return nil, fmt.Errorf("tensor %s: %w", n.st.op.name, err)
	}
	return body, nil
}

// lowered returns a function that replaces the axes of the nest's formulas by their values, and tensors by buffers.
func (l *lowering) lowered(n *nest, value map[*tir.IterVar]tir.Expr) func(tir.Expr) tir.Expr {
	to := map[*tir.Var]tir.Expr{}
	for i, a := range n.st.axes {
		to[a.Var] = l.a.Simplify(tir.Add(n.lo[i], value[a]))
	}
	for _, a := range n.st.reduce {
		to[a.Var] = l.a.Simplify(tir.Add(widen(a.Min, a.Var.Type), value[a]))
	}
	return func(e tir.Expr) tir.Expr { return l.a.Simplify(l.loads(tir.Substitute(e, to))) }
}

// reduceInto combines the values that are accumulated in an element of each buffer with one more.
func (l *lowering) reduceInto(n *nest, value map[*tir.IterVar]tir.Expr, into []*tir.Buffer, at []tir.Expr) (tir.Stmt,
	error) {
	lowered := l.lowered(n, value)
	r := l.bodies[n.st][0].(*tir.Reduce)
	var left, right []tir.Expr
	for i, b := range into {
		left, right = append(left, tir.BufferAt(b, at...)), append(right, lowered(r.Sources[i]))
	}
	body := combineInto(r.Combiner, n.st.op.tensors, into, at, left, right)
	if r.Cond != nil {
		body = &tir.If{Cond: lowered(r.Cond), Then: body}
	}
	if err := badOf(body); err != nil {
		return nil, fmt.Errorf("tensor %s: %w", n.st.op.name, err)
	}
	return body, nil
}

// combineInto stores the combination of left and right values. If there are several, all results are computed before
// any is stored, because a store may change an operand.
func combineInto(c *tir.Combiner, tensors []*Tensor, into []*tir.Buffer, at, left, right []tir.Expr) tir.Stmt {
	to := map[*tir.Var]tir.Expr{}
	for i := range tensors {
		to[c.Left[i]], to[c.Right[i]] = left[i], right[i]
	}
	if len(tensors) == 1 {
		return &tir.BufferStore{Buffer: into[0], Value: tir.Substitute(c.Results[0], to), Indices: at}
	}
	var names, values []*tir.Var
	var stores []tir.Stmt
	for i, t := range tensors {
		v := tir.NewVar(t.name+".next", t.typ)
		names, values = append(names, tir.NewVar(t.name+".new", t.typ)), append(values, v)
		stores = append(stores, &tir.BufferStore{Buffer: into[i], Value: v, Indices: at})
	}
	fresh := map[*tir.Var]tir.Expr{}
	for i := range names {
		fresh[c.Left[i]], fresh[c.Right[i]] = left[i], names[i]
	}
	body := tir.Sequence(stores...)
	for i, v := range slices.Backward(values) {
		body = &tir.LetStmt{Var: v, Value: tir.Substitute(c.Results[i], fresh), Body: body}
	}
	for i, v := range slices.Backward(names) {
		body = &tir.LetStmt{Var: v, Value: right[i], Body: body}
	}
	return body
}

// loads replaces reads of tensors by reads of buffers.
func (l *lowering) loads(e tir.Expr) tir.Expr {
	m := &tir.Mutator{Expr: func(e tir.Expr) tir.Expr {
		p, ok := e.(*tir.ProducerLoad)
		if !ok {
			return e
		}
		t := p.Producer.(*Tensor)
		at := slices.Clone(p.Indices)
		if n := l.nests[l.s.of[t.op]]; n != nil && n.st.op.kind == opCompute {
			for i := range at {
				if size, ok := constant(n.size[i]); ok && size == 1 && isIndex(at[i].DType()) && !hasLoad(at[i]) {
					at[i] = tir.IntConst(at[i].DType(), 0) // the only element
				} else if c, ok := n.lo[i].(*tir.IntImm); !ok || c.Value != 0 {
					at[i] = tir.Sub(at[i], n.lo[i])
				}
			}
			if _, spread := n.own(); spread {
				held, err := l.held(n, at)
				if err != nil {
					return &tir.Bad{Err: err}
				}
				at = held
			} else {
				at = l.place(n, at)
			}
		}
		return tir.BufferAt(l.buffers[t], at...)
	}}
	return m.MutateExpr(e)
}

// conditions returns the bounds checks of a point: it must be in the region and in the tensor, and must not be an extra
// iteration of a split that does not divide. Conditions that can be proven are left out.
func (l *lowering) conditions(n *nest, value map[*tir.IterVar]tir.Expr, dataOnly bool) []tir.Expr {
	var all []tir.Expr
	below := func(x, end tir.Expr) {
		if !l.a.Prove(tir.LT(x, end)) {
			all = append(all, tir.LT(l.a.Simplify(x), end))
		}
	}
	all = append(all, l.threadConditions(n, below)...)
	for _, lp := range n.loops {
		if dataOnly && lp.axis.Kind == tir.IterReduce || lp.v == nil {
			continue
		}
		below(value[lp.axis], lp.extent)
	}
	for _, r := range n.st.rels {
		if r.fuse || dataOnly && r.parent.Kind == tir.IterReduce {
			continue
		}
		if !l.a.same(tir.Mul(n.extent[r.outer], n.extent[r.inner]), n.extent[r.parent]) {
			below(value[r.parent], n.extent[r.parent])
		}
	}
	for i, a := range n.st.axes {
		if n.whole[i] {
			continue
		}
		// The value is known to be less than the size here, whichever loops it is computed from.
		v := tir.NewVar(a.Var.Name, a.Var.Type)
		l.a.Bind(v, tir.IntConst(v.Type, 0), n.size[i])
		shape := widen(n.st.op.tensors[0].shape[i], a.Var.Type)
		at := tir.Add(n.lo[i], value[a])
		zero := tir.IntConst(a.Var.Type, 0)
		if !l.a.atLeast(tir.Add(n.lo[i], v), zero) {
			all = append(all, tir.GE(l.a.Simplify(at), zero))
		}
		if x := tir.Add(n.lo[i], v); !l.a.Prove(tir.LT(x, shape)) && !l.a.withinFused(x, shape) {
			all = append(all, tir.LT(l.a.Simplify(at), l.a.Simplify(shape)))
		}
	}
	return all
}

// threadConditions returns the conditions that select the threads that compute the nest. Threads without work are
// excluded. If threads share the nest's memory but do not divide its work, only the first one is selected.
func (l *lowering) threadConditions(n *nest, below func(x, end tir.Expr)) (all []tir.Expr) {
	done := map[*tir.Var]bool{}
	for _, lp := range slices.Backward(n.path) {
		if !bound(lp) || done[lp.v] {
			continue
		}
		done[lp.v] = true
		switch {
		case n.st.combines(lp.attrs.thread): // all threads have parts
		case !n.shared(lp):
			below(lp.v, n.active[lp.v])
		case !slices.ContainsFunc(n.loops, func(own *loop) bool { return own.same != nil && own.v == lp.v }):
			if c, ok := lp.width.(*tir.IntImm); !ok || c.Value != 1 {
				all = append(all, tir.EQ(lp.v, tir.IntConst(lp.v.Type, 0)))
			}
		}
	}
	return all
}

// guarded executes a statement only if all conditions hold, which is likely.
func guarded(conds []tir.Expr, body tir.Stmt) tir.Stmt {
	var all tir.Expr
	for _, c := range conds {
		c = tir.Intrin("likely", c)
		if all == nil {
			all = c
		} else {
			all = tir.And(all, c)
		}
	}
	if all == nil {
		return body
	}
	return &tir.If{Cond: all, Then: body}
}

// badOf returns the error of the first invalid expression.
func badOf(s tir.Stmt) (err error) {
	tir.Walk(s, func(n any) bool {
		if b, ok := n.(*tir.Bad); ok && err == nil {
			err = b.Err
		}
		return err == nil
	})
	return err
}
