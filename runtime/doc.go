// Package runtime loads compiled modules and runs their functions.
//
// A Module comes from a file, from bytes or from an fs.FS; a Function comes from a module by name; a Tensor holds
// elements on a device:
//
//	m, err := runtime.Load(ctx, "add.so")
//	f, err := m.Function("add")
//	a, err := runtime.FromSlice([]float32{1, 2, 3})
//	b, err := runtime.NewTensor(dlpack.Float32, []int64{3}, runtime.CPU)
//	_, err = f.Call(a, b)
//
// It loads the files that Apache TVM exports, with the classic C ABI (up to v0.20) and with the tvm-ffi C ABI (from
// v0.22), and libraries for these ABIs from any other producer.
//
// Everything is safe for use by many goroutines at once, except Bound and Timer, which only one goroutine at a time may
// use. There is no state per goroutine or thread: devices and streams are arguments. Close what you open; the collector
// closes what you forgot, but later. After Close, every method fails with ErrClosed or returns a zero value.
//
// Devices are enabled by importing their package, for example tvmgo/runtime/cuda; the CPU is always enabled. A file
// with kernels for a device that is not enabled still loads: its kernels are data that can be saved, and looking one up
// fails with ErrDeviceUnavailable.
//
// Modules to be exported into a library are made here too: NewCSource, NewStaticLibrary, NewDeviceSource,
// NewVulkanSource, NewConstants and, for kinds that this package does not know, NewOpaque.
//
// With TVMGO_VALIDATE=1 in the environment, the use of every device is checked. Copies out of bounds, double frees,
// uses after free, memory freed while a copy is in flight, and a wrong device or stream become errors that name the
// allocation. It costs time, and keeps freed memory for a while. Without the variable it costs nothing. With it, calls
// from C are checked, too, as those from Go always are.
package runtime

import _ "tvmgo/internal/needscgo"
