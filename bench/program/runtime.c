/* Memory: tensors and workspaces. */
#include "program.h"

#include <tvm/runtime/c_backend_api.h>
#ifdef BENCH_CLASSIC
#include <stdlib.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/device_api.h>
#endif

static TVMFFIObjectHandle tensor_alloc;
static TVMFFIAny tensor_args[4];

/* 256 float32 elements: 1 KiB. */
static void prepare_tensor(void) {
  tensor_alloc = bench_global("runtime.TVMTensorAllocWithScope");
  bench_tensor_args(tensor_args, 256, (DLDataType){kDLFloat, 32, 1}, (DLDevice){kDLCPU, 0});
}

static void tensor_alloc_free(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny t = bench_call(tensor_alloc, tensor_args, 4);
    TVMFFIObjectDecRef(t.v_obj);
  }
}

#ifdef BENCH_CLASSIC
static void array_alloc_free(int64_t n) {
  const tvm_index_t shape[1] = {256};
  for (int64_t i = 0; i < n; i++) {
    TVMArrayHandle a = NULL;
    bench_check(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &a), "allocate");
    TVMArrayFree(a);
  }
}
#endif

static inline void workspaces_on(int type, int64_t n) {
  static const uint64_t sizes[4] = {1024, 4096, 16384, 65536};
  void* p[4];
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < 4; k++) {
      p[k] = TVMBackendAllocWorkspace(type, 0, sizes[k], kDLFloat, 32);
      bench_check(p[k] == NULL, "allocate workspace");
    }
    for (int k = 3; k >= 0; k--)
      bench_check(TVMBackendFreeWorkspace(type, 0, p[k]), "free workspace");
  }
}

static void workspaces(int64_t n) { workspaces_on(kDLCPU, n); }

#ifdef BENCH_CLASSIC
/* A device without workspaces of its own: the runtime keeps a pool for it, so that it allocates only four times. */
enum { BENCH_DEVICE = 30 };
#define API const TVMGODeviceAPI* api
static int allocations;
static int set_device(API, int32_t id) { return (void)api, (void)id, 0; }
static int get_attr(API, int32_t id, int32_t kind, TVMFFIAny* out) {
  (void)api, (void)id, (void)kind;
  *out = (TVMFFIAny){0};
  return 0;
}
static int alloc_space(API, DLDevice dev, size_t n, size_t alignment, DLDataType hint, void** out) {
  (void)api, (void)dev, (void)hint;
  bench_check(++allocations > 4, "serve a workspace from the pool");
  *out = aligned_alloc(alignment, n);
  return *out == NULL ? -1 : 0;
}
static int free_space(API, DLDevice dev, void* p) {
  (void)api, (void)dev;
  free(p);
  return 0;
}
static int no_copy(API, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle s) {
  return (void)api, (void)from, (void)to, (void)s, -1;
}
static int no_sync(API, DLDevice dev, TVMFFIStreamHandle s) { return (void)api, (void)dev, (void)s, 0; }

static void prepare_device(void) {
  static const TVMGODeviceAPI api = {
      .struct_size = sizeof api, .set_device = set_device, .get_attr = get_attr, .alloc_data_space = alloc_space,
      .free_data_space = free_space, .copy_data_from_to = no_copy, .stream_sync = no_sync};
  static const TVMGODeviceSpec spec = {
      .struct_size = sizeof spec, .device_type = BENCH_DEVICE, .name = "benchdev", .api = &api};
  bench_check(TVMGODeviceAPIRegister(&spec), "register a device");
}

static void workspaces_of_device(int64_t n) { workspaces_on(BENCH_DEVICE, n); }
#endif

const bench_row bench_runtime_rows[] = {
    {"tensor", prepare_tensor, tensor_alloc_free},
#ifdef BENCH_CLASSIC
    {"tensor-classic", NULL, array_alloc_free},
#endif
    {"workspaces", NULL, workspaces},
#ifdef BENCH_CLASSIC
    {"workspaces-device", prepare_device, workspaces_of_device},
#endif
    {0},
};
