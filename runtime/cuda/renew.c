//go:build cuda

/* Primary contexts that other code of the process resets (cudaDeviceReset). All objects of such a context are lost.
 * The device cannot be used until tvmgo_cu_renew retains a new context. Lost objects are freed without calls of the
 * driver. */
#include "driver.h"

#include <stdlib.h>

static int is_reset(const cu_device* d) {
  unsigned int flags;
  int active = 1;
  return atomic_load(&d->context) != NULL && cuDevicePrimaryCtxGetState(d->id, &flags, &active) == CUDA_SUCCESS &&
      !active;
}

int tvmgo_cu_find_reset(void) {
  for (int32_t i = 0; i < tvmgo_cu_num_devices; i++)
    if (is_reset(&tvmgo_cu_devices[i])) return i;
  return -1;
}

/* Whether a context was reset. Other code may have retained a new one; then the old one cannot be made current. */
static int is_dead(cu_device* d, CUcontext context) {
  CUcontext before = NULL;
  if (is_reset(d)) return 1;
  cuCtxGetCurrent(&before);
  if (cuCtxSetCurrent(context) != CUDA_SUCCESS) return 1;
  cuCtxSetCurrent(before);
  return 0;
}

/* The lost streams that their owners have not freed yet. */
static struct {
  pthread_mutex_t lock;
  CUstream* at;
  int n, cap;
} lost = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic int any_reset; /* some context was reset */

static int lose_streams(const cu_device* d) {
  int rc = 0;
  pthread_mutex_lock(&lost.lock);
  if (lost.n + d->num_streams > lost.cap) {
    int cap = 2 * (lost.n + d->num_streams);
    CUstream* more = realloc(lost.at, (size_t)cap * sizeof *more);
    rc = more == NULL ? tvmgo_raise_oom() : 0;
    if (rc == 0) lost.at = more;
    if (rc == 0) lost.cap = cap;
  }
  for (int i = 0; rc == 0 && i < d->num_streams; i++) lost.at[lost.n++] = d->streams[i];
  pthread_mutex_unlock(&lost.lock);
  return rc;
}

/* Marks all objects of a device as lost. The caller holds the device's lock. 0, or -1 with an error raised. */
static int forget(cu_device* d) {
  if (lose_streams(d) != 0) return -1;
  for (cu_idle* next; d->idle != NULL; d->idle = next) {
    next = d->idle->next;
    free(d->idle);
  }
  d->num_streams = d->num_freed = d->num_spare = 0;
  for (int i = 0; i < NUM_STAGES; i++) d->stages[i].at = d->stages[i].done[0] = d->stages[i].done[1] = NULL;
  for (int32_t i = 0; i < tvmgo_cu_num_devices; i++)
    atomic_fetch_and(&tvmgo_cu_devices[i].peers_tried, ~((uint64_t)1 << d->index));
  atomic_store(&d->peers_tried, 0);
  atomic_store(&d->pool, NULL);
  atomic_store(&d->captures, 0);
  tvmgo_cu_allocations_lost(d->index);
  tvmgo_cu_forget_deferred(d->index);
  atomic_store(&any_reset, 1);
  atomic_fetch_add(&d->epoch, 1);
  atomic_store(&d->context, NULL);
  return 0;
}

int tvmgo_cu_renew(int32_t index) {
  cu_device* d = tvmgo_cu_device(index);
  if (d == NULL) return -1;
  pthread_mutex_lock(&d->lock);
  CUcontext context = atomic_load(&d->context);
  int rc = 0;
  if (context != NULL && !is_dead(d, context))
    rc = tvmgo_raise(TVMGO_VALUE_ERROR, "create a new context of cuda:%d: the current one was not reset, so it can "
                                        "still be used", (int)index);
  else if (context != NULL)
    rc = forget(d);
  pthread_mutex_unlock(&d->lock);
  if (rc != 0) return -1;
  return atomic_load(&d->context) != NULL ? 0 : tvmgo_cu_retain(d);
}

int tvmgo_cu_stale_add(cu_stale* a, uintptr_t at) {
  uintptr_t* more = realloc(a->at, (a->n + 1) * sizeof *more);
  if (more == NULL) return -1;
  a->at = more;
  a->at[a->n++] = at;
  return 0;
}

int tvmgo_cu_is_lost(uintptr_t at) {
  cu_block b;
  return TVMGO_UNLIKELY(atomic_load_explicit(&any_reset, memory_order_relaxed)) && tvmgo_cu_allocation_find(at, &b) &&
         b.lost;
}

static int find_stream(CUstream stream, int take) {
  int found = 0;
  if (TVMGO_LIKELY(!atomic_load_explicit(&any_reset, memory_order_relaxed))) return 0;
  pthread_mutex_lock(&lost.lock);
  for (int i = 0; i < lost.n && !found; i++) {
    found = lost.at[i] == stream;
    if (found && take) lost.at[i] = lost.at[--lost.n];
  }
  pthread_mutex_unlock(&lost.lock);
  return found;
}

int tvmgo_cu_is_lost_stream(CUstream stream) { return find_stream(stream, 0); }
int tvmgo_cu_forget_stream(CUstream stream) { return find_stream(stream, 1); }

int tvmgo_cu_check_stream(CUstream stream, const char* what) {
  if (TVMGO_LIKELY(!find_stream(stream, 0))) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "%s: stream %p belongs to a context that other code has reset: close it, and create another", what,
                     (void*)stream);
}

int tvmgo_cu_check_epoch(const cu_device* d, uint32_t epoch, const char* what) {
  if (TVMGO_LIKELY(atomic_load(&d->epoch) == epoch)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "%s: it belongs to a context of cuda:%d that other code has reset: close it, and create another",
                     what,
                     (int)d->index);
}
