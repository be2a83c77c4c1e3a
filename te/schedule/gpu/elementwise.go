package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// Elementwise holds the parameters of kernels in which each thread computes elements of its own: elementwise
// operators, broadcasts, casts, joins, slices, gathers, pooling.
type Elementwise struct {
	Threads     int // threads of a block
	VectorBytes int // bytes that a thread stores or loads at once, of the widest type
	Vectors     int // vectors per thread, if that leaves enough blocks
	Blocks      int // blocks that are enough: with fewer, threads compute less

	// Unaligned says that threads may load vectors at any element, as CPUs do. Otherwise each vector of a tensor begins
	// at a multiple of its length.
	Unaligned bool
}

// defaultElementwise returns the parameters for a target. On a CPU, a block is a loop of one CPU thread, which reads
// memory in order if each work item has one vector, as long as the CPU's caches move at once.
func defaultElementwise(l Limits) Elementwise {
	if l.OnCPU {
		return Elementwise{Threads: min(256, l.Threads), VectorBytes: 64, Vectors: 1, Blocks: 64, Unaligned: true}
	}
	return Elementwise{Threads: min(256, l.Threads), VectorBytes: 16, Vectors: 4, Blocks: 1024}
}

func (e *Elementwise) check(l Limits) error {
	for _, err := range []error{
		between("Threads", e.Threads, 1, l.Threads, "the target's max_threads_per_block"),
		powerOfTwo("VectorBytes", e.VectorBytes, 1, 128, "16 values of 8 bytes"),
		between("Vectors", e.Vectors, 1, 64, "each is a copy of the code"),
		between("Blocks", e.Blocks, 1, 1<<31-1, "a grid has no more"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// maxLanes is the number of lanes of the longest vectors of any language.
const maxLanes = 16

// group schedules a group: each tensor is a kernel in which each thread computes elements of its own, except that the
// kernel of the root computes a reduction that it reads at the same position. Accumulators are in registers.
func (e *Elementwise) group(g *schedule.Group, l Limits) {
	s := g.Schedule
	for _, t := range g.Parts() {
		e.kernel(s, t, nil, l)
	}
	if g.Result == g.Root {
		e.kernel(s, g.Root, nil, l)
		return
	}
	e.kernel(s, g.Root, g.Result, l)
}

// kernel makes a kernel of a tensor, and computes reduction, which it reads at the same position, inside; nil if there
// is none.
func (e *Elementwise) kernel(s *te.Schedule, t, reduction *te.Tensor, l Limits) {
	if st := s.Stage(t); reduction == nil && len(st.ReduceAxes()) > 0 && len(t.Bodies()) == 1 && !isTuple(t) {
		reduction = s.CacheWrite(t, "local")
	}
	st := s.Stage(t)
	lanes := e.lanes(s, st, reduction)
	at, lane := e.distribute(st, lanes, l)
	if reduction == nil {
		return
	}
	sum := s.Stage(reduction)
	sum.ComputeAt(st, at)
	if axes := sum.Axes(); lane != nil {
		last := axes[len(axes)-1]
		sum.Reorder(append(sum.ReduceAxes(), last)...)
		sum.Vectorize(last)
	}
}

// isTuple reports whether a tensor is computed together with others.
func isTuple(t *te.Tensor) bool {
	r, ok := t.Bodies()[0].(*tir.Reduce)
	return ok && len(r.Sources) > 1
}

// distribute distributes the elements of a stage over threads: adjacent threads compute adjacent vectors. It returns
// the innermost loop of a thread that is not a vector, and the loop over the lanes of a vector, or nil.
func (e *Elementwise) distribute(st *te.Stage, lanes int, l Limits) (at, lane *tir.IterVar) {
	total, known := elements(st)
	if tir.SharesBytes(st.Tensor().ProducerDType()) { // a thread that writes one element overwrites its neighbours
		return onOneThread(st), nil
	}
	outer, all := fusedAxes(st)
	if lanes > 1 {
		all, lane = st.Split(all, lanes)
	}
	vectors := 1
	if known {
		for 2*vectors <= e.Vectors && total/int64(2*vectors*lanes*e.Threads) >= int64(e.Blocks) {
			vectors *= 2
		}
	}
	var each *tir.IterVar
	block, thread := st.Split(all, e.Threads*vectors)
	if vectors > 1 {
		each, thread = st.Split(thread, e.Threads)
	}
	count := int64(-1)
	if known && outer == nil {
		count = partsOf(partsOf(total, int64(lanes)), int64(e.Threads*vectors))
	}
	again, block := gridLimitedTo(st, block, count, l.Grid[0])
	order := []*tir.IterVar{block, thread}
	st.Bind(block, "blockIdx.x")
	st.Bind(thread, "threadIdx.x")
	if outer != nil {
		more, outer := gridLimited(st, outer, l.Grid[1])
		st.Bind(outer, "blockIdx.y")
		order = append([]*tir.IterVar{outer}, order...)
		again = append(more, again...)
	}
	order = append(order, again...)
	if each != nil {
		order = append(order, each)
		st.Unroll(each)
		st.Pragma(each, "unroll_explicit", false)
	}
	at = order[len(order)-1]
	order = append(order, st.ReduceAxes()...)
	if lane != nil {
		order = append(order, lane)
		st.Vectorize(lane)
	}
	st.Reorder(order...)
	return at, lane
}

// onOneThread makes one thread compute all elements. It returns the innermost loop.
func onOneThread(st *te.Stage) *tir.IterVar {
	axes := st.Axes()
	thread := st.UnitAxis("thread")
	st.Bind(thread, "threadIdx.x")
	st.Reorder(append(append([]*tir.IterVar{thread}, axes...), st.ReduceAxes()...)...)
	if len(axes) == 0 {
		return thread
	}
	return axes[len(axes)-1]
}

// lanes returns the number of elements of a stage that a thread computes as a vector: as many as the widest type has
// in VectorBytes; 1 if it would not read them, or write them, as a vector.
func (e *Elementwise) lanes(s *te.Schedule, st *te.Stage, reduction *te.Tensor) int {
	axes := st.Axes()
	if len(axes) == 0 || len(st.ReduceAxes()) > 0 {
		return 1
	}
	reads, last := accesses(s, st), axes[len(axes)-1]
	if reduction != nil {
		sum := s.Stage(reduction).Axes()
		to := map[*tir.Var]tir.Expr{}
		for d := range sum {
			to[sum[d].Var] = axes[d].Var
		}
		for _, a := range accesses(s, s.Stage(reduction)) {
			for d, x := range a.indices {
				a.indices[d] = tir.Substitute(x, to)
			}
			reads = append(reads, a)
		}
	}
	widest, flat := int(st.Tensor().ProducerDType().Bits), len(reads) == 0
	least := int64(maxLanes) // elements of a tensor that is read by vectors: longer ones would never be within it
	for _, a := range reads {
		if n := a.elements(); n >= 0 && a.along(last) == contiguous {
			least = min(least, n)
		}
		switch {
		case a.tensor == reduction:
			continue
		case a.same(st):
			flat = true
		case a.along(last) == scattered:
			return 1
		}
		widest = max(widest, int(a.tensor.ProducerDType().Bits))
	}
	n := max(1, min(maxLanes, e.VectorBytes*8/max(8, widest)))
	for int64(n) > max(1, least) {
		n /= 2
	}
	size, known := last.Extent.(*tir.IntImm)
	if !flat || reduction != nil {
		if !known {
			return 1
		}
		for n > 1 && (size.Value%int64(n) != 0 || !e.Unaligned && !aligned(reads, last, n)) {
			n /= 2
		}
	}
	if total, known := elements(st); known {
		for n > 1 && total < int64(n*e.Threads) { // shorter vectors rather than fewer threads
			n /= 2
		}
	}
	return n
}

// fusedAxes fuses the dimensions of a stage into one loop, as fused does. A stage without dimensions gets a loop of one
// iteration.
func fusedAxes(st *te.Stage) (outer, all *tir.IterVar) { return fuseLimited(st, st.Axes()) }

// fuseLimited is fusedAxes of some adjacent loops.
func fuseLimited(st *te.Stage, axes []*tir.IterVar) (outer, all *tir.IterVar) {
	if len(axes) == 0 {
		return nil, st.UnitAxis("one")
	}
	counts := make([]int64, len(axes))
	for d, a := range axes {
		counts[d] = -1
		if c, ok := a.Extent.(*tir.IntImm); ok {
			counts[d] = c.Value
		}
	}
	return fused(st, axes, counts)
}

// fused fuses loops that are directly inside each other into one loop. If the number of iterations exceeds the index
// type, the outer ones become a loop of their own; otherwise outer is nil. counts are the extents, -1 if unknown.
func fused(st *te.Stage, axes []*tir.IterVar, counts []int64) (outer, all *tir.IterVar) {
	split, count := len(axes)-1, int64(1)
	for d := range slices.Backward(axes) {
		n := max(1, counts[d])
		if d < len(axes)-1 && count > (1<<31-1)/n {
			break
		}
		count *= n
		split = d
	}
	if split > 0 {
		outer = fuseAll(st, axes[:split])
	}
	return outer, fuseAll(st, axes[split:])
}

// gridLimited returns the loop to bind to an index of the grid, and, if it has or may have more iterations than the
// grid's limit, a loop in which each block repeats its work.
func gridLimited(st *te.Stage, blocks *tir.IterVar, limit int) (again []*tir.IterVar, bound *tir.IterVar) {
	return gridLimitedTo(st, blocks, -1, limit)
}

// gridLimitedTo is gridLimited for a number of iterations that is known, if it is not negative: all blocks repeat their
// work as often, and there are no more of them than that takes.
func gridLimitedTo(st *te.Stage, blocks *tir.IterVar, count int64, limit int) (again []*tir.IterVar,
	bound *tir.IterVar) {
	if limit >= 1<<31-1 || count >= 0 && count <= int64(limit) {
		return nil, blocks
	}
	if count >= 0 {
		limit = int(partsOf(count, partsOf(count, int64(limit))))
	}
	bound, inner := st.SplitParts(blocks, limit)
	return []*tir.IterVar{inner}, bound
}

// elements returns the number of elements of a stage's tensor, if it is known.
func elements(st *te.Stage) (n int64, known bool) {
	n = 1
	for _, a := range st.Axes() {
		c, ok := a.Extent.(*tir.IntImm)
		if !ok {
			return 0, false
		}
		if c.Value > 0 && n > (1<<62)/c.Value {
			return 1 << 62, true
		}
		n *= c.Value
	}
	return n, true
}
