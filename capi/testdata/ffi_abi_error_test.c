/* The tvm-ffi C ABI: errors, one slot per thread, which the classic ABI reads too. */
#include <pthread.h>
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"

static TVMFFIObjectHandle raised(void) {
  TVMFFIObjectHandle e = NULL;
  TVMFFIErrorMoveFromRaised(&e);
  return e;
}

static void test_slot(void) {
  CHECK(raised() == NULL);
  TVMFFIErrorSetRaisedFromCStr("KeyError", "no such key");
  SAME_TEXT(TVMGetLastError(), "KeyError: no such key");
  TVMFFIObjectHandle e = raised();
  NEED(e != NULL);
  CHECK(TVMFFIObjectGetTypeIndex(e) == kTVMFFIError && strong_count(e) == 1);
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(e);
  CHECK(is_text(cell->kind, "KeyError") && is_text(cell->message, "no such key"));
  CHECK(cell->cause_chain == NULL && cell->extra_context == NULL);
  CHECK(raised() == NULL); /* already taken */
  SAME_TEXT(TVMGetLastError(), "");

  TVMFFIErrorSetRaised(e);
  CHECK(strong_count(e) == 2);
  TVMFFIErrorSetRaisedFromCStr("ValueError", "replaces it");
  CHECK(strong_count(e) == 1);
  CHECK(strcmp(take_error().message, "replaces it") == 0);
  TVMFFIErrorSetRaised(e);
  TVMFFIErrorSetRaised(NULL); /* clears the slot */
  CHECK(raised() == NULL && strong_count(e) == 1);
  TVMFFIObjectDecRef(e);

  const char* parts[] = {"one", NULL, " and ", "two"};
  TVMFFIErrorSetRaisedFromCStrParts("IndexError", parts, 4);
  taken_error t = take_error();
  SAME_TEXT(t.kind, "IndexError");
  SAME_TEXT(t.message, "one and two");
  TVMFFIErrorSetRaisedFromCStrParts(NULL, NULL, 3); /* NULL must not crash */
  CHECK(take_error().kind[0] != 0);
  TVMFFIErrorSetRaisedFromCStr(NULL, NULL);
  CHECK(take_error().kind[0] != 0);
  TVMFFIErrorMoveFromRaised(NULL);

  TVMFFIAny array;
  OK(call_global("ffi.Array", NULL, 0, &array));
  TVMFFIErrorSetRaised(array.v_obj); /* not an error object */
  CHECK(strstr(take_error().message, "Array") != NULL);
  drop(&array);
}

static void test_parts(void) {
  TVMFFIByteArray kind = bytes_of("RuntimeError"), message = bytes_of("it broke"), trace = bytes_of("at line 1\n"),
      none = {NULL, 0};
  TVMFFIObjectHandle cause = NULL, error = NULL, context = NULL;
  OK(TVMFFIErrorCreate(&kind, &message, &trace, &cause));
  NEED(cause != NULL);
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(cause);
  CHECK(is_text(cell->backtrace, "at line 1\n"));
  TVMFFIByteArray more = bytes_of("at line 2\n");
  cell->update_backtrace(cause, &more, kTVMFFIBacktraceUpdateModeAppend);
  CHECK(is_text(cell->backtrace, "at line 1\nat line 2\n"));
  cell->update_backtrace(cause, &more, kTVMFFIBacktraceUpdateModeReplace);
  CHECK(is_text(cell->backtrace, "at line 2\n"));

  TVMFFIAny array;
  OK(call_global("ffi.Array", NULL, 0, &array));
  context = array.v_obj;
  OK(TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &none, cause, context, &error));
  NEED(error != NULL);
  CHECK(TVMFFIErrorGetCellPtr(error)->cause_chain == cause && TVMFFIErrorGetCellPtr(error)->extra_context == context);
  CHECK(strong_count(cause) == 2 && strong_count(context) == 2);
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  SAME_TEXT(TVMGetLastError(), "RuntimeError: it broke");
  error = raised();
  TVMFFIObjectDecRef(error);
  CHECK(strong_count(cause) == 1 && strong_count(context) == 1);
  TVMFFIObjectDecRef(cause);
  drop(&array);

  TVMFFIErrorSetRaisedFromCStr("ValueError", "stays"); /* making an error does not change the slot, even if it fails */
  CHECK(TVMFFIErrorCreate(NULL, &message, &none, &error) == -1);
  CHECK(TVMFFIErrorCreate(&kind, NULL, &none, &error) == -1);
  CHECK(TVMFFIErrorCreate(&kind, &message, &none, NULL) == -1);
  CHECK(strcmp(take_error().message, "stays") == 0);
}

static int fail(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "callback refuses");
  return -1;
}

/* The caller gets the same error object that a callback raised. */
static int raise_self(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)args, (void)n, (void)result;
  TVMFFIErrorSetRaised(self);
  return -1;
}

static void test_through_calls(void) {
  TVMFFIObjectHandle f = NULL, error = NULL;
  TVMFFIAny result = any_of(kTVMFFINone);
  OK(TVMFFIFunctionCreate(NULL, fail, NULL, &f));
  FAILS(TVMFFIFunctionCall(f, NULL, 0, &result), "ValueError", "callback refuses");
  TVMFFIObjectDecRef(f);
  TVMFFIByteArray kind = bytes_of("MyError"), message = bytes_of("mine"), none = {"", 0};
  OK(TVMFFIErrorCreate(&kind, &message, &none, &error));
  OK(TVMFFIFunctionCreate(error, raise_self, NULL, &f));
  CHECK(TVMFFIFunctionCall(f, NULL, 0, &result) == -1);
  TVMFFIObjectHandle got = raised();
  CHECK(got == error);
  TVMFFIObjectDecRef(got);
  TVMFFIObjectDecRef(error);
  TVMFFIObjectDecRef(f);
}

static void test_backtrace(void) {
  const TVMFFIByteArray* trace = TVMFFIBacktrace("file.c", 12, "work", 0);
  NEED(trace != NULL);
  CHECK(strstr(trace->data, "file.c") != NULL && strstr(trace->data, "12") != NULL &&
      strstr(trace->data, "work") != NULL);
  NEED((trace = TVMFFIBacktrace(NULL, 0, NULL, 1)) != NULL);
  CHECK(trace->data != NULL && strlen(trace->data) == trace->size);
}

static void* on_other_thread(void* arg) {
  (void)arg;
  TVMFFIObjectHandle e = raised();
  TVMFFIErrorSetRaisedFromCStr("ValueError", "of the other thread"); /* freed with the thread */
  return e;
}

static void test_threads(void) {
  pthread_t thread;
  void* seen = NULL;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "of this thread");
  NEED(pthread_create(&thread, NULL, on_other_thread, NULL) == 0);
  pthread_join(thread, &seen);
  CHECK(seen == NULL);
  CHECK(strcmp(take_error().message, "of this thread") == 0);
}

void test_errors(void) {
  test_slot();
  test_parts();
  test_through_calls();
  test_backtrace();
  test_threads();
}
