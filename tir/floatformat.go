package tir

import (
	"fmt"
	"math"

	"tvmgo/dlpack"
)

// FloatFormat is what values a type of floating point numbers has: those of an IEEE format with so many bits of
// fraction, but for what is said here. Sources: IEEE 754, and the OCP 8-bit and Microscaling formats with their
// relatives without infinities (fn) and without -0 (uz).
type FloatFormat struct {
	Fraction int     // bits
	Least    int     // the exponent of the least normal number
	Greatest float64 // finite
	Inf, NaN bool    // whether there are such values
	NoMinus0 bool
}

// FormatOf is the format of floats of at most 16 bits; false of others, and of float8_e8m0fnu, which has powers of two
// alone.
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

// roundFloat is the value of a type of floats that is nearest to v, ties to even; ok is false if v is outside of what
// the type has.
func roundFloat(t Type, v float64) (nearest float64, ok bool) {
	f := floatFormats[t.Code]
	switch {
	case t.Code == dlpack.CodeFloat && t.Bits == 64:
		return v, true
	case t.Code == dlpack.CodeFloat && t.Bits == 32:
		f = FloatFormat{23, -126, math.MaxFloat32, true, true, false}
	case t.Code == dlpack.CodeFloat:
		f = float16Format
	case t.Code == dlpack.CodeFloat8E8M0FNU: // powers of two
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

// constantError says why a type has no such constant of integers or truth values.
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

// floatConstantError says why a type has no such constant of floats.
func floatConstantError(t Type, v float64) error {
	if err := CheckType(t); err != nil || !IsFloat(t) || t.Lanes != 1 {
		return fmt.Errorf("constant %v: type %s has no constants of floats", v, t)
	}
	if _, ok := roundFloat(t, v); !ok {
		return fmt.Errorf("constant %v is not within %s", v, t)
	}
	return nil
}
