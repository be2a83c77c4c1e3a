/* Loads a graph that Apache TVM exported as a model through both C ABIs, and calls it from many threads at once.
 * graph_model_test FILE IN OUT: raw float32 files with the input (4 x 16) and the expected output (4 x 10). */
#include <math.h>
#include <pthread.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "check.h"

int failures;

enum { IN = 4 * 16, OUT = 4 * 10, THREADS = 64, CALLS = 50 };
static _Alignas(64) float in[IN];
static float want[OUT];

static DLTensor tensor(float* data, int64_t* shape) {
  return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}

static void compare(const DLTensor* out, const char* what) {
  CHECK(out->ndim == 2 && out->shape[0] == 4 && out->shape[1] == 10);
  const float* got = (const float*)((char*)out->data + out->byte_offset);
  for (int i = 0; i < OUT; i++)
    if (!(fabsf(got[i] - want[i]) <= 1e-5f)) {
      FAIL("%s: element %d is %g, want %g", what, i, got[i], want[i]);
      return;
    }
}

/* ---- classic ---- */

static TVMFunctionHandle function(TVMModuleHandle m, const char* name) {
  TVMFunctionHandle f = NULL;
  if (TVMModGetFunction(m, name, 0, &f) != 0 || f == NULL) FAIL("%s: %s", name, TVMGetLastError());
  return f;
}

static void call_classic(TVMFunctionHandle f, const char* what) {
  int64_t shape[] = {4, 16};
  DLTensor x = tensor(in, shape);
  TVMValue arg = {.v_handle = &x}, ret;
  int code = kTVMDLTensorHandle, ret_code;
  if (TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code) != 0) {
    FAIL("%s: %s", what, TVMGetLastError());
    return;
  }
  CHECK(ret_code == kTVMNDArrayHandle);
  compare(ret.v_handle, what); /* an array's handle is the address of its DLTensor */
  TVMArrayFree(ret.v_handle);
}

static void* call_on_thread(void* f) {
  for (int i = 0; i < CALLS; i++) call_classic(f, "a thread");
  return NULL;
}

static TVMModuleHandle load_classic(const char* file) {
  TVMFunctionHandle load = NULL;
  CHECK(TVMFuncGetGlobal("tvmgo.load_model", &load) == 0);
  if (load == NULL) return NULL;
  TVMValue arg = {.v_str = file}, ret = {0};
  int code = kTVMStr, ret_code;
  if (TVMFuncCall(load, &arg, &code, 1, &ret, &ret_code) != 0) FAIL("%s", TVMGetLastError());
  TVMFuncFree(load);
  return ret.v_handle;
}

static void mistakes(TVMFunctionHandle f) {
  int64_t shape[] = {16, 4};
  DLTensor x = tensor(in, shape);
  TVMValue args[2] = {{.v_handle = &x}, {.v_handle = &x}}, ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, code;
  CHECK(TVMFuncCall(f, args, codes, 1, &ret, &code) == -1);
  CHECK(strstr(TVMGetLastError(), "default: input \"data\" is float32[4, 16], the tensor is float32[16, 4]") != NULL);
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &code) == -1);
  CHECK(strstr(TVMGetLastError(), "expected 1 inputs (data), or with the bound ones 5") != NULL);
  args[0].v_handle = NULL;
  CHECK(TVMFuncCall(f, args, codes, 1, &ret, &code) == -1);
}

static void run_classic(const char* file) {
  TVMModuleHandle m = load_classic(file);
  NEED(m != NULL);
  TVMFunctionHandle f = function(m, "default"), memory = function(m, "tvmgo.memory");
  NEED(f != NULL && memory != NULL);
  call_classic(f, "the classic ABI");
  mistakes(f);
  TVMFuncFree(memory);
  TVMModFree(m); /* the function keeps the model */
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, call_on_thread, f);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  call_classic(f, "after many threads");
  TVMFuncFree(f);
}

/* ---- tvm-ffi ---- */

static TVMFFIAny raw(const char* text) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = text}; }
static TVMFFIAny object(void* o) { return (TVMFFIAny){.type_index = ((TVMFFIObject*)o)->type_index, .v_obj = o}; }

static TVMFFIAny global(const char* name, TVMFFIAny* args, int n) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = {0};
  if (TVMFFIFunctionGetGlobal(&text, &f) != 0 || f == NULL)
    FAIL("there is no %s", name);
  else if (TVMFFIFunctionCall(f, args, n, &result) != 0)
    FAIL("%s fails", name);
  if (f != NULL) TVMFFIObjectDecRef(f);
  return result;
}

static TVMFFIAny method(void* m, const char* name) {
  TVMFFIAny get[3] = {object(m), raw(name), {.type_index = kTVMFFIBool, .v_int64 = 0}};
  return global("ffi.ModuleGetFunction", get, 3);
}

static TVMFFIAny item(TVMFFIAny map, const char* key) {
  TVMFFIAny args[2] = {map, raw(key)};
  return global("ffi.MapGetItem", args, 2);
}

static void call_ffi(TVMFFIObject* f, const char* what) {
  int64_t shape[] = {4, 16};
  DLTensor x = tensor(in, shape);
  TVMFFIAny arg = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &x}, result = {0};
  CHECK(TVMFFIFunctionCall(f, &arg, 1, &result) == 0);
  NEED(result.type_index == kTVMFFITensor);
  compare((DLTensor*)(result.v_obj + 1), what);
  TVMFFIObjectDecRef(result.v_obj);
}

static void* call_ffi_on_thread(void* f) {
  for (int i = 0; i < CALLS; i++) call_ffi(f, "a thread of the tvm-ffi ABI");
  return NULL;
}

static void run_ffi(const char* file) {
  TVMFFIAny path = raw(file), model = global("tvmgo.load_model", &path, 1), none = {0};
  NEED(model.type_index == kTVMFFIModule);
  TVMFFIAny f = method(model.v_obj, "main"), memory = method(model.v_obj, "tvmgo.memory"), numbers = {0};
  NEED(f.type_index == kTVMFFIFunction && memory.type_index == kTVMFFIFunction);
  call_ffi(f.v_obj, "the tvm-ffi ABI");
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, call_ffi_on_thread, f.v_obj);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(TVMFFIFunctionCall(memory.v_obj, &none, 0, &numbers) == 0);
  NEED(numbers.type_index == kTVMFFIMap);
  TVMFFIAny live = item(numbers, "live"), peak = item(numbers, "peak");
  CHECK(live.type_index == kTVMFFIInt && live.v_int64 > 0 && peak.v_int64 >= live.v_int64);
  TVMFFIObjectDecRef(numbers.v_obj);
  TVMFFIObjectDecRef(memory.v_obj);
  TVMFFIObjectDecRef(f.v_obj);
  TVMFFIObjectDecRef(model.v_obj);
}

static void read_floats(const char* path, float* to, size_t n) {
  FILE* f = fopen(path, "rb");
  NEED(f != NULL);
  CHECK(fread(to, sizeof *to, n, f) == n);
  fclose(f);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  read_floats(argv[2], in, IN);
  read_floats(argv[3], want, OUT);
  run_classic(argv[1]);
  run_ffi(argv[1]);
  return report();
}
