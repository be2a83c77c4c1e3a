package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// blocked is a convolution of images with blocked channels, result[batch, block, height, width, channel], as a sum of
// products of an image and filters. A tile is the results of some blocks at neighbouring positions of a row of the
// image: they stay in registers while the sum is computed.
type blocked struct {
	result  *te.Tensor
	image   *tir.ProducerLoad
	filters *tir.ProducerLoad
	axes    []*tir.IterVar
	reduce  []*tir.IterVar
	vectors int64 // in a block of channels
	single  bool  // each channel has a filter of its own
}

// blockedOf analyzes the formula of a stage; nil if it is no float32 or float64 convolution of this kind, or a block is
// not a multiple of a vector.
func blockedOf(st *te.Stage, v simd) *blocked {
	formulas, axes := st.Formulas(), st.Axes()
	if len(formulas) != 1 || len(axes) != 5 {
		return nil
	}
	r, ok := formulas[0].(*tir.Reduce)
	if !ok || r.Cond != nil || len(r.Sources) != 1 || !isSum(r.Combiner) {
		return nil
	}
	p, ok := r.Sources[0].(*tir.Binary)
	if !ok || p.Op != tir.OpMul {
		return nil
	}
	b := &blocked{result: st.Tensor(), axes: axes, reduce: r.Axes}
	var isLoad [2]bool
	b.image, isLoad[0] = p.A.(*tir.ProducerLoad)
	b.filters, isLoad[1] = p.B.(*tir.ProducerLoad)
	lanes, width := int64(v.lanes(p.DType())), sizeOf(axes[4])
	if !isLoad[0] || !isLoad[1] || lanes == 0 || width < 1 || width%lanes != 0 || sizeOf(axes[3]) < 1 ||
		sizeOf(axes[1]) < 1 {
		return nil
	}
	b.vectors, b.single = width/lanes, uses(b.image, axes[4].Var)
	return b
}

// tile is the size of a tile.
type tile struct {
	blocks, columns int64 // of channels, and of the image
	tiles           int64 // in a row of the image
}

// panelBytes limits the filters of a tile, which are read again for each tile: they should stay in the cache.
const panelBytes = 640 << 10

// allFilters is the size in bytes up to which all filters stay in the second cache: each row of the image is then read
// once, for all of them. Otherwise all rows are read for a few filters at a time.
const allFilters = 512 << 10

// panel returns the size in bytes of the filters of a block of channels; negative if it is not known.
func (b *blocked) panel() int64 {
	n := times(sizeOf(b.axes[4]), int64(b.result.ProducerDType().Bits/8))
	for _, a := range b.reduce {
		n = times(n, sizeOf(a))
	}
	return n
}

// tile chooses the tile with the least work per result. Each step of the sum loads the filters of the tile, broadcasts
// an element of the image for each column, and multiplies all pairs.
func (b *blocked) tile(v simd) tile {
	width, blocks := sizeOf(b.axes[3]), sizeOf(b.axes[1])
	panel := b.panel()
	best, least := tile{1, 1, width}, 0.0
	most := int64(4)
	if b.single {
		most = 1
	}
	for n := int64(1); n <= most; n++ {
		loaded := n * b.vectors
		if blocks%n != 0 || n > 1 && (panel < 0 || panel*n > panelBytes) {
			continue
		}
		for columns := int64(1); columns <= min(width, 28); columns++ {
			used := loaded*columns + loaded + 1
			if b.single {
				used = loaded*columns + 2
			}
			if used > int64(v.registers) {
				break
			}
			tiles := ceilDiv(width, columns)
			cost := float64(tiles) * stepCost(loaded, columns) / float64(n)
			if tiles*columns != width { // the image is copied
				cost *= 1.05
			}
			if least == 0 || cost < least {
				best, least = tile{n, columns, tiles}, cost
			}
		}
	}
	return best
}

// stepCost estimates the cycles of a step of a sum that loads vectors of filters, broadcasts elements of the image, and
// multiplies all pairs.
func stepCost(vectors, elements int64) float64 {
	return float64(max(8, vectors*elements)) + 0.6*float64(elements) + float64(vectors) + 2
}

// scheduleBlocked schedules a blocked convolution; root is the result, or an elementwise tensor of its shape that is
// its only reader. It returns false, without a change, if the result is none.
func scheduleBlocked(s *te.Schedule, result, root *te.Tensor, parts []*te.Tensor, v simd) bool {
	b := blockedOf(s.Stage(result), v)
	if b == nil {
		return false
	}
	t := b.tile(v)
	read := b.reading(t)
	sums := b.sums(t, read)
	s.Replace(result, te.Compute(result.ProducerShape(), result.ProducerName()+".tiles",
		func(i ...tir.Expr) tir.Expr {
			return sums.At(i[0], over(i[1], t.blocks), i[2], over(i[3], t.columns), rest(i[1], t.blocks),
				rest(i[3], t.columns), i[4])
		}))
	if result != root {
		s.Stage(result).ComputeInline()
	}
	st := s.Stage(root)
	axes := st.Axes()
	outer, block := st.Split(axes[1], int(t.blocks))
	columns, column := st.Split(axes[3], int(t.columns))
	vector, lane := st.Split(axes[4], v.lanes(result.ProducerDType()))
	order := []*tir.IterVar{axes[0], outer, axes[2]}
	if n := times(b.panel(), sizeOf(axes[1])); n > 0 && n <= allFilters { // a row of the image stays in the cache, too
		order[1], order[2] = axes[2], outer
	}
	st.Reorder(append(slices.Clone(order), columns, block, column, vector, lane)...)
	st.Unroll(column)
	st.Vectorize(lane)
	s.Stage(sums).ComputeAt(st, columns)
	much := pointsOf(st) >= parallelFrom || pointsOf(s.Stage(sums)) >= parallelFrom
	if much {
		fuseAll(st, order)
	}
	b.scheduleSums(s.Stage(sums), v)
	im := &image{tensor: read, own: read != b.image.Producer}
	im.schedule(s, parts, much, v.lanes(result.ProducerDType()))
	return s.Err() == nil
}

// reading returns the image, or a copy that is long enough for whole tiles.
func (b *blocked) reading(t tile) *te.Tensor {
	x := b.image.Producer.(*te.Tensor)
	if t.tiles*t.columns == sizeOf(b.axes[3]) {
		return x
	}
	last := map[*tir.Var]tir.Expr{b.axes[3].Var: tir.IntConst(b.axes[3].Var.Type, t.tiles*t.columns-1)}
	for _, a := range b.reduce {
		last[a.Var] = tir.Sub(a.Extent, tir.IntConst(a.Var.Type, 1))
	}
	end := simplified(tir.Substitute(b.image.Indices[3], last))
	shape := append([]tir.Expr{}, x.ProducerShape()...)
	size := shape[3]
	shape[3] = simplified(tir.Max(size, tir.Add(end, tir.IntConst(end.DType(), 1))))
	return te.Compute(shape, b.result.ProducerName()+".image", func(i ...tir.Expr) tir.Expr {
		return tir.Intrin("if_then_else", tir.LT(i[3], size), x.At(i...), tir.Const(x.ProducerDType(), 0))
	})
}

// sums is the tensor of results, tile by tile: [batch, blocks, row, columns, block, column, channel].
func (b *blocked) sums(t tile, image *te.Tensor) *te.Tensor {
	size := func(like *tir.IterVar, n int64) tir.Expr { return tir.IntConst(like.Var.Type, n) }
	block, column := b.axes[1], b.axes[3]
	shape := []tir.Expr{b.axes[0].Extent, size(block, sizeOf(block)/t.blocks), b.axes[2].Extent, size(column, t.tiles),
		size(block, t.blocks), size(column, t.columns), b.axes[4].Extent}
	to := map[*tir.Var]tir.Expr{}
	var reduce []*tir.IterVar
	for _, a := range b.reduce {
		axis := te.ReduceAxis(a.Min, a.Extent, a.Var.Name)
		to[a.Var] = axis.Var
		reduce = append(reduce, axis)
	}
	return te.Compute(shape, b.result.ProducerName()+".sums", func(i ...tir.Expr) tir.Expr {
		to[b.axes[0].Var], to[b.axes[2].Var], to[b.axes[4].Var] = i[0], i[2], i[6]
		to[block.Var] = tir.Add(tir.Mul(i[1], size(block, t.blocks)), i[4])
		to[column.Var] = tir.Add(tir.Mul(i[3], size(column, t.columns)), i[5])
		at := func(l *tir.ProducerLoad) (at []tir.Expr) {
			for _, x := range l.Indices {
				at = append(at, simplified(tir.Substitute(x, to)))
			}
			return at
		}
		return te.Sum(tir.Mul(image.At(at(b.image)...), b.filters.Producer.(*te.Tensor).At(at(b.filters)...)), reduce...)
	})
}

// scheduleSums keeps a tile in registers. Each element of the image is used for all blocks before the next one, so that
// the compiler needs only one register for it.
func (b *blocked) scheduleSums(sums *te.Stage, v simd) {
	axes := sums.Axes()
	vector, lane := sums.Split(axes[6], v.lanes(sums.Tensor().ProducerDType()))
	reduce := sums.ReduceAxes()
	if len(reduce) == 3 { // of an image without blocks: elements that come again are not moved between registers
		slices.Reverse(reduce)
	}
	sums.Reorder(append(reduce, axes[5], axes[4], vector, lane)...)
	sums.Unroll(axes[4])
	sums.Unroll(axes[5])
	sums.Unroll(vector)
	sums.Vectorize(lane)
	sums.SetScope("local")
}
