/* Runs a graph that Apache TVM exported through both C ABIs. graph_test FILE IN OUT: raw float32 files with the input
 * (4 x 16) and the expected output (4 x 10). */
#include <math.h>
#include <pthread.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "check.h"

int failures;

enum { IN = 4 * 16, OUT = 4 * 10 };
static _Alignas(64) float in[IN];
static float want[OUT];

static DLTensor tensor(float* data, int64_t* shape) {
  return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}

static void compare(const float* out, const char* what) {
  for (int i = 0; i < OUT; i++)
    if (!(fabsf(out[i] - want[i]) <= 1e-5f)) {
      FAIL("%s: element %d is %g, want %g", what, i, out[i], want[i]);
      return;
    }
}

/* ---- classic ---- */

static TVMValue call(TVMModuleHandle m, const char* name, TVMValue* args, int* codes, int n) {
  TVMFunctionHandle f = NULL;
  TVMValue ret = {0};
  int code;
  if (TVMModGetFunction(m, name, 1, &f) != 0 || f == NULL)
    FAIL("%s: %s", name, TVMGetLastError());
  else if (TVMFuncCall(f, args, codes, n, &ret, &code) != 0)
    FAIL("%s: %s", name, TVMGetLastError());
  if (f != NULL) TVMFuncFree(f);
  return ret;
}

static TVMModuleHandle session_of(TVMModuleHandle factory) {
  TVMValue device = {.v_device = {kDLCPU, 0}};
  int code = kDLDevice;
  return call(factory, "default", &device, &code, 1).v_handle;
}

static void run_session(TVMModuleHandle s, const char* what) {
  int64_t in_shape[] = {4, 16}, out_shape[] = {4, 10};
  float out[OUT] = {0};
  DLTensor x = tensor(in, in_shape), y = tensor(out, out_shape);
  TVMValue args[2] = {{.v_str = "data"}, {.v_handle = &x}};
  int codes[2] = {kTVMStr, kTVMDLTensorHandle};
  call(s, "set_input", args, codes, 2);
  call(s, "run", NULL, NULL, 0);
  args[0].v_int64 = 0, codes[0] = kDLInt;
  args[1].v_handle = &y;
  call(s, "get_output", args, codes, 2);
  compare(out, what);
}

static void* run_thread(void* factory) {
  TVMModuleHandle s = session_of(factory);
  if (s == NULL) return NULL;
  for (int i = 0; i < 50; i++) run_session(s, "a thread");
  TVMModFree(s);
  return NULL;
}

static void zero_copy(TVMModuleHandle s) {
  static _Alignas(64) float mine[IN], result[OUT];
  int64_t in_shape[] = {4, 16}, out_shape[] = {4, 10};
  DLTensor x = tensor(mine, in_shape), y = tensor(result, out_shape);
  TVMValue args[2] = {{.v_int64 = 0}, {.v_handle = &x}};
  int codes[2] = {kDLInt, kTVMDLTensorHandle};
  call(s, "set_input_zero_copy", args, codes, 2);
  args[1].v_handle = &y;
  call(s, "set_output_zero_copy", args, codes, 2);
  memcpy(mine, in, sizeof mine);
  call(s, "run", NULL, NULL, 0);
  compare(result, "the caller's memory");
}

static void mistakes(TVMModuleHandle s) {
  int64_t shape[] = {16, 4};
  DLTensor x = tensor(in, shape);
  TVMValue args[2] = {{.v_str = "date"}, {.v_handle = &x}}, ret;
  int codes[2] = {kTVMStr, kTVMDLTensorHandle}, code;
  TVMFunctionHandle f = NULL;
  CHECK(TVMModGetFunction(s, "set_input", 0, &f) == 0);
  NEED(f != NULL);
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &code) == -1);
  CHECK(strstr(TVMGetLastError(), "the graph has no input \"date\", do you mean \"data\"?") != NULL);
  args[0].v_str = "data";
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &code) == -1);
  CHECK(strstr(TVMGetLastError(), "input \"data\" is float32[4, 16], the tensor is float32[16, 4]") != NULL);
  TVMFuncFree(f);
}

static void run_classic(const char* file) {
  TVMModuleHandle factory = NULL;
  if (TVMModLoadFromFile(file, "so", &factory) != 0) FAIL("%s", TVMGetLastError());
  NEED(factory != NULL);
  TVMModuleHandle s = session_of(factory);
  NEED(s != NULL);
  run_session(s, "the classic ABI");
  zero_copy(s);
  mistakes(s);
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, run_thread, factory);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  TVMModFree(factory);
  run_session(s, "an executor without its factory");
  TVMModFree(s);
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

static TVMFFIAny method(void* m, const char* name, TVMFFIAny* args, int n) {
  TVMFFIAny get[3] = {object(m), raw(name), {.type_index = kTVMFFIBool, .v_int64 = 0}}, result = {0};
  TVMFFIAny f = global("ffi.ModuleGetFunction", get, 3);
  if (f.type_index != kTVMFFIFunction)
    FAIL("there is no %s", name);
  else if (TVMFFIFunctionCall(f.v_obj, args, n, &result) != 0)
    FAIL("%s fails", name);
  if (f.type_index == kTVMFFIFunction) TVMFFIObjectDecRef(f.v_obj);
  return result;
}

static void run_ffi(const char* file) {
  int64_t in_shape[] = {4, 16}, out_shape[] = {4, 10};
  float out[OUT] = {0};
  DLTensor x = tensor(in, in_shape), y = tensor(out, out_shape);
  TVMFFIAny path = raw(file), factory = global("ffi.ModuleLoadFromFile", &path, 1);
  NEED(factory.type_index == kTVMFFIModule);
  TVMFFIAny device = {.type_index = kTVMFFIDevice, .v_device = {kDLCPU, 0}};
  TVMFFIAny s = method(factory.v_obj, "default", &device, 1);
  NEED(s.type_index == kTVMFFIModule);
  TVMFFIAny args[2] = {raw("data"), {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &x}};
  method(s.v_obj, "set_input", args, 2);
  method(s.v_obj, "run", NULL, 0);
  args[0] = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = 0};
  args[1].v_ptr = &y;
  method(s.v_obj, "get_output", args, 2);
  compare(out, "the tvm-ffi ABI");
  TVMFFIAny t = method(s.v_obj, "get_output", args, 1);
  NEED(t.type_index == kTVMFFITensor);
  compare((float*)((DLTensor*)(t.v_obj + 1))->data, "a tensor of the tvm-ffi ABI");
  TVMFFIObjectDecRef(t.v_obj);
  TVMFFIObjectDecRef(s.v_obj);
  TVMFFIObjectDecRef(factory.v_obj);
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
