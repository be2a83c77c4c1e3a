/* Declarations shared by the files of the classic C ABI. The ABI itself is include/tvm/runtime/c_runtime_api.h. Values,
 * errors and objects come from the core. The only state kept here is the Python exception that a thread holds. */
#pragma once

#include "core.h"
#include "object/usable.h"

/* Returns 0 if p is not NULL; otherwise raises "op: what is NULL". */
static inline int classic_need(const void* p, const char* op, const char* what) {
  if (TVMGO_LIKELY(p != NULL)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is NULL", op, what);
}

/* Returns 0 if handle is an object of this type; otherwise raises an error with its actual type. */
int classic_need_object(const void* handle, int32_t type_index, const char* op);

/* Returns the object behind an array handle. If it is not an array of this runtime, returns NULL and raises an
 * error. */
TVMFFIObject* classic_array_object(TVMArrayHandle handle, const char* op);
