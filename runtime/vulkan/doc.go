// Package vulkan is Vulkan behind the device interface: GPUs and CPUs with a Vulkan 1.1 driver that has timeline
// semaphores. Import it to enable the device "vulkan" and to load modules of kind "vulkan":
//
//	import _ "tvmgo/runtime/vulkan"
//
// It needs nothing installed to be built. The loader (libvulkan.so.1, or TVMGO_VULKAN_LIBRARY) is opened when a device
// is first asked for.
//
// Devices with a queue for compute are numbered: discrete GPUs first, then integrated ones, virtual ones, CPUs and
// others; within a kind as the loader lists them.
//
// Memory. Data of an array is a handle of this package, not an address; byte_offset says where in its buffer an array
// begins. Small arrays share blocks of the driver's memory. Memory of the device itself is taken where there is any
// (the target property memory_type tells which). Free waits for nothing: memory stays until the work that uses it is
// done; with an eighth of the heap freed and in use, the next allocation waits.
//
// Streams record commands into batches, which are submitted when somebody waits, when an event is asked for, or when
// there is much in them. With 32 batches or 64 MiB of the host's bytes in flight, queueing waits for the oldest. A copy
// to the host waits until it is done, in pieces of at most 4 MiB that overlap; one from the host takes the bytes over;
// one within a device is queued; one between two devices goes by way of the host. A device with one queue has one
// stream, the default one: others that are made are it.
//
// Work that the driver does not take is lost: the call that submits says so, and where earlier calls had queued some of
// it, so does the next one that waits for the stream. What is queued then is done as ever.
//
// Modules hold SPIR-V, a shader for each kernel. Memory arguments are storage buffers of set 0, bindings 0, 1 … in
// their order; all of them come before the scalars, each of which has 8 bytes of push constants, or of a uniform buffer
// in the binding behind the others. Pipelines are made when a kernel is first used on a device; what the driver keeps
// of them is on the disk, in TVMGO_CACHE_DIR or else in tvmgo of the user's cache ($XDG_CACHE_HOME);
// TVMGO_CACHE_DIR=off keeps nothing. What a shader needs and the device lacks is said by name before the driver sees
// it.
//
// TVM_VULKAN_ENABLE_VALIDATION_LAYERS=1 or TVMGO_VULKAN_VALIDATION=1 has the Khronos validation layer watch all calls;
// Loaded has what it said. TVM_VULKAN_DISABLE_PUSH_DESCRIPTOR=1 and TVM_VULKAN_DISABLE_DEDICATED_ALLOCATION=1 do
// without these. TVMGO_VULKAN_DEVICE_TWICE=1, for tests, opens every device twice; of the second one the data is never
// reached by the host's own hand, as on a card, and its streams share the queue where there is one.
package vulkan
