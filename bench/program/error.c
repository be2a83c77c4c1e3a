/* Errors: raised and caught in one function, created as objects, and raised in a called function. */
#include "program.h"

#include <dlfcn.h>

static const char kind[] = "ValueError", message[] = "the length must be positive, got -1";

static void expect(TVMFFIObjectHandle error) {
  if (error == NULL) bench_fail("no error was raised");
  TVMFFIObjectDecRef(error);
}

static void raise_and_take(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFFIObjectHandle error = NULL;
    TVMFFIErrorSetRaisedFromCStr(kind, message);
    TVMFFIErrorMoveFromRaised(&error);
    expect(error);
  }
}

static TVMFFIObjectHandle made(const char* backtrace, size_t size) {
  TVMFFIByteArray k = {kind, sizeof kind - 1}, m = {message, sizeof message - 1};
  TVMFFIByteArray b = {backtrace, size};
  TVMFFIObjectHandle error = NULL;
  bench_check(TVMFFIErrorCreate(&k, &m, &b, &error), "create an error");
  return error;
}

static void make_plain(int64_t n) {
  for (int64_t i = 0; i < n; i++) expect(made("", 0));
}

static void make_with_backtrace(int64_t n) {
  static const char frame[] = "  File \"model.py\", line 12, in forward\n";
  for (int64_t i = 0; i < n; i++) expect(made(frame, sizeof frame - 1));
}

/* A function that fails, and a caller that catches the error. */
static TVMFFIObjectHandle fails_with_text, fails_with_object;

static int fail_with_text(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* Like C++ code, which has computed the backtrace itself. */
static int fail_with_object(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  TVMFFIObjectHandle error = made("", 0);
  TVMFFIErrorSetRaised(error);
  TVMFFIObjectDecRef(error);
  return -1;
}

static void prepare_calls(void) {
  static int self;
  if (fails_with_text != NULL) return;
  bench_check(TVMFFIFunctionCreate(&self, fail_with_text, NULL, &fails_with_text), "create");
  bench_check(TVMFFIFunctionCreate(&self, fail_with_object, NULL, &fails_with_object), "create");
}

static void call_and_catch(TVMFFIObjectHandle f, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny result = {0};
    TVMFFIObjectHandle error = NULL;
    if (TVMFFIFunctionCall(f, NULL, 0, &result) != -1) bench_fail("the call did not fail");
    TVMFFIErrorMoveFromRaised(&error);
    expect(error);
  }
}

static void through_call(int64_t n) { call_and_catch(fails_with_text, n); }
static void object_through_call(int64_t n) { call_and_catch(fails_with_object, n); }

/* The same in C++ (program/throw.cc). */
static int64_t (*throw_through_call)(int64_t n);

static void prepare_throw(void) {
  void* library = dlopen(bench_throw_so, RTLD_NOW);
  void* symbol = library == NULL ? NULL : dlsym(library, "bench_throw_through_call");
  if (symbol == NULL) bench_fail(dlerror());
  throw_through_call = (int64_t (*)(int64_t))symbol;
}

static void thrown_through_call(int64_t n) {
  if (throw_through_call(n) != n) bench_fail("caught a different error");
}

const bench_row bench_error_rows[] = {
    {"error", NULL, raise_and_take},
    {"error-make", NULL, make_plain},
    {"error-make-backtrace", NULL, make_with_backtrace},
    {"error-call", prepare_calls, through_call},
    {"error-call-object", prepare_calls, object_through_call},
    {"error-throw", prepare_throw, thrown_through_call},
    {0},
};
