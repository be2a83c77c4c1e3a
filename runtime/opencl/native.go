//go:build opencl

package opencl

/*
#include "gobridge.h"
*/
import "C"

import (
	goruntime "runtime"

	"tvmgo/dlpack"
	"tvmgo/internal/kernels"
	"tvmgo/runtime"
)

func init() { runtime.RegisterNativeObjects(dlpack.OpenCL, native{}) }

// native gives cl_mem and cl_command_queue to libraries such as CLBlast.
type native struct{}

func (native) Buffer(t *runtime.Tensor) (uintptr, error) {
	if t.Device().Type != dlpack.OpenCL {
		return 0, runtime.Errorf(runtime.ErrInvalidArgument, "buffer of a tensor on %v: want a tensor on OpenCL", t.Device())
	}
	defer goruntime.KeepAlive(t)
	goruntime.LockOSThread() // to which a raised error belongs
	defer goruntime.UnlockOSThread()
	if mem := C.tvmgo_cl_native_buffer(C.uintptr_t(t.Data())); mem != 0 {
		return uintptr(mem), nil
	}
	return 0, kernels.Raised()
}

func (native) Queue(dev dlpack.Device, s *runtime.Stream) (uintptr, error) {
	if dev.Type != dlpack.OpenCL || !runtime.DeviceExists(dev) {
		return 0, unavailable("queue of %v: there is no such OpenCL device", dev)
	}
	var stream uintptr
	if s != nil {
		if stream = s.Handle(); stream == 0 {
			return 0, runtime.Errorf(runtime.ErrInvalidArgument, "queue of a stream of %v: it is closed", dev)
		}
	}
	defer goruntime.KeepAlive(s)
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if q := C.tvmgo_cl_native_queue(C.int32_t(dev.ID), C.uintptr_t(stream)); q != 0 {
		return uintptr(q), nil
	}
	return 0, kernels.Raised()
}
