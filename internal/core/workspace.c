/* Workspaces: the CPU's from caches that each thread has for itself, other devices' from the device.
 *
 * A block has 64 bytes of header before it. Its size is rounded up to a class, four classes per
 * doubling from 4 KiB, and a returned block waits in its thread's list of that class. Nothing is
 * shared between threads and no lock is taken.
 *
 * What a thread keeps is bounded: blocks in use and idle ones together are at most 64 MiB more than
 * the most that was in use at one time lately, that is within the last 4096 to 8192 blocks given
 * back. Beyond that the largest idle blocks go first. */
#include "core.h"

#include <stdlib.h>

#define LIVE UINT64_C(0x6c6976655f777370)  /* handed out */
#define IDLE UINT64_C(0x69646c655f777370)  /* in a list */

enum {
  SMALLEST_LOG2 = 12,                                       /* class 0: up to 4 KiB */
  LARGEST_LOG2 = 46,                                        /* more than any machine maps */
  CLASSES = (LARGEST_LOG2 - SMALLEST_LOG2) * 4 + 1,
  ALIGNMENT = 128, /* of the header: so the block, 64 bytes on, never begins a page, and looking
                      at what lies before an address of this kind cannot fault */
  WINDOW = 4096    /* blocks given back, see above */
};
static const int64_t SLACK = 64 << 20;

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
  int64_t peak;       /* most of live in this window */
  int64_t last_peak;  /* and in the one before */
  uint32_t countdown; /* blocks to come back until the window ends */
  _Atomic int ended;  /* the thread is gone; live > 0 */
  block* idle[CLASSES];
};

static inline unsigned class_of(size_t nbytes) {
  size_t last = (nbytes > (1u << SMALLEST_LOG2) ? nbytes : 1u << SMALLEST_LOG2) - 1;
  unsigned log2 = 63 - (unsigned)__builtin_clzl(last);
  return (log2 - (SMALLEST_LOG2 - 1)) * 4 + (unsigned)(last >> (log2 - 2)) - 7;
}

static inline size_t class_size(unsigned class) {
  return ((size_t)(class + 3) % 4 + 5) << ((class + 3) / 4 + SMALLEST_LOG2 - 3);
}

static inline int64_t idle_bytes(const tvmgo_thread* t) {
  return atomic_load_explicit(&t->live[TVMGO_LIVE_WORKSPACE_CACHED], memory_order_relaxed);
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
      free(b);
    }
  }
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_CACHED, -freed);
}

/* Idle bytes that a thread may keep beside `live` bytes in use. */
static int64_t idle_limit(const tvmgo_workspace_cache* c, int64_t live) {
  int64_t most = c->peak > c->last_peak ? c->peak : c->last_peak;
  return (most > live ? most - live : 0) + SLACK;
}

static void end_window(tvmgo_thread* t, tvmgo_workspace_cache* c) {
  c->countdown = WINDOW;
  if (idle_bytes(t) > SLACK) shrink(t, c, idle_limit(c, c->live));
  c->last_peak = c->peak;
  c->peak = c->live;
}

static inline void* hand_out(tvmgo_thread* t, tvmgo_workspace_cache* c, block* b) {
  b->state = LIVE;
  c->live += (int64_t)b->size;
  if (c->live > c->peak) c->peak = c->live;
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_BYTES, (int64_t)b->size);
  return b + 1;
}

/* No idle block of the class: makes one, and the thread's cache when this is its first. */
static __attribute__((noinline)) void* alloc_slow(tvmgo_thread* t, size_t nbytes) {
  tvmgo_workspace_cache* c = t->workspace;
  if (nbytes > (size_t)1 << LARGEST_LOG2) {
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
    c->countdown = WINDOW;
    t->workspace = c;
  }
  unsigned class = class_of(nbytes);
  size_t size = class_size(class);
  if (idle_bytes(t) > SLACK) shrink(t, c, idle_limit(c, c->live + (int64_t)size));
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
  return hand_out(t, c, b);
}

void* tvmgo_workspace_alloc(size_t nbytes) {
  tvmgo_thread* t = tvmgo_thread_get();
  tvmgo_workspace_cache* c = t->workspace;
  if (TVMGO_UNLIKELY(c == NULL || nbytes > (size_t)1 << LARGEST_LOG2)) return alloc_slow(t, nbytes);
  block** list = &c->idle[class_of(nbytes)];
  block* b = *list;
  if (TVMGO_UNLIKELY(b == NULL)) return alloc_slow(t, nbytes);
  *list = b->next;
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_CACHED, -(int64_t)b->size);
  return hand_out(t, c, b);
}

/* A block whose thread has ended: back to the system from any thread. The last one takes the
 * cache's struct along. */
static void free_orphan(tvmgo_thread* t, block* b) {
  tvmgo_workspace_cache* c = b->cache;
  int64_t size = (int64_t)b->size;
  b->state = 0;
  free(b);
  tvmgo_thread_live(t, TVMGO_LIVE_WORKSPACE_BYTES, -size);
  if (__atomic_sub_fetch(&c->live, size, __ATOMIC_ACQ_REL) == 0) free(c);
}

/* Everything but a block of this thread that is in use. */
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
  if (TVMGO_UNLIKELY(--c->countdown == 0)) end_window(t, c);
  return 0;
}

size_t tvmgo_workspace_trim(void) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (t->workspace == NULL) return 0;
  int64_t bytes = idle_bytes(t);
  shrink(t, t->workspace, 0);
  return (size_t)bytes;
}

void tvmgo_workspace_cache_free(tvmgo_thread* t) {
  tvmgo_workspace_cache* c = t->workspace;
  if (c == NULL) return;
  shrink(t, c, 0);
  t->workspace = NULL;
  if (c->live == 0) {
    free(c);
  } else { /* blocks are still out: free_orphan ends the story */
    atomic_store_explicit(&c->ended, 1, memory_order_release);
  }
}

void* TVMBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                               int dtype_bits_hint) {
  if (TVMGO_LIKELY(device_type == kDLCPU)) return tvmgo_workspace_alloc(nbytes);
  const TVMGODeviceAPI* api = tvmgo_device_api(device_type);
  if (api == NULL) return NULL;
  DLDevice dev = {(DLDeviceType)device_type, device_id};
  DLDataType hint = {(uint8_t)dtype_code_hint, (uint8_t)dtype_bits_hint, 1};
  void* p = NULL;
  int rc;
  if (TVMGODeviceAPIHas(api, alloc_workspace)) {
    rc = api->alloc_workspace(api, dev, nbytes, hint, tvmgo_stream_get(device_type, device_id), &p);
  } else {
    rc = api->alloc_data_space(api, dev, nbytes, 64, hint, &p);
  }
  return rc == 0 ? p : NULL;
}

int TVMBackendFreeWorkspace(int device_type, int device_id, void* ptr) {
  if (TVMGO_LIKELY(device_type == kDLCPU)) return tvmgo_workspace_free(ptr);
  if (ptr == NULL) return tvmgo_raise(TVMGO_VALUE_ERROR, "free workspace: the address is NULL");
  const TVMGODeviceAPI* api = tvmgo_device_api(device_type);
  if (api == NULL) return -1;
  DLDevice dev = {(DLDeviceType)device_type, device_id};
  if (TVMGODeviceAPIHas(api, free_workspace)) return api->free_workspace(api, dev, ptr);
  return api->free_data_space(api, dev, ptr);
}
