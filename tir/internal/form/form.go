// Package form contains what the text form and the JSON form of programs share: constants, limits, and errors.
package form

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tvmgo/tir"
)

// The maximum nesting of text and JSON. Expressions that are nested more deeply do not occur in programs that people or
// passes write. Each let, allocation and attribute counts as one level.
const (
	MaxExprDepth = 1000
	MaxStmtDepth = 3500
)

// Made converts a Bad expression that a constructor returned to its error.
func Made(e tir.Expr) (tir.Expr, error) {
	if b, isBad := e.(*tir.Bad); isBad {
		return nil, Trimmed(b.Err)
	}
	return e, nil
}

// Trimmed removes the package's name from an error, since the caller's message begins with it.
func Trimmed(err error) error {
	const prefix = "tir: "
	if s := err.Error(); len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return fmt.Errorf("%s", s[len(prefix):])
	}
	return err
}

// Const parses a constant of a type, written as a number with an optional sign. Integers may be hexadecimal, and those
// of type uint64 go up to 2^64-1.
func Const(t tir.Type, text string) (tir.Expr, error) {
	switch {
	case tir.IsInt(t) && tir.IsSigned(t), tir.IsBool(t):
		v, err := strconv.ParseInt(Digits(text))
		if err != nil {
			return nil, fmt.Errorf("%s is not a constant of type %s", text, t)
		}
		return Made(tir.IntConst(t, v))
	case tir.IsInt(t):
		v, err := strconv.ParseUint(Digits(text))
		if err != nil {
			return nil, fmt.Errorf("%s is not a constant of type %s", text, t)
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

// Float returns a constant of a float type that has exactly the value v.
func Float(t tir.Type, v float64) (tir.Expr, error) {
	e, err := Made(tir.Const(tir.Element(t), v))
	if err != nil {
		return nil, err
	}
	c, ok := e.(*tir.FloatImm)
	if !ok || math.Float64bits(c.Value) != math.Float64bits(v) {
		return nil, fmt.Errorf("%s is not a value of type %s", Number(v, 64), TypeText(t))
	}
	return spreadOver(e, int(t.Lanes)), nil
}

// Digits prepares an integer's text for strconv: it removes 0x and returns the base. A leading 0 without x is decimal.
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

// ReadFloat parses a decimal number and rounds it to the given number of bits. A number that is too large is an error,
// not an infinity.
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
			return 0, fmt.Errorf("%s is too large for a %d-bit float", Clip(text), bits)
		}
		return 0, fmt.Errorf("%s is not a number", Clip(text))
	}
	return v, nil
}

// NaN returns the NaN whose bits are given in hexadecimal, without 0x.
func NaN(hex string) (float64, bool) {
	bits, err := strconv.ParseUint(hex, 16, 64)
	v := math.Float64frombits(bits)
	return v, err == nil && math.IsNaN(v)
}

// TypeText returns a type as programs write it.
func TypeText(t tir.Type) string {
	if t == tir.Void {
		return "void"
	}
	return t.String()
}

// Number returns the shortest text from which v is read back and which is not an integer. NaNs other than the default
// one are written as bits.
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

// Clip shortens text for a message.
func Clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// spreadOver broadcasts a scalar to the given number of lanes.
func spreadOver(e tir.Expr, lanes int) tir.Expr {
	if lanes == 1 {
		return e
	}
	return &tir.Broadcast{Value: e, Lanes: lanes}
}
