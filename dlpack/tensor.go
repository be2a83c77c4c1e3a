package dlpack

import (
	"fmt"
	"math"
	"math/bits"
)

// Tensor is a view of memory that its creator owns, with the fields of a DLTensor. The meaning of Data depends on the
// device: a pointer on the CPU, a device pointer under CUDA, the address of a buffer descriptor under OpenCL and
// Vulkan.
type Tensor struct {
	Data       uintptr
	Device     Device
	DType      DataType
	Shape      []int64
	Strides    []int64 // in elements; nil means compact row-major
	ByteOffset uint64  // from Data to the first element
}

// NumElements returns the number of elements, see [NumElements].
func (t *Tensor) NumElements() (int64, error) { return NumElements(t.Shape) }

// Size returns the size in bytes that the elements would have if they were compact, see [DataSize].
func (t *Tensor) Size() (int64, error) { return DataSize(t.Shape, t.DType) }

// IsContiguous reports whether the elements are compact in row-major order, see [IsContiguous].
func (t *Tensor) IsContiguous() bool { return IsContiguous(t.Shape, t.Strides) }

// IsAligned reports whether the address of the first element is a multiple of align bytes. It is meaningful only where
// Data is an address: generated code for the CPU and CUDA assumes [AllocAlignment] and does not check it.
func (t *Tensor) IsAligned(align uint64) bool {
	return align != 0 && (uint64(t.Data)+t.ByteOffset)%align == 0
}

// Check returns an error if the tensor is invalid, as far as that is visible without accessing its memory: an element
// type without a size, a negative or overflowing shape, strides of another rank, elements before Data or beyond the
// address space, a null pointer although there are elements, or a device without a type.
func (t *Tensor) Check() error {
	if t.Device.Type <= 0 {
		return fmt.Errorf("tensor: invalid device type %d", int32(t.Device.Type))
	}
	if t.Device.ID < 0 {
		return fmt.Errorf("tensor on %s: the device index is negative", t.Device)
	}
	if err := t.DType.Check(); err != nil {
		return fmt.Errorf("tensor: %w", err)
	}
	elements, err := t.NumElements()
	if err != nil {
		return fmt.Errorf("tensor: %w", err)
	}
	if _, err := t.Size(); err != nil {
		return fmt.Errorf("tensor: %w", err)
	}
	if t.Strides != nil && len(t.Strides) != len(t.Shape) {
		return fmt.Errorf("tensor of shape %v: %d strides for %d dimensions", t.Shape, len(t.Strides), len(t.Shape))
	}
	if elements == 0 {
		return nil
	}
	if t.Data == 0 {
		return fmt.Errorf("tensor of shape %v: the data pointer is null", t.Shape)
	}
	last, err := t.lastElement(elements)
	if err != nil {
		return err
	}
	size, err := t.DType.Bytes(last + 1)
	end, carry := bits.Add64(t.ByteOffset, uint64(size), 0)
	if err != nil || carry != 0 || end > math.MaxUint64-uint64(t.Data) {
		return fmt.Errorf("tensor of shape %v: its elements reach beyond the address space", t.Shape)
	}
	return nil
}

// lastElement returns the distance in elements from the first element to the farthest; every dimension is at least 1.
func (t *Tensor) lastElement(elements int64) (int64, error) {
	if t.Strides == nil {
		return elements - 1, nil
	}
	last := int64(0)
	for i, stride := range t.Strides {
		if t.Shape[i] == 1 {
			continue
		}
		if stride < 0 {
			return 0, fmt.Errorf("tensor of shape %v: stride %d is negative (%d)", t.Shape, i, stride)
		}
		reach, ok := multiply(t.Shape[i]-1, stride)
		if !ok || last > math.MaxInt64-1-reach {
			return 0, fmt.Errorf("tensor of shape %v, strides %v: its elements reach beyond the address space", t.Shape,
				t.Strides)
		}
		last += reach
	}
	return last, nil
}
