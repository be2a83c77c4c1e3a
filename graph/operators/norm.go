package operators

import (
	"fmt"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// layerNorm has the operands data, scale and bias. Its further results are the mean and the inverse of the deviation.
func layerNorm(c *graph.Call) []*te.Tensor {
	axis := axisOf(c, c.Int("axis"), c.Rank(0))
	dims := c.Rank(0) - axis
	eps := c.Float("epsilon")
	x := c.In(0)
	out := ops.LayerNorm(x, fitting(c, 1, axis), fitting(c, 2, axis), c.Name, dims, eps)
	if c.Results() == 1 {
		return one(out)
	}
	axes := make([]int, dims)
	for d := range axes {
		axes[d] = axis + d
	}
	wider := cast(x, tir.Float32, c.Name)
	deviation := ops.Map(ops.Variance(wider, c.Name, axes, true), c.Name, func(e tir.Expr) tir.Expr {
		return tir.Intrin("rsqrt", tir.Add(e, of(e, eps)))
	})
	return []*te.Tensor{out, ops.Mean(wider, c.Name, axes, true), deviation}
}

// fitting returns an operand broadcast to the dimensions from an axis of operand 0 on; nil if it is left out.
func fitting(c *graph.Call, i, axis int) *te.Tensor {
	if !c.Has(i) || sameShape(c.Shape(i), c.Shape(0)[axis:]) {
		return c.In(i)
	}
	s := c.Shape(0)[axis:]
	both := []*te.Tensor{te.Placeholder(s, c.DType(i), "shape"), c.In(i)}
	if _, open := commonShape(c, both); open && c.Rank(i) <= len(s) {
		fit(c, c.In(i), s)
		return repeated(c.In(i), s)
	}
	return ops.BroadcastTo(c.In(i), c.Name, s...)
}

// perChannel returns an operand that has an element for each channel of operand 0.
func perChannel(c *graph.Call, i int) *te.Tensor {
	if c.Rank(i) != 1 || c.Rank(0) < 2 {
		return c.In(i) // an error that the operator reports
	}
	return sized(c, c.In(i), 0, c.Shape(0)[1], fmt.Sprintf("operand %d has to have an element for each channel", i))
}

func sameShape(a, b []tir.Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for d := range a {
		m, ok1 := tir.IntValue(a[d])
		n, ok2 := tir.IntValue(b[d])
		if a[d] != b[d] && !(ok1 && ok2 && m == n) {
			return false
		}
	}
	return true
}

func init() {
	register(
		with("batch_normalization", 5, 5, func(c *graph.Call) *te.Tensor {
			return ops.BatchNorm(c.In(0), perChannel(c, 1), perChannel(c, 2), perChannel(c, 3), perChannel(c, 4), c.Name,
				c.Float("epsilon"))
		}, float("epsilon", 1e-5), float("momentum", 0.9)),
		&graph.Op{Name: "layer_normalization", In: [2]int{2, 3}, Out: [2]int{1, 3}, Compute: layerNorm,
			Attrs: []graph.Attr{integer("axis", -1), float("epsilon", 1e-5), integer("stash_type", 1)}},
		with("rms_normalization", 2, 2, func(c *graph.Call) *te.Tensor {
			axis := axisOf(c, c.Int("axis"), c.Rank(0))
			return ops.RMSNorm(c.In(0), fitting(c, 1, axis), c.Name, c.Rank(0)-axis, c.Float("epsilon"))
		}, integer("axis", -1), float("epsilon", 1e-5), integer("stash_type", 1)),
		with("instance_normalization", 3, 3, func(c *graph.Call) *te.Tensor {
			return ops.InstanceNorm(c.In(0), perChannel(c, 1), perChannel(c, 2), c.Name, c.Float("epsilon"))
		}, float("epsilon", 1e-5)),
		with("group_normalization", 3, 3, func(c *graph.Call) *te.Tensor {
			return ops.GroupNorm(c.In(0), c.In(1), c.In(2), c.Name, c.Int("num_groups"), c.Float("epsilon"))
		}, float("epsilon", 1e-5), integer("num_groups", 1), integer("stash_type", 1)),
		with("lp_normalization", 1, 1, func(c *graph.Call) *te.Tensor {
			return ops.LpNormalization(c.In(0), c.Name, c.Int("axis"), float64(c.Int("p")))
		}, integer("axis", -1), integer("p", 2)),
		with("lrn", 1, 1, func(c *graph.Call) *te.Tensor {
			return ops.LRN(c.In(0), c.Name, c.Int("size"), c.Float("alpha"), c.Float("beta"), c.Float("bias"))
		}, integer("size", 1), float("alpha", 1e-4), float("beta", 0.75), float("bias", 1)),
		with("mean_variance_normalization", 1, 1, func(c *graph.Call) *te.Tensor {
			axes := c.Ints("axes")
			if axes == nil {
				axes = []int{0, 2, 3}
			}
			return ops.MeanVarianceNorm(c.In(0), c.Name, axes, 1e-9)
		}, integers("axes")),
	)
}
