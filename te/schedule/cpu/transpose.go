package cpu

import (
	"tvmgo/te"
	"tvmgo/te/schedule"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// longestInner limits the dimension that a transposition stores in strides: its cache lines stay in the first cache
// until they are complete.
const longestInner = 64

// scheduleTransposed schedules a tensor whose last dimension is short and read in strides, while another one is
// contiguous in what it reads, as in changes of layout: the loop of that one is innermost. It returns false, without a
// change, for others.
func scheduleTransposed(g *schedule.Group) bool {
	st := g.Schedule.Stage(g.Root)
	axes := st.Axes()
	if g.Result != g.Root || len(g.Parts()) > 0 || len(st.ReduceAxes()) > 0 || len(axes) < 3 {
		return false
	}
	last := axes[len(axes)-1]
	if n := sizeOf(last); n < 2 || n > longestInner {
		return false
	}
	inner := contiguousAxis(g.Schedule, st)
	if inner == nil || inner == last || sizeOf(inner) >= 0 && sizeOf(inner) < 4 {
		return false
	}
	var outer []*tir.IterVar
	for _, a := range axes {
		if a != inner && a != last {
			outer = append(outer, a)
		}
	}
	st.Reorder(append(append([]*tir.IterVar{}, outer...), last, inner)...)
	if pointsOf(st) >= parallelFrom {
		fuseAll(st, outer)
	}
	return g.Schedule.Err() == nil
}

// contiguousAxis returns the axis along which all tensors that are read are contiguous; nil if there is none.
func contiguousAxis(s *te.Schedule, st *te.Stage) *tir.IterVar {
	an := arith.NewAnalyzer()
	for _, a := range st.Axes() {
		an.Bind(a.Var, a.Min, a.Extent)
	}
	var found *tir.IterVar
	bad := false
	schedule.EachRead(s, st, func(t *te.Tensor, at []tir.Expr) {
		if len(at) == 0 || bad {
			return
		}
		var along *tir.IterVar
		index := an.Simplify(at[len(at)-1])
		for _, a := range st.Axes() {
			if !uses(index, a.Var) {
				continue
			}
			next := tir.Substitute(index, map[*tir.Var]tir.Expr{a.Var: tir.Add(a.Var, tir.IntConst(a.Var.Type, 1))})
			if d, ok := tir.IntValue(an.Simplify(tir.Sub(next, index))); ok && d == 1 {
				along = a
			}
		}
		bad = along == nil || found != nil && found != along
		found = along
	})
	if bad {
		return nil
	}
	return found
}
