/* Small blocks of the CPU's pool that the threads of a slot keep for their next requests, so that threads do not
 * compete for the pool's lock. For the pool they are in use; its statistics subtract them. A block may be returned by
 * another thread than the one that requested it. */
#include "device/device.h"
#include "device/validate.h"
#include "device/workspace_class.h"
#include "device/workspace_pool.h"

enum { LARGEST_LOG2 = 18, MAX_KEPT = 1 << 20, LISTS = (LARGEST_LOG2 - TVMGO_WORKSPACE_SMALLEST_LOG2) * 4 + 1 };

/* The begin of a block that is kept. */
typedef struct block {
  struct block* next; /* returned earlier */
  int64_t returned;   /* age at the return */
} block;

typedef struct {
  _Alignas(TVMGO_CACHE_LINE) tvmgo_spin lock;
  int64_t bytes, hits;
  block* idle[LISTS];
} slot;

static slot slots[TVMGO_SLOTS];
static _Atomic int64_t age; /* calls of tvmgo_slots_age */

/* -1: the pool alone serves such a request. */
static inline int list_of(DLDevice dev, size_t nbytes) {
  if (dev.device_type != kDLCPU || dev.device_id != 0 || nbytes > (size_t)1 << LARGEST_LOG2 || tvmgo_validating)
    return -1;
  return (int)tvmgo_workspace_class(nbytes);
}

int tvmgo_slots_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, TVMFFIStreamHandle stream, void** out) {
  int list = list_of(dev, nbytes);
  if (list < 0) return tvmgo_pool_alloc(api, dev, nbytes, stream, out);
  slot* s = &slots[tvmgo_thread_slot()];
  tvmgo_spin_lock(&s->lock);
  block* b = s->idle[list];
  if (b != NULL) {
    s->idle[list] = b->next;
    s->bytes -= (int64_t)tvmgo_workspace_class_size((unsigned)list);
    s->hits++;
  }
  tvmgo_spin_unlock(&s->lock);
  *out = b;
  return b != NULL ? 0 : tvmgo_pool_alloc(api, dev, nbytes, stream, out);
}

int tvmgo_slots_free(DLDevice dev, void* p, size_t nbytes, TVMFFIStreamHandle on) {
  int list = list_of(dev, nbytes);
  if (list < 0) return tvmgo_pool_free(dev, p, on);
  int64_t size = (int64_t)tvmgo_workspace_class_size((unsigned)list);
  slot* s = &slots[tvmgo_thread_slot()];
  tvmgo_spin_lock(&s->lock);
  int keep = s->bytes + size <= MAX_KEPT;
  if (keep) {
    block* b = p;
    *b = (block){s->idle[list], atomic_load_explicit(&age, memory_order_relaxed)};
    s->idle[list] = b;
    s->bytes += size;
  }
  tvmgo_spin_unlock(&s->lock);
  if (!keep) return tvmgo_pool_free(dev, p, on);
  tvmgo_idle_noted();
  return 0;
}

/* Takes the blocks out of all slots that were returned before this age, and returns them to the pool as used last on a
 * stream; the result is their number of bytes. */
static int64_t flush(int64_t before, TVMFFIStreamHandle on) {
  static const DLDevice cpu = {kDLCPU, 0};
  int64_t bytes = 0;
  for (int i = 0; i < TVMGO_SLOTS; i++)
    for (int k = 0; k < LISTS; k++) {
      slot* s = &slots[i];
      int64_t size = (int64_t)tvmgo_workspace_class_size((unsigned)k), here = 0;
      tvmgo_spin_lock(&s->lock);
      block** at = &s->idle[k];
      while (*at != NULL && (*at)->returned >= before) at = &(*at)->next; /* newest first */
      block* list = *at;
      *at = NULL;
      for (block* b = list; b != NULL; b = b->next) here += size;
      s->bytes -= here;
      tvmgo_spin_unlock(&s->lock);
      bytes += here;
      for (block* next; list != NULL; list = next) {
        next = list->next;
        if (tvmgo_pool_free(cpu, list, on) != 0) tvmgo_object_release(tvmgo_error_take());
      }
    }
  return bytes;
}

void tvmgo_slots_flush(DLDevice dev) {
  if (dev.device_type == kDLCPU && dev.device_id == 0) flush(INT64_MAX, NULL);
}

int64_t tvmgo_slots_age(int64_t ages) {
  static char no_stream; /* the pool keeps none of them */
  int64_t now = atomic_fetch_add_explicit(&age, 1, memory_order_relaxed);
  return flush(now - ages + 1, &no_stream);
}

static void count(int64_t* bytes, int64_t* hits) {
  *bytes = *hits = 0;
  for (int i = 0; i < TVMGO_SLOTS; i++) {
    tvmgo_spin_lock(&slots[i].lock);
    *bytes += slots[i].bytes;
    *hits += slots[i].hits;
    tvmgo_spin_unlock(&slots[i].lock);
  }
}

int64_t tvmgo_slots_idle(void) {
  int64_t bytes, hits;
  count(&bytes, &hits);
  return bytes;
}

void tvmgo_slots_stats(DLDevice dev, tvmgo_workspace_stats* out) {
  int64_t bytes, hits;
  if (dev.device_type != kDLCPU || dev.device_id != 0) return;
  count(&bytes, &hits);
  out->in_use = out->in_use > bytes ? out->in_use - bytes : 0;
  out->hits += hits;
}
