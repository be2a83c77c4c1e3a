package runtime

import (
	"sync"

	"tvmgo/dlpack"
)

// NativeObjects returns objects of a driver's API for another library that uses the same driver. They stay owned by the
// runtime, and are valid while the tensor or the stream is open. Use them from one goroutine at a time.
type NativeObjects interface {
	// Buffer returns the memory object of a tensor of the device, for OpenCL its cl_mem. The tensor begins
	// Tensor.ByteOffset bytes behind the start of it.
	Buffer(t *Tensor) (uintptr, error)
	// Queue returns the queue of a stream, for OpenCL its cl_command_queue; nil is the default stream.
	Queue(dev dlpack.Device, s *Stream) (uintptr, error)
}

var nativeObjects sync.Map // dlpack.DeviceType → NativeObjects

// RegisterNativeObjects sets how the objects of a type of device are found. The device's package calls it.
func RegisterNativeObjects(t dlpack.DeviceType, n NativeObjects) { nativeObjects.Store(t, n) }

// NativeObjectsOf returns the objects of a type of device; false if its handles are those of the API already, as for
// CUDA, or if it has none.
func NativeObjectsOf(t dlpack.DeviceType) (NativeObjects, bool) {
	n, ok := nativeObjects.Load(t)
	if !ok {
		return nil, false
	}
	return n.(NativeObjects), true
}
