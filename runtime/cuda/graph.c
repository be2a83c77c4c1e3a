//go:build cuda

/* Captures of streams, and the graphs that they produce.
 *
 * Streams capture in the relaxed mode. In the other modes, the thread that began a capture must end it, but goroutines
 * change threads. The other modes also forbid operations that are harmless here, because they are not captured:
 * allocating memory and loading modules, on any thread. Operations that would be wrong (a wait, a copy from ordinary
 * host memory) fail in the relaxed mode, too. */
#include "driver.h"

#include <stdlib.h>

#include "../../internal/dl/dl.h"

typedef struct {
  CUgraphExec exec;
  cu_device* d;
  uint32_t epoch;       /* the device's epoch at its creation */
  CUevent launched;     /* recorded after the last launch; NULL if waits_itself */
  pthread_mutex_t lock; /* protects the launches, which must not be concurrent */
} cu_graph;

/* Whether the driver allows a graph to be destroyed while it runs. Before CUDA 12, this is not documented. */
static int waits_itself(void) { return tvmgo_cu_driver_version >= 12000; }

int tvmgo_cu_capture_begin(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  cu_scope s;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL) return -1;
  if (stream == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "capture a graph on cuda:%d: the default stream cannot be captured: create a stream",
                       dev.device_id);
  if (tvmgo_cu_check_stream(stream, "capture a graph") != 0 || tvmgo_cu_enter(d, &s) != 0) return -1;
  pthread_mutex_lock(&d->lock); /* wait.c holds it while it records events on all streams */
  atomic_fetch_add(&d->captures, 1);
  CUresult rc = tvmgo_cu_is_capturing(stream) ? CUDA_ERROR_ILLEGAL_STATE
                                              : cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (rc != CUDA_SUCCESS) atomic_fetch_sub(&d->captures, 1);
  pthread_mutex_unlock(&d->lock);
  tvmgo_cu_leave(&s);
  if (rc != CUDA_SUCCESS) tvmgo_cu_free_deferred();
  if (rc == CUDA_SUCCESS) return 0;
  if (rc == CUDA_ERROR_ILLEGAL_STATE)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "capture a graph on cuda:%d: stream %p already captures one: end that capture first",
                       dev.device_id, stream);
  return tvmgo_cu_raise(rc, "capture a graph on stream %p of cuda:%d", stream, dev.device_id);
}

static CUresult instantiate(CUgraph recorded, CUgraphExec* out) {
  if (tvmgo_dl_has(&tvmgo_dl_cuda, "cuGraphInstantiateWithFlags")) return cuGraphInstantiateWithFlags(out, recorded, 0);
  char log[256];
  CUgraphNode bad = NULL;
  return cuGraphInstantiate_v2(out, recorded, &bad, log, sizeof log);
}

static CUresult make(cu_device* d, CUgraph recorded, cu_graph** out) {
  cu_graph* g = calloc(1, sizeof *g);
  if (g == NULL) return CUDA_ERROR_OUT_OF_MEMORY;
  g->d = d;
  g->epoch = atomic_load(&d->epoch);
  CUresult rc = waits_itself() ? CUDA_SUCCESS : tvmgo_cu_spare_event(d, &g->launched);
  if (rc == CUDA_SUCCESS) rc = instantiate(recorded, &g->exec);
  if (rc != CUDA_SUCCESS) {
    if (g->launched != NULL) tvmgo_cu_event_done(d, g->launched);
    free(g);
    return rc;
  }
  pthread_mutex_init(&g->lock, NULL);
  *out = g;
  return CUDA_SUCCESS;
}

/* Raises the error of a capture's end; explains the driver's codes. */
static int raise_end(CUresult rc, DLDevice dev, CUstream stream) {
  static const char what[] = "end the capture of stream";
  switch ((int)rc) {
    case CUDA_ERROR_ILLEGAL_STATE:
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
      return tvmgo_cu_raise(rc, "%s %p of cuda:%d: this stream did not begin a capture: begin and end it on the same "
                                "stream", what, (void*)stream, dev.device_id);
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
      return tvmgo_cu_raise(rc, "%s %p of cuda:%d: an operation during the capture cannot be captured, such as a wait "
                                "for the stream or a copy of ordinary host memory: nothing was captured, and the "
                                "stream still works", what, (void*)stream, dev.device_id);
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
      return tvmgo_cu_raise(rc, "%s %p of cuda:%d: another stream that waited for it still has work in the capture: "
                                "make this stream wait for that one before the end", what, (void*)stream,
                            dev.device_id);
  }
  return tvmgo_cu_raise(rc, "%s %p of cuda:%d", what, (void*)stream, dev.device_id);
}

int tvmgo_cu_capture_end(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream, void** graph) {
  cu_scope s;
  CUgraph recorded = NULL;
  cu_graph* made = NULL;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL || tvmgo_cu_check_stream(stream, "end a capture") != 0 || tvmgo_cu_enter_to_free(d, &s) != 0)
    return -1;
  CUresult rc = cuStreamEndCapture(stream, &recorded);
  /* With these two codes, the stream did not capture or still captures. */
  int ended = rc != CUDA_ERROR_ILLEGAL_STATE && rc != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (rc == CUDA_SUCCESS && graph != NULL) rc = make(d, recorded, &made);
  if (recorded != NULL) cuGraphDestroy(recorded);
  if (ended) atomic_fetch_sub(&d->captures, 1);
  tvmgo_cu_leave(&s);
  if (ended) tvmgo_cu_free_deferred();
  if (rc != CUDA_SUCCESS && (graph != NULL || !ended)) return raise_end(rc, dev, stream);
  if (graph != NULL) *graph = made;
  return 0;
}

int tvmgo_cu_graph_launch(const TVMGODeviceAPI* api, DLDevice dev, void* graph, TVMFFIStreamHandle stream) {
  cu_scope s;
  cu_graph* g = graph;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL) return -1;
  if (g->d != d)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "launch a graph on cuda:%d: it was captured on cuda:%d", dev.device_id,
                       (int)g->d->index);
  if (tvmgo_cu_check_epoch(d, g->epoch, "launch a graph") != 0 ||
      tvmgo_cu_check_stream(stream, "launch a graph") != 0 || tvmgo_cu_enter(d, &s) != 0)
    return -1;
  pthread_mutex_lock(&g->lock);
  CUresult rc = cuGraphLaunch(g->exec, stream);
  if (rc == CUDA_SUCCESS && g->launched != NULL) rc = cuEventRecord(g->launched, stream);
  pthread_mutex_unlock(&g->lock);
  tvmgo_cu_leave(&s);
  return rc == CUDA_SUCCESS ? 0 : tvmgo_cu_raise(rc, "launch a graph on cuda:%d", dev.device_id);
}

int tvmgo_cu_graph_free(const TVMGODeviceAPI* api, DLDevice dev, void* graph) {
  cu_scope s;
  cu_graph* g = graph;
  cu_device* d = tvmgo_cu_device(dev.device_id);
  if (d == NULL) return -1;
  if (g->epoch != atomic_load(&g->d->epoch)) { /* a lost graph does not exist in the driver any more */
    pthread_mutex_destroy(&g->lock);
    free(g);
    return 0;
  }
  if (tvmgo_cu_enter_to_free(g->d, &s) != 0) return -1;
  if (g->launched != NULL) {
    cuEventSynchronize(g->launched);
    tvmgo_cu_event_done(g->d, g->launched);
  }
  CUresult rc = cuGraphExecDestroy(g->exec);
  tvmgo_cu_leave(&s);
  pthread_mutex_destroy(&g->lock);
  free(g);
  if (rc == CUDA_SUCCESS || tvmgo_cu_is_sticky(rc)) return 0;
  return tvmgo_cu_raise(rc, "free a graph of cuda:%d", dev.device_id);
}
