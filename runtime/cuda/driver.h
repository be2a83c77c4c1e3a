/* The CUDA devices: declarations that the C files of this folder share.
 *
 * Go enumerates the devices, retains their primary contexts and loads modules (driver.go, module.go). C does everything
 * that happens per call. Streams are CUstreams and data pointers are device addresses of the primary context, so that
 * this package and other libraries of the process (PyTorch, cuBLAS) can use each other's memory and streams. */
#pragma once

#include <cuda.h>
#include <pthread.h>

#include "backend.h"

/* The kinds of memory, for the device types kDLCUDA, kDLCUDAHost and kDLCUDAManaged. Each has its own table. */
typedef enum { SPACE_DEVICE, SPACE_HOST, SPACE_MANAGED, NUM_SPACES } cu_space;

/* The last launches of a device. Errors of kernels are reported later; the message lists the kernels that may have
 * caused the error. */
enum { KEPT_LAUNCHES = 64 };
typedef struct {
  _Atomic(const char*) kernel; /* NULL for a wait for the stream */
  _Atomic(CUstream) stream;
} cu_launched;

/* Two page-locked buffers of the same size, each with an event after its last use (stage.c). */
enum { NUM_STAGES = 2 };
typedef struct {
  void* at; /* NULL until the first use */
  CUevent done[2];
  int busy;
} cu_stage;

/* A device. Go fills it in before it can be used. The members from lock on change afterwards. */
typedef struct {
  int32_t index; /* the device is cuda:index */
  CUdevice id;
  char name[256];
  int major, minor;    /* compute capability */
  int max_block;       /* largest number of threads in a block */
  int max_threads[3];  /* the same for each dimension */
  int max_grid[3];     /* largest number of blocks in each dimension */
  int max_shared;      /* bytes of shared memory of a block, without and with opt-in */
  int max_shared_optin;
  /* whether device and driver support stream-ordered memory, clusters, cooperative launches */
  int has_pools, has_clusters, has_cooperative;
  int has_managed;     /* supports managed memory, which host and device share */
  size_t total_bytes;
  char broken[512]; /* the reason why the device cannot be used; "" if it can */
  pthread_mutex_t lock;       /* protects the members whose comments say so; also held while the context is retained */
  _Atomic(CUcontext) context; /* the primary context; NULL until the first use */
  _Atomic(CUmemoryPool) pool; /* for stream-ordered memory; NULL until the first use */
  tvmgo_memory_counter data[NUM_SPACES];
  _Atomic int64_t pinned_bytes;
  _Atomic int captures;           /* number of streams that capture a graph (graph.c) */
  _Atomic int has_peers;          /* there was a copy between it and another device */
  CUevent spare[32];              /* unused events without timing (event.c); protected by lock */
  int num_spare;
  cu_stage stages[NUM_STAGES];    /* protected by lock */
  struct cu_idle* idle;           /* freed memory of streams, if there are no pools (pool.c); protected by lock */
  CUstream* streams;              /* the streams of this package (wait.c); protected by lock */
  int num_streams, cap_streams;
  _Atomic uint32_t epoch;         /* number of renewals of the context; objects of earlier epochs are lost (renew.c) */
  _Atomic uint64_t peers_tried;   /* a bit for each device to which peer access was enabled or tried (copy.c) */
  /* events after the last work of freed streams (wait.c); protected by lock */
  CUevent freed[16];
  int num_freed;
  _Atomic uint32_t num_launched;
  cu_launched launched[KEPT_LAUNCHES]; /* the n-th launch is at n % KEPT_LAUNCHES */
} cu_device;

extern cu_device tvmgo_cu_devices[TVMGO_MAX_DEVICES];
extern int32_t tvmgo_cu_num_devices;
extern int tvmgo_cu_driver_version; /* the newest CUDA that the driver supports, such as 12040 for 12.4 */
extern const TVMGODeviceAPI tvmgo_cu_table;         /* for kDLCUDA */
extern const TVMGODeviceAPI tvmgo_cu_host_table;    /* for kDLCUDAHost */
extern const TVMGODeviceAPI tvmgo_cu_managed_table; /* for kDLCUDAManaged */

/* The device with an index, which must exist. For Go, where &C.tvmgo_cu_devices[i] would be the address of a copy. */
static inline cu_device* tvmgo_cu_at(int32_t index) { return &tvmgo_cu_devices[index]; }
/* The device with an index, whose context may not exist yet; NULL with an error raised if it cannot be used. */
cu_device* tvmgo_cu_device(int32_t index);
/* The same for a DLDevice; *space, unless NULL, is the kind of memory of its device type. */
cu_device* tvmgo_cu_device_of(DLDevice dev, cu_space* space);
/* The device of a stream; fallback for the default stream and for streams of contexts that are not primary. */
cu_device* tvmgo_cu_device_of_stream(CUstream stream, cu_device* fallback);
/* The name of a kind of memory, such as "cuda_host" for SPACE_HOST. */
const char* tvmgo_cu_space_name(cu_space space);

/* The driver's name and text for an error code: "CUDA_ERROR_INVALID_VALUE" and "invalid argument" for 1. */
const char* tvmgo_cu_code_name(CUresult code);
const char* tvmgo_cu_code_text(CUresult code);
/* Raises the error "what: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)" with the kind that fits the code, or the
 * reason why CUDA cannot be used. The message also explains errors of earlier work, such as an illegal address. Always
 * returns -1. */
int tvmgo_cu_raise(CUresult code, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an error of a wait for a stream. If the error is sticky, the message lists the kernels that ran on the
 * stream. */
int tvmgo_cu_raise_waited(CUresult code, const cu_device* d, CUstream stream, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
/* A copy of a name that is never freed; equal names have the same copy. NULL if out of memory. */
const char* tvmgo_cu_intern_name(const char* name);
/* Records a launch, by a name from tvmgo_cu_intern_name, or with NULL a wait for a stream. */
static inline void tvmgo_cu_note(cu_device* d, const char* kernel, CUstream stream) {
  uint32_t n = atomic_fetch_add_explicit(&d->num_launched, 1, memory_order_relaxed);
  cu_launched* l = &d->launched[n % KEPT_LAUNCHES];
  atomic_store_explicit(&l->kernel, kernel, memory_order_relaxed);
  atomic_store_explicit(&l->stream, stream, memory_order_relaxed);
}
/* Whether an error is sticky: the context or the device cannot be used any more. */
int tvmgo_cu_is_sticky(CUresult code);

/* ---- the context ----
 *
 * Every call that uses a device is between enter and leave. Enter makes the device's primary context the thread's
 * current one, and retains it the first time. Leave restores the thread's previous context, so that other CUDA code of
 * the program is not affected. */
typedef struct {
  CUcontext before;
  int changed, relaxed;
  CUstreamCaptureMode mode; /* the thread's previous mode, if relaxed is set */
} cu_scope;

/* Retains the primary context. 0, or -1 with an error raised. */
int tvmgo_cu_retain(cu_device* d);
/* Makes a context the thread's current one. 0, or -1 with an error raised. */
int tvmgo_cu_switch(cu_device* d, CUcontext to, cu_scope* s);
/* Enter for operations that may wait, allocate or load: the thread is in the relaxed capture mode until leave. In
 * another mode, the driver rejects such calls while another library captures in the global mode, and invalidates its
 * capture. The operations themselves are not captured. Operations that only enqueue work on a stream use
 * tvmgo_cu_enter. */
int tvmgo_cu_enter_relaxed(cu_device* d, cu_scope* s);
/* The same for operations that free something. It retries once after an error, because callers cannot retry. */
int tvmgo_cu_enter_to_free(cu_device* d, cu_scope* s);

/* The index of a device whose primary context was reset by other code; -1 if there is none. */
int tvmgo_cu_find_reset(void);
/* Retains a new context of a device whose context was reset by other code. All objects of the old context become lost:
 * they no longer exist in the driver, but callers still have to free them. 0, or -1 with an error raised. */
int tvmgo_cu_renew(int32_t index);
/* Whether an address belongs to lost memory that its owner has not freed yet. */
int tvmgo_cu_is_lost(uintptr_t at);
/* The same for a stream's handle. */
int tvmgo_cu_is_lost_stream(CUstream stream);
/* Removes a lost stream that its owner frees. 0 if the stream is not lost. */
int tvmgo_cu_forget_stream(CUstream stream);
/* 0, or -1 with an error raised if a stream is lost. */
int tvmgo_cu_check_stream(CUstream stream, const char* what);
/* 0, or -1 with an error raised if an object with this epoch is lost. */
int tvmgo_cu_check_epoch(const cu_device* d, uint32_t epoch, const char* what);
/* Drops the lost memory of a device from the list of deferred deallocations. */
void tvmgo_cu_forget_deferred(int32_t device);
/* New addresses and handles from the driver that equal those of lost objects. They must not be used; the caller frees
 * them after the driver has returned another one. */
typedef struct {
  uintptr_t* at;
  size_t n;
} cu_stale;
/* -1 if out of host memory. */
int tvmgo_cu_stale_add(cu_stale* a, uintptr_t at);

/* 0, or -1 with an error raised; then leave must not be called. */
static inline int tvmgo_cu_enter(cu_device* d, cu_scope* s) {
  CUcontext c = atomic_load_explicit(&d->context, memory_order_acquire);
  s->before = NULL;
  s->changed = s->relaxed = 0;
  if (TVMGO_UNLIKELY(c == NULL)) {
    if (tvmgo_cu_retain(d) != 0) return -1;
    c = atomic_load_explicit(&d->context, memory_order_acquire);
  }
  if (TVMGO_LIKELY(cuCtxGetCurrent(&s->before) == CUDA_SUCCESS && s->before == c)) return 0;
  return tvmgo_cu_switch(d, c, s);
}
static inline void tvmgo_cu_leave(cu_scope* s) {
  if (s->relaxed) cuThreadExchangeStreamCaptureMode(&s->mode); /* restores the previous mode */
  /* retried: another library of the process may rely on its current context */
  if (TVMGO_UNLIKELY(s->changed) && cuCtxSetCurrent(s->before) != CUDA_SUCCESS) cuCtxSetCurrent(s->before);
}

/* ---- memory ----
 *
 * A data pointer is an address. allocations.c has a table of all allocations of this package. Freeing finds the
 * properties of the memory there, and rejects an address that is not in the table. */
/* Allocated by cuMemAlloc or a similar function; from a pool of the driver; by pool.c without a pool. */
typedef enum { MEM_PLAIN, MEM_POOL, MEM_IDLING } cu_how;

typedef struct {
  uintptr_t at; /* 0 in an empty entry of the table */
  size_t nbytes;
  int32_t device;
  uint8_t space, how, pinned, lost; /* cu_space, cu_how, allocated by pinned_alloc, its context was reset */
  CUstream stream;            /* of alloc_on_stream */
} cu_block;

/* Adds an allocation to the table. 0, or -1 with an error raised if out of memory. */
int tvmgo_cu_allocation_add(cu_block b);
/* Removes an allocation from the table. 0 if there is none at this address. After 1, the caller must call _removed if
 * it has freed the memory, or _restore, which cannot fail, if it could not free it. */
int tvmgo_cu_allocation_remove(uintptr_t at, cu_block* out);
void tvmgo_cu_allocation_restore(const cu_block* b);
void tvmgo_cu_allocation_removed(void);
/* Sets `lost` in all allocations of a device. */
void tvmgo_cu_allocations_lost(int32_t device);
/* Finds the allocation that begins at an address. 0 if there is none. */
int tvmgo_cu_allocation_find(uintptr_t at, cu_block* out);

/* Memory that is to be reused or freed. */
typedef struct cu_idle {
  struct cu_idle* next;
  cu_block block;
  CUevent done; /* recorded after the last use; may be NULL */
} cu_idle;

/* cuMemAlloc. If memory is out, it frees unused memory of pools and tries again. Must be called between enter and
 * leave. */
CUresult tvmgo_cu_mem_alloc(cu_device* d, size_t nbytes, CUdeviceptr* out);
/* Raises the error of a failed allocation. Must be called between enter and leave. Always returns -1. */
int tvmgo_cu_raise_alloc(cu_device* d, cu_space space, size_t nbytes, CUresult rc);
/* Must be called before a stream is freed: a later stream with the same handle must not reuse its idle memory at once.
 * */
void tvmgo_cu_disown_idle_memory(cu_device* d, CUstream stream);
/* Returns memory that alloc_on_stream holds and that is not in use to the driver. Returns its bytes. Must be called
 * between enter and leave. */
int64_t tvmgo_cu_trim(cu_device* d);
/* The bytes of memory that alloc_on_stream holds for reuse. */
int64_t tvmgo_cu_held(cu_device* d);
/* Frees memory of all devices whose deallocation was deferred because of a capture, if that is possible now. */
void tvmgo_cu_free_deferred(void);
/* Copies ordinary host memory to a device (up) or from it, in the order of a stream, and waits. Returns 0 without
 * copying if the copy is small or all buffers are in use. Otherwise *out is the driver's result. Must be called between
 * enter_relaxed and leave. */
int tvmgo_cu_copy_staged(cu_device* d, void* host, CUdeviceptr device, size_t nbytes, int up, CUstream stream,
                         CUresult* out);
/* Frees the buffers that are not in use. */
void tvmgo_cu_drop_stages(cu_device* d);
/* Allocates temporary memory for work on one stream, which is not in the table of allocations, and frees it in the
 * order of that stream. Must be called between enter and leave. */
CUresult tvmgo_cu_scratch(cu_device* d, size_t nbytes, CUstream stream, CUdeviceptr* out);
CUresult tvmgo_cu_scratch_done(cu_device* d, CUdeviceptr p, size_t nbytes, CUstream stream);

/* ---- streams ---- */

/* Whether a stream captures a graph. For the default stream (of the current context): whether a blocking stream
 * captures; then a use of the default stream would invalidate that capture. This query does not. */
int tvmgo_cu_is_capturing(CUstream stream);
/* 0, or -1 with an error raised if stream is the default stream and its use would invalidate a capture. The device's
 * context is current. */
int tvmgo_cu_check_default_stream(const char* what, const cu_device* d, CUstream stream);
/* Adds a new stream to d->streams. 0, or -1 with an error raised if out of memory. */
int tvmgo_cu_stream_made(cu_device* d, CUstream stream);
/* Removes a stream from d->streams before it is freed. tvmgo_cu_wait still waits for its work. The device's context is
 * current, in the relaxed mode. */
void tvmgo_cu_stream_freed(cu_device* d, CUstream stream);
/* Whether a code is the driver's error for an operation that a capture forbids. */
static inline int tvmgo_cu_is_capture_error(CUresult code) {
  return code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}
/* Waits for the work of the streams of this package, of the default stream, and of blocking streams. It does not wait
 * for non-blocking streams of other libraries, because the driver's wait for a context would invalidate their captures.
 * If one of the streams captures, it returns an error for which tvmgo_cu_is_capture_error is true, at once and without
 * affecting the capture. The device's context is current. */
CUresult tvmgo_cu_wait(cu_device* d);
/* The same for every other device in use. Errors of their work are ignored here and reported by those devices. d's
 * context is current before and after. */
CUresult tvmgo_cu_wait_for_others(cu_device* d);
/* Makes dst wait for the work that src has now; `from` and `to` are their devices. 0, or -1 with an error raised. */
int tvmgo_cu_order(cu_device* from, CUstream src, cu_device* to, CUstream dst);
/* Takes an unused event without timing, or creates one; tvmgo_cu_event_done returns it. Must be called between enter
 * and leave. For _locked, the caller holds the lock. */
CUresult tvmgo_cu_spare_event(cu_device* d, CUevent* out);
CUresult tvmgo_cu_spare_event_locked(cu_device* d, CUevent* out);
void tvmgo_cu_event_done(cu_device* d, CUevent e);
void tvmgo_cu_drop_spare_events(cu_device* d);

/* attributes.c, memory.c, pool.c, copy.c, stream.c, event.c, graph.c. */
TVMGO_DEVICE_FUNCTIONS(tvmgo_cu);
int tvmgo_cu_alloc_on_stream(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                             TVMFFIStreamHandle stream, void** out);
int tvmgo_cu_free_on_stream(const TVMGODeviceAPI* api, DLDevice dev, void* p, TVMFFIStreamHandle stream);
int tvmgo_cu_stream_create_with_priority(const TVMGODeviceAPI* api, DLDevice dev, int32_t priority,
                                         TVMFFIStreamHandle* out);
int tvmgo_cu_stream_priority_range(const TVMGODeviceAPI* api, DLDevice dev, int32_t* least, int32_t* greatest);
int tvmgo_cu_capture_begin(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream);
int tvmgo_cu_capture_end(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream, void** graph);
int tvmgo_cu_graph_launch(const TVMGODeviceAPI* api, DLDevice dev, void* graph, TVMFFIStreamHandle stream);
int tvmgo_cu_graph_free(const TVMGODeviceAPI* api, DLDevice dev, void* graph);
