package ops

import (
	"math"

	"tvmgo/te"
	"tvmgo/tir"
)

// Cast converts the elements to another type. A float becomes an integer by rounding towards zero; a value beyond the
// integer type becomes its least or greatest value, NaN 0. An integer becomes a narrower one by its lowest bits, as in
// NumPy. A float becomes another float by rounding to nearest, ties to even, and infinite if it is too large. From
// bool, true is 1; to bool, everything but 0 is true.
func Cast(x *te.Tensor, t tir.Type, name string) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := elements.of(name, x); bad != nil {
		return bad
	}
	if !elements.has(t) {
		return failed(name, "tensor %s is to be cast to type %s: want %s", x.ProducerName(), t, elements.want)
	}
	out := Map(x, name, func(e tir.Expr) tir.Expr { return castTo(t, e) })
	return by(out, &Operator{Kind: "cast", Inputs: []*te.Tensor{x}})
}

// castTo converts a value to another type, by the rules of Cast.
func castTo(t tir.Type, e tir.Expr) tir.Expr {
	from := e.DType()
	if !tir.IsFloat(from) || !tir.IsInt(t) {
		return tir.NewCast(t, e)
	}
	if isNarrow(from) { // 16-bit floats cannot represent the bounds of wider integers
		e = tir.NewCast(tir.Float32, e)
	}
	bits := int(t.Bits)
	least := 0.0
	if tir.IsSigned(t) {
		bits--
		least = -math.Ldexp(1, bits)
	}
	beyond := tir.Const(e.DType(), math.Ldexp(1, bits))
	within := tir.NewSelect(tir.LE(e, tir.Const(e.DType(), least)), limit(t, false), tir.NewCast(t, e))
	return tir.NewSelect(isNaN(e), tir.Const(t, 0), tir.NewSelect(tir.GE(e, beyond), limit(t, true), within))
}
