package gpu

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

func init() {
	if err := schedule.Register("gpu", "attention", scheduleAttention); err != nil {
		panic(fmt.Sprintf("te/schedule/gpu: %v", err)) // another package took the key
	}
}

// Attention holds the parameters of the kernel for attention. A block computes some queries, and keeps the scores of
// one chunk of keys. The size of a chunk is an option of the operator.
type Attention struct {
	Queries  int // queries of a block, in shared memory
	ThreadsX int // threads over the keys of a chunk, and over the elements of a value
	ThreadsY int // threads over queries

	// RowThreads is the number of threads of a block if each thread computes a query of its own, in local memory: where
	// shared memory is not faster, or is too small.
	RowThreads int
}

func defaultAttention(l Limits) Attention {
	x := min(32, l.Threads)
	y := max(1, min(4, l.Threads/x))
	return Attention{Queries: 8 * y, ThreadsX: x, ThreadsY: y, RowThreads: min(16, l.Threads)}
}

func (a *Attention) check(l Limits) error {
	const why = "the target's max_threads_per_block"
	if err := between("ThreadsX", a.ThreadsX, 1, l.Threads, why); err != nil {
		return err
	}
	if err := between("ThreadsY", a.ThreadsY, 1, l.Threads/a.ThreadsX, why+" over ThreadsX"); err != nil {
		return err
	}
	if a.Queries%a.ThreadsY != 0 {
		return fmt.Errorf("Queries is %d: want a multiple of ThreadsY, %d", a.Queries, a.ThreadsY)
	}
	if err := between("Queries", a.Queries, 1, 1<<10, "more need too much memory"); err != nil {
		return err
	}
	return between("RowThreads", a.RowThreads, 1, l.Threads, why)
}

// attention is the schedule of one attention.
type attention struct {
	Attention
	s                                                      *te.Schedule
	root, scores, shown, top, weights, sums, products, all *te.Stage
	q, k, v                                                *te.Tensor
	d, e, chunk                                            int // elements of a key and of a value, keys of a chunk
}

// scheduleAttention computes attention in one kernel, which keeps the scores of one chunk of keys at a time. Sizes of
// keys and values must be constant.
func scheduleAttention(g *schedule.Group) (bool, error) {
	c, err := configOf(g)
	if err != nil {
		return false, err
	}
	l := LimitsOf(g.Target)
	p := g.Parts()
	st := func(i int) *te.Stage { return g.Schedule.Stage(p[i]) }
	a := &attention{Attention: c.Attention, s: g.Schedule, root: g.Schedule.Stage(g.Root), scores: st(0), shown: st(1),
		top: st(2), weights: st(3), sums: st(4), products: st(5), all: st(6),
		q: g.Op.Inputs[0], k: g.Op.Inputs[1], v: g.Op.Inputs[2]}
	for _, size := range []struct {
		to *int
		t  *te.Tensor
	}{{&a.d, a.q}, {&a.e, a.v}, {&a.chunk, p[0]}} {
		s := size.t.ProducerShape()
		n, ok := s[len(s)-1].(*tir.IntImm)
		if !ok || n.Value < 1 || n.Value > 1<<12 {
			return false, nil
		}
		*size.to = int(n.Value)
	}
	const local = 8 << 10 // bytes of local memory of a thread
	shared := !l.OnCPU && a.fit(l, p[0].ProducerDType())
	if !shared && (2*a.chunk+5*a.e)*4 > local {
		return false, nil
	}
	if g.Root != g.Result {
		g.Schedule.Stage(g.Result).ComputeInline()
	}
	if shared {
		a.blocks()
	} else {
		a.shown.ComputeInline()
		a.rows()
	}
	return true, nil
}

// fit reduces the number of queries until the shared memory of a block suffices; false if it never does.
func (a *attention) fit(l Limits, work tir.Type) bool {
	for ; a.Queries >= a.ThreadsY; a.Queries /= 2 {
		bits := a.Queries*a.d*int(a.q.ProducerDType().Bits) + a.chunk*(a.d+2+a.e)*int(a.k.ProducerDType().Bits) +
			(2*a.Queries*(a.chunk+1)+2*a.Queries)*int(work.Bits)
		if a.Queries%a.ThreadsY == 0 && bits <= l.Shared*8 {
			return true
		}
	}
	return false
}

// outer fuses the batches and the loop over queries, which is split by a number of queries, into blocks. It returns the
// loop over the queries of a block, and that over the elements of a value.
func (a *attention) outer(queries int) (block, query, element *tir.IterVar) {
	axes := a.root.Axes()
	n := len(axes)
	block, query = a.root.Split(axes[n-2], queries)
	for i := n - 3; i >= 0; i-- {
		block = a.root.Fuse(axes[i], block)
	}
	a.root.Bind(block, "blockIdx.x")
	return block, query, axes[n-1]
}

// rows computes a query per thread, in local memory.
func (a *attention) rows() {
	_, thread, _ := a.outer(a.RowThreads)
	a.root.Bind(thread, "threadIdx.x")
	a.all.ComputeAt(a.root, thread)
	chunk := a.overChunks()
	for _, st := range []*te.Stage{a.scores, a.top, a.weights, a.sums, a.products} {
		st.ComputeAt(a.all, chunk)
		st.SetScope("local")
	}
	a.sumInside(a.products)
}

// overChunks puts the loop over chunks outside of those over the elements of a block or a thread, and returns it.
func (a *attention) overChunks() *tir.IterVar {
	chunk := a.all.ReduceAxes()[0]
	axes := a.all.Axes()
	n := len(axes)
	a.all.Reorder(append(axes[:n-2:n-2], chunk, axes[n-2], axes[n-1])...)
	return chunk
}

// sumInside puts the loop of a reduction outside of those over the last two dimensions, so that several sums are in
// registers.
func (a *attention) sumInside(st *te.Stage) {
	axes := st.Axes()
	st.Reorder(append(st.ReduceAxes(), axes[len(axes)-1])...)
}

// blocks computes several queries per block, in shared memory.
func (a *attention) blocks() {
	perThread := a.Queries / a.ThreadsY
	block, query, element := a.outer(a.Queries)
	ty, qi := a.root.Split(query, perThread)
	lanes := a.lanes()
	piece, ei := a.root.Split(element, a.ThreadsX*lanes)
	tx, ei := a.root.Split(ei, lanes)
	a.root.Reorder(piece, ty, tx, qi, ei)
	if a.e > a.ThreadsX*lanes {
		a.root.Bind(piece, "vthread")
	}
	a.root.Bind(ty, "threadIdx.y")
	a.root.Bind(tx, "threadIdx.x")
	if lanes > 1 {
		a.root.Vectorize(ei)
	}
	a.scores.SetScope("local")
	q := a.s.Stage(a.s.CacheRead(a.q, "shared", a.scores.Tensor()))
	k := a.s.Stage(a.s.CacheRead(a.k, "shared", a.scores.Tensor()))
	fetched := a.s.CacheRead(a.v, "shared", a.products.Tensor())
	v, value := a.s.Stage(fetched), a.s.Stage(a.s.CacheRead(fetched, "local", a.products.Tensor()))
	a.all.ComputeAt(a.root, tx)
	chunk := a.overChunks()
	for _, st := range []*te.Stage{a.shown, a.weights} { // each score is scaled and masked once
		st.ComputeAt(a.all, chunk)
		st.SetScope("shared")
		axes := st.Axes()
		n := len(axes)
		y, yi := st.Split(axes[n-3], perThread)
		x, xi := st.Split(axes[n-1], (a.chunk+a.ThreadsX-1)/a.ThreadsX)
		st.Reorder(y, axes[n-2], x, yi, xi)
		st.Bind(y, "threadIdx.y")
		st.Bind(x, "threadIdx.x")
		st.StorageAlign(axes[n-2], 2, 1) // keys of a row are in other banks than those of the next
		if st == a.shown {
			a.scores.ComputeAt(st, x)
		}
	}
	for _, st := range []*te.Stage{a.top, a.sums} {
		sum := a.s.Stage(a.s.CacheWrite(st.Tensor(), "local"))
		st.ComputeAt(a.all, chunk)
		st.SetScope("shared")
		axes := st.Axes()
		y, x := st.Split(axes[len(axes)-2], a.ThreadsX)
		st.Bind(y, "threadIdx.y")
		st.Bind(x, "threadIdx.x")
		sum.ComputeAt(st, x)
	}
	a.products.ComputeAt(a.all, chunk)
	a.sumOutside(a.products)
	a.sumOutside(a.scores)
	value.ComputeAt(a.products, a.products.ReduceAxes()[0])
	if lanes > 1 {
		value.Vectorize(value.Axes()[len(value.Axes())-1])
	}
	q.ComputeAt(a.root, block)
	k.ComputeAt(a.all, chunk)
	v.ComputeAt(a.all, chunk)
	for _, st := range []*te.Stage{q, k, v} {
		a.fetch(st)
	}
	axes := k.Axes()
	k.StorageAlign(axes[len(axes)-2], 2, 1)
}

// lanes returns how many adjacent elements of a value a thread computes, so that the threads of a row load and store
// adjacent vectors: a power of two that divides the elements, of at most 16 bytes.
func (a *attention) lanes() int {
	n := max(1, 16/typeBytes(a.v.ProducerDType()))
	for n > 1 && (a.e%n != 0 || n*a.ThreadsX > a.e) {
		n /= 2
	}
	return n
}

// sumOutside puts the loop of a reduction outside of all loops over elements.
func (a *attention) sumOutside(st *te.Stage) {
	st.Reorder(append(st.ReduceAxes(), st.Axes()...)...)
}

// fetch copies a tile to shared memory by all threads.
func (a *attention) fetch(st *te.Stage) {
	axes := st.Axes()
	all := st.Fuse(axes[len(axes)-2], axes[len(axes)-1])
	rest, x := st.Split(all, a.ThreadsX)
	_, y := st.Split(rest, a.ThreadsY)
	st.Bind(y, "threadIdx.y")
	st.Bind(x, "threadIdx.x")
}
