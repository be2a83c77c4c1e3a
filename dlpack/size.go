package dlpack

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// AllocAlignment is the alignment in bytes that generated code assumes for tensors (kAllocAlignment).
const AllocAlignment = 64

// NumElements returns the product of the dimensions; 1 for a scalar, which has none. It is an error if a dimension is
// negative, or if the product exceeds MaxInt64. For the latter, dimensions of 0 are ignored, because strides are
// computed from the other dimensions.
func NumElements(shape []int64) (int64, error) {
	product, empty := int64(1), false
	for i, dim := range shape {
		if dim < 0 {
			return 0, fmt.Errorf("shape %v: dimension %d is negative", shape, i)
		}
		if dim == 0 {
			empty = true
			continue
		}
		var ok bool
		if product, ok = multiply(product, dim); !ok {
			return 0, fmt.Errorf("shape %v: the number of elements exceeds 64 bits", shape)
		}
	}
	if empty {
		return 0, nil
	}
	return product, nil
}

// multiply returns the product of two non-negative numbers; the result is false if it overflows.
func multiply(a, b int64) (int64, bool) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return int64(low), high == 0 && low <= math.MaxInt64
}

// Bytes returns the size in bytes of the given number of elements in the modern ABI: elements are packed, with bits ×
// lanes each, and the sum is rounded up to a byte. ClassicBool is an exception: it takes one byte per element in both
// generations. A type without a size (void, scalable) is an error.
func (t DataType) Bytes(elements int64) (int64, error) {
	if t == ClassicBool {
		return t.wholeBytes(elements, 1)
	}
	if err := t.checkSize(elements); err != nil {
		return 0, err
	}
	high, low := bits.Mul64(uint64(elements), uint64(t.Bits)*uint64(t.Lanes))
	low, carry := bits.Add64(low, 7, 0)
	high += carry
	if high >= 4 { // bytes would need bit 63
		return 0, fmt.Errorf("%d elements of %s: the size exceeds 64 bits", elements, t)
	}
	return int64(high<<61 | low>>3), nil
}

// ClassicBytes returns the size in bytes in the classic ABI, where every element is rounded up to whole bytes.
func (t DataType) ClassicBytes(elements int64) (int64, error) {
	return t.wholeBytes(elements, (int64(t.Bits)*int64(t.Lanes)+7)/8)
}

// SerializedBytes returns the size field of a tensor in a parameter file or a blob: the width of one lane in whole
// bytes times the number of elements. Lanes are not counted (a peculiarity of the format that readers verify), so that
// tensors of vectors cannot be saved.
func (t DataType) SerializedBytes(elements int64) (int64, error) {
	return t.wholeBytes(elements, (int64(t.Bits)+7)/8)
}

func (t DataType) wholeBytes(elements, each int64) (int64, error) {
	if err := t.checkSize(elements); err != nil {
		return 0, err
	}
	n, ok := multiply(elements, each)
	if !ok {
		return 0, fmt.Errorf("%d elements of %s: the size exceeds 64 bits", elements, t)
	}
	return n, nil
}

func (t DataType) checkSize(elements int64) error {
	if elements < 0 {
		return fmt.Errorf("%d elements of %s: the number is negative", elements, t)
	}
	return t.Check()
}

// DataSize returns the size in bytes of a compact tensor in the modern ABI, see [DataType.Bytes].
func DataSize(shape []int64, t DataType) (int64, error) { return sizeBy(shape, t.Bytes) }

// ClassicDataSize returns the size in bytes of a compact tensor in the classic ABI, see [DataType.ClassicBytes]. It
// differs from [DataSize] if elements do not consist of whole bytes.
func ClassicDataSize(shape []int64, t DataType) (int64, error) { return sizeBy(shape, t.ClassicBytes) }

// SerializedDataSize returns the size in bytes of the data of a saved tensor, see [DataType.SerializedBytes].
func SerializedDataSize(shape []int64, t DataType) (int64, error) {
	return sizeBy(shape, t.SerializedBytes)
}

func sizeBy(shape []int64, rule func(int64) (int64, error)) (int64, error) {
	n, err := NumElements(shape)
	if err != nil {
		return 0, err
	}
	return rule(n)
}

// Alignment returns the alignment in bytes of a tensor's data: AllocAlignment, or the size of one element if that is
// larger. A size that is not a power of two (72 bytes for float64x9) is rounded up to one, because allocators require
// it.
func (t DataType) Alignment() int64 {
	size := uint64(t.Bits/8) * uint64(t.Lanes)
	if size <= AllocAlignment || t.IsScalable() {
		return AllocAlignment
	}
	return 1 << bits.Len64(size-1)
}

// RowMajorStrides returns the strides of a compact tensor, in elements; before a dimension of 0 they are 0, as kernels
// of TVM expect them. The shape must be valid for NumElements.
func RowMajorStrides(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	next := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = next
		next *= shape[i]
	}
	return strides
}

// IsContiguous reports whether a tensor's elements are compact in row-major order: strides is nil, or equals the
// row-major strides, where a dimension of size 1 can have any stride. strides are in elements. A tensor without
// elements is contiguous.
func IsContiguous(shape, strides []int64) bool {
	if strides == nil {
		return true
	}
	if len(strides) != len(shape) {
		return false
	}
	if slices.Contains(shape, 0) {
		return true
	}
	expected := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == 1 {
			continue
		}
		if strides[i] != expected || shape[i] < 0 {
			return false
		}
		var ok bool
		if expected, ok = multiply(expected, shape[i]); !ok {
			return false
		}
	}
	return true
}
