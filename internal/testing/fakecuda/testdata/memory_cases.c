// Memory and contexts: misuse is reported, correct use is not.
#include <pthread.h>
#include <unistd.h>

#include "check.h"

CASE(numbers_of_the_device) {
  int v;
  char name[64], id[16];
  size_t bytes;
  CU(cuInit(0));
  CU(cuDriverGetVersion(&v));
  IS(13000, v);
  CU(cuDeviceGetCount(&v));
  IS(2, v);
  static const int want[][2] = {{1, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {8, 49152}, {10, 32}, {12, 65536},
                                {13, 1980000},
                                {16, 132}, {36, 3201000}, {37, 6144}, {38, 62914560}, {75, 9}, {76, 0}, {97, 232448}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    CU(cuDeviceGetAttribute(&v, want[i][0], 1));
    IS(want[i][1], v);
  }
  IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&v, 9999, 0));
  CU(cuDeviceGetName(name, sizeof name, 0));
  TRUE(!strcmp(name, "NVIDIA H200"));
  CU(cuDeviceTotalMem_v2(&bytes, 0));
  TRUE(bytes > 140000000000ull);
  CUuuid a, b;
  CU(cuDeviceGetUuid(&a, 0));
  CU(cuDeviceGetUuid_v2(&b, 1));
  TRUE(memcmp(&a, &b, sizeof a));
  CU(cuDeviceGetPCIBusId(id, sizeof id, 1));
  TRUE(!strcmp(id, "0000:29:00.0"));
  IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&v, 2));
  SILENT();
  IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&v, 1, 2));
  REPORTED("there is no device 2");
}

CASE(before_init) {
  int n;
  IS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
  REPORTED("cuDeviceGetCount: called before cuInit");
  fakecuda_set("devices", 0);
  IS(CUDA_ERROR_NO_DEVICE, cuInit(0));
  SILENT();
}

CASE(contexts) {
  CUdeviceptr x;
  CUcontext got;
  CU(cuInit(0));
  IS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&x, 16));
  REPORTED("no context is current");
  CU(cuDevicePrimaryCtxRetain(&ctx, 1));
  CU(cuCtxSetCurrent(ctx));
  CU(cuCtxGetCurrent(&got));
  TRUE(got == ctx);
  CU(cuMemAlloc_v2(&x, 16));
  CU(cuDevicePrimaryCtxRelease_v2(1));
  REPORTED("16 bytes at");
  IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(ctx));
  REPORTED("was destroyed before");
  IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)0x1234560));
  REPORTED("is no context that this driver made");
  IS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));
  REPORTED("is not retained");
  CU(cuDevicePrimaryCtxRetain(&ctx, 0));
  CU(cuDevicePrimaryCtxRetain(&got, 0));
  TRUE(got == ctx);
  CU(cuDevicePrimaryCtxRelease_v2(0));
  IS(1, fakecuda_leaks(1, NULL, 0));
  IS(0, fakecuda_leaks(0, NULL, 0));
  CU(cuDevicePrimaryCtxRelease_v2(0));
  IS(0, fakecuda_leaks(1, NULL, 0));
  CU(cuCtxSetCurrent(NULL));
  SILENT();
}

CASE(freed_memory) {
  begin();
  CUdeviceptr x = memory();
  float back[N];
  IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(x + 4));
  REPORTED("is not the begin");
  CU(cuMemFree_v2(x));
  IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(x));
  REPORTED("was freed before, by cuMemFree_v2");
  IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(back, x, BYTES));
  REPORTED("is memory that cuMemFree_v2 freed");
  IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(12345));
  REPORTED("was never allocated");
  CU(run("fill", NULL, x, 1)); // the launch does not fail, as with a real driver
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  REPORTED("kernel fill writes [0x");
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemAlloc_v2(&x, 16)); // the error is sticky
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuModuleUnload(mod));
  SILENT();
}

CASE(out_of_bounds) {
  begin();
  CUdeviceptr x = memory(), y = memory();
  float back[2 * N];
  IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(back, x + 4, BYTES));
  REPORTED("goes beyond its allocation of 4096 bytes");
  IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(x, 0, N + 1, NULL));
  REPORTED("destination of 4100 bytes");
  IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)back, back, 4, NULL));
  REPORTED("is no memory of an allocation");
  CU(cuMemcpyDtoH_v2((void *)(uintptr_t)x, y, 4)); // with unified addresses, this is a copy to the device
  CU(run("fill", NULL, x + 4, 1));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  REPORTED("beyond the end of its allocation");
}

CASE(a_free_waits_for_the_work_that_uses_the_memory) {
  begin();
  CUstream s = stream();
  CUdeviceptr x = memory();
  fakecuda_set("delay_us", 3000);
  CU(run("fill", s, x, 1));
  CU(run("add_one", s, x, 1));
  CU(cuMemFree_v2(x));
  IS(0, fakecuda_pending());
  CU(cuStreamDestroy_v2(s));
  end();
}

// The driver also waits for work whose race was reported.
CASE(a_free_waits_for_all_who_use_the_memory) {
  begin();
  CUstream a = stream(), b = stream();
  CUdeviceptr x = memory(), y = memory();
  fakecuda_set("delay_us", 5000);
  for (int i = 0; i < 5; i++) CU(run("fill", a, y, 1));
  CU(run("fill", a, x, 1));
  CU(run("fill", b, x, 1));
  REPORTED("nothing orders them");
  CU(cuMemFree_v2(x));
  IS(0, fakecuda_pending());
  CU(cuMemFree_v2(y));
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  end();
}

CASE(out_of_memory) {
  begin();
  CUdeviceptr x = 77, y;
  size_t available, total;
  fakecuda_set("memory", 1 << 20);
  IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&x, 1 << 20)); // the module's global variable uses a part of it
  TRUE(x == 77);
  CU(cuMemAlloc_v2(&x, (1 << 20) - 4096));
  IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&y, 4096));
  CU(cuMemGetInfo_v2(&available, &total));
  TRUE(available < 4096);
  CU(cuMemFree_v2(x));
  CU(cuMemAlloc_v2(&x, (1 << 20) - 4096));
  IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&y, (size_t)-1));
  CU(cuMemFree_v2(x));
  end();
}

static CUmemoryPool pool_of_device(void) {
  CUmemoryPool pool;
  CU(cuMemPoolCreate(&pool, &(CUmemPoolProps){.allocType = 1, .location = {1, 0}}));
  return pool;
}

CASE(memory_in_stream_order) {
  begin();
  CUstream a = stream(), b = stream();
  CUevent e = event();
  CUdeviceptr x;
  CUmemoryPool pool = pool_of_device();
  uint64_t used, reserved, all = ~0ull;
  CU(cuMemPoolSetAttribute(pool, 4, &all));
  CU(cuMemAllocFromPoolAsync(&x, BYTES, pool, a));
  CU(run("fill", a, x, 1));
  CU(cuEventRecord(e, a));
  CU(cuStreamWaitEvent(b, e, 0));
  CU(run("add_one", b, x, 1));
  CU(cuMemFreeAsync(x, b));
  SILENT();
  IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(x, b));
  REPORTED("was freed before, by cuMemFreeAsync");
  IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32Async(x, 0, 1, b));
  REPORTED("is memory that cuMemFreeAsync freed");
  CU(cuMemAllocFromPoolAsync(&x, BYTES, pool, a));
  CU(cuLaunchKernel(kernel("wait_released"), 1, 1, 1, 1, 1, 1, 0, a, NULL, NULL));
  CU(run("fill", b, x, 1));
  REPORTED("nothing orders them");
  CU(cuMemFreeAsync(x, a));
  REPORTED("cuMemFreeAsync on stream");
  while (cuStreamQuery(b) == CUDA_ERROR_NOT_READY) usleep(100);
  fakecuda_release();
  CU(cuCtxSynchronize());
  CU(cuMemPoolGetAttribute(pool, 5, &reserved));
  CU(cuMemPoolGetAttribute(pool, 7, &used));
  IS(0, (int)used);
  TRUE(reserved >= BYTES);
  CU(cuMemPoolTrimTo(pool, 0));
  CU(cuMemPoolGetAttribute(pool, 5, &reserved));
  IS(0, (int)reserved);
  x = memory();
  IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(x, a));
  REPORTED("is not the begin of memory that cuMemAllocFromPoolAsync gave");
  CU(cuMemFree_v2(x));
  CU(cuMemPoolDestroy(pool));
  CU(cuEventDestroy_v2(e));
  CU(cuStreamDestroy_v2(a));
  CU(cuStreamDestroy_v2(b));
  end();
}

CASE(a_pool_destroyed_in_use) {
  begin();
  CUmemoryPool pool = pool_of_device();
  CUdeviceptr x;
  CUstream s = stream();
  CU(cuMemAllocFromPoolAsync(&x, BYTES, pool, s));
  CU(cuMemPoolDestroy(pool));
  REPORTED("has 4096 bytes in use");
  CU(cuStreamSynchronize(s)); // freeing memory of a pool does not wait
  CU(cuMemFree_v2(x));
  IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
  REPORTED("was destroyed before");
  CU(cuStreamDestroy_v2(s));
  end();
}

CASE(page_locked_memory_misused) {
  begin();
  void *p;
  CU(cuMemHostAlloc(&p, BYTES, 0));
  CU(cuMemFreeHost(p));
  IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(p));
  REPORTED("was freed before, by cuMemFreeHost");
  end();
}

CASE(questions_about_addresses) {
  begin();
  CUdeviceptr x = memory();
  int plain = 0;
  unsigned type = 9;
  void *p;
  CU(cuPointerGetAttribute(&type, 2, x));
  IS(MEMORYTYPE_DEVICE, (int)type);
  CU(cuMemHostAlloc(&p, 16, 0));
  CU(cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)p));
  IS(MEMORYTYPE_HOST, (int)type);
  IS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, 2, (CUdeviceptr)(uintptr_t)&plain));
  CU(cuMemFreeHost(p));
  CU(cuMemFree_v2(x));
  end();
}

CASE(two_devices) {
  begin();
  CUcontext second;
  CUdeviceptr x = memory(), y;
  CUevent e = event();
  CUstream a = stream(), b;
  int can;
  float back[N];
  CU(cuDevicePrimaryCtxRetain(&second, 1));
  CU(cuCtxSetCurrent(second));
  y = memory();
  b = stream();
  IS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(e, b));
  REPORTED("is of context");
  CU(cuCtxSetCurrent(ctx));
  CU(run("fill", a, x, 6));
  CU(cuMemcpyPeerAsync(y, second, x, ctx, BYTES, a));
  CU(cuEventRecord(e, a));
  CU(cuStreamWaitEvent(b, e, 0));
  CU(cuMemcpyDtoHAsync_v2(back, y, BYTES, b));
  TRUE(back[0] == 6 && back[N - 1] == 6);
  IS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeerAsync(y, ctx, x, ctx, BYTES, a));
  REPORTED("memory of another device");
  CU(cuDeviceCanAccessPeer(&can, 0, 1));
  IS(1, can);
  CU(run("fill", a, y, 7));
  IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(a));
  REPORTED("without peer access");
}

CASE(peer_access) {
  begin();
  CUcontext second;
  CU(cuDevicePrimaryCtxRetain(&second, 1));
  CU(cuCtxSetCurrent(second));
  CUdeviceptr y = memory();
  CU(cuCtxSetCurrent(ctx));
  CUstream a = stream();
  CU(cuCtxEnablePeerAccess(second, 0));
  IS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(second, 0));
  CU(run("fill", a, y, 7));
  CU(cuStreamSynchronize(a));
  SILENT();
}

static void *spoiler(void *at) {
  CUdeviceptr x;
  IS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&x, 16)); // a context is current to one thread only
  CU(cuCtxSetCurrent(ctx));
  CU(cuMemAlloc_v2(at, BYTES));
  return NULL;
}

CASE(contexts_are_of_threads) {
  begin();
  pthread_t t;
  CUdeviceptr x;
  TRUE(!pthread_create(&t, NULL, spoiler, &x));
  TRUE(!pthread_join(t, NULL));
  REPORTED("no context is current");
  CU(cuMemFree_v2(x));
  end();
}
