package arguments

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tvmgo/dlpack"
)

// mostShown is the number of elements that a summary lists.
const mostShown = 6

// Summary describes the elements of an array in a line: least, greatest and mean, numbers that are not finite, and the
// first elements. It is "" for empty arrays, and for types that are not numbers or booleans of whole bytes. data has
// the elements, little-endian and in row-major order.
func Summary(t dlpack.DataType, data []byte) string {
	size := int(t.Bits) / 8
	if t.IsBool() {
		size = 1
	}
	read := reader(t)
	if read == nil || size == 0 || len(data) < size {
		return ""
	}
	n := len(data) / size
	first := make([]string, 0, mostShown+1)
	for i := range min(n, mostShown) {
		first = append(first, elementText(t, read(data[i*size:])))
	}
	if n > mostShown {
		first = append(first, "…")
	}
	list := strings.Join(first, ", ")
	if n == 1 {
		return list
	}
	s := statistics{}
	for i := range n {
		s.add(number(read(data[i*size:])))
	}
	if t.IsBool() {
		return fmt.Sprintf("%.0f true, %.0f false: %s", s.sum, float64(n)-s.sum, list)
	}
	return s.text(t) + ": " + list
}

// reader returns a function that reads an element as an int64, a uint64 or a float64; nil for types that a summary does
// not show.
func reader(t dlpack.DataType) func([]byte) any {
	little := binary.LittleEndian
	switch t {
	case dlpack.Bool, dlpack.ClassicBool:
		return func(b []byte) any { return int64(min(b[0], 1)) }
	case dlpack.Int8:
		return func(b []byte) any { return int64(int8(b[0])) }
	case dlpack.Int16:
		return func(b []byte) any { return int64(int16(little.Uint16(b))) }
	case dlpack.Int32:
		return func(b []byte) any { return int64(int32(little.Uint32(b))) }
	case dlpack.Int64:
		return func(b []byte) any { return int64(little.Uint64(b)) }
	case dlpack.UInt8:
		return func(b []byte) any { return int64(b[0]) }
	case dlpack.UInt16:
		return func(b []byte) any { return int64(little.Uint16(b)) }
	case dlpack.UInt32:
		return func(b []byte) any { return int64(little.Uint32(b)) }
	case dlpack.UInt64:
		return func(b []byte) any { return little.Uint64(b) }
	case dlpack.Float16:
		return func(b []byte) any { return float64(dlpack.Float16Bits(little.Uint16(b)).Float32()) }
	case dlpack.BFloat16:
		return func(b []byte) any { return float64(dlpack.BFloat16Bits(little.Uint16(b)).Float32()) }
	case dlpack.Float32:
		return func(b []byte) any { return float64(math.Float32frombits(little.Uint32(b))) }
	case dlpack.Float64:
		return func(b []byte) any { return math.Float64frombits(little.Uint64(b)) }
	}
	return nil
}

func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v.(float64)
}

func elementText(t dlpack.DataType, v any) string {
	switch v := v.(type) {
	case int64:
		if t.IsBool() {
			return strconv.FormatBool(v != 0)
		}
	case float64:
		return realText(v)
	}
	return fmt.Sprint(v)
}

func realText(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// statistics describes finite numbers, and counts the others.
type statistics struct {
	least, greatest, sum  float64
	finite, nan, infinite int
}

func (s *statistics) add(v float64) {
	switch {
	case math.IsNaN(v):
		s.nan++
		return
	case math.IsInf(v, 0):
		s.infinite++
		return
	case s.finite == 0:
		s.least, s.greatest = v, v
	}
	s.least, s.greatest = min(s.least, v), max(s.greatest, v)
	s.finite++
	s.sum += v
}

func (s *statistics) text(t dlpack.DataType) string {
	show := realText
	if t.Code == dlpack.CodeInt || t.Code == dlpack.CodeUInt {
		show = func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	}
	var parts []string
	if s.finite > 0 {
		parts = append(parts, "min "+show(s.least), "max "+show(s.greatest), "mean "+realText(s.sum/float64(s.finite)))
	}
	if s.nan > 0 {
		parts = append(parts, fmt.Sprintf("%d NaN", s.nan))
	}
	if s.infinite > 0 {
		parts = append(parts, fmt.Sprintf("%d infinite", s.infinite))
	}
	return strings.Join(parts, ", ")
}
