/* Workspaces: the CPU's come from a cache of each thread, those of other devices from the device or from the pool over
 * its data space (workspace_pool.c).
 *
 * A block has 64 bytes of header before it. Its size is rounded up to a class, four classes per
 * doubling from 4 KiB, and a returned block waits in its thread's list of that class. Nothing is
 * shared between threads and no lock is taken.
 *
 * The memory of a thread is bounded: its blocks in use and its idle blocks together are at most 64 MiB more than the
 * recent maximum in use, that is within the last 4096 to 8192 returned blocks. Beyond that, the largest idle blocks are
 * freed first. */
#include "device/device.h"
#include "device/graph.h"
#include "device/validate.h"
#include "device/workspace_class.h"
#include "device/workspace_pool.h"
#include "profile/profile.h"

#include <pthread.h>
#include <stdlib.h>

#define LIVE UINT64_C(0x6c6976655f777370)  /* handed out */
#define IDLE UINT64_C(0x69646c655f777370)  /* in a list */

enum {
  CLASSES = TVMGO_WORKSPACE_CLASSES,
  ALIGNMENT = 128, /* of the header: so the block, 64 bytes on, never begins a page, and looking
                      at what lies before an address of this kind cannot fault */
};

typedef struct block {
  uint64_t state;
  size_t size;                  /* of the class; a header's 64 bytes come on top */
  tvmgo_workspace_cache* cache; /* of the thread that it belongs to */
  struct block* next;
  uint32_t class;
  char padding[28];
} block;
_Static_assert(sizeof(block) == 64, "a block's header keeps the block 64-byte aligned");

struct tvmgo_workspace_cache {
  int64_t live;       /* bytes handed out; counted atomically once the thread has ended */
  _Atomic int64_t peak;      /* most of live in this window; like those below written by its thread only */
  _Atomic int64_t last_peak; /* and in the one before */
  _Atomic int64_t windows;   /* that have ended */
  _Atomic int64_t misses;    /* blocks made */
  _Atomic uint32_t countdown; /* blocks to be returned until the window ends */
  _Atomic int ended;  /* the thread is gone; live > 0 */
  _Atomic int trim;   /* another thread requests that all idle memory be freed */
  block* idle[CLASSES];
};

static int64_t ended_hits, ended_misses; /* of threads that have ended; under tvmgo_threads_lock */

static inline int64_t get(const _Atomic int64_t* v) {
  return atomic_load_explicit(v, memory_order_relaxed);
}
static inline void set(_Atomic int64_t* v, int64_t to) {
  atomic_store_explicit(v, to, memory_order_relaxed);
}

static inline int64_t idle_bytes(const tvmgo_thread* t) {
  return atomic_load_explicit(&t->live[TVMGO_LIVE_WORKSPACE_CACHED], memory_order_relaxed);
}

/* The number of requests served from idle blocks: returned blocks minus created blocks. Blocks in use don't count yet.
 * So no request needs to be counted. */
static int64_t hits_of(const tvmgo_workspace_cache* c) {
  int64_t left = atomic_load_explicit(&c->countdown, memory_order_relaxed);
  int64_t hits = (get(&c->windows) + 1) * TVMGO_WORKSPACE_WINDOW - left - get(&c->misses);
  return hits > 0 ? hits : 0;
}

/* Gives idle blocks back to the system, the largest first, until at most keep bytes are left. */
static void shrink(tvmgo_thread* t, tvmgo_workspace_cache* c, int64_t keep) {
  int64_t bytes = idle_bytes(t);
  int64_t freed = 0;
  for (int i = CLASSES - 1; i >= 0 && bytes - freed > keep; i--) {
    block* b;
    while (bytes - freed > keep && (b = c->idle[i]) != NULL) {
      c->idle[i] = b->next;
      freed += (int64_t)b->size;
      b->state = 0; /* later contents of the memory must not look like a workspace */
      free(b);
    }
  }
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_CACHED, -freed);
}

/* Idle bytes that a thread may keep in addition to `live` bytes in use. */
static int64_t idle_limit(const tvmgo_workspace_cache* c, int64_t live) {
  return tvmgo_workspace_idle_limit(live, get(&c->peak), get(&c->last_peak));
}

/* The same, or 0 if another thread requested that. */
static int64_t allowed(tvmgo_workspace_cache* c, int64_t live) {
  if (atomic_load_explicit(&c->trim, memory_order_relaxed) == 0) return idle_limit(c, live);
  atomic_store_explicit(&c->trim, 0, memory_order_relaxed);
  return 0;
}

static void end_window(tvmgo_thread* t, tvmgo_workspace_cache* c) {
  atomic_store_explicit(&c->countdown, TVMGO_WORKSPACE_WINDOW, memory_order_relaxed);
  set(&c->windows, get(&c->windows) + 1);
  shrink(t, c, allowed(c, c->live));
  set(&c->last_peak, get(&c->peak));
  set(&c->peak, c->live);
}

static inline void* hand_out(tvmgo_thread* t, tvmgo_workspace_cache* c, block* b) {
  b->state = LIVE;
  c->live += (int64_t)b->size;
  if (c->live > get(&c->peak)) set(&c->peak, c->live);
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_BYTES, (int64_t)b->size);
  return b + 1;
}

static void free_cache(tvmgo_thread* t);

/* Makes a block, because the class has no idle one, and the thread's cache if this is its first block. */
static __attribute__((noinline)) void* alloc_slow(tvmgo_thread* t, size_t nbytes) {
  tvmgo_workspace_cache* c = t->workspace;
  if (nbytes > TVMGO_WORKSPACE_LARGEST) {
    tvmgo_raise(TVMGO_MEMORY_ERROR, "allocate workspace of %zu bytes: no machine has as much",
                nbytes);
    return NULL;
  }
  if (c == NULL) {
    c = calloc(1, sizeof *c);
    if (c == NULL) {
      tvmgo_raise_oom();
      return NULL;
    }
    c->countdown = TVMGO_WORKSPACE_WINDOW;
    t->workspace_end = free_cache;
    __atomic_store_n(&t->workspace, c, __ATOMIC_RELEASE); /* others read it */
  }
  unsigned class = tvmgo_workspace_class(nbytes);
  size_t size = tvmgo_workspace_class_size(class);
  shrink(t, c, allowed(c, c->live + (int64_t)size));
  void* p = NULL;
  if (posix_memalign(&p, ALIGNMENT, sizeof(block) + size) != 0) {
    shrink(t, c, 0);
    if (posix_memalign(&p, ALIGNMENT, sizeof(block) + size) != 0) {
      tvmgo_raise(TVMGO_MEMORY_ERROR, "allocate workspace of %zu bytes: out of memory", nbytes);
      return NULL;
    }
  }
  block* b = p;
  *b = (block){.size = size, .cache = c, .class = class};
  set(&c->misses, get(&c->misses) + 1);
  return hand_out(t, c, b);
}

void* tvmgo_workspace_alloc(size_t nbytes) {
  tvmgo_thread* t = tvmgo_thread_get();
  tvmgo_workspace_cache* c = t->workspace;
  if (TVMGO_UNLIKELY(c == NULL || nbytes > TVMGO_WORKSPACE_LARGEST)) return alloc_slow(t, nbytes);
  block** list = &c->idle[tvmgo_workspace_class(nbytes)];
  block* b = *list;
  if (TVMGO_UNLIKELY(b == NULL)) return alloc_slow(t, nbytes);
  *list = b->next;
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_CACHED, -(int64_t)b->size);
  return hand_out(t, c, b);
}

/* Returns a block whose thread has ended to the system, from any thread. The last one also frees the cache's struct. */
static void free_orphan(tvmgo_thread* t, block* b) {
  tvmgo_workspace_cache* c = b->cache;
  int64_t size = (int64_t)b->size;
  b->state = 0;
  free(b);
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_BYTES, -size);
  if (__atomic_sub_fetch(&c->live, size, __ATOMIC_ACQ_REL) == 0) free(c);
}

/* Handles all pointers but a block in use of this thread. */
static __attribute__((noinline)) int free_slow(tvmgo_thread* t, void* p) {
  if (p == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "free workspace: the address is NULL");
  block* b = (uintptr_t)p % ALIGNMENT == sizeof(block) ? (block*)p - 1 : NULL;
  if (b == NULL || (b->state != LIVE && b->state != IDLE))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "free workspace: %p is not the start of a workspace", p);
  if (b->state == IDLE)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "free workspace: %p was given back before: free each workspace once", p);
  if (atomic_load_explicit(&b->cache->ended, memory_order_acquire) == 0)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "free workspace: %p belongs to another thread: free it on the thread that "
                       "allocated it",
                       p);
  free_orphan(t, b);
  return 0;
}

int tvmgo_workspace_free(void* p) {
  tvmgo_thread* t = tvmgo_thread_get();
  tvmgo_workspace_cache* c = t->workspace;
  if (TVMGO_UNLIKELY((uintptr_t)p % ALIGNMENT != sizeof(block))) return free_slow(t, p);
  block* b = (block*)p - 1;
  if (TVMGO_UNLIKELY(b->state != LIVE || b->cache != c)) return free_slow(t, p);
  b->state = IDLE;
  b->next = c->idle[b->class];
  c->idle[b->class] = b;
  c->live -= (int64_t)b->size;
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_BYTES, -(int64_t)b->size);
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_CACHED, (int64_t)b->size);
  uint32_t left = atomic_load_explicit(&c->countdown, memory_order_relaxed) - 1;
  atomic_store_explicit(&c->countdown, left, memory_order_relaxed);
  if (TVMGO_UNLIKELY(left == 0)) end_window(t, c);
  return 0;
}

size_t tvmgo_workspace_trim(void) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (t->workspace == NULL) return 0;
  int64_t bytes = idle_bytes(t);
  shrink(t, t->workspace, 0);
  return (size_t)bytes;
}

/* The thread ends. */
static void free_cache(tvmgo_thread* t) {
  tvmgo_workspace_cache* c = t->workspace;
  if (c == NULL) return;
  shrink(t, c, 0);
  pthread_mutex_lock(&tvmgo_threads_lock); /* others may be reading it */
  ended_hits += hits_of(c);
  ended_misses += get(&c->misses);
  __atomic_store_n(&t->workspace, NULL, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&tvmgo_threads_lock);
  if (c->live == 0) {
    free(c);
  } else { /* blocks are still in use: free_orphan frees the rest */
    atomic_store_explicit(&c->ended, 1, memory_order_release);
  }
}

/* Of another thread's cache; under tvmgo_threads_lock. */
static void ask_to_trim(tvmgo_thread* t, void* arg) {
  if (t == NULL) return;
  tvmgo_workspace_cache* c = __atomic_load_n(&t->workspace, __ATOMIC_ACQUIRE);
  if (c != NULL && t != tvmgo_tls) atomic_store_explicit(&c->trim, 1, memory_order_relaxed);
}

static void add_stats(tvmgo_thread* t, void* arg) {
  tvmgo_workspace_stats* out = arg;
  if (t == NULL) { /* only once: blocks of threads that have ended */
    out->hits += ended_hits;
    out->misses += ended_misses;
    return;
  }
  tvmgo_workspace_cache* c = __atomic_load_n(&t->workspace, __ATOMIC_ACQUIRE);
  if (c == NULL) return;
  int64_t peak = get(&c->peak), last = get(&c->last_peak);
  out->peak += peak > last ? peak : last;
  out->hits += hits_of(c);
  out->misses += get(&c->misses);
}

/* ---- every device ---- */

int32_t tvmgo_workspace_cached_type = kDLCPU;

/* The pool serves the CPU too where memory may move between threads. */
static int has_own(const TVMGODeviceAPI* api, DLDevice dev) {
  return (dev.device_type != kDLCPU || tvmgo_validating) && TVMGODeviceAPIHas(api, alloc_workspace) &&
         TVMGODeviceAPIHas(api, free_workspace);
}

/* Whether p is a workspace of the CPU. This also reads the bytes before other memory, which cannot fault: see
 * ALIGNMENT. */
static __attribute__((no_sanitize("address", "thread"), noinline)) int is_block(const void* p) {
  uint64_t state = ((const block*)p - 1)->state;
  return state == LIVE || state == IDLE;
}

int tvmgo_workspace_refuse(DLDevice dev, const void* p) {
  int mine = dev.device_type == kDLCPU && (uintptr_t)p % ALIGNMENT == sizeof(block) && is_block(p);
  if (TVMGO_LIKELY(!mine && !tvmgo_pool_has(dev, p))) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "free: %p is a workspace of %s:%d, no data space: give it back with "
      "TVMBackendFreeWorkspace", p,
                     tvmgo_device_type_name(dev.device_type), (int)dev.device_id);
}

int tvmgo_workspace_take(DLDevice dev, size_t nbytes, DLDataType hint, TVMFFIStreamHandle stream,
                         void** out) {
  *out = NULL;
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  if (has_own(api, dev)) return api->alloc_workspace(api, dev, nbytes, hint, stream, out);
  return tvmgo_pool_alloc(api, dev, nbytes, stream, out);
}

int tvmgo_workspace_give(DLDevice dev, void* p, TVMFFIStreamHandle on) {
  if (p == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "free workspace: the address is NULL");
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  int kept = tvmgo_recording_keep_workspace(dev, on, p);
  if (kept != 0) return kept < 0 ? -1 : 0;
  if (has_own(api, dev)) return api->free_workspace(api, dev, p);
  return tvmgo_pool_free(dev, p, on);
}

int tvmgo_workspace_give_late(DLDevice dev, void* p) {
  static char no_stream; /* the pool makes the device wait for all of them */
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return -1;
  if (has_own(api, dev)) return api->free_workspace(api, dev, p);
  return tvmgo_pool_free(dev, p, &no_stream);
}

int tvmgo_workspace_trim_device(DLDevice dev, int64_t* freed) {
  *freed = 0;
  if (tvmgo_device_api(dev.device_type) == NULL) return tvmgo_raise_context("trim workspaces");
  tvmgo_validate_flush();
  if (tvmgo_pool_trim(dev, freed) != 0) return tvmgo_raise_context("trim workspaces");
  if (dev.device_type == kDLCPU) {
    *freed += (int64_t)tvmgo_workspace_trim();
    tvmgo_threads_visit(ask_to_trim, NULL);
    tvmgo_idle_freed(*freed);
  }
  return 0;
}

int tvmgo_workspace_set_limit(DLDevice dev, int64_t bytes, int64_t* old) {
  static const char op[] = "limit workspaces";
  *old = 0;
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL || api->set_device(api, dev.device_id) != 0) return tvmgo_raise_context(op);
  if (bytes < 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the limit is negative: %lld", op, (long long)bytes);
  if (dev.device_type != kDLCPU && has_own(api, dev))
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "%s: device %s has workspaces of its own: limit its sessions", op,
                       tvmgo_device_type_name(dev.device_type));
  return tvmgo_pool_set_limit(api, dev, bytes, old);
}

int tvmgo_workspace_stats_of(DLDevice dev, tvmgo_workspace_stats* out) {
  const TVMGODeviceAPI* api = tvmgo_device_api(dev.device_type);
  if (api == NULL) return tvmgo_raise_context("workspace statistics");
  tvmgo_validate_flush();
  tvmgo_pool_stats(dev, out);
  if (dev.device_type == kDLCPU && dev.device_id == 0) {
    int64_t live[TVMGO_LIVE_KINDS];
    tvmgo_live_snapshot(live);
    out->in_use += live[TVMGO_LIVE_WORKSPACE_BYTES];
    out->held += live[TVMGO_LIVE_WORKSPACE_BYTES] + live[TVMGO_LIVE_WORKSPACE_CACHED];
    tvmgo_threads_visit(add_stats, out);
    return 0;
  }
  if (!has_own(api, dev)) return api->set_device(api, dev.device_id); /* whether it exists */
  TVMGOMemoryStats s = {.struct_size = sizeof s, .workspace_bytes = -1};
  if (!TVMGODeviceAPIHas(api, memory_stats))
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR,
                       "workspace statistics: device %s has workspaces of its own and counts none",
                       tvmgo_device_type_name(dev.device_type));
  if (api->memory_stats(api, dev, &s) != 0) return tvmgo_raise_context("workspace statistics");
  if (s.workspace_bytes > 0) out->held += s.workspace_bytes;
  if (s.workspace_in_use_bytes > 0) out->in_use += s.workspace_in_use_bytes;
  return 0;
}

/* Separate from the CPU's path, which then needs no stack frame. */
static __attribute__((noinline)) void* take_current(int device_type, int device_id, uint64_t nbytes,
                                                    int code, int bits) {
  DLDevice dev = {(DLDeviceType)device_type, device_id};
  DLDataType hint = {(uint8_t)code, (uint8_t)bits, 1};
  void* p = NULL;
  int rc = tvmgo_workspace_take(dev, nbytes, hint, tvmgo_stream_get(device_type, device_id), &p);
  return rc == 0 ? p : NULL;
}

static __attribute__((noinline)) int give_current(int device_type, int device_id, void* p) {
  DLDevice dev = {(DLDeviceType)device_type, device_id};
  return tvmgo_workspace_give(dev, p, tvmgo_stream_get(device_type, device_id));
}

static __attribute__((noinline)) void* take_profiled(int device_type, int device_id, uint64_t nbytes, int code,
                                                    int bits) {
  DLDevice dev = {(DLDeviceType)device_type, device_id};
  void* p = device_type == tvmgo_workspace_cached_type && device_id >= 0
                ? tvmgo_workspace_alloc(nbytes)
                : take_current(device_type, device_id, nbytes, code, bits);
  if (p != NULL) tvmgo_profile_took(tvmgo_profiling, dev, p, (int64_t)nbytes);
  return p;
}

static __attribute__((noinline)) void gave(int device_type, int device_id, const void* p) {
  tvmgo_profile_gave(tvmgo_profiling, (DLDevice){(DLDeviceType)device_type, device_id}, p);
}

void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                               int dtype_bits_hint) {
  if (TVMGO_UNLIKELY(tvmgo_profiling != NULL))
    return take_profiled(device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint);
  if (TVMGO_LIKELY(device_type == tvmgo_workspace_cached_type && device_id >= 0)) return tvmgo_workspace_alloc(nbytes);
  return take_current(device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint);
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void* ptr) {
  if (TVMGO_UNLIKELY(tvmgo_profiling != NULL)) gave(device_type, device_id, ptr);
  if (TVMGO_LIKELY(device_type == tvmgo_workspace_cached_type)) return tvmgo_workspace_free(ptr);
  return give_current(device_type, device_id, ptr);
}
