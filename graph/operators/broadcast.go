package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// aligned returns tensors that package te/ops can broadcast. It requires sizes that are provably equal or 1; here,
// sizes that are only known at run time may turn out to be 1, too. Such tensors are repeated to the common shape. Sizes
// that differ at run time and are not 1 read the last element instead of failing.
func aligned(all ...*te.Tensor) []*te.Tensor {
	shape, open := commonShape(all)
	if !open {
		return all
	}
	out := make([]*te.Tensor, len(all))
	for k, t := range all {
		out[k] = repeated(t, shape)
	}
	return out
}

// repeated returns a tensor with the elements of another one, which is broadcast to a shape.
func repeated(t *te.Tensor, shape []tir.Expr) *te.Tensor {
	own := t.ProducerShape()
	return te.Compute(shape, t.ProducerName(), func(i ...tir.Expr) tir.Expr {
		if isEmpty(own) {
			return tir.Const(t.ProducerDType(), 0) // the result has no element, either
		}
		at := make([]tir.Expr, len(own))
		for d, n := range own {
			at[d] = i[len(i)-len(own)+d]
			if isOne(n) {
				at[d] = tir.I32(0)
			} else if !arith.ProveEqual(n, shape[len(shape)-len(own)+d]) {
				at[d] = tir.Min(at[d], tir.Sub(n, tir.I32(1)))
			}
		}
		return t.At(at...)
	})
}

// expand broadcasts operand 0 to the shape in operand 1, in both directions.
func expand(c *graph.Call) *te.Tensor {
	x := c.In(0)
	shape, open := commonShape([]*te.Tensor{x, te.Placeholder(c.Sizes(1), c.DType(0), "shape")})
	if !open {
		return ops.BroadcastTo(x, c.Name, c.Sizes(1)...)
	}
	return repeated(x, shape)
}

// commonShape returns the shape of broadcast tensors, and whether package te/ops could not tell it.
func commonShape(all []*te.Tensor) (shape []tir.Expr, open bool) {
	for _, t := range all {
		s := t.ProducerShape()
		for len(shape) < len(s) {
			shape = append([]tir.Expr{tir.I32(1)}, shape...)
		}
		for k := 1; k <= len(s); k++ {
			d, n := len(shape)-k, s[len(s)-k]
			_, fixed := tir.IntValue(n)
			_, known := tir.IntValue(shape[d])
			switch {
			case isOne(n), arith.ProveEqual(n, shape[d]):
			case isOne(shape[d]):
				shape[d] = n
			case fixed && known: // an error that the operator reports
			case known:
				open = true
			case fixed:
				shape[d], open = n, true
			default:
				shape[d], open = simplify(tir.NewSelect(tir.EQ(shape[d], tir.I32(1)), n, shape[d])), true
			}
		}
	}
	return shape, open
}
