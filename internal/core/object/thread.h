/* What a thread owns in the core, behind one thread-local pointer.
 *
 * A pthread key frees it when the thread ends. That destructor frees memory and releases error
 * objects; it never calls a driver. */
#pragma once

#include <pthread.h>

#include "object/counted.h"
#include "object/fork.h"
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_runtime_api.h>

/* Device types below this number are registered in tables of this size (kMaxDeviceAPI). */
#define TVMGO_MAX_DEVICE_TYPE 36

typedef struct tvmgo_workspace_cache tvmgo_workspace_cache; /* workspace.c */

typedef struct {
  int32_t device_type, device_id;
  TVMFFIStreamHandle stream;
} tvmgo_stream_entry;

typedef struct tvmgo_thread {
  struct tvmgo_thread *prev, *next;         /* all threads, for the counters */
  _Atomic int64_t live[TVMGO_LIVE_KINDS];   /* written by this thread only */
  TVMFFIObject* error;                      /* raised error, owned; NULL = none */
  void* python_error;                       /* classic ABI: error held by a front end */
  char* error_text;                         /* what TVMGetLastError returned last */
  char* return_text;                        /* classic ABI: string or bytes result, NUL after it */
  size_t return_cap;
  TVMByteArray return_bytes;
  const char** names;                       /* TVMFuncListGlobalNames: array and its strings */
  void* spare_text;                         /* block of a long string, see string.c; NULL = none */
  size_t spare_size;
  TVMFFIByteArray backtrace;                /* TVMFFIBacktrace result */
  char* backtrace_text;
  tvmgo_stream_entry* streams;              /* current streams that are not the default */
  int32_t num_streams, cap_streams;
  int32_t active_device[TVMGO_MAX_DEVICE_TYPE]; /* id last given to set_device, per type */
  DLPackManagedTensorAllocator dlpack_allocator;
  tvmgo_workspace_cache* workspace;
  void (*workspace_end)(struct tvmgo_thread*); /* frees workspace; NULL while there is none */
  TVMFFIObject** targets;                   /* current targets, owned, the innermost last */
  int32_t num_targets, cap_targets;
  int parallel_depth;                       /* >0 while this thread runs a task of a launch */
  uintptr_t verifier;                       /* of the files that its loads open, see loader/trust.h; 0 = none */
  int in_go;                                /* functions written in Go that calls on this thread are within */
  uint32_t slot;                            /* see tvmgo_thread_slot */
} tvmgo_thread;

extern __thread tvmgo_thread* tvmgo_tls __attribute__((tls_model("initial-exec")));

/* How many errors were raised on this thread. A call compares it with the number before the call. */
extern __thread uint32_t tvmgo_errors_raised __attribute__((tls_model("initial-exec")));

/* NULL, or called when frames of C on the calling thread are left without being returned to. */
extern void (*tvmgo_frames_abandoned)(void);

/* Makes the calling thread's block. Never NULL: aborts if a few hundred bytes cannot be allocated. */
tvmgo_thread* tvmgo_thread_init(void);

/* Guards the list of threads and the sums of counters of threads that have ended; at_fork.c takes it. */
extern pthread_mutex_t tvmgo_threads_lock;

/* Calls f with NULL and then with each thread, under tvmgo_threads_lock. */
void tvmgo_threads_visit(void (*f)(tvmgo_thread* t, void* arg), void* arg);

static inline tvmgo_thread* tvmgo_thread_get(void) {
  tvmgo_thread* t = tvmgo_tls;
  return TVMGO_LIKELY(t != NULL) ? t : tvmgo_thread_init();
}

/* What many threads write often is divided into slots, each in a cache line of its own. A thread uses its slot alone
 * while the process has at most this many threads that use the core; access must be safe for several all the same. */
enum { TVMGO_SLOTS = 64, TVMGO_CACHE_LINE = 64 };
static inline uint32_t tvmgo_thread_slot(void) { return tvmgo_thread_get()->slot; }

/* Counter of the calling thread: a plain store, seen by snapshots. */
static inline void tvmgo_thread_live(tvmgo_thread* t, tvmgo_live_kind k, int64_t delta) {
  atomic_store_explicit(&t->live[k],
                        atomic_load_explicit(&t->live[k], memory_order_relaxed) + delta,
                        memory_order_relaxed);
}

/* A lock for short critical sections: spins a little, then yields. Zero-initialised = free. The holder stores its
 * process id there, so that a forked child takes a lock whose holder exists only in the parent instead of waiting for
 * it. */
typedef struct {
  _Atomic uint32_t word;
} tvmgo_spin;

void tvmgo_spin_lock_slow(tvmgo_spin* s);

static inline void tvmgo_spin_lock(tvmgo_spin* s) {
  uint32_t mine = tvmgo_forks() + 1;
  if (TVMGO_UNLIKELY(atomic_exchange_explicit(&s->word, mine, memory_order_acquire) == mine))
    tvmgo_spin_lock_slow(s);
}
static inline void tvmgo_spin_unlock(tvmgo_spin* s) {
  atomic_store_explicit(&s->word, 0, memory_order_release);
}
