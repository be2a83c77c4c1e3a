/* What the files of the classic C ABI share. The ABI itself is include/tvm/runtime/c_runtime_api.h; values, errors and
 * objects come from the core, and nothing here keeps state of its own but the held Python exception. */
#pragma once

#include "core.h"

/* 0 when p is not NULL; otherwise raises "op: what is NULL". */
static inline int classic_need(const void* p, const char* op, const char* what) {
  if (TVMGO_LIKELY(p != NULL)) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is NULL", op, what);
}

/* 0 when handle is an object of this type; otherwise raises what it is instead. */
int classic_need_object(const void* handle, int32_t type_index, const char* op);

/* The object behind an array handle, NULL with an error raised when it is none of this runtime's. */
TVMFFIObject* classic_array_object(TVMArrayHandle handle, const char* op);
