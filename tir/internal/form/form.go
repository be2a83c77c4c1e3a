// Package form has what the text and the JSON form of programs share: constants, limits, and errors.
package form

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tvmgo/tir"
)

// How deep a text or JSON may be. An expression that is made of so many within one another is no formula that people or
// passes write; lets, allocations and attributes count as a level each.
const (
	MaxExprDepth = 1000
	MaxStmtDepth = 3500
)

// Made is an expression that a constructor gave, or its error.
func Made(e tir.Expr) (tir.Expr, error) {
	if b, isBad := e.(*tir.Bad); isBad {
		return nil, Trimmed(b.Err)
	}
	return e, nil
}

// Trimmed is an error without the package's name, which the caller's begins with.
func Trimmed(err error) error {
	const prefix = "tir: "
	if s := err.Error(); len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return fmt.Errorf("%s", s[len(prefix):])
	}
	return err
}

// Const is a constant of a type, written as a number, which may have a sign. Numbers of ints may be hexadecimal, and
// those of uint64 go to 2^64-1.
func Const(t tir.Type, text string) (tir.Expr, error) {
	switch {
	case tir.IsInt(t) && tir.IsSigned(t), tir.IsBool(t):
		v, err := strconv.ParseInt(Digits(text))
		if err != nil {
			return nil, fmt.Errorf("%s is no constant of type %s", text, t)
		}
		return Made(tir.IntConst(t, v))
	case tir.IsInt(t):
		v, err := strconv.ParseUint(Digits(text))
		if err != nil {
			return nil, fmt.Errorf("%s is no constant of type %s", text, t)
		}
		if t.Bits == 64 && v > math.MaxInt64 {
			return spreadOver(&tir.IntImm{Type: tir.Element(t), Value: int64(v)}, int(t.Lanes)), tir.CheckType(t)
		}
		return Made(tir.IntConst(t, int64(v)))
	case tir.IsFloat(t):
		v, err := ReadFloat(text, 64)
		if err != nil {
			return nil, err
		}
		return Made(tir.Const(t, v))
	}
	return nil, fmt.Errorf("type %s has no constants", TypeText(t))
}

// Float is a constant of a type of floats that has the very value.
func Float(t tir.Type, v float64) (tir.Expr, error) {
	e, err := Made(tir.Const(tir.Element(t), v))
	if err != nil {
		return nil, err
	}
	c, ok := e.(*tir.FloatImm)
	if !ok || math.Float64bits(c.Value) != math.Float64bits(v) {
		return nil, fmt.Errorf("%s is no value of type %s", Number(v, 64), TypeText(t))
	}
	return spreadOver(e, int(t.Lanes)), nil
}

// Digits is an integer's text as strconv takes it: without 0x, and the base. A leading 0 alone is decimal.
func Digits(text string) (digits string, base, bits int) {
	sign, rest := "", text
	if text != "" && text[0] == '-' {
		sign, rest = "-", text[1:]
	}
	if len(rest) > 2 && (rest[:2] == "0x" || rest[:2] == "0X") {
		return sign + rest[2:], 16, 64
	}
	return text, 10, 64
}

// ReadFloat reads a decimal number, rounded to so many bits. Too large a one is an error, not an infinity.
func ReadFloat(text string, bits int) (float64, error) {
	switch text {
	case "inf":
		return math.Inf(1), nil
	case "-inf":
		return math.Inf(-1), nil
	case "nan":
		return math.NaN(), nil
	}
	v, err := strconv.ParseFloat(text, bits)
	if err != nil {
		if v > 1 || v < -1 {
			return 0, fmt.Errorf("%s is beyond the floats of %d bits", Clip(text), bits)
		}
		return 0, fmt.Errorf("%s is no number", Clip(text))
	}
	return v, nil
}

// NaN is the NaN of bits in hexadecimal, without 0x.
func NaN(hex string) (float64, bool) {
	bits, err := strconv.ParseUint(hex, 16, 64)
	v := math.Float64frombits(bits)
	return v, err == nil && math.IsNaN(v)
}

// TypeText is a type as it is written.
func TypeText(t tir.Type) string {
	if t == tir.Void {
		return "void"
	}
	return t.String()
}

// Number is the shortest text that gives v again, and is no integer's. What isn't the usual NaN has its bits.
func Number(v float64, bits int) string {
	switch {
	case math.IsNaN(v) && math.Float64bits(v) == math.Float64bits(math.NaN()):
		return "nan"
	case math.IsNaN(v):
		return fmt.Sprintf("nan(%#016x)", math.Float64bits(v))
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// Clip is text short enough for a message.
func Clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// spreadOver makes a vector of a scalar.
func spreadOver(e tir.Expr, lanes int) tir.Expr {
	if lanes == 1 {
		return e
	}
	return &tir.Broadcast{Value: e, Lanes: lanes}
}
