// Capture, and graphs that replay the recorded work.
#include <pthread.h>

#include "check.h"

static CUgraph captured(CUstream s, CUdeviceptr x) {
  CUgraph graph;
  CU(cuStreamBeginCapture_v2(s, CAPTURE_THREAD_LOCAL));
  CU(run("add_one", s, x, 0));
  CU(run("scale", s, x, 2));
  CU(cuStreamEndCapture(s, &graph));
  return graph;
}

CASE(capture_and_replay) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  CUgraphExec exec;
  float back[N];
  int status;
  CU(cuMemsetD32Async(x, 0, N, s));
  CU(cuStreamSynchronize(s));
  long long before = fakecuda_executed();
  CUgraph graph = captured(s, x);
  TRUE(fakecuda_executed() == before);
  CU(cuStreamIsCapturing(s, &status));
  IS(CAPTURE_STATUS_NONE, status);
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU(cuGraphDestroy(graph));
  CU(cuGraphLaunch(exec, s));
  CU(cuGraphLaunch(exec, s));
  CU(cuGraphExecDestroy(exec)); // launched work runs nevertheless
  CU(cuMemcpyDtoHAsync_v2(back, x, BYTES, s));
  TRUE(back[0] == 6 && back[N - 1] == 6);
  SILENT();
  IS(CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(exec, s));
  REPORTED("executable graph 1 was destroyed before");
  IS(CUDA_ERROR_INVALID_HANDLE, cuGraphDestroy(graph));
  REPORTED("graph 1 was destroyed before");
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(s));
  end();
}

CASE(a_graph_is_ordered_like_other_work) {
  begin();
  CUstream a = stream(), b = stream();
  CUdeviceptr x = memory();
  CUgraphExec exec;
  CU(cuMemsetD32Async(x, 0, N, a));
  CU(cuStreamSynchronize(a));
  CUgraph graph = captured(a, x);
  CU(cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0));
  CU(cuGraphLaunch(exec, a));
  CU(cuGraphLaunch(exec, b)); // launches of one graph run one after the other
  SILENT();
  CU(run("add_one", a, x, 0));
  REPORTED("nothing orders them");
  CU(cuCtxSynchronize());
  CU(cuMemFree_v2(x));
  CU(cuGraphLaunch(exec, a));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(a));
  REPORTED("freed memory, by cuMemFree_v2");
}

CASE(a_capture_forks_and_joins) {
  begin();
  CUstream a = stream(), b = stream();
  CUevent fork = event(), join = event();
  CUdeviceptr x = memory(), y = memory();
  CUgraph graph;
  CUgraphExec exec;
  CU(cuStreamBeginCapture_v2(a, CAPTURE_THREAD_LOCAL));
  CU(run("fill", a, x, 1));
  CU(cuEventRecord(fork, a));
  CU(cuStreamWaitEvent(b, fork, 0));
  CU(cuMemcpyDtoDAsync_v2(y, x, BYTES, b));
  CU(cuEventRecord(join, b));
  CU(cuStreamWaitEvent(a, join, 0));
  CU(run("add_one", a, x, 0));
  CU(cuStreamEndCapture(a, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  SILENT();
  CU(cuGraphLaunch(exec, a));
  float back[N];
  CU(cuMemcpyDtoHAsync_v2(back, y, BYTES, a));
  TRUE(back[5] == 1);
  CU(cuGraphExecDestroy(exec));
  CU(cuGraphDestroy(graph));
  // The same without the join: the capture fails; with a join that is too late: a race within the graph.
  CU(cuStreamBeginCapture_v2(a, CAPTURE_THREAD_LOCAL));
  CU(run("fill", a, x, 1));
  CU(cuEventRecord(fork, a));
  CU(cuStreamWaitEvent(b, fork, 0));
  CU(cuMemcpyDtoDAsync_v2(y, x, BYTES, b));
  IS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(a, &graph));
  REPORTED("was not joined");
  CU(cuStreamBeginCapture_v2(a, CAPTURE_THREAD_LOCAL));
  CU(run("fill", a, x, 1));
  CU(cuEventRecord(fork, a));
  CU(cuStreamWaitEvent(b, fork, 0));
  CU(cuMemcpyDtoDAsync_v2(y, x, BYTES, b));
  CU(run("add_one", a, x, 0));
  CU(cuEventRecord(join, b));
  CU(cuStreamWaitEvent(a, join, 0));
  CU(cuStreamEndCapture(a, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  REPORTED("in the graph cuLaunchKernel writes");
  CU(cuGraphExecDestroy(exec));
  CU(cuGraphDestroy(graph));
  CU(cuEventDestroy_v2(fork));
  CU(cuEventDestroy_v2(join));
  CU(cuMemFree_v2(x));
  CU(cuMemFree_v2(y));
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  end();
}

// Each begins a capture, invalidates it, and checks that it is invalid.
static void broken(CUstream s) {
  CUgraph graph = (CUgraph)77;
  int status;
  fakecuda_clear_reports();
  CU(cuStreamIsCapturing(s, &status));
  IS(CAPTURE_STATUS_INVALIDATED, status);
  IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &graph));
  TRUE(graph == NULL);
  CU(cuStreamIsCapturing(s, &status));
  IS(CAPTURE_STATUS_NONE, status);
  SILENT();
}

CASE(what_breaks_a_capture) {
  begin();
  CUstream s = stream(), blocking;
  CUevent e = event(), inside = event();
  CUdeviceptr x = memory(), y;
  float plain[N];
  CU(cuStreamCreate(&blocking, 0));
#define BREAKS(mode, code, call, text)                                                                                 \
  CU(cuStreamBeginCapture_v2(s, mode));                                                                                \
  IS(code, call);                                                                                                      \
  REPORTED(text);                                                                                                      \
  broken(s)
  BREAKS(CAPTURE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s),
         "cuStreamSynchronize: not possible");
  BREAKS(CAPTURE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s), "cuStreamQuery: not possible");
  BREAKS(CAPTURE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&y, 16),
         "cuMemAlloc_v2: may synchronise");
  BREAKS(CAPTURE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemFree_v2(x), "cuMemFree_v2: may synchronise");
  BREAKS(CAPTURE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuEventQuery(e), "cuEventQuery: may synchronise");
  BREAKS(CAPTURE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize(),
         "cuCtxSynchronize: may synchronise");
  BREAKS(CAPTURE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(s, e, 0), "was recorded outside");
  BREAKS(CAPTURE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemcpyDtoHAsync_v2(plain, x, BYTES, s),
         "plain memory");
  CU(cuStreamBeginCapture_v2(s, CAPTURE_RELAXED));
  CU(cuEventRecord(inside, s));
  IS(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(inside));
  REPORTED("was recorded in a capture");
  broken(s);
  CU(cuStreamBeginCapture_v2(blocking, CAPTURE_RELAXED));
  IS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, run("fill", NULL, x, 1));
  REPORTED("the default stream waits for stream");
  broken(blocking);
  CU(cuStreamBeginCapture_v2(s, CAPTURE_RELAXED)); // the relaxed mode allows calls that may synchronize
  y = memory();
  CU(cuMemFree_v2(y));
  SILENT();
  CUgraph graph;
  CU(cuStreamEndCapture(s, &graph));
  CU(cuGraphDestroy(graph));
  IS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(s, &graph));
  REPORTED("is not being captured");
  IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2(NULL, CAPTURE_RELAXED));
  REPORTED("cannot be captured");
  CU(cuEventDestroy_v2(e));
  CU(cuEventDestroy_v2(inside));
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(s));
  CU(cuStreamDestroy_v2(blocking));
  end();
}

CASE(a_destroyed_stream_ends_its_capture) {
  begin();
  CUstream s = stream();
  CU(cuStreamBeginCapture_v2(s, CAPTURE_GLOBAL));
  CU(cuStreamDestroy_v2(s));
  REPORTED("is being captured");
  CU(cuMemFree_v2(memory())); // allowed: nothing is being captured now
  end();
}

static void *other_thread(void *arg) {
  CUstream *s = arg;
  CUgraph graph;
  CU(cuCtxSetCurrent(ctx));
  IS(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(*s, &graph));
  return NULL;
}

static void *allocates(void *arg) {
  CU(cuCtxSetCurrent(ctx));
  *(int *)arg = cuMemAlloc_v2(&(CUdeviceptr){0}, 16);
  return NULL;
}

CASE(captures_and_threads) {
  begin();
  CUstream s = stream();
  CUgraph graph;
  pthread_t t;
  int code, mode = CAPTURE_RELAXED;
  CU(cuStreamBeginCapture_v2(s, CAPTURE_THREAD_LOCAL));
  TRUE(!pthread_create(&t, NULL, other_thread, &s) && !pthread_join(t, NULL));
  REPORTED("was begun by another thread");
  broken(s);
  CU(cuStreamBeginCapture_v2(s, CAPTURE_GLOBAL));
  TRUE(!pthread_create(&t, NULL, allocates, &code) && !pthread_join(t, NULL));
  IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, code);
  REPORTED("may synchronise");
  broken(s);
  CU(cuStreamBeginCapture_v2(s, CAPTURE_GLOBAL));
  CU(cuThreadExchangeStreamCaptureMode(&mode));
  IS(CAPTURE_GLOBAL, mode);
  CU(cuMemFree_v2(memory()));
  CU(cuThreadExchangeStreamCaptureMode(&mode));
  CU(cuStreamEndCapture(s, &graph));
  CU(cuGraphDestroy(graph));
  CU(cuStreamDestroy_v2(s));
  end();
}
