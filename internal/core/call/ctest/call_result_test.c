/* What callers get of a function that handles errors, fails without one, or gives a result that the ABI forbids. */
#include "ctest/check.h"

static int64_t objects(void) { return check_live(TVMGO_LIVE_OBJECTS); }

static int count(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args;
  *result = tvmgo_any_int(n);
  return 0;
}

static TVMFFIObjectHandle function(void* self, TVMFFISafeCallType call) {
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionCreate(self, call, NULL, &f));
  return f;
}

/* ---- errors that a callee has handled ---- */

static int recovers(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "first, replaced");
  TVMFFIErrorSetRaisedFromCStr("ValueError", "handled by the callee");
  *result = tvmgo_any_int(7);
  return 0;
}

static int recovers_classic(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* self) {
  (void)args, (void)codes, (void)n, (void)self;
  TVMValue seven = {.v_int64 = 7};
  int code = kTVMArgInt;
  TVMAPISetLastError("handled by the callee");
  return TVMCFuncSetReturn(ret, &seven, &code, 1);
}

static int recovers_packed(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* self) {
  (void)args, (void)codes, (void)n, (void)self;
  TVMAPISetLastError("handled by the callee");
  ret->v_int64 = 7;
  *ret_code = kTVMArgInt;
  return 0;
}

static int fails_mute(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  return -1;
}

/* A call whose result this library uses drops the errors that the callee handled: no later failure reports them. */
static void call_each_way(TVMFFIObjectHandle f) {
  TVMFFIAny result = tvmgo_any_none();
  TVMValue ret, some;
  int code, codes[1] = {kTVMNullptr};
  some.v_handle = NULL;
  for (int way = 0; way < 3; way++) {
    int64_t got = 0;
    result = tvmgo_any_none();
    if (way == 0) CHECK_OK(tvmgo_function_call(f, NULL, 0, &result)), got = result.v_int64;
    if (way == 1) CHECK_OK(TVMFuncCall(f, &some, codes, 0, &ret, &code)), got = ret.v_int64;
    if (way == 2) CHECK_OK(TVMFuncCall(f, &some, codes, 1, &ret, &code)), got = ret.v_int64;
    CHECK_EQ_INT(got, 7);
    CHECK(tvmgo_thread_get()->error == NULL);
    TVMFFIObjectHandle mute = function(NULL, fails_mute);
    result = tvmgo_any_none();
    if (way == 0)
      CHECK_FAILS(tvmgo_function_call(mute, NULL, 0, &result), TVMGO_RUNTIME_ERROR, "without raising an error");
    else
      CHECK_FAILS(TVMFuncCall(mute, NULL, NULL, 0, &ret, &code), TVMGO_RUNTIME_ERROR, "without raising an error");
    tvmgo_object_release(mute);
  }
}

static void test_handled_errors_do_not_stay(void) {
  int64_t before = objects();
  TVMFFIObjectHandle made[3] = {function(NULL, recovers),
                                tvmgo_function_of_callback(recovers_classic, NULL, NULL),
                                tvmgo_function_of_packed(recovers_packed, NULL)};
  for (int i = 0; i < 3; i++) call_each_way(made[i]);
  /* An error from before the call is kept: TVMGetLastError still returns it. */
  TVMFFIObjectHandle quiet = function(NULL, count);
  TVMFFIAny result = tvmgo_any_none();
  TVMValue ret;
  int code;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "of before");
  CHECK_OK(tvmgo_function_call(quiet, NULL, 0, &result));
  CHECK_OK(TVMFuncCall(quiet, NULL, NULL, 0, &ret, &code));
  CHECK_ERROR(TVMGO_VALUE_ERROR, "of before");
  tvmgo_object_release(quiet);
  for (int i = 0; i < 3; i++) tvmgo_object_release(made[i]);
  CHECK_EQ_INT(objects(), before);
}

/* ---- results that are wrong for the ABI ---- */

static int gives_view(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)args, (void)n;
  *result = (TVMFFIAny){.type_index = kTVMFFIRawStr};
  result->v_c_str = "a view, which nobody owns";
  return self == NULL ? 0 : *(int*)self;
}

/* A call from C gives the caller what the function gave; a call whose result this library uses is an error. */
static void test_wrong_results(void) {
  int64_t before = objects();
  int seven = 7, code;
  TVMFFIObjectHandle wrong = function(NULL, gives_view), odd = function(&seven, gives_view);
  TVMFFIAny result = tvmgo_any_none();
  TVMValue ret;
  CHECK_EQ_INT(TVMFFIFunctionCall(wrong, NULL, 0, &result), 0);
  CHECK_EQ_INT(result.type_index, kTVMFFIRawStr);
  CHECK_EQ_INT(TVMFFIFunctionCall(odd, NULL, 0, &result), 7);
  CHECK_EQ_INT(tvmgo_function_cell(odd)->safe_call(odd, NULL, 0, &result), 7);
  CHECK(tvmgo_thread_get()->error == NULL);
  result = tvmgo_any_none();
  CHECK_FAILS(tvmgo_function_call(wrong, NULL, 0, &result), TVMGO_TYPE_ERROR, "is a view");
  CHECK_EQ_INT(result.type_index, kTVMFFINone);
  CHECK_FAILS(tvmgo_function_call(odd, NULL, 0, &result), TVMGO_RUNTIME_ERROR, "it returned 7 without");
  CHECK_FAILS(TVMFuncCall(wrong, NULL, NULL, 0, &ret, &code), TVMGO_TYPE_ERROR, "is a view");
  CHECK_FAILS(TVMFuncCall(odd, NULL, NULL, 0, &ret, &code), TVMGO_RUNTIME_ERROR, "it returned 7 without");
  tvmgo_object_release(wrong);
  tvmgo_object_release(odd);
  CHECK_EQ_INT(objects(), before);
}

/* What TVMGO_VALIDATE=1 adds: the functions that are made from then on check their calls from C, too. */
static void test_validated_calls(void) {
  tvmgo_function_validate();
  TVMFFIObjectHandle wrong = function(NULL, gives_view), sum = function(NULL, count), quiet = function(NULL, recovers);
  TVMFFIAny result = tvmgo_any_none(), one = tvmgo_any_int(1);
  CHECK_FAILS(TVMFFIFunctionCall(wrong, NULL, 0, &result), TVMGO_TYPE_ERROR, "is a view");
  CHECK_FAILS(tvmgo_function_cell(wrong)->safe_call(wrong, NULL, 0, &result), TVMGO_TYPE_ERROR, "is a view");
  CHECK_FAILS(TVMFFIFunctionCall(sum, &one, -1, &result), TVMGO_VALUE_ERROR, "negative");
  CHECK_FAILS(TVMFFIFunctionCall(sum, NULL, 1, &result), TVMGO_VALUE_ERROR, "args is NULL");
  CHECK_FAILS(TVMFFIFunctionCall(sum, &one, 1, NULL), TVMGO_VALUE_ERROR, "result is NULL");
  TVMValue ret;
  int code;
  CHECK_FAILS(TVMFuncCall(sum, NULL, NULL, 1, &ret, &code), TVMGO_VALUE_ERROR, "the arrays are NULL");
  CHECK_OK(TVMFFIFunctionCall(sum, &one, 1, &result));
  CHECK_EQ_INT(result.v_int64, 1);
  CHECK_OK(TVMFFIFunctionCall(quiet, NULL, 0, &result));
  CHECK(tvmgo_thread_get()->error == NULL);
  CHECK_EQ_PTR(tvmgo_function_self_of(sum, count), NULL);
  tvmgo_object_release(wrong);
  tvmgo_object_release(sum);
  tvmgo_object_release(quiet);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_handled_errors_do_not_stay);
  RUN(test_wrong_results);
  RUN(test_validated_calls); /* the last one: it cannot be undone */
  return check_end();
}
