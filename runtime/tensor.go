package runtime

/*
#include <stdlib.h>
#include "bridge/bridge.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// Tensor is an array of elements on a device. Its shape, type and device never change. The methods are safe for
// concurrent use, but the elements are not guarded: two calls that write the same tensor are a data race.
//
// Close releases the tensor; its memory is freed once no call, view or DLPack consumer uses it. Go's garbage collector
// closes unreachable tensors that were not closed. SetUnclosedLimit bounds how much memory those hold.
type Tensor struct{ ref *ref }

func newTensor(o object) *Tensor {
	t := &Tensor{ref: &ref{obj: o}}
	watch(t, t.ref)
	tensorMade(o)
	return t
}

// Close releases the tensor. Views of it, bound calls and DLPack consumers keep its memory alive. Closing twice is
// fine.
func (t *Tensor) Close() error {
	if t != nil {
		t.ref.close()
	}
	return nil
}

func (t *Tensor) use(op string) error {
	if t == nil || !t.ref.acquire() {
		return fault.IsClosed(op, "tensor")
	}
	return nil
}

func (t *Tensor) dl() *C.DLTensor { return t.ref.obj.dl() }

// dl returns the description of a tensor object.
func (o object) dl() *C.DLTensor {
	return (*C.DLTensor)(unsafe.Add(o.pointer(), C.sizeof_TVMFFIObject))
}

// CPU is the device that always works.
var CPU = dlpack.Device{Type: dlpack.CPU}

// NewTensor allocates a tensor of a shape in elements; no dimension at all makes a scalar. The memory is compact,
// row-major and aligned to at least dlpack.AllocAlignment bytes. The elements are undefined. The caller closes the
// tensor.
//
// The error is ErrInvalidArgument for a negative dimension, for more than 2⁶³ elements, for a dtype without a size and
// for an unknown device type; ErrDeviceUnavailable if the device does not exist or its package is not imported;
// ErrOutOfMemory if the host or the device has too little memory.
func NewTensor(dtype dlpack.DataType, shape []int64, dev dlpack.Device) (*Tensor, error) {
	return newTensorIn("allocate tensor", dtype, shape, dev, nil)
}

// NewTensorInScope allocates in a storage scope of the device, for example "global.texture" of OpenCL. "" and "global"
// are ordinary memory. The error is ErrNotSupported for a scope that the device does not have. Otherwise it is like
// NewTensor.
func NewTensorInScope(dtype dlpack.DataType, shape []int64, dev dlpack.Device, scope string) (*Tensor, error) {
	const op = "allocate tensor"
	if err := hasNUL(op, "the scope", scope); err != nil {
		return nil, err
	}
	cscope := C.CString(scope)
	defer C.free(unsafe.Pointer(cscope))
	return newTensorIn(op, dtype, shape, dev, cscope)
}

// newTensorIn allocates in a scope; nil is ordinary memory.
func newTensorIn(op string, dtype dlpack.DataType, shape []int64, dev dlpack.Device, scope *C.char) (*Tensor, error) {
	return allocate(op, func() C.tvmgo_ret {
		return C.tvmgo_bridge_tensor_new(cDims(shape), C.int32_t(len(shape)), cType(dtype), cDevice(dev), scope)
	})
}

// FromSlice allocates a CPU tensor and copies data into it. Without a shape the tensor is a vector. The error is
// ErrInvalidArgument for a shape whose number of elements differs from len(data). The dtype is dlpack.DataTypeOf[T];
// elements of float16 and bfloat16 have the Go types dlpack.Float16Bits and dlpack.BFloat16Bits.
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

func goType(t C.DLDataType) dlpack.DataType {
	return dlpack.DataType{Code: uint8(t.code), Bits: uint8(t.bits), Lanes: uint16(t.lanes)}
}

func goDevice(d C.DLDevice) dlpack.Device {
	return dlpack.Device{Type: dlpack.DeviceType(d.device_type), ID: int32(d.device_id)}
}

func cDevice(d dlpack.Device) C.DLDevice {
	return C.DLDevice{device_type: C.DLDeviceType(d.Type), device_id: C.int32_t(d.ID)}
}

// Shape returns a copy of the dimensions, in elements; nil after Close.
func (t *Tensor) Shape() []int64 {
	if t.use("") != nil {
		return nil
	}
	defer t.ref.release()
	return append([]int64{}, t.dims()...)
}

// These functions read a tensor that is in use; their slices are views of its memory.

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

// Strides returns a copy of the distances between neighbors along each dimension, in elements; the row-major ones if
// the tensor is compact, nil after Close.
func (t *Tensor) Strides() []int64 {
	if t.use("") != nil {
		return nil
	}
	defer t.ref.release()
	return append([]int64{}, t.strides()...)
}

// DType returns the type of the elements; the zero DataType after Close.
func (t *Tensor) DType() dlpack.DataType {
	if t.use("") != nil {
		return dlpack.DataType{}
	}
	defer t.ref.release()
	return t.dtype()
}

// Device returns the device of the elements; the zero Device after Close.
func (t *Tensor) Device() dlpack.Device {
	if t.use("") != nil {
		return dlpack.Device{}
	}
	defer t.ref.release()
	return t.device()
}

// Len is the number of elements: the product of Shape. 0 after Close.
func (t *Tensor) Len() int64 {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return t.elements()
}

// Size is the number of bytes of the elements without gaps from strides. 0 after Close.
func (t *Tensor) Size() int64 {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return t.nbytes()
}

// IsContiguous reports whether the elements are compact in row-major order; false after Close.
func (t *Tensor) IsContiguous() bool {
	if t.use("") != nil {
		return false
	}
	defer t.ref.release()
	return t.isCompact()
}

// String describes the tensor without its elements: "float32[2 3] on cpu:0".
func (t *Tensor) String() string {
	if t.use("") != nil {
		return "closed tensor"
	}
	defer t.ref.release()
	return fmt.Sprintf("%v%v on %v", t.dtype(), t.dims(), t.device())
}

// View returns a tensor of another shape, dtype, strides or start over the same memory, which it keeps alive. strides
// are in elements, nil for compact; byteOffset is in bytes from the first element of t. The error is ErrInvalidArgument
// for a view beyond the elements of t, a negative offset, strides of another length than shape, and nil strides if t
// itself has strides.
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
		return nil, fault.New(op, ErrInvalidArgument, "%d strides for %d dimensions", len(strides), len(shape))
	}
	if byteOffset < 0 {
		return nil, fault.New(op, ErrInvalidArgument, "the offset %d is negative", byteOffset)
	}
	o, err := result(op, C.tvmgo_bridge_tensor_view(C.uintptr_t(t.ref.obj), cDims(shape), C.int32_t(len(shape)),
		cType(dtype), cDims(strides), C.uint64_t(byteOffset)))
	if err != nil {
		return nil, err
	}
	return newTensor(o), nil
}

// Reshape returns a view of the same elements in another shape. The error is ErrInvalidArgument for another number of
// elements and for a strided t.
func (t *Tensor) Reshape(shape ...int64) (*Tensor, error) {
	const op = "reshape tensor"
	n, err := dlpack.NumElements(shape)
	if err != nil {
		return nil, fault.New(op, ErrInvalidArgument, "%v", err)
	}
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	if have := t.elements(); n != have {
		return nil, fault.New(op, ErrInvalidArgument, "%d elements do not make the shape %v", have, shape)
	}
	return t.view(op, t.dtype(), shape, nil, 0)
}

// Data is the DLTensor's data field, without ByteOffset: an address for the CPU and CUDA, the address of a buffer
// descriptor for OpenCL and Vulkan. 0 after Close. It is valid while the tensor, or a view of it, is open and
// reachable. You may read and write the memory at a CPU address; Elements returns it as a slice.
func (t *Tensor) Data() uintptr {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return uintptr(t.dl().data)
}

// ByteOffset is the distance in bytes from Data to the first element; 0 unless the tensor is a view.
func (t *Tensor) ByteOffset() uint64 {
	if t.use("") != nil {
		return 0
	}
	defer t.ref.release()
	return uint64(t.dl().byte_offset)
}
