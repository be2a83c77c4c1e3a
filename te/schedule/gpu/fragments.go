package gpu

import (
	"slices"

	"tvmgo/te"
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
//   - sums: [part, batch, row tile, column tile, row warp, row fragment, column warp, column fragment, row, column],
//     with part only if there are several
//   - stored sums, in shared memory: [part, batch, row tile, column tile, row fragment, row warp, row, column]
//
// The threads of a block copy the stored sums to the result, and apply the rest of its formula to them: the layout of
// sums in the registers of a warp is not known here. They do so for one row of fragments of each warp after the other,
// so that little shared memory suffices.
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

// adjacentLanes reports whether a warp that fetches neighbors along m or n touches less memory than one that fetches
// neighbors along k.
func (p *fragments) adjacentLanes(d int) bool {
	var lanes, products float64
	tir.Walk(p.operands[d], func(n any) bool {
		if load, ok := n.(*tir.ProducerLoad); ok {
			a := access{load.Producer.(*te.Tensor), load.Indices}
			lanes, products = max(lanes, a.spread(p.dimensions[d])), max(products, a.spread(p.k))
			return false
		}
		return true
	})
	return lanes < products
}

// sharedOperand is a block's operand of a step, with zeros beyond its size.
func (p *fragments) sharedOperand(name string, d int) *te.Tensor {
	formula, axes, block := p.operands[d], p.dimensions[d], p.block[d]
	batch := among(formula, p.batch)
	size, depth := fusedSize(axes), fusedSize(p.k)
	lanes, products := tir.IntConst(size.DType(), int64(block)), tir.IntConst(depth.DType(), int64(p.depth))
	shape := append(extents(batch), ceilDiv(size, block), p.steps(), lanes, products)
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
		}{{at, size, block}, {k, depth, p.depth * p.parts}} {
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

// steps is the number of steps of all parts of a sum together.
func (p *fragments) steps() tir.Expr { return wholeSteps(fusedSize(p.k), p.depth, p.parts) }

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

// outer are the dimensions of sums that are not within a tile: parts, batch and the tiles.
func (p *fragments) outer() []tir.Expr {
	var shape []tir.Expr
	if p.parts > 1 {
		shape = append(shape, tir.I32(int32(p.parts)))
	}
	shape = append(shape, extents(p.batch)...)
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
	steps := ceilDiv(p.steps(), p.parts)
	step := te.ReduceAxis(tir.IntConst(steps.DType(), 0), steps, "step")
	part := te.ReduceAxis(tir.I32(0), tir.I32(int32(p.depth/p.K)), "part")
	k := te.ReduceAxis(tir.I32(0), tir.I32(int32(p.K)), "k")
	return te.Compute(shape, p.result.ProducerName()+".sums", func(i ...tir.Expr) tir.Expr {
		outer, at := i[:n-2], tir.Expr(step.Var)
		if p.parts > 1 {
			outer = outer[1:]
			at = tir.Add(tir.Mul(tir.NewCast(steps.DType(), i[0]), steps), step.Var)
		}
		factor := func(d int) tir.Expr {
			var own []tir.Expr
			for b, a := range p.batch {
				if uses(p.operands[d], a) {
					own = append(own, outer[b])
				}
			}
			in := []tir.Expr{i[n+4], k.Var}
			if d == 1 {
				in = []tir.Expr{k.Var, i[n+5]}
			}
			own = append(own, i[n-2+d], at, part.Var, i[n+2*d], i[n+2*d+1], in[0], in[1])
			for j, size := range p.own[d].ProducerShape() {
				own[j] = tir.NewCast(size.DType(), own[j])
			}
			return tir.NewCast(p.Sum, p.own[d].At(own...))
		}
		return te.Sum(tir.Mul(factor(0), factor(1)), step, part, k)
	})
}

// storedSums are the sums of a block as matrices: of the rows of one fragment of each warp, and of all columns.
func (p *fragments) storedSums() *te.Tensor {
	shape := append(p.outer(), tir.I32(int32(p.warp[0]/p.M)), tir.I32(int32(p.block[0]/p.warp[0])), tir.I32(int32(p.M)),
		tir.I32(int32(p.block[1])))
	n := len(shape) - 4
	return te.Compute(shape, p.result.ProducerName()+".stored", func(i ...tir.Expr) tir.Expr {
		column, warp, size := i[n+3], tir.I32(int32(p.warp[1])), tir.I32(int32(p.N))
		return p.sums.At(append(slices.Clone(i[:n]), i[n+1], i[n], tir.FloorDiv(column, warp),
			tir.FloorDiv(tir.FloorMod(column, warp), size), i[n+2], tir.FloorMod(column, size))...)
	})
}

// element is the element of the stored sums for indices of the result, after the index of a part if there are several.
func (p *fragments) element(i []tir.Expr) tir.Expr {
	var at, in []tir.Expr
	if p.parts > 1 {
		at, i = append(at, i[0]), i[1:]
	}
	value := p.values(i)
	for _, a := range p.batch {
		at = append(at, value[a])
	}
	for d, axes := range p.dimensions {
		typ := fusedSize(axes).DType()
		block := tir.IntConst(typ, int64(p.block[d]))
		index := fusedIndex(axes, value, typ)
		at = append(at, tir.FloorDiv(index, block))
		inside := tir.NewCast(tir.Int32, tir.FloorMod(index, block))
		if d == 0 {
			warp, size := tir.I32(int32(p.warp[0])), tir.I32(int32(p.M))
			in = append(in, tir.FloorDiv(tir.FloorMod(inside, warp), size), tir.FloorDiv(inside, warp),
				tir.FloorMod(inside, size))
		} else {
			in = append(in, inside)
		}
	}
	return p.stored.At(append(at, in...)...)
}
