//go:build cuda

/* Primary contexts, which other libraries of the process use as well. A context is retained at the first use of its
 * device, and never released. */
#include "driver.h"

#include "../../internal/dl/dl.h"
#include "gobridge.h"

int tvmgoCUDARetain(int32_t index); /* driver.go */

int tvmgo_cu_retain(cu_device* d) {
  int rc = 0;
  pthread_mutex_lock(&d->lock);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (atomic_load(&d->context) == NULL) {
    cuThreadExchangeStreamCaptureMode(&mode); /* see tvmgo_cu_enter_relaxed */
    rc = tvmgo_enter_go("starting a CUDA device") != 0 ? -1 : tvmgoCUDARetain(d->index);
    cuThreadExchangeStreamCaptureMode(&mode);
  }
  pthread_mutex_unlock(&d->lock);
  return rc;
}

/* The Go binding does not export the context, but has made it the thread's current one. */
CUresult tvmgo_cu_store_context(int32_t index) {
  CUcontext c = NULL;
  CUresult rc = cuCtxGetCurrent(&c);
  if (rc == CUDA_SUCCESS && c == NULL) rc = CUDA_ERROR_INVALID_CONTEXT;
  if (rc == CUDA_SUCCESS) atomic_store_explicit(&tvmgo_cu_devices[index].context, c, memory_order_release);
  return rc;
}

int tvmgo_cu_switch(cu_device* d, CUcontext to, cu_scope* s) {
  CUresult rc = cuCtxSetCurrent(to);
  s->changed = rc == CUDA_SUCCESS;
  return s->changed ? 0 : tvmgo_cu_raise(rc, "use cuda:%d", (int)d->index);
}

int tvmgo_cu_enter_relaxed(cu_device* d, cu_scope* s) {
  if (tvmgo_cu_enter(d, s) != 0) return -1;
  s->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  s->relaxed = cuThreadExchangeStreamCaptureMode(&s->mode) == CUDA_SUCCESS;
  return 0;
}

int tvmgo_cu_enter_to_free(cu_device* d, cu_scope* s) {
  if (tvmgo_cu_enter_relaxed(d, s) == 0) return 0;
  if (!tvmgo_dl_use(&tvmgo_dl_cuda)) return -1; /* after a fork */
  tvmgo_object_release(tvmgo_error_take());
  return tvmgo_cu_enter_relaxed(d, s);
}

cu_device* tvmgo_cu_device_of_stream(CUstream stream, cu_device* fallback) {
  CUcontext c = NULL;
  if (stream == NULL || cuStreamGetCtx(stream, &c) != CUDA_SUCCESS || c == NULL) return fallback;
  if (c == atomic_load(&fallback->context)) return fallback;
  for (int32_t i = 0; i < tvmgo_cu_num_devices; i++)
    if (atomic_load(&tvmgo_cu_devices[i].context) == c) return &tvmgo_cu_devices[i];
  return fallback;
}
