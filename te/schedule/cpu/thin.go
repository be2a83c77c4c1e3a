package cpu

import (
	"tvmgo/te"
	"tvmgo/tir"
)

const (
	// A product with at most thinRows rows reads each element of its right operand so rarely that copying it to panels
	// would cost more than it gains.
	thinRows = 8
	// thinBytes is the most that the sums of a block of columns take: they stay in the first-level cache.
	thinBytes = 16 << 10
	// thinSteps is the number of rows of the right operand that are added to a block of sums at a time: the sums are
	// read and written once for all of them.
	thinSteps = 8
	// A block of columns is thinRun bytes wide, or narrower so that threads share at least thinBlocks of them.
	thinBlocks = 4
	thinRun    = 4 << 10
)

// scheduleThin computes a product of few rows without a copy of the right operand, whose rows it reads in order: the
// sums of a block of columns stay in the cache while all rows of the operand are added to them, some at a time. root is
// the result, or an elementwise tensor of its shape that is its only reader. It returns false, without a change, if the
// result is no such product.
func scheduleThin(s *te.Schedule, result, root *te.Tensor, parts []*te.Tensor, v simd) bool {
	c := contractionOf(s.Stage(result))
	if c == nil || len(parts) > 0 || !c.thin(v) {
		return false
	}
	at := c.position(s.Stage(result).Axes())
	if at.row > at.col {
		return false
	}
	lanes, bytes := int64(v.lanes(c.typ)), int64(v.bytes)
	vectors := ceilDiv(sizeOf(c.col), lanes)
	width := max(1, min(thinBytes/(sizeOf(c.row)*bytes), thinRun/bytes, ceilDiv(vectors, thinBlocks)))
	width = ceilDiv(vectors, ceilDiv(vectors, width)) // blocks of equal widths

	sums := result
	if result == root {
		sums = s.CacheWrite(result, "local")
	} else {
		s.Stage(sums).SetScope("local")
	}
	st := s.Stage(root)
	axes := st.Axes()
	block, within := st.Split(axes[at.col], int(width*lanes))
	vector, lane := st.Split(within, int(lanes))
	var outer []*tir.IterVar
	for _, b := range at.batch {
		outer = append(outer, axes[b])
	}
	outer = append(outer, block)
	st.Reorder(append(outer, axes[at.row], vector, lane)...)
	st.Vectorize(lane)
	s.Stage(sums).ComputeAt(st, block)
	scheduleThinSums(s.Stage(sums), at, int(lanes))
	if c.products() >= spread {
		fuseAll(st, outer)
	}
	return s.Err() == nil
}

// thin reports whether a contraction has few rows, and reads its right operand along the columns.
func (c *contraction) thin(v simd) bool {
	lanes, m, n := int64(v.lanes(c.typ)), sizeOf(c.row), sizeOf(c.col)
	k := c.depth()
	for _, a := range c.batch {
		if sizeOf(a) < 0 {
			return false
		}
	}
	return lanes > 0 && m >= 1 && m <= thinRows && n >= 2*lanes && k >= 2 && times(n, k) >= packFrom &&
		contiguous(c.right, c.col) && !constantFormula(c.right)
}

// scheduleThinSums adds some rows of the right operand to each vector of sums before it goes on to the next vector.
func scheduleThinSums(sums *te.Stage, at position, lanes int) {
	axes, reduce := sums.Axes(), sums.ReduceAxes()
	vector, lane := sums.Split(axes[at.col], lanes)
	last := len(reduce) - 1
	steps, step := sums.Split(reduce[last], thinSteps)
	sums.Reorder(append(reduce[:last], steps, vector, step, axes[at.row], lane)...)
	sums.Unroll(step)
	sums.Unroll(axes[at.row])
	sums.Vectorize(lane)
}
