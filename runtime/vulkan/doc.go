// Package vulkan implements the device interface with Vulkan. Its devices are GPUs and CPUs with a driver of Vulkan 1.1
// or newer that supports timeline semaphores. Import it to enable the device "vulkan" and to load modules of kind
// "vulkan":
//
//	import _ "tvmgo/runtime/vulkan"
//
// Building it needs no installed libraries or headers. The loader (libvulkan.so.1, or TVMGO_VULKAN_LIBRARY) is opened
// when a device is first used.
//
// Devices with a compute queue are numbered: discrete GPUs first, then integrated GPUs, virtual GPUs, CPUs and others.
// Devices of the same type are in the loader's order.
//
// Memory. The data pointer of an array is a handle of this package, not an address; byte_offset is where the array
// begins in its buffer. Small arrays share blocks of device memory. Arrays are in device-local memory if the device has
// any (the target property memory_type says which memory type is used). Freeing an array does not wait: its memory is
// released when the commands that use it are done. If an eighth of the heap is freed but still in use, the next
// allocation waits.
//
// Streams record commands into batches. A batch is submitted when a caller waits for it or queries an event, or when it
// is large. If 32 batches, or batches with 64 MiB of data from the host, are in flight, recording waits for the oldest
// batch. A copy to host memory waits until it is done; it consists of chunks of at most 4 MiB that overlap in time. A
// copy from host memory has read all bytes when it returns. A copy within a device is enqueued. A copy between two
// devices goes through host memory. On a device with a single queue, all streams are the default stream.
//
// If the driver rejects a submission, the batch's commands are lost. The call that submitted the batch returns an
// error. If earlier calls had enqueued some of the commands, the next call that waits for the stream also returns an
// error. Commands that are enqueued afterwards run as usual.
//
// Modules contain SPIR-V, one shader for each kernel. Memory arguments are storage buffers in set 0, with the bindings
// 0, 1 … in their order. They precede the scalars. Each scalar has 8 bytes in the push constants, or in a uniform
// buffer whose binding follows the storage buffers. A pipeline is created when a kernel is first used on a device. The
// driver's pipeline cache is stored on disk: in TVMGO_CACHE_DIR, or by default in the folder tvmgo of the user's cache
// directory ($XDG_CACHE_HOME). TVMGO_CACHE_DIR=off disables it. If a shader needs a feature that the device does not
// have, the launch fails with the feature's name, and the driver never gets the shader.
//
// TVM_VULKAN_ENABLE_VALIDATION_LAYERS=1 or TVMGO_VULKAN_VALIDATION=1 enables the Khronos validation layer; Loaded
// returns its messages. TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1 and TVM_VULKAN_DISABLE_DEDICATED_ALLOCATION=1 disable the
// use of these features. TVMGO_VULKAN_DEVICE_TWICE=1 is for tests and opens every device twice. The host never accesses
// the memory of the second one directly, as if it were not host-visible, and it has several streams even if there is
// only one queue.
package vulkan
