package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule/rows"
	"tvmgo/tir"
)

// schedule computes a block of queries in each iteration of the parallel loop: chunk by chunk, the scores, their
// softmax, and the products with the values.
func (a *attention) schedule(root *te.Stage, scores, shown, top, weights, sums, products *te.Tensor, all []*te.Tensor) {
	b := len(a.batch)
	axes := root.Axes()
	block, row := root.Split(axes[b], int(a.block))
	inner := a.tileLoops(root, row, axes[b+1], a.elements)
	outer := append(slices.Clone(axes[:b]), block)
	root.Reorder(append(outer, inner.all()...)...)
	home, at := root, fused(root, outer)
	if a.much() {
		root.Parallel(at)
	}
	if all != nil {
		st := a.s.Stage(all[0])
		st.ComputeAt(root, at)
		axes = st.Axes()
		inner = a.tileLoops(st, axes[b+1], axes[b+2], a.elements)
		home, at = st, st.ReduceAxes()[0]
		st.Reorder(append(append(axes[:b+1:b+1], at), inner.all()...)...)
	}
	a.inTile(products, home, inner)
	by := rows.Scheduler{Lanes: a.simd.lanes}
	for _, t := range []*te.Tensor{sums, weights, top, shown} {
		st := a.s.Stage(t)
		if t == sums || t == top {
			by.Within(a.s, t)
		}
		st.ComputeAt(home, at)
		if bytes := a.block * a.size * int64(a.work.Bits/8); t == sums || t == top || bytes <= localRows {
			st.SetScope("local")
		}
		axes = st.Axes()
		switch t {
		case weights:
			_, lane := st.Split(axes[b+3], int(a.lanes))
			st.Vectorize(lane)
		case shown:
			loops := a.tileLoops(st, axes[b+2], axes[b+3], a.keys)
			loops.outer, loops.next = loops.next, loops.outer // a panel of keys is in the cache for all rows
			st.Reorder(append(axes[:b+2:b+2], loops.all()...)...)
			a.inTile(scores, st, loops)
		}
	}
	a.copyPanels(a.keyPanels, a.k, a.d, a.key)
	if a.valuePanels != nil {
		a.copyPanels(a.valuePanels, a.value, a.j, a.valueAxes[b+2])
	}
}

// localRows is the size in bytes up to which the scores of a block are on the stack.
const localRows = 32 << 10

// much reports whether there is enough to compute for several threads.
func (a *attention) much() bool {
	keys, known := tir.IntValue(a.m)
	if !known {
		keys = attentionOpenKeys
	}
	all := times(times(likely(sizeOf(a.n)), keys), a.e+likely(sizeOf(a.d)))
	for _, x := range a.batch {
		all = times(all, likely(sizeOf(x)))
	}
	return all >= spread
}

// loops are those of a tile of rows and columns: over tiles, over rows, vectors and lanes.
type tileLoops struct{ outer, next, row, vector, lane *tir.IterVar }

func (l tileLoops) all() []*tir.IterVar {
	return []*tir.IterVar{l.outer, l.next, l.row, l.vector, l.lane}
}

func (a *attention) tileLoops(st *te.Stage, row, column *tir.IterVar, width int64) (l tileLoops) {
	l.outer, l.row = st.Split(row, int(a.rows))
	var within *tir.IterVar
	l.next, within = st.Split(column, int(width))
	l.vector, l.lane = st.Split(within, int(a.lanes))
	st.Vectorize(l.lane)
	return l
}

// inTile computes sums of products in registers, right before a tile is used.
func (a *attention) inTile(t *te.Tensor, home *te.Stage, at tileLoops) {
	st := a.s.Stage(t)
	st.ComputeAt(home, at.next)
	st.SetScope("local")
	axes := st.Axes()
	row, column := axes[len(axes)-2], axes[len(axes)-1]
	vector, lane := st.Split(column, int(a.lanes))
	st.Reorder(append(st.ReduceAxes(), row, vector, lane)...)
	unroll(st, row, vector)
	st.Vectorize(lane)
}

// copyPanels schedules a copy: by squares of elements that are transposed in registers, or along steps or lanes, as the
// operand is in memory.
func (a *attention) copyPanels(panels *te.Tensor, formula tir.Expr, step, lane *tir.IterVar) {
	st := a.s.Stage(panels)
	t := tiling{lanes: int(a.lanes), parallel: a.much()}
	axes := st.Axes()
	last := len(axes) - 1
	load, plain := st.Formulas()[0].(*tir.ProducerLoad)
	if plain && contiguous(formula, step) && !a.s.Stage(load.Producer.(*te.Tensor)).IsInlined() {
		if n := a.simd.square(st.Tensor().ProducerDType(), axes[last-1], axes[last]); n > 0 {
			steps, row := st.Split(axes[last-1], n)
			lanes, column := st.Split(axes[last], n)
			st.Reorder(append(axes[:last-1:last-1], lanes, steps, row, column)...)
			st.TensorizeWhole(row, square(st.Tensor().ProducerDType(), n))
			if t.parallel {
				fuseAll(st, axes[:last-1])
			}
			return
		}
	}
	schedulePanels(st, formula, lane, []*tir.IterVar{step}, step, t)
}
