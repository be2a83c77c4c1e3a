//go:build cuda

/* The three kinds of memory, page-locked memory, and the counters of both. */
#include "driver.h"

#include <stdlib.h>

#include "../../internal/dl/dl.h"

/* No machine has so much memory, and drivers return different errors for such sizes. */
static const size_t too_much = (size_t)1 << 47;

CUresult tvmgo_cu_mem_alloc(cu_device* d, size_t nbytes, CUdeviceptr* out) {
  if (nbytes > d->total_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult rc = cuMemAlloc(out, nbytes);
  if (rc != CUDA_ERROR_OUT_OF_MEMORY || tvmgo_cu_trim(d) == 0) return rc;
  return cuMemAlloc(out, nbytes);
}

static CUresult allocate(cu_device* d, cu_space space, size_t nbytes, void** out) {
  CUdeviceptr p = 0;
  CUresult rc;
  switch (space) {
    case SPACE_HOST:
      *out = NULL;
      return nbytes > too_much ? CUDA_ERROR_OUT_OF_MEMORY : cuMemHostAlloc(out, nbytes, CU_MEMHOSTALLOC_PORTABLE);
    case SPACE_MANAGED:
      rc = nbytes > too_much ? CUDA_ERROR_OUT_OF_MEMORY : cuMemAllocManaged(&p, nbytes, CU_MEM_ATTACH_GLOBAL);
      break;
    default: rc = tvmgo_cu_mem_alloc(d, nbytes, &p);
  }
  *out = (void*)(uintptr_t)p;
  return rc;
}

static CUresult driver_free(cu_space space, uintptr_t at) {
  return space == SPACE_HOST ? cuMemFreeHost((void*)at) : cuMemFree(at);
}

/* Like allocate, but never returns the address of lost memory. */
static CUresult allocate_new(cu_device* d, cu_space space, size_t nbytes, void** out) {
  cu_stale stale = {NULL, 0};
  CUresult rc = allocate(d, space, nbytes, out);
  while (rc == CUDA_SUCCESS && tvmgo_cu_is_lost((uintptr_t)*out)) {
    if (tvmgo_cu_stale_add(&stale, (uintptr_t)*out) == 0) {
      rc = allocate(d, space, nbytes, out);
    } else {
      driver_free(space, (uintptr_t)*out);
      rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  while (stale.n > 0) driver_free(space, stale.at[--stale.n]);
  free(stale.at);
  return rc;
}

/* Raises the error that there is not enough memory, with the sizes of free memory. Must be called between enter and
 * leave. */
static int raise_full(cu_device* d, cu_space space, size_t nbytes) {
  size_t free_bytes = 0, total = 0;
  const char* name = tvmgo_cu_space_name(space);
  if (space == SPACE_HOST)
    return tvmgo_raise(TVMGO_MEMORY_ERROR, "allocate on %s:%d: no page-locked memory for %zu bytes (%s)", name,
                       (int)d->index, nbytes, tvmgo_cu_code_name(CUDA_ERROR_OUT_OF_MEMORY));
  cuMemGetInfo(&free_bytes, &total);
  return tvmgo_raise(TVMGO_MEMORY_ERROR,
                     "allocate on %s:%d: no memory for %zu bytes: %zu of %zu bytes are free, %lld bytes are held for "
                     "stream-ordered allocations (%s)%s",
                     name, (int)d->index, nbytes, free_bytes, total, (long long)tvmgo_cu_held(d),
                     tvmgo_cu_code_name(CUDA_ERROR_OUT_OF_MEMORY),
                     atomic_load(&d->epoch) == 0 ? "" : "; the context was reset, and addresses of its lost memory are "
                                                        "reused only after that memory is closed");
}

int tvmgo_cu_raise_alloc(cu_device* d, cu_space space, size_t nbytes, CUresult rc) {
  if (rc == CUDA_ERROR_OUT_OF_MEMORY) return raise_full(d, space, nbytes);
  return tvmgo_cu_raise(rc, "allocate %zu bytes on %s:%d", nbytes, tvmgo_cu_space_name(space), (int)d->index);
}

/* Waits for all work that may use memory, and frees it. Every device may use host memory and the memory of its peers.
 * The driver does not guarantee to wait when it frees host memory and memory of pools. An error for which
 * tvmgo_cu_is_capture_error is true means that the memory can only be freed later. */
static CUresult wait_and_free(cu_device* d, const cu_block* b) {
  if (atomic_load(&d->captures) > 0) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (b->space == SPACE_HOST || b->how == MEM_POOL) {
    CUresult rc = tvmgo_cu_wait(d);
    if (rc != CUDA_SUCCESS && !tvmgo_cu_is_sticky(rc)) return rc;
  }
  if (b->space == SPACE_HOST || atomic_load(&d->has_peers)) {
    CUresult rc = tvmgo_cu_wait_for_others(d);
    if (rc != CUDA_SUCCESS) return rc;
  }
  return driver_free(b->space, b->at);
}

/* Retries once after an error: see tvmgo_cu_enter_to_free. */
static CUresult retry_wait_and_free(cu_device* d, const cu_block* b) {
  CUresult rc = wait_and_free(d, b);
  return rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc) || tvmgo_cu_is_capture_error(rc) ? rc : wait_and_free(d, b);
}

/* Memory of all devices that could not be freed because of a capture. */
static struct {
  pthread_mutex_t lock;
  _Atomic(cu_idle*) list;
} deferred = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void defer_free(cu_idle* i) {
  pthread_mutex_lock(&deferred.lock);
  i->next = atomic_load(&deferred.list);
  atomic_store(&deferred.list, i);
  pthread_mutex_unlock(&deferred.lock);
}

void tvmgo_cu_forget_deferred(int32_t device) {
  pthread_mutex_lock(&deferred.lock);
  cu_idle *kept = NULL, *list = atomic_load(&deferred.list);
  for (cu_idle* next; list != NULL; list = next) {
    next = list->next;
    if (list->block.device == device) {
      free(list);
    } else {
      list->next = kept;
      kept = list;
    }
  }
  atomic_store(&deferred.list, kept);
  pthread_mutex_unlock(&deferred.lock);
}

void tvmgo_cu_free_deferred(void) {
  cu_scope s;
  if (TVMGO_LIKELY(atomic_load(&deferred.list) == NULL)) return;
  pthread_mutex_lock(&deferred.lock);
  cu_idle* list = atomic_load(&deferred.list);
  atomic_store(&deferred.list, NULL);
  pthread_mutex_unlock(&deferred.lock);
  for (cu_idle* next; list != NULL; list = next) {
    next = list->next;
    cu_device* d = &tvmgo_cu_devices[list->block.device];
    CUresult rc = CUDA_ERROR_CONTEXT_IS_DESTROYED; /* treated like success, as in release */
    if (tvmgo_cu_enter_to_free(d, &s) == 0) {
      rc = retry_wait_and_free(d, &list->block);
      tvmgo_cu_leave(&s);
    } else {
      tvmgo_object_release(tvmgo_error_take());
    }
    if (rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc))
      free(list);
    else
      defer_free(list);
  }
}

/* Frees memory that was removed from the table of allocations. 0 if it is freed or will be freed later; -1 with an
 * error raised if it is still allocated and in the table again. Errors of earlier work are ignored; the next wait
 * reports them. */
static int release(cu_device* d, const cu_block* b, DLDevice dev) {
  cu_scope s;
  CUresult rc = CUDA_SUCCESS;
  tvmgo_cu_free_deferred();
  if (b->lost) { /* does not exist in the driver any more */
  } else if (tvmgo_cu_enter_to_free(d, &s) == 0) {
    rc = retry_wait_and_free(d, b);
    tvmgo_cu_leave(&s);
  } else {
    if (!tvmgo_dl_use(&tvmgo_dl_cuda)) { /* after a fork */
      tvmgo_cu_allocation_restore(b);
      return -1;
    }
    tvmgo_object_release(tvmgo_error_take());
  }
  if (tvmgo_cu_is_capture_error(rc)) { /* a wait is not allowed now, so the memory is freed later */
    cu_idle* i = calloc(1, sizeof *i);
    if (i != NULL) {
      i->block = *b;
      defer_free(i);
      rc = CUDA_SUCCESS;
    }
  }
  if (rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc)) {
    tvmgo_cu_allocation_removed();
    if (b->pinned)
      atomic_fetch_sub(&d->pinned_bytes, (int64_t)b->nbytes);
    else
      tvmgo_memory_count(&d->data[b->space], -(int64_t)b->nbytes);
    return 0;
  }
  tvmgo_cu_allocation_restore(b);
  return tvmgo_cu_raise(rc, "free %p of %s:%d: it is still allocated, and can be freed again", (void*)b->at,
                        tvmgo_device_type_name(dev.device_type), dev.device_id);
}

int tvmgo_cu_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                   void** out) {
  cu_scope s;
  cu_space space;
  cu_device* d = tvmgo_cu_device_of(dev, &space);
  if (d == NULL || tvmgo_device_check_alignment(dev, alignment) != 0) return -1;
  if (space == SPACE_MANAGED && !d->has_managed)
    return tvmgo_raise(TVMGO_NOT_SUPPORTED_ERROR, "allocate on cuda_managed:%d: %s does not support managed memory",
                       dev.device_id, d->name);
  tvmgo_cu_free_deferred();
  if (tvmgo_cu_enter_relaxed(d, &s) != 0) return -1;
  /* the driver cannot allocate 0 bytes */
  cu_block b = {.nbytes = nbytes == 0 ? 1 : nbytes, .device = d->index, .space = space};
  void* p = NULL;
  CUresult code = allocate_new(d, space, b.nbytes, &p);
  b.at = (uintptr_t)p;
  int rc = code == CUDA_SUCCESS ? 0 : tvmgo_cu_raise_alloc(d, space, nbytes, code);
  if (rc == 0 && tvmgo_cu_allocation_add(b) != 0) {
    retry_wait_and_free(d, &b);
    rc = -1;
  }
  tvmgo_cu_leave(&s);
  if (rc != 0) return -1;
  tvmgo_memory_count(&d->data[space], (int64_t)b.nbytes);
  *out = p;
  return 0;
}

/* Removes an allocation of this device and kind from the table. 0, or -1 with an error raised if there is none. */
static int take(const cu_device* d, cu_space space, int pinned, void* p, cu_block* b) {
  const char* what = pinned ? "page-locked memory" : "memory";
  /* after a fork */
  if (!tvmgo_dl_use(&tvmgo_dl_cuda)) return tvmgo_cu_raise(CUDA_ERROR_NOT_INITIALIZED, "free %s", what);
  if (!tvmgo_cu_allocation_remove((uintptr_t)p, b))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "free %s: %p was not allocated by %s:%d, or already freed", what, p,
                       tvmgo_cu_space_name(space), (int)d->index);
  if (b->device == d->index && b->space == space && b->pinned == pinned) return 0;
  tvmgo_cu_allocation_restore(b);
  return tvmgo_raise(TVMGO_VALUE_ERROR, "free %s: %p is %s of %s:%d, not %s of %s:%d", what, p,
                     b->pinned ? "page-locked memory" : "memory",
                     tvmgo_cu_space_name(b->pinned ? SPACE_DEVICE : b->space), (int)b->device, what,
                     tvmgo_cu_space_name(pinned ? SPACE_DEVICE : space), (int)d->index);
}

int tvmgo_cu_free(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  cu_space space;
  cu_block b;
  cu_device* d = tvmgo_cu_device_of(dev, &space);
  if (d == NULL || tvmgo_workspace_refuse(dev, p) != 0 || take(d, space, 0, p, &b) != 0) return -1;
  return release(d, &b, dev);
}

int tvmgo_cu_pinned_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, void** out) {
  cu_scope s;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL) return -1;
  tvmgo_cu_free_deferred();
  if (tvmgo_cu_enter_relaxed(d, &s) != 0) return -1;
  cu_block b = {.nbytes = nbytes == 0 ? 1 : nbytes, .device = d->index, .space = SPACE_HOST, .pinned = 1};
  void* p = NULL;
  CUresult code = allocate_new(d, SPACE_HOST, b.nbytes, &p);
  b.at = (uintptr_t)p;
  int rc = code == CUDA_SUCCESS                ? 0
           : code == CUDA_ERROR_OUT_OF_MEMORY ? tvmgo_raise(TVMGO_MEMORY_ERROR,
                                                            "page-locked memory for cuda:%d: no memory for %zu bytes",
                                                            dev.device_id, nbytes)
                                               : tvmgo_cu_raise(code, "page-locked memory for cuda:%d", dev.device_id);
  if (rc == 0 && tvmgo_cu_allocation_add(b) != 0) {
    retry_wait_and_free(d, &b);
    rc = -1;
  }
  tvmgo_cu_leave(&s);
  if (rc != 0) return -1;
  atomic_fetch_add(&d->pinned_bytes, (int64_t)b.nbytes);
  *out = p;
  return 0;
}

int tvmgo_cu_pinned_free(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  cu_block b;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL || take(d, SPACE_HOST, 1, p, &b) != 0) return -1;
  return release(d, &b, dev);
}

int tvmgo_cu_memory_stats(const TVMGODeviceAPI* api, DLDevice dev, TVMGOMemoryStats* out) {
  cu_scope sc;
  cu_space space;
  cu_device* d = tvmgo_cu_device_of(dev, &space);
  if (d == NULL) return -1;
  int64_t total_bytes = -1, free_bytes = -1; /* host memory is not reported here */
  if (space != SPACE_HOST) {
    size_t left = 0, total = 0;
    if (tvmgo_cu_enter_relaxed(d, &sc) != 0) return -1;
    CUresult rc = cuMemGetInfo(&left, &total);
    tvmgo_cu_leave(&sc);
    if (rc != CUDA_SUCCESS) return tvmgo_cu_raise(rc, "query the memory of cuda:%d", dev.device_id);
    total_bytes = (int64_t)total;
    free_bytes = (int64_t)left;
  }
  return tvmgo_memory_report(&d->data[space], total_bytes, free_bytes, atomic_load(&d->pinned_bytes), out);
}
