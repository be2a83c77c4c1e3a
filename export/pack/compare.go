package pack

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tvmgo/dlpack"
)

// Number is a float64 that has a JSON form even if it is infinite or NaN.
type Number float64

// MarshalJSON writes infinities and NaN as strings.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(fmt.Sprint(f))
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads a number or a string.
func (n *Number) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	*n = Number(f)
	return err
}

// Compare compares the elements of two arrays of one type and shape, as [Verify] does. nil means that they are equal,
// or differ by no more than the tolerance.
func Compare(got, want *Array, tol Tolerance) *Difference {
	c := comparison{dtype: want.DType, shape: want.Shape, tolerance: tol, got: got.Data, want: want.Data}
	return c.run()
}

// comparison compares the content of a tensor with the expected content.
type comparison struct {
	dtype             dlpack.DataType
	shape             []int64
	tolerance         Tolerance
	got, want, before []byte // before may be nil
}

// run returns nil if there is no difference.
func (c *comparison) run() *Difference {
	if bytes.Equal(c.got, c.want) || len(c.want) == 0 {
		return nil
	}
	each := c.elementSize()
	d := &Difference{Type: c.dtype.String(), Elements: int64(len(c.want) / each)}
	for i := 0; i < len(c.want); i += each {
		g, w := c.got[i:i+each], c.want[i:i+each]
		if bytes.Equal(g, w) {
			continue
		}
		same, abs, rel := c.distance(g, w)
		if same {
			continue
		}
		if d.Differing == 0 {
			d.First, d.Got, d.Want = c.index(int64(i/each)), c.text(g), c.text(w)
		}
		d.Differing++
		if c.before != nil {
			d.Untouched += int64(b2i(bytes.Equal(g, c.before[i:i+each])))
		}
		d.MaxAbs, d.MaxRel = larger(d.MaxAbs, abs), larger(d.MaxRel, rel)
	}
	if d.Differing == 0 {
		return nil
	}
	return d
}

// larger returns the larger number, or NaN if one of them is NaN.
func larger(a Number, b float64) Number { return Number(math.Max(float64(a), b)) }

// elementSize returns the size of a unit of comparison: an element with all its lanes, or a byte of packed elements.
func (c *comparison) elementSize() int {
	if bits := int(c.dtype.Bits) * int(c.dtype.Lanes); bits%8 == 0 {
		return bits / 8
	}
	return 1
}

// distance compares two elements whose bytes differ.
func (c *comparison) distance(got, want []byte) (same bool, abs, rel float64) {
	g, isFloat, ok := c.number(got)
	w, _, _ := c.number(want)
	switch {
	case !ok:
		return false, math.NaN(), math.NaN()
	case math.IsNaN(g) && math.IsNaN(w) || g == w && isFloat:
		return true, 0, 0
	}
	if !isFloat && c.dtype.Bits == 64 {
		abs = c.distance64(got, want) // which float64 can't tell
	} else {
		abs = math.Abs(g - w)
	}
	rel = abs / math.Abs(w)
	return isFloat && !math.IsInf(w, 0) && abs <= c.tolerance.Abs+c.tolerance.Rel*math.Abs(w), abs, rel
}

func (c *comparison) distance64(got, want []byte) float64 {
	g, w := binary.LittleEndian.Uint64(got), binary.LittleEndian.Uint64(want)
	less := g < w
	if c.dtype.Code == dlpack.CodeInt {
		less = int64(g) < int64(w)
	}
	if less {
		g, w = w, g
	}
	return float64(g - w)
}

// number reads an element; ok is false for types that are compared as bytes.
func (c *comparison) number(b []byte) (value float64, isFloat, ok bool) {
	if c.dtype.Lanes != 1 {
		return 0, false, false
	}
	bits := uint64(0)
	for i := len(b) - 1; i >= 0; i-- {
		if len(b) > 8 {
			return 0, false, false
		}
		bits = bits<<8 | uint64(b[i])
	}
	width := int(c.dtype.Bits)
	switch {
	case width != 8*len(b) && c.dtype != dlpack.ClassicBool:
		return 0, false, false
	case c.dtype.IsBool() || c.dtype.Code == dlpack.CodeUInt:
		return float64(bits), false, true
	case c.dtype.Code == dlpack.CodeInt:
		return float64(int64(bits<<(64-width)) >> (64 - width)), false, true
	case c.dtype == dlpack.Float64:
		return math.Float64frombits(bits), true, true
	case c.dtype == dlpack.Float32:
		return float64(math.Float32frombits(uint32(bits))), true, true
	case c.dtype == dlpack.Float16:
		return float64(dlpack.Float16Bits(bits).Float32()), true, true
	case c.dtype == dlpack.BFloat16:
		return float64(dlpack.BFloat16Bits(bits).Float32()), true, true
	}
	return 0, false, false
}

// text returns an element in readable form.
func (c *comparison) text(b []byte) string {
	v, isFloat, ok := c.number(b)
	switch {
	case !ok:
		return fmt.Sprintf("0x%x", b)
	case isFloat && c.dtype == dlpack.Float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case isFloat:
		return strconv.FormatFloat(v, 'g', -1, 32)
	case c.dtype == dlpack.UInt64:
		return fmt.Sprint(binary.LittleEndian.Uint64(b))
	case c.dtype == dlpack.Int64:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(b)))
	}
	return fmt.Sprint(int64(v))
}

// index returns the index of an element in a compact tensor.
func (c *comparison) index(at int64) []int64 {
	list := make([]int64, len(c.shape))
	for d := len(c.shape) - 1; d >= 0; d-- {
		list[d] = at % c.shape[d]
		at /= c.shape[d]
	}
	return list
}
