// Failures on demand.
#include "check.h"

#include <unistd.h>

// A small program that releases everything it created, whatever fails. Returns the first error.
static int life(void) {
  int code, first = 0;
  CUcontext c = NULL;
  CUstream s = NULL;
  CUevent e = NULL;
  CUmodule m = NULL;
  CUfunction f;
  CUdeviceptr x = 0, y = 0;
  CUgraph graph = NULL;
  CUgraphExec exec = NULL;
  void *host = NULL;
  CUmemoryPool pool = NULL;
  CUmemPoolProps props = {.allocType = 1, .location = {1, 0}};
  int n = N;
#define DO(call)                                                                                                       \
  do {                                                                                                                 \
    if (!first && (code = (call))) first = code;                                                                       \
  } while (0)
#define UNDO(call)                                                                                                     \
  do {                                                                                                                 \
    if ((code = (call)) && !first) first = code;                                                                       \
  } while (0)
  DO(cuDevicePrimaryCtxRetain(&c, 0));
  DO(cuCtxSetCurrent(c));
  DO(cuStreamCreate(&s, STREAM_NON_BLOCKING));
  DO(cuEventCreate(&e, 0));
  DO(cuModuleLoadData(&m, ptx));
  DO(cuModuleGetFunction(&f, m, "add_one"));
  DO(cuMemAlloc_v2(&x, BYTES));
  DO(cuMemPoolCreate(&pool, &props));
  DO(cuMemAllocFromPoolAsync(&y, BYTES, pool, s));
  DO(cuMemHostAlloc(&host, BYTES, 0));
  DO(cuMemsetD32Async(x, 0, N, s));
  DO(cuMemcpyDtoDAsync_v2(y, x, BYTES, s));
  void *params[] = {&x, &n};
  if (!first) DO(cuStreamBeginCapture_v2(s, CAPTURE_THREAD_LOCAL));
  if (!first) {
    DO(cuLaunchKernel(f, 4, 1, 1, 256, 1, 1, 0, s, params, NULL));
    UNDO(cuStreamEndCapture(s, &graph));
  }
  DO(cuGraphInstantiateWithFlags(&exec, graph, 0));
  DO(cuGraphLaunch(exec, s));
  DO(cuMemcpyDtoHAsync_v2(host, x, BYTES, s));
  DO(cuEventRecord(e, s));
  DO(cuEventSynchronize(e));
  if (!first && *(float *)host != 1) FAIL("the result is %g", *(float *)host);
  if (exec) UNDO(cuGraphExecDestroy(exec));
  if (graph) UNDO(cuGraphDestroy(graph));
  if (y) UNDO(cuMemFreeAsync(y, s));
  if (x) UNDO(cuMemFree_v2(x));
  if (host) UNDO(cuMemFreeHost(host));
  if (m) UNDO(cuModuleUnload(m));
  if (e) UNDO(cuEventDestroy_v2(e));
  if (s) UNDO(cuStreamSynchronize(s));
  if (s) UNDO(cuStreamDestroy_v2(s));
  if (pool) UNDO(cuMemPoolDestroy(pool));
  if (c) UNDO(cuDevicePrimaryCtxRelease_v2(0));
  return first;
}

CASE(every_call_fails_once) {
  CU(cuInit(0));
  CU(life());
  long long before = fakecuda_calls();
  CU(life());
  long long n = fakecuda_calls() - before;
  TRUE(n >= 30);
  for (long long k = 1; k <= n; k++) {
    fakecuda_fail_at(k, 999, NULL);
    int code = life();
    TRUE(fakecuda_failed());
    if (code != 999) FAIL("call %lld: %d", k, code);
    char text[4096];
    if (fakecuda_leaks(1, text, sizeof text)) FAIL("call %lld leaves %s", k, text);
    SILENT();
  }
  fakecuda_fail_at(n + 1, 999, NULL);
  CU(life());
  TRUE(!fakecuda_failed());
}

CASE(named_calls_fail) {
  begin();
  CUdeviceptr x = memory();
  fakecuda_fail_at(2, 2, "cuMemAlloc*,cuStreamCreate");
  CU(cuMemsetD32Async(x, 0, 1, NULL));
  CUstream s = stream();
  IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&x, 1));
  TRUE(fakecuda_failed());
  CU(cuStreamDestroy_v2(s));
  CU(cuCtxSynchronize());
  CU(cuMemFree_v2(x));
  end();
}

CASE(an_operation_fails_later) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  CUfunction f = kernel("illegal_address"); // which is never executed
  fakecuda_fail_async(CUDA_ERROR_ILLEGAL_ADDRESS);
  CU(run("fill", s, x, 1));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(s));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamQuery(s));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&x, 1));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree_v2(x)); // it is freed nevertheless
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamDestroy_v2(s));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuModuleUnload(mod));
  CU(cuDevicePrimaryCtxReset_v2(0)); // a new context works again
  CU(cuDevicePrimaryCtxRetain(&ctx, 0));
  CU(cuCtxSetCurrent(ctx));
  CU(cuMemFree_v2(memory()));
  CU(cuDevicePrimaryCtxRelease_v2(0));
  SILENT();
  IS(0, fakecuda_leaks(1, NULL, 0));
}

CASE(a_kernel_fails) {
  begin();
  CU(cuLaunchKernel(kernel("illegal_address"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  SILENT();
}

CASE(a_device_is_lost) {
  begin();
  CUcontext second;
  CUdeviceptr x = memory();
  CU(cuDevicePrimaryCtxRetain(&second, 1));
  fakecuda_lose_device(0, 719);
  IS(719, cuMemAlloc_v2(&x, 1));
  IS(719, cuStreamSynchronize(NULL));
  IS(719, cuMemFree_v2(x));
  CU(cuCtxSetCurrent(second));
  CU(cuMemFree_v2(memory())); // the other device still works
  CU(cuDevicePrimaryCtxRelease_v2(1));
  SILENT();
}

CASE(a_device_is_repaired) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  CU(run("fill", s, x, 1));
  long long before = fakecuda_executed();
  fakecuda_lose_device(0, 719);
  fakecuda_release();
  while (fakecuda_executed() < before + 2) usleep(100); // fill fails
  fakecuda_lose_device(0, 0);
  CU(run("fill", s, x, 1));
  CU(cuStreamSynchronize(s));
  CU(cuStreamDestroy_v2(s));
  CU(cuMemFree_v2(x));
  end();
}

CASE(reset_forgets_everything) {
  begin();
  CUstream s = stream();
  memory();
  CU(cuStreamBeginCapture_v2(s, CAPTURE_RELAXED));
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  fakecuda_set("delay_us", 1000);
  fakecuda_reset();
  IS(0, fakecuda_leaks(1, NULL, 0));
  IS(0, fakecuda_reports());
  IS(0, (int)fakecuda_calls());
  IS(0, (int)fakecuda_executed());
  IS(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
  fakecuda_clear_reports();
  begin();
  CU(cuMemFree_v2(memory()));
  end();
}

CASE(leaks_are_listed) {
  char text[4096];
  begin();
  CUstream s = stream();
  CUevent e = event();
  CUdeviceptr x = memory();
  IS(4, fakecuda_leaks(0, text, sizeof text));
  TRUE(strstr(text, "stream ") && strstr(text, "event ") && strstr(text, "module ") && strstr(text,
      "4096 bytes of device memory"));
  CU(cuDevicePrimaryCtxRelease_v2(0));
  IS(4, fakecuda_reports());
  fakecuda_clear_reports();
  (void)s, (void)e, (void)x;
}
