package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/te/schedule/rows"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Rows holds the parameters of operators that reduce rows and use the results for each element, such as softmax and
// the norms. The threads of a row keep its elements in registers, so that each is read once.
type Rows struct {
	Threads     int // threads of a block; a row has at most as many
	WarpRow     int // longest row, in elements, that the threads of a warp compute
	PerThread   int // elements of a longer row per thread, as long as the row has fewer than Threads
	Registers   int // 32-bit registers of a thread for a row at most: longer rows are read twice
	VectorBytes int // bytes that a thread loads and stores at once, of the widest type
	Columns     int // threads of a block that compute neighboring rows, if rows are not contiguous
	Shuffle     int // threads that combine their parts by shuffles; 1: in shared memory alone

	// RowThreads is the number of threads of a block if each thread computes rows of its own, as on a CPU: by vectors if
	// VectorBytes is large enough for two elements. 0: threads compute a row together.
	RowThreads int
}

// defaultRows returns the parameters for a target. On a CPU a thread computes a row alone, without barriers: by the
// CPU's vectors if the language has them; otherwise the driver makes vectors of neighboring threads.
func defaultRows(l Limits) Rows {
	r := Rows{Threads: powerBelow(min(1024, l.Threads)), WarpRow: 1024, PerThread: 16, Registers: 32, VectorBytes: 16,
		Shuffle: 1}
	r.Columns = min(32, r.Threads)
	if l.Shuffles {
		r.Shuffle = powerBelow(min(l.Warp, 128))
	}
	if l.OnCPU { // a row is in the caches of the CPU
		r.RowThreads, r.VectorBytes, r.Registers = 1, 64, 1<<12
		if l.Lanes < 8 {
			r.RowThreads, r.VectorBytes = min(8, l.Threads), 1
		}
	}
	return r
}

func (r *Rows) check(l Limits) error {
	for _, err := range []error{
		powerOfTwo("Threads", r.Threads, 1, l.Threads, "the target's max_threads_per_block"),
		between("WarpRow", r.WarpRow, 1, 1<<20, "elements"),
		between("PerThread", r.PerThread, 1, 1<<10, "elements"),
		between("Registers", r.Registers, 1, 1<<14, "a thread has no more"),
		powerOfTwo("VectorBytes", r.VectorBytes, 1, 128, "16 values of 8 bytes"),
		powerOfTwo("Columns", r.Columns, 1, r.Threads, "Threads"),
		between("RowThreads", r.RowThreads, 0, l.Threads, "the target's max_threads_per_block"),
		powerOfTwo("Shuffle", r.Shuffle, 1, max(1, min(l.Warp, 128)), "the target's thread_warp_size"),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// rowGroup is a group that reduces rows and uses the results, and how its tensors read the elements of a row.
type rowGroup struct {
	*Rows
	l      Limits
	s      *te.Schedule
	root   *te.Tensor
	parts  []*te.Tensor // all others, each after those that it reads
	within []bool       // per dimension of an element's tensor: whether it is inside a row
	each   int64        // if not 0, a row has each indices of dimension 1 (of the channels)
	values bool         // the root has one value per row; otherwise it has the elements
	shape  []tir.Expr   // of the tensors with the elements
	rows   int64        // the number of rows; -1: unknown
	length int64        // of a row, in elements; -1: unknown
	along  bool         // adjacent elements belong to one row
	twice  bool         // no registers hold a row
}

// group schedules a group that reduces rows and uses the results; false if it is not such a group.
func (r *Rows) group(g *schedule.Group, full *Reduction, e *Elementwise, l Limits) bool {
	d := &rowGroup{Rows: r, l: l, s: g.Schedule, root: g.Root, parts: g.Parts()}
	if g.Op == nil || len(d.parts) == 0 {
		return false
	}
	if g.Result != g.Root {
		d.parts = append(d.parts, g.Result)
	}
	if r.RowThreads > 0 && r.byVectors(l).Operator(d.s, d.root, d.parts, g.Op.InverseDivisor) {
		return true
	}
	if !d.analyze() {
		return false
	}
	threads, lanes := d.divided()
	if threads == 0 {
		d.together()
		return d.long(g, full, e)
	}
	if g.Op.InverseDivisor {
		d.parts = rows.MultiplyByInverse(d.s, d.root, d.parts)
	}
	d.kernel(threads, lanes, d.keep())
	return true
}

// together makes threads compute a long row together where each would compute rows of its own: llvmpipe ends
// all loops of a thread after 65535 iterations.
func (d *rowGroup) together() {
	if d.l.ThreadLanes {
		own := *d.Rows
		own.RowThreads = 0
		d.Rows = &own
	}
}

// analyze finds the dimensions of rows; false if the group has another form.
func (d *rowGroup) analyze() bool {
	d.rows, d.length = 1, 1
	root := d.s.Stage(d.root)
	var first *te.Stage
	for _, t := range d.parts {
		st := d.s.Stage(t)
		if len(st.Formulas()) != 1 {
			return false
		}
		if first == nil && len(st.ReduceAxes()) > 0 {
			first = st
		}
	}
	if first == nil || len(root.ReduceAxes()) > 0 || len(root.Formulas()) != 1 {
		return false
	}
	elements := d.base(first)
	if elements == nil {
		return false
	}
	shape := elements.ProducerShape()
	d.shape = shape
	d.values = len(root.Axes()) != len(shape) || !sameShape(d.root.ProducerShape(), shape)
	for _, a := range first.ReduceAxes() {
		product(&d.length, a.Extent)
	}
	for _, a := range first.Axes() {
		product(&d.rows, a.Extent)
	}
	for i, n := range shape {
		if c, ok := n.(*tir.IntImm); !ok || c.Value != 1 {
			d.along = d.within[i] || i == 1 && d.each > 1
		}
	}
	for _, t := range d.parts {
		if !d.regular(t, shape) {
			return false
		}
	}
	return d.regular(d.root, shape)
}

// base returns the tensor of the elements that a reduction reads, and finds the dimensions within a row; nil if the
// indices have another form.
func (d *rowGroup) base(st *te.Stage) *te.Tensor {
	var found *te.Tensor
	schedule.EachLoad(st, func(l *tir.ProducerLoad) {
		if found != nil {
			return
		}
		within := make([]bool, len(l.Indices))
		count, each := 0, int64(0)
		for i, x := range l.Indices {
			for _, k := range st.ReduceAxes() {
				if !uses(x, k) {
					continue
				}
				within[i] = true
				count++
				if n, ok := k.Extent.(*tir.IntImm); ok && i == 1 && x != tir.Expr(k.Var) {
					each = n.Value
				}
			}
		}
		if count == len(st.ReduceAxes()) {
			found, d.within, d.each = l.Producer.(*te.Tensor), within, each
		}
	})
	return found
}

func uses(e tir.Expr, axis *tir.IterVar) bool {
	return tir.Contains(e, func(n any) bool { return n == any(axis.Var) })
}

// regular reports whether a tensor of the group reads elements at its own position, and whether it has one value per
// element or one per row.
func (d *rowGroup) regular(t *te.Tensor, shape []tir.Expr) bool {
	st := d.s.Stage(t)
	count := int64(1)
	for _, a := range st.Axes() {
		product(&count, a.Extent)
	}
	element := len(st.Axes()) == len(shape) && len(st.ReduceAxes()) == 0 && sameShape(t.ProducerShape(), shape)
	if !element && count != d.rows {
		return false
	}
	if len(st.ReduceAxes()) > 0 {
		length := int64(1)
		for _, a := range st.ReduceAxes() {
			product(&length, a.Extent)
			if low, ok := a.Min.(*tir.IntImm); !ok || low.Value != 0 {
				return false
			}
		}
		r := st.Formulas()[0].(*tir.Reduce)
		if length != d.length || r.Cond != nil || len(r.Sources) > 1 || d.position(st) == nil {
			return false
		}
	}
	ok := true
	schedule.EachLoad(st, func(l *tir.ProducerLoad) {
		from := l.Producer.(*te.Tensor)
		if d.length != 1 && slices.Contains(d.parts, from) && sameShape(from.ProducerShape(), shape) &&
			len(d.s.Stage(from).ReduceAxes()) == 0 {
			ok = ok && d.atPosition(st, l)
		}
	})
	return ok
}

// position returns the indices of the element that a stage computes, or reads if it is a reduction; nil if the stage
// has another form.
func (d *rowGroup) position(st *te.Stage) []tir.Expr {
	axes, reduce := st.Axes(), st.ReduceAxes()
	at := make([]tir.Expr, len(d.within))
	if len(reduce) == 0 {
		if len(axes) != len(at) {
			return nil
		}
		for i, a := range axes {
			at[i] = a.Var
		}
		return at
	}
	next, k := 0, 0
	for i, within := range d.within {
		switch {
		case within && k == len(reduce), !within && next == len(axes):
			return nil
		case within && d.each > 0 && i == 1: // the channels of a group
			at[i] = tir.Add(tir.Mul(axes[next].Var, tir.IntConst(axes[next].Var.Type, d.each)), reduce[k].Var)
			next++
			k++
		case within:
			at[i] = reduce[k].Var
			k++
			if len(axes) == len(at) && d.each == 0 { // the dimension remains, with size 1
				next++
			}
		default:
			at[i] = axes[next].Var
			next++
		}
	}
	if k < len(reduce) || next < len(axes) {
		return nil
	}
	return at
}

// atPosition reports whether a stage reads a tensor at the position of its own element.
func (d *rowGroup) atPosition(st *te.Stage, l *tir.ProducerLoad) bool {
	at := d.position(st)
	if len(l.Indices) != len(at) {
		return false
	}
	for i, x := range l.Indices {
		if at[i].DType() != x.DType() || at[i] != x && !arith.ProveEqual(at[i], x) {
			return false
		}
	}
	return true
}

func sameShape(a, b []tir.Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].DType() != b[i].DType() || !arith.ProveEqual(a[i], b[i]) {
			return false
		}
	}
	return true
}

// product multiplies a number of elements by a size; -1 stands for an unknown number.
func product(all *int64, size tir.Expr) {
	n, ok := size.(*tir.IntImm)
	switch {
	case !ok || *all < 0:
		*all = -1
	case n.Value > 0 && *all > (1<<62)/n.Value:
		*all = 1 << 62
	default:
		*all *= n.Value
	}
}

// byVectors computes a row per thread by vectors.
func (r *Rows) byVectors(l Limits) rows.Scheduler {
	return rows.Scheduler{
		Lanes: func(t tir.Type) int {
			if !tir.IsFloat(t) || t.Bits < 32 {
				return 0
			}
			if n := min(maxLanes, r.VectorBytes*8/int(t.Bits)); n > 1 {
				return n
			}
			return 0
		},
		Distribute: func(st *te.Stage, all *tir.IterVar, several bool) *tir.IterVar {
			block, own := st.Split(all, r.RowThreads)
			again, block := gridLimited(st, block, l.Grid[0])
			st.Reorder(append(append([]*tir.IterVar{block}, again...), own)...)
			st.Bind(block, "blockIdx.x")
			st.Bind(own, "threadIdx.x")
			return own
		},
	}
}
