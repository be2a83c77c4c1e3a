/* Host functions as a generator of the modern calling convention writes them: plain, with a workspace, with threads. */
#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_backend_api.h>

#define EXPORT __attribute__((visibility("default")))
#define ENTRY(name) \
  EXPORT int __tvm_ffi_##name(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result)
#define UNUSED (void)self, (void)args, (void)n, (void)result

EXPORT void* __tvm_ffi__library_ctx = 0;

static DLTensor* tensor(const TVMFFIAny* a) {
  return a->type_index == kTVMFFITensor ? (DLTensor*)(a->v_obj + 1) : (DLTensor*)a->v_ptr;
}

static float* elements(const TVMFFIAny* a) { return (float*)((char*)tensor(a)->data + tensor(a)->byte_offset); }

/* add_one(i) */
ENTRY(add_one) {
  UNUSED;
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + 1;
  return 0;
}

/* vadd(a, b, out) */
ENTRY(vadd) {
  UNUSED;
  const float *a = elements(&args[0]), *b = elements(&args[1]);
  float* out = elements(&args[2]);
  for (int64_t i = 0; i < tensor(&args[0])->shape[0]; i++) out[i] = a[i] + b[i];
  return 0;
}

/* reverse(a, out), by way of a workspace */
ENTRY(reverse) {
  UNUSED;
  int64_t count = tensor(&args[0])->shape[0];
  float* w = (float*)TVMBackendAllocWorkspace(kDLCPU, 0, (uint64_t)count * sizeof(float), kDLFloat, 32);
  if (w == 0) return -1;
  for (int64_t i = 0; i < count; i++) w[count - 1 - i] = elements(&args[0])[i];
  for (int64_t i = 0; i < count; i++) elements(&args[1])[i] = w[i];
  return TVMBackendFreeWorkspace(kDLCPU, 0, w);
}

typedef struct {
  const float* in;
  float* out;
  int64_t count;
} doubling;

static int double_part(int task, TVMParallelGroupEnv* env, void* arg) {
  doubling* d = (doubling*)arg;
  for (int64_t i = task; i < d->count; i += env->num_task) d->out[i] = 2 * d->in[i];
  return 0;
}

/* twice(a, out), by several threads */
ENTRY(twice) {
  UNUSED;
  doubling d = {elements(&args[0]), elements(&args[1]), tensor(&args[0])->shape[0]};
  return TVMBackendParallelLaunch(double_part, &d, 0);
}
