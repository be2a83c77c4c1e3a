package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// vectorize finds out how many adjacent elements a thread loads at once: those of one row, or of adjacent rows if rows
// are columns. A length that they do not divide is guarded.
func (d *reduction) vectorize() {
	st := d.s.Stage(d.t)
	axes := d.axes
	if d.along {
		axes = d.reduce
	}
	last := innermost(axes)
	if last == nil {
		return
	}
	wide := 8 // bits of the results of a thread
	for _, e := range st.Formulas() {
		wide = max(wide, int(e.DType().Bits))
	}
	var direct, packed []*te.Tensor
	schedule.EachLoad(st, func(l *tir.ProducerLoad) { direct = append(direct, l.Producer.(*te.Tensor)) })
	size, known := last.Extent.(*tir.IntImm)
	reads, widest := accesses(d.s, st), 8
	var runs []run
	for _, a := range reads {
		r := runOf(a, axes)
		if r.length == 0 {
			continue
		}
		runs = append(runs, r)
		bits := max(8, int(a.tensor.ProducerDType().Bits))
		switch {
		case bits >= wide || isTuple(d.t):
		case known && slices.Contains(direct, a.tensor) && !slices.ContainsFunc(reads, a.elsewhere):
			if !slices.Contains(packed, a.tensor) {
				packed = append(packed, a.tensor)
			}
		default:
			bits = wide
		}
		widest = max(widest, bits)
	}
	if len(runs) == 0 {
		return
	}
	n := min(maxLanes, d.VectorBytes*8/widest)
	whole := len(packed) > 0 || !d.along // vectors do not cross the end of the last dimension
	fits := func(n int) bool {
		if whole && (!known || size.Value%int64(n) != 0) {
			return false
		}
		return !slices.ContainsFunc(runs, func(r run) bool { return !r.fits(n, d.l.OnCPU) })
	}
	for n > 1 && (!fits(n) || d.length >= 0 && d.along && d.length < int64(n)) {
		n /= 2
	}
	if n > 1 {
		d.lanes, d.packed = n, packed
	}
	d.bytes = max(1, widest/8)
}

// elsewhere reports whether another access reads other elements of the same tensor.
func (a access) elsewhere(other access) bool {
	return a.tensor == other.tensor && !arith.ProveEqual(a.offset(), other.offset())
}

// run describes the elements of an access that are adjacent in the order of some axes.
type run struct {
	start  tir.Expr // offset of a run
	length int64    // in elements; 0: the access does not depend on the axes; -1: unknown
	all    bool     // the axes have one run
}

// runOf returns the run of an access over axes, the innermost last.
func runOf(a access, axes []*tir.IterVar) run {
	r := run{length: 1, all: true}
	zero, moves := map[*tir.Var]tir.Expr{}, false
	for _, x := range slices.Backward(axes) {
		n, known := x.Extent.(*tir.IntImm)
		if known && n.Value == 1 {
			continue
		}
		step := a.step(x)
		moves = moves || step != 0
		if !r.all || r.length < 0 || step != r.length {
			r.all = false
			continue
		}
		zero[x.Var] = tir.IntConst(x.Var.Type, 0)
		if r.length = -1; known {
			r.length = n.Value * step
		}
	}
	if !moves {
		return run{}
	}
	r.start = a.with(zero).offset()
	return r
}

// fits reports whether vectors of n elements, of which the first begins at the first element, do not cross the end of a
// run, and are aligned unless they need not be.
func (r run) fits(n int, unaligned bool) bool {
	if !r.all && (r.length < 0 || r.length%int64(n) != 0) {
		return false
	}
	if unaligned {
		return true
	}
	coef, base := arith.NewAnalyzer().Modular(r.start)
	return coef%int64(n) == 0 && base%int64(n) == 0
}

// as makes a reduction read its data as another one, of which it is a part.
func (d *reduction) as(other *reduction) *reduction {
	d.along, d.lanes, d.bytes, d.packed = other.along, other.lanes, other.bytes, other.packed
	return d
}

// bindRows binds rows to the blocks of a grid and, within a block, to neighboring threads along an index. all is the
// axis of rows, outer one around it, or nil. It returns the loops in their order; the last one is that of the threads.
func bindRows(st *te.Stage, outer, all *tir.IterVar, neighbors int, thread string, l Limits) []*tir.IterVar {
	block, own := st.Split(all, neighbors)
	again, block := gridLimited(st, block, l.Grid[0])
	order := []*tir.IterVar{block}
	st.Bind(block, "blockIdx.x")
	if outer != nil {
		more, outer := gridLimited(st, outer, l.Grid[1])
		st.Bind(outer, "blockIdx.y")
		order, again = append([]*tir.IterVar{outer}, order...), append(more, again...)
	}
	st.Bind(own, thread)
	return append(append(order, again...), own)
}

// kernel makes the kernel of root, which is the reduction or reads its results, and in which the other members are
// computed.
func (d *reduction) kernel(root *te.Tensor, members []*te.Tensor) {
	x, y := d.rowThreads(), 1
	if d.along {
		y = d.Threads / x
		if d.rows >= 0 {
			y = int(min(int64(y), powerAbove(max(1, d.rows/int64(d.Blocks)))))
		}
	} else {
		x = d.neighbors()
		y = min(d.Threads/x, d.rowThreads())
	}
	neighbors, other := y, x // threads of a block over results, and over the data of one
	over, across := "threadIdx.y", "threadIdx.x"
	if !d.along {
		neighbors, other, over, across = x, y, across, over
	}
	var part *te.Tensor
	if d.lanes > 1 {
		part = d.parts(other)
	}
	st := d.s.Stage(root)
	outer, all := fusedAxes(st)
	var lane *tir.IterVar
	if !d.along && part != nil {
		all, lane = st.Split(all, d.lanes)
	}
	order := bindRows(st, outer, all, neighbors, over, d.l)
	own := order[len(order)-1]
	at := own
	if root != d.t && other > 1 {
		at = st.UnitAxis("part")
		st.Bind(at, across)
		order = append(order, at)
	}
	if lane != nil {
		order = append(order, lane)
		st.Vectorize(lane)
	}
	st.Reorder(order...)
	for _, t := range slices.Backward(members) {
		if t != root {
			d.s.Stage(t).ComputeAt(st, at)
		}
	}
	if part == nil {
		d.distribute(other, across)
		return
	}
	d.combine(part, other, across, st, at)
}

// neighbors returns the number of threads of a block that compute adjacent columns: more if few compute a column, as
// long as there are enough blocks.
func (d *reduction) neighbors() int {
	all := int64(1)
	if a := innermost(d.axes); a != nil {
		all = 1 << 20
		if c, ok := a.Extent.(*tir.IntImm); ok {
			all = c.Value
		}
	}
	n := min(d.Threads, max(1, d.Adjacent/d.bytes/d.lanes))
	for 2*n*d.rowThreads() <= d.Threads && d.rows/int64(2*n*d.lanes) >= int64(d.Blocks) {
		n *= 2
	}
	return int(min(int64(n), powerAbove(max(1, all/int64(d.lanes)))))
}

// shuffled makes threads combine their parts by shuffles, if the index has the threads of a warp.
func (d *reduction) shuffled(st *te.Stage, index string) {
	if index == "threadIdx.x" && d.Shuffle > 1 {
		st.ReduceByShuffle(d.Shuffle)
	}
}

// distribute distributes the data of a row over threads, element by element.
func (d *reduction) distribute(threads int, index string) {
	st := d.s.Stage(d.t)
	k := d.fused(st)
	var order []*tir.IterVar
	if threads > 1 {
		var thread *tir.IterVar
		k, thread = st.Split(k, threads)
		st.Bind(thread, index)
		order = append(order, thread)
	}
	for _, x := range st.Leaves() {
		if x.Kind == tir.IterReduce && x != k && !slices.Contains(order, x) {
			order = append(order, x)
		}
	}
	st.Reorder(append(order, d.unrolled(st, k, threads)...)...)
	if threads > 1 {
		d.shuffled(st, index)
	}
}

// unrolled unrolls a part of the loop over the loads of a thread, whose loads are issued one after another. It returns
// the loops.
func (d *reduction) unrolled(st *te.Stage, k *tir.IterVar, threads int) []*tir.IterVar {
	n := d.Unroll
	if d.length >= 0 {
		step := int64(threads)
		if d.along {
			step *= int64(d.lanes)
		}
		count := int(min(1<<30, (d.length+step-1)/step))
		most := min(n, max(1, count))
		for n = most; n > 1 && count%n != 0; n-- {
		}
		if n == 1 {
			n = most
		}
	}
	if n == 1 {
		return []*tir.IterVar{k}
	}
	outer, inner := st.Split(k, n)
	st.Unroll(inner)
	st.Pragma(inner, "unroll_explicit", false)
	return []*tir.IterVar{outer, inner}
}

// parts divides the reduction into parts for threads, and, along rows, for the lanes of their vectors.
func (d *reduction) parts(threads int) *te.Tensor {
	st := d.s.Stage(d.t)
	k := d.fused(st)
	if d.along {
		vector, lane := st.Split(k, d.lanes)
		_, thread := st.Split(vector, threads)
		return d.s.RFactor(d.t, st.Fuse(thread, lane), -1)
	}
	_, thread := st.Split(k, threads)
	return d.s.RFactor(d.t, thread, 0)
}

// combine computes the parts of threads by vectors, and makes the threads combine them. The loop at of the stage of
// the kernel's root is that of a thread.
func (d *reduction) combine(part *te.Tensor, threads int, index string, root *te.Stage, at *tir.IterVar) {
	st, ps := d.s.Stage(d.t), d.s.Stage(part)
	thread := st.ReduceAxes()[0]
	order := []*tir.IterVar{thread}
	if d.along {
		var lane *tir.IterVar
		thread, lane = st.Split(thread, d.lanes)
		st.Unroll(lane)
		order = []*tir.IterVar{thread, lane}
	} else {
		for _, x := range st.Leaves() {
			if root != st && x.Kind == tir.IterData || root == st && x == lastLeaf(st, tir.IterData) {
				order = append(order, x)
			}
		}
	}
	st.Reorder(order...)
	if threads > 1 {
		st.Bind(thread, index)
		d.shuffled(st, index)
		root, at = st, thread
	} else {
		st.Unroll(thread)
	}
	ps.ComputeAt(root, at)
	ps.SetScope("local")
	vector := innermost(ps.Axes())
	all := ps.ReduceAxes()
	loops := all[: len(all)-1 : len(all)-1]
	loops = append(loops, d.unrolled(ps, all[len(all)-1], threads)...)
	ps.Reorder(append(loops, vector)...)
	ps.Vectorize(vector)
	for _, t := range d.packed {
		row := d.s.Stage(d.s.CacheRead(t, "local", part))
		row.ComputeAt(ps, loops[len(loops)-1])
		row.SetScope("local")
		row.Vectorize(innermost(row.Axes()))
	}
}

// lastLeaf returns the last loop of a kind.
func lastLeaf(st *te.Stage, kind tir.IterKind) *tir.IterVar {
	for _, x := range slices.Backward(st.Leaves()) {
		if x.Kind == kind {
			return x
		}
	}
	return nil
}
