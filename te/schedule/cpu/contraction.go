package cpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
)

// contraction is a sum of products that has been taken apart: result[batch, row, col] = Σ left[batch, row, k] ·
// right[batch, k, col]. An axis of the batch may be of one operand alone.
type contraction struct {
	result      *te.Tensor
	typ         tir.Type
	left, right tir.Expr // formulas over the axes
	reduce      []*tir.IterVar
	batch       []*tir.IterVar
	row, col    *tir.IterVar
	image       *image // nil: the left operand is read from panels
}

// contractionOf takes the formula of a stage apart; nil if it is no sum of products, or has no axis of its own for each
// operand. The column is the last axis; the row is the last of those that the other operand has alone.
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
	if names(c.left, c.col) {
		c.left, c.right = c.right, c.left
	}
	if names(c.left, c.col) || !names(c.right, c.col) {
		return nil
	}
	for _, a := range slices.Backward(axes[:len(axes)-1]) {
		if c.row == nil && names(c.left, a) && !names(c.right, a) {
			c.row = a
		}
	}
	if c.row == nil {
		return nil
	}
	// filters are best as columns, wherever the result has them
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

// longWindow is how many products a windowed sum has at least, for that its results need not lie in the order in which
// they are computed.
const longWindow = 128

// windowed says whether an operand is one tensor, or one that is cast, over which the sum goes in windows along an
// axis, so that neighbours of the result share most of what they read.
func (c *contraction) windowed(formula tir.Expr, axis *tir.IterVar) bool {
	load, ok := loadOf(formula)
	points := int64(1)
	for _, a := range c.reduce {
		points = times(points, sizeOf(a))
	}
	if !ok || points < longWindow {
		return false
	}
	along := 0
	for _, x := range load.Indices {
		if !names(x, axis) {
			continue
		}
		along++
		for _, a := range c.reduce {
			if names(x, a) {
				along += 2
			}
		}
	}
	return along == 3 // in one dimension, together with one axis of the sum
}

// loadOf is the element that a formula is, as it is or cast to another type.
func loadOf(formula tir.Expr) (*tir.ProducerLoad, bool) {
	if c, ok := formula.(*tir.Cast); ok {
		formula = c.Value
	}
	load, ok := formula.(*tir.ProducerLoad)
	return load, ok
}

// isSum says whether a combiner adds, from 0 on.
func isSum(c *tir.Combiner) bool {
	if len(c.Results) != 1 {
		return false
	}
	b, ok := c.Results[0].(*tir.Binary)
	return ok && b.Op == tir.OpAdd && b.A == tir.Expr(c.Left[0]) && b.B == tir.Expr(c.Right[0]) &&
		tir.Equal(c.Identity[0], tir.Const(c.Identity[0].DType(), 0))
}

// names says whether a formula depends on an axis.
func names(e tir.Expr, a *tir.IterVar) bool {
	found := false
	tir.Walk(e, func(n any) bool {
		found = found || n == any(a.Var)
		return !found
	})
	return found
}

// among are the axes that a formula depends on.
func among(e tir.Expr, axes []*tir.IterVar) []*tir.IterVar {
	var out []*tir.IterVar
	for _, a := range axes {
		if names(e, a) {
			out = append(out, a)
		}
	}
	return out
}

// sizeOf is the constant number of an axis' turns; 0 if there are none, -1 if it is not known.
func sizeOf(a *tir.IterVar) int64 {
	if n, ok := a.Extent.(*tir.IntImm); ok {
		return n.Value
	}
	return -1
}

// contiguous says whether neighbours along an axis lie side by side, as far as the formula's reads tell.
func contiguous(e tir.Expr, a *tir.IterVar) bool {
	ok := true
	tir.Walk(e, func(n any) bool {
		if l, isLoad := n.(*tir.ProducerLoad); isLoad {
			for d, x := range l.Indices {
				if names(x, a) && (d < len(l.Indices)-1 || x != tir.Expr(a.Var)) {
					ok = false
				}
			}
		}
		return ok
	})
	return ok
}
