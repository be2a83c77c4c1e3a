package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// tiling says how the threads of a block compute a contraction: rows × cols results, in steps of depth products per
// sum, whose operands are in shared memory.
type tiling struct {
	rows, cols side // of m and of n
	depth      int
	stages     int // copies of the shared memory
	parts      int // parts of a sum, which different blocks compute; 1: none
	bytes      int // that a thread loads or stores at once
	resident   int // blocks that a multiprocessor runs at once, whose number bounds the registers of a thread; 0: no bound
}

// side is the division of one dimension of a block's results. A thread has a run of adjacent results in each piece of
// the dimension, so that the lanes of a warp read adjacent elements of shared memory at once.
type side struct {
	block int // results of a block
	warps int // warps of a block
	lanes int // threads of a warp
	run   int // adjacent results of a thread
}

func (s side) threads() int { return s.warps * s.lanes }
func (s side) pieces() int  { return s.block / (s.threads() * s.run) }

// position returns the tile of an index, and the piece, the thread and the position in a run within the tile.
func (s side) position(at tir.Expr) (tile tir.Expr, in []tir.Expr) {
	num := func(v int) tir.Expr { return tir.IntConst(at.DType(), int64(v)) }
	tile, at = tir.FloorDiv(at, num(s.block)), tir.FloorMod(at, num(s.block))
	piece := tir.FloorMod(at, num(s.threads()*s.run))
	return tile, []tir.Expr{tir.FloorDiv(at, num(s.threads()*s.run)), tir.FloorDiv(piece, num(s.run)),
		tir.FloorMod(piece, num(s.run))}
}

// gemm is the tiled form of a contraction, as tensors. Tiles are dimensions of their own, padded with zeros to
// their full size: loops over products have no conditions. The loops of a tile are constant, whatever the sizes are.
//
//   - shared operands: [batch, tile, step, product, lane], where a lane is a row or column of the block
//   - own operands: [batch, tile, step, product, piece, thread, run]
//   - sums: [part, batch, row tile, column tile, row piece, row thread, row run, column piece, column thread,
//     column run], with part only if there are several
//
// To schedule another operator by this template, make a contraction whose operands are formulas of its axes: lists of
// axes are fused, and a formula may be any expression that may be computed for each element of a tile. Then call
// schedule. Operands that other instructions consume replace own and sums.
type gemm struct {
	*contraction
	tiling
	l          Limits
	shared     [2]*te.Tensor // the left and the right operands of a block
	own        [2]*te.Tensor // those of a thread
	sums       *te.Tensor
	operands   [2]tir.Expr
	dimensions [2][]*tir.IterVar // m and n
}

func newGEMM(c *contraction, t tiling, l Limits) *gemm {
	p := &gemm{contraction: c, tiling: t, l: l, operands: [2]tir.Expr{c.left, c.right},
		dimensions: [2][]*tir.IterVar{c.m, c.n}}
	for d, name := range []string{"left", "right"} {
		p.shared[d] = p.sharedOperand(name+".shared", d)
		p.own[d] = p.ownOperand(name, d)
	}
	p.sums = p.tileSums()
	return p
}

func (p *gemm) side(d int) side { return []side{p.rows, p.cols}[d] }

// sharedOperand is a block's operand of a step, with zeros beyond its size.
func (p *gemm) sharedOperand(name string, d int) *te.Tensor {
	formula, axes, s := p.operands[d], p.dimensions[d], p.side(d)
	batch := among(formula, p.batch)
	size, depth := fusedSize(axes), fusedSize(p.k)
	shape := append(extents(batch), ceilDiv(size, s.block), p.steps(), tir.IntConst(depth.DType(), int64(p.depth)),
		tir.IntConst(size.DType(), int64(s.block)))
	return te.Compute(shape, p.result.ProducerName()+"."+name, func(i ...tir.Expr) tir.Expr {
		n := len(batch)
		at := tir.Add(tir.Mul(i[n], tir.IntConst(size.DType(), int64(s.block))), i[n+3])
		k := tir.Add(tir.Mul(i[n+1], tir.IntConst(depth.DType(), int64(p.depth))), i[n+2])
		to := unfused(axes, at)
		for v, x := range unfused(p.k, k) {
			to[v] = x
		}
		for b, a := range batch {
			to[a.Var] = i[b]
		}
		value := tir.Substitute(formula, to)
		inside := []tir.Expr(nil)
		if n, ok := tir.IntValue(size); !ok || n%int64(s.block) != 0 {
			inside = append(inside, tir.LT(at, size))
		}
		if n, ok := tir.IntValue(depth); !ok || n%int64(p.depth*p.parts) != 0 {
			inside = append(inside, tir.LT(k, depth))
		}
		switch len(inside) {
		case 0:
			return value
		case 2:
			inside[0] = tir.And(inside[0], inside[1])
		}
		return tir.Intrin("if_then_else", inside[0], value, tir.Const(value.DType(), 0))
	})
}

// steps is the number of steps of all parts of a sum together.
func (p *gemm) steps() tir.Expr { return wholeSteps(fusedSize(p.k), p.depth, p.parts) }

// wholeSteps is the number of steps of depth products that cover a sum, rounded up to a multiple of parts.
func wholeSteps(size tir.Expr, depth, parts int) tir.Expr {
	steps := ceilDiv(size, depth)
	each := ceilDiv(steps, parts)
	if n, ok := tir.IntValue(each); ok {
		return tir.IntConst(steps.DType(), n*int64(parts))
	}
	return tir.Mul(each, tir.IntConst(steps.DType(), int64(parts)))
}

// ownOperand is a thread's operand of one product of each of its sums.
func (p *gemm) ownOperand(name string, d int) *te.Tensor {
	t, s := p.shared[d], p.side(d)
	shape := t.ProducerShape()
	n := len(shape) - 1
	num := func(v int) tir.Expr { return tir.IntConst(shape[n].DType(), int64(v)) }
	own := append(slices.Clone(shape[:n]), num(s.pieces()), num(s.threads()), num(s.run))
	return te.Compute(own, p.result.ProducerName()+"."+name, func(i ...tir.Expr) tir.Expr {
		lane := tir.Add(tir.Mul(tir.Add(tir.Mul(i[n], num(s.threads())), i[n+1]), num(s.run)), i[n+2])
		return t.At(append(slices.Clone(i[:n]), lane)...)
	})
}

func (p *gemm) tileSums() *te.Tensor {
	var shape []tir.Expr
	if p.parts > 1 {
		shape = append(shape, tir.I32(int32(p.parts)))
	}
	shape = append(shape, extents(p.batch)...)
	first := len(shape)
	for d, axes := range p.dimensions {
		shape = append(shape, ceilDiv(fusedSize(axes), p.side(d).block))
	}
	for d, axes := range p.dimensions {
		s := p.side(d)
		for _, v := range []int{s.pieces(), s.threads(), s.run} {
			shape = append(shape, tir.IntConst(fusedSize(axes).DType(), int64(v)))
		}
	}
	all := p.steps()
	typ := all.DType()
	step := te.ReduceAxis(tir.IntConst(typ, 0), ceilDiv(all, p.parts), "step")
	k := te.ReduceAxis(tir.IntConst(typ, 0), tir.IntConst(typ, int64(p.depth)), "k")
	return te.Compute(shape, p.result.ProducerName()+".sums", func(i ...tir.Expr) tir.Expr {
		now := tir.Expr(step.Var)
		if p.parts > 1 {
			now = tir.Add(tir.Mul(tir.NewCast(typ, i[0]), step.Extent), now)
		}
		factor := func(d int) tir.Expr {
			var at []tir.Expr
			for b, a := range p.batch {
				if uses(p.operands[d], a) {
					at = append(at, i[first-len(p.batch)+b])
				}
			}
			at = append(at, i[first+d], now, k.Var)
			return p.own[d].At(append(at, i[first+2+3*d:first+5+3*d]...)...)
		}
		return te.Sum(tir.Mul(factor(0), factor(1)), step, k)
	})
}

// sum is the element of sums for indices of the result, after the index of a part if there are several.
func (p *gemm) sum(i []tir.Expr) tir.Expr {
	var outer, inner []tir.Expr
	if p.parts > 1 {
		outer, i = append(outer, i[0]), i[1:]
	}
	value := p.values(i)
	for _, a := range p.batch {
		outer = append(outer, value[a])
	}
	for d, axes := range p.dimensions {
		tile, in := p.side(d).position(fusedIndex(axes, value, fusedSize(axes).DType()))
		outer, inner = append(outer, tile), append(inner, in...)
	}
	return p.sums.At(append(outer, inner...)...)
}
