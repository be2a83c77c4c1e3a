/* Accounts of memory.
 *
 * Threads that run one model at once take and return storages all the time, and a counter that all of them write would
 * cost more than a small kernel. So the bytes of a returned storage stay with the thread's slot, up to a limit, and its
 * next storage takes them from there. What is charged to an account is what lies in storages and what slots keep. The
 * limit holds for what is charged, and no request fails for what slots keep: it is collected first. A session's account
 * charges the model's with what is charged to itself.
 *
 * An account lives as long as a reference or a storage does. While there are references, only slots count storages. */
#include "vm/vm.h"

#include <stdlib.h>

enum { MAX_KEPT = 1 << 20 };

/* Written by the threads of a slot. */
typedef struct {
  _Alignas(TVMGO_CACHE_LINE) tvmgo_spin lock;
  int64_t kept;            /* bytes that are charged, but in no storage */
  int64_t taken, returned; /* storages */
} slot_account;

struct tvmgo_vm_account {
  _Alignas(TVMGO_CACHE_LINE) _Atomic int64_t charged;
  _Atomic int64_t peak, limit;   /* peak: the most that was charged */
  _Atomic uint64_t unpooled;     /* bits of device types */
  _Atomic int64_t refs;
  _Atomic int64_t left;          /* storages, once there is no reference */
  int closed;                    /* there is no reference; written under all locks of slots */
  tvmgo_vm_account* parent;      /* kept alive */
  tvmgo_vm_account *prev, *next; /* among the parent's children; under its lock */
  tvmgo_spin lock;               /* of children; before those of slots */
  tvmgo_vm_account* children;
  int64_t taken, returned;       /* of children that are gone; under lock */
  slot_account slots[TVMGO_SLOTS];
};

static inline int64_t get(_Atomic int64_t* v) { return atomic_load_explicit(v, memory_order_relaxed); }
static inline void add(_Atomic int64_t* v, int64_t n) { atomic_fetch_add_explicit(v, n, memory_order_relaxed); }

static slot_account* my_slot(tvmgo_vm_account* a) { return &a->slots[tvmgo_thread_slot()]; }

/* Takes back what was charged to an account and to those above it. */
static void discharge(tvmgo_vm_account* a, int64_t n) {
  for (; a != NULL && n != 0; a = a->parent) add(&a->charged, -n);
}

/* Collects what the slots of an account and of those below it keep. */
static void collect(tvmgo_vm_account* a) {
  int64_t kept = 0;
  for (int i = 0; i < TVMGO_SLOTS; i++) {
    tvmgo_spin_lock(&a->slots[i].lock);
    kept += a->slots[i].kept;
    a->slots[i].kept = 0;
    tvmgo_spin_unlock(&a->slots[i].lock);
  }
  discharge(a, kept);
  tvmgo_spin_lock(&a->lock);
  for (tvmgo_vm_account* c = a->children; c != NULL; c = c->next) collect(c);
  tvmgo_spin_unlock(&a->lock);
}

/* ---- references ---- */

tvmgo_vm_account* tvmgo_vm_account_new(tvmgo_vm_account* parent, int64_t limit) {
  tvmgo_vm_account* a = NULL;
  if (posix_memalign((void**)&a, TVMGO_CACHE_LINE, sizeof *a) != 0) {
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

/* Adds up the storages of an account and of those below it. */
static void count(tvmgo_vm_account* a, int64_t* taken, int64_t* returned, int64_t* kept) {
  for (int i = 0; i < TVMGO_SLOTS; i++) {
    tvmgo_spin_lock(&a->slots[i].lock);
    *taken += a->slots[i].taken;
    *returned += a->slots[i].returned;
    *kept += a->slots[i].kept;
    tvmgo_spin_unlock(&a->slots[i].lock);
  }
  tvmgo_spin_lock(&a->lock);
  *taken += a->taken;
  *returned += a->returned;
  for (tvmgo_vm_account* c = a->children; c != NULL; c = c->next) count(c, taken, returned, kept);
  tvmgo_spin_unlock(&a->lock);
}

/* Frees an account without references and storages. Its parent goes on to count what it has taken. */
static void account_free(tvmgo_vm_account* a) {
  tvmgo_vm_account* parent = a->parent;
  if (parent != NULL) {
    int64_t taken = 0, returned = 0, kept = 0;
    tvmgo_spin_lock(&parent->lock);
    if (a->prev != NULL) a->prev->next = a->next;
    else parent->children = a->next;
    if (a->next != NULL) a->next->prev = a->prev;
    count(a, &taken, &returned, &kept);
    parent->taken += taken;
    parent->returned += returned;
    tvmgo_spin_unlock(&parent->lock);
  }
  free(a);
  tvmgo_vm_account_release(parent);
}

void tvmgo_vm_account_release(tvmgo_vm_account* a) {
  if (a == NULL || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
  int64_t left = 0, kept = 0;
  for (int i = 0; i < TVMGO_SLOTS; i++) tvmgo_spin_lock(&a->slots[i].lock);
  for (int i = 0; i < TVMGO_SLOTS; i++) {
    left += a->slots[i].taken - a->slots[i].returned;
    kept += a->slots[i].kept;
    a->slots[i].kept = 0;
  }
  atomic_store_explicit(&a->left, left, memory_order_relaxed);
  a->closed = 1;
  discharge(a, kept);
  for (int i = 0; i < TVMGO_SLOTS; i++) tvmgo_spin_unlock(&a->slots[i].lock); /* a storage may free it now */
  if (left == 0) account_free(a);
}

/* ---- numbers ---- */

void tvmgo_vm_account_read(tvmgo_vm_account* a, tvmgo_vm_memory* out) {
  int64_t taken = 0, returned = 0, kept = 0;
  count(a, &taken, &returned, &kept);
  int64_t live = get(&a->charged) - kept;
  *out = (tvmgo_vm_memory){.live = live > 0 ? live : 0, .peak = get(&a->peak), .taken = taken, .limit = get(&a->limit)};
  out->storages = taken > returned ? taken - returned : 0;
  if (out->peak < out->live) out->peak = out->live; /* a thread is about to write it */
}

void tvmgo_vm_account_set_limit(tvmgo_vm_account* a, int64_t limit) {
  atomic_store_explicit(&a->limit, limit > 0 ? limit : 0, memory_order_relaxed);
  collect(a);
}

void tvmgo_vm_account_set_unpooled(tvmgo_vm_account* a, uint64_t device_types) {
  atomic_store_explicit(&a->unpooled, device_types, memory_order_relaxed);
}

uint64_t tvmgo_vm_account_unpooled(tvmgo_vm_account* a) {
  return a == NULL ? 0 : atomic_load_explicit(&a->unpooled, memory_order_relaxed);
}

void tvmgo_vm_account_reset_peak(tvmgo_vm_account* a) {
  collect(a);
  atomic_store_explicit(&a->peak, get(&a->charged), memory_order_relaxed);
}

static void raise_peak(tvmgo_vm_account* a, int64_t charged) {
  int64_t peak = get(&a->peak);
  while (peak < charged && !atomic_compare_exchange_weak_explicit(&a->peak, &peak, charged, memory_order_relaxed,
                                                                  memory_order_relaxed)) {
  }
}

/* ---- storages ---- */

/* Charges an account and those above it, or none of them: then the result is the one whose limit it would exceed. A
 * peak is written only if all of them have accepted. */
static tvmgo_vm_account* charge(tvmgo_vm_account* a, int64_t n) {
  int64_t now = get(&a->charged), sum;
  do {
    int64_t limit = get(&a->limit);
    if (__builtin_add_overflow(now, n, &sum) || (limit > 0 && sum > limit)) return a;
  } while (!atomic_compare_exchange_weak_explicit(&a->charged, &now, sum, memory_order_relaxed, memory_order_relaxed));
  tvmgo_vm_account* full = a->parent != NULL ? charge(a->parent, n) : NULL;
  if (full != NULL) add(&a->charged, -n);
  else raise_peak(a, sum);
  return full;
}

/* Takes what the slot keeps, and charges the rest; the result as that of charge. */
static tvmgo_vm_account* take_once(tvmgo_vm_account* a, int64_t n) {
  slot_account* s = my_slot(a);
  tvmgo_spin_lock(&s->lock);
  int64_t kept = s->kept < n ? s->kept : n;
  tvmgo_vm_account* full = kept < n ? charge(a, n - kept) : NULL;
  if (full == NULL) {
    s->kept -= kept;
    s->taken++;
    if (a->closed) add(&a->left, 1);
  }
  tvmgo_spin_unlock(&s->lock);
  return full;
}

int tvmgo_vm_account_take(tvmgo_vm_account* a, int64_t nbytes) {
  tvmgo_vm_account* full;
  if (a == NULL || (full = take_once(a, nbytes)) == NULL) return 0;
  collect(full);
  if ((full = take_once(a, nbytes)) == NULL) return 0;
  int64_t limit = get(&full->limit);
  return tvmgo_raise(TVMGO_MEMORY_ERROR, "%lld bytes exceed the memory limit of the %s: %lld of %lld bytes are in "
      "use: raise the limit, or release results first", (long long)nbytes, full->parent != NULL ? "session" : "model",
                     (long long)get(&full->charged), (long long)(limit > 0 ? limit : INT64_MAX));
}

/* Whether more is charged than a limit allows, because it was lowered: then nothing is kept. */
static int over_limit(tvmgo_vm_account* a) {
  for (; a != NULL; a = a->parent) {
    int64_t limit = get(&a->limit);
    if (limit > 0 && get(&a->charged) > limit) return 1;
  }
  return 0;
}

void tvmgo_vm_account_give(tvmgo_vm_account* a, int64_t nbytes) {
  if (a == NULL) return;
  slot_account* s = my_slot(a);
  int64_t back = nbytes;
  tvmgo_spin_lock(&s->lock);
  int closed = a->closed;
  s->returned++;
  if (!closed && s->kept + nbytes <= MAX_KEPT && !over_limit(a)) {
    s->kept += nbytes;
    back = 0;
  }
  if (!closed) discharge(a, back); /* under the lock: it keeps the account alive */
  tvmgo_spin_unlock(&s->lock);
  if (!closed) return;
  discharge(a, back);
  if (atomic_fetch_sub_explicit(&a->left, 1, memory_order_acq_rel) == 1) account_free(a);
}
