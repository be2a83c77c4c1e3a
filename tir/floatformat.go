package tir

import (
	"fmt"
	"math"

	"tvmgo/dlpack"
)

// FloatFormat describes the values of a floating-point type: those of an IEEE format with the given number of fraction
// bits, with the exceptions that the fields describe. Sources: IEEE 754, and the OCP 8-bit and Microscaling formats
// with their variants without infinities (fn) and without -0 (uz).
type FloatFormat struct {
	Fraction int     // number of bits of the fraction
	Least    int     // the exponent of the least normal number
	Greatest float64 // the greatest finite value
	Inf, NaN bool    // whether the type has infinities and NaN
	NoMinus0 bool
}

// FormatOf returns the format of a float type of at most 16 bits. The result is false for other types, and for
// float8_e8m0fnu, which has only powers of two.
func FormatOf(t Type) (FloatFormat, bool) {
	if f, ok := floatFormats[t.Code]; ok {
		return f, true
	}
	return float16Format, t.Code == dlpack.CodeFloat && t.Bits == 16
}

var float16Format = FloatFormat{10, -14, 65504, true, true, false}

var floatFormats = map[uint8]FloatFormat{
	dlpack.CodeBFloat:            {7, -126, 0x1.fep127, true, true, false},
	dlpack.CodeFloat8E3M4:        {4, -2, 15.5, true, true, false},
	dlpack.CodeFloat8E4M3:        {3, -6, 240, true, true, false},
	dlpack.CodeFloat8E4M3B11FNUZ: {3, -10, 30, false, true, true},
	dlpack.CodeFloat8E4M3FN:      {3, -6, 448, false, true, false},
	dlpack.CodeFloat8E4M3FNUZ:    {3, -7, 240, false, true, true},
	dlpack.CodeFloat8E5M2:        {2, -14, 57344, true, true, false},
	dlpack.CodeFloat8E5M2FNUZ:    {2, -15, 57344, false, true, true},
	dlpack.CodeFloat6E2M3FN:      {3, 0, 7.5, false, false, false},
	dlpack.CodeFloat6E3M2FN:      {2, -2, 28, false, false, false},
	dlpack.CodeFloat4E2M1FN:      {1, 0, 6, false, false, false},
}

// FloatOfBits returns the value of a float of at most 8 bits, which are the lowest ones of code. It is 0 for other
// types.
func FloatOfBits(t Type, code uint8) float64 {
	if t.Code == dlpack.CodeFloat8E8M0FNU {
		if code == 0xff {
			return math.NaN()
		}
		return math.Ldexp(1, int(code)-127)
	}
	f, ok := FormatOf(t)
	if !ok || t.Bits > 8 || t.Bits < 1 {
		return 0
	}
	sign := uint8(1) << (t.Bits - 1)
	units, exponent := int(code&(sign-1)), 1
	if e := units >> f.Fraction; e > 0 {
		units, exponent = units&(1<<f.Fraction-1)|1<<f.Fraction, e
	}
	v := math.Ldexp(float64(units), f.Least+exponent-1-f.Fraction)
	switch {
	case f.NoMinus0 && code&(sign|(sign-1)) == sign:
		return math.NaN()
	case v > f.Greatest && f.Inf && units == 1<<f.Fraction:
		v = math.Inf(1)
	case v > f.Greatest:
		v = math.NaN()
	}
	if code&sign != 0 {
		v = -v
	}
	return v
}

// BitsOfFloat returns the bits of a float of at most 8 bits. ok is false for values that the type does not have. NaN is
// the positive one with the lowest bits.
func BitsOfFloat(t Type, v float64) (code uint8, ok bool) {
	if !IsFloat(t) || t.Bits > 8 || t.Bits < 1 {
		return 0, false
	}
	for code := range 1 << t.Bits {
		x := FloatOfBits(t, uint8(code))
		if x == v && math.Signbit(x) == math.Signbit(v) || math.IsNaN(x) && math.IsNaN(v) {
			return uint8(code), true
		}
	}
	return 0, false
}

// roundFloat returns the value of a float type that is nearest to v, ties to even; ok is false if v is outside of the
// type's range.
func roundFloat(t Type, v float64) (nearest float64, ok bool) {
	f := floatFormats[t.Code]
	switch {
	case t.Code == dlpack.CodeFloat && t.Bits == 64:
		return v, true
	case t.Code == dlpack.CodeFloat && t.Bits == 32:
		f = FloatFormat{23, -126, math.MaxFloat32, true, true, false}
	case t.Code == dlpack.CodeFloat:
		f = float16Format
	case t.Code == dlpack.CodeFloat8E8M0FNU: // only powers of two
		fraction, exponent := math.Frexp(v)
		return v, math.IsNaN(v) || fraction == 0.5 && exponent >= -126 && exponent <= 128
	}
	switch {
	case math.IsNaN(v):
		return v, f.NaN
	case math.IsInf(v, 0):
		return v, f.Inf
	case v == 0:
		if f.NoMinus0 {
			v = 0
		}
		return v, true
	}
	unit := math.Ldexp(1, max(math.Ilogb(v), f.Least)-f.Fraction)
	v = math.RoundToEven(v/unit) * unit
	if v == 0 && f.NoMinus0 {
		v = 0
	}
	return v, math.Abs(v) <= f.Greatest
}

// constantError returns an error if a type cannot represent the given integer or truth value.
func constantError(t Type, v int64) error {
	if err := CheckType(t); err != nil || !IsInt(t) && !IsBool(t) || t.Lanes != 1 {
		return fmt.Errorf("constant %d: type %s has no constants of integers", v, t)
	}
	least, greatest := int64(0), int64(1)
	if IsInt(t) {
		least, greatest = intRange(t)
	}
	if t != UInt64 && (v < least || v > greatest) {
		return fmt.Errorf("constant %d is not within %s", v, t)
	}
	return nil
}

// floatConstantError returns an error if a type cannot represent the given float.
func floatConstantError(t Type, v float64) error {
	if err := CheckType(t); err != nil || !IsFloat(t) || t.Lanes != 1 {
		return fmt.Errorf("constant %v: type %s has no constants of floats", v, t)
	}
	if _, ok := roundFloat(t, v); !ok {
		return fmt.Errorf("constant %v is not within %s", v, t)
	}
	return nil
}
