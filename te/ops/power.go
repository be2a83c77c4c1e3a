package ops

import (
	"fmt"

	"tvmgo/te"
	"tvmgo/tir"
)

// Power is x to the power of y, with the type of x. The types may differ. A power of integers is exact and wraps; a
// negative power of an integer is rounded towards zero, and 0 if x is 0. A power of an integer by a float is computed
// in floats, and converted as by Cast.
func Power(x, y *te.Tensor, name string) *te.Tensor {
	if bad := check(name, -1, x, y); bad != nil {
		return bad
	}
	if bad := numbers.of(name, x, y); bad != nil {
		return bad
	}
	return Zip(x, y, name, func(a, b tir.Expr) tir.Expr {
		t, by := a.DType(), b.DType()
		if tir.IsInt(t) && tir.IsInt(by) {
			return power(a, b)
		}
		work := workType(t)
		if tir.IsInt(t) {
			if work = workType(by); t.Bits > 16 {
				work = tir.Float64
			}
		}
		return castTo(t, tir.Intrin("pow", tir.NewCast(work, a), tir.NewCast(work, b)))
	})
}

// power is a power of integers, by repeated squaring.
func power(a, b tir.Expr) tir.Expr {
	t, by := a.DType(), b.DType()
	one, zero := tir.Const(t, 1), tir.Const(t, 0)
	base, exponent := tir.NewVar("base", t), tir.NewVar("exponent", by)
	bits := int(by.Bits)
	if tir.IsSigned(by) {
		bits-- // the sign
	}
	// squares[k] is the base to the power of 2 to the power of k, and products[k] that of the lowest k bits
	squares, products := []tir.Expr{base}, []tir.Expr{one}
	var vars []*tir.Var
	var values []tir.Expr
	define := func(prefix string, k int, e tir.Expr) tir.Expr {
		v := tir.NewVar(fmt.Sprintf("%s%d", prefix, k), t)
		vars, values = append(vars, v), append(values, e)
		return v
	}
	for k := range bits {
		bit := tir.Intrin("bitwise_and", tir.Intrin("shift_right", exponent, tir.IntConst(by, int64(k))), tir.IntConst(by, 1))
		factor := tir.NewSelect(tir.NE(bit, tir.IntConst(by, 0)), squares[k], one)
		products = append(products, define("product", k, tir.Mul(products[k], factor)))
		if k+1 < bits {
			squares = append(squares, define("square", k, tir.Mul(squares[k], squares[k])))
		}
	}
	result := products[bits]
	if tir.IsSigned(by) { // 1 / x to the power of -y
		odd := tir.NE(tir.Intrin("bitwise_and", exponent, tir.IntConst(by, 1)), tir.IntConst(by, 0))
		inverse := zero
		if tir.IsSigned(t) {
			minus := tir.Const(t, -1)
			inverse = tir.NewSelect(tir.EQ(base, minus), tir.NewSelect(odd, minus, one), inverse)
		}
		inverse = tir.NewSelect(tir.EQ(base, one), one, inverse)
		result = tir.NewSelect(tir.LT(exponent, tir.IntConst(by, 0)), inverse, result)
	}
	for k := len(vars) - 1; k >= 0; k-- {
		result = &tir.Let{Var: vars[k], Value: values[k], Body: result}
	}
	return &tir.Let{Var: base, Value: a, Body: &tir.Let{Var: exponent, Value: b, Body: result}}
}
