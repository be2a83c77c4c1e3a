package target

import (
	"strconv"
	"strings"
)

// wholeNumber parses a JSON number. isWhole depends on its value and not on its form: 1024.0, 1e3 and 20e-1 are
// integers. fits is false if the integer does not fit into 64 bits.
func wholeNumber(s string) (n int64, isWhole, fits bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true, true
	}
	if !isNumber(s) {
		return 0, false, false
	}
	digits, negative := strings.CutPrefix(s, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		e, err := strconv.Atoi(digits[i+1:])
		if err != nil || e > 1<<40 || e < -1<<40 { // far more than the maximum number of digits in a text
			e = 1 << 40
			if strings.HasPrefix(digits[i+1:], "-") {
				e = -e
			}
		}
		digits, exponent = digits[:i], e
	}
	before, after, _ := strings.Cut(digits, ".")
	digits, exponent = strings.TrimLeft(before+after, "0"), exponent-len(after)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	switch {
	case short == "":
		return 0, true, true
	case exponent < 0:
		return 0, false, false
	case len(short)+exponent > 19:
		return 0, true, false
	}
	short += strings.Repeat("0", exponent)
	if negative {
		short = "-" + short
	}
	n, err := strconv.ParseInt(short, 10, 64)
	return n, true, err == nil
}

// isNumber reports whether a text is a decimal number; a json.Number made in Go can contain other text.
func isNumber(s string) bool {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	mantissa, exponent := strings.TrimPrefix(s, "-"), "0"
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		mantissa, exponent = mantissa[:i], mantissa[i+1:]
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
	}
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	return digits(whole) && digits(exponent) && (!hasPoint || digits(fraction))
}
