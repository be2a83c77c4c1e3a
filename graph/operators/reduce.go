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

// mapped applies formulas before and after a sum.
func mapped(before, after func(tir.Expr) tir.Expr) reduceFunc {
	return func(x *te.Tensor, name string, axes []int, keepDims bool) *te.Tensor {
		t := x.ProducerDType()
		if isNarrow(t) {
			x = ops.Cast(x, tir.Float32, name)
		}
		if before != nil {
			x = ops.Map(x, name, before)
		}
		x = ops.Sum(x, name, axes, keepDims)
		if after != nil {
			x = ops.Map(x, name, after)
		}
		if x.ProducerDType() != t {
			x = ops.Cast(x, t, name)
		}
		return x
	}
}

func abs(x tir.Expr) tir.Expr { return tir.NewSelect(tir.LT(x, of(x, 0)), tir.Negate(x), x) }

func square(x tir.Expr) tir.Expr { return tir.Mul(x, x) }

// inFloat applies a function of floats, to integers by way of float64.
func inFloat(name string) func(tir.Expr) tir.Expr {
	return func(x tir.Expr) tir.Expr {
		if t := x.DType(); !tir.IsFloat(t) {
			return tir.NewCast(t, tir.Intrin(name, tir.NewCast(tir.Float64, x)))
		}
		return tir.Intrin(name, x)
	}
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
		reduction("reduce_l1", mapped(abs, nil)), reduction("reduce_l2", mapped(square, inFloat("sqrt"))),
		reduction("reduce_sum_square", mapped(square, nil)), reduction("reduce_log_sum", mapped(nil, inFloat("log"))),
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
