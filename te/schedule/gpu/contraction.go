package gpu

import (
	"slices"

	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/compare"
)

// contraction is a sum of products: result[batch, m, n] = Σ left[batch, m, k] · right[batch, n, k]. Each of batch, m,
// n and k is a list of axes, in the order of the result's dimensions; the schedule fuses the axes of a list. An
// operand need not depend on all batch axes.
type contraction struct {
	s              *te.Schedule
	result         *te.Tensor
	left, right    tir.Expr // formulas of the axes, of the type in which products are summed up
	batch, m, n, k []*tir.IterVar
	divided        *dividedAxis // nil: all axes but k are those of the result
}

// dividedAxis is an axis of the result that a contraction has two axes of: outer and inner, whose extent divides it.
type dividedAxis struct{ axis, outer, inner *tir.IterVar }

// values returns the values of the axes of batch, m and n for indices of the result.
func (c *contraction) values(i []tir.Expr) map[*tir.IterVar]tir.Expr {
	value := map[*tir.IterVar]tir.Expr{}
	for d, a := range c.s.Stage(c.result).Axes() {
		value[a] = i[d]
	}
	if v := c.divided; v != nil {
		at := value[v.axis]
		value[v.outer], value[v.inner] = tir.FloorDiv(at, v.inner.Extent), tir.FloorMod(at, v.inner.Extent)
	}
	return value
}

// contractionOf analyzes the formula of a tensor; nil if it is not a sum of products. The axes that both operands
// depend on, or none, are batches. The last dimension is one of n, unless it is a batch.
func contractionOf(s *te.Schedule, t *te.Tensor) *contraction {
	st := s.Stage(t)
	formulas := st.Formulas()
	if len(formulas) != 1 {
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
	c := &contraction{s: s, result: t, left: p.A, right: p.B, k: r.Axes}
	axes := st.Axes()
	if n := len(axes); n > 0 && uses(c.left, axes[n-1]) && !uses(c.right, axes[n-1]) {
		c.left, c.right = c.right, c.left
	}
	for _, a := range axes {
		switch l, r := uses(c.left, a), uses(c.right, a); {
		case l == r:
			c.batch = append(c.batch, a)
		case l:
			c.m = append(c.m, a)
		default:
			c.n = append(c.n, a)
		}
	}
	return c
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
	var own []*tir.IterVar
	for _, a := range axes {
		if uses(e, a) {
			own = append(own, a)
		}
	}
	return own
}

// extents are the sizes of axes.
func extents(axes []*tir.IterVar) (all []tir.Expr) {
	for _, a := range axes {
		all = append(all, a.Extent)
	}
	return all
}

// fusedSize is the number of iterations of fused axes, of type int64 if one of them has it, or if there are too many
// for int32.
func fusedSize(axes []*tir.IterVar) tir.Expr {
	t, known := tir.Int32, int64(1)
	for _, a := range axes {
		if a.Var.Type == tir.Int64 {
			t = tir.Int64
		}
		if n, ok := tir.IntValue(a.Extent); ok && n > 0 {
			if known *= n; known > 1<<30 {
				t, known = tir.Int64, 1
			}
		}
	}
	size := tir.IntConst(t, 1)
	var all tir.Expr = size
	for _, a := range axes {
		all = tir.Mul(all, tir.NewCast(t, a.Extent))
	}
	return arith.NewAnalyzer().Simplify(all)
}

// unfused returns the values of axes for an index over all of them.
func unfused(axes []*tir.IterVar, index tir.Expr) map[*tir.Var]tir.Expr {
	to := map[*tir.Var]tir.Expr{}
	t := index.DType()
	for i, a := range slices.Backward(axes) {
		at := index
		if i > 0 {
			n := tir.NewCast(t, a.Extent)
			at, index = tir.FloorMod(index, n), tir.FloorDiv(index, n)
		}
		at = tir.NewCast(a.Var.Type, at)
		if low, ok := tir.IntValue(a.Min); a.Min != nil && (!ok || low != 0) {
			at = tir.Add(at, tir.NewCast(a.Var.Type, a.Min))
		}
		to[a.Var] = at
	}
	return to
}

// fusedIndex is the inverse of unfused, for axes that count from 0.
func fusedIndex(axes []*tir.IterVar, at map[*tir.IterVar]tir.Expr, t tir.Type) tir.Expr {
	var index tir.Expr = tir.IntConst(t, 0)
	for i, a := range axes {
		x := tir.NewCast(t, at[a])
		if i == 0 {
			index = x
			continue
		}
		index = tir.Add(tir.Mul(index, tir.NewCast(t, a.Extent)), x)
	}
	return index
}

// constantSize returns the size if it is constant, otherwise a large one.
func constantSize(e tir.Expr) int64 {
	if n, ok := tir.IntValue(e); ok {
		return n
	}
	return 1 << 12
}

// ceilDiv is the number of parts of n elements that cover a size.
func ceilDiv(size tir.Expr, n int) tir.Expr {
	t := size.DType()
	if c, ok := tir.IntValue(size); ok {
		return tir.IntConst(t, (c+int64(n)-1)/int64(n))
	}
	by := tir.IntConst(t, int64(n))
	return arith.NewAnalyzer().Simplify(tir.FloorDiv(tir.Sub(tir.Add(size, by), tir.IntConst(t, 1)), by))
}

// storesVectors reports whether runs of results are vectors in the tensor that is stored, and in those that its formula
// reads besides the sums. n are the axes of the stage along runs.
func (c *contraction) storesVectors(root *te.Stage, n []*tir.IterVar, sums *te.Tensor, run int) bool {
	axes := root.Axes()
	inner := n // those along which the result is consecutive
	for len(inner) > 0 && (len(inner) > len(axes) || !slices.Equal(inner, axes[len(axes)-len(inner):])) {
		inner = inner[1:]
	}
	if run == 1 || len(inner) == 0 {
		return false
	}
	if size, ok := tir.IntValue(fusedSize(inner)); !ok || size%int64(run) != 0 {
		return false
	}
	last := n[len(n)-1]
	var others []access
	for _, a := range accesses(c.s, root) {
		how := a.along(last)
		switch {
		case a.tensor == sums:
			continue
		case len(n) == 1 && (how == contiguous || how == constant):
		case a.same(root):
		case how != constant || slices.ContainsFunc(n, func(x *tir.IterVar) bool { return a.along(x) != constant }):
			return false
		}
		others = append(others, a)
	}
	return len(n) > 1 || aligned(others, last, run)
}
