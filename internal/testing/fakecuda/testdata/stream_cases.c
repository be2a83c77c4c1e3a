// Streams, events, copies, and their order.
#include <unistd.h>

#include "check.h"

CASE(kernel_on_a_stream) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  float back[N];
  CU(run("fill", s, x, 2));
  CU(run("scale", s, x, 3));
  CU(run("add_one", s, x, 0));
  CU(cuMemcpyDtoHAsync_v2(back, x, BYTES, s)); // pageable memory: done when the call returns
  for (int i = 0; i < N; i++) TRUE(back[i] == 7);
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(s));
  end();
}

CASE(plain_memory_is_read_at_the_call) {
  begin();
  fakecuda_set("delay_us", 5000);
  CUstream s = stream();
  CUdeviceptr x = memory();
  float from[N], back[N];
  for (int i = 0; i < N; i++) from[i] = 1;
  CU(cuMemcpyHtoDAsync_v2(x, from, BYTES, s));
  for (int i = 0; i < N; i++) from[i] = 2;
  CU(cuMemcpyDtoHAsync_v2(back, x, BYTES, s));
  for (int i = 0; i < N; i++) TRUE(back[i] == 1);
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(s));
  end();
}

CASE(page_locked_memory_is_written_late) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  float *back;
  CU(cuMemHostAlloc((void **)&back, BYTES, 0));
  CU(run("fill", s, x, 5));
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  for (int i = 0; i < N; i++) back[i] = 5;
  CU(cuMemcpyDtoHAsync_v2(back, x, BYTES, s));
  TRUE(back[0] != 5); // it must not be read yet, and contains garbage
  IS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
  fakecuda_release();
  CU(cuStreamSynchronize(s));
  CU(cuStreamQuery(s));
  for (int i = 0; i < N; i++) TRUE(back[i] == 5);
  CU(cuMemFreeHost(back));
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(s));
  end();
}

CASE(changed_page_locked_source_is_reported) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  float *from;
  CU(cuMemHostAlloc((void **)&from, BYTES, 0));
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  CU(cuMemcpyHtoDAsync_v2(x, from, BYTES, s));
  from[7] = 1;
  fakecuda_release();
  CU(cuStreamSynchronize(s));
  REPORTED("the host changed 4096 bytes of page-locked memory");
  CU(cuMemcpyHtoDAsync_v2(x, from, BYTES, s));
  CU(cuStreamSynchronize(s));
  SILENT();
  CU(cuMemFreeHost(from));
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(s));
  end();
}

CASE(unordered_streams_are_reported) {
  begin();
  CUstream a = stream(), b = stream();
  CUdeviceptr x = memory();
  CU(run("fill", a, x, 1));
  CU(run("add_one", b, x, 0));
  REPORTED("nothing orders them");
  CU(cuCtxSynchronize());
  CU(run("fill", a, x, 1));
  CU(cuMemsetD32Async(x + 2048, 0, 4, b));
  REPORTED("cuMemsetD32Async on stream");
  CU(cuCtxSynchronize());
  CU(run("add_one", a, x, 0)); // ordered, because the host waited
  CU(cuStreamSynchronize(a));
  CU(run("add_one", b, x, 0));
  SILENT();
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  end();
}

CASE(an_event_orders_streams) {
  begin();
  CUstream a = stream(), b = stream();
  CUevent e = event();
  CUdeviceptr x = memory();
  float back[N];
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
  CU(run("fill", a, x, 1));
  CU(cuEventRecord(e, a));
  CU(cuStreamWaitEvent(b, e, 0));
  CU(run("add_one", b, x, 0));
  IS(CUDA_ERROR_NOT_READY, cuEventQuery(e));
  fakecuda_release();
  CU(cuMemcpyDtoHAsync_v2(back, x, BYTES, b));
  for (int i = 0; i < N; i++) TRUE(back[i] == 2);
  CU(run("add_one", a, x, 0)); // ordered, because the call waited for the copy
  SILENT();
  CU(cuEventDestroy_v2(e));
  CU(cuMemFree_v2(x));
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  end();
}

// Recording again moves the event; streams that waited for the first position are not ordered after later work.
CASE(an_event_orders_only_what_was_before_it) {
  begin();
  CUstream a = stream(), b = stream();
  CUevent e = event();
  CUdeviceptr x = memory();
  CU(cuEventRecord(e, a));
  CU(run("fill", a, x, 1));
  CU(cuStreamWaitEvent(b, e, 0));
  CU(run("add_one", b, x, 0));
  REPORTED("nothing orders them");
  CU(cuEventDestroy_v2(e));
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  CU(cuMemFree_v2(x));
  end();
}

CASE(readers_need_no_order) {
  begin();
  CUstream a = stream(), b = stream();
  CUdeviceptr x = memory(), y = memory(), z = memory();
  CU(cuMemsetD32Async(x, 1, N, NULL));
  CU(cuCtxSynchronize());
  CU(cuMemcpyDtoDAsync_v2(y, x, BYTES, a));
  CU(cuMemcpyDtoDAsync_v2(z, x, BYTES, b));
  SILENT();
  CU(cuMemsetD32Async(x, 1, N, a));
  REPORTED("writes bytes [0, 4096)");
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  CU(cuMemFree_v2(x));
  CU(cuMemFree_v2(y));
  CU(cuMemFree_v2(z));
  end();
}

CASE(the_default_stream_orders_blocking_streams) {
  begin();
  CUstream a;
  CUdeviceptr x = memory();
  float back[N];
  CU(cuStreamCreate(&a, 0));
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
  CU(run("fill", a, x, 1));
  CU(run("add_one", NULL, x, 0));
  CU(run("add_one", a, x, 0));
  SILENT();
  fakecuda_release();
  CU(cuStreamSynchronize(a));
  CU(cuMemcpyDtoH_v2(back, x, BYTES));
  for (int i = 0; i < N; i++) TRUE(back[i] == 3);
  CUstream b = stream();
  CU(run("add_one", NULL, x, 0));
  CU(run("add_one", b, x, 0));
  REPORTED("the default stream");
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  CU(cuMemFree_v2(x));
  end();
}

CASE(time_between_events) {
  begin();
  CUevent a, b, c = event();
  float ms = -1;
  CU(cuEventCreate(&a, 0));
  CU(cuEventCreate(&b, 0));
  CUstream s = stream();
  fakecuda_set("delay_us", 2000);
  CU(cuEventRecord(a, s));
  CU(cuEventRecord(b, s));
  CU(cuEventSynchronize(b));
  CU(cuEventElapsedTime(&ms, a, b));
  TRUE(ms >= 2);
  CU(cuEventRecord(c, s));
  CU(cuEventSynchronize(c));
  IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, a, c));
  REPORTED("made without timing");
  CU(cuEventDestroy_v2(a));
  CU(cuEventDestroy_v2(b));
  CU(cuEventDestroy_v2(c));
  CU(cuStreamDestroy_v2(s));
  end();
}

// The default stream, and waits for the context, are ordered after the work of a closed stream.
CASE(order_after_closed_streams) {
  begin();
  CUdeviceptr x = memory();
  for (int i = 0; i < 300; i++) { // more streams than clocks
    CUstream s;
    CU(cuStreamCreate(&s, 0));
    CU(run("add_one", s, x, 0));
    CU(cuStreamDestroy_v2(s));
    if (i % 2) {
      CU(cuCtxSynchronize());
    } else {
      CU(run("add_one", NULL, x, 0));
    }
  }
  SILENT();
  CU(cuMemFree_v2(x));
  end();
}

CASE(a_closed_stream_finishes_its_work) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  float back[N];
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  CU(run("fill", s, x, 4));
  CU(cuStreamDestroy_v2(s));
  SILENT();
  fakecuda_release();
  CU(cuCtxSynchronize());
  CU(cuMemcpyDtoH_v2(back, x, BYTES));
  for (int i = 0; i < N; i++) TRUE(back[i] == 4);
  s = stream();
  fakecuda_set("strict_destroy", 1);
  fakecuda_hold();
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  CU(cuStreamDestroy_v2(s));
  REPORTED("has pending work");
  fakecuda_release();
  CU(cuCtxSynchronize());
  CU(cuMemFree_v2(x));
  end();
}
