//go:build cuda

/* The list of this package's streams, and the wait for all of them. */
#include "driver.h"

#include <stdlib.h>

int tvmgo_cu_stream_made(cu_device* d, CUstream stream) {
  int rc = 0;
  pthread_mutex_lock(&d->lock);
  if (d->num_streams == d->cap_streams) {
    int cap = d->cap_streams == 0 ? 16 : 2 * d->cap_streams;
    CUstream* more = realloc(d->streams, (size_t)cap * sizeof *more);
    rc = more == NULL ? -1 : 0;
    if (rc == 0) d->streams = more;
    if (rc == 0) d->cap_streams = cap;
  }
  if (rc == 0) d->streams[d->num_streams++] = stream;
  pthread_mutex_unlock(&d->lock);
  return rc == 0 ? 0 : tvmgo_raise_oom();
}

/* Removes an event of a freed stream from the list: a completed one, or else the oldest, for which the caller waits.
 * The caller holds the lock. */
static CUevent drop_one(cu_device* d) {
  int at = 0;
  for (int i = 0; i < d->num_freed && at == 0; i++)
    if (cuEventQuery(d->freed[i]) == CUDA_SUCCESS) at = i;
  CUevent e = d->freed[at];
  d->freed[at] = d->freed[--d->num_freed];
  return e;
}

void tvmgo_cu_stream_freed(cu_device* d, CUstream stream) {
  enum { MOST = sizeof d->freed / sizeof *d->freed };
  CUevent e = NULL, full = NULL;
  pthread_mutex_lock(&d->lock);
  for (int i = 0; i < d->num_streams; i++)
    if (d->streams[i] == stream) d->streams[i] = d->streams[--d->num_streams];
  if (!tvmgo_cu_is_capturing(stream) && cuStreamQuery(stream) == CUDA_ERROR_NOT_READY &&
      tvmgo_cu_spare_event_locked(d, &e) == CUDA_SUCCESS && cuEventRecord(e, stream) == CUDA_SUCCESS) {
    if (d->num_freed == MOST) full = drop_one(d);
    d->freed[d->num_freed++] = e;
    e = NULL;
  }
  pthread_mutex_unlock(&d->lock);
  if (full != NULL) cuEventSynchronize(full);
  if (full != NULL) cuEventDestroy(full);
  if (e != NULL) cuEventDestroy(e);
}

int tvmgo_cu_is_capturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult rc = cuStreamIsCapturing(stream, &status);
  return rc == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || (rc == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

int tvmgo_cu_check_default_stream(const char* what, const cu_device* d, CUstream stream) {
  if (stream != NULL || !tvmgo_cu_is_capturing(stream)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "the default stream of cuda:%d waits for a stream that captures a graph: %s after the end of the "
                     "capture, or use a stream that was created",
                     (int)d->index, what);
}

/* Records an event on each stream and on the default stream, and adds the events of freed streams. events has space for
 * all of them. The caller holds the lock, so that no stream is destroyed meanwhile. */
static CUresult record_all(cu_device* d, CUevent* events, int* n) {
  CUresult rc = CUDA_SUCCESS;
  if (atomic_load(&d->captures) > 0 || tvmgo_cu_is_capturing(NULL)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (int i = 0; i < d->num_streams; i++)
    if (tvmgo_cu_is_capturing(d->streams[i])) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  for (int i = -1; rc == CUDA_SUCCESS && i < d->num_streams; i++) {
    rc = tvmgo_cu_spare_event_locked(d, &events[*n]);
    if (rc != CUDA_SUCCESS) break;
    rc = cuEventRecord(events[(*n)++], i < 0 ? NULL : d->streams[i]);
  }
  while (rc == CUDA_SUCCESS && d->num_freed > 0) events[(*n)++] = d->freed[--d->num_freed];
  return rc;
}

CUresult tvmgo_cu_wait(cu_device* d) {
  int n = 0;
  pthread_mutex_lock(&d->lock);
  CUevent* events = calloc((size_t)(d->num_streams + d->num_freed) + 1, sizeof *events);
  CUresult rc = events == NULL ? CUDA_ERROR_OUT_OF_MEMORY : record_all(d, events, &n);
  pthread_mutex_unlock(&d->lock);
  for (int i = 0; i < n; i++) {
    if (rc == CUDA_SUCCESS) rc = cuEventSynchronize(events[i]);
    cuEventDestroy(events[i]);
  }
  free(events);
  return rc;
}

CUresult tvmgo_cu_wait_for_others(cu_device* d) {
  CUresult captured = CUDA_SUCCESS;
  for (int32_t i = 0; i < tvmgo_cu_num_devices && captured == CUDA_SUCCESS; i++) {
    cu_device* other = &tvmgo_cu_devices[i];
    CUcontext c = atomic_load(&other->context);
    if (other == d || c == NULL || cuCtxSetCurrent(c) != CUDA_SUCCESS) continue;
    CUresult rc = tvmgo_cu_wait(other);
    if (tvmgo_cu_is_capture_error(rc)) captured = rc;
  }
  CUresult rc = cuCtxSetCurrent(atomic_load(&d->context));
  /* retried because the caller frees memory: see tvmgo_cu_enter_to_free */
  if (rc != CUDA_SUCCESS) rc = cuCtxSetCurrent(atomic_load(&d->context));
  return captured != CUDA_SUCCESS ? captured : rc;
}
