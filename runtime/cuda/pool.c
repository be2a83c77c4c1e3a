//go:build cuda

/* Stream-ordered memory. If the driver supports memory pools, each device has one, which keeps freed memory until
 * memory is short. Without pools, this file keeps freed memory with an event after its last use. The stream on which it
 * was freed can reuse it at once; other streams can reuse it when the event is complete. */
#include "driver.h"

#include <stdlib.h>

static CUresult make_pool(const cu_device* d, CUmemoryPool* out) {
  const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .handleTypes = CU_MEM_HANDLE_TYPE_NONE,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->id}};
  cuuint64_t keep = UINT64_MAX;
  CUresult rc = cuMemPoolCreate(out, &props);
  if (rc != CUDA_SUCCESS) return rc;
  rc = cuMemPoolSetAttribute(*out, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
  if (rc != CUDA_SUCCESS) cuMemPoolDestroy(*out);
  return rc;
}

static CUresult pool_of(cu_device* d, CUmemoryPool* out) {
  CUresult rc = CUDA_SUCCESS;
  *out = atomic_load_explicit(&d->pool, memory_order_acquire);
  if (TVMGO_LIKELY(*out != NULL)) return CUDA_SUCCESS;
  pthread_mutex_lock(&d->lock);
  *out = atomic_load(&d->pool);
  if (*out == NULL && (rc = make_pool(d, out)) == CUDA_SUCCESS)
    atomic_store_explicit(&d->pool, *out, memory_order_release);
  pthread_mutex_unlock(&d->lock);
  return rc;
}

/* ---- without pools ---- */

/* Rounds sizes up, so that freed memory can be reused more often. */
static size_t rounded(size_t n) {
  size_t unit = n > (1 << 20) ? (size_t)1 << 18 : 512;
  return n > SIZE_MAX - unit ? n : (n + unit - 1) / unit * unit;
}

/* Idle memory of a size that a stream may reuse now; NULL if there is none. */
static cu_idle* reuse(cu_device* d, size_t nbytes, CUstream stream) {
  cu_idle *found = NULL, **link;
  pthread_mutex_lock(&d->lock);
  for (link = &d->idle; *link != NULL; link = &(*link)->next)
    if ((*link)->block.nbytes == nbytes && ((*link)->block.stream == stream ||
                                            cuEventQuery((*link)->done) == CUDA_SUCCESS)) {
      found = *link;
      *link = found->next;
      break;
    }
  pthread_mutex_unlock(&d->lock);
  return found;
}

static CUresult idle_alloc(cu_device* d, size_t nbytes, CUstream stream, CUdeviceptr* out) {
  cu_idle* i = reuse(d, rounded(nbytes), stream);
  if (i == NULL) return tvmgo_cu_mem_alloc(d, rounded(nbytes), out);
  *out = i->block.at;
  tvmgo_cu_event_done(d, i->done);
  free(i);
  return CUDA_SUCCESS;
}

static CUresult idle_free(cu_device* d, CUdeviceptr p, size_t nbytes, CUstream stream) {
  cu_idle* i = calloc(1, sizeof *i);
  CUresult rc = i == NULL ? CUDA_ERROR_OUT_OF_MEMORY : tvmgo_cu_spare_event(d, &i->done);
  if (rc == CUDA_SUCCESS) rc = cuEventRecord(i->done, stream);
  if (rc != CUDA_SUCCESS) { /* without an event, free it; the driver waits */
    if (i != NULL && i->done != NULL) tvmgo_cu_event_done(d, i->done);
    free(i);
    rc = cuMemFree(p);
    return rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc) ? rc : cuMemFree(p);
  }
  i->block = (cu_block){.at = p, .nbytes = rounded(nbytes), .stream = stream};
  pthread_mutex_lock(&d->lock);
  i->next = d->idle;
  d->idle = i;
  pthread_mutex_unlock(&d->lock);
  return CUDA_SUCCESS;
}

/* A later stream may have the same handle, and must not reuse this stream's memory before the event is complete. */
void tvmgo_cu_disown_idle_memory(cu_device* d, CUstream stream) {
  pthread_mutex_lock(&d->lock);
  for (cu_idle* i = d->idle; i != NULL; i = i->next)
    if (i->block.stream == stream) i->block.stream = (CUstream)i; /* not the handle of any stream */
  pthread_mutex_unlock(&d->lock);
}

/* ---- with or without pools ---- */

static int64_t reserved(cu_device* d) {
  cuuint64_t n = 0;
  CUmemoryPool pool = atomic_load(&d->pool);
  if (pool == NULL || cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &n) != CUDA_SUCCESS) return 0;
  return (int64_t)n;
}

int64_t tvmgo_cu_held(cu_device* d) {
  cuuint64_t used = 0;
  CUmemoryPool pool = atomic_load(&d->pool);
  int64_t n = reserved(d);
  if (pool != NULL && cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) == CUDA_SUCCESS)
    n -= (int64_t)used;
  pthread_mutex_lock(&d->lock);
  for (const cu_idle* i = d->idle; i != NULL; i = i->next) n += (int64_t)i->block.nbytes;
  pthread_mutex_unlock(&d->lock);
  return n > 0 ? n : 0;
}

int64_t tvmgo_cu_trim(cu_device* d) {
  int64_t freed = 0;
  CUresult waited = tvmgo_cu_wait(d);
  if (waited != CUDA_SUCCESS && !tvmgo_cu_is_capture_error(waited)) return 0;
  CUmemoryPool pool = atomic_load(&d->pool);
  if (pool != NULL) {
    int64_t before = reserved(d);
    if (cuMemPoolTrimTo(pool, 0) == CUDA_SUCCESS) freed = before - reserved(d);
  }
  /* If a stream captures, there was no wait, and idle memory may still be in use. */
  if (waited != CUDA_SUCCESS) return freed;
  pthread_mutex_lock(&d->lock);
  cu_idle* list = d->idle;
  d->idle = NULL;
  pthread_mutex_unlock(&d->lock);
  for (cu_idle* next; list != NULL; list = next) {
    next = list->next;
    cuEventSynchronize(list->done);
    if (cuMemFree(list->block.at) == CUDA_SUCCESS || cuMemFree(list->block.at) == CUDA_SUCCESS)
      freed += (int64_t)list->block.nbytes;
    cuEventDestroy(list->done);
    free(list);
  }
  tvmgo_cu_drop_stages(d);
  tvmgo_cu_drop_spare_events(d);
  return freed;
}

CUresult tvmgo_cu_scratch(cu_device* d, size_t nbytes, CUstream stream, CUdeviceptr* out) {
  CUmemoryPool pool;
  if (!d->has_pools) return idle_alloc(d, nbytes, stream, out);
  CUresult rc = pool_of(d, &pool);
  if (rc == CUDA_SUCCESS) rc = cuMemAllocFromPoolAsync(out, nbytes, pool, stream);
  if (rc == CUDA_ERROR_OUT_OF_MEMORY && tvmgo_cu_trim(d) > 0) rc = cuMemAllocFromPoolAsync(out, nbytes, pool, stream);
  return rc;
}

CUresult tvmgo_cu_scratch_done(cu_device* d, CUdeviceptr p, size_t nbytes, CUstream stream) {
  if (!d->has_pools) return idle_free(d, p, nbytes, stream);
  CUresult rc = cuMemFreeAsync(p, stream);
  return rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc) ? rc : cuMemFreeAsync(p, stream); /* see tvmgo_cu_enter_to_free */
}

/* Like tvmgo_cu_scratch, but never returns the address of lost memory. */
static CUresult scratch_new(cu_device* d, size_t nbytes, CUstream stream, CUdeviceptr* out) {
  cu_stale stale = {NULL, 0};
  CUresult rc = tvmgo_cu_scratch(d, nbytes, stream, out);
  while (rc == CUDA_SUCCESS && tvmgo_cu_is_lost(*out)) {
    if (tvmgo_cu_stale_add(&stale, *out) == 0) {
      rc = tvmgo_cu_scratch(d, nbytes, stream, out);
    } else {
      tvmgo_cu_scratch_done(d, *out, nbytes, stream);
      rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  while (stale.n > 0) tvmgo_cu_scratch_done(d, stale.at[--stale.n], nbytes, stream);
  free(stale.at);
  return rc;
}

/* Memory that is allocated in a capture would belong to the graph, so that is an error. */
static int check_not_capturing(const char* what, DLDevice dev, CUstream stream) {
  if (stream == NULL) return tvmgo_cu_check_default_stream(what, tvmgo_cu_device(dev.device_id), stream);
  if (tvmgo_cu_check_stream(stream, what) != 0) return -1;
  if (!tvmgo_cu_is_capturing(stream)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s on cuda:%d: stream %p captures a graph: do it before the capture "
                                        "begins, or after its end",
                     what, dev.device_id, (void*)stream);
}

int tvmgo_cu_alloc_on_stream(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint,
                             TVMFFIStreamHandle stream, void** out) {
  cu_scope s;
  CUdeviceptr p = 0;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL || tvmgo_device_check_alignment(dev, alignment) != 0) return -1;
  tvmgo_cu_free_deferred();
  if (tvmgo_cu_enter_relaxed(d, &s) != 0) return -1;
  size_t size = nbytes == 0 ? 1 : nbytes;
  int rc = check_not_capturing("allocate", dev, stream);
  if (rc == 0) {
    CUresult code = size > d->total_bytes ? CUDA_ERROR_OUT_OF_MEMORY : scratch_new(d, size, stream, &p);
    if (code != CUDA_SUCCESS) rc = tvmgo_cu_raise_alloc(d, SPACE_DEVICE, nbytes, code);
  }
  cu_block b = {.at = p, .nbytes = size, .device = d->index, .how = d->has_pools ? MEM_POOL : MEM_IDLING,
                .stream = stream};
  if (rc == 0 && tvmgo_cu_allocation_add(b) != 0) {
    tvmgo_cu_scratch_done(d, p, size, stream);
    rc = -1;
  }
  tvmgo_cu_leave(&s);
  if (rc != 0) return -1;
  tvmgo_memory_count(&d->data[SPACE_DEVICE], (int64_t)size);
  *out = (void*)(uintptr_t)p;
  return 0;
}

int tvmgo_cu_free_on_stream(const TVMGODeviceAPI* api, DLDevice dev, void* p, TVMFFIStreamHandle stream) {
  cu_scope s;
  cu_block b;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL || tvmgo_cu_enter_to_free(d, &s) != 0) return -1;
  int rc = tvmgo_cu_is_lost((uintptr_t)p) ? 0 : check_not_capturing("free memory", dev, stream);
  if (rc == 0 && !tvmgo_cu_allocation_remove((uintptr_t)p, &b))
    rc = tvmgo_raise(TVMGO_VALUE_ERROR, "free memory on a stream: %p was not allocated by cuda:%d, or already freed",
                     p, dev.device_id);
  else if (rc == 0 && (b.device != d->index || b.how == MEM_PLAIN)) {
    tvmgo_cu_allocation_restore(&b);
    rc = tvmgo_raise(TVMGO_VALUE_ERROR, "free memory on a stream: %p was not allocated on a stream of cuda:%d: free "
                                        "it as plain memory", p, dev.device_id);
  } else if (rc == 0) {
    /* lost memory does not exist in the driver any more */
    CUresult code = b.lost ? CUDA_SUCCESS : tvmgo_cu_scratch_done(d, b.at, b.nbytes, stream);
    if (code == CUDA_SUCCESS || tvmgo_cu_is_sticky(code)) {
      tvmgo_cu_allocation_removed();
      tvmgo_memory_count(&d->data[SPACE_DEVICE], -(int64_t)b.nbytes);
    } else {
      tvmgo_cu_allocation_restore(&b);
      rc = tvmgo_cu_raise(code, "free memory on a stream of cuda:%d: it is still allocated, and can be freed again",
                          dev.device_id);
    }
  }
  tvmgo_cu_leave(&s);
  return rc;
}
