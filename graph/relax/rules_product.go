package relax

import (
	"tvmgo/graph"
)

func init() {
	add("matmul", func(c *call) value {
		t := c.dtype("out_dtype")
		return c.node("matmul", nil, c.as(c.t(0), t), c.as(c.t(1), t))
	})
	add("einsum", func(c *call) value {
		return c.node("einsum", graph.Attrs{"equation": c.expr.Attrs.Text("subscripts")}, c.tuple(0)...)
	})
}
