package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/compare"
)

// contraction is a sum of products, analyzed: result[batch, row, col] = Σ left[batch, row, k] · right[batch, k, col].
// An operand need not depend on all batch axes.
type contraction struct {
	result      *te.Tensor
	typ         tir.Type
	left, right tir.Expr // formulas of the axes
	reduce      []*tir.IterVar
	batch       []*tir.IterVar
	row, col    *tir.IterVar
	image       *image // nil: the left operand is read from packed panels
	words       *words // nil: elements are multiplied one by one
}

// contractionOf analyzes the formula of a stage; nil if it is not a sum of products, or an operand has no axis that the
// other lacks. The column is the last axis; the row is the last axis that only the other operand has.
func contractionOf(st *te.Stage) *contraction {
	formulas := st.Formulas()
	if len(formulas) != 1 {
		return nil
	}
	r, ok := formulas[0].(*tir.Reduce)
	if !ok || r.Cond != nil || len(r.Sources) != 1 || !isSum(r.Combiner) {
		return nil
	}
	p, ok := r.Sources[0].(*tir.Binary)
	axes := st.Axes()
	if !ok || p.Op != tir.OpMul || len(axes) == 0 {
		return nil
	}
	c := &contraction{result: st.Tensor(), typ: p.DType(), left: p.A, right: p.B, reduce: r.Axes, col: axes[len(axes)-1]}
	if uses(c.left, c.col.Var) {
		c.left, c.right = c.right, c.left
	}
	if uses(c.left, c.col.Var) || !uses(c.right, c.col.Var) {
		return nil
	}
	for _, a := range slices.Backward(axes[:len(axes)-1]) {
		if c.row == nil && uses(c.left, a.Var) && !uses(c.right, a.Var) {
			c.row = a
		}
	}
	if c.row == nil {
		return nil
	}
	// filters should be the columns if the layout of the result allows it
	if c.windowed(c.right, c.col) && !c.windowed(c.left, c.row) {
		c.left, c.right, c.row, c.col = c.right, c.left, c.col, c.row
	}
	for _, a := range axes {
		if a != c.row && a != c.col {
			c.batch = append(c.batch, a)
		}
	}
	return c
}

// depth returns the number of products of a sum; -1 if it is unknown.
func (c *contraction) depth() int64 {
	k := int64(1)
	for _, a := range c.reduce {
		k = times(k, sizeOf(a))
	}
	return k
}

// perStep returns the number of products that a step of a sum adds.
func (c *contraction) perStep() int64 {
	if c.words != nil {
		return wordBytes
	}
	return 1
}

// products returns the number of products of all sums; an unknown size is taken for that of a batch.
func (c *contraction) products() int64 {
	all := times(likely(sizeOf(c.row)), likely(sizeOf(c.col)))
	for _, a := range slices.Concat(c.reduce, c.batch) {
		all = times(all, likely(sizeOf(a)))
	}
	return all
}

// longWindow is the minimum number of products per sum for which the results may be stored in another order than they
// are computed in.
const longWindow = 128

// windowed reports whether an operand is a tensor, possibly cast, that the sum reads in windows along an axis, so that
// neighbouring results share most of their inputs.
func (c *contraction) windowed(formula tir.Expr, axis *tir.IterVar) bool {
	load, ok := loadOf(formula)
	if !ok || c.depth() < longWindow {
		return false
	}
	along := 0
	for _, x := range load.Indices {
		if !uses(x, axis.Var) {
			continue
		}
		along++
		for _, a := range c.reduce {
			if uses(x, a.Var) {
				along += 2
			}
		}
	}
	return along == 3 // along one dimension, combined with an axis of the sum
}

// loadOf returns the load that a formula consists of, possibly inside a cast.
func loadOf(formula tir.Expr) (*tir.ProducerLoad, bool) {
	if c, ok := formula.(*tir.Cast); ok {
		formula = c.Value
	}
	load, ok := formula.(*tir.ProducerLoad)
	return load, ok
}

// isSum reports whether a combiner adds, starting from 0.
func isSum(c *tir.Combiner) bool {
	if len(c.Results) != 1 {
		return false
	}
	b, ok := c.Results[0].(*tir.Binary)
	return ok && b.Op == tir.OpAdd && b.A == tir.Expr(c.Left[0]) && b.B == tir.Expr(c.Right[0]) &&
		compare.Equal(c.Identity[0], tir.Const(c.Identity[0].DType(), 0))
}

// among returns the axes that a formula depends on.
func among(e tir.Expr, axes []*tir.IterVar) []*tir.IterVar {
	var out []*tir.IterVar
	for _, a := range axes {
		if uses(e, a.Var) {
			out = append(out, a)
		}
	}
	return out
}

// sizeOf returns the constant extent of an axis: 0 if it is empty, -1 if it is unknown.
func sizeOf(a *tir.IterVar) int64 {
	if n, ok := a.Extent.(*tir.IntImm); ok {
		return n.Value
	}
	return -1
}

// contiguous reports whether consecutive values of an axis read adjacent elements, as far as the formula shows.
func contiguous(e tir.Expr, a *tir.IterVar) bool {
	ok := true
	tir.Walk(e, func(n any) bool {
		if l, isLoad := n.(*tir.ProducerLoad); isLoad {
			for d, x := range l.Indices {
				if uses(x, a.Var) && (d < len(l.Indices)-1 || x != tir.Expr(a.Var)) {
					ok = false
				}
			}
		}
		return ok
	})
	return ok
}
