package gpu

import (
	"cmp"
	"math"
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// gemm schedules a convolution as a product of matrices for each group: that of the filters, and that of the elements
// of each window. The second one contains an element of the image as often as windows do, and is never stored: the
// elements are fetched from the image into shared memory when a block needs them. It returns false if the group is
// something else, too small, or for a device whose shared memory is not faster.
func (c *Convolution) gemm(g *schedule.Group, m *Matmul, t *TensorCore, e *Elementwise, l Limits) bool {
	p := windowsOf(g)
	if p == nil || !m.Shared {
		return false
	}
	if t.product(g, p, e, l) {
		return true
	}
	tiles, ok := m.tile(p, l)
	if !ok {
		return false
	}
	tiles.resident = 0 // the indices of windows need registers
	for _, part := range g.Parts() {
		g.Schedule.Stage(part).ComputeInline()
	}
	newGEMM(p, tiles, l).schedule(g, func() { e.group(without(g), l) })
	return true
}

// without returns the group without the parts of its operator.
func without(g *schedule.Group) *schedule.Group {
	own := *g
	own.Op = nil
	return &own
}

// windowsOf returns the contraction of a convolution; nil if the group is something else, such as a product of
// matrices.
func windowsOf(g *schedule.Group) *contraction {
	c := convolutionOf(g)
	if c != nil && c.perGroup < c.outs {
		return c.grouped()
	}
	p := contractionOf(g.Schedule, g.Result)
	if p == nil || len(p.m) == 0 || len(p.n) == 0 || len(p.batch) > 0 {
		return nil
	}
	if len(p.m) == 1 && len(p.n) == 1 && len(g.Parts()) == 0 {
		return nil
	}
	if c != nil {
		p.k = c.order()
	}
	p.squeeze()
	return p
}

// order returns the axes of the sum so that neighbors along the last one are as near in the image as possible: those of
// a window in its rows, or its channels.
func (c *convolution) order() []*tir.IterVar {
	k := slices.Clone(c.sum.Axes)
	read := access{c.read.Producer.(*te.Tensor), c.read.Indices}
	step := func(a *tir.IterVar) int64 {
		if n := read.step(a); n >= 0 {
			return n
		}
		return math.MaxInt64
	}
	slices.SortStableFunc(k, func(a, b *tir.IterVar) int { return cmp.Compare(step(b), step(a)) })
	return k
}

// grouped returns the contraction of a convolution with several groups. The filters of a group are an axis.
func (c *convolution) grouped() *contraction {
	typ := c.out.Var.Type
	group, own := axisOf("group", tir.IntConst(typ, c.outs/c.perGroup)), axisOf("filter", tir.IntConst(typ, c.perGroup))
	out := tir.Add(tir.Mul(group.Var, tir.IntConst(typ, c.perGroup)), own.Var)
	image, filter := c.read.Indices, substituted(c.filter.Indices, map[*tir.Var]tir.Expr{c.out.Var: out})
	image = substituted(image, nil)
	size, _ := extentOf(c.channel)
	image[c.channels] = tir.Add(tir.Mul(group.Var, tir.IntConst(typ, size)), c.channel.Var)
	p := &contraction{s: c.s, result: c.result, k: c.order(), batch: []*tir.IterVar{group},
		divided: &dividedAxis{c.out, group, own}}
	p.left = cast(c.weight, &tir.ProducerLoad{Producer: c.filter.Producer, Indices: filter})
	p.right = cast(c.image, &tir.ProducerLoad{Producer: c.read.Producer, Indices: image})
	p.m = []*tir.IterVar{own}
	for _, a := range c.s.Stage(c.result).Axes() {
		if a != c.out {
			p.n = append(p.n, a)
		}
	}
	if c.channelsLast {
		p.left, p.right, p.m, p.n = p.right, p.left, p.n, p.m
	}
	p.squeeze()
	return p
}

// axisOf makes an axis of results.
func axisOf(name string, extent tir.Expr) *tir.IterVar {
	return &tir.IterVar{Var: tir.NewVar(name, extent.DType()), Min: tir.IntConst(extent.DType(), 0), Extent: extent,
		Kind: tir.IterData}
}

// squeeze makes a batch of an outermost axis of one iteration or of many, whose windows need not be in one block with
// those of others, and of all axes outside one whose size is a formula: the index of a fused loop over them would not
// simplify, and a tile would have no constant size. Nor does it for the rows of a product of matrices of variable size.
func (c *contraction) squeeze() {
	for _, axes := range []*[]*tir.IterVar{&c.m, &c.n} {
		for i, a := range slices.Backward(*axes) {
			_, known := extentOf(a)
			if _, own := a.Extent.(*tir.Var); i > 0 && !known && (!own || len(c.k) == 1) {
				c.batch, *axes = append(c.batch, (*axes)[:i]...), (*axes)[i:]
				break
			}
		}
		if len(*axes) < 2 {
			continue
		}
		first, rest := (*axes)[0], (*axes)[1:]
		images, known := extentOf(first)
		windows, constant := tir.IntValue(fusedSize(rest))
		if known && images == 1 || constant && windows >= 1<<10 {
			c.batch, *axes = append(c.batch, first), rest
		}
	}
}
