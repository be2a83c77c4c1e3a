package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

// perChannel returns the element of a vector for the channel, which is dimension 1.
func perChannel(v *te.Tensor, i []tir.Expr) tir.Expr {
	if len(i) < 2 {
		return v.At(tir.I32(0))
	}
	return v.At(i[1])
}

// batchNorm has the operands data, scale, bias, mean and variance.
func batchNorm(c *graph.Call) *te.Tensor {
	x, eps := c.In(0), c.Float("epsilon")
	t := x.ProducerDType()
	work := t
	if isNarrow(t) {
		work = tir.Float32
	}
	as := func(e tir.Expr) tir.Expr { return tir.NewCast(work, e) }
	return te.Compute(c.Shape(0), c.Name, func(i ...tir.Expr) tir.Expr {
		mean, variance := as(perChannel(c.In(3), i)), as(perChannel(c.In(4), i))
		factor := tir.Div(as(perChannel(c.In(1), i)), tir.Intrin("sqrt", tir.Add(variance, tir.Const(work, eps))))
		return tir.NewCast(t, tir.Add(tir.Mul(tir.Sub(as(x.At(i...)), mean), factor), as(perChannel(c.In(2), i))))
	})
}

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
	return broadcastTo(c, c.In(i), c.Shape(0)[axis:])
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
		with("batch_normalization", 5, 5, batchNorm, float("epsilon", 1e-5), float("momentum", 0.9)),
		&graph.Op{Name: "layer_normalization", In: [2]int{2, 3}, Out: [2]int{1, 3}, Compute: layerNorm,
			Attrs: []graph.Attr{integer("axis", -1), float("epsilon", 1e-5), integer("stash_type", 1)}},
		with("rms_normalization", 2, 2, func(c *graph.Call) *te.Tensor {
			axis := axisOf(c, c.Int("axis"), c.Rank(0))
			return ops.RMSNorm(c.In(0), fitting(c, 1, axis), c.Name, c.Rank(0)-axis, c.Float("epsilon"))
		}, integer("axis", -1), float("epsilon", 1e-5), integer("stash_type", 1)),
		with("instance_normalization", 3, 3, func(c *graph.Call) *te.Tensor {
			channels := constShape(c, 1)[0]
			return ops.GroupNorm(c.In(0), c.In(1), c.In(2), c.Name, channels, c.Float("epsilon"))
		}, float("epsilon", 1e-5)),
		with("group_normalization", 3, 3, func(c *graph.Call) *te.Tensor {
			return ops.GroupNorm(c.In(0), c.In(1), c.In(2), c.Name, c.Int("num_groups"), c.Float("epsilon"))
		}, float("epsilon", 1e-5), integer("num_groups", 1), integer("stash_type", 1)),
	)
}
