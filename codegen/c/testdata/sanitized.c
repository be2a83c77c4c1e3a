/* Calls generated functions, which are compiled with sanitizers, under a runtime that fails at the first call, then at
 * the second, and so on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_backend_api.h>

#define DECLARE(name) extern int __tvm_ffi_##name(void*, const TVMFFIAny*, int32_t, TVMFFIAny*)
DECLARE(scratch);
DECLARE(scratch_parallel);
DECLARE(matmul);
DECLARE(softmax);
DECLARE(vadd_vectors);
DECLARE(vadd_six);
DECLARE(vadd_half);
DECLARE(less_vectors);
extern void* __tvm_ffi__library_ctx;

static char message[1024];
static int calls, fail_at, memory, in_task, failures;

static int fails(void) { return ++calls == fail_at; }

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* text) {
  snprintf(message, sizeof(message), "%s: %s", kind, text);
}

int TVMFFIStringFromByteArray(const TVMFFIByteArray* text, TVMFFIAny* out) {
  out->type_index = kTVMFFIRawStr;
  out->v_c_str = text->data;
  return 0;
}

int TVMFFIObjectDecRef(TVMFFIObjectHandle o) {
  (void)o;
  return 0;
}

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle context, const char* name, TVMFFIObjectHandle* out) {
  static char check, value;
  (void)context;
  *out = strcmp(name, "test.check") == 0 ? &check : &value;
  check = 'c', value = 'v';
  return fails() ? -1 : 0;
}

int TVMFFIFunctionCall(TVMFFIObjectHandle f, TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const int is_call = *(char*)f == 'c';
  if (is_call && (n != 6 || strcmp(args[3].v_c_str, "te\"xt") != 0)) abort();
  if (is_call && args[4].type_index != kTVMFFIDLTensorPtr) abort();
  if (*(char*)f == 'v') {
    result->type_index = kTVMFFIFloat;
    result->v_float64 = 0.5;
  }
  return fails() ? -2 : 0;
}

void* TVMBackendAllocWorkspace(int device, int id, uint64_t bytes, int code, int bits) {
  (void)device, (void)id, (void)code, (void)bits;
  if (fails()) return NULL;
  memory++;
  return malloc(bytes);
}

int TVMBackendFreeWorkspace(int device, int id, void* p) {
  (void)device, (void)id;
  free(p);
  memory--;
  return fails() ? -1 : 0;
}

int TVMBackendParallelLaunch(FTVMParallelLambda f, void* data, int tasks) {
  TVMParallelGroupEnv env = {NULL, tasks == 0 ? 3 : tasks};
  int rc = 0;
  if (in_task || fails()) return -1;
  in_task = 1;
  for (int i = 0; i < env.num_task; i++)
    if (f(i, &env, data) != 0) rc = -1;
  in_task = 0;
  return rc;
}

/* A tensor whose memory ends where its elements end. */
static TVMFFIAny tensor(uint8_t code, uint8_t bits, int ndim, int64_t rows, int64_t columns) {
  DLTensor* t = calloc(1, sizeof(DLTensor));
  t->ndim = ndim;
  t->shape = malloc(sizeof(int64_t) * (size_t)ndim);
  t->shape[ndim - 1] = columns;
  if (ndim == 2) t->shape[0] = rows;
  t->dtype = (DLDataType){code, bits, 1};
  t->device.device_type = kDLCPU;
  t->data = calloc((size_t)(rows * columns), bits / 8);
  TVMFFIAny a = {0};
  a.type_index = kTVMFFIDLTensorPtr;
  a.v_ptr = t;
  return a;
}

static void drop(TVMFFIAny* args, int n) {
  for (int i = 0; i < n; i++) {
    DLTensor* t = args[i].v_ptr;
    free(t->data);
    free(t->shape);
    free(t);
  }
}

/* Lets the k-th call of the runtime fail, for each k there is. */
static void each(const char* name, TVMFFISafeCallType f, TVMFFIAny* args, int n) {
  for (fail_at = 1;; fail_at++) {
    TVMFFIAny result = {0};
    __tvm_ffi__library_ctx = fail_at % 2 == 0 ? (void*)&fail_at : (void*)&calls; /* another one is looked up again */
    calls = 0;
    const int rc = f(NULL, args, n, &result);
    if (memory != 0) {
      printf("%s: %d pieces of memory are left when call %d fails\n", name, memory, fail_at);
      failures++;
    }
    if (calls < fail_at) {
      if (rc != 0) {
        printf("%s: %d %s\n", name, rc, message);
        failures++;
      }
      break;
    }
    if (rc == 0) {
      printf("%s: call %d fails, and nobody says so\n", name, fail_at);
      failures++;
    }
  }
  printf("%s %d\n", name, fail_at - 1);
  drop(args, n);
}

int main(void) {
  TVMFFIAny a[3];
  a[0] = tensor(kDLFloat, 32, 1, 1, 4);
  each("scratch", __tvm_ffi_scratch, a, 1);
  a[0] = tensor(kDLFloat, 32, 1, 1, 4);
  each("scratch_parallel", __tvm_ffi_scratch_parallel, a, 1);
  a[0] = tensor(kDLFloat, 32, 2, 3, 5), a[1] = tensor(kDLFloat, 32, 2, 5, 2), a[2] = tensor(kDLFloat, 32, 2, 3, 2);
  each("matmul", __tvm_ffi_matmul, a, 3);
  a[0] = tensor(kDLFloat, 32, 2, 3, 5), a[1] = tensor(kDLFloat, 32, 2, 3, 5);
  each("softmax", __tvm_ffi_softmax, a, 2);
  for (int i = 0; i < 3; i++) a[i] = tensor(kDLFloat, 32, 1, 1, 21);
  each("vadd_vectors", __tvm_ffi_vadd_vectors, a, 3);
  for (int i = 0; i < 3; i++) a[i] = tensor(kDLFloat, 64, 1, 1, 21);
  each("vadd_six", __tvm_ffi_vadd_six, a, 3);
  for (int i = 0; i < 3; i++) a[i] = tensor(kDLFloat, 16, 1, 1, 21);
  each("vadd_half", __tvm_ffi_vadd_half, a, 3);
  for (int i = 0; i < 3; i++) a[i] = i == 2 ? tensor(kDLBool, 8, 1, 1, 16) : tensor(kDLFloat, 32, 1, 1, 16);
  each("less_vectors", __tvm_ffi_less_vectors, a, 3);
  return failures;
}
