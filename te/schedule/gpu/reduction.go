package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// Reduction holds the parameters of reductions. A row is the data that are reduced to one result.
type Reduction struct {
	Threads     int // threads of a block
	RowThreads  int // threads that compute a row together at most; 1: each computes rows of its own
	PerThread   int // elements of a row per thread: shorter rows get fewer threads
	VectorBytes int // bytes of adjacent elements that a thread loads at once
	Unroll      int // loads that a thread issues before it uses the first one
	Shuffle     int // threads that combine their parts by shuffles; 1: in shared memory alone
	Adjacent    int // bytes that adjacent threads load together at least, of a row or of adjacent columns

	// With fewer blocks than Blocks, a reduction of long rows is divided: one kernel reduces parts of at least Part
	// elements, and another one combines their results. Columns are divided into parts of at least ColumnPart rows.
	Blocks     int
	Part       int
	ColumnPart int
}

// defaultReduction returns the parameters for a target. On a CPU, barriers are costly: only the threads of a warp,
// which are the lanes of a vector, compute a row together.
func defaultReduction(l Limits) Reduction {
	r := Reduction{Threads: powerBelow(min(256, l.Threads)), PerThread: 16, VectorBytes: 16, Unroll: 4, Shuffle: 1,
		Adjacent: 128, Blocks: 1024, Part: 1 << 13, ColumnPart: 1 << 8}
	r.RowThreads = r.Threads
	if l.Shuffles {
		r.Shuffle = powerBelow(min(l.Warp, 128))
	}
	switch {
	case l.OnCPU && l.Warp > 1: // the threads of a warp are the lanes of a vector
		r.Threads = powerBelow(min(l.Warp, l.Threads))
		r.RowThreads, r.VectorBytes, r.Unroll, r.Adjacent, r.Blocks = r.Threads, 1, 1, 4*r.Threads, 64
	case l.OnCPU:
		r.Threads = powerBelow(min(64, l.Threads))
		r.RowThreads, r.VectorBytes, r.Unroll, r.Adjacent, r.Blocks = 1, 64, 1, 64*r.Threads, 64
	}
	return r
}

func (r *Reduction) check(l Limits) error {
	for _, err := range []error{
		powerOfTwo("Threads", r.Threads, 1, l.Threads, "the target's max_threads_per_block"),
		powerOfTwo("RowThreads", r.RowThreads, 1, r.Threads, "Threads"),
		between("PerThread", r.PerThread, 1, 1<<20, "elements"),
		powerOfTwo("VectorBytes", r.VectorBytes, 1, 128, "16 values of 8 bytes"),
		between("Unroll", r.Unroll, 1, 64, "each is a copy of the code"),
		powerOfTwo("Shuffle", r.Shuffle, 1, max(1, min(l.Warp, 128)), "the target's thread_warp_size"),
		powerOfTwo("Adjacent", r.Adjacent, 1, 1<<20, "bytes"),
		between("Blocks", r.Blocks, 1, 1<<31-1, "a grid has no more"),
		between("Part", r.Part, 1, 1<<30, "an index has 32 bits"),
		between("ColumnPart", r.ColumnPart, 1, 1<<30, "an index has 32 bits"),
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
	rows   int64        // the number of results; -1: unknown
	length int64        // of a row; -1: unknown
	along  bool         // adjacent elements belong to one row
	lanes  int          // adjacent elements that a thread loads at once
	bytes  int          // of the widest element
	packed []*te.Tensor // tensors that are loaded to registers as vectors, before narrow elements are widened
}

// sized describes the sizes of a reduction.
func (r *Reduction) sized(s *te.Schedule, t *te.Tensor, l Limits) *reduction {
	st := s.Stage(t)
	d := &reduction{Reduction: r, l: l, s: s, t: t, axes: st.Axes(), reduce: st.ReduceAxes(), rows: 1, length: 1,
		lanes: 1, bytes: 4}
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
	only.vectorize()
	if part := only.divide(); part != nil {
		r.sized(s, part, l).as(only).kernel(part, []*te.Tensor{part})
		along := only.along
		only = r.sized(s, only.t, l)
		only.along = along
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
	part := int64(d.Part)
	if !d.along {
		part = int64(d.ColumnPart)
	}
	if d.rows < 0 || d.length >= 0 && d.length < 2*part {
		return nil
	}
	blocks := (d.rows*int64(d.rowThreads()) + int64(d.Threads) - 1) / int64(d.Threads)
	if !d.along {
		blocks = d.rows / int64(d.neighbors()*d.lanes)
	}
	if blocks >= int64(d.Blocks) {
		return nil
	}
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

// rowThreads returns the number of threads that compute a row, or a column.
func (d *reduction) rowThreads() int {
	if d.length < 0 {
		return d.RowThreads
	}
	threads := partsOf(d.length, int64(d.PerThread))
	if d.along {
		vectors := partsOf(d.length, int64(d.lanes))
		threads = max(threads, int64(d.Adjacent/d.bytes/d.lanes))
		if powerAbove(threads) > vectors { // whole warps, of which some threads have more vectors than others
			threads = int64(powerBelow(int(vectors)))
		}
	}
	return int(min(int64(d.RowThreads), powerAbove(threads)))
}
