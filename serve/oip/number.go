package oip

import (
	"math"
	"strconv"
)

// number is a number of JSON. If it is short, its value is mantissa × 10^exponent, with the sign.
type number struct {
	text     string
	mantissa uint64
	exponent int
	negative bool
	integer  bool // it has neither a fraction nor an exponent
	short    bool // it has at most 19 digits, so that the mantissa is exact
	whole    int  // the number of digits before the point
}

// maxExponent is where exponents stop growing while they are read: every number beyond is 0 or infinite.
const maxExponent = 100_000

// scan reads a number at the beginning of text and returns its length; 0 if there is none.
func (n *number) scan(text string) int {
	i := 0
	n.negative = i < len(text) && text[i] == '-'
	if n.negative {
		i++
	}
	start := i
	m := uint64(0)
	for i < len(text) {
		c := text[i] - '0'
		if c > 9 {
			break
		}
		m = m*10 + uint64(c)
		i++
	}
	digits := i - start
	if digits == 0 || digits > 1 && text[start] == '0' {
		return 0
	}
	n.integer, n.exponent, n.whole = true, 0, digits
	if i < len(text) && text[i] == '.' {
		i++
		fraction := i
		for i < len(text) {
			c := text[i] - '0'
			if c > 9 {
				break
			}
			m = m*10 + uint64(c)
			i++
		}
		if i == fraction {
			return 0
		}
		digits += i - fraction
		n.integer, n.exponent = false, fraction-i
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		n.integer = false
		end, exponent := scanExponent(text, i+1)
		if end == 0 {
			return 0
		}
		i = end
		n.exponent += exponent
	}
	n.text, n.mantissa, n.short = text[:i], m, digits <= 19
	return i
}

// scanExponent reads what follows the e of a number and returns where it ends; 0 if it has no digit.
func scanExponent(text string, i int) (end, exponent int) {
	negative := i < len(text) && text[i] == '-'
	if negative || i < len(text) && text[i] == '+' {
		i++
	}
	start := i
	for i < len(text) && text[i]-'0' <= 9 {
		if exponent < maxExponent {
			exponent = exponent*10 + int(text[i]-'0')
		}
		i++
	}
	switch {
	case i == start:
		return 0, 0
	case negative:
		return i, -exponent
	}
	return i, exponent
}

// powers are the powers of ten that a float64 has exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// scaled returns mantissa × 10^exponent, rounded once or twice; false if it would be less precise.
func (n *number) scaled() (v float64, ok bool) {
	v = float64(n.mantissa)
	switch e := n.exponent; {
	case !n.short || e >= len(powers) || -e >= len(powers):
		return 0, false
	case e < 0:
		v /= powers[-e]
	default:
		v *= powers[e]
	}
	if n.negative {
		v = -v
	}
	return v, true
}

// float64 returns the nearest float64, ties to even; false if the number is too large for one.
func (n *number) float64() (float64, bool) {
	if n.mantissa < 1<<53 { // then the mantissa is exact, and scaled rounds once
		if v, ok := n.scaled(); ok {
			return v, true
		}
	}
	return n.parse(64)
}

// parse returns the nearest float of 32 or 64 bits. Numbers with more than 800 digits before the point count as too
// large, whatever their exponent: package strconv loses some of the digits.
func (n *number) parse(bits int) (float64, bool) {
	v, err := strconv.ParseFloat(n.text, bits)
	return v, err == nil && n.whole <= 800
}

// float32 returns the nearest float32, ties to even; false if the number is too large for one.
func (n *number) float32() (float32, bool) {
	// The scaled value differs from the number by less than 3 units of the last place of a float64. Where no point
	// halfway between two float32 is that near, both have the same nearest float32. The value is 0 or at least 1e-22,
	// which is above the subnormal numbers of float32.
	const half, near = 1 << 28, 4
	if v, ok := n.scaled(); ok {
		tail := math.Float64bits(v) & (2*half - 1)
		if math.Abs(v) <= math.MaxFloat32 && (tail < half-near || tail > half+near) {
			return float32(v), true
		}
	}
	v, ok := n.parse(32)
	return float32(v), ok
}

// uint64 returns the magnitude of an integer; false if it has more than 64 bits.
func (n *number) uint64() (uint64, bool) {
	if n.short {
		return n.mantissa, true
	}
	text := n.text
	if n.negative {
		text = text[1:]
	}
	v, err := strconv.ParseUint(text, 10, 64)
	return v, err == nil
}
