/* Values that are replaced while other threads use them. */
#include "vm/current.h"

#include <stdlib.h>

_Static_assert(TVMGO_SLOTS <= 64, "a bit for each slot");

tvmgo_vm_current* tvmgo_vm_current_new(void (*drop)(tvmgo_vm_value*)) {
  tvmgo_vm_current* c = NULL;
  if (posix_memalign((void**)&c, TVMGO_CACHE_LINE, sizeof *c) != 0) {
    tvmgo_raise_oom();
    return NULL;
  }
  *c = (tvmgo_vm_current){.drop = drop};
  tvmgo_renewed_init(&c->lock_in_child, &c->lock);
  return c;
}

static void drop_all(const tvmgo_vm_current* c, tvmgo_vm_value* list) {
  for (tvmgo_vm_value* next; list != NULL; list = next) {
    next = list->next;
    c->drop(list);
  }
}

void tvmgo_vm_current_free(tvmgo_vm_current* c) {
  if (c == NULL) return;
  drop_all(c, c->leaving);
  drop_all(c, c->waiting);
  tvmgo_vm_value* now = atomic_load(&c->now);
  if (now != NULL) c->drop(now);
  tvmgo_renewed_destroy(&c->lock_in_child);
  free(c);
}

/* The values that can be dropped now, and begins to wait for the readers of the others. Under the lock. */
static tvmgo_vm_value* advance(tvmgo_vm_current* c) {
  tvmgo_vm_value* gone = NULL;
  while (c->busy == 0 && (c->leaving != NULL || c->waiting != NULL)) {
    for (tvmgo_vm_value* next; c->leaving != NULL; c->leaving = next) {
      next = c->leaving->next;
      c->leaving->next = gone;
      gone = c->leaving;
    }
    c->leaving = c->waiting;
    c->waiting = NULL;
    for (int i = 0; c->leaving != NULL && i < TVMGO_SLOTS; i++)
      if (atomic_load(&c->slots[i].readers) != 0) c->busy |= UINT64_C(1) << i;
  }
  if (c->leaving == NULL) atomic_store(&c->replaced, 0);
  return gone;
}

void tvmgo_vm_current_retire(tvmgo_vm_current* c, tvmgo_vm_value* old) {
  if (old == NULL) return;
  pthread_mutex_lock(&c->lock);
  old->next = c->waiting;
  c->waiting = old;
  atomic_store(&c->replaced, 1); /* before the look at readers: one that leaves later looks here */
  tvmgo_vm_value* gone = advance(c);
  pthread_mutex_unlock(&c->lock);
  drop_all(c, gone);
}

void tvmgo_vm_current_drop_idle(tvmgo_vm_current* c, uint32_t slot) {
  pthread_mutex_lock(&c->lock);
  if (atomic_load(&c->slots[slot].readers) == 0) c->busy &= ~(UINT64_C(1) << slot);
  tvmgo_vm_value* gone = advance(c);
  pthread_mutex_unlock(&c->lock);
  drop_all(c, gone);
}
