package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// sumsPad is the number of elements after each row of sums in shared memory. The threads of a warp hold pairs of
// columns of 8 rows: with it, half a warp stores to different memory banks.
const sumsPad = 8

// fragments is the form of a contraction that warps compute by fragments, as tensors. Tiles are dimensions of their
// own, padded with zeros to their full size: all fragments are whole.
//
//   - shared operands: [batch, tile, step, lane, product], where a lane is a row or column of the block; lane and
//     product are swapped if the operand's lanes are adjacent in memory
//   - fragments of operands: [batch, tile, step, fragment of the step, warp, fragment of the warp, and two dimensions
//     within the fragment]
//   - sums: [batch, row tile, column tile, row warp, row fragment, column warp, column fragment, row, column]
//   - stored sums, in shared memory: [batch, row tile, column tile, row, column]
//
// The threads of a block copy the stored sums to the result, and apply the rest of its formula to them: the layout of
// sums in the registers of a warp is not known here.
type fragments struct {
	*contraction
	fragmentTile
	l          Limits
	operands   [2]tir.Expr
	dimensions [2][]*tir.IterVar // m and n
	swapped    [2]bool
	shared     [2]*te.Tensor
	own        [2]*te.Tensor
	sums       *te.Tensor
	stored     *te.Tensor
}

func newFragments(c *contraction, t fragmentTile, l Limits) *fragments {
	p := &fragments{contraction: c, fragmentTile: t, l: l, operands: [2]tir.Expr{c.left, c.right},
		dimensions: [2][]*tir.IterVar{c.m, c.n}}
	for d, name := range []string{"left", "right"} {
		p.swapped[d] = p.adjacentLanes(d)
		p.shared[d] = p.sharedOperand(name+".shared", d)
		p.own[d] = p.fragmentOperand(name, d)
	}
	p.sums = p.fragmentSums()
	p.stored = p.storedSums()
	return p
}

// adjacentLanes reports whether neighbours along the last of m or n, not along k, are adjacent in memory.
func (p *fragments) adjacentLanes(d int) bool {
	lane, product := p.dimensions[d], p.k
	found := false
	tir.Walk(p.operands[d], func(n any) bool {
		load, ok := n.(*tir.ProducerLoad)
		if !ok {
			return true
		}
		a := access{load.Producer.(*te.Tensor), load.Indices}
		if a.along(product[len(product)-1]) == contiguous {
			found = false
			return false
		}
		found = found || a.along(lane[len(lane)-1]) == contiguous
		return false
	})
	return found
}

// sharedOperand is a block's operand of a step, with zeros beyond its size.
func (p *fragments) sharedOperand(name string, d int) *te.Tensor {
	formula, axes, block := p.operands[d], p.dimensions[d], p.block[d]
	batch := among(formula, p.batch)
	size, depth := fusedSize(axes), fusedSize(p.k)
	lanes, products := tir.IntConst(size.DType(), int64(block)), tir.IntConst(depth.DType(), int64(p.depth))
	shape := append(extents(batch), ceilDiv(size, block), ceilDiv(depth, p.depth), lanes, products)
	n := len(batch)
	if p.swapped[d] {
		shape[n+2], shape[n+3] = shape[n+3], shape[n+2]
	}
	return te.Compute(shape, p.result.ProducerName()+"."+name, func(i ...tir.Expr) tir.Expr {
		lane, product := i[n+2], i[n+3]
		if p.swapped[d] {
			lane, product = product, lane
		}
		at, k := tir.Add(tir.Mul(i[n], lanes), lane), tir.Add(tir.Mul(i[n+1], products), product)
		to := unfused(axes, at)
		for v, x := range unfused(p.k, k) {
			to[v] = x
		}
		for b, a := range batch {
			to[a.Var] = i[b]
		}
		value := tir.Substitute(formula, to)
		var inside tir.Expr
		for _, x := range []struct {
			at, size tir.Expr
			tile     int
		}{{at, size, block}, {k, depth, p.depth}} {
			if n, ok := tir.IntValue(x.size); ok && n%int64(x.tile) == 0 {
				continue
			}
			if within := tir.LT(x.at, x.size); inside == nil {
				inside = within
			} else {
				inside = tir.And(inside, within)
			}
		}
		if inside == nil {
			return value
		}
		return tir.Intrin("if_then_else", inside, value, tir.Const(value.DType(), 0))
	})
}

// size is the number of rows of a left fragment, and of columns of a right one.
func (p *fragments) size(d int) int { return []int{p.M, p.N}[d] }

// fragmentOperand is a warp's operand of a part of a step.
func (p *fragments) fragmentOperand(name string, d int) *te.Tensor {
	t := p.shared[d]
	shape := t.ProducerShape()
	n := len(shape) - 2
	typ := fusedSize(p.dimensions[d]).DType()
	num := func(v int) tir.Expr { return tir.IntConst(typ, int64(v)) }
	size, per := p.size(d), p.warp[d]/p.size(d)
	within := []tir.Expr{num(size), num(p.K)}
	if d == 1 {
		slices.Reverse(within)
	}
	own := append(slices.Clone(shape[:n]), num(p.depth/p.K), num(p.block[d]/p.warp[d]), num(per), within[0], within[1])
	return te.Compute(own, p.result.ProducerName()+"."+name, func(i ...tir.Expr) tir.Expr {
		in, k := i[n+3], i[n+4]
		if d == 1 {
			in, k = k, in
		}
		lane := tir.Add(tir.Mul(tir.Add(tir.Mul(i[n+1], num(per)), i[n+2]), num(size)), in)
		product := tir.Add(tir.Mul(i[n], num(p.K)), k)
		if p.swapped[d] {
			lane, product = product, lane
		}
		at := append(slices.Clone(i[:n]), lane, product)
		for j := range at {
			at[j] = tir.NewCast(shape[j].DType(), at[j])
		}
		return t.At(at...)
	})
}

// outer are the dimensions of sums that are not within a tile: batch and the tiles.
func (p *fragments) outer() []tir.Expr {
	shape := extents(p.batch)
	for d, axes := range p.dimensions {
		shape = append(shape, ceilDiv(fusedSize(axes), p.block[d]))
	}
	return shape
}

// fragmentSums is the sum of products in fragments.
func (p *fragments) fragmentSums() *te.Tensor {
	shape := p.outer()
	n := len(shape)
	for d := range p.dimensions {
		shape = append(shape, tir.I32(int32(p.block[d]/p.warp[d])), tir.I32(int32(p.warp[d]/p.size(d))))
	}
	shape = append(shape, tir.I32(int32(p.M)), tir.I32(int32(p.N)))
	steps := ceilDiv(fusedSize(p.k), p.depth)
	step := te.ReduceAxis(tir.IntConst(steps.DType(), 0), steps, "step")
	part := te.ReduceAxis(tir.I32(0), tir.I32(int32(p.depth/p.K)), "part")
	k := te.ReduceAxis(tir.I32(0), tir.I32(int32(p.K)), "k")
	return te.Compute(shape, p.result.ProducerName()+".sums", func(i ...tir.Expr) tir.Expr {
		factor := func(d int) tir.Expr {
			var at []tir.Expr
			for b, a := range p.batch {
				if uses(p.operands[d], a) {
					at = append(at, i[b])
				}
			}
			in := []tir.Expr{i[n+4], k.Var}
			if d == 1 {
				in = []tir.Expr{k.Var, i[n+5]}
			}
			at = append(at, i[n-2+d], step.Var, part.Var, i[n+2*d], i[n+2*d+1], in[0], in[1])
			for j, size := range p.own[d].ProducerShape() {
				at[j] = tir.NewCast(size.DType(), at[j])
			}
			return tir.NewCast(p.Sum, p.own[d].At(at...))
		}
		return te.Sum(tir.Mul(factor(0), factor(1)), step, part, k)
	})
}

// storedSums are the sums of a block as a matrix.
func (p *fragments) storedSums() *te.Tensor {
	shape := append(p.outer(), tir.I32(int32(p.block[0])), tir.I32(int32(p.block[1])))
	n := len(shape) - 2
	return te.Compute(shape, p.result.ProducerName()+".stored", func(i ...tir.Expr) tir.Expr {
		at := slices.Clone(i[:n])
		var in []tir.Expr
		for d := range p.dimensions {
			warp, size := tir.I32(int32(p.warp[d])), tir.I32(int32(p.size(d)))
			at = append(at, tir.FloorDiv(i[n+d], warp), tir.FloorDiv(tir.FloorMod(i[n+d], warp), size))
			in = append(in, tir.FloorMod(i[n+d], size))
		}
		return p.sums.At(append(at, in...)...)
	})
}

// element is the element of the stored sums for indices of the result.
func (p *fragments) element(i []tir.Expr) tir.Expr {
	value := p.values(i)
	var at, in []tir.Expr
	for _, a := range p.batch {
		at = append(at, value[a])
	}
	for d, axes := range p.dimensions {
		typ := fusedSize(axes).DType()
		block := tir.IntConst(typ, int64(p.block[d]))
		index := fusedIndex(axes, value, typ)
		at = append(at, tir.FloorDiv(index, block))
		in = append(in, tir.NewCast(tir.Int32, tir.FloorMod(index, block)))
	}
	return p.stored.At(append(at, in...)...)
}

// schedule makes the kernel of the group of the product.
func (p *fragments) schedule(g *schedule.Group) {
	s := p.s
	s.Replace(p.result, te.Compute(p.result.ProducerShape(), p.result.ProducerName()+".untiled",
		func(i ...tir.Expr) tir.Expr { return p.element(i) }))
	if g.Result != g.Root {
		s.Stage(g.Result).ComputeInline()
	}
	root := s.Stage(g.Root)
	tile := p.copyResult(root)
	in := newFragmentIntrinsics(p.Fragment)

	stored := s.Stage(p.stored)
	stored.ComputeAt(root, tile)
	stored.SetScope("shared")
	axes := stored.Axes()
	axes = axes[len(axes)-2:]
	stored.StorageAlign(axes[0], 32, sumsPad)
	var warps, fragments, within []*tir.IterVar
	for d, a := range axes {
		warp, x := stored.Split(a, p.warp[d])
		f, x := stored.Split(x, p.size(d))
		stored.Bind(warp, []string{"threadIdx.z", "threadIdx.y"}[d])
		stored.Unroll(f)
		warps, fragments, within = append(warps, warp), append(fragments, f), append(within, x)
	}
	stored.Reorder(slices.Concat(warps, fragments, within)...)
	stored.Tensorize(within[0], in.store)

	sums := s.Stage(p.sums)
	sums.ComputeAt(stored, warps[1])
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
		p.fetch(st, p.swapped[d])
		if p.stages > 1 {
			st.PipelineAsync(p.stages)
		}
	}
}

// lanesOf is the number of threads of a warp.
func (p *fragments) lanesOf() int { return p.l.Warp }

// copyResult distributes the results over blocks and threads, and returns the innermost loop of blocks. Neighboring
// threads store neighboring vectors of a row.
func (p *fragments) copyResult(root *te.Stage) *tir.IterVar {
	b, m, n := p.positions(root, root.Axes())
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
	column, vector := root.Split(column, lanes)
	warp := p.lanesOf()
	perRow := min(warp, p.block[1]/lanes)
	across, x := root.Split(column, perRow)
	rows := p.block[0]
	var low *tir.IterVar
	if perRow < warp && rows >= warp/perRow {
		row, low = root.Split(row, warp/perRow)
	}
	row, y := root.Split(row, p.block[1]/p.warp[1])
	row, z := root.Split(row, p.block[0]/p.warp[0])
	order := append(append(blocks, again...), z, y, row, across)
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
	return append(blocks, again...)[len(blocks)+len(again)-1]
}

// resultLanes is the number of elements that a thread stores at once: at most 4, so that it reads 16 bytes of sums.
func (p *fragments) resultLanes(root *te.Stage, n []*tir.IterVar) int {
	axes := root.Axes()
	lanes := min(4, p.bytes/typeBytes(root.Tensor().ProducerDType()))
	if len(n) != 1 || n[0] != axes[len(axes)-1] {
		return 1
	}
	var others []access
	for _, a := range accesses(p.s, root) {
		if a.tensor == p.stored {
			continue
		}
		if how := a.along(n[0]); how != contiguous && how != constant {
			return 1
		}
		others = append(others, a)
	}
	size, ok := tir.IntValue(n[0].Extent)
	for lanes > 1 && (!ok || size%int64(lanes) != 0 || !aligned(others, n[0], lanes)) {
		lanes /= 2
	}
	return max(1, lanes)
}

// fetch distributes the copy of an operand over the threads of a block. Rows begin at odd multiples of 16 bytes, so
// that 8 of them, which ldmatrix reads at once, are in different memory banks.
func (p *fragments) fetch(st *te.Stage, swapped bool) {
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
}
