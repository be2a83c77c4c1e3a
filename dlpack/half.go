package dlpack

import (
	"math"
	"strconv"
)

// Float16Bits is an element of a Float16 tensor: the bits of an IEEE 754 half-precision float. Go's operators would
// work on the bits; use Float32 to compute with the value.
type Float16Bits uint16

// BFloat16Bits is an element of a BFloat16 tensor: the bits of the upper half of a float32.
type BFloat16Bits uint16

// Float16Of returns the nearest float16, ties to even; values from 65520 on become infinity. NaN stays NaN.
func Float16Of(v float64) Float16Bits { return Float16Bits(narrow(v, 10, -14)) }

// BFloat16Of returns the nearest bfloat16, ties to even. A float64 is rounded once, without an intermediate float32.
// NaN stays NaN.
func BFloat16Of(v float64) BFloat16Bits { return BFloat16Bits(narrow(v, 7, -126)) }

// Float32 returns the exact value.
func (b Float16Bits) Float32() float32 {
	exponent, fraction := uint32(b>>10&31), uint32(b&1023)
	switch exponent {
	case 0:
		v := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(v) | uint32(b&0x8000)<<16)
	case 31:
		exponent = 255
	default:
		exponent += 127 - 15
	}
	return math.Float32frombits(uint32(b&0x8000)<<16 | exponent<<23 | fraction<<13)
}

// Float32 returns the exact value.
func (b BFloat16Bits) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// String returns the shortest decimal form that is parsed as the same float32.
func (b Float16Bits) String() string { return strconv.FormatFloat(float64(b.Float32()), 'g', -1, 32) }

// String returns the shortest decimal form that is parsed as the same float32.
func (b BFloat16Bits) String() string { return strconv.FormatFloat(float64(b.Float32()), 'g', -1, 32) }

// narrow rounds to a 16-bit format with the given number of fraction bits; least is the exponent of its least normal
// number.
func narrow(v float64, fraction, least int) uint16 {
	infinity := 1<<15 - 1<<fraction
	var sign int
	if math.Signbit(v) {
		sign = 1 << 15
	}
	switch v = math.Abs(v); {
	case math.IsNaN(v): // a quiet NaN with the upper bits of its payload
		payload := int(math.Float64bits(v) >> (52 - fraction) & (1<<fraction - 1))
		return uint16(sign | infinity | 1<<(fraction-1) | payload)
	case math.IsInf(v, 0):
		return uint16(sign | infinity)
	case v == 0:
		return uint16(sign)
	}
	exponent := max(math.Ilogb(v), least)
	digits := int(math.RoundToEven(math.Ldexp(v, fraction-exponent))) // including the leading 1 of a normal number
	return uint16(sign | min((exponent-least)<<fraction+digits, infinity))
}
