package narrow

import (
	"math"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// real is a type of floats in which narrower ones are computed.
type real struct {
	float, bits tir.Type
	fraction    int
	bias        int
}

var (
	real32 = real{tir.Float32, tir.UInt32, 23, 127}
	real64 = real{tir.Float64, tir.UInt64, 52, 1023}
)

// realOf returns the type in which values of a narrow float type are computed: float32, which has more than twice as
// many digits, so that rounding twice equals rounding once; float64 for powers of two (float8_e8m0fnu), whose products
// exceed float32's range.
func realOf(t tir.Type) real {
	if t.Code == dlpack.CodeFloat8E8M0FNU {
		return real64
	}
	return real32
}

// narrowFloat is a type of floats of at most 8 bits.
type narrowFloat struct {
	tir.FloatFormat
	powers bool // float8_e8m0fnu
	sign   int64
	inf    int64 // the code of infinity, if the type has one
	nan    int64 // a code of NaN
	most   int64 // the code of the greatest value, including infinity
}

func narrowFloatOf(t tir.Type) narrowFloat {
	if t.Code == dlpack.CodeFloat8E8M0FNU {
		return narrowFloat{powers: true, nan: 0xff}
	}
	f, _ := tir.FormatOf(t)
	n := narrowFloat{FloatFormat: f, sign: 1 << (t.Bits - 1)}
	fraction, exponent := math.Frexp(f.Greatest) // in [1/2, 1)
	n.most = int64(exponent-1-f.Least+1)<<f.Fraction | int64((fraction*2-1)*float64(int(1)<<f.Fraction))
	n.nan = n.sign
	switch {
	case f.Inf:
		n.most++
		n.inf = n.most
		n.nan = n.inf | 1<<(f.Fraction-1)
	case f.NaN && !f.NoMinus0:
		n.nan = n.most + 1
	}
	return n
}

// let computes a value once for an expression that uses it several times.
func let(name string, value tir.Expr, of func(v tir.Expr) tir.Expr) tir.Expr {
	switch value.(type) {
	case *tir.Var, *tir.IntImm, *tir.FloatImm:
		return of(value)
	}
	v := tir.NewVar(name, value.DType())
	return &tir.Let{Var: v, Value: value, Body: of(v)}
}

func reinterpret(t tir.Type, e tir.Expr) tir.Expr {
	return tir.NewCall(tir.CallIntrinsic, tir.Vector(t, int(e.DType().Lanes)), "reinterpret", e)
}

func bitsAnd(a tir.Expr, mask int64) tir.Expr { return bitwise("bitwise_and", a, mask) }
func shiftLeft(a tir.Expr, by int) tir.Expr   { return bitwise("shift_left", a, int64(by)) }
func shiftRight(a tir.Expr, by int) tir.Expr  { return bitwise("shift_right", a, int64(by)) }
func bitsOr(a, b tir.Expr) tir.Expr           { return tir.Intrin("bitwise_or", a, b) }

// bitwise returns an operation on bits with a constant; it omits a shift by 0.
func bitwise(name string, a tir.Expr, b int64) tir.Expr {
	if b == 0 && name != "bitwise_and" {
		return a
	}
	return tir.Intrin(name, a, constantLike(a, b))
}

// constantLike returns a constant of an expression's type, with its lanes.
func constantLike(e tir.Expr, n int64) tir.Expr {
	t := e.DType()
	var c tir.Expr = &tir.IntImm{Type: tir.Element(t), Value: n}
	if t.Lanes > 1 {
		c = &tir.Broadcast{Value: c, Lanes: int(t.Lanes)}
	}
	return c
}

// floatLike returns a constant of an expression's type, with its lanes.
func floatLike(e tir.Expr, x float64) tir.Expr {
	t := e.DType()
	var c tir.Expr = &tir.FloatImm{Type: tir.Element(t), Value: x}
	if t.Lanes > 1 {
		c = &tir.Broadcast{Value: c, Lanes: int(t.Lanes)}
	}
	return c
}

// round rounds a value of type r to the nearest value of the narrow type, ties to even; the result has type r.
func (f narrowFloat) round(x tir.Expr, r real) tir.Expr {
	if f.powers {
		return f.roundPower(x, r)
	}
	return let("x", x, func(x tir.Expr) tir.Expr {
		return let("size", tir.Intrin("fabs", x), func(size tir.Expr) tir.Expr {
			shift := r.fraction - f.Fraction
			u := reinterpret(r.bits, size)
			odd := bitsAnd(shiftRight(u, shift), 1)
			carried := tir.Add(u, tir.Add(odd, constantLike(u, 1<<(shift-1)-1)))
			mask := int64(-1) << shift
			if r.bits.Bits == 32 {
				mask &= 1<<32 - 1
			}
			normal := reinterpret(r.float, bitsAnd(carried, mask))
			unit := f.Least - f.Fraction
			tiny := tir.Mul(tir.Intrin("nearbyint", tir.Mul(size, floatLike(size, math.Ldexp(1, -unit)))),
				floatLike(size, math.Ldexp(1, unit)))
			near := tir.NewSelect(tir.LT(size, floatLike(size, math.Ldexp(1, f.Least))), tiny, normal)
			beyond, none := f.Greatest, math.Copysign(0, -1)
			switch {
			case f.Inf:
				beyond, none = math.Inf(1), math.NaN()
			case f.NaN:
				beyond, none = math.NaN(), math.NaN()
			}
			return let("near", near, func(near tir.Expr) tir.Expr {
				value := tir.NewSelect(tir.GT(near, floatLike(near, f.Greatest)), floatLike(near, beyond), near)
				signed := tir.Intrin("copysign", value, x)
				if f.NoMinus0 {
					signed = tir.NewSelect(tir.EQ(near, floatLike(near, 0)), floatLike(near, 0), signed)
				}
				return tir.NewSelect(tir.NE(x, x), floatLike(x, none), signed)
			})
		})
	})
}

// roundPower rounds to a power of two, to the greater one at ties; the result for values that are not positive is NaN.
func (f narrowFloat) roundPower(x tir.Expr, r real) tir.Expr {
	return let("x", x, func(x tir.Expr) tir.Expr {
		u := reinterpret(tir.Int64, x)
		up := bitsAnd(shiftRight(u, r.fraction-1), 1)
		exponent := tir.Max(tir.Add(shiftRight(u, r.fraction), up), constantLike(u, int64(r.bias-127)))
		return let("exponent", exponent, func(e tir.Expr) tir.Expr {
			power := reinterpret(r.float, shiftLeft(e, r.fraction))
			fits := tir.And(tir.GT(x, floatLike(x, 0)), tir.LE(e, constantLike(e, int64(r.bias+127))))
			return tir.NewSelect(fits, power, floatLike(x, math.NaN()))
		})
	})
}

// encode returns the code of a value that the type can represent, as uint32 for values of real32, else as uint64.
func (f narrowFloat) encode(x tir.Expr, r real) tir.Expr {
	if f.powers {
		return let("x", x, func(x tir.Expr) tir.Expr {
			u := reinterpret(r.bits, x)
			return tir.NewSelect(tir.NE(x, x), constantLike(u, f.nan),
				tir.Sub(shiftRight(u, r.fraction), constantLike(u, int64(r.bias-127))))
		})
	}
	return let("x", x, func(x tir.Expr) tir.Expr {
		return let("size", tir.Intrin("fabs", x), func(size tir.Expr) tir.Expr {
			u := reinterpret(r.bits, size)
			rebias := int64(r.bias+f.Least-1) << f.Fraction
			normal := tir.Sub(shiftRight(u, r.fraction-f.Fraction), constantLike(u, rebias))
			// Both operands may be computed: the one that is not selected must not exceed the bits.
			least := floatLike(size, math.Ldexp(1, f.Least))
			tiny := tir.NewCast(u.DType(),
				tir.Mul(tir.Min(size, least), floatLike(size, math.Ldexp(1, f.Fraction-f.Least))))
			code := tir.NewSelect(tir.LT(size, least), tiny, normal)
			if f.Inf {
				code = tir.NewSelect(tir.GT(size, floatLike(size, f.Greatest)), constantLike(u, f.inf), code)
			}
			sign := bitsAnd(shiftRight(reinterpret(r.bits, x), int(r.bits.Bits)-bitLength(f.sign)), f.sign)
			code = bitsOr(sign, code)
			if !f.NaN {
				return code
			}
			none := constantLike(u, f.nan)
			if !f.NoMinus0 {
				none = bitsOr(sign, none)
			}
			return tir.NewSelect(tir.NE(x, x), none, code)
		})
	})
}

// bitLength returns the number of bits of a number.
func bitLength(n int64) (bits int) {
	for ; n > 0; n >>= 1 {
		bits++
	}
	return bits
}

// decode returns the value of a code, which is a uint32 or, for powers of two, a uint64.
func (f narrowFloat) decode(code tir.Expr, r real) tir.Expr {
	if f.powers {
		return let("code", code, func(c tir.Expr) tir.Expr {
			x := reinterpret(r.float, shiftLeft(tir.Add(c, constantLike(c, int64(r.bias-127))), r.fraction))
			return tir.NewSelect(tir.EQ(c, constantLike(c, f.nan)), floatLike(x, math.NaN()), x)
		})
	}
	return let("code", code, func(c tir.Expr) tir.Expr {
		return let("size", bitsAnd(c, f.sign-1), func(a tir.Expr) tir.Expr {
			normal := reinterpret(r.float, tir.Add(shiftLeft(a, r.fraction-f.Fraction),
				constantLike(a, int64(r.bias+f.Least-1)<<r.fraction)))
			tiny := tir.Mul(tir.NewCast(normal.DType(), a), floatLike(normal, math.Ldexp(1, f.Least-f.Fraction)))
			value := tir.NewSelect(tir.LT(a, constantLike(a, 1<<f.Fraction)), tiny, normal)
			if f.Inf {
				value = tir.NewSelect(tir.EQ(a, constantLike(a, f.inf)), floatLike(normal, math.Inf(1)), value)
			}
			if f.NaN && !f.NoMinus0 {
				value = tir.NewSelect(tir.GT(a, constantLike(a, f.most)), floatLike(normal, math.NaN()), value)
			}
			sign := shiftLeft(shiftRight(c, bitLength(f.sign)-1), int(r.bits.Bits)-1)
			value = reinterpret(r.float, bitsOr(reinterpret(r.bits, value), sign))
			if f.NoMinus0 {
				value = tir.NewSelect(tir.EQ(c, constantLike(c, f.sign)), floatLike(normal, math.NaN()), value)
			}
			return value
		})
	})
}
