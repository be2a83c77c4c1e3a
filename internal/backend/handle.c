/* Handles, in one reserved range of addresses. */
#include "handle.h"

#include <string.h>
#include <sys/mman.h>

enum { MAX_HANDLES = 1 << 20, STEP = 1 << 12 };

/* Makes STEP more handles usable. The caller holds the lock. 0, or -1 with an error raised. */
static int grow(tvmgo_handles* all) {
  uint32_t n = atomic_load(&all->num_usable);
  if (all->base == NULL) {
    void* p = mmap(NULL, MAX_HANDLES * all->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return tvmgo_raise_oom();
    all->base = p;
  }
  if (n == MAX_HANDLES)
    return tvmgo_raise(TVMGO_MEMORY_ERROR,
                       "%s: %d arrays, streams, events and timers are in use, which is the limit: free some", all->api,
                       MAX_HANDLES);
  if (mprotect(all->base + n * all->size, STEP * all->size, PROT_READ | PROT_WRITE) != 0) return tvmgo_raise_oom();
  atomic_store_explicit(&all->num_usable, n + STEP, memory_order_release);
  return 0;
}

/* Reuses the handle that was freed first, so that a use after free is recognised for as long as possible. */
void* tvmgo_handle_new(tvmgo_handles* all, uint32_t kind, int32_t device) {
  tvmgo_handle* h = NULL;
  tvmgo_spin_lock(&all->lock);
  if (all->num_given < atomic_load(&all->num_usable) || (all->first_free == NULL && grow(all) == 0)) {
    h = (tvmgo_handle*)(all->base + all->size * all->num_given++);
  } else if (all->first_free != NULL) {
    h = all->first_free;
    all->first_free = h->next;
  }
  tvmgo_spin_unlock(&all->lock);
  if (h == NULL) return NULL;
  memset(h, 0, all->size);
  h->device = device;
  atomic_store_explicit(&h->kind, kind, memory_order_release);
  return h;
}

void tvmgo_handle_free(tvmgo_handles* all, void* p) {
  tvmgo_handle* h = p;
  tvmgo_spin_lock(&all->lock);
  atomic_store(&h->kind, 0);
  h->next = NULL;
  if (all->first_free == NULL) all->first_free = h;
  else all->last_free->next = h;
  all->last_free = h;
  tvmgo_spin_unlock(&all->lock);
}

uint32_t tvmgo_handle_kind(const tvmgo_handles* all, const void* p) {
  size_t usable = atomic_load_explicit(&all->num_usable, memory_order_acquire);
  size_t at = (uintptr_t)p - (uintptr_t)all->base;
  if (at >= usable * all->size || at % all->size != 0) return 0;
  return atomic_load_explicit(&((const tvmgo_handle*)p)->kind, memory_order_acquire);
}

void* tvmgo_handle_need(const tvmgo_handles* all, const void* p, uint32_t kind, const char* what) {
  uint32_t have = tvmgo_handle_kind(all, p);
  if (TVMGO_LIKELY(have == kind)) return (void*)p;
  if (have == 0)
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is not %s of %s: it was freed, or created elsewhere", what, p,
                all->kind_names[kind], all->api);
  else
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is %s of %s, not %s", what, p, all->kind_names[have], all->api,
                all->kind_names[kind]);
  return NULL;
}

void* tvmgo_handle_memory(const tvmgo_handles* all, const void* p, int32_t device, const char* what) {
  const tvmgo_handle* h = p;
  if (tvmgo_handle_kind(all, p) - 1u >= all->memory_kinds) return tvmgo_handle_need(all, p, 1, what);
  if (TVMGO_LIKELY(h->device == device)) return (void*)p;
  tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is memory of %s:%d, not of %s:%d", what, p, all->api, (int)h->device, all->api,
              (int)device);
  return NULL;
}
