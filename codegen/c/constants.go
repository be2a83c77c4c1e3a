package c

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// intConstant returns an integer or a bool.
func (w *writer) intConstant(e *tir.IntImm) code {
	v := e.Value
	switch t := e.Type; {
	case tir.IsBool(t):
		return atom(strconv.FormatBool(v != 0))
	case t == tir.UInt64:
		return atom(fmt.Sprintf("UINT64_C(%d)", uint64(v)))
	case t == tir.UInt32:
		return atom(fmt.Sprintf("%du", uint32(v)))
	case t == tir.Int64 && v == math.MinInt64:
		return atom("INT64_MIN")
	case t == tir.Int64 && (v > math.MaxInt32 || v <= math.MinInt32):
		return signed(fmt.Sprintf("INT64_C(%d)", v), v < 0)
	case t == tir.Int32 && v == math.MinInt32:
		return atom("INT32_MIN")
	case w.valueType(t) == "":
		return atom("0")
	}
	return signed(strconv.FormatInt(v, 10), v < 0)
}

// signed returns a number that may start with a minus.
func signed(s string, negative bool) code {
	if negative {
		return code{s, precUnary}
	}
	return atom(s)
}

// floatConstant returns a float literal with the exact value.
func (w *writer) floatConstant(e *tir.FloatImm) code {
	v, suffix, bits := e.Value, "", 64
	if w.valueType(e.Type) == "float" {
		suffix, bits = "f", 32
	}
	switch {
	case w.isClass(e.Type):
		narrow, ok := tir.Const(tir.Element(e.Type), v).(*tir.FloatImm)
		if !ok {
			w.fail("constant %v is not of type %s", v, e.Type)
			return atom("0")
		}
		return w.asClass(e.Type, w.floatConstant(&tir.FloatImm{Type: tir.Float32, Value: narrow.Value}))
	case isNarrow(e.Type):
		v = roundNarrow(v, e.Type)
	case bits == 32:
		v = float64(float32(v))
	}
	switch {
	case math.IsNaN(v):
		return code{w.cName("float", "NAN", e.Type), precUnary}
	case math.IsInf(v, 1):
		return code{w.cName("float", "INFINITY", e.Type), precUnary}
	case math.IsInf(v, -1):
		return code{"-" + w.cName("float", "INFINITY", e.Type), precUnary}
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return signed(s+suffix, math.Signbit(v))
}

// cName casts a constant of C type float to its own type.
func (w *writer) cName(is, name string, t tir.Type) string {
	if want := w.valueType(t); want != is {
		return "(" + want + ")" + name
	}
	return name
}

// roundNarrow rounds to a 16-bit type, ties to even.
func roundNarrow(v float64, t tir.Type) float64 {
	if tir.Element(t) == tir.BFloat16 {
		return float64(dlpack.BFloat16Of(v).Float32())
	}
	return float64(dlpack.Float16Of(v).Float32())
}
