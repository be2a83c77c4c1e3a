package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

type reduceFunc func(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor

// reduction is an operator with the operands data and axes: without axes it reduces all of them, or none if
// noop_with_empty_axes is set.
func reduction(name string, f reduceFunc) *graph.Op {
	return with(name, 1, 2, func(c *graph.Call) *te.Tensor {
		var axes []int
		if c.Has(1) {
			axes = axesOf(c, c.IntsOf(1), c.Rank(0))
		}
		if len(axes) == 0 {
			axes = nil
			if c.Flag("noop_with_empty_axes") {
				axes = []int{}
			}
		}
		return f(c.In(0), c.Name, axes, c.Flag("keepdims"))
	}, integer("keepdims", 1), integer("noop_with_empty_axes", 0))
}

// ofIntegers makes a reduction of floats one of integers, too: they are computed in float64, and the result is cut.
func ofIntegers(f reduceFunc) reduceFunc {
	return func(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
		t := x.ProducerDType()
		if !tir.IsInt(t) {
			return f(x, name, axes, keepDims)
		}
		return ops.Cast(f(ops.Cast(x, tir.Float64, name), name, axes, keepDims), t, name)
	}
}

// extreme is the greatest or least element, also of truth values.
func extreme(f, ofBools reduceFunc) reduceFunc {
	return func(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
		if tir.IsBool(x.ProducerDType()) {
			return ofBools(x, name, axes, keepDims)
		}
		return f(x, name, axes, keepDims)
	}
}

// argument is the position of the greatest or least element along an axis.
func argument(name string, first, last reduceFunc) *graph.Op {
	return with(name, 1, 1, func(c *graph.Call) *te.Tensor {
		axis := axisOf(c, c.Int("axis"), c.Rank(0))
		if c.Flag("select_last_index") {
			return last(c.In(0), c.Name, []int{axis}, c.Flag("keepdims"))
		}
		return first(c.In(0), c.Name, []int{axis}, c.Flag("keepdims"))
	}, integer("axis", 0), integer("keepdims", 1), integer("select_last_index", 0))
}

func init() {
	register(
		reduction("reduce_sum", ops.Sum), reduction("reduce_mean", ofIntegers(ops.Mean)), reduction("reduce_prod", ops.Prod),
		reduction("reduce_max", extreme(ops.Max, ops.Any)), reduction("reduce_min", extreme(ops.Min, ops.All)),
		reduction("reduce_l1", ops.L1), reduction("reduce_l2", ofIntegers(ops.L2)),
		reduction("reduce_sum_square", ops.SumSquare), reduction("reduce_log_sum", ofIntegers(ops.LogSum)),
		reduction("reduce_log_sum_exp", ofIntegers(ops.LogSumExp)),
		argument("arg_max", ops.ArgMax, ops.ArgMaxLast),
		argument("arg_min", ops.ArgMin, ops.ArgMinLast), with("hardmax", 1, 1, func(c *graph.Call) *te.Tensor {
			return ops.Hardmax(c.In(0), c.Name, axisOf(c, c.Int("axis"), c.Rank(0)))
		}, integer("axis", -1)),
		with("softmax", 1, 1, func(c *graph.Call) *te.Tensor { return ops.Softmax(c.In(0), c.Name, c.Int("axis")) },
			integer("axis", -1)),
		with("log_softmax", 1, 1, func(c *graph.Call) *te.Tensor { return ops.LogSoftmax(c.In(0), c.Name, c.Int("axis")) },
			integer("axis", -1)),
	)
}
