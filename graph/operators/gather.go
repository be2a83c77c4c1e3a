package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

func init() {
	register(
		with("gather", 2, 2, func(c *graph.Call) *te.Tensor {
			return ops.Take(c.In(0), c.In(1), c.Name, axisOf(c, c.Int("axis"), c.Rank(0)), ops.Wrap)
		}, integer("axis", 0)),
		with("gather_elements", 2, 2, gatherElements, integer("axis", 0)),
		with("one_hot", 3, 3, oneHot, integer("axis", -1)),
	)
}

// gatherElements reads operand 0 at its own indices, but along an axis at an index of operand 1.
func gatherElements(c *graph.Call) *te.Tensor {
	if c.Rank(0) != c.Rank(1) {
		c.Fail("the indices have %d dimensions, and the data %d: want equal numbers", c.Rank(1), c.Rank(0))
	}
	axis := axisOf(c, c.Int("axis"), c.Rank(0))
	n := c.Shape(0)[axis]
	return te.Compute(c.Shape(1), c.Name, func(i ...tir.Expr) tir.Expr {
		if isEmpty(c.Shape(0)) {
			return tir.Const(c.DType(0), 0)
		}
		at := append([]tir.Expr{}, i...)
		at[axis] = fromEnd(tir.NewCast(tir.Int32, c.In(1).At(i...)), n)
		return c.In(0).At(at...)
	})
}

// fromEnd counts a negative index from the end, and limits it to the n elements that there are.
func fromEnd(i, n tir.Expr) tir.Expr {
	i = tir.NewSelect(tir.LT(i, tir.I32(0)), tir.Add(i, n), i)
	return tir.Max(tir.I32(0), tir.Min(i, tir.Sub(n, tir.I32(1))))
}

// oneHot has the operands indices, depth and values (off, on).
func oneHot(c *graph.Call) *te.Tensor {
	if n := len(c.Elems(1)); n != 1 {
		c.Fail("operand 1 has %d elements: want 1, the number of classes", n)
	}
	depth := c.Elems(1)[0]
	if f, ok := depth.(*tir.FloatImm); ok {
		depth = tir.I64(int64(f.Value))
	}
	indices := c.In(0)
	if !tir.IsInt(c.DType(0)) {
		indices = ops.Cast(indices, tir.Int64, c.Name)
	}
	return ops.OneHotAlong(indices, c.In(2), c.Name, graph.Size(depth), c.Int("axis"))
}
