/* Kernels of CUDA: launched through a function of a module, and by cuLaunchKernel alone. The same image in the same context, one
 * thread, the default stream; every ROUND launches it is waited for. */
#include "side.h"

#ifdef BENCH_CUDA
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

enum { ROUND = 256 };

/* ---- through the module ---- */

static TVMFFIAny kernel_function, host_function, module;
static TVMFFIAny values[5]; /* in, out, elements, grid, block */

static TVMFFIAny device_tensor(void) {
  TVMFFIAny dim = bench_int(1), args[4] = {{0}};
  TVMFFIObjectHandle shape = bench_global("ffi.Shape"), alloc = bench_global("runtime.TVMTensorAllocWithScope");
  args[0] = bench_call(shape, &dim, 1);
  args[1].type_index = kTVMFFIDataType, args[1].v_dtype = (DLDataType){kDLFloat, 32, 1};
  args[2].type_index = kTVMFFIDevice, args[2].v_device = (DLDevice){kDLCUDA, 0};
  TVMFFIAny t = bench_call(alloc, args, 4);
  bench_release(args[0]);
  TVMFFIObjectDecRef(shape), TVMFFIObjectDecRef(alloc);
  return t;
}

static void prepare_module(void) {
  if (module.v_obj != NULL) return;
  module = bench_load(bench_cuda_so);
  host_function = bench_module_function(module, "addone");
  TVMFFIObjectHandle get = bench_global("ffi.ModuleGetFunction");
  TVMFFIAny args[3] = {module, bench_text("addone_kernel"), {.type_index = kTVMFFIBool}};
  args[2].v_int64 = 1; /* also in what it imports */
  kernel_function = bench_call(get, args, 3);
  if (kernel_function.type_index != kTVMFFIFunction) bench_fail("addone_kernel");
  TVMFFIObjectDecRef(get);
  values[0] = device_tensor(), values[1] = device_tensor();
  for (int i = 2; i < 5; i++) values[i] = bench_int(1);
  bench_call(kernel_function.v_obj, values, 5);
  bench_call(host_function.v_obj, values, 2);
}

static void launch(TVMFFIObjectHandle f, int32_t n_args, int64_t n) {
  TVMFFIAny result;
  for (int64_t i = 0; i < n; i++) {
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(f, values, n_args, &result), "launch");
    if (i % ROUND == ROUND - 1) bench_check(TVMSynchronize(kDLCUDA, 0, NULL), "wait");
  }
  bench_check(TVMSynchronize(kDLCUDA, 0, NULL), "wait");
}

static void launch_kernel(int64_t n) { launch(kernel_function.v_obj, 5, n); }
static void launch_host(int64_t n) { launch(host_function.v_obj, 2, n); }

/* ---- the driver alone ---- */

static __typeof__(&cuLaunchKernel) launch_call;
static __typeof__(&cuStreamSynchronize) wait_call;
static CUfunction raw_kernel;
static CUdeviceptr memory[2];

static void need(CUresult rc, const char* what) {
  if (rc == CUDA_SUCCESS) return;
  fprintf(stderr, "side: %s answers %d\n", what, (int)rc);
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
  for (int i = 0; i < 2; i++) need(((__typeof__(&cuMemAlloc))symbol(library, "cuMemAlloc_v2"))(&memory[i], 64), "cuMemAlloc");
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
