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

// scheduleTransposed schedules a tensor whose last dimension is short and read in strides, or by an index that has to
// be computed for each element, while another one is contiguous in what is read, or at least has equal strides, as in
// changes of layout: the loop of that one is innermost. It returns false, without a change, for others.
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
	inner := innermost(g.Schedule, st)
	if inner == nil {
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

// steps says how an index changes along an axis.
type steps int

const (
	none    steps = iota // not at all
	unit                 // by one
	equal                // by a constant
	unequal              // otherwise
)

// innermost returns the axis whose loop should be innermost instead of that of the last dimension: one along which all
// tensors that are read are contiguous, or, if the indices along the last dimension are not linear, one along which
// they are. It returns nil if there is none.
func innermost(s *te.Schedule, st *te.Stage) *tir.IterVar {
	an := arith.NewAnalyzer()
	axes := st.Axes()
	for _, a := range axes {
		an.Bind(a.Var, a.Min, a.Extent)
	}
	reads := 0
	contiguous, linear := map[*tir.IterVar]int{}, map[*tir.IterVar]int{}
	schedule.EachRead(s, st, func(t *te.Tensor, at []tir.Expr) {
		reads++
		index := make([]tir.Expr, len(at))
		for d, x := range at {
			index[d] = an.Simplify(x)
		}
		for _, a := range axes {
			worst, adjacent := none, false
			for d, x := range index {
				step := stepOf(an, x, a)
				worst = max(worst, step)
				adjacent = d == len(index)-1 && step == unit
			}
			if worst != unequal {
				linear[a]++
			}
			if adjacent && worst == unit {
				contiguous[a]++
			}
		}
	})
	last := axes[len(axes)-1]
	if reads == 0 || contiguous[last] == reads {
		return nil
	}
	for k := len(axes) - 2; k >= 0; k-- {
		if a := axes[k]; contiguous[a] == reads && long(a) {
			return a
		}
	}
	if a := axes[len(axes)-2]; linear[last] < reads && linear[a] == reads && long(a) {
		return a
	}
	return nil
}

// long reports whether an axis is long enough for an innermost loop.
func long(a *tir.IterVar) bool { return sizeOf(a) < 0 || sizeOf(a) >= 4 }

func stepOf(an *arith.Analyzer, x tir.Expr, a *tir.IterVar) steps {
	if !uses(x, a.Var) {
		return none
	}
	next := tir.Substitute(x, map[*tir.Var]tir.Expr{a.Var: tir.Add(a.Var, tir.IntConst(a.Var.Type, 1))})
	switch d, ok := tir.IntValue(an.Simplify(tir.Sub(next, x))); {
	case !ok:
		return unequal
	case d == 1:
		return unit
	}
	return equal
}
