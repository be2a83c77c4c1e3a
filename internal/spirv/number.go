package spirv

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// floatForm is the number of exponent bits and of fraction bits of a floating-point encoding.
type floatForm struct{ exponent, fraction uint }

var (
	half      = floatForm{5, 10}
	single    = floatForm{8, 23}
	double    = floatForm{11, 52}
	encodings = map[int64]floatForm{0: {8, 7}, 4214: {4, 3}, 4215: {5, 2}} // grammar.spec: FPEncoding
)

// text returns the words of a number, of which the first is the lowest, as text: integers and normal floats of 32 and
// 64 bits as decimals, other floats as hexadecimals (0x1.8p-3).
func (t numberType) text(words []uint32) string {
	if len(words) > 2 {
		return ""
	}
	v := uint64(words[0])
	if len(words) == 2 {
		v |= uint64(words[1]) << 32
	}
	form, encoded := encodings[t.encoding]
	switch {
	case t.float && encoded:
		return form.hexadecimal(v & (1<<(form.exponent+form.fraction+1) - 1))
	case t.float && len(words) == 2:
		return decimal(math.Float64frombits(v), v, double, 17, 64)
	case t.float && t.width == 16:
		return half.hexadecimal(v & 0xffff)
	case t.float:
		return decimal(float64(math.Float32frombits(words[0])), v, single, 9, 32)
	case t.signed && len(words) == 2:
		return strconv.FormatInt(int64(v), 10)
	case t.signed:
		return strconv.FormatInt(int64(int32(words[0])), 10)
	}
	return strconv.FormatUint(v, 10)
}

// decimal returns a float as C's %.*g prints it, or as a hexadecimal if it is subnormal, infinite or no number.
func decimal(f float64, v uint64, form floatForm, digits, size int) string {
	exponent := v >> form.fraction & (1<<form.exponent - 1)
	if exponent == 1<<form.exponent-1 || exponent == 0 && f != 0 {
		return form.hexadecimal(v)
	}
	if f == 0 {
		return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 0, size), ".")
	}
	// %g takes the exponent of the rounded number.
	mantissa, power, _ := strings.Cut(strconv.FormatFloat(f, 'e', digits-1, 64), "e")
	p, _ := strconv.Atoi(power)
	if p < -4 || p >= digits {
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return fmt.Sprintf("%se%+03d", mantissa, p)
	}
	text := strconv.FormatFloat(f, 'f', digits-1-p, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// hexadecimal returns the float with the bits v. Infinities and NaNs are written as numbers with the highest exponent.
func (f floatForm) hexadecimal(v uint64) string {
	bias := int(1)<<(f.exponent-1) - 1
	exponent := int(v>>f.fraction&(1<<f.exponent-1)) - bias
	fraction := v & (1<<f.fraction - 1)
	sign, first := "", 1
	if v>>(f.exponent+f.fraction)&1 == 1 {
		sign = "-"
	}
	switch {
	case exponent == -bias && fraction == 0:
		exponent, first = 0, 0
	case exponent == -bias: // the first bit of a subnormal's fraction becomes the digit before the point
		shift := int(f.fraction) - bits.Len64(fraction)
		exponent -= shift
		fraction = fraction << (shift + 1) & (1<<f.fraction - 1)
	}
	digits := ""
	if fraction != 0 {
		nibbles := (f.fraction + 3) / 4
		digits = "." + strings.TrimRight(fmt.Sprintf("%0*x", nibbles, fraction<<(4*nibbles-f.fraction)), "0")
	}
	return fmt.Sprintf("%s0x%d%sp%+d", sign, first, digits, exponent)
}
