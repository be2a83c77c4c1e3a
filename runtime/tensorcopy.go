package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import (
	"unsafe"

	"tvmgo/dlpack"
	"tvmgo/internal/fault"
)

// checkSlice compares the elements of a slice with those of a tensor. The boolean types of both generations match a Go
// bool.
func checkSlice[T dlpack.Scalar](op string, t *Tensor, n int) error {
	have, want := dlpack.DataTypeOf[T](), t.dtype()
	if have != want && !(have.IsBool() && want.IsBool()) {
		return fault.New(op, ErrInvalidArgument, "the tensor's elements are %v, the slice's %v", want, have)
	}
	if want := t.elements(); int64(n) != want {
		return fault.New(op, ErrInvalidArgument, "the tensor has %d elements (shape %v), the slice %d", want, t.dims(), n)
	}
	return nil
}

// CopyFrom copies a slice into a tensor on any device, in row-major order, and returns when the copy is done. The slice
// must have Len elements of the tensor's dtype (bool matches both boolean dtypes), and a tensor with strides must be on
// the CPU; anything else is ErrInvalidArgument.
func CopyFrom[T dlpack.Scalar](t *Tensor, data []T) error {
	const op = "copy slice to tensor"
	if err := t.use(op); err != nil {
		return err
	}
	defer t.ref.release()
	if err := checkSlice[T](op, t, len(data)); err != nil {
		return err
	}
	return t.copyBytes(op, unsafe.Pointer(unsafe.SliceData(data)), true)
}

// CopyTo copies a tensor on any device into a slice, in row-major order, and returns when the copy is done. It does not
// wait for work on streams that you made: first Sync those that write the tensor. The slice must have Len elements of
// the tensor's dtype, and a tensor with strides must be on the CPU; anything else is ErrInvalidArgument.
func CopyTo[T dlpack.Scalar](t *Tensor, data []T) error {
	const op = "copy tensor to slice"
	if err := t.use(op); err != nil {
		return err
	}
	defer t.ref.release()
	if err := checkSlice[T](op, t, len(data)); err != nil {
		return err
	}
	if err := t.copyBytes(op, unsafe.Pointer(unsafe.SliceData(data)), false); err != nil {
		return err
	}
	if t.dtype().IsBool() { // in C any byte but 0 is true, in Go only 1
		raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data))
		for i, b := range raw {
			if b > 1 {
				raw[i] = 1
			}
		}
	}
	return nil
}

// ToSlice returns a copy of the elements in row-major order, as CopyTo makes it. It allocates the slice only if T
// matches the dtype.
func ToSlice[T dlpack.Scalar](t *Tensor) ([]T, error) {
	const op = "copy tensor to slice"
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	n := t.elements()
	if err := checkSlice[T](op, t, int(n)); err != nil { // before memory is made for it
		return nil, err
	}
	data := make([]T, n)
	if err := CopyTo(t, data); err != nil {
		return nil, err
	}
	return data, nil
}

// CopyFromBytes copies raw elements, in the host's byte order and row-major, into the tensor. The error is
// ErrInvalidArgument if the length is not Size. It works for every dtype; otherwise it is like CopyFrom.
func (t *Tensor) CopyFromBytes(data []byte) error {
	return t.rawBytes("copy bytes to tensor", data, true)
}

// CopyToBytes copies the raw elements, in the host's byte order and row-major, out of the tensor. The error is
// ErrInvalidArgument if the length is not Size. It works for every dtype; otherwise it is like CopyTo.
func (t *Tensor) CopyToBytes(data []byte) error {
	return t.rawBytes("copy tensor to bytes", data, false)
}

func (t *Tensor) rawBytes(op string, data []byte, toTensor bool) error {
	if err := t.use(op); err != nil {
		return err
	}
	defer t.ref.release()
	if want := t.nbytes(); int64(len(data)) != want {
		return fault.New(op, ErrInvalidArgument, "the tensor has %d bytes, the slice %d", want, len(data))
	}
	return t.copyBytes(op, unsafe.Pointer(unsafe.SliceData(data)), toTensor)
}

// copyBytes copies all bytes between a tensor in use and host memory, through a compact tensor if it has strides.
func (t *Tensor) copyBytes(op string, data unsafe.Pointer, toTensor bool) error {
	compact := t
	if !t.isCompact() {
		tmp, err := NewTensor(t.dtype(), t.dims(), CPU)
		if err != nil {
			return err
		}
		defer tmp.Close()
		compact = tmp
		if !toTensor {
			if err := tmp.copyFrom(op, t, 0); err != nil {
				return err
			}
		}
	}
	_, err := result(op, C.tvmgo_bridge_tensor_bytes(C.uintptr_t(compact.ref.obj), data, C.size_t(t.nbytes()),
		cBool(toTensor)))
	if err == nil && toTensor && compact != t {
		err = t.copyFrom(op, compact, 0)
	}
	return err
}

// copyFrom copies between tensors in use.
func (t *Tensor) copyFrom(op string, src *Tensor, stream C.uintptr_t) error {
	_, err := result(op, C.tvmgo_bridge_tensor_copy(C.uintptr_t(src.ref.obj), C.uintptr_t(t.ref.obj), stream))
	return err
}

// CopyFromTensor copies src, of the same number of bytes, into t. Between devices of one type, or with the host, the
// copy is queued on the stream (nil: the default one): call Sync before you read on the host. If one side is ordinary
// host memory, that memory is not used after the call returns.
//
// The error is ErrInvalidArgument for different sizes and for a stream of a third device type. Tensors with strides are
// copied on the CPU only, to the same shape and dtype.
func (t *Tensor) CopyFromTensor(src *Tensor, s *Stream) error {
	const op = "copy tensor"
	if err := t.use(op); err != nil {
		return err
	}
	defer t.ref.release()
	if err := src.use(op); err != nil {
		return err
	}
	defer src.ref.release()
	place, err := s.enter(op)
	if err != nil {
		return err
	}
	defer s.leave()
	if s != nil && s.dev.Type.Family() != t.device().Type.Family() &&
		s.dev.Type.Family() != src.device().Type.Family() {
		return fault.New(op, ErrInvalidArgument, "the stream is one of %v, the tensors are on %v and %v", s.dev,
			src.device(), t.device())
	}
	return t.copyFrom(op, src, place.stream)
}
