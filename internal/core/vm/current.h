/* A value that calls use and that few calls replace: what a session runs. Readers count themselves in the slot of their
 * thread, so that threads which call one session write nothing that others read. A replaced value is dropped when every
 * slot has been without readers once since then; the last reader of a slot looks. In a forked child, values that
 * threads of the parent were reading stay. */
#pragma once

#include "object/object.h"

#include <pthread.h>

/* The begin of a value. */
typedef struct tvmgo_vm_value {
  struct tvmgo_vm_value* next; /* replaced, too */
} tvmgo_vm_value;

typedef struct {
  _Atomic(tvmgo_vm_value*) now; /* may be NULL */
  _Atomic int replaced;         /* some value waits */
  tvmgo_renewed lock_in_child;
  pthread_mutex_t lock;         /* of all that follows; nothing is called under it */
  tvmgo_vm_value* leaving;      /* dropped once no bit of busy is set */
  uint64_t busy;                /* slots that have had readers ever since leaving was replaced */
  tvmgo_vm_value* waiting;      /* replaced since then */
  void (*drop)(tvmgo_vm_value*);
  struct {
    _Alignas(TVMGO_CACHE_LINE) _Atomic int64_t readers;
  } slots[TVMGO_SLOTS];
} tvmgo_vm_current;

tvmgo_vm_current* tvmgo_vm_current_new(void (*drop)(tvmgo_vm_value*)); /* NULL: raised */
/* Drops all values; nobody uses it any more. NULL is allowed. */
void tvmgo_vm_current_free(tvmgo_vm_current* c);
/* Makes a value, owned, the present one; the result is the one before, which goes to retire. A lock of the caller may
 * be held. */
static inline tvmgo_vm_value* tvmgo_vm_current_swap(tvmgo_vm_current* c, tvmgo_vm_value* v) {
  return atomic_exchange(&c->now, v);
}
/* Drops a value that was replaced, as soon as nobody uses it. NULL is allowed. */
void tvmgo_vm_current_retire(tvmgo_vm_current* c, tvmgo_vm_value* old);
void tvmgo_vm_current_drop_idle(tvmgo_vm_current* c, uint32_t slot);

/* The present value, which exists until leave with the same slot. The thread may differ. */
static inline tvmgo_vm_value* tvmgo_vm_current_enter(tvmgo_vm_current* c, uint32_t* slot) {
  *slot = tvmgo_thread_slot();
  atomic_fetch_add(&c->slots[*slot].readers, 1); /* before the load: retire reads in the other order */
  return atomic_load(&c->now);
}
static inline void tvmgo_vm_current_leave(tvmgo_vm_current* c, uint32_t slot) {
  if (atomic_fetch_sub(&c->slots[slot].readers, 1) == 1 && TVMGO_UNLIKELY(atomic_load(&c->replaced) != 0))
    tvmgo_vm_current_drop_idle(c, slot);
}
