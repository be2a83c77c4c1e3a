package operators

import (
	"slices"

	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// aligned returns operands that package te/ops can broadcast. It requires sizes that are provably equal or 1; here,
// sizes that are only known at run time may be 1 then, too. Such operands are repeated to the common shape. The
// code checks that sizes which differ are 1.
func aligned(c *graph.Call, all ...*te.Tensor) []*te.Tensor {
	shape, open := commonShape(c, all)
	if !open {
		return all
	}
	out := make([]*te.Tensor, len(all))
	for k, t := range all {
		fit(c, t, shape)
		out[k] = repeated(t, shape)
	}
	return out
}

// fit requires that a tensor can be broadcast to a shape.
func fit(c *graph.Call, t *te.Tensor, shape []tir.Expr) {
	own := t.ProducerShape()
	for d, n := range own {
		if want := shape[len(shape)-len(own)+d]; !isOne(n) {
			want = simplify(tir.NewSelect(tir.EQ(n, tir.I32(1)), tir.I32(1), want))
			c.Require(n, want, "dimension %d of operand %d has to be 1 or the size of the others", d,
				max(slices.Index(c.All(), t), 0))
		}
	}
}

// sized returns a tensor whose dimension d is declared as another size, which the code checks.
func sized(c *graph.Call, t *te.Tensor, d int, size tir.Expr, what string) *te.Tensor {
	own := t.ProducerShape()
	if arith.ProveEqual(own[d], size) {
		return t
	}
	c.Require(own[d], size, "%s", what)
	shape := append([]tir.Expr{}, own...)
	shape[d] = size
	return te.Compute(shape, t.ProducerName(), func(i ...tir.Expr) tir.Expr { return t.At(i...) })
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
	shape, open := commonShape(c, []*te.Tensor{x, te.Placeholder(c.Sizes(1), c.DType(0), "shape")})
	if !open {
		return ops.BroadcastTo(x, c.Name, c.Sizes(1)...)
	}
	fit(c, x, shape)
	return repeated(x, shape)
}

// largestCommon limits the nodes of the size of results of which each operand has a size of its own: about 16 operands.
const largestCommon = 100

// commonShape returns the shape of broadcast tensors, and whether package te/ops could not tell it.
func commonShape(c *graph.Call, all []*te.Tensor) (shape []tir.Expr, open bool) {
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
				shape[d], open = simplify(tir.NewSelect(tir.EQ(n, tir.I32(1)), shape[d], n)), true // shape[d] is not doubled
				if graph.IsLarge(shape[d], largestCommon) {
					c.Fail("dimension %d depends on too many sizes that are only known at run time: give some of them as constants", d)
				}
			}
		}
	}
	return shape, open
}
