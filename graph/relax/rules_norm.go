package relax

import (
	"math"
	"slices"

	"tvmgo/graph"
	"tvmgo/tir"
)

func init() {
	add("nn.batch_norm", batchNorm)
	add("nn.layer_norm", func(c *call) value {
		return c.trailing(func(x *graph.Value, begin int64) *graph.Value {
			return c.node("layer_normalization", graph.Attrs{"axis": begin, "epsilon": c.expr.Attrs.Float("epsilon")}, x,
				c.t(1), c.t(2))
		})
	})
	add("nn.rms_norm", func(c *call) value {
		return c.trailing(func(x *graph.Value, begin int64) *graph.Value {
			return c.node("rms_normalization", graph.Attrs{"axis": begin, "epsilon": c.expr.Attrs.Float("epsilon")}, x, c.t(1))
		})
	})
	add("nn.group_norm", func(c *call) value {
		return c.channels(func(x, scale, shift *graph.Value, epsilon float64) *graph.Value {
			attrs := graph.Attrs{"num_groups": c.expr.Attrs.Int("num_groups"), "epsilon": epsilon}
			return c.node("group_normalization", attrs, x, scale, shift)
		})
	})
	add("nn.instance_norm", func(c *call) value {
		return c.channels(func(x, scale, shift *graph.Value, epsilon float64) *graph.Value {
			return c.node("instance_normalization", graph.Attrs{"epsilon": epsilon}, x, scale, shift)
		})
	})
	add("nn.dropout", func(c *call) value { // without effect, as models are not trained
		x := c.t(0)
		return tuple{x, c.filled(c.node("shape", nil, x), c.number(x.DType, 1))}
	})
	add("nn.attention", attention)
	add("nn.attention_bias", attention)
	add("nn.cross_entropy_with_logits", func(c *call) value {
		x := c.t(0)
		sum := c.node("neg", nil, c.node("reduce_sum", graph.Attrs{"keepdims": int64(0)}, c.node("mul", nil, x, c.t(1))))
		if len(x.Shape) == 1 {
			return sum
		}
		return c.node("div", nil, sum, c.as(c.node("squeeze", nil, c.sizes(shape{x.Shape[0]})), x.DType))
	})
	add("nn.nll_loss", func(c *call) value {
		attrs := graph.Attrs{"reduction": c.expr.Attrs.Text("reduction"), "ignore_index": c.expr.Attrs.Int("ignore_index")}
		in := []*graph.Value{c.t(0), c.t(1)}
		if c.has(2) {
			in = append(in, c.t(2))
		}
		if single := len(in[0].Shape) == 1; single {
			in[0], in[1] = c.node("unsqueeze", nil, in[0], c.list(0)), c.node("unsqueeze", nil, in[1], c.list(0))
			out := c.node("nll", attrs, in...)
			return c.reshaped(out, shape{})
		}
		return c.node("nll", attrs, in...)
	})
}

// filled returns a tensor of a shape whose elements are all the same.
func (c *call) filled(shape, v *graph.Value) *graph.Value {
	return c.node("constant_of_shape", nil, shape, v)
}

// affine returns the scale and the shift of a batch normalization, which are operands 1 and 2: ones and zeros if the
// attributes scale and center turn them off. Other normalizations have these attributes, and TVM ignores them.
func (c *call) affine() (scale, shift *graph.Value) {
	scale, shift = c.t(1), c.t(2)
	if c.int("scale", 1) == 0 {
		scale = c.filled(c.node("shape", nil, scale), c.number(scale.DType, 1))
	}
	if c.int("center", 1) == 0 {
		shift = c.filled(c.node("shape", nil, shift), c.number(shift.DType, 0))
	}
	return scale, shift
}

// trailing calls f for data whose last dimensions, those from begin on, are the attribute axes.
func (c *call) trailing(f func(x *graph.Value, begin int64) *graph.Value) *graph.Value {
	x := c.t(0)
	rank := len(x.Shape)
	over := axes(c.expr.Attrs.Ints("axes"), rank)
	if len(over) == 0 {
		fail("attribute %q is empty", "axes")
	}
	var to []int64
	for d := range rank {
		if !slices.Contains(over, d) {
			to = append(to, int64(d))
		}
	}
	begin := int64(len(to))
	for _, a := range over {
		to = append(to, int64(a))
	}
	back := make([]int64, rank)
	if len(to) != rank {
		fail("attribute %q has an axis twice", "axes")
	}
	for d, from := range to {
		back[from] = int64(d)
	}
	return c.perm(f(c.perm(x, to), begin), back)
}

// channels calls f for data with the dimensions batch, channel, and those that are normalised.
func (c *call) channels(f func(x, scale, shift *graph.Value, epsilon float64) *graph.Value) *graph.Value {
	a := c.expr.Attrs
	x := c.t(0)
	rank := len(x.Shape)
	channel := axis(a.Int("channel_axis"), rank)
	over := axes(a.Ints("axes"), rank)
	to := []int64{}
	for d := range rank {
		if d != channel && !slices.Contains(over, d) {
			to = append(to, int64(d))
		}
	}
	if len(to) != 1 {
		fail("the data has %d dimensions, of which %d are neither channels nor normalised: want one", rank, len(to))
	}
	to = append(to, int64(channel))
	for _, d := range over {
		if d != channel {
			to = append(to, int64(d))
		}
	}
	if len(to) != rank {
		fail("attribute %q has an axis twice", "axes")
	}
	back := make([]int64, rank)
	for d, from := range to {
		back[from] = int64(d)
	}
	return c.perm(f(c.perm(x, to), c.t(1), c.t(2), a.Float("epsilon")), back)
}

// batchNorm returns the result, and the mean and the variance for the next step of training, which are the operands
// unless the attribute training is set.
func batchNorm(c *call) value {
	a := c.expr.Attrs
	x, mean, variance := c.t(0), c.t(3), c.t(4)
	rank := len(x.Shape)
	channel := axis(a.Int("axis"), rank)
	scale, shift := c.affine()
	results := tuple{nil, mean, variance}
	if c.flag("training") {
		var over []int64
		for d := range rank {
			if d != channel {
				over = append(over, int64(d))
			}
		}
		own, deviation := c.moments(x, over)
		m := a.Float("momentum")
		mix := func(old, now *graph.Value) *graph.Value {
			return c.node("add", nil, c.node("mul", nil, old, c.number(old.DType, 1-m)),
				c.node("mul", nil, now, c.number(now.DType, m)))
		}
		results[1], results[2] = mix(mean, own), mix(variance, deviation)
		mean, variance = own, deviation
	}
	perm := []int64{}
	for d := range rank {
		perm = append(perm, int64(d))
	}
	if rank > 1 { // the channel is dimension 1; this is its own inverse
		perm[1], perm[channel] = perm[channel], perm[1]
	}
	out := c.node("batch_normalization", graph.Attrs{"epsilon": a.Float("epsilon")}, c.perm(x, perm), scale, shift, mean,
		variance)
	results[0] = c.perm(out, perm)
	return results
}

// moments returns the mean and the variance over axes.
func (c *call) moments(x *graph.Value, over []int64) (mean, variance *graph.Value) {
	list := c.list(over...)
	gone := graph.Attrs{"keepdims": int64(0)}
	centered := c.node("sub", nil, x, c.node("reduce_mean", nil, x, list))
	variance = c.node("reduce_mean", gone, c.node("mul", nil, centered, centered), list)
	return c.node("reduce_mean", gone, x, list), variance
}

// attention has the operands q, k, v with the dimensions batch, position, head and feature, and a bias that is added to
// the scores.
func attention(c *call) value {
	a := c.expr.Attrs
	swap := []int64{0, 2, 1, 3}
	var in []*graph.Value
	for k := range 3 {
		v := c.t(k)
		if len(v.Shape) != 4 {
			fail("argument %d has %d dimensions: want 4", k, len(v.Shape))
		}
		in = append(in, c.perm(v, swap))
	}
	if a.Has("window_size") && a.Value("window_size") != nil {
		fail("window_size is not supported")
	}
	attrs := graph.Attrs{}
	switch s := a.Value("scale").(type) {
	case float64:
		attrs["scale"] = s
	case int64:
		attrs["scale"] = float64(s)
	}
	var mask *graph.Value
	if c.has(3) {
		mask = c.t(3)
	}
	switch causal := c.text("causal_mask", ""); causal {
	case "":
	case "TopLeft":
		attrs["is_causal"] = int64(1)
	case "BottomRight": // query i sees the keys up to i + keys - queries
		queries, keys := in[0].Shape[2], in[1].Shape[2]
		all := c.filled(c.sizes(shape{queries, keys}), c.number(tir.Int32, 1))
		shift := c.node("squeeze", nil, c.sizes(shape{tir.Sub(keys, queries)}))
		seen := c.as(c.node("trilu", graph.Attrs{"upper": int64(0)}, all, shift), tir.Bool)
		if mask == nil {
			mask = seen
		} else {
			mask = c.node("where", nil, seen, mask, c.number(mask.DType, math.Inf(-1)))
		}
	default:
		fail("causal_mask is %q: want TopLeft or BottomRight", causal)
	}
	if mask != nil {
		in = append(in, mask)
	}
	return c.perm(c.node("attention", attrs, in...), swap)
}
