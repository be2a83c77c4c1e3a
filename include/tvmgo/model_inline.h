/* Part of tvmgo/model.h, which declares and describes the functions. Names that end in an underscore are internal. */
#ifndef TVMGO_MODEL_INLINE_H_
#define TVMGO_MODEL_INLINE_H_

#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/model.h>
#include <tvmgo/model_signature.h> /* calls, signatures */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- loading ------------------------------------------------------------------------------------------------------ */

static inline int tvmgo_model_load_(TVMValue source, int source_code, const DLDevice* devices, int num_devices,
                                    const char* params, TVMModuleHandle* out) {
  TVMValue args[3], result, *list = NULL;
  int codes[3], code = kTVMNullptr, rc = -1, i, *list_codes = NULL;
  *out = NULL;
  args[0] = source, codes[0] = source_code;
  args[1].v_handle = NULL, codes[1] = kTVMNullptr;
  args[2].v_handle = NULL, codes[2] = kTVMNullptr;
  if (params != NULL) args[2].v_str = params, codes[2] = kTVMStr;
  if (num_devices > 0) {
    list = (TVMValue*)calloc((size_t)num_devices, sizeof *list);
    list_codes = (int*)calloc((size_t)num_devices, sizeof *list_codes);
    for (i = 0; list != NULL && list_codes != NULL && i < num_devices; i++)
      list[i].v_device = devices[i], list_codes[i] = kDLDevice;
    if (list == NULL || list_codes == NULL)
      rc = tvmgo_no_memory_();
    else
      rc = tvmgo_global_("ffi.Array", list, list_codes, num_devices, &args[1], &codes[1]);
    free(list);
    free(list_codes);
    if (rc != 0) return rc;
  }
  rc = tvmgo_global_("tvmgo.load_model", args, codes, 3, &result, &code);
  if (num_devices > 0) tvmgo_drop_(args[1], codes[1]);
  if (rc == 0) *out = result.v_handle;
  return rc;
}

static inline int TVMGOModelLoad(const char* path, const DLDevice* devices, int num_devices, const char* params,
                                 TVMModuleHandle* out) {
  TVMValue source;
  source.v_str = path;
  return tvmgo_model_load_(source, kTVMStr, devices, num_devices, params, out);
}

static inline int TVMGOModelLoadBytes(const void* library, size_t size, const DLDevice* devices, int num_devices,
                                      const char* params, TVMModuleHandle* out) {
  TVMByteArray bytes;
  TVMValue source;
  bytes.data = (const char*)library;
  bytes.size = size;
  source.v_handle = &bytes;
  return tvmgo_model_load_(source, kTVMBytes, devices, num_devices, params, out);
}

static inline int TVMGOModelFromModule(TVMModuleHandle library, const DLDevice* devices, int num_devices,
                                       const char* params, TVMModuleHandle* out) {
  TVMValue source;
  source.v_handle = library;
  return tvmgo_model_load_(source, kTVMModuleHandle, devices, num_devices, params, out);
}

/* --- parameters, memory, sessions --------------------------------------------------------------------------------- */

static inline int TVMGOModelBind(TVMModuleHandle model, const char* const* names, const TVMArrayHandle* arrays,
                                 int n) {
  TVMValue *pairs = (TVMValue*)calloc(2 * (size_t)n + 1, sizeof *pairs), map, result;
  int *codes = (int*)calloc(2 * (size_t)n + 1, sizeof *codes), code = kTVMNullptr, rc, i;
  for (i = 0; pairs != NULL && codes != NULL && i < n; i++) {
    pairs[2 * i].v_str = names[i], codes[2 * i] = kTVMStr;
    pairs[2 * i + 1].v_handle = arrays[i], codes[2 * i + 1] = kTVMNDArrayHandle;
  }
  if (pairs == NULL || codes == NULL)
    rc = tvmgo_no_memory_();
  else
    rc = tvmgo_global_("ffi.Map", pairs, codes, 2 * n, &map, &code);
  free(pairs);
  free(codes);
  if (rc != 0) return rc;
  rc = tvmgo_method_(model, "tvmgo.bind", &map, &code, 1, &result, &i);
  tvmgo_drop_(map, code);
  return rc;
}

static inline int tvmgo_memory_(TVMModuleHandle m, const char* function, TVMGOModelMemory* out) {
  TVMValue none, map;
  int code = kTVMNullptr, rc;
  none.v_handle = NULL;
  if (tvmgo_method_(m, function, &none, &code, 0, &map, &code) != 0) return -1;
  rc = tvmgo_item_int_(map.v_handle, "live", 0, &out->live) != 0 ||
      tvmgo_item_int_(map.v_handle, "peak", 0, &out->peak) != 0 ||
      tvmgo_item_int_(map.v_handle, "storages", 0, &out->storages) != 0 ||
      tvmgo_item_int_(map.v_handle, "taken", 0, &out->taken) != 0 ||
      tvmgo_item_int_(map.v_handle, "limit", 0, &out->limit) != 0 ||
      tvmgo_item_int_(map.v_handle, "weights", 0, &out->weights) != 0;
  TVMObjectFree(map.v_handle);
  return rc == 0 ? 0 : -1;
}

static inline int tvmgo_limit_(TVMModuleHandle m, const char* function, int64_t bytes) {
  TVMValue arg, result;
  int code = kTVMArgInt;
  arg.v_int64 = bytes;
  return tvmgo_method_(m, function, &arg, &code, 1, &result, &code);
}

static inline int TVMGOModelGetMemory(TVMModuleHandle model, TVMGOModelMemory* out) {
  return tvmgo_memory_(model, "tvmgo.model_memory", out);
}

static inline int TVMGOModelSetMemoryLimit(TVMModuleHandle model, int64_t bytes) {
  return tvmgo_limit_(model, "tvmgo.set_model_memory_limit", bytes);
}

static inline int TVMGOModelNewSession(TVMModuleHandle model, TVMModuleHandle* out) {
  TVMValue none, session;
  int code = kTVMNullptr;
  *out = NULL;
  none.v_handle = NULL;
  if (tvmgo_method_(model, "tvmgo.session", &none, &code, 0, &session, &code) != 0) return -1;
  *out = session.v_handle;
  return 0;
}

static inline int TVMGOSessionGetMemory(TVMModuleHandle session, TVMGOModelMemory* out) {
  return tvmgo_memory_(session, "tvmgo.memory", out);
}

static inline int TVMGOSessionSetMemoryLimit(TVMModuleHandle session, int64_t bytes) {
  return tvmgo_limit_(session, "tvmgo.set_memory_limit", bytes);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Whether a value is a tuple. If it is neither that nor an array, the error is set. */
static inline int tvmgo_is_tuple_(TVMValue v, int code) {
  int32_t index = code == kTVMObjectHandle ? ((TVMFFIObject*)v.v_handle)->type_index : kTVMFFINone;
  const TVMFFITypeInfo* type = index != kTVMFFINone ? TVMFFIGetTypeInfo(index) : NULL;
  if (index == kTVMFFIArray) return 1;
  if (type != NULL)
    tvmgo_fail_("TypeError: the result has a value of type %.*s, no array: call TVMFuncCall", (int)type->type_key.size,
                type->type_key.data);
  else
    tvmgo_fail_("TypeError: the result has a value of type code %d, no array: call TVMFuncCall", code);
  return 0;
}

/* Moves the arrays of a result, which it takes over, to outputs. */
static inline int tvmgo_collect_(TVMValue v, int code, TVMArrayHandle* outputs, int capacity, int* n) {
  int64_t size = 0, i;
  int rc = 0;
  if (code == kTVMNDArrayHandle && *n < capacity) {
    outputs[(*n)++] = (TVMArrayHandle)v.v_handle;
    return 0;
  }
  if (code == kTVMNDArrayHandle) {
    rc = tvmgo_fail_("ValueError: the result has more than %d arrays, the capacity of outputs", capacity);
  } else if (!tvmgo_is_tuple_(v, code)) {
    rc = -1;
  } else {
    rc = tvmgo_size_(v.v_handle, &size);
    for (i = 0; rc == 0 && i < size; i++) {
      TVMValue args[2], item;
      int codes[2] = {kTVMObjectHandle, kTVMArgInt}, item_code = kTVMNullptr;
      args[0] = v;
      args[1].v_int64 = i;
      rc = tvmgo_global_("ffi.ArrayGetItem", args, codes, 2, &item, &item_code);
      if (rc == 0) rc = tvmgo_collect_(item, item_code, outputs, capacity, n);
    }
  }
  tvmgo_drop_(v, code);
  return rc;
}

/* The function, which the caller frees. The error for an unknown one says what there is. */
static inline int tvmgo_function_(TVMModuleHandle model, const char* name, TVMFunctionHandle* out) {
  TVMValue arg, result;
  int code = kTVMStr, rc = TVMModGetFunction(model, name, 0, out);
  if (rc != 0 || *out != NULL) return rc;
  arg.v_str = name;
  rc = tvmgo_method_(model, "tvmgo.signature", &arg, &code, 1, &result, &code);
  if (rc != 0) return rc;
  tvmgo_drop_(result, code);
  return tvmgo_fail_("NotFoundError: the model has no function \"%s\"", name);
}

static inline int tvmgo_run_(TVMFunctionHandle f, const int* order, const TVMArrayHandle* inputs, int n,
                             TVMArrayHandle* outputs, int* num_outputs) {
  TVMValue *args = (TVMValue*)calloc((size_t)n + 1, sizeof *args), result;
  int *codes = (int*)calloc((size_t)n + 1, sizeof *codes), code = kTVMNullptr, got = 0, rc, i;
  for (i = 0; args != NULL && codes != NULL && i < n; i++)
    args[i].v_handle = inputs[order == NULL ? i : order[i]], codes[i] = kTVMNDArrayHandle;
  rc = args == NULL || codes == NULL ? tvmgo_no_memory_() : TVMFuncCall(f, args, codes, n, &result, &code);
  free(args);
  free(codes);
  if (rc != 0) return rc;
  rc = tvmgo_collect_(result, code, outputs, *num_outputs, &got);
  for (i = 0; rc != 0 && i < got; i++) TVMArrayFree(outputs[i]);
  if (rc == 0) *num_outputs = got;
  return rc;
}

static inline int TVMGOModelRun(TVMModuleHandle model, const char* function, const TVMArrayHandle* inputs,
                                int num_inputs, TVMArrayHandle* outputs, int* num_outputs) {
  TVMFunctionHandle f = NULL;
  int rc = tvmgo_function_(model, function, &f);
  if (rc != 0) return rc;
  rc = tvmgo_run_(f, NULL, inputs, num_inputs, outputs, num_outputs);
  TVMFuncFree(f);
  return rc;
}

static inline int TVMGOModelRunNamed(TVMModuleHandle model, const TVMGOFunctionInfo* function,
                                     const char* const* names, const TVMArrayHandle* inputs, int num_inputs,
                                     TVMArrayHandle* outputs, int* num_outputs) {
  TVMFunctionHandle f = NULL;
  int* order = (int*)calloc((size_t)num_inputs + 1, sizeof *order);
  int rc = order == NULL ? tvmgo_no_memory_() : tvmgo_order_(function, names, num_inputs, order);
  if (rc == 0) rc = tvmgo_function_(model, function->name, &f);
  if (rc == 0) rc = tvmgo_run_(f, order, inputs, num_inputs, outputs, num_outputs);
  free(order);
  TVMFuncFree(f);
  return rc;
}

#ifdef __cplusplus
}
#endif

#endif  // TVMGO_MODEL_INLINE_H_
