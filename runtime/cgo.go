package runtime

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../internal/core -I${SRCDIR}/../include
#cgo nocallback tvmgo_bridge_string
#cgo nocallback tvmgo_bridge_shape
#include "bridge/bridge.h"

static void tvmgo_go_retain(uintptr_t obj) { tvmgo_object_retain((void*)obj); }
static void tvmgo_go_release(uintptr_t obj) { tvmgo_object_release((void*)obj); }
*/
import "C"

import (
	"unsafe"

	_ "tvmgo/internal/core" // links the core
	"tvmgo/internal/raise"
	_ "tvmgo/runtime/cpu" // the device that always works
)

// object is the address of a counted object in the core: one reference, owned by whoever holds it.
type object uintptr

func (o object) retain() {
	C.tvmgo_go_retain(C.uintptr_t(o))
}

func (o object) release() {
	if o != 0 {
		C.tvmgo_go_release(C.uintptr_t(o))
	}
}

// typeIndex reads the type of a live object (docs/abi.md B.1: int32 at offset 8).
func (o object) typeIndex() int32 {
	return *(*int32)(unsafe.Add(o.pointer(), 8))
}

// pointer is the address as a pointer into C memory.
func (o object) pointer() unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&o))
}

// result turns what a bridge function returned into an object and an error.
func result(op string, r C.tvmgo_ret) (object, error) {
	if r.err != 0 {
		return 0, raise.Take(op, uintptr(r.err))
	}
	return object(r.value), nil
}

func anyResult(op string, r C.tvmgo_any_ret) (anyValue, error) {
	if r.err != 0 {
		return anyValue{}, raise.Take(op, uintptr(r.err))
	}
	return *(*anyValue)(unsafe.Pointer(&r.value)), nil
}

// cBytes is the address of a byte slice for a call; nil for an empty one.
func cBytes(b []byte) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(b))
}

// cText is the address and length of a string's bytes for a call.
func cText(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

func goText(b C.TVMFFIByteArray) string {
	if b.data == nil || b.size == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(b.data)), int(b.size)))
}

func cBool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
