package tirrun

import (
	"encoding/binary"
	"fmt"
	"math"

	"tvmgo/dlpack"
	"tvmgo/tir"
)

// Array is a tensor in memory. Elements of less than 8 bits are packed, the first one in the lowest bits; bool and
// uint1 take a byte.
type Array struct {
	DType   tir.Type
	Shape   []int64
	Strides []int64 // in elements; nil: compact, row-major
	Data    []byte
	Offset  int64 // of the first element, in elements
}

// New makes a compact array of zeros.
func New(t tir.Type, shape ...int64) (*Array, error) {
	n, err := dlpack.NumElements(shape)
	if err != nil {
		return nil, fmt.Errorf("new array: %w", err)
	}
	if _, err := codecOf(t); err != nil {
		return nil, fmt.Errorf("new array: %w", err)
	}
	bytes, err := t.Bytes(n)
	if err != nil {
		return nil, fmt.Errorf("new array: %w", err)
	}
	if bytes > 1<<32 {
		return nil, fmt.Errorf("new array: %s of shape %v takes %d bytes: the limit is 4 GiB", t, shape, bytes)
	}
	return &Array{DType: t, Shape: append([]int64(nil), shape...), Data: make([]byte, bytes)}, nil
}

// Number is a Go type of the values in arrays.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// From makes a compact array from values: integers wrap at the width of the type, floats are rounded as by casts. Bool
// values are 0 and 1.
func From[T Number](t tir.Type, values []T, shape ...int64) (*Array, error) {
	a, err := New(t, shape...)
	if err != nil {
		return nil, err
	}
	if n, _ := dlpack.NumElements(shape); n*int64(t.Lanes) != int64(len(values)) {
		return nil, fmt.Errorf("new array: shape %v of %s has %d numbers, found %d", shape, t, n*int64(t.Lanes), len(values))
	}
	c, _ := codecOf(t)
	for i, v := range values {
		bit := int64(i) * c.bits
		switch {
		case c.float && T(1)/2 == 0: // T is an integer type
			c.putf(a.Data, bit, intToFloat(intType(v), tir.Element(t), int64(v)))
		case c.float:
			c.putf(a.Data, bit, float64(v))
		case T(1)/2 == 0:
			c.puti(a.Data, bit, int64(v))
		case tir.IsBool(t):
			c.puti(a.Data, bit, b2i(v != 0))
		default:
			c.puti(a.Data, bit, floatToInt(tir.Element(t), float64(v)))
		}
	}
	return a, nil
}

// intType returns int64 or uint64, according to the sign of T.
func intType[T Number](T) tir.Type {
	var zero T
	if zero-1 > 0 {
		return tir.UInt64
	}
	return tir.Int64
}

// Values returns the elements of an array in row-major order; the lanes of an element follow each other. They are
// converted to T as in Go.
func Values[T Number](a *Array) ([]T, error) {
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	c, _ := codecOf(a.DType)
	n, _ := dlpack.NumElements(a.Shape)
	lanes := int64(a.DType.Lanes)
	out := make([]T, 0, n*lanes)
	index := make([]int64, len(a.Shape))
	strides := a.strides()
	for range n {
		at := a.Offset
		for d, x := range index {
			at += x * strides[d]
		}
		for l := range lanes {
			bit := (at*lanes + l) * c.bits
			switch {
			case c.float:
				out = append(out, T(c.getf(a.Data, bit)))
			case a.DType.Code == dlpack.CodeUInt:
				out = append(out, T(uint64(c.geti(a.Data, bit))))
			default:
				out = append(out, T(c.geti(a.Data, bit)))
			}
		}
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < a.Shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return out, nil
}

// strides returns the strides; those of a compact array if they are nil.
func (a *Array) strides() []int64 {
	if a.Strides != nil {
		return a.Strides
	}
	s := make([]int64, len(a.Shape))
	step := int64(1)
	for d := len(s) - 1; d >= 0; d-- {
		s[d] = step
		step *= a.Shape[d]
	}
	return s
}

// check returns an error if the array is invalid: its elements must be inside Data.
func (a *Array) check() error {
	if a == nil {
		return fmt.Errorf("the array is nil")
	}
	c, err := codecOf(a.DType)
	if err != nil {
		return err
	}
	n, err := dlpack.NumElements(a.Shape)
	if err != nil {
		return err
	}
	if a.Strides != nil && len(a.Strides) != len(a.Shape) {
		return fmt.Errorf("%d strides for %d dimensions", len(a.Strides), len(a.Shape))
	}
	if n == 0 {
		return nil
	}
	// float64 does not overflow, and an array for which it is not exact is too large in any case.
	low, high := float64(a.Offset), float64(a.Offset)
	for d, s := range a.strides() {
		if step := float64(s) * float64(a.Shape[d]-1); s < 0 {
			low += step
		} else {
			high += step
		}
	}
	if have := float64(len(a.Data)) * 8 / float64(c.bits*int64(a.DType.Lanes)); low < 0 || high+1 > have {
		return fmt.Errorf("%s of shape %v, strides %v and offset %d has elements %.0f to %.0f, but its %d bytes have space "+
			"for %.0f: give it more", a.DType, a.Shape, a.Strides, a.Offset, low, high, len(a.Data), math.Floor(have))
	}
	return nil
}

// codec reads and writes elements of a type at a bit offset. Integers are sign- or zero-extended.
type codec struct {
	bits  int64 // distance between elements
	float bool
	geti  func(data []byte, bit int64) int64
	puti  func(data []byte, bit int64, v int64)
	getf  func(data []byte, bit int64) float64
	putf  func(data []byte, bit int64, v float64)
}

func codecOf(t tir.Type) (*codec, error) {
	if !validType(t) || tir.IsHandle(t) {
		return nil, fmt.Errorf("type %s can't be in memory: want integers, floats or bools", t)
	}
	c := &codec{bits: int64(t.Bits), float: tir.IsFloat(t)}
	if t.Bits == 1 && t.Code == dlpack.CodeUInt { // an old form of bool; int1 is packed
		c.bits = 8
	}
	read, write := bitAccess(c.bits)
	if c.float {
		c.getf = func(d []byte, bit int64) float64 { return floatOf(t, read(d, bit)) }
		c.putf = func(d []byte, bit int64, v float64) { write(d, bit, floatBits(t, v)) }
		return c, nil
	}
	wrap := wrapper(t)
	c.geti = func(d []byte, bit int64) int64 { return wrap(int64(read(d, bit))) }
	c.puti = func(d []byte, bit int64, v int64) { write(d, bit, uint64(wrap(v))) }
	if tir.IsBool(t) {
		c.geti = func(d []byte, bit int64) int64 { return b2i(d[bit>>3] != 0) }
	}
	return c, nil
}

// bitAccess returns functions that read and write n bits.
func bitAccess(n int64) (func([]byte, int64) uint64, func([]byte, int64, uint64)) {
	le := binary.LittleEndian
	switch n {
	case 8:
		return func(d []byte, b int64) uint64 { return uint64(d[b>>3]) }, func(d []byte, b int64, v uint64) {
			d[b>>3] = byte(v)
		}
	case 16:
		return func(d []byte, b int64) uint64 { return uint64(le.Uint16(d[b>>3:])) },
			func(d []byte, b int64, v uint64) { le.PutUint16(d[b>>3:], uint16(v)) }
	case 32:
		return func(d []byte, b int64) uint64 { return uint64(le.Uint32(d[b>>3:])) },
			func(d []byte, b int64, v uint64) { le.PutUint32(d[b>>3:], uint32(v)) }
	case 64:
		return func(d []byte, b int64) uint64 { return le.Uint64(d[b>>3:]) }, func(d []byte, b int64, v uint64) {
			le.PutUint64(d[b>>3:], v)
		}
	}
	read := func(d []byte, b int64) (v uint64) {
		for i := range n {
			v |= uint64(d[(b+i)>>3]>>((b+i)&7)&1) << i
		}
		return v
	}
	return read, func(d []byte, b int64, v uint64) {
		for i := range n {
			at, mask := (b+i)>>3, byte(1)<<((b+i)&7)
			d[at] &^= mask
			if v>>i&1 != 0 {
				d[at] |= mask
			}
		}
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
