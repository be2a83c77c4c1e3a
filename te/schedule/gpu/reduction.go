package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// Reduction holds the parameters of reductions. A row is the data that are reduced to one result.
type Reduction struct {
	Threads   int // threads of a block; a row has at most as many
	PerThread int // elements of a row per thread: shorter rows get fewer threads
	Shuffle   int // threads that combine their parts by shuffles; 1: in shared memory alone
	Columns   int // threads of a block that compute neighboring columns, if rows are not contiguous

	// With fewer blocks than Blocks, a reduction of long rows is divided: one kernel reduces parts of at least Part
	// elements, and another one combines their results.
	Blocks int
	Part   int

	// Together says that threads compute a row together. Otherwise each computes results of its own, as Elementwise
	// says.
	Together bool
}

// defaultReduction returns the parameters for a target. On a CPU, barriers are costly: only the threads of a warp,
// which are the lanes of a vector, compute a row together.
func defaultReduction(l Limits) Reduction {
	r := Reduction{Threads: powerBelow(min(256, l.Threads)), PerThread: 8, Shuffle: 1,
		Blocks: 512, Part: 1 << 13, Together: true}
	r.Columns = min(32, r.Threads)
	if l.Shuffles {
		r.Shuffle = powerBelow(min(l.Warp, 128))
	}
	switch {
	case l.OnCPU && l.Warp > 1: // the threads of a warp are the lanes of a vector
		r.Threads = powerBelow(min(l.Warp, l.Threads))
		r.Columns, r.Blocks = r.Threads, 64
	case l.OnCPU:
		r.Together = false
	}
	return r
}

func (r *Reduction) check(l Limits) error {
	for _, err := range []error{
		powerOfTwo("Threads", r.Threads, 1, l.Threads, "the target's max_threads_per_block"),
		between("PerThread", r.PerThread, 1, 1<<20, "elements"),
		powerOfTwo("Shuffle", r.Shuffle, 1, max(1, min(l.Warp, 128)), "the target's thread_warp_size"),
		powerOfTwo("Columns", r.Columns, 1, r.Threads, "Threads"),
		between("Blocks", r.Blocks, 1, 1<<31-1, "a grid has no more"),
		between("Part", r.Part, 1, 1<<30, "an index has 32 bits"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// powerBelow returns the greatest power of two that is at most n.
func powerBelow(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}

// powerAbove returns the least power of two that is at least n.
func powerAbove(n int64) int64 {
	p := int64(1)
	for p < n {
		p *= 2
	}
	return p
}

// reduction is a tensor that is a reduction, and how it reads its data.
type reduction struct {
	*Reduction
	l      Limits
	s      *te.Schedule
	t      *te.Tensor
	axes   []*tir.IterVar // of the results
	reduce []*tir.IterVar
	rows   int64 // the number of results; -1: unknown
	length int64 // of a row; -1: unknown
	along  bool  // adjacent elements belong to one row
}

// sized describes the sizes of a reduction.
func (r *Reduction) sized(s *te.Schedule, t *te.Tensor, l Limits) *reduction {
	st := s.Stage(t)
	d := &reduction{Reduction: r, l: l, s: s, t: t, axes: st.Axes(), reduce: st.ReduceAxes(), rows: 1, length: 1}
	size := func(all *int64, a *tir.IterVar) {
		n, ok := a.Extent.(*tir.IntImm)
		switch {
		case !ok || *all < 0:
			*all = -1
		case n.Value > 0 && *all > (1<<62)/n.Value:
			*all = 1 << 62
		default:
			*all *= n.Value
		}
	}
	for _, a := range d.axes {
		size(&d.rows, a)
	}
	for _, a := range d.reduce {
		size(&d.length, a)
	}
	return d
}

// reductionOf describes a tensor that reduces data, each of which it reads once; false if it is something else, such as
// a product of matrices or a pooling.
func (r *Reduction) reductionOf(s *te.Schedule, t *te.Tensor, l Limits) (*reduction, bool) {
	d, found := r.sized(s, t, l), false
	for _, a := range accesses(s, s.Stage(t)) {
		all, plain, fastest := d.coverage(a)
		if !plain {
			return nil, false
		}
		if all && (!found || fastest) {
			found, d.along = true, fastest
		}
	}
	return d, found
}

// coverage describes the indices of an access: whether they depend on all axes with several iterations; whether each
// depends on one axis at most; and whether adjacent elements belong to one row.
func (d *reduction) coverage(a access) (all, plain, fastest bool) {
	seen := map[*tir.Var]bool{}
	plain = true
	kind := map[*tir.Var]tir.IterKind{}
	for _, x := range append(slices.Clone(d.axes), d.reduce...) {
		kind[x.Var] = x.Kind
	}
	for _, x := range a.indices {
		own := map[*tir.Var]bool{}
		tir.Walk(x, func(n any) bool {
			if v, ok := n.(*tir.Var); ok {
				if _, mine := kind[v]; mine {
					own[v], seen[v] = true, true
				}
			}
			return true
		})
		reduces := false
		for v := range own {
			reduces = reduces || kind[v] == tir.IterReduce
		}
		if len(own) > 1 && reduces {
			plain = false
		}
		if len(own) > 0 {
			fastest = reduces
		}
	}
	all = true
	for _, x := range append(slices.Clone(d.axes), d.reduce...) {
		if n, ok := x.Extent.(*tir.IntImm); !ok || n.Value > 1 {
			all = all && seen[x.Var]
		}
	}
	return all, plain, fastest
}

// fused fuses the axes of the reduction into one loop, as long as its iterations fit the index type.
func (d *reduction) fused(st *te.Stage) *tir.IterVar {
	all := st.ReduceAxes()
	k := all[len(all)-1]
	count := int64(1)
	for i, a := range slices.Backward(all) {
		n, ok := a.Extent.(*tir.IntImm)
		if ok && n.Value > 0 && count > (1<<31-1)/n.Value {
			break
		}
		if ok {
			count *= max(1, n.Value)
		}
		if i < len(all)-1 {
			k = st.Fuse(a, k)
		}
	}
	return k
}

// group schedules a group whose result is one value per row; false if it is not such a group.
func (r *Reduction) group(g *schedule.Group, l Limits) bool {
	if !r.Together {
		return false
	}
	s := g.Schedule
	members := append(g.Parts(), g.Result)
	if g.Root != g.Result {
		members = append(members, g.Root)
	}
	var only *reduction
	for _, t := range members {
		if len(s.Stage(t).ReduceAxes()) == 0 {
			continue
		}
		d, ok := r.reductionOf(s, t, l)
		if !ok || only != nil {
			return false
		}
		only = d
	}
	if only == nil || !only.samePerRow(members) {
		return false
	}
	if part := only.divide(); part != nil {
		first, rest := r.sized(s, part, l), r.sized(s, only.t, l)
		first.along, rest.along = only.along, only.along
		first.kernel(part, []*te.Tensor{part})
		only = rest
	}
	only.kernel(g.Root, members)
	return true
}

// samePerRow reports whether all tensors have one value per row.
func (d *reduction) samePerRow(members []*te.Tensor) bool {
	for _, t := range members {
		if n, known := elements(d.s.Stage(t)); known != (d.rows >= 0) || known && n != d.rows {
			return false
		}
		if len(t.ProducerShape()) != len(d.axes) {
			return false
		}
	}
	return true
}

// divide makes partial results of long rows if there are too few rows for all processors; nil if not.
func (d *reduction) divide() *te.Tensor {
	if d.rows < 0 || d.length >= 0 && d.length < int64(2*d.Part) {
		return nil
	}
	blocks := (d.rows*int64(d.rowThreads()) + int64(d.Threads) - 1) / int64(d.Threads)
	if !d.along {
		blocks = d.rows / int64(max(1, d.Columns))
	}
	if blocks >= int64(d.Blocks) {
		return nil
	}
	part := int64(d.Part)
	if d.length > 0 { // as many parts as blocks are missing
		if want := d.length * max(1, blocks) / int64(d.Blocks); want > part {
			part = (want + part - 1) / part * part
		}
	}
	st := d.s.Stage(d.t)
	k := d.fused(st)
	outer, _ := st.Split(k, int(min(part, 1<<30)))
	at := -1
	if !d.along {
		at = 0
	}
	return d.s.RFactor(d.t, outer, at)
}

// rowThreads returns the number of threads that compute a row.
func (d *reduction) rowThreads() int {
	if d.length < 0 {
		return d.Threads
	}
	return int(min(int64(d.Threads), powerAbove((d.length+int64(d.PerThread)-1)/int64(d.PerThread))))
}

// kernel makes the kernel of root, which is the reduction or reads its results, and in which the other members are
// computed.
func (d *reduction) kernel(root *te.Tensor, members []*te.Tensor) {
	st := d.s.Stage(root)
	x, y := d.rowThreads(), 1
	if d.along {
		y = d.Threads / x
		if d.rows >= 0 {
			y = int(min(int64(y), powerAbove(max(1, d.rows/int64(d.Blocks)))))
		}
	} else {
		x = int(min(int64(d.Columns), powerAbove(max(1, d.lastAxis()))))
		y = min(d.Threads/x, d.rowThreads())
	}
	outer, all := fusedAxes(st)
	neighbors, other := y, x // threads of a block over results, and over the data of one
	over, across := "threadIdx.y", "threadIdx.x"
	if !d.along {
		neighbors, other, over, across = x, y, across, over
	}
	block, own := st.Split(all, neighbors)
	again, block := gridLimited(st, block, d.l.Grid[0])
	order := []*tir.IterVar{block}
	st.Bind(block, "blockIdx.x")
	if outer != nil {
		more, outer := gridLimited(st, outer, d.l.Grid[1])
		st.Bind(outer, "blockIdx.y")
		order, again = append([]*tir.IterVar{outer}, order...), append(more, again...)
	}
	order = append(append(order, again...), own)
	st.Bind(own, over)
	var at *tir.IterVar
	if root != d.t && other > 1 {
		at = st.UnitAxis("part")
		st.Bind(at, across)
		order = append(order, at)
	}
	st.Reorder(order...)
	if at == nil {
		at = own
	}
	for _, t := range slices.Backward(members) {
		if t != root {
			d.s.Stage(t).ComputeAt(st, at)
		}
	}
	d.distribute(other, across)
}

// lastAxis is the size of the last dimension of the results with several elements, or a large number.
func (d *reduction) lastAxis() int64 {
	for _, a := range slices.Backward(d.axes) {
		n, ok := a.Extent.(*tir.IntImm)
		if !ok {
			return 1 << 20
		}
		if n.Value > 1 {
			return n.Value
		}
	}
	return 1
}

// distribute distributes the data of a row over threads.
func (d *reduction) distribute(threads int, index string) {
	st := d.s.Stage(d.t)
	k := d.fused(st)
	if threads == 1 {
		return
	}
	outer, inner := st.Split(k, threads)
	st.Bind(inner, index)
	order := []*tir.IterVar{inner}
	for _, x := range st.Leaves() {
		if x.Kind == tir.IterReduce && x != inner && x != outer {
			order = append(order, x)
		}
	}
	st.Reorder(append(order, outer)...)
	if index == "threadIdx.x" && d.Shuffle > 1 {
		st.ReduceByShuffle(d.Shuffle)
	}
}
