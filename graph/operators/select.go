package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// Operators whose results have a size that depends on data return a tensor of the greatest size, and the number of
// elements that count. The operator prefix keeps these.
func init() {
	several := func(name string, least, most, results int, f func(c *graph.Call) []*te.Tensor, attrs ...graph.Attr) {
		register(&graph.Op{Name: name, In: [2]int{least, most}, Out: count(results), Attrs: attrs, Compute: f})
	}
	several("nonzero", 1, 1, 2, func(c *graph.Call) []*te.Tensor { return ops.Nonzero(c.In(0), c.Name) })
	several("compress", 2, 2, 2, func(c *graph.Call) []*te.Tensor {
		return ops.Compress(c.In(0), c.In(1), c.Name, axisOf(c, c.Int("axis"), c.Rank(0)))
	}, integer("axis", 0))
	several("unique", 1, 1, 5, func(c *graph.Call) []*te.Tensor {
		return ops.Unique(c.In(0), c.Name, c.Flag("sorted"))
	}, integer("sorted", 1))
	several("non_max_suppression", 2, 5, 2, func(c *graph.Call) []*te.Tensor {
		return ops.NonMaxSuppression(c.In(0), c.In(1), ops.SuppressionLimits{Boxes: c.In(2), Overlap: c.In(3),
			Score: c.In(4)}, c.Name, c.Flag("center_point_box"))
	}, integer("center_point_box", 0))
	several("top_k", 2, 2, 2, func(c *graph.Call) []*te.Tensor {
		k := c.Sizes(1)
		if len(k) != 1 {
			c.Fail("%d numbers of elements are given: want one", len(k))
		}
		axis := axisOf(c, c.Int("axis"), c.Rank(0))
		return ops.TopK(c.In(0), c.Name, k[0], axis, c.Flag("largest"), tir.Int64)
	}, integer("axis", -1), integer("largest", 1), integer("sorted", 1))
	register(
		with("prefix", 2, 2, prefix, integer("axis", 0)),
		cumulative("cum_sum", ops.CumSum), cumulative("cum_prod", ops.CumProd),
	)
}

// prefix keeps the first elements along an axis: operand 1 is their number.
func prefix(c *graph.Call) *te.Tensor {
	shape := append([]tir.Expr{}, c.Shape(0)...)
	axis := axisOf(c, c.Int("axis"), c.Rank(0))
	last := simplify(tir.Sub(shape[axis], tir.I32(1)))
	shape[axis] = sizeIn(c, 1)
	return te.Compute(shape, c.Name, func(i ...tir.Expr) tir.Expr {
		if isEmpty(c.Shape(0)) {
			return tir.Const(c.DType(0), 0)
		}
		at := append([]tir.Expr{}, i...)
		at[axis] = tir.Min(i[axis], last) // the number is no greater, which the code cannot know
		return c.In(0).At(at...)
	})
}

// cumulative has the operands data and axis.
func cumulative(name string, f func(*te.Tensor, string, int, ...ops.CumulativeOption) *te.Tensor) *graph.Op {
	return with(name, 2, 2, func(c *graph.Call) *te.Tensor {
		var options []ops.CumulativeOption
		if c.Flag("exclusive") {
			options = append(options, ops.Exclusive())
		}
		if c.Flag("reverse") {
			options = append(options, ops.Backward())
		}
		return f(c.In(0), c.Name, axisOf(c, c.IntOf(1), c.Rank(0)), options...)
	}, integer("exclusive", 0), integer("reverse", 0))
}
