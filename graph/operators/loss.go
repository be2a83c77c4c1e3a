package operators

import (
	"math"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

func init() {
	register(with("nll", 2, 3, negativeLogLikelihood, word("reduction", "mean"), integer("ignore_index", math.MinInt64)))
}

// negativeLogLikelihood has the operands logarithms of probabilities, with classes in dimension 1, the class of each
// element, and weights of classes.
func negativeLogLikelihood(c *graph.Call) *te.Tensor {
	x, classes := c.In(0), c.In(1)
	atLeast(c, 0, 2)
	if c.Rank(1) != c.Rank(0)-1 || !tir.IsInt(c.DType(1)) {
		c.Fail("operand 1 has %d dimensions of type %s: want %d of integers", c.Rank(1), c.DType(1), c.Rank(0)-1)
	}
	if c.Has(2) && c.Rank(2) != 1 {
		c.Fail("the weights of classes have %d dimensions: want 1", c.Rank(2))
	}
	n := c.Shape(0)[1]
	t := x.ProducerDType()
	at := func(i []tir.Expr) (class tir.Expr, weight tir.Expr) {
		raw := tir.NewCast(tir.Int64, classes.At(i...))
		class = fromEnd(tir.NewCast(tir.Int32, raw), n)
		weight = tir.Const(t, 1)
		if c.Has(2) {
			weight = c.In(2).At(class)
		}
		if skip := c.Int("ignore_index"); skip != math.MinInt64 {
			weight = tir.NewSelect(tir.EQ(raw, tir.I64(int64(skip))), tir.Const(t, 0), weight)
		}
		return class, weight
	}
	each := te.Compute(c.Shape(1), c.Name, func(i ...tir.Expr) tir.Expr {
		class, weight := at(i)
		index := append([]tir.Expr{i[0], class}, i[1:]...)
		return tir.Mul(tir.Negate(x.At(index...)), weight)
	})
	sum := func(x *te.Tensor) *te.Tensor { return ops.Sum(x, c.Name, nil, false) }
	switch reduction := c.Text("reduction"); reduction {
	case "none":
		return each
	case "sum":
		return sum(each)
	case "mean":
		weights := te.Compute(c.Shape(1), c.Name, func(i ...tir.Expr) tir.Expr {
			_, weight := at(i)
			return weight
		})
		return ops.Divide(sum(each), sum(weights), c.Name)
	default:
		c.Fail("reduction is %q: want none, sum or mean", reduction)
		return nil
	}
}
