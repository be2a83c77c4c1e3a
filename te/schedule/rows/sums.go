package rows

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// Sums schedules a reduction over the last dimension of its inputs, such as row sums or a matrix-vector
// product: threads process rows, and each row is vectorized. root is the result, or an elementwise tensor of its shape
// that is its only reader. It returns false, without a change, if the reduction has another form.
func (v Scheduler) Sums(s *te.Schedule, result, root *te.Tensor) bool {
	st := s.Stage(result)
	lanes := int64(v.Lanes(result.ProducerDType()))
	if lanes == 0 || len(st.Axes()) == 0 || len(st.Formulas()) != 1 || !alongRows(st) {
		return false
	}
	k := st.ReduceAxes()[0]
	if low, ok := k.Min.(*tir.IntImm); !ok || low.Value != 0 || sizeOf(k) < 2*lanes {
		return false
	}
	count := int64(1)
	for _, a := range st.Axes() {
		if n := max(sizeOf(a), 1); count <= 1<<31 {
			count *= n
		}
	}
	if count >= 1<<31 { // does not fit into a 32-bit index
		return false
	}
	steps := v.splitReduction(s, result, lanes)
	if result != root {
		steps = append(steps, result)
	}
	at := s.Stage(root)
	axes := at.Axes()
	rows := axes[0]
	for _, a := range axes[1:] {
		rows = at.Fuse(rows, a)
	}
	rows = v.Distribute(at, rows, true)
	for _, p := range slices.Backward(steps) {
		s.Stage(p).ComputeAt(at, rows)
		s.Stage(p).SetScope("local")
		if len(p.ProducerShape()) > len(axes) { // the others have one value per row
			stepVectors(s.Stage(p), p, len(axes), lanes)
		}
	}
	return s.Err() == nil
}

// alongRows reports whether a stage is a reduction along one axis over which all inputs are contiguous.
func alongRows(st *te.Stage) bool {
	r, ok := st.Formulas()[0].(*tir.Reduce)
	if !ok || r.Cond != nil || len(r.Sources) != 1 || len(r.Axes) != 1 {
		return false
	}
	k, along := r.Axes[0], false
	tir.Walk(r.Sources[0], func(n any) bool {
		l, isLoad := n.(*tir.ProducerLoad)
		if !isLoad {
			return ok
		}
		last := len(l.Indices) - 1 // the only dimension with more than one element
		for shape := l.Producer.ProducerShape(); last > 0 && isOne(shape[last]); last-- {
		}
		for d, x := range l.Indices {
			if uses(x, k.Var) {
				along = true
				ok = ok && d == last && oneAfterAnother(x, k.Var)
			}
		}
		return ok
	})
	return ok && along
}

// oneAfterAnother reports whether an index is a variable, or the sum of the variable and an expression without it.
func oneAfterAnother(x tir.Expr, v *tir.Var) bool {
	if sum, ok := x.(*tir.Binary); ok && sum.Op == tir.OpAdd {
		if uses(sum.A, v) {
			return !uses(sum.B, v) && oneAfterAnother(sum.A, v)
		}
		return oneAfterAnother(sum.B, v)
	}
	return x == tir.Expr(v)
}

func isOne(size tir.Expr) bool { return isConst(size, 1) }

func isConst(size tir.Expr, value int64) bool {
	n, constant := size.(*tir.IntImm)
	return constant && n.Value == value
}

// sizeOf returns the constant extent of an axis: 0 if it is empty, -1 if it is unknown.
func sizeOf(a *tir.IterVar) int64 {
	if n, ok := a.Extent.(*tir.IntImm); ok {
		return n.Value
	}
	return -1
}

func uses(e tir.Expr, v *tir.Var) bool {
	return tir.Contains(e, func(n any) bool { return n == any(v) })
}
