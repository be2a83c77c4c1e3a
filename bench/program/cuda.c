/* CUDA kernels, launched by a function of a module and by cuLaunchKernel directly: the same image in the same context,
 * one thread, the default stream. After every ROUND launches the program waits for the stream. */
#include "program.h"

#ifdef BENCH_CUDA
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define LAUNCH_DEVICE kDLCUDA
#define LAUNCH_FILE bench_cuda_so
#include "addone.h"

/* ---- direct use of the driver ---- */

static __typeof__(&cuLaunchKernel) launch_call;
static __typeof__(&cuStreamSynchronize) wait_call;
static CUfunction raw_kernel;
static CUdeviceptr memory[2];

static void need(CUresult rc, const char* what) {
  if (rc == CUDA_SUCCESS) return;
  fprintf(stderr, "bench: %s returns %d\n", what, (int)rc);
  exit(1);
}

#define CU(f) ((__typeof__(&f))bench_symbol(library, #f))

static void prepare_raw(void) {
  prepare_module();
  void* library = bench_driver("TVMGO_CUDA_LIBRARY", "libcuda.so.1");
  CUdevice device;
  CUcontext context; /* the context of the module */
  CUmodule loaded;
  need(CU(cuInit)(0), "cuInit");
  need(CU(cuDeviceGet)(&device, 0), "cuDeviceGet");
  need(CU(cuDevicePrimaryCtxRetain)(&context, device), "cuDevicePrimaryCtxRetain");
  need(CU(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
  char* image = kernel_code(); /* PTX */
  need(CU(cuModuleLoadData)(&loaded, image), "cuModuleLoadData");
  free(image);
  need(CU(cuModuleGetFunction)(&raw_kernel, loaded, "addone_kernel"), "cuModuleGetFunction");
  for (int i = 0; i < 2; i++)
    need(((__typeof__(&cuMemAlloc))bench_symbol(library, "cuMemAlloc_v2"))(&memory[i], 64), "cuMemAlloc");
  launch_call = CU(cuLaunchKernel), wait_call = CU(cuStreamSynchronize);
}

static void launch_raw(int64_t n) {
  int32_t elements = 1;
  void* params[] = {&memory[0], &memory[1], &elements};
  for (int64_t i = 0; i < n; i++) {
    CUresult rc = launch_call(raw_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
    if (rc == CUDA_SUCCESS && i % ROUND == ROUND - 1) rc = wait_call(NULL);
    need(rc, "launch");
  }
  need(wait_call(NULL), "wait");
}

const bench_row bench_cuda_rows[] = {
    {"cu-launch", prepare_module, launch_kernel},
    {"cu-launch-host", prepare_module, launch_host},
    {"cu-launch-raw", prepare_raw, launch_raw},
    {0},
};
#else
const bench_row bench_cuda_rows[] = {{0}};
#endif
