/* Kernels of CUDA: launched through a function of a module, and by cuLaunchKernel alone. The same image in the same
 * context, one thread, the default stream; every ROUND launches it is waited for. */
#include "program.h"

#ifdef BENCH_CUDA
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCH_DEVICE kDLCUDA
#define LAUNCH_FILE bench_cuda_so
#include "launch.h"

/* ---- the driver alone ---- */

static __typeof__(&cuLaunchKernel) launch_call;
static __typeof__(&cuStreamSynchronize) wait_call;
static CUfunction raw_kernel;
static CUdeviceptr memory[2];

static void need(CUresult rc, const char* what) {
  if (rc == CUDA_SUCCESS) return;
  fprintf(stderr, "bench: %s answers %d\n", what, (int)rc);
  exit(1);
}

static void* symbol(void* library, const char* name) {
  void* p = dlsym(library, name);
  if (p == NULL) need(CUDA_ERROR_NOT_FOUND, name);
  return p;
}
#define CU(f) ((__typeof__(&f))symbol(library, #f))

/* The module's image, which is PTX. */
static char* image_of(TVMFFIAny m) {
  TVMFFIObjectHandle get = bench_global("runtime.ModuleGetImport"), inspect = bench_global("ffi.ModuleInspectSource");
  TVMFFIAny args[2] = {m, bench_int(0)};
  TVMFFIAny import = bench_call(get, args, 2);
  args[0] = import, args[1] = bench_text("");
  TVMFFIAny text = bench_call(inspect, args, 2);
  TVMFFIByteArray bytes;
  if (text.type_index == kTVMFFISmallStr) bytes = TVMFFISmallBytesGetContentByteArray(&text);
  else bytes = *TVMFFIBytesGetByteArrayPtr(text.v_obj);
  char* image = strndup(bytes.data, bytes.size);
  bench_release(text), bench_release(import);
  TVMFFIObjectDecRef(get), TVMFFIObjectDecRef(inspect);
  return image;
}

static void prepare_raw(void) {
  prepare_module();
  const char* name = getenv("TVMGO_CUDA_LIBRARY");
  void* library = dlopen(name != NULL && *name != 0 ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) need(CUDA_ERROR_NOT_FOUND, "opening the driver");
  CUdevice device;
  CUcontext context; /* the one that the module is in */
  CUmodule loaded;
  need(CU(cuInit)(0), "cuInit");
  need(CU(cuDeviceGet)(&device, 0), "cuDeviceGet");
  need(CU(cuDevicePrimaryCtxRetain)(&context, device), "cuDevicePrimaryCtxRetain");
  need(CU(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
  char* image = image_of(module);
  need(CU(cuModuleLoadData)(&loaded, image), "cuModuleLoadData");
  free(image);
  need(CU(cuModuleGetFunction)(&raw_kernel, loaded, "addone_kernel"), "cuModuleGetFunction");
  for (int i = 0; i < 2; i++)
    need(((__typeof__(&cuMemAlloc))symbol(library, "cuMemAlloc_v2"))(&memory[i], 64), "cuMemAlloc");
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
