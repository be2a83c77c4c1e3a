//go:build opencl

/* Handles, in one reserved range of addresses. */
#include "driver.h"

#include <string.h>
#include <sys/mman.h>

enum { MAX_HANDLES = 1 << 20, STEP = 1 << 12 };
_Static_assert(sizeof(cl_handle) <= 96, "a handle is small");

static tvmgo_spin lock;
static cl_handle* base;            /* of the range; set once */
static _Atomic uint32_t num_usable; /* handles from base on that may be read; grows */
static uint32_t num_given;         /* of those, how many were ever handed out */
static cl_handle *first_free, **last_free = &first_free;

/* Makes room for more handles. Under the lock. */
static int grow(void) {
  uint32_t n = atomic_load(&num_usable);
  if (base == NULL) {
    void* p = mmap(NULL, MAX_HANDLES * sizeof(cl_handle), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return tvmgo_raise_oom();
    base = p;
  }
  if (n == MAX_HANDLES)
    return tvmgo_raise(TVMGO_MEMORY_ERROR, "opencl: %d arrays, streams and marks are in use, there cannot be more: free some",
                       MAX_HANDLES);
  if (mprotect(base + n, STEP * sizeof(cl_handle), PROT_READ | PROT_WRITE) != 0) return tvmgo_raise_oom();
  atomic_store_explicit(&num_usable, n + STEP, memory_order_release);
  return 0;
}

/* The oldest free handle is taken first, so that one which is used after it was freed stays recognisable for long. */
cl_handle* tvmgo_cl_handle_new(handle_kind kind, int32_t device) {
  cl_handle* h = NULL;
  tvmgo_spin_lock(&lock);
  if (num_given < atomic_load(&num_usable) || (first_free == NULL && grow() == 0)) {
    h = base + num_given++;
  } else if (first_free != NULL) {
    h = first_free;
    first_free = h->next;
    if (first_free == NULL) last_free = &first_free;
  }
  tvmgo_spin_unlock(&lock);
  if (h == NULL) return NULL;
  memset(h, 0, sizeof *h);
  h->device = device;
  atomic_store_explicit(&h->kind, kind, memory_order_release);
  return h;
}

void tvmgo_cl_handle_free(cl_handle* h) {
  tvmgo_spin_lock(&lock);
  atomic_store(&h->kind, HANDLE_FREE);
  h->next = NULL;
  *last_free = h;
  last_free = &h->next;
  tvmgo_spin_unlock(&lock);
}

handle_kind tvmgo_cl_handle_kind(const void* p) {
  size_t usable = atomic_load_explicit(&num_usable, memory_order_acquire);
  size_t at = (uintptr_t)p - (uintptr_t)base;
  if (at >= usable * sizeof(cl_handle) || at % sizeof(cl_handle) != 0) return HANDLE_FREE;
  return atomic_load_explicit(&((cl_handle*)p)->kind, memory_order_acquire);
}

static const char* const kind_names[] = {"nothing in use", "memory", "an image", "a stream", "an event", "a timer"};

cl_handle* tvmgo_cl_handle_need(const void* p, handle_kind kind, const char* what) {
  handle_kind have = tvmgo_cl_handle_kind(p);
  if (TVMGO_LIKELY(have == kind)) return (cl_handle*)p;
  if (have == HANDLE_FREE)
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is not %s of opencl: it was made elsewhere, or freed", what, p, kind_names[kind]);
  else
    tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %p is %s of opencl, not %s", what, p, kind_names[have], kind_names[kind]);
  return NULL;
}
