//go:build cuda

/* Loading and unloading of images, and the global barrier of a module. */
#include "launch.h"

#include <stdlib.h>

int tvmgoCUDAModule(uintptr_t module, int32_t device, void** out); /* module.go */

int tvmgo_cu_load(cu_device* d, const void* image, CUmodule* out, char* log, size_t size) {
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, (void*)(uintptr_t)(unsigned)(size - 1)};
  cu_scope scope;
  log[0] = 0;
  if (tvmgo_cu_enter_relaxed(d, &scope) != 0) return -1;
  CUresult rc = cuModuleLoadDataEx(out, image, 2, options, values);
  tvmgo_cu_leave(&scope);
  log[size - 1] = 0;
  return (int)rc;
}

void tvmgo_cu_unload(cu_device* d, CUmodule module) {
  cu_scope scope;
  if (tvmgo_cu_enter_to_free(d, &scope) == 0) {
    tvmgo_cu_wait(d); /* enqueued kernels still need the image; returns at once if a stream captures */
    cuModuleUnload(module);
    tvmgo_cu_leave(&scope);
    return;
  }
  TVMFFIObject* e = tvmgo_error_take();
  if (e != NULL) tvmgo_object_release(e);
}

/* ---- the global barrier ---- */

#define BARRIER_STATE "__tvm_global_barrier_state"

typedef struct {
  tvmgo_kernels* module;
  _Atomic(CUdeviceptr) state[TVMGO_MAX_DEVICES]; /* 0 before the first use on a device */
  _Atomic uint32_t epoch[TVMGO_MAX_DEVICES];     /* the device's epoch at that time */
} barrier;

/* Finds the address of the counter on a device. The device's context is current. */
static CUresult find_state(barrier* b, cu_device* d, CUmodule module, CUdeviceptr* out) {
  size_t size = 0;
  CUresult rc = cuModuleGetGlobal(out, &size, module, BARRIER_STATE);
  if (rc == CUDA_SUCCESS && size < sizeof(uint32_t)) rc = CUDA_ERROR_INVALID_IMAGE;
  if (rc == CUDA_SUCCESS) {
    atomic_store(&b->epoch[d->index], atomic_load(&d->epoch));
    atomic_store_explicit(&b->state[d->index], *out, memory_order_release);
  }
  return rc;
}

static int prepare_barrier(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  barrier* b = self;
  void* module = NULL;
  cu_scope scope;
  if (n != 0)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "__tvm_prepare_global_barrier takes no arguments, %d were given", (int)n);
  int32_t id = tvmgo_thread_get()->active_device[kDLCUDA];
  cu_device* d = tvmgo_device_api(kDLCUDA) == NULL ? NULL : tvmgo_cu_device(id);
  if (d == NULL) return -1;
  CUdeviceptr at = atomic_load_explicit(&b->state[d->index], memory_order_acquire);
  if (atomic_load(&b->epoch[d->index]) != atomic_load(&d->epoch)) at = 0;
  if (at == 0 && (tvmgo_enter_go("loading a module") != 0 || tvmgoCUDAModule(b->module->go, d->index, &module) != 0))
    return -1;
  CUstream stream = (CUstream)tvmgo_stream_get(kDLCUDA, d->index);
  if (tvmgo_cu_enter_relaxed(d, &scope) != 0) return -1;
  CUresult rc = at != 0 ? CUDA_SUCCESS : find_state(b, d, module, &at);
  if (rc == CUDA_SUCCESS) rc = cuMemsetD32Async(at, 0, 1, stream);
  tvmgo_cu_leave(&scope);
  return rc == CUDA_SUCCESS ? 0 : tvmgo_cu_raise(rc, "set %s of the module on cuda:%d", BARRIER_STATE, (int)d->index);
}

static void drop_barrier(void* self) {
  barrier* b = self;
  tvmgo_kernels_release(b->module);
  free(b);
}

void* tvmgo_cu_barrier_object(tvmgo_kernels* m) {
  TVMFFIObjectHandle h = NULL;
  barrier* b = calloc(1, sizeof *b);
  if (b == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  b->module = m;
  atomic_fetch_add(&m->refs, 1);
  if (TVMFFIFunctionCreate(b, prepare_barrier, drop_barrier, &h) == 0) return h;
  atomic_fetch_sub(&m->refs, 1);
  free(b);
  return NULL;
}
