package passes

import (
	"bytes"

	"tvmgo/graph"
	"tvmgo/tir"
)

func isConst(v *graph.Value) bool { return v != nil && v.AsConst() != nil }

// uniform returns the number that all elements of a constant are.
func uniform(v *graph.Value) (float64, bool) {
	if !isConst(v) {
		return 0, false
	}
	data := v.AsConst().Data
	width := int(v.DType.Bits) / 8
	if width == 0 || len(data) < width || !bytes.Equal(data[width:], data[:len(data)-width]) {
		return 0, false
	}
	one := graph.Value{DType: v.DType, Const: &graph.Const{Data: data[:width]}}
	elems := one.Elements()
	if len(elems) != 1 {
		return 0, false
	}
	switch e := elems[0].(type) {
	case *tir.FloatImm:
		return e.Value, true
	case *tir.IntImm:
		return float64(e.Value), int64(float64(e.Value)) == e.Value
	}
	return 0, false
}

// number returns the element of a constant with one element.
func number(v *graph.Value) (float64, bool) {
	if v == nil || !isSingle(v) {
		return 0, false
	}
	return uniform(v)
}

// isSingle reports whether all dimensions are 1.
func isSingle(v *graph.Value) bool {
	for _, n := range v.Shape {
		if c, ok := tir.IntValue(n); !ok || c != 1 {
			return false
		}
	}
	return true
}

// ints returns the elements of a constant of integers.
func ints(v *graph.Value) ([]int64, bool) {
	if v == nil || v.Elements() == nil {
		return nil, false
	}
	out := []int64{}
	for _, e := range v.Elements() {
		n, ok := tir.IntValue(e)
		if !ok {
			return nil, false
		}
		out = append(out, n)
	}
	return out, true
}

// allOf reports whether entries of a list are all a number.
func allOf(list []int64, n int64) bool {
	for _, x := range list {
		if x != n {
			return false
		}
	}
	return true
}

func isFloat(v *graph.Value) bool { return tir.IsFloat(v.DType) }
