/* A device as the runtime sees it: a struct of C function pointers. Fill one in and register it, and every part of the
 * runtime (arrays, modules, streams, timers, the command line) works with the hardware behind it.
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
 *   - 0, or -1 after TVMFFIErrorSetRaisedFromCStr on the calling thread. Nothing is written to *out on failure.
 *     No exception, exit or longjmp may leave a function.
 *   - dev.device_id was not checked: for an index without a device, return an error with the number of devices. An
 *     index has a device if kTVMGODeviceAttrExist is 1, in every function. A negative index never has one. Several
 *     indices may have the same memory: on the CPU all indices from 0 on do, so that code for several devices can be
 *     tested on one machine.
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

/* Kinds of attributes, with the type of the value. The value is None if the device does not have or know it, never 0:
 * except for Exist and AvailableGlobalMemory, integers are positive. */
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

/* Memory of a device, in bytes unless noted. -1: unknown. */
typedef struct TVMGOMemoryStats {
  size_t struct_size;            /* set by the caller; the device fills no field beyond it */
  int64_t total_bytes;           /* of the device */
  int64_t free_bytes;            /* left for every process together */
  int64_t data_bytes;            /* data space that is allocated now */
  int64_t data_peak_bytes;       /* the most that data_bytes ever was */
  int64_t data_count;            /* allocations behind data_bytes: 0 when and only when that is 0 */
  int64_t workspace_bytes;       /* held for workspaces, in use or idle */
  int64_t workspace_in_use_bytes;
  int64_t pinned_bytes;          /* page-locked host memory made by this device */
} TVMGOMemoryStats;

typedef struct TVMGODeviceAPI TVMGODeviceAPI;
struct TVMGODeviceAPI {
  size_t struct_size; /* sizeof(TVMGODeviceAPI) */
  void* self;         /* the device's own; the runtime never touches it */

  /* ---- mandatory ---- */

  /* Makes a device the calling thread's current device, in APIs with this notion; otherwise checks that it exists. */
  int (*set_device)(const TVMGODeviceAPI* api, int32_t id);

  /* *out is an owned value (TVMGODeviceAttr has its type); None, without an error, if there is none, and for a kind
   * beyond the enum. Should not start the device for kTVMGODeviceAttrExist. */
  int (*get_attr)(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out);

  /* *out is memory that the caller frees with free_data_space; uninitialised, aligned to `alignment` bytes (a power of
   * two). Every device supports up to 256; beyond its limit, it fails with an error that states the limit. (The CPU has
   * none.) hint is the type of the elements. nbytes may be 0: the address can be freed. Fails if memory is
   * exhausted. */
  int (*alloc_data_space)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                          void** out);

  /* Frees it after the work that is already queued on any stream. p is never NULL. Fails for a workspace, which only
   * free_workspace frees, or TVMBackendFreeWorkspace for devices without workspace functions; those fail for data
   * space. */
  int (*free_data_space)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* Queues a copy on `stream`. One side is this device; the other this type (another index included: a peer copy), host
   * memory, or another memory of the same hardware (cuda, cuda_host, cuda_managed). For a peer copy, the stream may
   * belong to either side; NULL is the source's default stream. The copy is complete when that stream is. Both tensors
   * are contiguous and of the same size; byte_offset applies. CPU memory, page-locked or not, may be freed when the
   * call returns: stage it or wait. Memory of a host type of the hardware (cuda_host) stays until the stream is
   * done. */
  int (*copy_data_from_to)(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to,
                           TVMFFIStreamHandle stream);

  /* Waits until all work on the stream is done and fails with that work's error, if it had one. */
  int (*stream_sync)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* ---- streams: all or none ---- */

  /* *out is owned by the caller; NULL if the device has only one queue. */
  int (*create_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out);

  /* Frees a stream after its work is done. Never called with NULL. */
  int (*free_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Tells that the calling thread's current stream is another one now; the runtime keeps the value itself. */
  int (*set_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Makes dst wait for the work that is queued on src now. Does not block. */
  int (*sync_stream_from_to)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst);

  /* ---- workspaces: both or none; without them the runtime keeps its own pool over the data space ----
   * The pool is notified when streams are created, freed and synchronized through the runtime. Before it reuses memory
   * that was freed on another stream, it waits for an event, if the device has events. */

  /* Scratch memory, at least 64-byte aligned, for work on this stream. Two streams never share bytes at one time. */
  int (*alloc_workspace)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, DLDataType hint,
                         TVMFFIStreamHandle stream, void** out);

  /* Frees it while work that uses it may still be queued: until that is done, only later work of the same stream may
   * get it. */
  int (*free_workspace)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* ---- storage scopes ---- */

  /* Memory for an array in a scope ("global.texture"); scope is never NULL or "global". Freed with free_data_space.
   * Fails on a scope the device lacks, naming those it has. */
  int (*alloc_data_space_with_scope)(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape,
                                     DLDataType dtype, const char* scope, void** out);

  /* ---- timers: all or none; one thread at a time per timer ---- */

  /* *timer is freed with timer_free. start and stop queue events on the stream and do not block. */
  int (*timer_create)(const TVMGODeviceAPI* api, DLDevice dev, void** timer);
  int (*timer_start)(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);
  int (*timer_stop)(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);

  /* Waits for the stop event; *ns is the device's time between the events. Fails before stop. */
  int (*timer_elapsed_ns)(const TVMGODeviceAPI* api, void* timer, int64_t* ns);
  int (*timer_free)(const TVMGODeviceAPI* api, void* timer);

  /* ---- memory ---- */

  /* Fills the fields of *out within out->struct_size. */
  int (*memory_stats)(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out);

  /* Page-locked host memory that copies of this device use without staging; freed by pinned_free only. Both or none. */
  int (*pinned_alloc)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, void** out);
  int (*pinned_free)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* ---- events: all or none ---- */

  /* *event is freed with event_free, which may be called before the event is reached. */
  int (*event_create)(const TVMGODeviceAPI* api, DLDevice dev, void** event);

  /* Queues the event; a second record replaces the first. */
  int (*event_record)(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);

  /* Makes a stream wait for the event; does not block. Without a record there is nothing to wait for. */
  int (*event_wait)(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);

  /* Waits for the event on the calling thread. */
  int (*event_sync)(const TVMGODeviceAPI* api, void* event);

  /* *done is 1 if the event was reached, else 0; does not block. */
  int (*event_query)(const TVMGODeviceAPI* api, void* event, int32_t* done);
  int (*event_free)(const TVMGODeviceAPI* api, void* event);

  /* ---- properties ---- */

  /* *out is an owned value: the device's limit or feature under the name that the target option has; None when
   * unknown. */
  int (*target_property)(const TVMGODeviceAPI* api, int32_t id, const char* name, TVMFFIAny* out);

  /* ---- stream-ordered memory: both or none ---- */

  /* As alloc_data_space, for work that is queued on `stream` from now on; other streams may use it after they have
   * waited for this one. Cheap: freed memory is reused without waiting. free_data_space frees it, too. */
  int (*alloc_on_stream)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                         TVMFFIStreamHandle stream, void** out);

  /* Frees memory of alloc_on_stream after the work that is queued on `stream` now; does not block. */
  int (*free_on_stream)(const TVMGODeviceAPI* api, DLDevice dev, void* p, TVMFFIStreamHandle stream);

  /* ---- graphs: all or none ---- */

  /* Records the work that is queued on the stream from now on instead of executing it. Fails for the default stream if
   * that cannot be recorded, and for a stream that is already recording. capture_end follows on the same thread. Until
   * then all other functions work as usual, for other streams and on this thread, too: memory may be allocated and
   * freed, copies queued and waited for. On this stream a copy with pageable host memory may fail. */
  int (*capture_begin)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Ends the recording; *graph can be launched, and is freed with graph_free. If graph is NULL, the recording is
   * discarded. In every case, even after a failure, the stream executes its work again. */
  int (*capture_end)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream, void** graph);

  /* Queues all that was recorded, in its order, on a stream. The memory that it uses must be there still. */
  int (*graph_launch)(const TVMGODeviceAPI* api, DLDevice dev, void* graph, TVMFFIStreamHandle stream);

  /* May be called while a launch is still queued. */
  int (*graph_free)(const TVMGODeviceAPI* api, DLDevice dev, void* graph);

  /* ---- streams with priorities: both or none ---- */

  /* *least is the priority of the least urgent streams, *greatest of the most urgent; greatest <= least; they are equal
   * if there is only one priority. */
  int (*stream_priority_range)(const TVMGODeviceAPI* api, DLDevice dev, int32_t* least, int32_t* greatest);

  /* As create_stream; fails on a priority out of range. Work of more urgent streams begins first where both could. */
  int (*create_stream_with_priority)(const TVMGODeviceAPI* api, DLDevice dev, int32_t priority,
      TVMFFIStreamHandle* out);
};

/* Whether a table has a field and has it filled in: TVMGODeviceAPIHas(api, create_stream). */
#define TVMGODeviceAPIHas(api, field)                                                               \
  ((api)->struct_size >= offsetof(TVMGODeviceAPI, field) + sizeof((api)->field) && (api)->field != NULL)

/* The registration of a device type. */
typedef struct TVMGODeviceSpec {
  size_t struct_size;         /* sizeof(TVMGODeviceSpec) */
  int32_t device_type;        /* a DLPack number, or a free n with kDLExtDev < n < 36 */
  const char* name;           /* "cuda": lower case, letters, digits and '_' */
  const char* const* aliases; /* other names, NULL-terminated; NULL for none */
  const TVMGODeviceAPI* api;  /* the table, or NULL when create makes it; lives as long as the process */

  /* Makes the table on first use of the device, at most once successfully: one thread calls it, others wait.
   * A failure is reported to that caller and tried again by the next. The table lives as long as the process. */
  int (*create)(void* ctx, const TVMGODeviceAPI** out);
  void* ctx; /* passed to create */
} TVMGODeviceSpec;

/* Registers a device type for the life of the process. *spec and its texts are copied,
 * the table is not. Fails when the number or a name is taken or out of range, or a mandatory function is missing. */
TVM_FFI_DLL int TVMGODeviceAPIRegister(const TVMGODeviceSpec* spec);

/* The table of a device type, which is made on first use; borrowed, valid for the life of the process. If there is none
 * and allow_missing is not 0, *out is NULL without an error; otherwise the error lists the registered types. */
TVM_FFI_DLL int TVMGODeviceAPIGet(int32_t device_type, int32_t allow_missing, const TVMGODeviceAPI** out);

/* The name of a device type, "cuda" for kDLCUDA, as in TVM's table MASK2STR: of the known numbers, whether or not the
 * device is enabled here, and of those that were registered. "rpc" for the types of remote devices, NULL for any other
 * number. The text lives as long as the process. */
TVM_FFI_DLL const char* tvmgo_device_name(int32_t device_type);

/* The device type of a name, as in TVM's table STR2MASK: aliases ("cl", "llvm", "nvptx") are names too, and text from a
 * space on is ignored, so that "llvm -mcpu=native" is 1. -1 when there is none, or name is NULL; no error is raised. */
TVM_FFI_DLL int32_t tvmgo_device_type(const char* name);

#ifdef __cplusplus
}
#endif
#endif /* TVMGO_DEVICE_API_H_ */
