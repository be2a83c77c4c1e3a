package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// schedule makes the kernels of the group of the product. If sums have parts, combine schedules their addition.
func (p *fragments) schedule(g *schedule.Group, combine func()) {
	if root, b, m, n := p.roots(g, p.parts, p.element, combine); root != nil {
		p.kernel(root, b, m, n)
	}
}

// kernel makes the kernel that stores a stage, which reads the stored sums. b, m and n are the stage's axes.
func (p *fragments) kernel(root *te.Stage, b, m, n []*tir.IterVar) {
	s := p.s
	warp, rows := p.copyResult(root, b, m, n)
	in := newFragmentIntrinsics(p.Fragment)

	stored := s.Stage(p.stored)
	stored.ComputeAt(root, rows)
	stored.SetScope("shared")
	axes := stored.Axes()
	axes = axes[len(axes)-4:]
	stored.StorageAlign(axes[2], 32, sumsPad)
	across, column := stored.Split(axes[3], p.warp[1])
	f, column := stored.Split(column, p.N)
	stored.Bind(axes[1], "threadIdx.z")
	stored.Bind(across, "threadIdx.y")
	stored.Unroll(f)
	stored.Reorder(axes[1], across, axes[0], f, axes[2], column)
	stored.Tensorize(axes[2], in.store)

	sums := s.Stage(p.sums)
	sums.ComputeAt(root, warp)
	sums.SetScope(tir.ScopeFragmentAcc)
	axes = sums.Axes()
	axes = axes[len(axes)-6:]
	r := sums.ReduceAxes()
	sums.Reorder(r[0], r[1], axes[1], axes[3], axes[4], axes[5], r[2])
	sums.Unroll(r[1])
	sums.Unroll(axes[1])
	sums.Unroll(axes[3])
	sums.Pragma(r[0], "unroll_explicit", false)
	sums.Tensorize(axes[4], in.product)
	for d, t := range p.own {
		st := s.Stage(t)
		st.ComputeAt(sums, r[1])
		st.SetScope([]string{tir.ScopeFragmentA, tir.ScopeFragmentB}[d])
		axes := st.Axes()
		axes = axes[len(axes)-3:]
		st.Unroll(axes[0])
		if p.swapped[d] {
			st.Tensorize(axes[1], in.swapped[d])
		} else {
			st.Tensorize(axes[1], in.load[d])
		}
	}
	for d, t := range p.shared {
		st := s.Stage(t)
		st.ComputeAt(sums, r[0])
		st.SetScope("shared")
		bytes := p.fetch(st, p.swapped[d])
		switch {
		case p.stages < 2:
		case p.l.AsyncCopies && bytes >= 4:
			st.PipelineAsync(p.stages)
		case p.l.AsyncCopies: // registers hold the elements of the next step
			st.Pipeline(2)
		default:
			st.Pipeline(p.stages)
		}
	}
}

// lanesOf is the number of threads of a warp.
func (p *fragments) lanesOf() int { return p.l.Warp }

// copyResult distributes the results over blocks and threads, and returns the innermost loop of warps, and inside it
// the loop over the rows of fragments of each warp. Neighboring threads store neighboring vectors of a row.
func (p *fragments) copyResult(root *te.Stage, b, m, n []*tir.IterVar) (warps, fragments *tir.IterVar) {
	root.Reorder(slices.Concat(b, m, n)...)
	fuse := func(axes []*tir.IterVar) *tir.IterVar {
		f := axes[0]
		for _, a := range axes[1:] {
			f = root.Fuse(f, a)
		}
		return f
	}
	lanes := p.resultLanes(root, n)
	var blocks, again []*tir.IterVar
	if len(b) > 0 {
		more, z := gridLimited(root, fuse(b), p.l.Grid[2])
		root.Bind(z, "blockIdx.z")
		blocks, again = append(blocks, z), append(again, more...)
	}
	var in [2]*tir.IterVar
	for d, axes := range [2][]*tir.IterVar{m, n} {
		var tile *tir.IterVar
		tile, in[d] = root.Split(fuse(axes), p.block[d])
		more, tile := gridLimited(root, tile, p.l.Grid[1-d])
		root.Bind(tile, []string{"blockIdx.y", "blockIdx.x"}[d])
		blocks, again = append(blocks, tile), append(again, more...)
	}
	row, column := in[0], in[1]
	ofWarp, row := root.Split(row, p.warp[0])
	fragments, row = root.Split(row, p.M)
	root.Reorder(fragments, ofWarp, row)
	row = root.Fuse(ofWarp, row)
	root.Unroll(fragments)
	root.Pragma(fragments, "unroll_explicit", false)
	column, vector := root.Split(column, lanes)
	threads := p.lanesOf()
	perRow := min(threads, p.block[1]/lanes)
	across, x := root.Split(column, perRow)
	rows := p.block[0] / p.warp[0] * p.M
	var low *tir.IterVar
	if perRow < threads && rows >= threads/perRow {
		row, low = root.Split(row, threads/perRow)
	}
	row, y := root.Split(row, p.block[1]/p.warp[1])
	row, z := root.Split(row, p.block[0]/p.warp[0])
	order := append(append(blocks, again...), z, y, fragments, row, across)
	if low != nil {
		order = append(order, low)
	}
	root.Reorder(append(order, x, vector)...)
	if low != nil {
		x = root.Fuse(low, x)
	}
	root.Bind(x, "threadIdx.x")
	root.Bind(y, "threadIdx.y")
	root.Bind(z, "threadIdx.z")
	root.Unroll(row)
	root.Pragma(row, "unroll_explicit", false)
	if lanes > 1 {
		root.Vectorize(vector)
	}
	return y, fragments
}

// resultLanes is the number of elements that a thread stores at once: at most 4, so that it reads 16 bytes of sums.
func (p *fragments) resultLanes(root *te.Stage, n []*tir.IterVar) int {
	lanes := min(4, p.bytes/typeBytes(root.Tensor().ProducerDType()))
	for lanes > 1 && !p.storesVectors(root, n, p.stored, lanes) {
		lanes /= 2
	}
	return max(1, lanes)
}

// fetch distributes the copy of an operand over the threads of a block. Rows begin at odd multiples of 16 bytes, so
// that 8 of them, which ldmatrix reads at once, are in different memory banks. It returns the number of bytes that a
// thread copies at once.
func (p *fragments) fetch(st *te.Stage, swapped bool) (bytes int) {
	axes := st.Axes()
	axes = axes[len(axes)-2:]
	width := 16 / typeBytes(p.Operand)
	if swapped && p.Operand.Bits == 32 { // single elements of 4 rows and 8 columns
		st.StorageAlign(axes[0], 32, 8)
	} else {
		st.StorageAlign(axes[0], 2*width, width)
	}
	size, _ := tir.IntValue(axes[1].Extent)
	lanes := (&gemm{contraction: p.contraction, tiling: tiling{bytes: p.bytes}}).lanes(st, axes[1], int(size))
	row, column := axes[0], axes[1]
	var vector, all *tir.IterVar
	if lanes > 1 {
		column, vector = st.Split(column, lanes)
	}
	if lanes == width && int(size)/lanes < 8 { // 8 threads store to 8 rows, which are in different banks
		outer, inner := st.Split(row, 8)
		st.Reorder(outer, column, inner)
		all = st.Fuse(st.Fuse(outer, column), inner)
	} else {
		all = st.Fuse(row, column)
	}
	again, x := st.Split(all, p.lanesOf())
	again, y := st.Split(again, p.block[1]/p.warp[1])
	again, z := st.Split(again, p.block[0]/p.warp[0])
	st.Bind(x, "threadIdx.x")
	st.Bind(y, "threadIdx.y")
	st.Bind(z, "threadIdx.z")
	st.Unroll(again)
	if vector != nil {
		st.Vectorize(vector)
	}
	return lanes * typeBytes(p.Operand)
}
