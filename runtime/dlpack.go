package runtime

/*
#include "bridge/bridge.h"
*/
import "C"

import "unsafe"

// ToDLPack returns a DLManagedTensorVersioned* that shares the tensor's memory and keeps it alive
// until its deleter is called, which the consumer does once.
func (t *Tensor) ToDLPack() (unsafe.Pointer, error) { return t.toDLPack(true) }

// ToDLPackLegacy returns a DLManagedTensor*, the form before DLPack 1.0, under the same rules.
func (t *Tensor) ToDLPackLegacy() (unsafe.Pointer, error) { return t.toDLPack(false) }

func (t *Tensor) toDLPack(versioned bool) (unsafe.Pointer, error) {
	const op = "give DLPack tensor"
	if err := t.use(op); err != nil {
		return nil, err
	}
	defer t.ref.release()
	o, err := result(op, C.tvmgo_bridge_to_dlpack(C.uintptr_t(t.ref.obj), cBool(versioned)))
	return o.pointer(), err
}

// FromDLPack takes over a DLManagedTensorVersioned*: its deleter is called when the last reference to the tensor is
// gone. If it fails, the caller still owns the tensor. The error for NULL is ErrInvalidArgument.
func FromDLPack(managed unsafe.Pointer) (*Tensor, error) { return fromDLPack(managed, true) }

// FromDLPackLegacy takes over a DLManagedTensor*, the form before DLPack 1.0.
func FromDLPackLegacy(managed unsafe.Pointer) (*Tensor, error) { return fromDLPack(managed, false) }

func fromDLPack(managed unsafe.Pointer, versioned bool) (*Tensor, error) {
	o, err := result("take DLPack tensor", C.tvmgo_bridge_from_dlpack(C.uintptr_t(uintptr(managed)), cBool(versioned)))
	if err != nil {
		return nil, err
	}
	return newTensor(o), nil
}
