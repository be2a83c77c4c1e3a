package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// divided returns how many threads compute a row, and how many adjacent elements a thread loads at once; 0 threads if
// the registers do not hold the row.
func (d *rowGroup) divided() (threads, lanes int) {
	if d.length <= 0 || d.rows == 0 {
		return 0, 0
	}
	most := d.Threads
	switch {
	case d.RowThreads > 0:
		most = 1
	case !d.along:
		most = d.Threads / d.Columns
	}
	lanes = d.lanes()
	count := max(1, (d.length+int64(lanes)-1)/int64(lanes)) // of vectors
	threads = int(min(int64(most), powerAbove((d.length+int64(d.PerThread)-1)/int64(d.PerThread))))
	if d.along && d.length <= int64(d.WarpRow) {
		threads = min(most, max(d.Shuffle, 32))
	}
	threads = min(threads, powerBelow(int(min(count, 1<<30))))
	registers := func() int64 {
		held := (count + int64(threads) - 1) / int64(threads) * int64(lanes)
		return (held*int64(d.bits()) + 31) / 32
	}
	for registers() > int64(d.Registers) && 2*threads <= most && int64(2*threads) <= count {
		threads *= 2
	}
	if registers() > int64(d.Registers) {
		return 0, 0
	}
	return threads, lanes
}

// mostUnrolled is the number of vectors of a thread up to which loops over them are unrolled.
const mostUnrolled = 64

// count returns the number of vectors of a thread.
func (d *rowGroup) count(threads, lanes int) int64 {
	if d.length < 0 || d.twice { // the compiler decides
		return mostUnrolled + 1
	}
	part := int64(threads * lanes)
	return (d.length + part - 1) / part
}

// bits is the size of the widest elements that are kept, each of which takes a register or more.
func (d *rowGroup) bits() int {
	most := 32
	for _, t := range append(slices.Clone(d.parts), d.root) {
		most = max(most, int(t.ProducerDType().Bits))
	}
	return most
}

// lanes returns how many adjacent elements of a row a thread loads and stores at once.
func (d *rowGroup) lanes() int {
	if !d.along {
		return 1
	}
	n := maxLanes
	for _, t := range append(slices.Clone(d.parts), d.root) {
		st := d.s.Stage(t)
		last := lastOf(st.Axes())
		if len(st.ReduceAxes()) > 0 {
			last = lastOf(st.ReduceAxes())
		}
		if last == nil || len(st.ReduceAxes()) == 0 && !d.perElement(st) {
			continue
		}
		size, known := last.Extent.(*tir.IntImm)
		reads := accesses(d.s, st)
		widest := 8 // of memory: what the group computes is in registers
		if t == d.root {
			widest = max(widest, int(t.ProducerDType().Bits))
		}
		for _, a := range reads {
			switch a.along(last) {
			case constant:
				continue
			case contiguous:
				if !slices.Contains(d.parts, a.tensor) {
					widest = max(widest, int(a.tensor.ProducerDType().Bits))
				}
			default:
				return 1
			}
		}
		n = min(n, max(1, d.VectorBytes*8/widest))
		for n > 1 && (!known || size.Value%int64(n) != 0 || !aligned(reads, last, n)) {
			n /= 2
		}
	}
	return n
}

func lastOf(axes []*tir.IterVar) *tir.IterVar {
	if len(axes) == 0 {
		return nil
	}
	return axes[len(axes)-1]
}

// keep makes copies in registers of the tensors whose elements several tensors of the group read at their own position,
// and returns them. Elementwise tensors that only the group reads are computed there.
func (d *rowGroup) keep() []*te.Tensor {
	var order []*te.Tensor
	readers := map[*te.Tensor][]*te.Tensor{}
	note := func(from, reader *te.Tensor) {
		if !slices.Contains(order, from) {
			order = append(order, from)
		}
		if !slices.Contains(readers[from], reader) {
			readers[from] = append(readers[from], reader)
		}
	}
	members := append(slices.Clone(d.parts), d.root)
	for _, t := range members {
		st := d.s.Stage(t)
		schedule.EachLoad(st, func(l *tir.ProducerLoad) {
			from := l.Producer.(*te.Tensor)
			if !slices.Contains(members, from) && d.atPosition(st, l) {
				note(from, t)
			}
		})
	}
	var kept []*te.Tensor
	for i := 0; i < len(order); i++ {
		t := order[i]
		st := d.s.Stage(t)
		elementwise := d.fusible(st, readers[t])
		if len(readers[t]) == 1 && elementwise { // its own data may have other readers
			st.ComputeInline()
			schedule.EachLoad(st, func(l *tir.ProducerLoad) {
				if d.atPosition(st, l) {
					note(l.Producer.(*te.Tensor), t)
				}
			})
			continue
		}
		if len(readers[t]) > 1 {
			if elementwise {
				st.ComputeInline()
			}
			kept = append(kept, d.s.CacheRead(t, "local", readers[t]...))
		}
	}
	return kept
}

// fusible reports whether a tensor is elementwise, and only the given tensors read it.
func (d *rowGroup) fusible(st *te.Stage, readers []*te.Tensor) bool {
	if st.IsPlaceholder() || st.IsOutput() || len(st.ReduceAxes()) > 0 || len(st.Tensor().Bodies()) != 1 ||
		len(st.Axes()) != len(d.within) || st.ScanUpdate() != nil {
		return false
	}
	if o := schedule.Of(st.Tensor()); o != nil && len(o.Parts) > 0 {
		return false
	}
	for _, other := range d.s.Stages() {
		if !slices.Contains(readers, other.Tensor()) && slices.Contains(other.Reads(), st.Tensor()) {
			return false
		}
	}
	return true
}

// kernel makes the kernel of the group, in which the given number of threads computes a row.
func (d *rowGroup) kernel(threads, lanes int, kept []*te.Tensor) {
	x, y := threads, d.neighbors(threads)
	over, across := "threadIdx.y", "threadIdx.x" // threads of a block over rows, and over the elements of one
	if !d.along || x == 1 {
		over, across = across, over
	}
	st := d.s.Stage(d.root)
	rows, elements := d.axes(st)
	outer, all := fuseLimited(st, rows)
	order := bindRows(st, outer, all, y, over, d.l)
	own := order[len(order)-1]
	at := own
	var rest []*tir.IterVar
	if len(elements) > 0 {
		rest = d.distribute(st, fuseAll(st, elements), x, lanes, across)
		if x > 1 {
			at, rest = rest[0], rest[1:]
			order = append(order, at)
		}
		if n := len(rest); lanes > 1 {
			st.Vectorize(rest[n-1])
		}
		order = append(order, rest...)
	} else if x > 1 {
		at = st.UnitAxis("part")
		st.Bind(at, across)
		order = append(order, at)
	}
	st.Reorder(order...)
	for _, t := range slices.Backward(d.parts) {
		part := d.s.Stage(t)
		switch {
		case len(part.ReduceAxes()) > 0:
			part.ComputeAt(st, at)
			d.reduce(part, x, lanes, across)
		case t != d.root && d.onlyReader(t):
			part.ComputeInline()
		default:
			part.ComputeAt(st, at)
			if d.perElement(part) {
				d.spread(part, x, lanes, across)
			}
		}
	}
	for _, t := range kept {
		part := d.s.Stage(t)
		part.ComputeAt(st, at)
		if v := d.spread(part, x, lanes, across); v != nil {
			part.Vectorize(v)
		}
	}
}

// neighbors returns the number of rows of a block.
func (d *rowGroup) neighbors(threads int) int {
	switch {
	case d.RowThreads > 0:
		return d.RowThreads
	case !d.along:
		return d.Columns
	}
	n := max(1, min(d.Threads, 128)/threads)
	if d.rows >= 0 {
		n = int(min(int64(n), powerAbove(max(1, d.rows))))
	}
	return n
}

// axes returns the loops of the root over rows and over the elements of a row.
func (d *rowGroup) axes(st *te.Stage) (rows, elements []*tir.IterVar) {
	axes := st.Axes()
	if d.values {
		return axes, nil
	}
	for i, a := range axes {
		switch {
		case d.each > 0 && i == 1:
			group, channel := st.Split(a, int(d.each))
			rows, elements = append(rows, group), append(elements, channel)
		case d.within[i]:
			elements = append(elements, a)
		default:
			rows = append(rows, a)
		}
	}
	st.Reorder(append(slices.Clone(rows), elements...)...)
	return rows, elements
}

// perElement reports whether a part has one value per element.
func (d *rowGroup) perElement(st *te.Stage) bool {
	return d.length != 1 && sameShape(st.Tensor().ProducerShape(), d.shape)
}

// onlyReader reports whether the root alone reads a part with one value per element.
func (d *rowGroup) onlyReader(t *te.Tensor) bool {
	st := d.s.Stage(t)
	if !d.perElement(st) {
		return false
	}
	for _, other := range d.s.Stages() {
		if other.Tensor() != d.root && slices.Contains(other.Reads(), t) {
			return false
		}
	}
	return true
}

// distribute distributes the elements of a row over threads: adjacent threads have adjacent vectors. It returns the
// loop that is bound to threads, unless it is one thread, that over the vectors of a thread, and that over a vector,
// unless it has one element.
func (d *rowGroup) distribute(st *te.Stage, k *tir.IterVar, threads, lanes int, index string) (loops []*tir.IterVar) {
	var lane *tir.IterVar
	if lanes > 1 {
		k, lane = st.Split(k, lanes)
	}
	if threads > 1 {
		outer, thread := st.Split(k, threads)
		st.Bind(thread, index)
		loops, k = append(loops, thread), outer
	}
	if d.count(threads, lanes) <= mostUnrolled { // an index that is not constant would need memory instead of registers
		st.Unroll(k)
		st.Pragma(k, "unroll_explicit", false)
	}
	if loops = append(loops, k); lane != nil {
		loops = append(loops, lane)
	}
	return loops
}

// spread distributes a tensor with the elements of a row over the registers of threads. It returns the loop over a
// vector, or nil.
func (d *rowGroup) spread(st *te.Stage, threads, lanes int, index string) *tir.IterVar {
	var other, elements []*tir.IterVar
	for i, a := range st.Axes() {
		if d.within[i] {
			elements = append(elements, a)
		} else {
			other = append(other, a)
		}
	}
	st.Reorder(append(other, elements...)...)
	loops := d.distribute(st, fuseAll(st, elements), threads, lanes, index)
	st.Reorder(loops...)
	st.SetScope("local")
	if lanes > 1 {
		return loops[len(loops)-1]
	}
	return nil
}

// reduce makes the threads of a row reduce it together.
func (d *rowGroup) reduce(st *te.Stage, threads, lanes int, index string) {
	loops := d.distribute(st, fuseAll(st, st.ReduceAxes()), threads, lanes, index)
	st.Reorder(loops...)
	if lanes > 1 {
		st.Unroll(loops[len(loops)-1])
	}
	if threads > 1 && index == "threadIdx.x" && d.Shuffle > 1 {
		st.ReduceByShuffle(d.Shuffle)
	}
}

// fuseAll fuses adjacent loops.
func fuseAll(st *te.Stage, axes []*tir.IterVar) *tir.IterVar {
	all := axes[0]
	for _, a := range axes[1:] {
		all = st.Fuse(all, a)
	}
	return all
}
