package operators

import (
	"tvmgo/graph"
	"tvmgo/te"
	"tvmgo/te/ops"
	"tvmgo/tir"
)

type binaryFunc func(x, y *te.Tensor, name string) *te.Tensor

// binary is an operator on two tensors that are broadcast.
func binary(name string, f binaryFunc, attrs ...graph.Attr) *graph.Op {
	return with(name, 2, 2, func(c *graph.Call) *te.Tensor { return f(c.In(0), c.In(1), c.Name) }, attrs...)
}

// chain is an operator on any number of tensors that are broadcast.
func chain(name string, f binaryFunc) *graph.Op {
	return with(name, 1, -1, func(c *graph.Call) *te.Tensor { return fold(c, f) })
}

func fold(c *graph.Call, f binaryFunc) *te.Tensor {
	out := c.In(0)
	if c.Len() == 1 {
		return ops.Map(out, c.Name, func(e tir.Expr) tir.Expr { return e })
	}
	for i := 1; i < c.Len(); i++ {
		out = f(out, c.In(i), c.Name)
	}
	return out
}

func init() {
	register(
		binary("add", ops.Add), binary("sub", ops.Subtract), binary("mul", ops.Multiply), binary("div", ops.Divide),
		binary("equal", ops.Equal), binary("less", ops.Less), binary("less_or_equal", ops.LessEqual),
		binary("greater", ops.Greater), binary("greater_or_equal", ops.GreaterEqual), binary("and", ops.LogicalAnd),
		binary("or", ops.LogicalOr), binary("xor", ops.LogicalXor),
		chain("sum", ops.Add), chain("max", ops.Maximum), chain("min", ops.Minimum),
		with("mean", 1, -1, func(c *graph.Call) *te.Tensor {
			n := float64(c.Len())
			return ops.Map(fold(c, ops.Add), c.Name, wide(func(x tir.Expr) tir.Expr { return tir.Div(x, of(x, n)) }))
		}),
		simple("where", 3, func(c *graph.Call) *te.Tensor { return ops.Where(c.In(0), c.In(1), c.In(2), c.Name) }),
		bitwise("bitwise_and"), bitwise("bitwise_or"), bitwise("bitwise_xor"),
		with("bit_shift", 2, 2, bitShift, word("direction", "")),
		with("mod", 2, 2, mod, integer("fmod", 0)),
		binary("pow", pow),
		binary("prelu", func(x, slope *te.Tensor, name string) *te.Tensor {
			return ops.Zip(x, slope, name, func(a, s tir.Expr) tir.Expr {
				return tir.NewSelect(tir.LT(a, of(a, 0)), tir.Mul(s, a), a)
			})
		}),
	)
}

func bitwise(name string) *graph.Op {
	return binary(name, func(x, y *te.Tensor, label string) *te.Tensor {
		return ops.Zip(x, y, label, func(a, b tir.Expr) tir.Expr { return tir.Intrin(name, a, b) })
	})
}

func bitShift(c *graph.Call) *te.Tensor {
	name := map[string]string{"LEFT": "shift_left", "RIGHT": "shift_right"}[c.Text("direction")]
	if name == "" {
		c.Fail("direction is %q: want LEFT or RIGHT", c.Text("direction"))
	}
	return ops.Zip(c.In(0), c.In(1), c.Name, func(a, b tir.Expr) tir.Expr {
		bits := tir.IntConst(b.DType(), int64(b.DType().Bits))
		shifted := tir.Intrin(name, a, tir.Min(b, tir.IntConst(b.DType(), int64(b.DType().Bits)-1)))
		return tir.NewSelect(tir.GE(b, bits), of(a, 0), shifted)
	})
}

// mod is the remainder with the sign of the divisor, or with fmod that of the dividend.
func mod(c *graph.Call) *te.Tensor {
	if !c.Flag("fmod") {
		return ops.FloorMod(c.In(0), c.In(1), c.Name)
	}
	return ops.Zip(c.In(0), c.In(1), c.Name, func(a, b tir.Expr) tir.Expr {
		t := a.DType()
		if isNarrow(t) {
			return tir.NewCast(t, tir.Intrin("fmod", tir.NewCast(tir.Float32, a), tir.NewCast(tir.Float32, b)))
		}
		if tir.IsFloat(t) {
			return tir.Intrin("fmod", a, b)
		}
		zero := tir.EQ(b, of(b, 0)) // the remainder is not defined, or is 0 and the division overflows
		if tir.IsSigned(t) {
			zero = tir.Or(zero, tir.EQ(b, of(b, -1)))
		}
		return tir.NewSelect(zero, of(a, 0), tir.Mod(a, tir.NewSelect(zero, of(b, 1), b)))
	})
}

// pow has the type of the base. Powers of integers are computed in float64, which is exact up to 2^53.
func pow(x, y *te.Tensor, name string) *te.Tensor {
	return ops.Zip(x, y, name, func(a, b tir.Expr) tir.Expr {
		t := a.DType()
		work := tir.Float64
		if t == tir.Float32 || isNarrow(t) {
			work = tir.Float32
		}
		return tir.NewCast(t, tir.Intrin("pow", tir.NewCast(work, a), tir.NewCast(work, b)))
	})
}
