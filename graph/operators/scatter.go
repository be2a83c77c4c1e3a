package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// reductionOf reads the attribute that says how an update changes an element.
func reductionOf(c *graph.Call) ops.Reduction {
	switch r := c.Text("reduction"); r {
	case "none":
		return ops.Assign
	case "add":
		return ops.AddTo
	case "mul":
		return ops.MultiplyBy
	case "min":
		return ops.Least
	case "max":
		return ops.Greatest
	default:
		c.Fail("reduction is %q: want none, add, mul, min or max", r)
		return ops.Assign
	}
}

func init() {
	register(
		with("scatter_elements", 3, 3, func(c *graph.Call) *te.Tensor {
			return ops.ScatterElements(c.In(0), c.In(1), c.In(2), c.Name, axisOf(c, c.Int("axis"), c.Rank(0)), reductionOf(c))
		}, integer("axis", 0), word("reduction", "none")),
		with("scatter_nd", 3, 3, func(c *graph.Call) *te.Tensor {
			return ops.ScatterND(c.In(0), c.In(1), c.In(2), c.Name, reductionOf(c))
		}, word("reduction", "none")),
		with("gather_nd", 2, 2, func(c *graph.Call) *te.Tensor {
			return ops.GatherND(c.In(0), c.In(1), c.Name, c.Int("batch_dims"), ops.Wrap)
		}, integer("batch_dims", 0)),
		with("tensor_scatter", 2, 3, func(c *graph.Call) *te.Tensor {
			circular := c.Text("mode") == "circular"
			if !circular && c.Text("mode") != "linear" {
				c.Fail("mode is %q: want linear or circular", c.Text("mode"))
			}
			return ops.UpdateCache(c.In(0), c.In(1), c.In(2), c.Name, axisOf(c, c.Int("axis"), c.Rank(0)), circular)
		}, integer("axis", -2), word("mode", "linear")),
		with("center_crop_pad", 2, 2, centerCropPad, integers("axes")),
	)
}

// centerCropPad has the operands data and the new sizes of axes. An axis that shrinks loses elements at both ends, and
// one that grows gets zeros.
func centerCropPad(c *graph.Call) *te.Tensor {
	sizes := c.Sizes(1)
	axes := c.Ints("axes")
	if axes == nil {
		for d := range c.Rank(0) {
			axes = append(axes, d)
		}
	}
	axes = axesOf(c, axes, c.Rank(0))
	if len(sizes) != len(axes) {
		c.Fail("%d sizes are given for %d axes", len(sizes), len(axes))
	}
	shape := append([]tir.Expr{}, c.Shape(0)...)
	before := make([]tir.Expr, len(shape)) // the index of the first element in the result
	two := tir.I32(2)
	for k, d := range axes {
		n, m := shape[d], sizes[k]
		grow := tir.FloorDiv(tir.Sub(m, n), two)
		crop := tir.Negate(tir.FloorDiv(tir.Sub(n, m), two))
		shape[d], before[d] = m, simplify(tir.NewSelect(tir.GE(m, n), grow, crop))
	}
	return te.Compute(shape, c.Name, func(i ...tir.Expr) tir.Expr {
		at := append([]tir.Expr{}, i...)
		inside := tir.BoolConst(true)
		for _, d := range axes {
			at[d] = simplify(tir.Sub(i[d], before[d]))
			inside = tir.And(inside, tir.And(tir.GE(at[d], tir.I32(0)), tir.LT(at[d], c.Shape(0)[d])))
		}
		return tir.Intrin("if_then_else", simplify(inside), c.In(0).At(at...), tir.Const(c.DType(0), 0))
	})
}
