package te

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tvmgo/tir"
	"tvmgo/tir/text"
)

// A reduction axis that is bound to threadIdx makes the threads of a block compute one result together. Each thread
// accumulates its part in memory of scope "local", starting from the identity. Then the threads combine their parts:
//
//	acc = identity; for …: acc = combine(acc, source)    each thread; guarded
//	part[thread] = acc; barrier
//	if thread < 4: part[thread] = combine(part[thread], part[thread + 4])
//	barrier; … until part[0] is the result
//
// With ReduceByShuffle, warps combine their parts by shuffles, and only the results of warps are in shared memory.
// Barriers and shuffles stand in no condition: guards are around the accumulation and the final store alone.

// partsTogether is the size in bytes up to which the parts of all elements of a thread are in shared memory at once.
// Beyond, the elements are combined one after another.
const partsTogether = 16 << 10

// ReduceByShuffle makes threads that compute one result together combine their parts by shuffles within groups of at
// most warp threads, with one barrier between the groups instead of one for each step. warp is the number of threads of
// a warp of the device, or a part of it: a power of two from 2 to 128. A reduction axis must be bound to threadIdx.x,
// whose neighbors are in one warp; if its extent has no power of two as a factor, shared memory is used alone.
func (st *Stage) ReduceByShuffle(warp int) {
	const primitive = "reduce_by_shuffle"
	if !st.computed(primitive) {
		return
	}
	switch {
	case len(st.reduce) == 0:
		st.fail(primitive, "it is not a reduction")
	case warp < 2 || warp > 128 || warp&(warp-1) != 0:
		st.fail(primitive, "%d threads: want a power of two from 2 to 128", warp)
	default:
		st.warp = warp
	}
}

// combines reports whether threads with this index compute a result together.
func (st *Stage) combines(thread string) bool {
	for _, x := range st.leaves {
		if m := st.attrs[x]; x.Kind == tir.IterReduce && m != nil && m.kind == tir.ThreadBind && m.thread == thread {
			return true
		}
	}
	return false
}

// acrossThreads reports whether threads compute the nest's results together.
func (n *nest) acrossThreads() bool { return slices.ContainsFunc(n.loops, combined) }

// combined reports whether the iterations of a loop are parts of one result, which threads combine.
func combined(lp *loop) bool { return bound(lp) && lp.axis.Kind == tir.IterReduce }

// across is the state of lowering a reduction across threads.
type across struct {
	l     *lowering
	n     *nest
	first int // the first loop of the reduction

	acc    []*tir.Buffer // per value: the part of a thread
	shared []*tir.Buffer // per value: the parts of a block; nil if none are needed
	points []*loop       // the data loops inside the reduction that no thread index is bound to
	slots  []slotDim     // the dimensions of shared, after those of points
	group  int64         // the number of threads that combine their parts by shuffles
	apart  bool          // points are combined one after another, in the same shared memory
}

// slotDim is a dimension of the parts of a block: an index of threads, or several that are combined, as one index.
type slotDim struct {
	index   tir.Expr
	size    int64
	combine bool
}

// checkAcross returns an error if the threads cannot compute the nest's results together.
func (l *lowering) checkAcross(n *nest) error {
	name := n.st.op.name
	first := slices.IndexFunc(n.loops, func(lp *loop) bool { return lp.axis.Kind == tir.IterReduce })
	if n.st.intrin != nil {
		which := slices.IndexFunc(n.loops, combined)
		return fmt.Errorf("tensorize of tensor %s: axis %s is bound to %s, whose threads compute each result together: bind "+
			"an axis of data", name, n.loops[which].axis.Var.Name, n.loops[which].attrs.thread)
	}
	for _, lp := range n.all() {
		if isThread(lp, "vthread") {
			which := slices.IndexFunc(n.loops, combined)
			return fmt.Errorf("tensor %s: axis %s is bound to %s inside axis %s, which is bound to %s, whose iterations "+
				"are not synchronized: bind that to threadIdx", name, n.loops[which].axis.Var.Name,
				n.loops[which].attrs.thread, lp.axis.Var.Name, lp.attrs.thread)
		}
	}
	for _, lp := range n.all() {
		if _, ok := constant(lp.width); isThread(lp, "threadIdx") && !ok {
			return fmt.Errorf("tensor %s: axis %s is bound to %s, and has %s iterations: the number of threads of a block "+
				"that compute a result together must be constant: split it, and bind the inner axis", name,
				lp.axis.Var.Name, lp.attrs.thread, text.Print(lp.width))
		}
	}
	for i, lp := range n.loops {
		if i > first && isThread(lp, "blockIdx") {
			return fmt.Errorf("tensor %s: axis %s is bound to %s inside axis %s of the reduction: reorder them", name,
				lp.axis.Var.Name, lp.attrs.thread, n.loops[first].axis.Var.Name)
		}
		if !combined(lp) {
			continue
		}
		if lp.same == nil && scopeRank(n.scope) >= rankWarp {
			return fmt.Errorf("tensor %s in scope %s: axis %s is bound to %s, and each iteration has separate %s "+
				"memory: compute it at an axis inside the loop of its reader that is bound to %s, or set scope \"shared\"",
				name, n.scope, lp.axis.Var.Name, lp.attrs.thread, n.scope, lp.attrs.thread)
		}
	}
	return nil
}

// checkShuffles returns an error if a stage asks for shuffles, and no warp has parts of one result.
func (l *lowering) checkShuffles(n *nest) error {
	if n.st.warp == 0 || n.st.combines("threadIdx.x") {
		return nil
	}
	for _, lp := range n.loops {
		if combined(lp) {
			return fmt.Errorf("reduce_by_shuffle of tensor %s: axis %s is bound to %s, and a warp consists of neighbors in "+
				"threadIdx.x: bind an axis of the reduction to that", n.st.op.name, lp.axis.Var.Name, lp.attrs.thread)
		}
	}
	return fmt.Errorf("reduce_by_shuffle of tensor %s: none of its reduction axes %v is bound to threadIdx", n.st.op.name,
		axisNames(n.st.reduce))
}

// checkInside returns an error if a nest inside the reduction is not inside all loops of its threads, which are around
// the whole reduction.
func (a *across) checkInside() error {
	var outer *loop
	for _, lp := range slices.Backward(a.n.loops[a.first:]) {
		if bound(lp) && outer == nil {
			outer = lp
		}
		if inside := a.n.inside[lp]; len(inside) > 0 && outer != nil && outer != lp {
			return fmt.Errorf("compute_at of tensor %s at axis %s of tensor %s: axis %s, which is bound to %s, is inside that "+
				"axis, but must be around the reduction: reorder them", inside[0].st.op.name, lp.axis.Var.Name,
				a.n.st.op.name, outer.axis.Var.Name, outer.attrs.thread)
		}
	}
	return nil
}

// produceAcross returns the statement that computes a nest whose results threads compute together.
func (l *lowering) produceAcross(n *nest) (tir.Stmt, error) {
	if err := l.checkAcross(n); err != nil {
		return nil, err
	}
	a := &across{l: l, n: n}
	a.first = slices.IndexFunc(n.loops, func(lp *loop) bool { return lp.axis.Kind == tir.IterReduce })
	if err := a.checkInside(); err != nil {
		return nil, err
	}
	a.layOut()
	body, err := a.accumulate()
	if err != nil {
		return nil, err
	}
	combine, err := a.combine()
	if err != nil {
		return nil, err
	}
	body = tir.Sequence(a.initialize(), body, combine)
	for _, b := range slices.Backward(a.acc) {
		body = &tir.Alloc{Buffer: b, Body: body}
	}
	for _, lp := range slices.Backward(n.loops[a.first:]) {
		if bound(lp) {
			body = lp.around(lp.v, body)
		}
	}
	for _, lp := range slices.Backward(n.loops[:a.first]) {
		for _, in := range slices.Backward(n.inside[lp]) {
			if body, err = l.around(in, body); err != nil {
				return nil, err
			}
		}
		if body, err = l.prefetches(n, lp, body); err != nil {
			return nil, err
		}
		body = lp.around(lp.v, body)
	}
	return body, badOf(body)
}

// layOut decides which memory the parts of threads have.
func (a *across) layOut() {
	n := a.n
	size := int64(1)
	var shape []tir.Expr
	for _, lp := range n.loops[a.first:] {
		if lp.axis.Kind == tir.IterReduce || lp.v == nil || bound(lp) {
			continue
		}
		a.points = append(a.points, lp)
		shape = append(shape, lp.width)
		if c, ok := constant(lp.width); ok && c < partsTogether {
			size *= max(c, 1)
		} else {
			size = partsTogether + 1
		}
		size = min(size, partsTogether+1)
	}
	for _, t := range n.st.op.tensors {
		b := tir.NewBuffer(t.name+".part", t.typ, shape...)
		b.Scope = "local"
		a.acc = append(a.acc, b)
	}
	a.slotDims()
	if !a.needsShared() {
		return
	}
	bytes := int64(0)
	threads := int64(1)
	for _, d := range a.slots {
		threads *= d.size
	}
	for _, t := range n.st.op.tensors {
		bytes += max(int64(t.typ.Bits), 8) / 8 * threads * size
	}
	a.apart = bytes > partsTogether
	var slots []tir.Expr
	if !a.apart {
		slots = slices.Clone(shape)
	}
	for _, d := range a.slots {
		slots = append(slots, tir.I32(int32(d.size)))
	}
	for _, t := range n.st.op.tensors {
		b := tir.NewBuffer(t.name+".parts", t.typ, slots...)
		b.Scope = "shared"
		a.shared = append(a.shared, b)
	}
}

// slotDims finds the dimensions of the parts of a block. Neighboring threads have neighboring elements.
func (a *across) slotDims() {
	n := a.n
	seen := map[*tir.Var]bool{}
	threads := map[string]*loop{}
	mine := map[string]bool{}
	for _, lp := range n.all() {
		if isThread(lp, "threadIdx") && lp.v != nil {
			mine[lp.attrs.thread] = mine[lp.attrs.thread] || combined(lp) && slices.Contains(n.loops, lp)
			if !seen[lp.v] {
				threads[lp.attrs.thread], seen[lp.v] = lp, true
			}
		}
	}
	var fast *slotDim // threadIdx.x, and the indices after it, as long as all are combined
	for _, tag := range []string{"threadIdx.x", "threadIdx.y", "threadIdx.z"} {
		lp := threads[tag]
		if lp == nil {
			fast = nil
			continue
		}
		size, _ := constant(lp.width)
		size = max(1, size)
		d := slotDim{index: widen(lp.v, tir.Int32), size: size, combine: mine[tag]}
		if fast != nil && fast.combine && d.combine {
			fast.index = tir.Add(tir.Mul(d.index, tir.I32(int32(fast.size))), fast.index)
			fast.size *= d.size
			continue
		}
		a.slots = append([]slotDim{d}, a.slots...)
		fast = nil
		if tag == "threadIdx.x" && d.combine {
			fast = &a.slots[0]
		}
	}
	a.group = 1
	if last := len(a.slots) - 1; n.st.warp > 0 && a.slots[last].combine {
		a.group = min(int64(n.st.warp), int64(1)<<bits.TrailingZeros64(uint64(a.slots[last].size)))
	}
	if a.group > 1 {
		last := &a.slots[len(a.slots)-1]
		last.size /= a.group
	}
}

// fastest returns the index that shuffles combine, with all its threads.
func (a *across) fastest() tir.Expr { return a.slots[len(a.slots)-1].index }

// needsShared reports whether parts remain after the shuffles.
func (a *across) needsShared() bool {
	return slices.ContainsFunc(a.slots, func(d slotDim) bool { return d.combine && d.size > 1 })
}

// variables returns the variables of loops as indices.
func variables(loops []*loop, vars map[*loop]*tir.Var) []tir.Expr {
	out := make([]tir.Expr, len(loops))
	for i, lp := range loops {
		out[i] = vars[lp]
	}
	return out
}

// each repeats a statement for all points. body gets the variables.
func (a *across) each(suffix string, kind func(lp *loop) tir.ForKind,
	body func(vars map[*loop]*tir.Var) tir.Stmt) tir.Stmt {
	vars := map[*loop]*tir.Var{}
	var copies []*loop
	for _, lp := range a.points {
		v := tir.NewVar(lp.v.Name+suffix, lp.v.Type)
		a.l.a.loops[v] = lp.width
		vars[lp] = v
		copies = append(copies, &loop{axis: lp.axis, v: v, width: lp.width, attrs: loopAttrs{kind: kind(lp)}})
	}
	var s tir.Stmt
	a.l.a.within(copies, func() { s = body(vars) })
	for _, lp := range slices.Backward(copies) {
		s = lp.around(lp.v, s)
	}
	return s
}

func asScheduled(lp *loop) tir.ForKind { return lp.attrs.kind }

// shortUnrolled unrolls loops of few iterations, so that the parts can be in registers.
func shortUnrolled(lp *loop) tir.ForKind {
	if n, ok := constant(lp.width); ok && n <= 16 {
		return tir.Unrolled
	}
	return tir.Serial
}

// reduction is the reduction that the nest computes.
func (a *across) reduction() *tir.Reduce { return a.l.bodies[a.n.st][0].(*tir.Reduce) }

// initialize sets the parts of a thread to the identity.
func (a *across) initialize() tir.Stmt {
	return a.each(".init", asScheduled, func(vars map[*loop]*tir.Var) tir.Stmt {
		var stores []tir.Stmt
		for i, b := range a.acc {
			stores = append(stores, &tir.BufferStore{Buffer: b, Value: a.reduction().Combiner.Identity[i],
				Indices: variables(a.points, vars)})
		}
		return tir.Sequence(stores...)
	})
}

// accumulate returns the loops in which a thread computes its parts.
func (a *across) accumulate() (body tir.Stmt, err error) {
	l, n := a.l, a.n
	leaves := make([]tir.Expr, len(n.loops))
	for i, lp := range n.loops {
		leaves[i] = lp.index()
	}
	own := map[*loop]*tir.Var{}
	for _, lp := range a.points {
		own[lp] = lp.v
	}
	var conds []tir.Expr
	l.a.within(n.all(), func() {
		value := l.relative(n, leaves)
		body, err = l.reduceInto(n, value, a.acc, variables(a.points, own))
		conds = l.conditions(n, value, false)
	})
	if err != nil {
		return nil, err
	}
	for _, lp := range slices.Backward(n.loops[a.first:]) {
		if inside := n.inside[lp]; len(inside) > 0 {
			body, conds = guarded(conds, body), nil
			for _, in := range slices.Backward(inside) {
				if body, err = l.around(in, body); err != nil {
					return nil, err
				}
			}
		}
		if body, err = l.prefetches(n, lp, body); err != nil {
			return nil, err
		}
		if bound(lp) {
			continue // it is around the whole reduction
		}
		body, conds = lp.guard(lp.v, conds, body)
		body = lp.around(lp.v, body)
	}
	return guarded(conds, body), nil
}

// combinable returns why the iterations of a reduction axis cannot be executed in this way; "" if they can.
func combinable(kind tir.ForKind, thread string) string {
	switch {
	case kind == tir.Unrolled || kind == tir.ThreadBind && strings.HasPrefix(thread, "threadIdx."):
		return ""
	case kind == tir.ThreadBind && strings.HasPrefix(thread, "blockIdx."):
		return "and blocks cannot combine their parts: make partial results of it by rfactor, or bind it to threadIdx"
	case kind == tir.ThreadBind:
		return "whose parts only the threads of threadIdx combine"
	}
	return "whose iterations depend on each other"
}
