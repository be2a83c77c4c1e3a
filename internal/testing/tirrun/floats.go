package tirrun

import (
	"math"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// format is a float format of up to 16 bits: a sign (except in float8_e8m0fnu), exponent and mantissa.
type format struct {
	man, bias int
	sign      uint64 // the sign's bit; 0: none
	max       uint64 // bits of the greatest finite value
	inf       uint64 // bits of infinity; 0: none
	nan       uint64 // bits that NaN is encoded as
	hasNaN    bool   // whether nan is one
	nanSigned bool   // whether nan keeps the sign; otherwise there is only one NaN
	unsigned0 bool   // whether there is only one zero
}

var formats = map[uint8]*format{
	dlpack.CodeBFloat: {man: 7, bias: 127, sign: 0x8000, max: 0x7f7f, inf: 0x7f80, nan: 0x7fc0, hasNaN: true,
		nanSigned: true},
	dlpack.CodeFloat: {man: 10, bias: 15, sign: 0x8000, max: 0x7bff, inf: 0x7c00, nan: 0x7e00, hasNaN: true,
		nanSigned: true},
	dlpack.CodeFloat8E3M4: {man: 4, bias: 3, sign: 0x80, max: 0x6f, inf: 0x70, nan: 0x78, hasNaN: true,
		nanSigned: true},
	dlpack.CodeFloat8E4M3: {man: 3, bias: 7, sign: 0x80, max: 0x77, inf: 0x78, nan: 0x7c, hasNaN: true,
		nanSigned: true},
	dlpack.CodeFloat8E4M3B11FNUZ: {man: 3, bias: 11, sign: 0x80, max: 0x7f, nan: 0x80, hasNaN: true, unsigned0: true},
	dlpack.CodeFloat8E4M3FN:      {man: 3, bias: 7, sign: 0x80, max: 0x7e, nan: 0x7f, hasNaN: true, nanSigned: true},
	dlpack.CodeFloat8E4M3FNUZ:    {man: 3, bias: 8, sign: 0x80, max: 0x7f, nan: 0x80, hasNaN: true, unsigned0: true},
	dlpack.CodeFloat8E5M2: {man: 2, bias: 15, sign: 0x80, max: 0x7b, inf: 0x7c, nan: 0x7e, hasNaN: true,
		nanSigned: true},
	dlpack.CodeFloat8E5M2FNUZ: {man: 2, bias: 16, sign: 0x80, max: 0x7f, nan: 0x80, hasNaN: true, unsigned0: true},
	dlpack.CodeFloat6E2M3FN:   {man: 3, bias: 1, sign: 0x20, max: 0x1f, nan: 0x20},
	dlpack.CodeFloat6E3M2FN:   {man: 2, bias: 3, sign: 0x20, max: 0x1f, nan: 0x20},
	dlpack.CodeFloat4E2M1FN:   {man: 1, bias: 1, sign: 0x8, max: 0x7, nan: 0x8},
	dlpack.CodeFloat8E8M0FNU:  {man: 0, bias: 127, max: 0xfe, nan: 0xff, hasNaN: true},
}

// formatOf returns the format of a type of up to 16 bits, else nil.
func formatOf(t tir.Type) *format {
	if t.Bits > 16 {
		return nil
	}
	return formats[t.Code]
}

// encode rounds to the nearest value of the format, ties to even.
func (m *format) encode(x float64) uint64 {
	if m.sign == 0 {
		return m.encodePower(x)
	}
	var sign uint64
	if math.Signbit(x) {
		sign = m.sign
	}
	a := math.Abs(x)
	switch {
	case a != a:
		if !m.nanSigned {
			sign = 0
		}
		return m.nan | sign
	case a == 0 && m.unsigned0:
		return 0
	case a == 0:
		return sign
	case math.IsInf(a, 0):
		return m.beyond(sign)
	}
	_, e := math.Frexp(a)
	e = max(e-1, 1-m.bias)
	// In units of the last digit the value is below 2^(man+1). A carry of the rounding correctly increments the exponent.
	units := uint64(math.RoundToEven(math.Ldexp(a, m.man-e)))
	code := uint64(e+m.bias-1)<<m.man + units
	switch {
	case code > m.max:
		return m.beyond(sign)
	case code == 0 && m.unsigned0:
		return 0
	}
	return code | sign
}

// beyond returns the encoding of values that are too large.
func (m *format) beyond(sign uint64) uint64 {
	switch {
	case m.inf != 0:
		return m.inf | sign
	case m.nanSigned:
		return m.nan | sign
	case m.hasNaN:
		return m.nan
	}
	return m.max | sign
}

// encodePower is encode for float8_e8m0fnu: the nearer of two powers, at ties the greater (1.5 is rounded to 2, the
// even number).
func (m *format) encodePower(x float64) uint64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return m.nan
	}
	f, e := math.Frexp(x) // f is in [1/2, 1), x is between 2^(e-1) and 2^e
	code := e - 1 + m.bias
	if f >= 0.75 {
		code++
	}
	switch {
	case code < 0:
		return 0
	case code > int(m.max):
		return m.nan
	}
	return uint64(code)
}

// decode returns the value of an encoding.
func (m *format) decode(code uint64) float64 {
	if m.sign == 0 {
		if code == m.nan {
			return math.NaN()
		}
		return math.Ldexp(1, int(code)-m.bias)
	}
	a, sign := code&(m.sign-1), 1.0
	if code&m.sign != 0 {
		sign = -1
	}
	switch {
	case !m.nanSigned && m.hasNaN && code == m.nan, a > m.max && (m.inf == 0 || a > m.inf):
		return math.NaN()
	case a > m.max:
		return math.Inf(int(sign))
	}
	e, units := int(a>>m.man), a&(1<<m.man-1)
	if e == 0 {
		e = 1
	} else {
		units |= 1 << m.man
	}
	return math.Copysign(math.Ldexp(float64(units), e-m.bias-m.man), sign)
}

// floatBits rounds a value to a type, and returns its encoding.
func floatBits(t tir.Type, x float64) uint64 {
	switch {
	case t.Bits == 64:
		return math.Float64bits(x)
	case t.Bits == 32:
		return uint64(math.Float32bits(float32(x)))
	}
	return formats[t.Code].encode(x)
}

// floatOf returns the value of an encoding.
func floatOf(t tir.Type, bits uint64) float64 {
	switch {
	case t.Bits == 64:
		return math.Float64frombits(bits)
	case t.Bits == 32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return formats[t.Code].decode(bits)
}

// rounder returns the function that rounds to a type; nil if all values are of the type. Computing in float64 and then
// rounding equals rounding the exact result once: float64 has more than twice the digits of the narrower types.
func rounder(t tir.Type) func(float64) float64 {
	switch {
	case t.Bits == 64:
		return nil
	case t.Bits == 32:
		return func(x float64) float64 { return float64(float32(x)) }
	}
	m := formats[t.Code]
	return func(x float64) float64 { return m.decode(m.encode(x)) }
}

// fma returns a*b+c for values of a type, rounded once.
func fma(t tir.Type, a, b, c float64) float64 {
	if t.Bits == 64 {
		return math.FMA(a, b, c)
	}
	// The product of two narrow values is exact. An inexact sum is rounded to odd, so that the second rounding sees no
	// false tie.
	p := a * b
	s := p + c
	if r := rounder(t); !math.IsInf(s, 0) && s == s {
		v := s - p
		if low := (p - (s - v)) + (c - v); low != 0 && math.Float64bits(s)&1 == 0 {
			s = math.Nextafter(s, math.Copysign(math.Inf(1), low))
		}
		return r(s)
	}
	return s
}

// intToFloat converts an integer to a float, rounded once.
func intToFloat(from, to tir.Type, v int64) float64 {
	negative := false
	u := uint64(v)
	if tir.IsSigned(from) && v < 0 {
		negative, u = true, -u
	}
	var x float64
	switch {
	case to.Bits == 64:
		x = float64(u)
	case to.Bits == 32:
		x = float64(float32(u))
	default:
		if u >= 1<<53 && u&0x7ff != 0 { // sticky: see fma
			u = u&^0x7ff | 0x800
		}
		x = float64(u)
		if negative { // before rounding: a format may have no sign
			x = -x
		}
		return rounder(to)(x)
	}
	if negative {
		x = -x
	}
	return x
}

// floatToInt rounds towards zero, and saturates.
func floatToInt(t tir.Type, x float64) int64 {
	switch {
	case x != x:
		return 0
	case tir.IsSigned(t):
		limit := math.Ldexp(1, int(t.Bits)-1)
		switch {
		case x >= limit:
			return int64(1<<(t.Bits-1) - 1)
		case x <= -limit:
			return -1 << (t.Bits - 1)
		}
		return int64(x)
	case x >= math.Ldexp(1, int(t.Bits)):
		return int64(^uint64(0) >> (64 - t.Bits))
	case x <= 0:
		return 0
	}
	return int64(uint64(x))
}
