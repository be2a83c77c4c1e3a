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

// Elements returns the elements of a compact CPU tensor as a slice of its own memory: nothing is copied, and writes go
// both ways. The slice is valid while the tensor is open and reachable, so keep the tensor, for example by a deferred
// Close. Appending to the slice copies it.
//
// The error is ErrInvalidArgument for an element type other than the tensor's, for a tensor with strides, and for
// another device. CopyTo and ToSlice copy the last two.
func Elements[T dlpack.Scalar](t *Tensor) ([]T, error) {
	const op = "view elements"
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	n := t.elements()
	if err := checkSlice[T](op, t, int(n)); err != nil {
		return nil, err
	}
	p, err := t.memory(op)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return []T{}, nil
	}
	if uintptr(p)%unsafe.Alignof(*new(T)) != 0 {
		return nil, fault.New(op, ErrInvalidArgument, "the elements are not aligned for Go: use ToSlice")
	}
	return unsafe.Slice((*T)(p), n)[:n:n], nil
}

// Bytes returns the memory of a compact CPU tensor of any dtype: its elements in row-major order and the host's byte
// order, Size bytes. Nothing is copied, and writes go both ways. The slice is valid while the tensor is open and
// reachable.
//
// The error is ErrInvalidArgument for a tensor with strides and for another device; CopyToBytes copies these.
func (t *Tensor) Bytes() ([]byte, error) {
	const op = "view bytes"
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	p, err := t.memory(op)
	if err != nil {
		return nil, err
	}
	n := t.nbytes()
	if n == 0 {
		return []byte{}, nil
	}
	return unsafe.Slice((*byte)(p), n)[:n:n], nil
}

// memory returns the first element of a compact CPU tensor in use.
func (t *Tensor) memory(op string) (unsafe.Pointer, error) {
	if dev := t.device(); dev.Type != dlpack.CPU {
		return nil, fault.New(op, ErrInvalidArgument,
			"the tensor is on %v, and only memory of the CPU can be a slice: copy it, by ToSlice or CopyToBytes", dev)
	}
	if !t.isCompact() {
		return nil, fault.New(op, ErrInvalidArgument, "the tensor has strides %v: copy it, by ToSlice or CopyToBytes",
			t.strides())
	}
	return unsafe.Add(unsafe.Pointer(t.dl().data), t.dl().byte_offset), nil
}
