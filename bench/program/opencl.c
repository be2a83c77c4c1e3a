/* OpenCL kernels, launched by a function of a module and by OpenCL directly: the same source, the same kind of queue,
 * one work item. After every ROUND launches the program waits for the queue. */
#include "program.h"

#ifdef BENCH_OPENCL
#include <CL/opencl.h>
#include <stdlib.h>
#include <tvm/runtime/c_backend_api.h>

#define LAUNCH_DEVICE kDLOpenCL
#define LAUNCH_FILE bench_opencl_so
#include "addone.h"

/* ---- direct use of OpenCL ---- */

static __typeof__(&clSetKernelArg) set_arg;
static __typeof__(&clEnqueueNDRangeKernel) enqueue;
static __typeof__(&clFinish) finish;
static cl_kernel raw_kernel;
static cl_command_queue queue;
static cl_mem memory[2];

#define CL(f) ((__typeof__(&f))bench_symbol(library, #f))

static void prepare_raw(void) {
  prepare_module();
  void* library = bench_driver("TVMGO_OPENCL_LIBRARY", "libOpenCL.so.1");
  cl_platform_id platform;
  cl_device_id device;
  cl_int rc;
  bench_need(CL(clGetPlatformIDs)(1, &platform, NULL) == CL_SUCCESS, "clGetPlatformIDs");
  if (CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL) != CL_SUCCESS)
    bench_need(CL(clGetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS, "clGetDeviceIDs");
  cl_context context = CL(clCreateContext)(NULL, 1, &device, NULL, NULL, &rc);
  bench_need(context != NULL, "clCreateContext");
  queue = CL(clCreateCommandQueue)(context, device, CL_QUEUE_PROFILING_ENABLE, &rc); /* like the runtime's queues */
  bench_need(queue != NULL, "clCreateCommandQueue");
  char* source = kernel_code();
  const char* lines = source;
  cl_program program = CL(clCreateProgramWithSource)(context, 1, &lines, NULL, &rc);
  bench_need(program != NULL, "clCreateProgramWithSource");
  bench_need(CL(clBuildProgram)(program, 1, &device, "", NULL, NULL) == CL_SUCCESS, "clBuildProgram");
  free(source);
  raw_kernel = CL(clCreateKernel)(program, "addone_kernel", &rc);
  bench_need(raw_kernel != NULL, "clCreateKernel");
  for (int i = 0; i < 2; i++)
    bench_need((memory[i] = CL(clCreateBuffer)(context, CL_MEM_READ_WRITE, 64, NULL, &rc)) != NULL, "clCreateBuffer");
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
    bench_need(rc == CL_SUCCESS, "launch");
  }
  bench_need(finish(queue) == CL_SUCCESS, "clFinish");
}

/* ---- memory ---- */

/* A block that is in the pool already. */
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
