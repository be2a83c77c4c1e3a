package ops

import (
	"tvmgo/te"
	"tvmgo/tir"
	"tvmgo/tir/arith"
	"tvmgo/tir/text"
)

// broadcast returns the common shape of tensors, as in NumPy: shapes are aligned at the last dimension, and a dimension
// that is missing or has size 1 is repeated. Sizes that are not constant must be provably equal or 1.
func broadcast(name string, all ...*te.Tensor) ([]tir.Expr, *te.Tensor) {
	var shape []tir.Expr
	by := []*te.Tensor{} // per dimension: the tensor that determines its size
	for _, t := range all {
		s := t.ProducerShape()
		for len(shape) < len(s) {
			shape, by = append([]tir.Expr{nil}, shape...), append([]*te.Tensor{nil}, by...)
		}
		for k := 1; k <= len(s); k++ {
			d, n := len(shape)-k, s[len(s)-k]
			switch {
			case shape[d] == nil || isOne(shape[d]):
				shape[d], by[d] = n, t
			case isOne(n), arith.ProveEqual(shape[d], n):
			default:
				return nil, failed(name, "dimension %d of tensors %s and %s is %s and %s: want equal sizes, or 1", d,
					by[d].ProducerName(), t.ProducerName(), text.Print(shape[d]), text.Print(n))
			}
		}
	}
	return shape, nil
}

// pick returns the element of a tensor at indices of the shape that it was broadcast to.
func pick(t *te.Tensor, i []tir.Expr) tir.Expr { return t.At(pickAt(t.ProducerShape(), i)...) }

func pickAt(s, i []tir.Expr) []tir.Expr {
	at := make([]tir.Expr, len(s))
	for d := range s {
		at[d] = i[len(i)-len(s)+d]
		if isOne(s[d]) {
			at[d] = tir.IntConst(s[d].DType(), 0)
		}
	}
	return at
}

// Zip applies f to the elements of two tensors, which are broadcast as in NumPy: shapes are aligned at the last
// dimension, and a dimension that is 1 or missing is repeated. Sizes that are not constant must be provably equal or 1:
// use one variable for both.
func Zip(x, y *te.Tensor, name string, f func(a, b tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x, y); bad != nil {
		return bad
	}
	shape, bad := broadcast(name, x, y)
	if bad != nil {
		return bad
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr { return f(pick(x, i), pick(y, i)) })
}

// zipOf is Zip for two tensors of the same type, which is in a class.
func zipOf(c class, x, y *te.Tensor, name string, f func(a, b tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x, y); bad != nil {
		return bad
	}
	if bad := c.of(name, x, y); bad != nil {
		return bad
	}
	if bad := sameType(name, x, y); bad != nil {
		return bad
	}
	return Zip(x, y, name, f)
}

// Add is x + y, broadcast as by Zip. Both operands must have the same type; integers wrap. The same holds for the other
// binary operators.
func Add(x, y *te.Tensor, name string) *te.Tensor { return zipOf(numbers, x, y, name, tir.Add) }

// Subtract is x - y.
func Subtract(x, y *te.Tensor, name string) *te.Tensor { return zipOf(numbers, x, y, name, tir.Sub) }

// Multiply is the elementwise product x·y.
func Multiply(x, y *te.Tensor, name string) *te.Tensor { return zipOf(numbers, x, y, name, tir.Mul) }

// Divide is x / y. Integers are rounded towards zero; where y is 0, the result is 0.
func Divide(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(numbers, x, y, name, func(a, b tir.Expr) tir.Expr { return divide(tir.OpDiv, a, b) })
}

// FloorDivide is ⌊x / y⌋. For integers, the result is 0 where y is 0.
func FloorDivide(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(numbers, x, y, name, func(a, b tir.Expr) tir.Expr { return divide(tir.OpFloorDiv, a, b) })
}

// FloorMod is the remainder of FloorDivide, with the sign of y. For integers, the result is 0 where y is 0.
func FloorMod(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(numbers, x, y, name, func(a, b tir.Expr) tir.Expr { return divide(tir.OpFloorMod, a, b) })
}

// TruncMod is the remainder of a division that rounds towards zero, with the sign of x, as C's operator % and its
// function fmod give it. For integers, the result is 0 where y is 0.
func TruncMod(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(numbers, x, y, name, func(a, b tir.Expr) tir.Expr {
		if t := a.DType(); isNarrow(t) {
			return tir.NewCast(t, tir.Intrin("fmod", tir.NewCast(tir.Float32, a), tir.NewCast(tir.Float32, b)))
		} else if tir.IsFloat(t) {
			return tir.Intrin("fmod", a, b)
		}
		return divide(tir.OpMod, a, b)
	})
}

// divide avoids the integer divisions that trap: by 0, and of the least integer by -1.
func divide(op tir.BinaryOp, a, b tir.Expr) tir.Expr {
	t := a.DType()
	if tir.IsFloat(t) {
		return tir.NewBinary(op, a, b)
	}
	zero, one := tir.Const(t, 0), tir.Const(t, 1)
	if !tir.IsSigned(t) {
		return tir.NewSelect(tir.EQ(b, zero), zero, tir.NewBinary(op, a, tir.Max(b, one)))
	}
	minus := tir.EQ(b, tir.Const(t, -1))
	special := tir.Or(tir.EQ(b, zero), minus)
	other := zero
	if op == tir.OpDiv || op == tir.OpFloorDiv {
		other = tir.NewSelect(minus, tir.Negate(a), zero)
	}
	return tir.NewSelect(special, other, tir.NewBinary(op, a, tir.NewSelect(special, one, b)))
}

// Minimum is the lesser element of two tensors; NaN if either is NaN.
func Minimum(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(numbers, x, y, name, func(a, b tir.Expr) tir.Expr { return orNaN(a, tir.Min(a, b)) })
}

// Maximum is the greater element of two tensors; NaN if either is NaN.
func Maximum(x, y *te.Tensor, name string) *te.Tensor {
	return zipOf(numbers, x, y, name, func(a, b tir.Expr) tir.Expr { return orNaN(a, tir.Max(a, b)) })
}

// orNaN returns a if it is NaN, else e. The operators min and max return their second operand if one is NaN; with
// orNaN, NaN propagates as in NumPy.
func orNaN(a, e tir.Expr) tir.Expr {
	if n := isNaN(a); n != nil {
		return tir.NewSelect(n, a, e)
	}
	return e
}

// Equal is x == y, as bool.
func Equal(x, y *te.Tensor, name string) *te.Tensor { return zipOf(elements, x, y, name, tir.EQ) }

// NotEqual is x != y, as bool.
func NotEqual(x, y *te.Tensor, name string) *te.Tensor { return zipOf(elements, x, y, name, tir.NE) }

// Less is x < y, as bool.
func Less(x, y *te.Tensor, name string) *te.Tensor { return zipOf(numbers, x, y, name, tir.LT) }

// LessEqual is x <= y, as bool.
func LessEqual(x, y *te.Tensor, name string) *te.Tensor { return zipOf(numbers, x, y, name, tir.LE) }

// Greater is x > y, as bool.
func Greater(x, y *te.Tensor, name string) *te.Tensor { return zipOf(numbers, x, y, name, tir.GT) }

// GreaterEqual is x >= y, as bool.
func GreaterEqual(x, y *te.Tensor, name string) *te.Tensor { return zipOf(numbers, x, y, name, tir.GE) }

// LogicalAnd is true where both tensors, of bool, are.
func LogicalAnd(x, y *te.Tensor, name string) *te.Tensor { return zipOf(bools, x, y, name, tir.And) }

// LogicalOr is true where at least one of two tensors of bool is.
func LogicalOr(x, y *te.Tensor, name string) *te.Tensor { return zipOf(bools, x, y, name, tir.Or) }

// LogicalXor is true where exactly one of two tensors of bool is.
func LogicalXor(x, y *te.Tensor, name string) *te.Tensor { return zipOf(bools, x, y, name, tir.NE) }

// Where is x where cond holds, else y. All three are broadcast.
func Where(cond, x, y *te.Tensor, name string) *te.Tensor {
	if bad := check(name, -1, cond, x, y); bad != nil {
		return bad
	}
	if bad := bools.of(name, cond); bad != nil {
		return bad
	}
	if bad := elements.of(name, x, y); bad != nil {
		return bad
	}
	if bad := sameType(name, x, y); bad != nil {
		return bad
	}
	shape, bad := broadcast(name, cond, x, y)
	if bad != nil {
		return bad
	}
	return te.Compute(shape, name, func(i ...tir.Expr) tir.Expr {
		return tir.NewSelect(pick(cond, i), pick(x, i), pick(y, i))
	})
}
