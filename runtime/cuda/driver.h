/* CUDA behind the device interface: what the C files of this folder share.
 *
 * Go finds the devices, retains their primary contexts and loads modules (driver.go, module.go); everything that is
 * used per call is here. Streams are CUstreams and data are device addresses, so that what other libraries of the
 * process made of the same primary context (PyTorch, cuBLAS) can be used, and they can use ours. */
#pragma once

#include <cuda.h>
#include <pthread.h>

#include "backend.h"

/* Memory of a device, by who reaches it: kDLCUDA, kDLCUDAHost and kDLCUDAManaged, three device types with a table
 * each. */
typedef enum { SPACE_DEVICE, SPACE_HOST, SPACE_MANAGED, NUM_SPACES } cu_space;

/* The last launches of a device, so that an error of the driver, which comes late, can say what it may be of. */
enum { KEPT_LAUNCHES = 64 };
typedef struct {
  _Atomic(const char*) kernel; /* NULL: the stream was waited for here */
  _Atomic(CUstream) stream;
} cu_launched;

/* Two page-locked buffers of one size, each with a mark behind its last use (stage.c). */
enum { NUM_STAGES = 2 };
typedef struct {
  void* at; /* NULL before the first use */
  CUevent done[2];
  int busy;
} cu_stage;

/* A device, filled in by Go before the table is given out; constant then, but for what begins with the lock. */
typedef struct {
  int32_t index; /* its number: cuda:index */
  CUdevice id;   /* the driver's */
  char name[256];
  int major, minor;    /* compute capability */
  int max_block;       /* threads of a block */
  int max_threads[3];  /* the same in each direction */
  int max_grid[3];     /* blocks in each direction */
  int max_shared;      /* bytes of shared memory of a block without asking for more */
  int max_shared_optin; /* and with */
  /* the device and the driver have stream-ordered memory, clusters, grids in step */
  int has_pools, has_clusters, has_cooperative;
  int has_managed;     /* memory that host and device share */
  size_t total_bytes;
  char broken[512]; /* why it cannot be used; "" when it can */
  pthread_mutex_t lock;      /* while the context is retained */
  _Atomic(CUcontext) context; /* the primary one; NULL before the first use, then for good */
  _Atomic(CUmemoryPool) pool; /* of stream-ordered memory; made at its first use */
  tvmgo_memory_counter data[NUM_SPACES];
  _Atomic int64_t pinned_bytes;
  _Atomic int captures;           /* streams that record now (graph.c) */
  _Atomic int has_peers;          /* its memory is copied from or to another device's */
  CUevent spare[32];              /* events without times, not in use (event.c); under the lock */
  int num_spare;
  cu_stage stages[NUM_STAGES];    /* under the lock */
  struct cu_idle* idle;           /* memory for alloc_on_stream where there are no pools (pool.c), under the lock */
  CUstream* streams;              /* that were made here and live (wait.c), under the lock */
  int num_streams, cap_streams;
  _Atomic uint32_t epoch;         /* how often the context was made anew: what is of another one is gone (renew.c) */
  _Atomic uint64_t met;           /* a bit for each device that was asked for access to its memory (copy.c) */
  /* behind the work of streams that were freed before it was done (wait.c), under the lock */
  CUevent gone[16];
  int num_gone;
  _Atomic uint32_t num_launched;
  cu_launched launched[KEPT_LAUNCHES]; /* the n-th launch is at n % KEPT_LAUNCHES */
} cu_device;

extern cu_device tvmgo_cu_devices[TVMGO_MAX_DEVICES];
extern int32_t tvmgo_cu_num_devices;
extern int tvmgo_cu_driver_version; /* 12040 for CUDA 12.4: the newest that the driver knows */
extern const TVMGODeviceAPI tvmgo_cu_table;         /* of kDLCUDA */
extern const TVMGODeviceAPI tvmgo_cu_host_table;    /* of kDLCUDAHost */
extern const TVMGODeviceAPI tvmgo_cu_managed_table; /* of kDLCUDAManaged */

/* The device of an index that is there, for Go: an element's address that Go takes of the array is one of a copy. */
static inline cu_device* tvmgo_cu_at(int32_t index) { return &tvmgo_cu_devices[index]; }
/* The device of an index; NULL with an error raised that says how many there are. Does not start it. */
cu_device* tvmgo_cu_device(int32_t index);
/* The same, of dev's type; *space (may be NULL) is the memory that the type means. */
cu_device* tvmgo_cu_device_of(DLDevice dev, cu_space* space);
/* The device whose context a stream belongs to; fallback for the default stream and for streams of other contexts. */
cu_device* tvmgo_cu_device_of_stream(CUstream stream, cu_device* fallback);
/* "cuda_host" for SPACE_HOST. */
const char* tvmgo_cu_space_name(cu_space space);

/* "CUDA_ERROR_INVALID_VALUE" and "invalid argument" for 1, as the driver says it. */
const char* tvmgo_cu_code_name(CUresult code);
const char* tvmgo_cu_code_text(CUresult code);
/* Raises "what: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)" with the kind of error that fits, or why CUDA cannot be
 * used; for an error that work of before has left behind (an illegal address, a lost device) it says that, too. Always
 * returns -1. */
int tvmgo_cu_raise(CUresult code, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* The same after a stream was waited for: of an error that stays it says what ran on the stream. */
int tvmgo_cu_raise_waited(CUresult code, const cu_device* d, CUstream stream, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
/* A copy of a name for good, the same one for the same name; NULL when memory is out. */
const char* tvmgo_cu_keep_name(const char* name);
/* Notes a launch, by a name that is kept, or that a stream was waited for (NULL). */
static inline void tvmgo_cu_note(cu_device* d, const char* kernel, CUstream stream) {
  uint32_t n = atomic_fetch_add_explicit(&d->num_launched, 1, memory_order_relaxed);
  cu_launched* l = &d->launched[n % KEPT_LAUNCHES];
  atomic_store_explicit(&l->kernel, kernel, memory_order_relaxed);
  atomic_store_explicit(&l->stream, stream, memory_order_relaxed);
}
/* Whether an error stays: the context can do nothing more, or the device is gone. */
int tvmgo_cu_is_sticky(CUresult code);

/* ---- the context ----
 *
 * Every call that works with a device stands between enter and leave: enter makes the device's primary context the
 * thread's current one (and retains it, the first time), leave puts back what was current, so that a host's own CUDA
 * code never notices. */
typedef struct {
  CUcontext before;
  int changed, relaxed;
  CUstreamCaptureMode mode; /* of the thread, before; when relaxed */
} cu_scope;

int tvmgo_cu_retain(cu_device* d); /* makes the context; -1 with an error raised */
int tvmgo_cu_switch(cu_device* d, CUcontext to, cu_scope* s);
/* Enter, for what may wait, allocate or load: the thread is in the relaxed capture mode until leave. Otherwise the
 * driver refuses such calls while another library captures in the global mode, and ends its capture with an error. What
 * is done here is no part of any capture. What is queued on a stream needs no more than enter. */
int tvmgo_cu_enter_relaxed(cu_device* d, cu_scope* s);
/* The same, for what gives something back: nobody can try that again, so it is tried twice here. */
int tvmgo_cu_enter_to_free(cu_device* d, cu_scope* s);

/* Whether a context of ours was reset by others: the device's index, or -1. */
int tvmgo_cu_find_reset(void);
/* Makes the context of a device anew that others have reset, and forgets what was of it. -1 with an error raised. */
int tvmgo_cu_renew(int32_t index);
/* Whether memory of a context before lies at an address: its owner will still free it by the address. */
int tvmgo_cu_is_lost(uintptr_t at);
/* The same for a stream's handle. */
int tvmgo_cu_is_lost_stream(CUstream stream);
/* 1 when a stream was of a context before; it is forgotten then. */
int tvmgo_cu_forget_stream(CUstream stream);
/* 0, or -1 with an error raised when a stream is of a context before. */
int tvmgo_cu_check_stream(CUstream stream, const char* what);
/* 0, or -1 with an error raised when something is of a context before. */
int tvmgo_cu_check_epoch(const cu_device* d, uint32_t epoch, const char* what);
/* Forgets memory of a device that waits to be freed. */
void tvmgo_cu_forget_later(int32_t device);
/* Addresses and handles that the driver gave out, but that owners of lost ones still have: kept until it has given out
 * another. */
typedef struct {
  uintptr_t* at;
  size_t n;
} cu_aside;
/* -1 when the host's memory is out. */
int tvmgo_cu_put_aside(cu_aside* a, uintptr_t at);

/* 0, or -1 with an error raised; then there is nothing to leave. */
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
  if (s->relaxed) cuThreadExchangeStreamCaptureMode(&s->mode); /* as it was */
  if (TVMGO_UNLIKELY(s->changed)) cuCtxSetCurrent(s->before);
}

/* ---- memory ----
 *
 * Data is a plain address. The books say of each that this package allocated what it is, so that freeing needs to know
 * the address alone, and so that one that is not ours is not handed to the driver. */
/* cuMemAlloc or its like; a pool of the driver; pool.c without pools */
typedef enum { MEM_PLAIN, MEM_POOL, MEM_IDLING } cu_how;

typedef struct {
  uintptr_t at; /* 0: an empty entry */
  size_t nbytes;
  int32_t device;
  uint8_t space, how, pinned, lost; /* cu_space, cu_how, made by pinned_alloc, of a context that was reset */
  CUstream stream;            /* of alloc_on_stream */
} cu_block;

int tvmgo_cu_book_add(cu_block b);                    /* -1 with an error raised when memory is out */
/* Removes it and keeps its room, until it is put back or done with; 0 when there is none. */
int tvmgo_cu_book_take(uintptr_t at, cu_block* out);
void tvmgo_cu_book_put_back(const cu_block* b);       /* it was not freed after all */
void tvmgo_cu_book_done(void);
void tvmgo_cu_book_lose(int32_t device);              /* all of the device was of a context that was reset */
int tvmgo_cu_book_find(uintptr_t at, cu_block* out);  /* 0 when there is none that begins there */

/* Memory that waits for something before it is freed or used again. */
typedef struct cu_idle {
  struct cu_idle* next;
  cu_block block;
  CUevent done; /* behind the last use; NULL for none */
} cu_idle;

/* cuMemAlloc; what pools and idle memory hold is given back before it fails. Between enter and leave. */
CUresult tvmgo_cu_mem_alloc(cu_device* d, size_t nbytes, CUdeviceptr* out);
/* Raises that an allocation failed. Between enter and leave. Always returns -1. */
int tvmgo_cu_raise_alloc(cu_device* d, cu_space space, size_t nbytes, CUresult rc);
/* A stream is freed: what was freed on it is no longer its own. */
void tvmgo_cu_stream_gone(cu_device* d, CUstream stream);
/* Gives back to the driver what is held for alloc_on_stream and not in use; the bytes of it. Between enter and
 * leave. */
int64_t tvmgo_cu_trim(cu_device* d);
/* Bytes that alloc_on_stream holds for later. */
int64_t tvmgo_cu_held(cu_device* d);
/* Frees what had to wait for captures to end, of all devices, as far as it can be freed now. */
void tvmgo_cu_free_later(void);
/* Copies ordinary memory of the host to (up) or from a device in the order of a stream, and waits for it. 0 when it did
 * not, since the copy is small or all buffers are in use; else the driver's answer is in out. Between enter_relaxed and
 * leave. */
int tvmgo_cu_copy_staged(cu_device* d, void* host, CUdeviceptr device, size_t nbytes, int up, CUstream stream,
                         CUresult* out);
/* Frees the buffers that are not in use. */
void tvmgo_cu_drop_stages(cu_device* d);
/* Memory for work on a stream alone, not on the books: given back in the order of that stream. Between enter and
 * leave. */
CUresult tvmgo_cu_scratch(cu_device* d, size_t nbytes, CUstream stream, CUdeviceptr* out);
CUresult tvmgo_cu_scratch_done(cu_device* d, CUdeviceptr p, size_t nbytes, CUstream stream);

/* ---- streams ---- */

/* Whether a stream records instead of doing. Of the default stream (whose device's context is current): whether one
 * records that waits for it; any use of the default stream would end that with an error. Asking does no harm. */
int tvmgo_cu_is_recording(CUstream stream);
/* 0, or -1 with an error raised where stream is the default one and its use would end a recording. The context is
 * current. */
int tvmgo_cu_refuse_default(const char* what, const cu_device* d, CUstream stream);
/* Notes a stream that was made here; -1 with an error raised when memory is out. */
int tvmgo_cu_stream_made(cu_device* d, CUstream stream);
/* It is freed now: what it still does is waited for by tvmgo_cu_wait. Its device's context is current, in the relaxed
 * mode. */
void tvmgo_cu_stream_leaves(cu_device* d, CUstream stream);
/* Whether a code is an answer to what a capture forbids. */
static inline int tvmgo_cu_is_of_capture(CUresult code) {
  return code >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && code <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}
/* Waits for the work of the streams that were made here, of the default stream, and of those that wait for it. Work of
 * other streams (of other libraries that order nothing) is not waited for: the driver's own wait for a context would
 * end their captures. While one of the streams is captured, an answer that tvmgo_cu_is_of_capture, at once, and no harm
 * to the capture. The device's context is current. */
CUresult tvmgo_cu_wait(cu_device* d);
/* The same for every other device in use, of which errors are reported where the work was queued; d's context is
 * current, and is so afterwards. */
CUresult tvmgo_cu_wait_for_others(cu_device* d);
/* Lets dst wait for what src holds now; each stream is given with its device. -1 with an error raised. */
int tvmgo_cu_order(cu_device* from, CUstream src, cu_device* to, CUstream dst);
/* An event without times from those that are kept, and back. Between enter and leave. */
CUresult tvmgo_cu_spare_event(cu_device* d, CUevent* out);
CUresult tvmgo_cu_spare_event_locked(cu_device* d, CUevent* out); /* for who holds the lock */
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
