package te

import (
	"fmt"
	"math/bits"
	"slices"

	"tvmgo/tir"
)

// barrier waits for all threads of the block.
func barrier() tir.Stmt {
	return &tir.Evaluate{Value: tir.NewCall(tir.CallIntrinsic, tir.Void, "storage_sync", tir.Text("shared"))}
}

// combine returns the statements that combine the parts of all threads, and store the results.
func (a *across) combine() (tir.Stmt, error) {
	var steps []tir.Stmt
	shuffles := a.shuffle(a.group / 2)
	switch {
	case a.shared == nil:
		steps = append(steps, shuffles, a.store(nil))
	case a.apart:
		steps = append(steps, a.each(".at", func(*loop) tir.ForKind { return tir.Serial },
			func(vars map[*loop]*tir.Var) tir.Stmt {
				return tir.Sequence(a.shuffleAt(a.group/2, vars), a.tree(vars), barrier())
			}))
	default:
		steps = append(steps, shuffles, a.tree(nil))
	}
	body := tir.Sequence(steps...)
	for _, b := range slices.Backward(a.shared) {
		body = &tir.Alloc{Buffer: b, Body: body}
	}
	if err := badOf(body); err != nil {
		return nil, fmt.Errorf("tensor %s: %w", a.n.st.op.name, err)
	}
	return body, nil
}

// shuffle combines the parts of threads whose indices differ by up to 2·most-1: all of them get the result.
func (a *across) shuffle(most int64) tir.Stmt {
	if most < 1 {
		return nil
	}
	return a.each(".lane", shortUnrolled, func(vars map[*loop]*tir.Var) tir.Stmt { return a.shuffleAt(most, vars) })
}

func (a *across) shuffleAt(most int64, vars map[*loop]*tir.Var) tir.Stmt {
	index := variables(a.points, vars)
	var steps []tir.Stmt
	for mask := most; mask >= 1; mask /= 2 {
		var mine, other []tir.Expr
		var names []*tir.Var
		for i, t := range a.n.st.op.tensors {
			v := tir.NewVar(t.name+".other", t.typ)
			names, other = append(names, v), append(other, v)
			mine = append(mine, tir.BufferAt(a.acc[i], index...))
		}
		var step tir.Stmt = combineInto(a.reduction().Combiner, a.n.st.op.tensors, a.acc, index, mine, other)
		for i, v := range slices.Backward(names) {
			step = &tir.LetStmt{Var: v, Body: step, Value: tir.NewCall(tir.CallIntrinsic, v.Type, "warp_shuffle_xor",
				mine[i], tir.I32(int32(mask)))}
		}
		steps = append(steps, step)
	}
	return tir.Sequence(steps...)
}

// tree combines the parts of a block in shared memory, and stores the results. vars are the variables of the points if
// they are combined one after another.
func (a *across) tree(vars map[*loop]*tir.Var) tir.Stmt {
	last := len(a.slots) - 1
	// put stores the parts: of each thread, or of the first thread of each group
	steps := []tir.Stmt{a.over(".put", vars, func(point []tir.Expr) tir.Stmt {
		var stores []tir.Stmt
		for i, b := range a.shared {
			stores = append(stores, &tir.BufferStore{Buffer: b, Value: tir.BufferAt(a.acc[i], point...),
				Indices: a.slot(point, -1, a.ownSlot(last))})
		}
		return a.ofGroup(tir.Sequence(stores...))
	}), barrier()}
	if count := a.slots[last].size; a.group >= 2 && count <= a.group && a.alone() {
		// each group combines the parts of all groups, so that no second barrier is necessary
		all := int64(1)
		for all < count {
			all *= 2
		}
		lane := tir.FloorMod(a.fastest(), tir.I32(int32(all)))
		steps = append(steps, a.over(".get", vars, func(point []tir.Expr) tir.Stmt {
			var gets []tir.Stmt
			for i, b := range a.shared {
				get := tir.BufferAt(b, a.slot(point, last, lane)...)
				if all > count {
					get = tir.Intrin("if_then_else", tir.LT(lane, tir.I32(int32(count))), get,
						a.reduction().Combiner.Identity[i])
				}
				gets = append(gets, &tir.BufferStore{Buffer: a.acc[i], Value: get, Indices: point})
			}
			return tir.Sequence(gets...)
		}))
		if vars != nil {
			steps = append(steps, a.shuffleAt(all/2, vars))
		} else {
			steps = append(steps, a.shuffle(all/2))
		}
		return tir.Sequence(append(steps, a.storeAt(vars, nil))...)
	}
	var done []tir.Expr // the indices that are combined already: the part is at 0
	for d := last; d >= 0; d-- {
		dim := a.slots[d]
		if !dim.combine || dim.size == 1 && (d < last || a.group == 1) {
			continue
		}
		for s := halfOf(dim.size); s >= 1; s /= 2 {
			only := []tir.Expr{tir.LT(a.slots[d].index, tir.I32(int32(min(s, dim.size-s))))}
			dim.size = s
			for _, x := range done {
				only = append(only, tir.EQ(x, tir.I32(0)))
			}
			step := a.over(".step", vars, func(point []tir.Expr) tir.Stmt {
				mine, other := a.slot(point, d, a.slots[d].index), a.slot(point, d, tir.Add(a.slots[d].index, tir.I32(int32(s))))
				for _, e := range []*[]tir.Expr{&mine, &other} {
					*e = a.zeroed(*e, d)
				}
				var left, right []tir.Expr
				for _, b := range a.shared {
					left, right = append(left, tir.BufferAt(b, mine...)), append(right, tir.BufferAt(b, other...))
				}
				return combineInto(a.reduction().Combiner, a.n.st.op.tensors, a.shared, mine, left, right)
			})
			steps = append(steps, when(only, step), barrier())
		}
		done = append(done, a.slots[d].index)
	}
	if scopeRank(a.n.scope) < rankWarp { // the thread that has combined the last parts stores the result
		steps = steps[:len(steps)-1]
	}
	return tir.Sequence(append(steps, a.storeAt(vars, a.shared))...)
}

// halfOf returns the greatest power of two below n; 0 for 1.
func halfOf(n int64) int64 { return int64(1) << bits.Len64(uint64(n-1)) / 2 }

// alone reports whether only the fastest index is combined.
func (a *across) alone() bool {
	return !slices.ContainsFunc(a.slots[:len(a.slots)-1], func(d slotDim) bool { return d.combine && d.size > 1 })
}

// ownSlot is the element of the parts of a thread, in the dimension of the fastest index.
func (a *across) ownSlot(last int) tir.Expr {
	if a.group > 1 {
		return tir.FloorDiv(a.fastest(), tir.I32(int32(a.group)))
	}
	return a.slots[last].index
}

// slot returns the indices of a part of the block, with another index in dimension d.
func (a *across) slot(point []tir.Expr, d int, index tir.Expr) []tir.Expr {
	var out []tir.Expr
	if !a.apart {
		out = slices.Clone(point)
	}
	for i, s := range a.slots {
		switch {
		case i == d, d < 0 && i == len(a.slots)-1:
			out = append(out, index)
		default:
			out = append(out, s.index)
		}
	}
	return out
}

// zeroed sets the indices to 0 of dimensions that are combined before d.
func (a *across) zeroed(indices []tir.Expr, d int) []tir.Expr {
	out := slices.Clone(indices)
	off := len(indices) - len(a.slots)
	for i := d + 1; i < len(a.slots); i++ {
		if a.slots[i].combine {
			out[off+i] = tir.I32(0)
		}
	}
	return out
}

// ofGroup restricts a statement to the first thread of each group.
func (a *across) ofGroup(s tir.Stmt) tir.Stmt {
	if a.group == 1 {
		return s
	}
	return when([]tir.Expr{tir.EQ(tir.FloorMod(a.fastest(), tir.I32(int32(a.group))), tir.I32(0))}, s)
}

// when executes a statement if all conditions hold.
func when(conds []tir.Expr, s tir.Stmt) tir.Stmt {
	if len(conds) == 0 {
		return s
	}
	all := conds[0]
	for _, c := range conds[1:] {
		all = tir.And(all, c)
	}
	return &tir.If{Cond: all, Then: s}
}

// over calls body for each point, or for the one of vars.
func (a *across) over(suffix string, vars map[*loop]*tir.Var, body func(point []tir.Expr) tir.Stmt) tir.Stmt {
	if vars != nil || len(a.points) == 0 {
		return body(variables(a.points, vars))
	}
	return a.each(suffix, shortUnrolled, func(vars map[*loop]*tir.Var) tir.Stmt { return body(variables(a.points, vars)) })
}

// storeAt stores the results of the point of vars, or of all points.
func (a *across) storeAt(vars map[*loop]*tir.Var, from []*tir.Buffer) tir.Stmt {
	if vars == nil {
		return a.store(from)
	}
	return a.storePoint(vars, from)
}

func (a *across) store(from []*tir.Buffer) tir.Stmt {
	return a.each(".out", asScheduled, func(vars map[*loop]*tir.Var) tir.Stmt { return a.storePoint(vars, from) })
}

// storePoint stores the results of a point: from shared memory, or from the parts of a thread, which then are the
// results. Memory that threads share is written by one of them.
func (a *across) storePoint(vars map[*loop]*tir.Var, from []*tir.Buffer) tir.Stmt {
	l, n := a.l, a.n
	leaves := make([]tir.Expr, len(n.loops))
	data := n.ofData()
	for i, lp := range n.loops {
		leaves[i] = lp.index()
		if v := vars[lp]; v != nil {
			leaves[i] = v
			data = slices.DeleteFunc(data, func(o *loop) bool { return o == lp })
		}
	}
	var body tir.Stmt
	l.a.within(data, func() {
		value := l.relative(n, leaves)
		point := variables(a.points, vars)
		var stores []tir.Stmt
		for i, t := range n.st.op.tensors {
			result := tir.BufferAt(a.acc[i], point...)
			if from != nil {
				index := a.slot(point, -1, a.fastest())
				result = tir.BufferAt(from[i], a.zeroed(index, -1)...)
			}
			stores = append(stores, &tir.BufferStore{Buffer: l.buffers[t], Value: result, Indices: l.indices(n, value)})
		}
		body = guarded(l.conditions(n, value, true), tir.Sequence(stores...))
	})
	if scopeRank(n.scope) >= rankWarp {
		return body
	}
	var one []tir.Expr
	for _, d := range a.slots {
		size := d.size
		if d.combine && (size > 1 || a.group > 1) {
			one = append(one, tir.EQ(d.index, tir.I32(0)))
		}
	}
	return when(one, body)
}
