package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
)

// parallelFrom is the number of elements from which threads are used.
const parallelFrom = 1 << 14

// vectorBytes is the least size of vectors: that of AVX; CPUs with shorter ones use two registers.
const vectorBytes = 32

// scheduleCPU is the default schedule of all operators: the outer dimensions of the root are parallel, the last
// dimension of tensors without a reduction is vectorized, and the other tensors of the group are computed inside an
// iteration of the parallel loop.
func scheduleCPU(g *schedule.Group) (bool, error) {
	s := g.Schedule
	if scheduleFast(g) || scheduleTransposed(g) || scheduleWindows(g, simdOf(g.Target)) {
		return true, nil
	}
	root := s.Stage(g.Root)
	outer := parallelOuter(root, g)
	if outer != nil {
		inner := append([]*te.Tensor{}, g.Parts()...)
		if g.Result != g.Root {
			inner = append(inner, g.Result)
		}
		for _, t := range slices.Backward(inner) {
			s.Stage(t).ComputeAt(root, outer)
		}
	}
	for _, t := range append(g.Parts(), g.Result) {
		if st := s.Stage(t); len(st.ReduceAxes()) > 0 && lastIsDense(st) {
			leaves := st.Leaves()
			last := leaves[len(leaves)-len(st.ReduceAxes())-1]
			st.Reorder(append(st.ReduceAxes(), last)...)
			vectorizeLast(st, simdOf(g.Target))
		}
	}
	if len(root.ReduceAxes()) == 0 {
		vectorizeLast(root, simdOf(g.Target))
		schedule.NonTemporal(s, g.Root)
	}
	return true, nil
}

// parallelOuter fuses all dimensions except the last one, or takes the only dimension, and makes the loop parallel if
// there is enough work. It returns nil for a tensor without dimensions, and if vectors use the only dimension.
func parallelOuter(st *te.Stage, g *schedule.Group) *tir.IterVar {
	axes := st.Axes()
	keep := 1
	if len(st.ReduceAxes()) > 0 && !lastIsDense(st) {
		keep = 0
	}
	if len(axes) <= keep {
		if len(axes) == 1 && len(g.Parts()) == 0 && g.Result == g.Root {
			splitVector(st, axes[0])
		}
		return nil
	}
	fused := axes[0]
	count, known := int64(1), true
	for i, a := range axes[:len(axes)-keep] {
		n, ok := a.Extent.(*tir.IntImm)
		if known = known && ok; known {
			if n.Value > 0 && count > (1<<31-1)/n.Value {
				break // does not fit into a 32-bit index
			}
			count *= n.Value
		}
		if i > 0 {
			fused = st.Fuse(fused, a)
		}
	}
	if pointsOf(st) >= parallelFrom {
		st.Parallel(fused)
	}
	return fused
}

// splitVector divides the only dimension into chunks for threads.
func splitVector(st *te.Stage, axis *tir.IterVar) {
	if pointsOf(st) >= parallelFrom {
		outer, _ := st.Split(axis, 1<<12)
		st.Parallel(outer)
	}
}

// pointsOf returns the number of points to compute, including those of the reduction; unknown sizes count as large.
func pointsOf(st *te.Stage) int64 {
	all := int64(1)
	for _, a := range append(st.Axes(), st.ReduceAxes()...) {
		n, ok := a.Extent.(*tir.IntImm)
		if !ok {
			return parallelFrom
		}
		if all *= n.Value; all == 0 || all >= parallelFrom {
			return min(all, parallelFrom)
		}
	}
	return all
}

// lastIsDense reports whether consecutive values of the last dimension read adjacent elements in a reduction, so that
// its loop should be innermost.
func lastIsDense(st *te.Stage) bool {
	axes := st.Axes()
	if len(axes) == 0 {
		return false
	}
	last, dense := axes[len(axes)-1].Var, false
	schedule.EachLoad(st, func(l *tir.ProducerLoad) {
		if n := len(l.Indices); n > 0 && uses(l.Indices[n-1], last) {
			dense = true
		}
	})
	return dense
}

func uses(e tir.Expr, v *tir.Var) bool {
	return tir.Contains(e, func(n any) bool { return n == any(v) })
}

// vectorizeLast vectorizes the innermost loop if it is that of the last dimension, and is not known to be short.
func vectorizeLast(st *te.Stage, v simd) {
	leaves := st.Leaves()
	axes := st.Axes()
	if len(axes) == 0 {
		return
	}
	last := leaves[len(leaves)-1]
	n, known := axes[len(axes)-1].Extent.(*tir.IntImm)
	element := max(4, int(st.Tensor().ProducerDType().Bits)/8)
	lanes := max(vectorBytes, v.bytes) / element
	if known && n.Value < int64(2*lanes) {
		lanes = vectorBytes / element
	}
	// the last dimension is gone if dimensions were fused
	if known && n.Value < int64(2*lanes) || len(axes) > 1 && last != axes[len(axes)-1] {
		return
	}
	_, inner := st.Split(last, lanes)
	st.Vectorize(inner)
}
