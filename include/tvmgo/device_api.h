/* A device as the runtime sees it: a struct of C function pointers. Fill one in and register it, and every part of the
 * runtime (arrays, modules, streams, timers, the command line) works with the hardware behind it.
 *
 * How this ABI may change
 *   - Fields are only ever appended. Every struct begins with its size in bytes as its maker compiled it: who reads a
 *     field checks struct_size first (TVMGODeviceAPIHas), so that an older device works in a newer runtime and the
 *     other way round.
 *   - An optional field that is NULL, or lies beyond struct_size, means "this device has no such thing".
 *
 * Conventions, unless a comment says otherwise
 *   - `api` is the table itself, so that one set of functions can serve several devices through api->self.
 *   - Every function may be called by any thread, several at a time, and must not assume a current device: `dev` says
 *     it.
 *   - 0, or -1 after TVMFFIErrorSetRaisedFromCStr on the calling thread. Nothing is written to *out on failure.
 *     No exception, exit or longjmp may leave a function.
 *   - dev.device_id was not checked: an index without a device is an error that tells how many there are. An index has
 *     a device when kTVMGODeviceAttrExist says so, for every function alike. An index below 0 never has one. Several
 *     indices may mean one and the same memory: of the CPU all from 0 on do, so that code for several devices can be
 *     tried on one machine.
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

/* Kinds of attributes, with the type of the answer. A device answers None to what it does not have or know, never 0:
 * but for Exist and AvailableGlobalMemory, an integer is more than 0. */
typedef enum {
  kTVMGODeviceAttrExist = 0,                    /* int: 1 when the device is there and usable; never fails */
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

/* Memory of one device; bytes unless said. -1 where the device cannot tell. */
typedef struct TVMGOMemoryStats {
  size_t struct_size;            /* set by the caller; the device fills no field beyond it */
  int64_t total_bytes;           /* of the device */
  int64_t free_bytes;            /* left for every process together */
  int64_t data_bytes;            /* data space that is allocated now */
  int64_t data_peak_bytes;       /* the most that data_bytes ever was */
  int64_t data_count;            /* allocations behind data_bytes: 0 when and only when that is 0 */
  int64_t workspace_bytes;       /* held for workspaces, lent out or idle */
  int64_t workspace_in_use_bytes;
  int64_t pinned_bytes;          /* page-locked host memory made by this device */
} TVMGOMemoryStats;

typedef struct TVMGODeviceAPI TVMGODeviceAPI;
struct TVMGODeviceAPI {
  size_t struct_size; /* sizeof(TVMGODeviceAPI) */
  void* self;         /* the device's own; the runtime never touches it */

  /* ---- mandatory ---- */

  /* Makes a device the calling thread's current one, for APIs that have such a thing; otherwise checks that it is
   * there. */
  int (*set_device)(const TVMGODeviceAPI* api, int32_t id);

  /* *out is an owned value (TVMGODeviceAttr tells its type), None when there is no such thing, which is no error. kind
   * may be a number beyond the enum: None. Must not start the device for kTVMGODeviceAttrExist if it can be avoided. */
  int (*get_attr)(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out);

  /* *out is memory that the caller frees with free_data_space; uninitialised, aligned to `alignment` bytes (a power of
   * two). Every device takes up to 256; one that cannot give more fails and says how much it can. (The CPU gives any.)
   * hint tells the elements. nbytes 0 is legal and gives an address that may be freed. Fails when memory is out. */
  int (*alloc_data_space)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                          void** out);

  /* Frees it, after work that is already queued on any stream. p is never NULL. May be called by any thread. Fails on a
   * workspace, which goes back by free_workspace alone, or for devices without those by TVMBackendFreeWorkspace; that
   * fails on data space. */
  int (*free_data_space)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* Queues a copy on `stream`. One side is this device; the other this type (another index included: a peer copy), host
   * memory, or another memory of the same hardware (cuda, cuda_host, cuda_managed). Of a peer copy the stream may be
   * either side's, NULL is the source's default one: the copy is complete once that stream is. Both are contiguous and
   * of one size, with byte_offset to honour. Memory of the CPU may be gone when the call returns, page-locked or not:
   * stage it or wait. Memory of a host type of the hardware (cuda_host) stays until the stream is done. */
  int (*copy_data_from_to)(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to,
                           TVMFFIStreamHandle stream);

  /* Waits until all work on the stream is done and fails with that work's error, if it had one. */
  int (*stream_sync)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* ---- streams: all or none ---- */

  /* *out is owned by the caller; NULL where there is one queue only. */
  int (*create_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out);

  /* Frees a stream after its work is done. Never called with NULL. */
  int (*free_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Tells that the calling thread's current stream is another one now; the runtime keeps the value itself. */
  int (*set_stream)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Lets dst wait for what src holds now; returns at once. */
  int (*sync_stream_from_to)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst);

  /* ---- workspaces: both or none; without them the runtime keeps its own pool over the data space ----
   * The pool hears of streams that are made, freed and waited for through the runtime, and asks events of its own,
   * where there are any, before memory that was given back on one stream goes to another. */

  /* Scratch memory, at least 64-byte aligned, for work on this stream. Two streams never share bytes at one time. */
  int (*alloc_workspace)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, DLDataType hint,
                         TVMFFIStreamHandle stream, void** out);

  /* Gives it back while its work may still be queued: only later work of the same stream may get it before that is
   * done. */
  int (*free_workspace)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* ---- storage scopes ---- */

  /* Memory for an array in a scope ("global.texture"); scope is never NULL or "global". Freed with free_data_space.
   * Fails on a scope the device lacks, naming those it has. */
  int (*alloc_data_space_with_scope)(const TVMGODeviceAPI* api, DLDevice dev, int32_t ndim, const int64_t* shape,
                                     DLDataType dtype, const char* scope, void** out);

  /* ---- timers: all or none; one thread at a time per timer ---- */

  /* *timer is freed with timer_free. start and stop queue marks on the stream and return at once. */
  int (*timer_create)(const TVMGODeviceAPI* api, DLDevice dev, void** timer);
  int (*timer_start)(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);
  int (*timer_stop)(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream);

  /* Waits for the stop mark; *ns is the device's time between the marks. Fails before stop. */
  int (*timer_elapsed_ns)(const TVMGODeviceAPI* api, void* timer, int64_t* ns);
  int (*timer_free)(const TVMGODeviceAPI* api, void* timer);

  /* ---- memory ---- */

  /* Fills the fields of *out that lie within out->struct_size. */
  int (*memory_stats)(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out);

  /* Page-locked host memory that copies of this device use without staging; freed by pinned_free only. Both or none. */
  int (*pinned_alloc)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, void** out);
  int (*pinned_free)(const TVMGODeviceAPI* api, DLDevice dev, void* p);

  /* ---- events: all or none ---- */

  /* *event is freed with event_free, which may be called while its mark is still queued. */
  int (*event_create)(const TVMGODeviceAPI* api, DLDevice dev, void** event);

  /* Queues a mark; a second record moves the event to the new mark. */
  int (*event_record)(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);

  /* Lets a stream wait for the mark; returns at once. An event that was never recorded holds nobody up. */
  int (*event_wait)(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream);

  /* Waits for the mark on the calling thread. */
  int (*event_sync)(const TVMGODeviceAPI* api, void* event);

  /* *done is 1 when the mark was reached, else 0; returns at once. */
  int (*event_query)(const TVMGODeviceAPI* api, void* event, int32_t* done);
  int (*event_free)(const TVMGODeviceAPI* api, void* event);

  /* ---- properties ---- */

  /* *out is an owned value: the device's limit or feature under the name that the target option has; None when
   * unknown. */
  int (*target_property)(const TVMGODeviceAPI* api, int32_t id, const char* name, TVMFFIAny* out);

  /* ---- stream-ordered memory: both or none ---- */

  /* As alloc_data_space, for work that is queued on `stream` from now on; other streams may use it after they waited
   * for this one. Cheap: memory that was given back before is used again without waiting. free_data_space frees it,
   * too. */
  int (*alloc_on_stream)(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                         TVMFFIStreamHandle stream, void** out);

  /* Gives memory of alloc_on_stream back once `stream` has done what is queued on it now; returns at once. */
  int (*free_on_stream)(const TVMGODeviceAPI* api, DLDevice dev, void* p, TVMFFIStreamHandle stream);

  /* ---- graphs: all or none ---- */

  /* Records what is queued on the stream from now on instead of doing it. Fails on the default stream where that cannot
   * be recorded, and on a stream that records already. capture_end follows on the same thread. Until then every other
   * function works as ever, for other streams and on this thread, too: memory may be allocated and freed, copies made
   * and waited for. On this stream a copy with pageable host memory may fail. */
  int (*capture_begin)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);

  /* Ends the recording; *graph is what can be launched, freed with graph_free. graph NULL: the recording is thrown
   * away. In every case, failure included, the stream does again what is queued on it. */
  int (*capture_end)(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream, void** graph);

  /* Queues all that was recorded, in its order, on a stream. The memory that it uses must be there still. */
  int (*graph_launch)(const TVMGODeviceAPI* api, DLDevice dev, void* graph, TVMFFIStreamHandle stream);

  /* May be called while a launch is still queued. */
  int (*graph_free)(const TVMGODeviceAPI* api, DLDevice dev, void* graph);

  /* ---- streams with priorities: both or none ---- */

  /* *least is the priority of the least urgent streams, *greatest of the most urgent; greatest <= least, equal where
   * there is one. */
  int (*stream_priority_range)(const TVMGODeviceAPI* api, DLDevice dev, int32_t* least, int32_t* greatest);

  /* As create_stream; fails on a priority out of range. Work of more urgent streams begins first where both could. */
  int (*create_stream_with_priority)(const TVMGODeviceAPI* api, DLDevice dev, int32_t priority,
      TVMFFIStreamHandle* out);
};

/* Whether a table has a field and has it filled in: TVMGODeviceAPIHas(api, create_stream). */
#define TVMGODeviceAPIHas(api, field)                                                               \
  ((api)->struct_size >= offsetof(TVMGODeviceAPI, field) + sizeof((api)->field) && (api)->field != NULL)

/* One registration: everything the runtime wants to know of a device type. */
typedef struct TVMGODeviceSpec {
  size_t struct_size;         /* sizeof(TVMGODeviceSpec) */
  int32_t device_type;        /* a DLPack number, or a free n with kDLExtDev < n < 36 */
  const char* name;           /* "cuda": lower case, letters, digits and '_' */
  const char* const* aliases; /* other names, NULL-terminated; NULL for none */
  const TVMGODeviceAPI* api;  /* the table, or NULL when create makes it; lives as long as the process */

  /* Makes the table when the device is first asked for, at most once with success: one thread runs it, others wait.
   * A failure is reported to that caller and tried again by the next. The table lives as long as the process. */
  int (*create)(void* ctx, const TVMGODeviceAPI** out);
  void* ctx; /* handed to create */
} TVMGODeviceSpec;

/* Makes a device type known to every thread; it stays so for the life of the process. *spec and its texts are copied,
 * the table is not. Fails when the number or a name is taken or out of range, or a mandatory function is missing. */
TVM_FFI_DLL int TVMGODeviceAPIRegister(const TVMGODeviceSpec* spec);

/* The table of a device type, made on the way if need be; borrowed, good for ever. When there is none: *out is NULL
 * without an error if allow_missing is not 0, otherwise an error that lists the types there are. */
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
