package runtime

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"tvmgo/dlpack"
)

// Tensor is an array of elements on a device. Its shape never changes; its elements do, and guarding
// them is the caller's business. The methods are safe for concurrent use.
//
// Close gives it up, and its memory at once; what was given to calls or views keeps the memory alive. Tensors that were
// dropped without Close are found by Go's collector, which SetUnclosedLimit sets off in time: that bounds the memory, and
// costs collections that Close saves.
type Tensor struct{ ref *ref }

func newTensor(o object) *Tensor {
	t := &Tensor{ref: &ref{obj: o}}
	watch(t, t.ref)
	tensorMade(o)
	return t
}

// Close gives the tensor up. Closing twice is fine.
func (t *Tensor) Close() error {
	if t != nil {
		t.ref.close()
	}
	return nil
}

func (t *Tensor) use(op string) error {
	if t == nil || !t.ref.acquire() {
		return closedError(op, "tensor")
	}
	return nil
}

func (t *Tensor) dl() *C.DLTensor {
	return (*C.DLTensor)(unsafe.Add(t.ref.obj.pointer(), C.sizeof_TVMFFIObject))
}

// CPU is the device that always works.
var CPU = dlpack.Device{Type: dlpack.CPU}

// NewTensor allocates a tensor: compact, aligned for generated code, with undefined elements.
func NewTensor(dtype dlpack.DataType, shape []int64, dev dlpack.Device) (*Tensor, error) {
	return NewTensorInScope(dtype, shape, dev, "")
}

// NewTensorInScope allocates in a storage scope of the device, for example "global.texture"; "" and
// "global" are ordinary memory.
func NewTensorInScope(dtype dlpack.DataType, shape []int64, dev dlpack.Device, scope string) (*Tensor, error) {
	const op = "allocate tensor"
	if err := hasNUL(op, "the scope", scope); err != nil {
		return nil, err
	}
	cscope := C.CString(scope)
	defer C.free(unsafe.Pointer(cscope))
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_tensor_new(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(dev), cscope)
	})
}

// FromSlice allocates a CPU tensor and copies data into it. With no shape it is a vector. Elements of float16 and bfloat16 are
// dlpack.Float16Bits and dlpack.BFloat16Bits.
func FromSlice[T dlpack.Scalar](data []T, shape ...int64) (*Tensor, error) {
	if len(shape) == 0 {
		shape = []int64{int64(len(data))}
	}
	t, err := NewTensor(dlpack.DataTypeOf[T](), shape, CPU)
	if err != nil {
		return nil, err
	}
	if err := CopyFrom(t, data); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func cDims(dims []int64) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(dims))) }

func cType(t dlpack.DataType) C.DLDataType {
	return C.DLDataType{code: C.uint8_t(t.Code), bits: C.uint8_t(t.Bits), lanes: C.uint16_t(t.Lanes)}
}

func goDevice(d C.DLDevice) dlpack.Device {
	return dlpack.Device{Type: dlpack.DeviceType(d.device_type), ID: int32(d.device_id)}
}

func cDevice(d dlpack.Device) C.DLDevice {
	return C.DLDevice{device_type: C.DLDeviceType(d.Type), device_id: C.int32_t(d.ID)}
}

// Shape returns the dimensions; nil when closed.
func (t *Tensor) Shape() []int64 {
	if t.use("") != nil {
		return nil
	}
	defer t.ref.release()
	return append([]int64{}, t.dims()...)
}

// What follows reads a tensor in use; the slices are views of its memory.

func (t *Tensor) dims() []int64 {
	dl := t.dl()
	return unsafe.Slice((*int64)(unsafe.Pointer(dl.shape)), int(dl.ndim))
}

func (t *Tensor) strides() []int64 {
	dl := t.dl()
	if dl.strides == nil {
		return dlpack.RowMajorStrides(t.dims())
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(dl.strides)), int(dl.ndim))
}

func (t *Tensor) dtype() dlpack.DataType { return goType(t.dl().dtype) }

func (t *Tensor) device() dlpack.Device { return goDevice(t.dl().device) }

func (t *Tensor) elements() int64 {
	n, _ := dlpack.NumElements(t.dims()) // was checked when it was made
	return n
}

func (t *Tensor) nbytes() int64 {
	n, _ := dlpack.DataSize(t.dims(), t.dtype())
	return n
}

func (t *Tensor) isCompact() bool { return dlpack.IsContiguous(t.dims(), t.strides()) }

// Strides returns the distance between neighbours along each dimension, in elements.
func (t *Tensor) Strides() []int64 {
	if t.use("") != nil {
		return nil
	}
	defer t.ref.release()
	return append([]int64{}, t.strides()...)
}

// DType returns the type of the elements.
func (t *Tensor) DType() dlpack.DataType {
	if t.use("") != nil {
		return dlpack.DataType{}
	}
	defer t.ref.release()
	return t.dtype()
}

// Device returns where the elements are.
func (t *Tensor) Device() dlpack.Device {
	if t.use("") != nil {
		return dlpack.Device{}
	}
	defer t.ref.release()
	return t.device()
}

// Len is the number of elements.
func (t *Tensor) Len() int64 {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return t.elements()
}

// Size is the number of bytes of the elements, without gaps that strides leave.
func (t *Tensor) Size() int64 {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return t.nbytes()
}

// IsContiguous says whether the elements lie side by side in row-major order.
func (t *Tensor) IsContiguous() bool {
	if t.use("") != nil {
		return false
	}
	defer t.ref.release()
	return t.isCompact()
}

// String describes the tensor, not its elements.
func (t *Tensor) String() string {
	if t.use("") != nil {
		return "closed tensor"
	}
	defer t.ref.release()
	return fmt.Sprintf("%v%v on %v", t.dtype(), t.dims(), t.device())
}

// View returns a tensor of another shape, type or start over the same memory, which it keeps alive.
// strides are in elements; nil means compact. byteOffset counts from the start of t. A view that
// reaches beyond t is an error.
func (t *Tensor) View(dtype dlpack.DataType, shape, strides []int64, byteOffset int64) (*Tensor, error) {
	const op = "view tensor"
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	return t.view(op, dtype, shape, strides, byteOffset)
}

func (t *Tensor) view(op string, dtype dlpack.DataType, shape, strides []int64, byteOffset int64) (*Tensor, error) {
	if strides != nil && len(strides) != len(shape) {
		return nil, fail(op, ErrInvalidArgument, "%d strides for %d dimensions", len(strides), len(shape))
	}
	if byteOffset < 0 {
		return nil, fail(op, ErrInvalidArgument, "the offset %d is negative", byteOffset)
	}
	o, err := result(op, C.tvmgo_bridge_tensor_view(C.uintptr_t(t.ref.obj), cDims(shape), C.int32_t(len(shape)),
		cType(dtype), cDims(strides), C.uint64_t(byteOffset)))
	if err != nil {
		return nil, err
	}
	return newTensor(o), nil
}

// Reshape is View with the same elements in another shape.
func (t *Tensor) Reshape(shape ...int64) (*Tensor, error) {
	const op = "reshape tensor"
	n, err := dlpack.NumElements(shape)
	if err != nil {
		return nil, fail(op, ErrInvalidArgument, "%v", err)
	}
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	if have := t.elements(); n != have {
		return nil, fail(op, ErrInvalidArgument, "%d elements do not make the shape %v", have, shape)
	}
	return t.view(op, t.dtype(), shape, nil, 0)
}

// Data is the address that the device gave the memory, without the offset of a view. For a CPU
// tensor it may be read and written while the tensor is open.
func (t *Tensor) Data() uintptr {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return uintptr(t.dl().data)
}

// ByteOffset is where the first element lies behind Data.
func (t *Tensor) ByteOffset() uint64 {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return uint64(t.dl().byte_offset)
}
