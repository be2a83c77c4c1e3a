package gputest

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -fvisibility=hidden -I${SRCDIR}/../../core -I${SRCDIR}/../../../include
#include "core.h"

static DLDevice device(int32_t type, int32_t id) {
  DLDevice d = {(DLDeviceType)type, id};
  return d;
}

static int data_alloc(int32_t type, int32_t id, size_t nbytes, uintptr_t* out) {
  const TVMGODeviceAPI* api = tvmgo_device_api(type);
  void* p = NULL;
  int rc = api == NULL ? -1 : api->alloc_data_space(api, device(type, id), nbytes, 64, (DLDataType){kDLUInt, 8, 1}, &p);
  *out = (uintptr_t)p;
  return rc;
}

static int data_free(int32_t type, int32_t id, uintptr_t p) {
  const TVMGODeviceAPI* api = tvmgo_device_api(type);
  return api == NULL ? -1 : api->free_data_space(api, device(type, id), (void*)p);
}
*/
import "C"

import (
	"runtime"

	"tvmgo/dlpack"
	"tvmgo/internal/kernels"
)

// raised calls a C function and returns the error that it raised on this thread.
func raised(f func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if f() == 0 {
		return nil
	}
	return kernels.Raised()
}

// Alloc allocates device memory through the device's function table, without a tensor.
func Alloc(dev dlpack.Device, nbytes int) (at uintptr, err error) {
	var p C.uintptr_t
	err = raised(func() C.int { return C.data_alloc(C.int32_t(dev.Type), C.int32_t(dev.ID), C.size_t(nbytes), &p) })
	return uintptr(p), err
}

// Free frees device memory through the device's function table. Unlike the end of a tensor, it returns the error.
func Free(dev dlpack.Device, at uintptr) error {
	return raised(func() C.int { return C.data_free(C.int32_t(dev.Type), C.int32_t(dev.ID), C.uintptr_t(at)) })
}
