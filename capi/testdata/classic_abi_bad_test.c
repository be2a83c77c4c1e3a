/* The classic C ABI: type codes that do not match the value, in arguments and in results, and names that are too
 * long. */
#include "classic_abi_test.h"

static TVMValue answer;
static int answer_code, fails;

/* Returns the result that it is configured to return, as generated functions do. */
static int generated(TVMValue* args, int* codes, int n, TVMValue* out, int* out_code, void* resource) {
  (void)args, (void)codes, (void)n, (void)resource;
  *out = answer;
  *out_code = answer_code;
  return fails;
}

/* The same through a callback. */
static int callback(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)args, (void)codes, (void)n, (void)resource;
  if (fails) return fails;
  return TVMCFuncSetReturn(ret, &answer, &answer_code, 1);
}

/* Returns its first argument. */
static int echo(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)resource;
  return n == 0 ? 0 : TVMCFuncSetReturn(ret, &args[0], &codes[0], 1);
}

/* Returns a function of the system library, which the loader treats as one of the classic generation. */
static TVMFunctionHandle generated_function(void) {
  TVMFunctionHandle load = NULL, f = NULL;
  TVMValue lib = {0};
  int code = -1;
  OK(TVMBackendRegisterSystemLibSymbol("classic_abi_bad_generated", (void*)generated));
  OK(TVMFuncGetGlobal("runtime.SystemLib", &load));
  OK(TVMFuncCall(load, NULL, NULL, 0, &lib, &code));
  OK(TVMModGetFunction(lib.v_handle, "classic_abi_bad_generated", 0, &f));
  OK(TVMModFree(lib.v_handle));
  OK(TVMFuncFree(load));
  return f;
}

static void test_results(TVMFunctionHandle f, TVMFunctionHandle object) {
  TVMValue ret;
  int ret_code;
  static const int unknown[] = {1, 16, 63, 200, -1, -7, INT32_MIN, INT32_MAX};
  static const int pointers[] = {kTVMObjectHandle, kTVMModuleHandle, kTVMPackedFuncHandle, kTVMStr, kTVMBytes,
      kTVMNDArrayHandle,
                                 kTVMObjectRValueRefArg};
  fails = 0;
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    char text[40];
    answer.v_int64 = 5, answer_code = unknown[i];
    snprintf(text, sizeof text, "type code %d", unknown[i]);
    FAILS(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code), text);
  }
  for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
    answer.v_handle = NULL, answer_code = pointers[i];
    FAILS(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code), "is NULL");
  }
  answer.v_handle = object, answer_code = kTVMModuleHandle;
  FAILS(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code), "code 9 (module) is an object of type Function");
  fails = -1;
  TVMAPISetLastPythonError(NULL); /* clears the previous error */
  FAILS(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code), "without setting an error");
  fails = 0, answer.v_int64 = 5, answer_code = kTVMArgInt;
  OK(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code));
  CHECK(ret_code == kTVMArgInt && ret.v_int64 == 5);
}

static void test_arguments(TVMFunctionHandle object) {
  static struct { /* a tensor without an owner, preceded by memory that is not an object header */
    char before[64];
    DLTensor tensor;
  } foreign;
  TVMFunctionHandle size = NULL;
  TVMByteArray gone = {NULL, 4};
  TVMValue arg, ret;
  int code, ret_code;
  OK(TVMFuncGetGlobal("runtime.ArraySize", &size));
  arg.v_handle = object, code = kTVMModuleHandle;
  FAILS(TVMFuncCall(size, &arg, &code, 1, &ret, &ret_code), "argument 0");
  FAILS(TVMFuncCall(size, &arg, &code, 1, &ret, &ret_code), "code 9 (module) is an object of type Function");
  code = kTVMPackedFuncHandle;
  FAILS(TVMFuncCall(size, &arg, &code, 1, &ret, &ret_code), "must be Array, got Function");
  arg.v_handle = &foreign.tensor, code = kTVMNDArrayHandle;
  FAILS(TVMFuncCall(size, &arg, &code, 1, &ret, &ret_code), "not an array of this runtime");
  arg.v_handle = &gone, code = kTVMBytes;
  FAILS(TVMFuncCall(size, &arg, &code, 1, &ret, &ret_code), "argument 0");
  FAILS(TVMFuncCall(size, &arg, &code, 1, &ret, &ret_code), "4 bytes has the data NULL");
  for (int c = -3; c < 70; c++) { /* every code with NULL: an error or a result, and no crash */
    arg.v_handle = NULL, code = c;
    CHECK(TVMFuncCall(size, &arg, &code, 1, &ret, &ret_code) == -1);
    CHECK(TVMGetLastError()[0] != 0);
  }
  OK(TVMFuncFree(size));
}

static void test_names(TVMFunctionHandle f) {
  enum { LONG = 1 << 20 };
  char* name = malloc(LONG + 1);
  TVMFunctionHandle out = NULL;
  TVMModuleHandle mod = NULL;
  unsigned index;
  NEED(name != NULL);
  memset(name, 'n', LONG), name[LONG] = 0;
  FAILS(TVMFuncRegisterGlobal(name, f, 0), "at most 65535");
  FAILS(TVMFuncGetGlobal(name, &out), "at most 65535");
  FAILS(TVMBackendRegisterSystemLibSymbol(name, (void*)generated), "at most 65535");
  FAILS(TVMObjectTypeKey2Index(name, &index), "at most 65535");
  FAILS(TVMModLoadFromFile("x", name, &mod), "no loader");
  CHECK(strlen(TVMGetLastError()) < 1000);
  FAILS(TVMModLoadFromFile(name, "so", &mod), "the path has 1048576 bytes, at most 4095");
  FAILS(TVMModLoadFromFile(name, "bin", &mod), "the path has 1048576 bytes, at most 4095");
  OK(TVMFuncRemoveGlobal(name)); /* absent */
  free(name);
}

static void test_memory(void) {
  static const int64_t shape[1] = {4};
  DLDevice cpu = {kDLCPU, 0};
  DLDataType none = {kDLFloat, 32, 0}, f32 = {kDLFloat, 32, 1};
  void* out = &out;
  FAILS(TVMDeviceAllocDataSpaceWithScope(cpu, 1, shape, none, NULL, &out), "0 lanes");
  FAILS(TVMDeviceAllocDataSpaceWithScope(cpu, INT32_MAX, shape, f32, NULL, &out), "ndim is 2147483647, more than 1024");
  FAILS(TVMDeviceAllocDataSpace(cpu, 64, (size_t)1 << 63, f32, &out), "alignment 9223372036854775808 is more than");
  CHECK(out == NULL);
}

void test_bad_input(void) {
  TVMFunctionHandle object = NULL, of_callback = NULL, of_library = generated_function();
  OK(TVMFuncCreateFromCFunc(echo, NULL, NULL, &object));
  OK(TVMFuncCreateFromCFunc(callback, NULL, NULL, &of_callback));
  NEED(of_library != NULL);
  test_results(of_callback, object);
  test_results(of_library, object);
  test_arguments(object);
  test_names(object);
  test_memory();
  OK(TVMFuncFree(of_library));
  OK(TVMFuncFree(of_callback));
  OK(TVMFuncFree(object));
}
