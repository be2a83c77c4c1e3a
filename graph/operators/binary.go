package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

type binaryFunc func(x, y *te.Tensor, name string) *te.Tensor

// binary is an operator on two tensors that are broadcast.
func binary(name string, f binaryFunc) *graph.Op {
	return simple(name, 2, func(c *graph.Call) *te.Tensor {
		in := aligned(c, c.In(0), c.In(1))
		return f(in[0], in[1], c.Name)
	})
}

// chain is an operator on any number of tensors that are broadcast.
func chain(name string, f binaryFunc) *graph.Op {
	return with(name, 1, -1, func(c *graph.Call) *te.Tensor { return fold(c, f) })
}

func fold(c *graph.Call, f binaryFunc) *te.Tensor {
	for i := range c.Len() {
		if !c.Has(i) {
			c.Fail("operand %d is missing", i)
		}
	}
	if c.Len() == 1 {
		return copied(c.In(0), c.Name)
	}
	in := aligned(c, c.All()...)
	out := in[0]
	for _, t := range in[1:] {
		out = f(out, t, c.Name)
	}
	return out
}

func init() {
	for name, f := range map[string]binaryFunc{
		"add": ops.Add, "and": ops.LogicalAnd, "bitwise_and": ops.BitwiseAnd, "bitwise_or": ops.BitwiseOr,
		"bitwise_xor": ops.BitwiseXor, "div": ops.Divide, "equal": ops.Equal, "greater": ops.Greater,
		"greater_or_equal": ops.GreaterEqual, "less": ops.Less, "less_or_equal": ops.LessEqual, "mul": ops.Multiply,
		"or": ops.LogicalOr, "pow": pow, "prelu": ops.PRelu, "sub": ops.Subtract, "xor": ops.LogicalXor,
	} {
		register(binary(name, f))
	}
	register(
		chain("sum", ops.Add), chain("max", ops.Maximum), chain("min", ops.Minimum),
		with("mean", 1, -1, func(c *graph.Call) *te.Tensor {
			n := float64(c.Len())
			return ops.Map(fold(c, ops.Add), c.Name, wide(func(x tir.Expr) tir.Expr { return tir.Div(x, of(x, n)) }))
		}),
		simple("where", 3, func(c *graph.Call) *te.Tensor {
			in := aligned(c, c.All()...)
			return ops.Where(in[0], in[1], in[2], c.Name)
		}),
		with("bit_shift", 2, 2, func(c *graph.Call) *te.Tensor {
			in := aligned(c, c.All()...)
			switch c.Text("direction") {
			case "LEFT":
				return ops.LeftShift(in[0], in[1], c.Name)
			case "RIGHT":
				return ops.RightShift(in[0], in[1], c.Name)
			}
			c.Fail("direction is %q: want LEFT or RIGHT", c.Text("direction"))
			return nil
		}, word("direction", "")),
		with("mod", 2, 2, func(c *graph.Call) *te.Tensor {
			in := aligned(c, c.All()...)
			if c.Flag("fmod") {
				return ops.TruncMod(in[0], in[1], c.Name)
			}
			return ops.FloorMod(in[0], in[1], c.Name)
		}, integer("fmod", 0)),
	)
}

// pow has the type of the base. Powers of two types are computed in float64, or in the type of a base of floats.
func pow(x, y *te.Tensor, name string) *te.Tensor {
	t := x.ProducerDType()
	if t == y.ProducerDType() {
		return ops.Power(x, y, name)
	}
	work := tir.Float64
	if tir.IsFloat(t) {
		work = t
	} else if tir.IsInt(y.ProducerDType()) {
		return ops.Power(x, ops.Cast(y, t, name), name)
	}
	return cast(ops.Power(cast(x, work, name), cast(y, work, name), name), t, name)
}
