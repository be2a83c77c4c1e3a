// Package runtime loads compiled modules and runs their functions.
//
// A Module comes from a file, from bytes or from an fs.FS; a Function comes from a module by name; a
// Tensor holds elements on a device:
//
//	m, err := runtime.Load(ctx, "add.so")
//	f, err := m.Function("add")
//	a, err := runtime.FromSlice([]float32{1, 2, 3})
//	b, err := runtime.NewTensor(dlpack.Float32, []int64{3}, runtime.CPU)
//	_, err = f.Call(a, b)
//
// Files exported by Apache TVM load, of the generation with the classic C ABI (up to v0.20) and of
// that with the tvm-ffi C ABI (from v0.22), and so do kernels of any other producer of these.
//
// Everything is safe for use by many goroutines at once, but for Bound and Timer, which one goroutine
// at a time uses. There is no state of a goroutine or thread: device and stream are arguments.
// Close is the contract for what is opened; the collector is only the net beneath. After Close every
// method fails with ErrClosed or returns a zero value.
//
// Devices are enabled by importing their package, for example tvmgo/runtime/cuda; the CPU is always
// there. A file with kernels of a device that is not enabled loads all the same: they are data, which
// can be saved, and looking up one of them is ErrDeviceUnavailable.
//
// Modules are also made here, to be exported into a library: NewCSource, NewStaticLibrary,
// NewDeviceSource, NewVulkanSource, NewConstants and, for kinds of which nothing is known, NewOpaque.
//
// With TVMGO_VALIDATE=1 in the environment every device is watched: copies out of bounds, memory freed
// twice, used after it was freed or freed while a copy is in flight, and memory or streams of another
// device or stream are errors that name the allocation. It costs time and keeps freed memory for a while;
// without the variable nothing of it is there.
package runtime

import _ "tvmgo/internal/needscgo"
