//go:build cuda

/* Streams, which are non-blocking CUstreams: they do not wait for the legacy default stream, which is NULL. */
#include "driver.h"

#include <stdlib.h>

/* Streams of other libraries can be used as well, so the driver checks the handles. */
int tvmgo_cu_stream_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  cu_scope s;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL || tvmgo_cu_check_stream(stream, "wait for a stream") != 0 || tvmgo_cu_enter_relaxed(d, &s) != 0)
    return -1;
  int refused = tvmgo_cu_check_default_stream("wait for it", d, stream);
  CUresult rc = refused != 0 ? CUDA_SUCCESS : cuStreamSynchronize(stream);
  tvmgo_cu_leave(&s);
  if (refused != 0) return -1;
  if (rc == CUDA_SUCCESS) {
    tvmgo_cu_note(d, NULL, stream);
    return 0;
  }
  if (stream == NULL)
    return tvmgo_cu_raise_waited(rc, d, stream, "wait for the default stream of cuda:%d", dev.device_id);
  return tvmgo_cu_raise_waited(rc, d, stream, "wait for stream %p of cuda:%d", stream, dev.device_id);
}

static CUresult make(int with_priority, int32_t priority, CUstream* out) {
  return with_priority ? cuStreamCreateWithPriority(out, CU_STREAM_NON_BLOCKING, priority)
                       : cuStreamCreate(out, CU_STREAM_NON_BLOCKING);
}

/* Like make, but never returns the handle of a lost stream. */
static CUresult make_new(int with_priority, int32_t priority, CUstream* out) {
  cu_stale stale = {NULL, 0};
  CUresult rc = make(with_priority, priority, out);
  while (rc == CUDA_SUCCESS && tvmgo_cu_is_lost_stream(*out)) {
    if (tvmgo_cu_stale_add(&stale, (uintptr_t)*out) == 0) {
      rc = make(with_priority, priority, out);
    } else {
      cuStreamDestroy(*out);
      rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  while (stale.n > 0) cuStreamDestroy((CUstream)stale.at[--stale.n]);
  free(stale.at);
  return rc;
}

static int create(DLDevice dev, int with_priority, int32_t priority, TVMFFIStreamHandle* out) {
  cu_scope s;
  CUstream made = NULL;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL || tvmgo_cu_enter_relaxed(d, &s) != 0) return -1;
  CUresult rc = make_new(with_priority, priority, &made);
  int raised = rc == CUDA_SUCCESS ? tvmgo_cu_stream_made(d, made) : 0;
  if (raised != 0) cuStreamDestroy(made);
  tvmgo_cu_leave(&s);
  if (rc != CUDA_SUCCESS) return tvmgo_cu_raise(rc, "create a stream of cuda:%d", dev.device_id);
  *out = made;
  return raised;
}

int tvmgo_cu_stream_create(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  return create(dev, 0, 0, out);
}

int tvmgo_cu_stream_priority_range(const TVMGODeviceAPI* api, DLDevice dev, int32_t* least, int32_t* greatest) {
  cu_scope s;
  int low = 0, high = 0;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL || tvmgo_cu_enter(d, &s) != 0) return -1;
  CUresult rc = cuCtxGetStreamPriorityRange(&low, &high);
  tvmgo_cu_leave(&s);
  if (rc != CUDA_SUCCESS) return tvmgo_cu_raise(rc, "query the stream priorities of cuda:%d", dev.device_id);
  *least = low;
  *greatest = high;
  return 0;
}

/* A priority out of range is an error here; the driver would use the nearest valid one. */
int tvmgo_cu_stream_create_with_priority(const TVMGODeviceAPI* api, DLDevice dev, int32_t priority,
                                         TVMFFIStreamHandle* out) {
  int32_t least, greatest;
  if (tvmgo_cu_stream_priority_range(api, dev, &least, &greatest) != 0) return -1;
  if (priority > least || priority < greatest)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "create a stream of cuda:%d: priority %d is out of range: the lowest is %d, the highest %d",
                       dev.device_id, (int)priority, (int)least, (int)greatest);
  return create(dev, 1, priority, out);
}

int tvmgo_cu_stream_free(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  cu_scope s;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d != NULL && tvmgo_cu_forget_stream(stream)) return 0;
  if (d == NULL || tvmgo_cu_enter_to_free(d, &s) != 0) return -1;
  tvmgo_cu_disown_idle_memory(d, stream);
  tvmgo_cu_stream_freed(d, stream);
  CUresult rc = cuStreamDestroy(stream); /* the driver deletes it when its work is done */
  tvmgo_cu_leave(&s);
  if (rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc)) return 0;
  return tvmgo_cu_raise(rc, "free stream %p of cuda:%d", stream, dev.device_id);
}

int tvmgo_cu_stream_set(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  return tvmgo_cu_device(dev.device_id) == NULL ? -1 : 0;
}

int tvmgo_cu_order(cu_device* from, CUstream src, cu_device* to, CUstream dst) {
  cu_scope s;
  CUevent e = NULL;
  if (from == to && src == dst) return 0;
  if (tvmgo_cu_check_stream(src, "order streams") != 0 || tvmgo_cu_check_stream(dst, "order streams") != 0) return -1;
  if (tvmgo_cu_enter(from, &s) != 0) return -1;
  CUresult rc = tvmgo_cu_spare_event(from, &e);
  if (rc == CUDA_SUCCESS) rc = cuEventRecord(e, src);
  if (rc == CUDA_SUCCESS && from == to) rc = cuStreamWaitEvent(dst, e, 0);
  tvmgo_cu_leave(&s);
  int raised = 0;
  if (rc == CUDA_SUCCESS && from != to) {
    raised = tvmgo_cu_enter(to, &s);
    if (raised == 0) {
      rc = cuStreamWaitEvent(dst, e, 0);
      tvmgo_cu_leave(&s);
    }
  }
  if (e != NULL) tvmgo_cu_event_done(from, e); /* it can be reused: the wait refers to the record above */
  if (raised != 0 || rc == CUDA_SUCCESS) return raised;
  return tvmgo_cu_raise(rc, "order streams of cuda:%d and cuda:%d", (int)from->index, (int)to->index);
}

int tvmgo_cu_stream_order(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst) {
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL) return -1;
  return tvmgo_cu_order(tvmgo_cu_device_of_stream(src, d), src, tvmgo_cu_device_of_stream(dst, d), dst);
}
