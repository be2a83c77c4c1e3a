/* Kernels of OpenCL: launched through a function of a module, and by the calls of OpenCL alone. The same source, the
 * same kind of queue, one work item; every ROUND launches the queue is waited for. */
#include "program.h"

#ifdef BENCH_OPENCL
#include <CL/opencl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCH_DEVICE kDLOpenCL
#define LAUNCH_FILE bench_opencl_so
#include "launch.h"

/* ---- OpenCL alone ---- */

static __typeof__(&clSetKernelArg) set_arg;
static __typeof__(&clEnqueueNDRangeKernel) enqueue;
static __typeof__(&clFinish) finish;
static cl_kernel raw_kernel;
static cl_command_queue queue;
static cl_mem memory[2];

static void need(int ok, const char* what) {
  if (ok) return;
  fprintf(stderr, "bench: %s fails\n", what);
  exit(1);
}

static void* symbol(void* library, const char* name) {
  void* p = dlsym(library, name);
  need(p != NULL, name);
  return p;
}
#define CL(f) ((__typeof__(&f))symbol(library, #f))

/* The source of the module's kernels, as it stands in the file. */
static char* source_of(TVMFFIAny m) {
  TVMFFIObjectHandle get = bench_global("runtime.ModuleGetImport"), inspect = bench_global("ffi.ModuleInspectSource");
  TVMFFIAny args[2] = {m, bench_int(0)};
  TVMFFIAny import = bench_call(get, args, 2);
  args[0] = import, args[1] = bench_text("");
  TVMFFIAny text = bench_call(inspect, args, 2);
  TVMFFIByteArray bytes;
  if (text.type_index == kTVMFFISmallStr) bytes = TVMFFISmallBytesGetContentByteArray(&text);
  else bytes = *TVMFFIBytesGetByteArrayPtr(text.v_obj);
  char* source = strndup(bytes.data, bytes.size);
  bench_release(text), bench_release(import);
  TVMFFIObjectDecRef(get), TVMFFIObjectDecRef(inspect);
  return source;
}

static void prepare_raw(void) {
  prepare_module();
  const char* name = getenv("TVMGO_OPENCL_LIBRARY");
  void* library = dlopen(name != NULL && *name != 0 ? name : "libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  need(library != NULL, "opening the OpenCL loader");
  cl_platform_id platform;
  cl_device_id device;
  cl_int rc;
  need(CL(clGetPlatformIDs)(1, &platform, NULL) == CL_SUCCESS, "clGetPlatformIDs");
  if (CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL) != CL_SUCCESS)
    need(CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS, "clGetDeviceIDs");
  cl_context context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, &rc);
  need(context != NULL, "clCreateContext");
  queue = CL(clCreateCommandQueue)(context, device, CL_QUEUE_PROFILING_ENABLE, &rc); /* as the runtime's are */
  need(queue != NULL, "clCreateCommandQueue");
  char* source = source_of(module);
  const char* lines = source;
  cl_program program = CL(clCreateProgramWithSource)(context, 1, &lines, NULL, &rc);
  need(program != NULL && CL(clBuildProgram)(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
  free(source);
  raw_kernel = CL(clCreateKernel)(program, "addone_kernel", &rc);
  need(raw_kernel != NULL, "clCreateKernel");
  for (int i = 0; i < 2; i++)
    need((memory[i] = CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, 64, NULL, &rc)) != NULL, "clCreateBuffer");
  set_arg = CL(clSetKernelArg), enqueue = CL(clEnqueueNDRangeKernel), finish = CL(clFinish);
}

static void launch_raw(int64_t n) {
  const size_t one[3] = {1, 1, 1};
  const int32_t elements = 1;
  for (int64_t i = 0; i < n; i++) {
    cl_int rc = set_arg(raw_kernel, 0, sizeof memory[0], &memory[0]);
    if (rc == CL_SUCCESS) rc = set_arg(raw_kernel, 1, sizeof memory[1], &memory[1]);
    if (rc == CL_SUCCESS) rc = set_arg(raw_kernel, 2, sizeof elements, &elements);
    if (rc == CL_SUCCESS) rc = enqueue(queue, raw_kernel, 1, NULL, one, one, 0, NULL, NULL);
    if (rc == CL_SUCCESS && i % ROUND == ROUND - 1) rc = finish(queue);
    need(rc == CL_SUCCESS, "launch");
  }
  need(finish(queue) == CL_SUCCESS, "clFinish");
}

/* ---- memory ---- */

/* A block that the pool holds already. */
static void workspace(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    void* p = TVMBackendAllocWorkspace(kDLOpenCL, 0, 4096, kDLFloat, 32);
    bench_check(p == NULL, "allocate workspace");
    bench_check(TVMBackendFreeWorkspace(kDLOpenCL, 0, p), "free workspace");
  }
}

const bench_row bench_opencl_rows[] = {
    {"cl-launch", prepare_module, launch_kernel},
    {"cl-launch-host", prepare_module, launch_host},
    {"cl-launch-raw", prepare_raw, launch_raw},
    {"cl-workspace", prepare_module, workspace},
    {0},
};
#else
const bench_row bench_opencl_rows[] = {{0}};
#endif
