package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// schedule makes the schedule of the group of the product. If sums have parts, combine schedules their addition.
func (p *gemm) schedule(g *schedule.Group, combine func()) {
	if root, b, m, n := p.roots(g, p.parts, p.sum, combine); root != nil {
		p.kernel(root, b, m, n)
	}
}

// roots returns the stage that a kernel of the product stores, and its axes of batch, m and n; nil after an error. Its
// element for some indices is that of sums. If sums have parts, the stage is a tensor of its own, whose first index is
// the part, the first axis of batch; combine schedules the addition of parts to the result.
func (c *contraction) roots(g *schedule.Group, parts int, sum func(i []tir.Expr) tir.Expr, combine func()) (
	root *te.Stage, b, m, n []*tir.IterVar) {
	s, name, shape := c.s, c.result.ProducerName(), c.result.ProducerShape()
	formula := func(i ...tir.Expr) tir.Expr { return sum(i) }
	if parts > 1 {
		partial := te.Compute(append([]tir.Expr{tir.I32(int32(parts))}, shape...), name+".parts", formula)
		part := te.ReduceAxis(tir.I32(0), tir.I32(int32(parts)), "part")
		s.Replace(c.result, te.Compute(shape, name+".whole", func(i ...tir.Expr) tir.Expr {
			return te.Sum(partial.At(append([]tir.Expr{part.Var}, i...)...), part)
		}))
		combine()
		st := s.Stage(partial)
		axes := st.Axes()
		b, m, n = c.positions(st, axes[1:])
		return st, append([]*tir.IterVar{axes[0]}, b...), m, n
	}
	s.Replace(c.result, te.Compute(shape, name+".untiled", formula))
	if s.Err() != nil {
		return nil, nil, nil, nil
	}
	if g.Result != g.Root {
		s.Stage(g.Result).ComputeInline()
	}
	st := s.Stage(g.Root)
	b, m, n = c.positions(st, st.Axes())
	return st, b, m, n
}

// positions returns the axes of a stage that belong to batch, m and n. axes are those of the result's shape.
func (c *contraction) positions(st *te.Stage, axes []*tir.IterVar) (b, m, n []*tir.IterVar) {
	of := map[*tir.IterVar]*tir.IterVar{}
	for d, a := range c.s.Stage(c.result).Axes() {
		of[a] = axes[d]
	}
	if v := c.divided; v != nil {
		n, _ := tir.IntValue(v.inner.Extent)
		of[v.outer], of[v.inner] = st.Split(of[v.axis], int(n))
	}
	own := func(all []*tir.IterVar) (out []*tir.IterVar) {
		for _, a := range all {
			out = append(out, of[a])
		}
		return out
	}
	return own(c.batch), own(c.m), own(c.n)
}

// kernel makes the kernel that stores a stage, which reads the sums. b, m and n are the stage's axes.
func (p *gemm) kernel(root *te.Stage, b, m, n []*tir.IterVar) {
	thread := p.distribute(root, b, m, n)
	sums := p.s.Stage(p.sums)
	sums.ComputeAt(root, thread)
	sums.SetScope("local")
	step, k := sums.ReduceAxes()[0], sums.ReduceAxes()[1]
	axes := sums.Axes()
	axes = axes[len(axes)-6:]
	sums.Reorder(append([]*tir.IterVar{step, k}, axes...)...)
	for _, a := range []*tir.IterVar{k, axes[0], axes[2], axes[3], axes[5]} {
		sums.Unroll(a)
	}
	sums.Pragma(step, "unroll_explicit", false)
	for d, t := range p.shared {
		st := p.s.Stage(t)
		st.ComputeAt(sums, step)
		st.SetScope("shared")
		p.fetch(st, p.side(d))
		if p.stages > 1 {
			st.Pipeline(p.stages)
		}
	}
	for _, t := range p.own {
		st := p.s.Stage(t)
		st.ComputeAt(sums, k)
		st.SetScope("local")
		axes := st.Axes()
		axes = axes[len(axes)-3:]
		st.Unroll(axes[0])
		st.Vectorize(axes[2])
	}
}

// distribute distributes the results over blocks and threads, and returns the innermost loop of threads.
func (p *gemm) distribute(root *te.Stage, b, m, n []*tir.IterVar) *tir.IterVar {
	root.Reorder(append(append(append([]*tir.IterVar{}, b...), m...), n...)...)
	vector := p.storesVectors(root, n, p.sums, p.cols.run)
	var tiles, warps, lanes, inner []*tir.IterVar
	var counts []tir.Expr
	if len(b) > 0 {
		tiles, counts = append(tiles, fuseAll(root, b)), append(counts, fusedSize(p.batch))
	}
	for d, axes := range [2][]*tir.IterVar{m, n} {
		s, name := p.side(d), []string{"y", "x"}[d]
		tile, in := root.Split(fuseAll(root, axes), s.block)
		piece, in := root.Split(in, s.threads()*s.run)
		thread, run := root.Split(in, s.run)
		warp, lane := root.Split(thread, s.lanes)
		root.Bind(lane, "threadIdx."+name)
		tiles, counts = append(tiles, tile), append(counts, ceilDiv(fusedSize(p.dimensions[d]), s.block))
		warps = append(warps, warp)
		lanes, inner = append(lanes, lane), append(inner, piece, run)
	}
	root.Reorder(slices.Concat(tiles, warps, lanes, inner)...)
	bindTiles(root, tiles, counts, p.l)
	warp := root.Fuse(warps[0], warps[1])
	root.Bind(warp, "threadIdx.z")
	if p.resident > 0 {
		root.Pragma(warp, "min_blocks", p.resident) // transform.AnnotationMinBlocks
	}
	if vector {
		root.Vectorize(inner[3])
		inner = inner[:3]
	}
	for _, a := range inner {
		root.Unroll(a)
		root.Pragma(a, "unroll_explicit", false)
	}
	return lanes[1]
}

// bindTiles binds adjacent loops over tiles to the blocks of a grid: the last one to its dimension x, the others to y
// and z. A loop of unknown length, or of more tiles than its dimension has blocks, is part of x instead if x has no
// limit: where blocks repeat their work, conditions are around all of it. counts are the lengths of the loops.
func bindTiles(root *te.Stage, tiles []*tir.IterVar, counts []tir.Expr, l Limits) {
	const unlimited = 1<<31 - 1
	last := len(tiles) - 1
	var own, joined []*tir.IterVar // of dimensions that they are alone in, and of x
	for d, a := range tiles {
		n, known := tir.IntValue(counts[d])
		limit := l.Grid[last-d]
		if d == last || l.Grid[0] >= unlimited && limit < unlimited && (!known || n > int64(limit)) {
			joined = append(joined, a)
		} else {
			own = append(own, a)
		}
	}
	root.Reorder(append(slices.Clone(own), joined...)...)
	x := fuseAll(root, joined)
	var blocks, again []*tir.IterVar
	for d, a := range append(own, x) {
		dim := len(own) - d
		more, block := gridLimited(root, a, l.Grid[dim])
		root.Bind(block, []string{"blockIdx.x", "blockIdx.y", "blockIdx.z"}[dim])
		blocks, again = append(blocks, block), append(again, more...)
	}
	root.Reorder(append(blocks, again...)...)
}

// fetch distributes the copy of an operand over the threads of a block. Neighboring threads read neighboring vectors.
// If products are contiguous in memory, pairs of threads read vectors of one row, and the pairs neighboring rows, which
// they transpose. Rows of unknown length are aligned nowhere: neighboring threads read elements of a sector.
func (p *gemm) fetch(st *te.Stage, s side) {
	axes := st.Axes()
	axes = axes[len(axes)-2:]
	k, lane := axes[0], axes[1]
	st.StorageAlign(k, 32, rowPad)
	var all, vector *tir.IterVar
	if n := p.lanes(st, k, p.depth); n > 1 {
		var pair *tir.IterVar
		k, vector = st.Split(k, n)
		k, pair = st.Split(k, 2)
		st.Reorder(k, lane, pair, vector)
		all = st.Fuse(st.Fuse(k, lane), pair)
	} else if n := p.lanes(st, lane, s.block); n == 1 && p.scalarRows(st, k) {
		k, in := st.Split(k, min(p.depth, 32/typeBytes(st.Tensor().ProducerDType())))
		st.Reorder(k, lane, in)
		all = st.Fuse(st.Fuse(k, lane), in)
	} else {
		all = st.Fuse(k, lane)
		if n > 1 {
			all, vector = st.Split(all, n)
		}
	}
	if vector != nil {
		st.Vectorize(vector)
	}
	all, x := st.Split(all, p.cols.lanes)
	all, y := st.Split(all, p.rows.lanes)
	again, z := st.Split(all, p.rows.warps*p.cols.warps)
	st.Bind(x, "threadIdx.x")
	st.Bind(y, "threadIdx.y")
	st.Bind(z, "threadIdx.z")
	st.Unroll(again)
}

// scalarRows reports whether an operand is contiguous along the products, and of a tensor whose sizes are unknown.
func (p *gemm) scalarRows(st *te.Stage, k *tir.IterVar) bool {
	return slices.ContainsFunc(accesses(p.s, st), func(a access) bool {
		return a.along(k) == contiguous && slices.ContainsFunc(a.tensor.ProducerShape(), func(size tir.Expr) bool {
			_, known := tir.IntValue(size)
			return !known
		})
	})
}

// lanes is the number of elements that a thread copies at once along an axis of an operand; 1 if they are not
// contiguous.
func (p *gemm) lanes(st *te.Stage, axis *tir.IterVar, size int) int {
	n, reads := size, accesses(p.s, st)
	reads = slices.DeleteFunc(reads, func(a access) bool { return a.along(axis) == constant })
	for _, a := range reads {
		n = min(n, max(1, p.bytes/typeBytes(a.tensor.ProducerDType())))
	}
	scalar := func(a access) bool { return !a.vectors(axis, n) }
	for n > 1 && (len(reads) == 0 || slices.ContainsFunc(reads, scalar)) {
		n /= 2
	}
	return n
}
