// Package cuda is NVIDIA's CUDA behind the device interface. Import it to enable the devices "cuda", "cuda_host" and
// "cuda_managed":
//
//	import _ "tvmgo/runtime/cuda"
//
// It is built with the tag cuda (go run tvmgo/build/env -- build -tags cuda). Without the tag, the import registers
// devices that say so. The driver (libcuda.so.1 of CUDA 11.0 or newer, or TVMGO_CUDA_LIBRARY) is opened when a device
// is first asked for; nothing else of CUDA is needed.
//
// Devices are those of the driver, in its order: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER count. Each is used through
// its primary context, which is retained at the first use and kept, so that addresses and streams of other libraries
// of the process (PyTorch, cuBLAS) can be used here, and ours there.
//
// Memory. Data of an array is a plain address: of device memory (cuda), of page-locked memory of the host (cuda_host),
// or of memory that host and device share (cuda_managed). All three go by the same index and share streams.
//
// Streams are CUstreams that don't wait for the default stream, which is the legacy one. A copy from or to ordinary
// memory of the host waits until it is done; every other copy is queued. Memory of cuda_host must therefore live, and
// stay as it is, until the stream has done a copy that uses it.
//
// Captures. Other libraries may capture graphs meanwhile, in any mode: allocating, freeing, trimming, loading and
// waiting here do their captures no harm. Freeing waits for the streams that were made here, for the default stream and
// for those that wait for it, and is put off while one of them is captured; memory of NewTensor of a stream that was
// used on a stream of another library is to be freed when that has done its work. A free that fails leaves the memory
// allocated.
//
// Modules of kind "cuda" hold PTX, a cubin, a fatbin or source. Nothing is loaded before a kernel is first used on a
// device; then the image is, once a device. Source is compiled by NVRTC (TVMGO_NVRTC says which; else it is the newest
// that the driver can run; TVMGO_NVRTC_OPTIONS has more options, with spaces between them) and kept on disk
// (TVMGO_CACHE_DIR). It is compiled for the device's architecture: as sm_90a where it uses wgmma, setmaxnreg or
// tcgen05, or as an option
// -arch says. The global function tvm_callback_cuda_compile, where there is one, compiles in its place.
//
// Closing a module unloads its code after the streams that were made here, the default stream and those that wait for
// it have done what is queued. It waits for no non-blocking stream of another library: whoever launches a kernel on one
// must wait for that stream before the last handle of the module and of its functions is closed. The same holds for
// every stream while one of the device is captured, because nothing can be waited for then, and for a graph of another
// library that holds kernels of the module.
//
// A primary context that other code of the process resets is an error that says so; Renew makes a new one.
//
// An error of a kernel that went wrong, such as an illegal address, ends the use of its device in this process: it is
// reported by the next wait on the device, and by every call after it but those that free.
package cuda

import _ "tvmgo/internal/needsheaders"
