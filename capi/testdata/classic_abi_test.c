/* The classic C ABI, every function, with valid and with invalid input: functions and globals here, the rest in the
 * other files. Prints failures and exits 1, or prints "ok". */
#include "classic_abi_test.h"

int failures;

static int finalized;
static void finalize(void* resource) { finalized += *(int*)resource; }

/* Returns its first argument, changed if its type allows that. */
static int echo(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)resource;
  if (n == 0) return 0;
  if (codes[0] == kTVMArgInt) args[0].v_int64++;
  return TVMCFuncSetReturn(ret, &args[0], &codes[0], 1);
}

static int fail(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)args, (void)codes, (void)n, (void)ret, (void)resource;
  TVMAPISetLastError("ValueError: callback refuses");
  return -1;
}

static int exception_object;
static int fail_python(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)args, (void)codes, (void)n, (void)ret, (void)resource;
  TVMAPISetLastPythonError(&exception_object);
  return -1;
}

/* Keeps its argument beyond the call, which returns it. */
static int keep(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)ret;
  TVMValue* kept = resource;
  int code = codes[0];
  if (n != 1 || TVMCbArgToReturn(&args[0], &code) != 0) return -1;
  kept[0] = args[0];
  kept[1].v_int64 = code;
  return 0;
}

static int set_bad_return(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)n, (void)resource;
  return TVMCFuncSetReturn(ret, args, codes, 2);
}

static TVMFunctionHandle make(TVMPackedCFunc f, void* resource) {
  TVMFunctionHandle out = NULL;
  OK(TVMFuncCreateFromCFunc(f, resource, NULL, &out));
  return out;
}

static void test_values(void) {
  TVMFunctionHandle f = make(echo, NULL);
  TVMValue arg, ret;
  int code, ret_code = -1;

  OK(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code));
  CHECK(ret_code == kTVMNullptr && ret.v_handle == NULL);
  arg.v_int64 = 41, code = kTVMArgInt;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kTVMArgInt && ret.v_int64 == 42);
  arg.v_int64 = 1, code = kTVMArgBool;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kTVMArgBool && ret.v_int64 == 1);
  arg.v_float64 = 2.5, code = kTVMArgFloat;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kTVMArgFloat && ret.v_float64 == 2.5);
  arg.v_handle = &arg, code = kTVMOpaqueHandle;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kTVMOpaqueHandle && ret.v_handle == &arg);
  arg.v_handle = NULL, code = kTVMNullptr;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kTVMNullptr);
  arg.v_type = (DLDataType){kDLFloat, 32, 4}, code = kTVMDataType;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kTVMStr);
  if (ret_code == kTVMStr) SAME_TEXT(ret.v_str, "float32x4");
  arg.v_device = (DLDevice){kDLCUDA, 3}, code = kDLDevice;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kDLDevice && ret.v_device.device_type == kDLCUDA && ret.v_device.device_id == 3);
  for (int i = 0; i < 2; i++) { /* short and long texts use different code */
    arg.v_str = i ? "a text that is longer than a value" : "short", code = kTVMStr;
    OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
    CHECK(ret_code == kTVMStr);
    if (ret_code == kTVMStr) SAME_TEXT(ret.v_str, arg.v_str);
    TVMByteArray bytes = {i ? "\0longer than\0a value" : "a\0b", i ? 20 : 3};
    arg.v_handle = &bytes, code = kTVMBytes;
    OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
    CHECK(ret_code == kTVMBytes);
    TVMByteArray* got = ret.v_handle;
    CHECK(got->size == bytes.size && memcmp(got->data, bytes.data, bytes.size) == 0);
    OK(TVMByteArrayFree(got)); /* this thread's own: nothing happens */
  }
  arg.v_handle = f, code = kTVMPackedFuncHandle;
  OK(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code));
  CHECK(ret_code == kTVMPackedFuncHandle && ret.v_handle == f);
  OK(TVMFuncFree(ret.v_handle));
  OK(TVMFuncFree(f));
}

static void test_bad_calls(void) {
  TVMFunctionHandle f = make(echo, NULL), bad = make(fail, NULL), twice = make(set_bad_return, NULL);
  TVMFunctionHandle python = make(fail_python, NULL), none = python;
  TVMValue arg = {0}, ret;
  int code = 99, ret_code;
  FAILS(TVMFuncCall(NULL, NULL, NULL, 0, &ret, &ret_code), "NULL");
  FAILS(TVMFuncCall(f, NULL, NULL, 1, &ret, &ret_code), "NULL");
  FAILS(TVMFuncCall(f, &arg, &code, -1, &ret, &ret_code), "negative");
  FAILS(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), "99");
  code = kTVMStr;
  FAILS(TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code), "NULL");
  code = kTVMArgInt;
  FAILS(TVMFuncCall(bad, &arg, &code, 1, &ret, &ret_code), "ValueError: callback refuses");
  FAILS(TVMFuncCall(twice, &arg, &code, 1, &ret, &ret_code), "num_ret");
  CHECK(TVMFuncCall(python, NULL, NULL, 0, &ret, &ret_code) != 0);
  CHECK(TVMGetLastPythonError() == &exception_object); /* the exception came through */
  TVMDropLastPythonError();
  FAILS(TVMCFuncSetReturn(NULL, &arg, &code, 1), "NULL");
  FAILS(TVMFuncCreateFromCFunc(NULL, NULL, NULL, &none), "NULL");
  CHECK(none == NULL);
  FAILS(TVMFuncCreateFromCFunc(echo, NULL, NULL, NULL), "NULL");
  OK(TVMFuncFree(f));
  OK(TVMFuncFree(bad));
  OK(TVMFuncFree(twice));
  OK(TVMFuncFree(python));
  OK(TVMFuncFree(NULL));
}

static void test_many_arguments(void) {
  enum { N = 500 };
  static TVMValue args[N];
  static int codes[N];
  TVMFunctionHandle f = make(echo, NULL);
  TVMValue ret;
  int ret_code;
  args[0].v_int64 = 7;
  OK(TVMFuncCall(f, args, codes, N, &ret, &ret_code));
  CHECK(ret_code == kTVMArgInt && ret.v_int64 == 8);
  OK(TVMFuncFree(f));
}

static void test_callback_keeps_arguments(void) {
  TVMValue kept[2], arg, ret;
  int code, ret_code, resource = 1;
  TVMFunctionHandle keeper = make(keep, kept), object = NULL;
  finalized = 0;
  OK(TVMFuncCreateFromCFunc(echo, &resource, finalize, &object));

  arg.v_handle = object, code = kTVMPackedFuncHandle;
  OK(TVMFuncCall(keeper, &arg, &code, 1, &ret, &ret_code));
  CHECK(kept[0].v_handle == object && kept[1].v_int64 == kTVMPackedFuncHandle);
  OK(TVMFuncFree(object));
  CHECK(finalized == 0); /* the callback's reference keeps it */

  void* slot = kept[0].v_handle;
  arg.v_handle = &slot, code = kTVMObjectRValueRefArg;
  OK(TVMFuncCall(keeper, &arg, &code, 1, &ret, &ret_code));
  CHECK(slot == NULL && kept[0].v_handle == object && kept[1].v_int64 == kTVMPackedFuncHandle);
  CHECK(finalized == 0);
  OK(TVMFuncFree(kept[0].v_handle));
  CHECK(finalized == 1);

  arg.v_float64 = 0.5, code = kTVMArgFloat;
  OK(TVMFuncCall(keeper, &arg, &code, 1, &ret, &ret_code));
  CHECK(kept[0].v_float64 == 0.5 && kept[1].v_int64 == kTVMArgFloat);
  arg.v_str = "nobody's", code = kTVMStr;
  FAILS(TVMFuncCall(keeper, &arg, &code, 1, &ret, &ret_code), "copy");
  FAILS(TVMCbArgToReturn(NULL, &code), "NULL");
  FAILS(TVMCbArgToReturn(&arg, NULL), "NULL");
  code = 77;
  FAILS(TVMCbArgToReturn(&arg, &code), "77");
  OK(TVMFuncFree(keeper));
}

static void test_globals(void) {
  static const char name[] = "classic_abi_test.echo";
  int resource = 1, n = 0, found = 0;
  const char** names = NULL;
  TVMFunctionHandle f = NULL, got = NULL;
  finalized = 0;
  OK(TVMFuncCreateFromCFunc(echo, &resource, finalize, &f));
  OK(TVMFuncRegisterGlobal(name, f, 0));
  FAILS(TVMFuncRegisterGlobal(name, f, 0), name);
  OK(TVMFuncRegisterGlobal(name, f, 1));
  OK(TVMFuncFree(f)); /* the table has its own reference */
  OK(TVMFuncGetGlobal(name, &got));
  CHECK(got == f);
  OK(TVMFuncListGlobalNames(&n, &names));
  for (int i = 0; i < n; i++) found += strcmp(names[i], name) == 0;
  CHECK(found == 1);
  OK(TVMFuncRemoveGlobal(name));
  OK(TVMFuncRemoveGlobal(name)); /* twice is no error */
  CHECK(finalized == 0);
  OK(TVMFuncFree(got));
  CHECK(finalized == 1);
  OK(TVMFuncGetGlobal(name, &got));
  CHECK(got == NULL);
  FAILS(TVMFuncRegisterGlobal(NULL, f, 0), "NULL");
  FAILS(TVMFuncRegisterGlobal("classic_abi_test.null", NULL, 0), "NULL");
  FAILS(TVMFuncGetGlobal(NULL, &got), "NULL");
  FAILS(TVMFuncGetGlobal(name, NULL), "NULL");
  FAILS(TVMFuncRemoveGlobal(NULL), "NULL");
  FAILS(TVMFuncListGlobalNames(NULL, &names), "NULL");
  FAILS(TVMFuncListGlobalNames(&n, NULL), "NULL");
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  test_error_functions();
  test_values();
  test_bad_calls();
  test_many_arguments();
  test_callback_keeps_arguments();
  test_globals();
  test_data();
  test_modules();
  test_backend();
  test_bad_input();
  return report();
}
