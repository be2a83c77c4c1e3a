/* Macros for built-in functions that are written as bodies: int body(fname, args, n, result).
 * One body may serve several names; errors carry the name that was called. */
#pragma once

#include "call/call.h"

/* For a list of X(id, name, body): the entry points, and their registration. */
#define TVMGO_BUILTIN_DEFINE(id, name, body)                                             \
  static int id(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {       \
    (void)self;                                                                          \
    return body(name, args, n, result);                                                  \
  }
#define TVMGO_BUILTIN_REGISTER(id, name, body) tvmgo_global_builtin(name, id);

/* A built-in function that is registered alone: its entry point, and its body, whose f is the name that was called, for
 * errors. */
#define TVMGO_BUILTIN(id)                                                                                \
  static int id##_body(const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result);              \
  static int id(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {                       \
    return id##_body(((const tvmgo_builtin*)self)->name, args, n, result);                               \
  }                                                                                                      \
  static int id##_body(const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result)

/* Results: an owned copy of a stored value, and a new object (NULL: an error was raised). */
static inline int tvmgo_give(const TVMFFIAny* stored, TVMFFIAny* result) {
  if (tvmgo_any_is_object(stored)) tvmgo_object_retain(stored->v_obj);
  *result = *stored;
  return 0;
}
static inline int tvmgo_give_new(void* owned, TVMFFIAny* result) {
  if (owned == NULL) return -1;
  *result = tvmgo_any_object(owned);
  return 0;
}

/* builtin_schema.c: the signature of the built-in function of this name, as an owned Str. */
int tvmgo_builtin_metadata(const char* name, size_t len, TVMFFIAny* out);
