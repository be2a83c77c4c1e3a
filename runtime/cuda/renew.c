//go:build cuda

/* Primary contexts that other code of the process resets (cudaDeviceReset): everything of them is gone. Nothing can be done on the device
 * then, until somebody asks for a new context; what is of the one before is freed without the driver. */
#include "driver.h"

#include <stdlib.h>

static int is_reset(const cu_device* d) {
  unsigned int flags;
  int active = 1;
  return atomic_load(&d->context) != NULL && cuDevicePrimaryCtxGetState(d->id, &flags, &active) == CUDA_SUCCESS && !active;
}

int tvmgo_cu_find_reset(void) {
  for (int32_t i = 0; i < tvmgo_cu_num_devices; i++)
    if (is_reset(&tvmgo_cu_devices[i])) return i;
  return -1;
}

/* Others may have made a new one by now; then ours cannot be made current. */
static int is_dead(cu_device* d, CUcontext context) {
  CUcontext before = NULL;
  if (is_reset(d)) return 1;
  cuCtxGetCurrent(&before);
  if (cuCtxSetCurrent(context) != CUDA_SUCCESS) return 1;
  cuCtxSetCurrent(before);
  return 0;
}

/* Under the lock. What was made here keeps its handle until it is freed. */
static int forget(cu_device* d) {
  CUstream* lost = realloc(d->lost, (size_t)(d->num_lost + d->num_streams + 1) * sizeof *lost);
  if (lost == NULL) return tvmgo_raise_oom();
  d->lost = lost;
  for (int i = 0; i < d->num_streams; i++) lost[d->num_lost++] = d->streams[i];
  for (cu_idle* next; d->idle != NULL; d->idle = next) {
    next = d->idle->next;
    free(d->idle);
  }
  d->num_streams = d->num_gone = d->num_spare = 0;
  for (int i = 0; i < NUM_STAGES; i++) d->stages[i].at = d->stages[i].done[0] = d->stages[i].done[1] = NULL;
  atomic_store(&d->pool, NULL);
  atomic_store(&d->captures, 0);
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
    rc = tvmgo_raise(TVMGO_VALUE_ERROR, "make a new context of cuda:%d: nobody has reset the one that is in use: go on with that", (int)index);
  else if (context != NULL)
    rc = forget(d);
  if (rc == 0 && context != NULL) {
    tvmgo_cu_book_lose(index);
    tvmgo_cu_forget_later(index);
  }
  pthread_mutex_unlock(&d->lock);
  if (rc != 0) return -1;
  return atomic_load(&d->context) != NULL ? 0 : tvmgo_cu_retain(d);
}

int tvmgo_cu_is_lost(const cu_device* d, uintptr_t at) {
  cu_block b;
  return TVMGO_UNLIKELY(atomic_load(&d->epoch) != 0) && tvmgo_cu_book_find(at, &b) && b.lost;
}

int tvmgo_cu_lost_stream(cu_device* d, CUstream stream) {
  int found = 0;
  if (TVMGO_LIKELY(atomic_load(&d->epoch) == 0)) return 0;
  pthread_mutex_lock(&d->lock);
  for (int i = 0; i < d->num_lost && !found; i++)
    if (d->lost[i] == stream) {
      d->lost[i] = d->lost[--d->num_lost];
      found = 1;
    }
  for (int i = 0; i < d->num_streams; i++) found &= d->streams[i] != stream; /* the driver gave the handle out again */
  pthread_mutex_unlock(&d->lock);
  return found;
}

int tvmgo_cu_check_epoch(const cu_device* d, uint32_t epoch, const char* what) {
  if (TVMGO_LIKELY(atomic_load(&d->epoch) == epoch)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: it is of a context of cuda:%d that other code has reset: close it, and make another", what,
                     (int)d->index);
}
