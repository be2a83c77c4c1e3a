/* Counted objects in the tvm-ffi layout (docs/abi.md B.1, B.3), and the counters of what is alive. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>

#define TVMGO_LIKELY(x) __builtin_expect(!!(x), 1)
#define TVMGO_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* One strong and one weak reference: what a new object holds. */
#define TVMGO_REF_UNIQUE UINT64_C(0x100000001)
#define TVMGO_REF_WEAK_ONE UINT64_C(0x100000000)

typedef void (*tvmgo_deleter)(void* self, int flags);

/* A deleter for objects that hold nothing. */
void tvmgo_object_plain_deleter(void* self, int flags);

/* The slow half of a release: called when a strong count reaches zero. old is the count before. */
void tvmgo_object_drop(TVMFFIObject* obj, uint64_t old);

static inline void tvmgo_object_retain(void* obj) {
  __atomic_fetch_add(&((TVMFFIObject*)obj)->combined_ref_count, 1, __ATOMIC_RELAXED);
}

/* Releases one strong reference; NULL is allowed. */
static inline void tvmgo_object_release(void* obj) {
  if (obj == NULL) return;
  TVMFFIObject* o = (TVMFFIObject*)obj;
  uint64_t old = __atomic_fetch_sub(&o->combined_ref_count, 1, __ATOMIC_RELEASE);
  if (TVMGO_UNLIKELY((uint32_t)old == 1)) tvmgo_object_drop(o, old);
}

static inline void tvmgo_object_retain_weak(void* obj) {
  __atomic_fetch_add(&((TVMFFIObject*)obj)->combined_ref_count, TVMGO_REF_WEAK_ONE,
                     __ATOMIC_RELAXED);
}

/* Releases one weak reference; the storage is freed when no reference of either kind is left. */
void tvmgo_object_release_weak(void* obj);

/* Turns a weak reference into an additional strong one; 0 when the object is already dead. */
int tvmgo_object_promote(void* obj);

/* Counters of what is alive in the process. Each thread has its own; a snapshot adds them up. */
typedef enum {
  TVMGO_LIVE_OBJECTS,         /* objects made by tvmgo_object_new */
  TVMGO_LIVE_FUNCTIONS,       /* of which functions */
  TVMGO_LIVE_MODULES,         /* of which modules */
  TVMGO_LIVE_TENSORS,         /* of which tensors */
  TVMGO_LIVE_TENSOR_BYTES,    /* device bytes that tensors own */
  TVMGO_LIVE_MAPPINGS,        /* shared libraries kept open */
  TVMGO_LIVE_WORKSPACE_BYTES, /* workspace bytes handed out and not yet returned */
  TVMGO_LIVE_WORKSPACE_CACHED, /* workspace bytes kept for reuse */
  TVMGO_LIVE_DATA_BYTES,      /* data space handed out by the CPU device */
  TVMGO_LIVE_DATA_COUNT,      /* allocations behind them */
  TVMGO_LIVE_INLINE_BYTES,    /* part of TENSOR_BYTES: CPU memory in the same allocation as the tensor's header */
  TVMGO_LIVE_INLINE_COUNT,    /* tensors with such memory */
  TVMGO_LIVE_GRAPHS,          /* of which (objects) graphs, recordings included */
  TVMGO_LIVE_KINDS
} tvmgo_live_kind;

/* Adds delta to a counter of the calling thread. */
void tvmgo_live_add(tvmgo_live_kind kind, int64_t delta);
void tvmgo_live_snapshot(int64_t out[TVMGO_LIVE_KINDS]);
