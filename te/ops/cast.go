package ops

import (
	"math"
	"slices"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/te"
	"tvmgo/tir"
)

// Rounding says how [CastTo] converts to the floats of at most 8 bits. The zero value rounds to nearest, ties to even.
type Rounding struct {
	// Saturate converts a number that is too large to the greatest finite one, and keeps its sign. Without it, the number
	// becomes infinite, NaN if the type has no infinity, or the greatest one if the type has no NaN either.
	//
	// float8_e8m0fnu has positive powers of two only. With Saturate, a number below the least power, such as 0, becomes
	// that power; without it, NaN.
	Saturate bool
	// Powers is how numbers are rounded to a power of two, for float8_e8m0fnu: "up", "down", or "nearest", which rounds up
	// at ties. Empty stands for "nearest".
	Powers string
}

var roundings = []string{"up", "down", "nearest"}

// Cast converts the elements to another type. A float becomes an integer by rounding towards zero; a value beyond the
// integer type becomes its least or greatest value, NaN 0. An integer becomes a narrower one by its lowest bits, as in
// NumPy. A float becomes another float by rounding to nearest, ties to even, and infinite if it is too large. From
// bool, true is 1; to bool, everything but 0 is true.
//
// An integer of fewer than 8 bits takes the lowest bits of what the element is as int32. Floats of at most 8 bits are
// rounded as by [CastTo] without saturation; in float8_e8m0fnu, 0 and negative numbers are NaN.
func Cast(x *te.Tensor, t tir.Type, name string) *te.Tensor {
	return castBy(x, t, name, func(e tir.Expr) tir.Expr { return castTo(t, e) })
}

// CastTo is Cast with another rounding to floats of at most 8 bits. r has no effect on other types.
func CastTo(x *te.Tensor, t tir.Type, r Rounding, name string) *te.Tensor {
	if r.Powers == "" {
		r.Powers = "nearest"
	}
	if !slices.Contains(roundings, r.Powers) {
		return failed(name, "numbers are to be rounded %q to a power of two: want %s", r.Powers,
			strings.Join(roundings, ", "))
	}
	return castBy(x, t, name, func(e tir.Expr) tir.Expr {
		switch {
		case t.Code == dlpack.CodeFloat8E8M0FNU:
			return r.power(t, e)
		case tir.IsFloat(t) && t.Bits <= 8 && r.Saturate:
			return saturated(t, e)
		}
		return castTo(t, e)
	})
}

func castBy(x *te.Tensor, t tir.Type, name string, convert func(tir.Expr) tir.Expr) *te.Tensor {
	if bad := check(name, -1, x); bad != nil {
		return bad
	}
	if bad := stored.of(name, x); bad != nil {
		return bad
	}
	if !stored.has(t) {
		return failed(name, "tensor %s is to be cast to type %s: want %s", x.ProducerName(), t, stored.want)
	}
	out := Map(x, name, convert)
	return by(out, &Operator{Kind: "cast", Inputs: []*te.Tensor{x}})
}

// castTo converts a value to another type, by the rules of Cast.
func castTo(t tir.Type, e tir.Expr) tir.Expr {
	from := e.DType()
	if !tir.IsFloat(from) || !tir.IsInt(t) {
		return tir.NewCast(t, e)
	}
	if t.Bits < 8 {
		return tir.NewCast(t, castTo(tir.Int32, e))
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

// saturated converts a value to a float of at most 8 bits, within its range. NaN remains NaN.
func saturated(t tir.Type, e tir.Expr) tir.Expr {
	if from := e.DType(); from != tir.Float64 {
		if tir.IsInt(from) && from.Bits > 16 { // float32 has the numbers that are nearer to 0
			const far = 1 << 20
			e = tir.Min(e, tir.IntConst(from, far))
			if tir.IsSigned(from) {
				e = tir.Max(e, tir.IntConst(from, -far))
			}
		}
		e = tir.NewCast(tir.Float32, e)
	}
	f, _ := tir.FormatOf(t)
	return tir.NewCast(t, clamped(e, -f.Greatest, f.Greatest))
}

// clamped returns a float within bounds; NaN remains NaN.
func clamped(e tir.Expr, least, greatest float64) tir.Expr {
	lo, hi := tir.Const(e.DType(), least), tir.Const(e.DType(), greatest)
	return tir.NewSelect(tir.LT(e, lo), lo, tir.NewSelect(tir.GT(e, hi), hi, e))
}

// power converts a value to float8_e8m0fnu.
func (r Rounding) power(t tir.Type, e tir.Expr) tir.Expr {
	const least, greatest = 0x1p-127, 0x1p127
	e = tir.NewCast(tir.Float64, e)
	if r.Saturate {
		e = clamped(e, least, greatest)
	} else {
		e = tir.NewSelect(tir.LT(e, tir.Const(tir.Float64, least)), tir.Const(tir.Float64, math.NaN()), e)
	}
	if r.Powers == "nearest" {
		return tir.NewCast(t, e)
	}
	// The bits of the fraction become 0, or carry into the exponent. Those of NaN remain.
	const fraction = 1<<52 - 1
	bits := tir.NewCall(tir.CallIntrinsic, tir.UInt64, "reinterpret", e)
	if r.Powers == "up" {
		bits = tir.Add(bits, tir.IntConst(tir.UInt64, fraction))
	}
	bits = tir.Intrin("bitwise_and", bits, &tir.IntImm{Type: tir.UInt64, Value: ^int64(fraction)})
	rounded := tir.NewCall(tir.CallIntrinsic, tir.Float64, "reinterpret", bits)
	return tir.NewCast(t, tir.NewSelect(isNaN(e), e, rounded))
}
