package target

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Type is the type of an option.
type Type struct {
	base baseType
	list bool
}

type baseType uint8

const (
	baseInvalid baseType = iota
	baseInt
	baseBool
	baseFloat
	baseString
	baseTarget
)

// The types of options. Their values in Go are int64, bool, float64, string and *Target.
var (
	Int    = Type{base: baseInt}
	Bool   = Type{base: baseBool}
	Float  = Type{base: baseFloat}
	String = Type{base: baseString}
	Nested = Type{base: baseTarget} // a nested target
)

// ListOf returns the type of lists of one of the types above: []int64, []bool, []float64, []string, []*Target. There
// are no lists of lists.
func ListOf(t Type) Type {
	if t.list {
		return Type{}
	}
	return Type{base: t.base, list: true}
}

var typeNames = [...]string{"invalid", "int", "bool", "float", "str", "target.Target"}

// String returns the type's name in Apache TVM: "int", "Array<str>".
func (t Type) String() string {
	if t.list {
		return "Array<" + typeNames[t.base] + ">"
	}
	return typeNames[t.base]
}

// describe describes a value for an error message.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("bool %v", v)
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprintf("int %d", v)
	case float32, float64:
		return fmt.Sprintf("float %v", v)
	case json.Number:
		s := string(v)
		if len(s) > 60 {
			s = s[:60] + "…"
		}
		if strings.ContainsAny(string(v), ".eE") {
			return "float " + s
		}
		return "int " + s
	case text:
		return "str " + brief(v.raw)
	case string:
		return "str " + brief(v)
	case []any, []string, []int64, []int, []bool, []float64, []*Target, []map[string]any:
		return "a list"
	case []byte:
		return "bytes"
	case map[string]any:
		return "an object"
	case *Target:
		return "a target"
	}
	if named, ok := v.(fmt.GoStringer); ok { // a value of another language, from the runtime
		return named.GoString()
	}
	return fmt.Sprintf("a Go value of type %T", v)
}

// basic converts values of named Go types (type CPU string, []int32, map[string]string) to the types of options; of
// lists and maps it converts one level. Other values are not changed.
func basic(v any) any {
	switch v.(type) {
	case nil, bool, int, int64, float64, string, json.Number, text, *Target, []any, []string, map[string]any, []byte,
		json.RawMessage:
		return v
	}
	r := reflect.ValueOf(v)
	switch k := r.Kind(); {
	case k == reflect.Bool:
		return r.Bool()
	case r.CanInt():
		return r.Int()
	case r.CanUint() && k != reflect.Uintptr:
		return r.Uint()
	case r.CanFloat():
		return r.Float()
	case k == reflect.String:
		return r.String()
	case k == reflect.Slice || k == reflect.Array:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = r.Index(i).Interface()
		}
		return list
	case k == reflect.Map && r.Type().Key().Kind() == reflect.String:
		m := make(map[string]any, r.Len())
		for i := r.MapRange(); i.Next(); {
			m[i.Key().String()] = i.Value().Interface()
		}
		return m
	}
	return v
}

func brief(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// checkText rejects text that other programs could not accept.
func checkText(path, s string) error {
	if !utf8.ValidString(s) {
		return wrong(path, ErrSyntax, "the text is not valid UTF-8: %s", brief(s))
	}
	if strings.IndexByte(s, 0) >= 0 {
		return wrong(path, ErrSyntax, "the text contains a NUL character: %s", brief(s))
	}
	return nil
}

// toInt converts integers of every type; those of JSON can be written 1024.0 or 1e3.
func toInt(v any) (n int64, isNumber, fits bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true, true
	case int8:
		return int64(v), true, true
	case int16:
		return int64(v), true, true
	case int32:
		return int64(v), true, true
	case int64:
		return v, true, true
	case uint:
		return int64(v), true, uint64(v) <= math.MaxInt64
	case uint8:
		return int64(v), true, true
	case uint16:
		return int64(v), true, true
	case uint32:
		return int64(v), true, true
	case uint64:
		return int64(v), true, v <= math.MaxInt64
	case float32:
		return toInt(float64(v))
	case float64:
		if v != math.Trunc(v) || math.IsInf(v, 0) {
			return 0, false, false
		}
		return int64(v), true, v >= -(1<<63) && v < 1<<63
	case json.Number:
		return wholeNumber(string(v))
	}
	return 0, false, false
}

func toFloat(v any) (x float64, ok bool) {
	switch v := v.(type) {
	case float32:
		x, ok = float64(v), true
	case float64:
		x, ok = v, true
	case json.Number:
		x, err := v.Float64()
		return x, err == nil && isNumber(string(v))
	default:
		n, isNumber, fits := toInt(v)
		return float64(n), isNumber && fits
	}
	return x, ok && !math.IsNaN(x) && !math.IsInf(x, 0)
}
