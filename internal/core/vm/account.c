/* Accounts of memory. A session's account adds to its model's; the bytes of both are exact at every moment, so that a
 * limit holds for all threads together. Numbers of storages are counted in the account of the session alone, and added
 * up when somebody reads the model's: a storage then changes one shared counter, not three. */
#include "vm/vm.h"

#include <stdlib.h>

enum { CACHE_LINE = 64 };

struct tvmgo_vm_account {
  _Alignas(CACHE_LINE) _Atomic int64_t live, peak, limit;
  _Alignas(CACHE_LINE) _Atomic int64_t taken, returned; /* storages of this account */
  _Atomic int64_t refs;
  tvmgo_vm_account* parent; /* kept alive */
  tvmgo_vm_account *prev, *next; /* among the parent's children; under its lock */
  tvmgo_spin lock;
  tvmgo_vm_account* children;
};

static inline int64_t get(_Atomic int64_t* v) { return atomic_load_explicit(v, memory_order_relaxed); }
static inline void add(_Atomic int64_t* v, int64_t n) { atomic_fetch_add_explicit(v, n, memory_order_relaxed); }

tvmgo_vm_account* tvmgo_vm_account_new(tvmgo_vm_account* parent, int64_t limit) {
  tvmgo_vm_account* a = NULL;
  if (posix_memalign((void**)&a, CACHE_LINE, sizeof *a) != 0) {
    tvmgo_raise_oom();
    return NULL;
  }
  *a = (tvmgo_vm_account){.refs = 1, .parent = parent, .limit = limit > 0 ? limit : 0};
  if (parent == NULL) return a;
  tvmgo_vm_account_retain(parent);
  tvmgo_spin_lock(&parent->lock);
  a->next = parent->children;
  if (a->next != NULL) a->next->prev = a;
  parent->children = a;
  tvmgo_spin_unlock(&parent->lock);
  return a;
}

void tvmgo_vm_account_retain(tvmgo_vm_account* a) {
  if (a != NULL) add(&a->refs, 1);
}

/* Takes the account off the list of its parent, which goes on to count what it has taken. */
static void leave(tvmgo_vm_account* a, tvmgo_vm_account* parent) {
  tvmgo_spin_lock(&parent->lock);
  if (a->prev != NULL) a->prev->next = a->next;
  else parent->children = a->next;
  if (a->next != NULL) a->next->prev = a->prev;
  add(&parent->taken, get(&a->taken));
  add(&parent->returned, get(&a->returned));
  tvmgo_spin_unlock(&parent->lock);
}

void tvmgo_vm_account_release(tvmgo_vm_account* a) {
  while (a != NULL && atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1) {
    tvmgo_vm_account* parent = a->parent;
    if (parent != NULL) leave(a, parent);
    free(a);
    a = parent;
  }
}

/* Adds up the storages of an account and of those below it. */
static void count(tvmgo_vm_account* a, int64_t* taken, int64_t* returned) {
  tvmgo_spin_lock(&a->lock);
  *returned += get(&a->returned);
  *taken += get(&a->taken);
  for (tvmgo_vm_account* c = a->children; c != NULL; c = c->next) count(c, taken, returned);
  tvmgo_spin_unlock(&a->lock);
}

void tvmgo_vm_account_read(tvmgo_vm_account* a, tvmgo_vm_memory* out) {
  int64_t taken = 0, returned = 0;
  count(a, &taken, &returned);
  *out = (tvmgo_vm_memory){.live = get(&a->live), .peak = get(&a->peak), .taken = taken, .limit = get(&a->limit)};
  out->storages = taken > returned ? taken - returned : 0;
  if (out->peak < out->live) out->peak = out->live; /* a thread is about to write it */
}

void tvmgo_vm_account_set_limit(tvmgo_vm_account* a, int64_t limit) {
  atomic_store_explicit(&a->limit, limit > 0 ? limit : 0, memory_order_relaxed);
}

void tvmgo_vm_account_reset_peak(tvmgo_vm_account* a) {
  atomic_store_explicit(&a->peak, get(&a->live), memory_order_relaxed);
}

static void raise_peak(tvmgo_vm_account* a, int64_t live) {
  int64_t peak = get(&a->peak);
  while (peak < live && !atomic_compare_exchange_weak_explicit(&a->peak, &peak, live, memory_order_relaxed,
                                                               memory_order_relaxed)) {
  }
}

/* Adds n bytes to the account and to those above it. A peak is written only if all of them have accepted. */
static int add_bytes(tvmgo_vm_account* a, int64_t n) {
  int64_t live = get(&a->live), sum;
  do {
    int64_t limit = get(&a->limit);
    if (__builtin_add_overflow(live, n, &sum) || (limit > 0 && sum > limit))
      return tvmgo_raise(TVMGO_MEMORY_ERROR, "%lld bytes exceed the memory limit of the %s: %lld of %lld bytes are in "
          "use: raise the limit, or release results first", (long long)n, a->parent != NULL ? "session" : "model",
                         (long long)live, (long long)(limit > 0 ? limit : INT64_MAX));
  } while (!atomic_compare_exchange_weak_explicit(&a->live, &live, sum, memory_order_relaxed, memory_order_relaxed));
  if (a->parent != NULL && add_bytes(a->parent, n) != 0) {
    add(&a->live, -n);
    return -1;
  }
  raise_peak(a, sum);
  return 0;
}

int tvmgo_vm_account_take(tvmgo_vm_account* a, int64_t nbytes) {
  if (a == NULL) return 0;
  if (add_bytes(a, nbytes) != 0) return -1;
  add(&a->taken, 1);
  return 0;
}

void tvmgo_vm_account_give(tvmgo_vm_account* a, int64_t nbytes) {
  for (tvmgo_vm_account* at = a; at != NULL; at = at->parent) add(&at->live, -nbytes);
  if (a != NULL) add(&a->returned, 1);
}
