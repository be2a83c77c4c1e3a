package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// panels is the form of a contraction for drivers that run kernels on a CPU, where shared memory is not faster, and a
// block is a loop of one CPU thread. A block computes tiles of rows one below the other, each in registers. Its threads
// are those of a warp, the lanes of a vector, and share the columns of a tile.
//
// A single thread copies the right operands of its columns into private memory, where they are contiguous. The threads
// of a warp read them where they are; if they can exchange values, each loads other left operands, for all.
type panels struct {
	*contraction
	l        Limits
	rows     int  // of a tile
	tiles    int  // of a block
	cols     side // of a tile
	depth    int  // products of a sum that the threads load left operands of together; 1: each loads its own
	private  bool // right operands are copied for a whole block
	left     *te.Tensor
	right    *te.Tensor // [batch, column tile, step, product, piece, thread, run]
	exchange *te.Tensor // the left operands that a thread loads: [batch, row tile, step, row, thread]
	sums     *te.Tensor // [batch, row tile, column tile, row, piece, thread, run]
}

func (p *panels) schedule(g *schedule.Group) {
	s, name := p.s, p.result.ProducerName()
	p.left = p.leftOperand(name)
	p.right = p.rightOperand(name + ".right")
	p.sums = p.tileSums(name + ".sums")
	s.Replace(p.result, te.Compute(p.result.ProducerShape(), name+".untiled", func(i ...tir.Expr) tir.Expr {
		return p.sum(i)
	}))
	if s.Err() != nil {
		return
	}
	if g.Result != g.Root {
		s.Stage(g.Result).ComputeInline()
	}
	root := s.Stage(g.Root)
	thread, tile := p.distribute(root)

	sums := s.Stage(p.sums)
	sums.ComputeAt(root, tile)
	sums.SetScope("local")
	axes := sums.Axes()
	axes = axes[len(axes)-4:]
	step, k := sums.ReduceAxes()[0], sums.ReduceAxes()[1]
	sums.Reorder(append([]*tir.IterVar{step, k}, axes...)...)
	if p.depth > 1 {
		sums.Unroll(k)
	}
	for _, a := range axes[:2] {
		sums.Unroll(a)
	}
	sums.Vectorize(axes[3])

	left, right := s.Stage(p.left), s.Stage(p.right)
	right.SetScope("local")
	axes = right.Axes()
	axes = axes[len(axes)-3:]
	right.Unroll(axes[0])
	right.Vectorize(axes[2])
	if p.cols.threads() == 1 {
		left.ComputeInline()
		if p.private {
			right.ComputeAt(root, thread)
		} else {
			right.ComputeAt(sums, k)
		}
		return
	}
	right.ComputeAt(sums, k)
	left.ComputeAt(sums, k)
	left.SetScope("local")
	axes = left.Axes()
	left.Unroll(axes[len(axes)-2])
	if p.exchange != nil {
		st := s.Stage(p.exchange)
		st.ComputeAt(sums, step)
		st.SetScope("local")
		axes := st.Axes()
		st.Unroll(axes[len(axes)-2])
	}
}

// distribute distributes the results over blocks and threads. It returns the loop of threads, and that of the tiles of
// a block.
func (p *panels) distribute(root *te.Stage) (thread, tile *tir.IterVar) {
	b, m, n := p.positions(root, root.Axes())
	root.Reorder(append(append(append([]*tir.IterVar{}, b...), m...), n...)...)
	var order, again []*tir.IterVar
	if len(b) > 0 {
		more, z := gridLimited(root, fuseAll(root, b), p.l.Grid[2])
		root.Bind(z, "blockIdx.z")
		order, again = append(order, z), append(again, more...)
	}
	tile, row := root.Split(fuseAll(root, m), p.rows)
	block, tile := root.Split(tile, p.tiles)
	col, in := root.Split(fuseAll(root, n), p.cols.block)
	piece, in := root.Split(in, p.cols.threads()*p.cols.run)
	thread, run := root.Split(in, p.cols.run)
	more, block := gridLimited(root, block, p.l.Grid[1])
	again = append(again, more...)
	more, col = gridLimited(root, col, p.l.Grid[0])
	again = append(again, more...)
	root.Bind(block, "blockIdx.y")
	root.Bind(col, "blockIdx.x")
	root.Bind(thread, "threadIdx.x")
	order = append(append(append(order, block, col), again...), thread)
	root.Reorder(append(order, tile, row, piece, run)...)
	root.Unroll(row)
	root.Unroll(piece)
	root.Vectorize(run)
	return thread, tile
}

// product is the position in the sum of a product of a step.
func (p *panels) product(step, k tir.Expr) tir.Expr {
	return tir.Add(tir.Mul(step, tir.IntConst(k.DType(), int64(p.depth))), k)
}

// steps are the sizes of the two dimensions of products.
func (p *panels) steps() []tir.Expr {
	depth := fusedSize(p.k)
	return []tir.Expr{ceilDiv(depth, p.depth), tir.IntConst(depth.DType(), int64(p.depth))}
}

// leftOperand is the left operand of one product of each sum of a thread:
// [batch, row tile, step, product, row, thread]. The last tile repeats the last row.
func (p *panels) leftOperand(name string) *te.Tensor {
	batch, rows := among(p.contraction.left, p.batch), fusedSize(p.m)
	tiles := append(extents(batch), ceilDiv(rows, p.rows))
	own := []tir.Expr{tir.IntConst(rows.DType(), int64(p.rows)), tir.I32(int32(p.cols.threads()))}
	value := func(i []tir.Expr, k, row tir.Expr) tir.Expr {
		at := tir.Add(tir.Mul(i[len(batch)], own[0]), row)
		if size, ok := tir.IntValue(rows); !ok || size%int64(p.rows) != 0 {
			at = tir.Min(at, tir.Sub(rows, tir.IntConst(rows.DType(), 1)))
		}
		to := unfused(p.m, at)
		for v, x := range unfused(p.k, k) {
			to[v] = x
		}
		for b, a := range batch {
			to[a.Var] = i[b]
		}
		return tir.Substitute(p.contraction.left, to)
	}
	n := len(tiles)
	if p.depth > 1 {
		p.exchange = te.Compute(append(append(slices.Clone(tiles), p.steps()[0]), own...), name+".left.part",
			func(i ...tir.Expr) tir.Expr {
				return value(i, p.product(i[n], tir.NewCast(i[n].DType(), i[n+2])), i[n+1])
			})
	}
	return te.Compute(append(append(tiles, p.steps()...), own...), name+".left", func(i ...tir.Expr) tir.Expr {
		if p.exchange == nil {
			return value(i, p.product(i[n], i[n+1]), i[n+2])
		}
		mine := p.exchange.At(append(slices.Clone(i[:n+1]), i[n+2:]...)...)
		return tir.NewCall(tir.CallIntrinsic, mine.DType(), "warp_shuffle", mine, tir.NewCast(tir.Int32, i[n+1]))
	})
}

// rightOperand is the right operand of a block. Beyond its columns it has zeros, or repeats the last ones.
func (p *panels) rightOperand(name string) *te.Tensor {
	batch, size, s := among(p.contraction.right, p.batch), fusedSize(p.n), p.cols
	num := func(v int) tir.Expr { return tir.IntConst(size.DType(), int64(v)) }
	shape := append(append(extents(batch), ceilDiv(size, s.block)), p.steps()...)
	shape = append(shape, num(s.pieces()), num(s.threads()), num(s.run))
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		n := len(batch)
		at := tir.Mul(tir.Add(tir.Mul(tir.Add(tir.Mul(i[n], num(s.pieces())), i[n+3]), num(s.threads())), i[n+4]),
			num(s.run))
		known, ok := tir.IntValue(size)
		whole, runs := ok && known%int64(s.block) == 0, ok && known%int64(s.run) == 0
		if !whole && runs && !p.private {
			at = tir.Min(at, tir.Sub(size, num(s.run)))
		}
		at = tir.Add(at, i[n+5])
		if !runs && !p.private {
			at = tir.Min(at, tir.Sub(size, num(1)))
		}
		to := unfused(p.n, at)
		for v, x := range unfused(p.k, p.product(i[n+1], i[n+2])) {
			to[v] = x
		}
		for b, a := range batch {
			to[a.Var] = i[b]
		}
		value := tir.Substitute(p.contraction.right, to)
		if whole || !p.private {
			return value
		}
		return tir.Intrin("if_then_else", tir.LT(at, size), value, tir.Const(value.DType(), 0))
	})
}

func (p *panels) tileSums(name string) *te.Tensor {
	rows, cols, s := fusedSize(p.m), fusedSize(p.n), p.cols
	num := func(v int) tir.Expr { return tir.IntConst(cols.DType(), int64(v)) }
	shape := append(extents(p.batch), ceilDiv(rows, p.rows), ceilDiv(cols, s.block),
		tir.IntConst(rows.DType(), int64(p.rows)), num(s.pieces()), num(s.threads()), num(s.run))
	var reduce []*tir.IterVar
	for d, n := range p.steps() {
		reduce = append(reduce, te.ReduceAxis(tir.IntConst(n.DType(), 0), n, []string{"step", "k"}[d]))
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		var left, right []tir.Expr
		for b, a := range p.batch {
			if uses(p.contraction.left, a) {
				left = append(left, i[b])
			}
			if uses(p.contraction.right, a) {
				right = append(right, i[b])
			}
		}
		n, step, k := len(p.batch), reduce[0].Var, reduce[1].Var
		left = append(left, i[n], step, k, i[n+2], tir.NewCast(tir.Int32, i[n+4]))
		right = append(right, i[n+1], step, k, i[n+3], i[n+4], i[n+5])
		return te.Sum(tir.Mul(p.left.At(left...), p.right.At(right...)), reduce...)
	})
}

// sum is the element of sums for indices of the result.
func (p *panels) sum(i []tir.Expr) tir.Expr {
	value := map[*tir.IterVar]tir.Expr{}
	for d, a := range p.s.Stage(p.result).Axes() {
		value[a] = i[d]
	}
	if v := p.divided; v != nil {
		at := value[v.axis]
		value[v.outer], value[v.inner] = tir.FloorDiv(at, v.inner.Extent), tir.FloorMod(at, v.inner.Extent)
	}
	var at []tir.Expr
	for _, a := range p.batch {
		at = append(at, value[a])
	}
	row := fusedIndex(p.m, value, fusedSize(p.m).DType())
	rows := tir.IntConst(row.DType(), int64(p.rows))
	tile, in := p.cols.position(fusedIndex(p.n, value, fusedSize(p.n).DType()))
	return p.sums.At(append(append(at, tir.FloorDiv(row, rows), tile, tir.FloorMod(row, rows)), in...)...)
}
