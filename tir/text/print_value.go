package text

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/internal/form"
)

// reserved are the words that cannot be used as names without quotes.
var reserved = map[string]bool{
	"alloc": true, "assert": true, "attr": true, "attrs": true, "buffer": true, "else": true, "eval": true,
	"extern": true, "false": true,
	"for": true, "func": true, "if": true, "in": true, "inf": true, "intrin": true, "let": true, "nan": true,
	"none": true, "packed": true,
	"parallel": true, "seq": true, "thread": true, "true": true, "unrolled": true, "var": true, "vectorized": true,
	"while": true,
}

// isPlainName reports whether a name is written without quotes: it consists of letters, digits and "_", with dots
// between, and is neither a type nor reserved.
func isPlainName(s string) bool {
	if s == "" || reserved[s] || isTypeName(s) || genericType(s) != nil {
		return false
	}
	return wordLength(s) == len(s)
}

// isTypeName reports whether a word is the full name of a type. Short names ("i32") are types only where the syntax
// requires a type.
func isTypeName(s string) bool {
	if s == "void" {
		return true
	}
	switch s[0] {
	case 'i', 'u', 'f', 'b', 'h': // int, uint, float, bfloat, bool, handle
		t, err := dlpack.ParseDataType(s)
		return err == nil && t.String() == s
	}
	return false
}

// wordLength returns the length of the name at the beginning of s.
func wordLength(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		switch {
		case isLetter(c), n > 0 && isDigit(c):
			n++
		case c == '.' && n > 0 && n+1 < len(s) && (isLetter(s[n+1]) || isDigit(s[n+1])):
			n += 2
		default:
			return n
		}
	}
	return n
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// nameText returns a name as it is written: itself, or $"…" if it is not a plain name.
func nameText(s string) string {
	if isPlainName(s) {
		return s
	}
	return "$" + strconv.Quote(s)
}

// intText returns a constant of integers or truth values as text.
func intText(t tir.Type, v int64) string {
	switch {
	case t == tir.Int32 && v == int64(int32(v)):
		return strconv.FormatInt(v, 10)
	case t == tir.Bool && v == 0:
		return "false"
	case t == tir.Bool && v == 1:
		return "true"
	case t == tir.UInt64:
		return form.TypeText(t) + "(" + strconv.FormatUint(uint64(v), 10) + ")"
	}
	return form.TypeText(t) + "(" + strconv.FormatInt(v, 10) + ")"
}

// floatText returns a constant of floats as text. A float32 constant whose value is not a float32, such as 0.1, is
// written with its type, so that it is not rounded.
func floatText(t tir.Type, v float64) string {
	if t == tir.Float32 && (math.IsNaN(v) || float64(float32(v)) == v) {
		return form.Number(v, 32)
	}
	return form.TypeText(t) + "(" + form.Number(v, 64) + ")"
}

// attrsText returns attributes with their names as text.
func attrsText(attrs map[string]any) string {
	parts := make([]string, 0, len(attrs))
	for _, k := range slices.Sorted(maps.Keys(attrs)) {
		parts = append(parts, strconv.Quote(k)+": "+valueText(attrs[k]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// valueText returns an attribute's value as text.
func valueText(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return form.Number(v, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return strconv.Quote(v)
	case *target.Target:
		if v != nil {
			return "target " + v.JSON()
		}
	}
	return fmt.Sprintf("<%T is not an attribute>", v)
}

// printedType returns an expression's type; Void if that is not known because a part is nil.
func printedType(e tir.Expr) (t tir.Type) {
	defer func() {
		if recover() != nil { // the nil of a part, which the text shows
			t = tir.Void
		}
	}()
	if tir.IsNil(e) {
		return tir.Void
	}
	return e.DType()
}
