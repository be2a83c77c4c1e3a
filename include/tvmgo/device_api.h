/* The interface between the runtime and a device: a struct of C function pointers. Fill in a struct and register it;
 * then every part of the runtime (arrays, modules, streams, timers, the command line) works with the device.
 *
 * How this ABI may change
 *   - Fields are only ever appended. Every struct begins with its size in bytes at the time of its compilation. Check
 *     struct_size before you read a field (TVMGODeviceAPIHas), so that an older device works in a newer runtime and
 *     vice versa.
 *   - An optional field that is NULL, or is beyond struct_size, means that the device does not support it.
 *
 * Conventions, unless a comment says otherwise
 *   - `api` is the table itself, so that one set of functions can serve several devices through api->self.
 *   - Every function must be safe for concurrent calls from any threads, and must not assume a current device: `dev`
 *     selects it.
 *   - The result is 0, or -1 after TVMFFIErrorSetRaisedFromCStr on the calling thread. A function that fails writes
 *     nothing to *out. No exception, exit or longjmp may leave a function.
 *   - The caller has not checked dev.device_id: for an index without a device, return an error with the number of
 *     devices. All functions must agree with kTVMGODeviceAttrExist about which indices have a device. A negative index
 *     never has one. Several indices may share memory: on the CPU all indices from 0 on do, so that code for several
 *     devices can be tested on one machine.
 *   - A stream is borrowed for the call; NULL is the device's default stream. */
#ifndef TVMGO_DEVICE_API_H_
#define TVMGO_DEVICE_API_H_

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of attributes and the types of their values. The value is None if the device does not have or report the
 * attribute. Except for Exist and AvailableGlobalMemory, integers are positive. */
typedef enum {
  kTVMGODeviceAttrExist = 0,                    /* int: 1 if the device exists and is usable; never fails */
  kTVMGODeviceAttrMaxThreadsPerBlock = 1,       /* int */
  kTVMGODeviceAttrWarpSize = 2,                 /* int */
  kTVMGODeviceAttrMaxSharedMemoryPerBlock = 3,  /* int, bytes */
  kTVMGODeviceAttrComputeVersion = 4,           /* str, "9.0" */
  kTVMGODeviceAttrDeviceName = 5,               /* str */
  kTVMGODeviceAttrMaxClockRate = 6,             /* int, kHz */
  kTVMGODeviceAttrMultiProcessorCount = 7,      /* int */
  kTVMGODeviceAttrMaxThreadDimensions = 8,      /* str, "[1024, 1024, 64]" */
  kTVMGODeviceAttrMaxRegistersPerBlock = 9,     /* int */
  kTVMGODeviceAttrGcnArch = 10,                 /* str */
  kTVMGODeviceAttrApiVersion = 11,              /* int */
  kTVMGODeviceAttrDriverVersion = 12,           /* str */
  kTVMGODeviceAttrL2CacheSizeBytes = 13,        /* int */
  kTVMGODeviceAttrTotalGlobalMemory = 14,       /* int, bytes */
  kTVMGODeviceAttrAvailableGlobalMemory = 15,   /* int, bytes */
  kTVMGODeviceAttrImagePitchAlignment = 16      /* int */
} TVMGODeviceAttr;

/* Memory of a device, in bytes unless noted. -1 means unknown. */
typedef struct TVMGOMemoryStats {
  size_t struct_size;            /* set by the caller; the device writes no field beyond it */
  int64_t total_bytes;           /* of the device */
  int64_t free_bytes;            /* available to all processes together */
  int64_t data_bytes;            /* data space that is allocated at present */
  int64_t data_peak_bytes;       /* the maximum of data_bytes so far */
  int64_t data_count;            /* number of allocations in data_bytes; 0 if and only if that is 0 */
  int64_t workspace_bytes;       /* held for workspaces, in use or idle */
  int64_t workspace_in_use_bytes;
  int64_t pinned_bytes;          /* page-locked host memory of this device */
} TVMGOMemoryStats;

typedef struct TVMGODeviceAPI TVMGODeviceAPI;
struct TVMGODeviceAPI {
  size_t struct_size; /* sizeof(TVMGODeviceAPI) */
  void* self;         /* for the device; the runtime does not use it */

  /* ---- mandatory ---- */

  /* Makes a device the calling thread's current device, in APIs with this notion; otherwise checks that it exists. */
  int (*set_device)(const TVMGODeviceAPI* api, int32_t id);

  /* *out is an owned value (TVMGODeviceAttr has its type); None, without an error, if there is none, or if the
   * kind is not in the enum. For kTVMGODeviceAttrExist it should not start the device. */
  int (*get_attr)(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out);

  /* *out is memory that the caller frees with free_data_space; uninitialised, aligned to `alignment` bytes (a power of
   * two). Every device supports up to 256; beyond its limit, it fails with an error that states the limit. (The CPU has
   * none.) hint is the type of the elements. nbytes may be 0: the address can be freed. Fails if memory is
   * exhausted. */
  int (*alloc_data_space)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                          void** out);

  /* Frees memory after the work that is already queued on any stream. p is never NULL. Fails for a workspace: that is
   * freed by free_workspace, or by TVMBackendFreeWorkspace for devices without workspace functions. Those two
   * fail for data space. */
  int (*free_data_space)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* Queues a copy on `stream`. One side is this device. The other is a device of this type (with another index: a peer
   * copy), host memory, or another memory of the same hardware (cuda, cuda_host, cuda_managed). For a peer copy, the
   * stream may belong to either side; NULL is the default stream of the source. The copy is complete when the work of
   * that stream is. Both tensors are contiguous and have the same size; byte_offset applies. The caller may free CPU
   * memory, page-locked or not, when the call returns: copy it first, or wait. Memory of a host type of the hardware
   * (cuda_host) remains valid until the stream has executed the copy. */
  int (*copy_data_from_to)(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to,
                           TVMFFIStreamHandle stream);

  /* Waits until all work on the stream is complete. Fails with the error of that work, if there was one. */
  int (*stream_sync)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* ---- streams: all or none ---- */

  /* *out is owned by the caller; NULL if the device has only one queue. */
  int (*create_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out);

  /* Frees a stream after its work is done. Never called with NULL. */
  int (*free_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Notifies the device of a new current stream of the calling thread. The runtime stores the value itself. */
  int (*set_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Makes later work on dst wait for the work that is now queued on src. Does not block. */
  int (*sync_stream_from_to)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst);

  /* ---- workspaces: both or none; without them the runtime keeps a pool of data space ----
   * The pool is notified when streams are created, freed and synchronized through the runtime. Before it reuses memory
   * that was freed on another stream, it waits for an event, if the device has events. */

  /* Temporary memory, aligned to at least 64 bytes, for work on this stream. Two streams never use the same memory at
   * the same time. */
  int (*alloc_workspace)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, DLDataType hint,
                         TVMFFIStreamHandle stream, void** out);

  /* Frees a workspace. Queued work may still use it: until that is complete, only later work of the same stream may get
   * the memory. */
  int (*free_workspace)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* ---- storage scopes ---- */

  /* Memory for an array in a scope ("global.texture"); scope is never NULL or "global". Freed with free_data_space.
   * Fails for a scope that the device does not have; the error lists its scopes. */
  int (*alloc_data_space_with_scope)(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape,
                                     DLDataType dtype, const char* scope, void** out);

  /* ---- timers: all or none; one thread at a time per timer ---- */

  /* *timer is freed with timer_free. start and stop queue events on the stream and do not block. */
  int (*timer_create)(const TVMGODeviceAPI* api, DLDevice dev, void** timer);
  int (*timer_start)(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);
  int (*timer_stop)(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);

  /* Waits for the stop event; *ns is the time between the events, measured by the device. Fails before stop. */
  int (*timer_elapsed_ns)(const TVMGODeviceAPI* api, void* timer, int64_t* ns);
  int (*timer_free)(const TVMGODeviceAPI* api, void* timer);

  /* ---- memory ---- */

  /* Writes the fields of *out within out->struct_size. */
  int (*memory_stats)(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out);

  /* Page-locked host memory, which this device copies without an intermediate buffer; only pinned_free frees it. Both
   * or none. */
  int (*pinned_alloc)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, void** out);
  int (*pinned_free)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* ---- events: all or none ---- */

  /* *event is freed with event_free, also while work before the event is still queued. */
  int (*event_create)(const TVMGODeviceAPI* api, DLDevice dev, void** event);

  /* Queues the event; a second record replaces the first. */
  int (*event_record)(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);

  /* Makes a stream wait for the event; does not block. Does nothing if the event was never recorded. */
  int (*event_wait)(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);

  /* Waits for the event on the calling thread. */
  int (*event_sync)(const TVMGODeviceAPI* api, void* event);

  /* *done is 1 if all work before the event is complete, else 0; does not block. */
  int (*event_query)(const TVMGODeviceAPI* api, void* event, int32_t* done);
  int (*event_free)(const TVMGODeviceAPI* api, void* event);

  /* ---- properties ---- */

  /* *out is an owned value: the limit or feature of the device with the name of a target option; None if it is
   * unknown. */
  int (*target_property)(const TVMGODeviceAPI* api, int32_t id, const char* name, TVMFFIAny* out);

  /* ---- stream-ordered memory: both or none ---- */

  /* Like alloc_data_space, for work that is queued on `stream` from now on; other streams may use the memory after they
   * have waited for this one. It is fast, because freed memory is reused without waiting. free_data_space can free the
   * memory, too. */
  int (*alloc_on_stream)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                         TVMFFIStreamHandle stream, void** out);

  /* Frees memory of alloc_on_stream after the work that is now queued on `stream`; does not block. */
  int (*free_on_stream)(const TVMGODeviceAPI* api, DLDevice dev, void* p, TVMFFIStreamHandle stream);

  /* ---- graphs: all or none ---- */

  /* Records the work that is queued on the stream from now on instead of executing it. Fails for the default stream if
   * that cannot be recorded, and for a stream that is already recording. The same thread has to call capture_end. Until
   * then all other functions work as usual, also on this thread and for other streams: the program may allocate and
   * free memory, queue copies, and wait for them. On this stream a copy with pageable host memory may fail. */
  int (*capture_begin)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Ends the recording; *graph can be launched, and is freed with graph_free. If graph is NULL, the recording is
   * discarded. In every case, even after a failure, the stream executes its work again. */
  int (*capture_end)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream, void** graph);

  /* Queues the recorded work on a stream in its order. The memory that it uses must still be allocated. */
  int (*graph_launch)(const TVMGODeviceAPI* api, DLDevice dev, void* graph, TVMFFIStreamHandle stream);

  /* May be called while a launch is still queued. */
  int (*graph_free)(const TVMGODeviceAPI* api, DLDevice dev, void* graph);

  /* ---- streams with priorities: both or none ---- */

  /* *least is the priority of the least urgent streams, *greatest that of the most urgent streams; greatest <= least.
   * They are equal if there is only one priority. */
  int (*stream_priority_range)(const TVMGODeviceAPI* api, DLDevice dev, int32_t* least, int32_t* greatest);

  /* Like create_stream; fails if the priority is out of range. If work of two streams can begin, that of the more
   * urgent stream begins first. */
  int (*create_stream_with_priority)(const TVMGODeviceAPI* api, DLDevice dev, int32_t priority,
                                     TVMFFIStreamHandle* out);
};

/* Whether a table has a field that is not NULL: TVMGODeviceAPIHas(api, create_stream). */
#define TVMGODeviceAPIHas(api, field)                                                               \
  ((api)->struct_size >= offsetof(TVMGODeviceAPI, field) + sizeof((api)->field) && (api)->field != NULL)

/* The registration of a device type. */
typedef struct TVMGODeviceSpec {
  size_t struct_size;         /* sizeof(TVMGODeviceSpec) */
  int32_t device_type;        /* a DLPack number, or a free n with kDLExtDev < n < 36 */
  const char* name;           /* "cuda": lower case, letters, digits and '_' */
  const char* const* aliases; /* other names, NULL-terminated; NULL for none */
  const TVMGODeviceAPI* api;  /* the table, valid until the process ends; NULL if create makes it */

  /* Makes the table on first use of the device. One thread calls it, others wait. If it fails, that caller gets the
   * error, and the next use calls it again. The table must be valid until the process ends. */
  int (*create)(void* ctx, const TVMGODeviceAPI** out);
  void* ctx; /* passed to create */
} TVMGODeviceSpec;

/* Registers a device type until the process ends. *spec and its strings are copied, the table is not. Fails if the
 * number or a name exists already or is invalid, or if a mandatory function is missing. */
TVM_FFI_DLL int TVMGODeviceAPIRegister(const TVMGODeviceSpec* spec);

/* The table of a device type, which is made on first use; borrowed, valid for the life of the process. If there is none
 * and allow_missing is not 0, *out is NULL without an error; otherwise the error lists the registered types. */
TVM_FFI_DLL int TVMGODeviceAPIGet(int32_t device_type, int32_t allow_missing, const TVMGODeviceAPI** out);

/* The name of a device type, such as "cuda" for kDLCUDA, as in TVM's table MASK2STR. Known and registered numbers have
 * names, whether or not the device is enabled. The types of remote devices have the name "rpc"; for any other number
 * the result is NULL. The string is valid until the process ends. */
TVM_FFI_DLL const char* tvmgo_device_name(int32_t device_type);

/* The device type of a name, as in TVM's table STR2MASK. Aliases ("cl", "llvm", "nvptx") are names, too. A space and
 * everything after it are ignored, so that "llvm -mcpu=native" is 1. -1, without an error, if there is none or name is
 * NULL. */
TVM_FFI_DLL int32_t tvmgo_device_type(const char* name);

#ifdef __cplusplus
}
#endif
#endif /* TVMGO_DEVICE_API_H_ */
