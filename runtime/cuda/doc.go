// Package cuda implements the device interface with NVIDIA's CUDA driver. Import it to enable the devices "cuda",
// "cuda_host" and "cuda_managed":
//
//	import _ "tvmgo/runtime/cuda"
//
// It is built with the tag cuda (go run tvmgo/build/env -- build -tags cuda). Without the tag, the import registers
// devices whose errors explain how to build them. The driver (libcuda.so.1 of CUDA 11.0 or newer, or
// TVMGO_CUDA_LIBRARY) is opened when a device is first used. No other part of CUDA needs to be installed.
//
// Devices have the driver's order, which CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER can change. Each device is used
// through its primary context, which is retained at the first use and never released. So this package and other
// libraries of the process (PyTorch, cuBLAS) can use each other's memory and streams.
//
// Memory. The data pointer of an array is an address: in device memory (cuda), in page-locked host memory (cuda_host),
// or in managed memory, which host and device share (cuda_managed). A device has the same index for all three, and they
// share streams.
//
// Streams are non-blocking CUstreams, which do not wait for the default stream. The default stream is the legacy one. A
// copy from or to ordinary host memory waits until it is done; every other copy is enqueued. So memory of cuda_host
// must not be freed or changed before the copies that use it are done.
//
// Captures. Other libraries may capture graphs at the same time, in any mode: allocating, freeing, trimming, loading
// and waiting in this package do not affect their captures. Freeing waits for the streams of this package, the default
// stream and blocking streams; while one of them captures, the memory is freed later. Memory from Stream.NewTensor that
// was used on a stream of another library may be freed only after that work is done. If freeing fails, the memory stays
// allocated.
//
// Modules of kind "cuda" contain PTX, a cubin, a fatbin or source. The image is loaded on a device when one of its
// kernels is first used there. NVRTC compiles source; TVMGO_NVRTC selects the library, by default the newest one that
// the driver supports, and TVMGO_NVRTC_OPTIONS has more options, separated by spaces. The result is cached on disk
// (TVMGO_CACHE_DIR). Source is compiled for the device's architecture: as sm_90a if it uses wgmma, setmaxnreg or
// tcgen05, or for the architecture of the option -arch. If the global function tvm_callback_cuda_compile is registered,
// it is used instead of NVRTC.
//
// Closing a module waits for the streams of this package, the default stream and blocking streams, and then unloads its
// code. It does not wait for non-blocking streams of other libraries: a program that launches a kernel on such a stream
// must wait for the stream before it closes the module and its functions. It must also wait for launches of graphs of
// other libraries that contain kernels of the module. While a stream of the device captures, closing does not wait for
// any stream, so the program must wait for all of them first.
//
// If other code of the process resets a primary context, calls return an error that says so; Renew creates a new
// context.
//
// After a kernel fails, for example with an illegal address, this process cannot use the device any more. The next wait
// on the device returns the error, and so do all later calls except those that free.
package cuda

import _ "tvmgo/internal/needsheaders"
