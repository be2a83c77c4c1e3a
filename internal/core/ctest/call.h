/* Calls of global functions, and values written as JSON. */
#pragma once

#include "ctest/check.h"

static inline TVMFFIAny raw(const char* s) {
  return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = s};
}

static inline TVMFFIAny real(double v) {
  TVMFFIAny any = {.type_index = kTVMFFIFloat};
  any.v_float64 = v;
  return any;
}

/* Calls a global function; *result is owned by the caller. */
static inline int call(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  TVMFFIObject* f = tvmgo_global_get(name, strlen(name));
  if (f == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "no global function %s", name);
  int rc = tvmgo_function_call(f, args, n, result);
  tvmgo_object_release(f);
  return rc;
}

/* call("name", &result, arg, arg, ...) with arguments that are TVMFFIAny. */
#define CALL(name, result, ...)                                                         \
  call(name, (const TVMFFIAny[]){__VA_ARGS__},                                          \
       (int32_t)(sizeof((TVMFFIAny[]){__VA_ARGS__}) / sizeof(TVMFFIAny)), result)

/* The owned value that a JSON text describes; None, and a failed check, when it is none. */
static inline TVMFFIAny json(const char* text) {
  TVMFFIAny v;
  CHECK_OK(CALL("ffi.json.Parse", &v, raw(text)));
  return v;
}

/* Text of a value until the next call on this thread. */
static inline const char* text_from(int rc, TVMFFIAny* owned) {
  static __thread char text[512];
  TVMFFIByteArray t = {"(no text)", 9};
  if (CHECK_OK(rc) && !tvmgo_any_text(owned, &t)) t = (TVMFFIByteArray){"(no text)", 9};
  snprintf(text, sizeof text, "%.*s", (int)t.size, t.data);
  tvmgo_any_clear(owned);
  return text;
}

static inline const char* repr(TVMFFIAny v) {
  TVMFFIAny r;
  int rc = CALL("ffi.ReprPrint", &r, v);
  return text_from(rc, &r);
}

static inline const char* stringify(TVMFFIAny v) {
  TVMFFIAny r;
  int rc = CALL("ffi.json.Stringify", &r, v);
  return text_from(rc, &r);
}

/* The List of n views. */
static inline TVMFFIAny list_of(const TVMFFIAny* items, int32_t n) {
  TVMFFIAny v;
  CHECK_OK(call("ffi.List", items, n, &v));
  return v;
}
#define LIST(...)                                    \
  list_of((const TVMFFIAny[]){__VA_ARGS__},          \
          (int32_t)(sizeof((TVMFFIAny[]){__VA_ARGS__}) / sizeof(TVMFFIAny)))
