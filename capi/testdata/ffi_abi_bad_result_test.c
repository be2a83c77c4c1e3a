/* The tvm-ffi C ABI: callbacks with results that the ABI does not allow, and calls that cannot be made. A call from C
 * passes on what the callback gave; the classic ABI, which converts the result, checks it; with TVMGO_VALIDATE=1 every
 * call does. */
#include <stdlib.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"

static TVMFFIAny answer;
static int answer_code, raises;
static int calls;

static int respond(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  calls++;
  if (raises) TVMFFIErrorSetRaisedFromCStr("KeyError", "raised by the callback");
  *result = answer;
  return answer_code;
}

/* INLINED: through the cell, as C++ does. */
enum { DIRECTLY, INLINED, CLASSIC, WAYS };

static int validates(void) { return getenv("TVMGO_VALIDATE") != NULL; }
static int is_checked(int way) { return way == CLASSIC || validates(); }

static int call(TVMFFIObjectHandle f, int way, TVMFFIAny* result) {
  TVMValue value;
  int code, rc;
  *result = any_of(kTVMFFINone);
  if (way == DIRECTLY) return TVMFFIFunctionCall(f, NULL, 0, result);
  if (way == INLINED) return TVMFFIFunctionGetCellPtr(f)->safe_call(f, NULL, 0, result);
  rc = TVMFuncCall(f, NULL, NULL, 0, &value, &code);
  if (rc == 0 && code == kTVMArgInt) *result = int_view(value.v_int64);
  if (rc == 0 && code == kTVMObjectHandle) *result = object_view(value.v_handle);
  return rc;
}

/* The call returns what the callback returned, with its result as it is. */
static void passes_on(TVMFFIObjectHandle f, int way) {
  TVMFFIAny result;
  int rc = call(f, way, &result);
  CHECK(rc == answer_code && memcmp(&result, &answer, sizeof result) == 0);
  CHECK(take_error().kind[0] == 0);
}

static void test_answers(TVMFFIObjectHandle f, int way) {
  static char text[] = "a text on the stack of the callback";
  static TVMFFIByteArray bytes = {text, 5};
  TVMFFIAny array, result;
  TVMFFIObjectHandle slot;
  OK(CALL("ffi.Array", &array, int_view(1)));
  slot = array.v_obj;
  const struct {
    TVMFFIAny value;
    const char *kind, *text;
  } wrong[] = {
      {text_view(text), "TypeError", "const char* (type index 8) is a view"},
      {ptr_view(kTVMFFIByteArrayPtr, &bytes), "TypeError", "(type index 9) is a view"},
      {ptr_view(kTVMFFIObjectRValueRef, &slot), "TypeError", "(type index 10) is a view"},
      {any_of(63), "TypeError", "no value has the type index 63"},
      {any_of(kTVMFFIAny), "TypeError", "no value has the type index -1"},
      {any_of(INT32_MIN), "TypeError", "no value has the type index"},
      {any_of(kTVMFFIStr), "ValueError", "str is a NULL pointer"},
      {any_of(kTVMFFIFunction), "ValueError", "Function is a NULL pointer"},
      {any_of(INT32_MAX), "ValueError", "NULL pointer"},
      {ptr_view(kTVMFFIModule, array.v_obj), "TypeError", "header of its object says 71 (Array)"},
      {ptr_view(kTVMFFIArray, (void*)8), "TypeError", "no object can be"},
  };
  answer_code = raises = 0;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    answer = wrong[i].value;
    if (!is_checked(way)) {
      passes_on(f, way);
      continue;
    }
    FAILS(call(f, way, &result), wrong[i].kind, wrong[i].text);
    CHECK(result.type_index == kTVMFFINone && result.v_int64 == 0); /* nothing for the caller to release */
    FAILS(call(f, way, &result), wrong[i].kind, "call function: its result is wrong");
  }
  CHECK(slot == array.v_obj && strong_count(array.v_obj) == 1);
  answer = any_of(kTVMFFISmallStr), answer.small_str_len = 8;
  if (is_checked(way)) FAILS(call(f, way, &result), "ValueError", "at most 7 fit");
  else passes_on(f, way);

  answer = array, TVMFFIObjectIncRef(array.v_obj); /* valid: passed on unchanged */
  OK(call(f, way, &result));
  CHECK(result.v_obj == array.v_obj && strong_count(array.v_obj) == 2);
  drop(&result);
  answer = int_view(3);
  OK(call(f, way, &result));
  CHECK(result.v_int64 == 3);
  drop(&array);
}

static void test_codes(TVMFFIObjectHandle f, int way) {
  TVMFFIAny result;
  answer = any_of(kTVMFFINone), raises = 0;
  for (answer_code = -1; answer_code < 8; answer_code += 4) { /* -1, 3, 7 */
    if (is_checked(way)) FAILS(call(f, way, &result), "RuntimeError", "without raising an error");
    else passes_on(f, way);
  }
  answer_code = -2; /* a front end's own exception */
  CHECK(call(f, way, &result) == -2 && take_error().kind[0] == 0);
  raises = 1, answer_code = 5;
  int rc = call(f, way, &result);
  CHECK(rc == (is_checked(way) ? -1 : 5) && strcmp(take_error().kind, "KeyError") == 0);
  answer_code = 0; /* it ignored the error of an inner call and succeeded */
  OK(call(f, way, &result));
  CHECK(strcmp(take_error().kind, is_checked(way) ? "" : "KeyError") == 0); /* only a check drops the error */
}

static void test_calls(TVMFFIObjectHandle f) {
  TVMFFIAny result = any_of(kTVMFFINone), arg = int_view(1);
  TVMFFIObjectHandle builtin = NULL;
  TVMFFIByteArray name = bytes_of("ffi.ArraySize");
  int before = calls;
  if (validates()) {
    FAILS(TVMFFIFunctionCall(f, NULL, 1, &result), "ValueError", "args is NULL");
    FAILS(TVMFFIFunctionCall(f, &arg, -1, &result), "ValueError", "negative");
    FAILS(TVMFFIFunctionCall(f, &arg, INT32_MIN, &result), "ValueError", "negative");
    FAILS(TVMFFIFunctionCall(f, &arg, 1, NULL), "ValueError", "result is NULL");
  }
  CHECK(calls == before);
  OK(TVMFFIFunctionGetGlobal(&name, &builtin));
  const char* who = validates() ? "call function" : "ffi.ArraySize";
  FAILS(TVMFFIFunctionGetCellPtr(builtin)->safe_call(builtin, NULL, 1, &result), "ValueError", who);
  FAILS(TVMFFIFunctionGetCellPtr(builtin)->safe_call(builtin, &arg, -1, &result), "ValueError", who);
  TVMFFIObjectDecRef(builtin);
}

static int init_fails(void** result) { return (void)result, -1; }
static int deinit_fails(void* handle) { return (void)handle, -1; }

static void test_once(void) {
  static void* handle;
  FAILS(TVMFFIHandleInitOnce(&handle, init_fails), "RuntimeError", "without raising an error");
  CHECK(handle == NULL);
  handle = &handle;
  FAILS(TVMFFIHandleDeinitOnce(&handle, deinit_fails), "RuntimeError", "without raising an error");
}

/* A library's function is called in the same way. */
static void test_library_function(void) {
  TVMFFIAny lib, f;
  OK(TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_bad_result_respond", respond));
  OK(call_global("ffi.SystemLib", NULL, 0, &lib));
  OK(CALL("ffi.ModuleGetFunction", &f, lib, text_view("bad_result_respond"), int_view(0)));
  NEED(f.type_index == kTVMFFIFunction);
  for (int way = 0; way < WAYS; way++) {
    test_answers(f.v_obj, way);
    test_codes(f.v_obj, way);
  }
  drop(&f);
  drop(&lib);
}

void test_bad_results(void) {
  TVMFFIObjectHandle f = NULL;
  OK(TVMFFIFunctionCreate(NULL, respond, NULL, &f));
  test_library_function();
  for (int way = 0; way < WAYS; way++) {
    test_answers(f, way);
    test_codes(f, way);
  }
  test_calls(f);
  test_once();
  TVMFFIObjectDecRef(f);
}
