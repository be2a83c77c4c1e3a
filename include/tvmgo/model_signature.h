/* Part of tvmgo/model.h, which declares and describes the functions. Names that end in an underscore are internal. */
#ifndef TVMGO_MODEL_SIGNATURE_H_
#define TVMGO_MODEL_SIGNATURE_H_

#include <dlpack/dlpack.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/model.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- internal: calls ---------------------------------------------------------------------------------------------- */

/* Sets the error; longer texts are cut. */
static inline int tvmgo_fail_(const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  TVMAPISetLastError(text);
  return -1;
}

static inline int tvmgo_no_memory_(void) { return tvmgo_fail_("MemoryError: out of memory"); }

static inline int tvmgo_call_(TVMFunctionHandle f, TVMValue* args, int* codes, int n, TVMValue* out, int* code) {
  int rc = TVMFuncCall(f, args, codes, n, out, code);
  TVMFuncFree(f);
  return rc;
}

static inline int tvmgo_global_(const char* name, TVMValue* args, int* codes, int n, TVMValue* out, int* code) {
  TVMFunctionHandle f = NULL;
  if (TVMFuncGetGlobal(name, &f) != 0) return -1;
  if (f == NULL) return tvmgo_fail_("NotFoundError: there is no global function \"%s\"", name);
  return tvmgo_call_(f, args, codes, n, out, code);
}

static inline int tvmgo_method_(TVMModuleHandle model, const char* name, TVMValue* args, int* codes, int n,
                                TVMValue* out, int* code) {
  TVMFunctionHandle f = NULL;
  if (TVMModGetFunction(model, name, 0, &f) != 0) return -1;
  if (f == NULL)
    return tvmgo_fail_("TypeError: the module is no model: it has no function \"%s\": TVMGOModelLoad loads one", name);
  return tvmgo_call_(f, args, codes, n, out, code);
}

static inline void tvmgo_drop_(TVMValue v, int code) {
  if (code == kTVMObjectHandle) TVMObjectFree(v.v_handle);
  if (code == kTVMNDArrayHandle) TVMArrayFree((TVMArrayHandle)v.v_handle);
  if (code == kTVMModuleHandle) TVMModFree(v.v_handle);
  if (code == kTVMPackedFuncHandle) TVMFuncFree(v.v_handle);
}

/* --- internal: reading signatures --------------------------------------------------------------------------------- */

/* Memory that is freed with the info: a list of blocks. NULL: the error is set. */
static inline void* tvmgo_info_alloc_(TVMGOModelInfo* info, size_t count, size_t size) {
  void** block = count > SIZE_MAX / 2 / size ? NULL : (void**)calloc(1, 2 * sizeof(void*) + (count + 1) * size);
  if (block == NULL) {
    tvmgo_no_memory_();
    return NULL;
  }
  *block = info->memory_;
  info->memory_ = block;
  return block + 2;
}

static inline const char* tvmgo_info_text_(TVMGOModelInfo* info, const char* text) {
  size_t size = strlen(text) + 1;
  char* copy = (char*)tvmgo_info_alloc_(info, size, 1);
  return copy == NULL ? NULL : (const char*)memcpy(copy, text, size);
}

/* Element i of an array, or the value of a key of a map; owned. An error if it has another type. */
static inline int tvmgo_item_(TVMObjectHandle from, const char* key, int64_t i, int want, TVMValue* out) {
  TVMValue args[2];
  int codes[2] = {kTVMObjectHandle, kTVMArgInt}, code = kTVMNullptr;
  args[0].v_handle = from;
  args[1].v_int64 = i;
  if (key != NULL) args[1].v_str = key, codes[1] = kTVMStr;
  if (tvmgo_global_(key != NULL ? "ffi.MapGetItem" : "ffi.ArrayGetItem", args, codes, 2, out, &code) != 0) return -1;
  if (code == want || (want == kTVMArgInt && code == kTVMArgBool)) return 0;
  tvmgo_drop_(*out, code);
  return tvmgo_fail_("TypeError: the model describes itself in an unknown way: %s has type code %d",
                     key != NULL ? key : "an element", code);
}

static inline int tvmgo_item_text_(TVMGOModelInfo* info, TVMObjectHandle from, const char* key, int64_t i,
                                   const char** out) {
  TVMValue v;
  if (tvmgo_item_(from, key, i, kTVMStr, &v) != 0) return -1;
  *out = tvmgo_info_text_(info, v.v_str);
  return *out == NULL ? -1 : 0;
}

static inline int tvmgo_item_int_(TVMObjectHandle from, const char* key, int64_t i, int64_t* out) {
  TVMValue v;
  if (tvmgo_item_(from, key, i, kTVMArgInt, &v) != 0) return -1;
  *out = v.v_int64;
  return 0;
}

static inline int tvmgo_size_(TVMObjectHandle array, int64_t* out) {
  TVMValue arg, v;
  int code = kTVMObjectHandle;
  arg.v_handle = array;
  if (tvmgo_global_("ffi.ArraySize", &arg, &code, 1, &v, &code) != 0) return -1;
  *out = v.v_int64;
  return 0;
}

static inline int tvmgo_info_values_(TVMGOModelInfo* info, TVMObjectHandle map, const char* key,
                                     const TVMGOValueInfo** out, int* num);

static inline int tvmgo_info_dims_(TVMGOModelInfo* info, TVMObjectHandle map, TVMGOValueInfo* out) {
  TVMValue extents, texts;
  int64_t n = 0, have = 0, i, *shape;
  const char** dims;
  int rc = -1;
  if (tvmgo_item_(map, "shape", 0, kTVMObjectHandle, &extents) != 0) return -1;
  if (tvmgo_item_(map, "dims", 0, kTVMObjectHandle, &texts) != 0) {
    TVMObjectFree(extents.v_handle);
    return -1;
  }
  if (tvmgo_size_(extents.v_handle, &n) != 0 || tvmgo_size_(texts.v_handle, &have) != 0) goto done;
  if (n != have || (out->ndim >= 0 && n != out->ndim)) {
    tvmgo_fail_("ValueError: the model describes %d extents and %d texts of %d dimensions", (int)n, (int)have,
                out->ndim);
    goto done;
  }
  shape = (int64_t*)tvmgo_info_alloc_(info, (size_t)n, sizeof *shape);
  dims = (const char**)tvmgo_info_alloc_(info, (size_t)n, sizeof *dims);
  if (shape == NULL || dims == NULL) goto done;
  for (i = 0; i < n; i++)
    if (tvmgo_item_int_(extents.v_handle, NULL, i, &shape[i]) != 0 ||
        tvmgo_item_text_(info, texts.v_handle, NULL, i, &dims[i]) != 0)
      goto done;
  out->shape = shape;
  out->dims = dims;
  rc = 0;
done:
  TVMObjectFree(extents.v_handle);
  TVMObjectFree(texts.v_handle);
  return rc;
}

static inline int tvmgo_info_value_(TVMGOModelInfo* info, TVMObjectHandle map, TVMGOValueInfo* out) {
  static const char* const kinds[] = {"tensor", "shape", "tuple", "number", "function"};
  const char* kind;
  int64_t ndim, device, bound;
  int k = 0;
  if (tvmgo_item_text_(info, map, "name", 0, &out->name) != 0 || tvmgo_item_text_(info, map, "kind", 0, &kind) != 0 ||
      tvmgo_item_text_(info, map, "dtype", 0, &out->dtype_name) != 0 ||
      tvmgo_item_text_(info, map, "text", 0, &out->text) != 0 || tvmgo_item_int_(map, "ndim", 0, &ndim) != 0 ||
      tvmgo_item_int_(map, "device", 0, &device) != 0 || tvmgo_item_int_(map, "bound", 0, &bound) != 0)
    return -1;
  while (k < kTVMGOValueAny && strcmp(kind, kinds[k]) != 0) k++;
  out->kind = (TVMGOValueKind)k;
  out->ndim = (int)ndim;
  out->device = (int)device;
  out->bound = bound != 0;
  if (out->dtype_name[0] != 0) {
    TVMFFIByteArray text;
    text.data = out->dtype_name;
    text.size = strlen(out->dtype_name);
    if (TVMFFIDataTypeFromString(&text, &out->dtype) != 0) return -1;
  }
  if (tvmgo_info_dims_(info, map, out) != 0) return -1;
  return tvmgo_info_values_(info, map, "fields", &out->fields, &out->num_fields);
}

static inline int tvmgo_info_values_(TVMGOModelInfo* info, TVMObjectHandle map, const char* key,
                                     const TVMGOValueInfo** out, int* num) {
  TVMValue array, item;
  int64_t n = 0, i;
  TVMGOValueInfo* values = NULL;
  int rc;
  if (tvmgo_item_(map, key, 0, kTVMObjectHandle, &array) != 0) return -1;
  rc = tvmgo_size_(array.v_handle, &n);
  if (rc == 0) values = (TVMGOValueInfo*)tvmgo_info_alloc_(info, (size_t)n, sizeof *values);
  if (values == NULL) rc = -1;
  for (i = 0; rc == 0 && i < n; i++) {
    rc = tvmgo_item_(array.v_handle, NULL, i, kTVMObjectHandle, &item);
    if (rc != 0) break;
    rc = tvmgo_info_value_(info, item.v_handle, &values[i]);
    TVMObjectFree(item.v_handle);
  }
  TVMObjectFree(array.v_handle);
  *out = values;
  *num = (int)n;
  return rc;
}

static inline int tvmgo_info_function_(TVMGOModelInfo* info, TVMModuleHandle model, const char* name,
                                       TVMGOFunctionInfo* out) {
  TVMValue arg, map, result;
  int code = kTVMStr, rc;
  arg.v_str = name;
  if (tvmgo_method_(model, "tvmgo.signature", &arg, &code, 1, &map, &code) != 0) return -1;
  rc = tvmgo_item_text_(info, map.v_handle, "name", 0, &out->name);
  if (rc == 0) rc = tvmgo_info_values_(info, map.v_handle, "params", &out->params, &out->num_params);
  if (rc == 0) rc = tvmgo_item_(map.v_handle, "result", 0, kTVMObjectHandle, &result);
  if (rc == 0) {
    rc = tvmgo_info_value_(info, result.v_handle, &out->result);
    TVMObjectFree(result.v_handle);
  }
  TVMObjectFree(map.v_handle);
  return rc;
}

static inline int tvmgo_info_devices_(TVMGOModelInfo* info, TVMModuleHandle model) {
  TVMValue list, item, none;
  DLDevice* devices = NULL;
  int64_t n = 0, i;
  int code = kTVMNullptr, rc;
  none.v_handle = NULL;
  if (tvmgo_method_(model, "tvmgo.devices", &none, &code, 0, &list, &code) != 0) return -1;
  rc = tvmgo_size_(list.v_handle, &n);
  if (rc == 0) devices = (DLDevice*)tvmgo_info_alloc_(info, (size_t)n, sizeof *devices);
  if (devices == NULL) rc = -1;
  for (i = 0; rc == 0 && i < n; i++) {
    rc = tvmgo_item_(list.v_handle, NULL, i, kDLDevice, &item);
    if (rc == 0) devices[i] = item.v_device;
  }
  TVMObjectFree(list.v_handle);
  info->devices = devices;
  info->num_devices = (int)n;
  return rc;
}

static inline void tvmgo_info_clear_(TVMGOModelInfo* info) {
  void *block, *next;
  for (block = info->memory_; block != NULL; block = next) {
    memcpy(&next, block, sizeof next);
    free(block);
  }
}

static inline void TVMGOModelFreeInfo(TVMGOModelInfo* info) {
  if (info == NULL) return;
  tvmgo_info_clear_(info);
  free(info);
}

static inline int TVMGOModelGetInfo(TVMModuleHandle model, TVMGOModelInfo** out) {
  TVMValue names, none;
  int64_t n = 0, i;
  int code = kTVMNullptr, rc;
  TVMGOFunctionInfo* functions = NULL;
  TVMGOModelInfo* info;
  *out = NULL;
  none.v_handle = NULL;
  if (tvmgo_method_(model, "tvmgo.functions", &none, &code, 0, &names, &code) != 0) return -1;
  info = (TVMGOModelInfo*)calloc(1, sizeof *info);
  rc = info == NULL ? tvmgo_no_memory_() : tvmgo_size_(names.v_handle, &n);
  if (rc == 0) functions = (TVMGOFunctionInfo*)tvmgo_info_alloc_(info, (size_t)n, sizeof *functions);
  if (functions == NULL) rc = -1;
  for (i = 0; rc == 0 && i < n; i++) {
    const char* name;
    rc = tvmgo_item_text_(info, names.v_handle, NULL, i, &name);
    if (rc == 0) rc = tvmgo_info_function_(info, model, name, &functions[i]);
  }
  TVMObjectFree(names.v_handle);
  if (rc == 0) rc = tvmgo_info_devices_(info, model);
  if (rc != 0) {
    TVMGOModelFreeInfo(info);
    return rc;
  }
  info->functions = functions;
  info->num_functions = (int)n;
  *out = info;
  return 0;
}

/* --- inputs by name ----------------------------------------------------------------------------------------------- */

/* How many characters must change; large for long names. */
static inline int tvmgo_distance_(const char* a, const char* b) {
  int row[65];
  size_t n = strlen(a), m = strlen(b), i, j;
  if (n > 64 || m > 64) return 1000;
  for (j = 0; j <= m; j++) row[j] = (int)j;
  for (i = 1; i <= n; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (j = 1; j <= m; j++) {
      int change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      if (row[j - 1] + 1 < change) change = row[j - 1] + 1;
      if (row[j] + 1 < change) change = row[j] + 1;
      row[j] = change;
    }
  }
  return row[m];
}

static inline int tvmgo_unknown_name_(const TVMGOFunctionInfo* f, const char* name) {
  int least = 1000, best = -1, i;
  for (i = 0; i < f->num_params; i++) {
    int d = tvmgo_distance_(name, f->params[i].name);
    if (d < least) least = d, best = i;
  }
  if (best >= 0 && least <= 1 + (int)strlen(name) / 3)
    return tvmgo_fail_("ValueError: function \"%s\" has no parameter \"%s\", do you mean \"%s\"?", f->name, name,
                       f->params[best].name);
  return tvmgo_fail_("ValueError: function \"%s\" has no parameter \"%s\"%s%s%s", f->name, name,
                     f->num_params > 0 ? ": its first one is \"" : ": it has none", f->num_params > 0 ?
                     f->params[0].name : "", f->num_params > 0 ? "\"" : "");
}

/* Stores in order[i] which of n names is that of the call's i-th argument. The names must be those of all parameters,
 * or of all that are not bound. */
static inline int tvmgo_order_(const TVMGOFunctionInfo* f, const char* const* names, int n, int* order) {
  char missing[256] = "";
  int free_params = 0, bound_given = 0, at = 0, i, k;
  for (i = 0; i < n; i++) {
    for (k = 0; k < f->num_params && strcmp(f->params[k].name, names[i]) != 0; k++) continue;
    if (k == f->num_params) return tvmgo_unknown_name_(f, names[i]);
    if (f->params[k].bound) bound_given = 1;
    for (k = 0; k < i; k++)
      if (strcmp(names[k], names[i]) == 0)
        return tvmgo_fail_("ValueError: function \"%s\": the input \"%s\" is given twice", f->name, names[i]);
  }
  for (i = 0; i < f->num_params; i++) {
    int wanted = bound_given || !f->params[i].bound;
    for (k = 0; k < n && strcmp(f->params[i].name, names[k]) != 0; k++) continue;
    if (k < n && at < n) order[at++] = k;
    if (k == n && wanted && strlen(missing) + strlen(f->params[i].name) + 8 < sizeof missing)
      snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s\"%s\"", missing[0] ? ", " : "",
               f->params[i].name);
    free_params += wanted;
  }
  if (at == n && n == free_params) return 0;
  if (missing[0] == 0) return tvmgo_fail_("ValueError: function \"%s\" has parameters of equal names: pass the inputs "
                                          "in order", f->name);
  return tvmgo_fail_("ValueError: function \"%s\" needs %d input%s, not %d: %s %s missing%s", f->name, free_params,
                     free_params == 1 ? "" : "s", n, missing, free_params - n == 1 ? "is" : "are",
                     bound_given ? " (an input for a bound parameter needs all of them)" : "");
}

/* --- signatures as text ------------------------------------------------------------------------------------------- */

typedef struct {
  char* out;
  size_t size, at; /* at counts what did not fit, too */
} tvmgo_writer_;

static inline void tvmgo_put_(tvmgo_writer_* w, const char* text) {
  size_t n = strlen(text), room = w->at < w->size ? w->size - w->at : 0;
  if (room > 0) {
    size_t fits = n < room ? n : room - 1;
    memcpy(w->out + w->at, text, fits);
    w->out[w->at + fits] = 0;
  }
  w->at += n;
}

static inline void tvmgo_put_type_(tvmgo_writer_* w, const TVMGOValueInfo* v) {
  static const char* const names[] = {"tensor", "shape", "tuple", "number", "function", "any"};
  int known = v->dtype_name[0] != 0 && (v->kind == kTVMGOValueTensor || v->kind == kTVMGOValueNumber), i;
  if (v->kind == kTVMGOValueTuple) {
    for (i = 0; i < v->num_fields; i++) {
      tvmgo_put_(w, i == 0 ? "(" : ", ");
      tvmgo_put_type_(w, &v->fields[i]);
    }
    tvmgo_put_(w, v->num_fields == 0 ? "()" : ")");
    return;
  }
  tvmgo_put_(w, known ? v->dtype_name : names[v->kind]);
  if (v->kind != kTVMGOValueTensor && v->kind != kTVMGOValueShape) return;
  if (v->ndim < 0) {
    tvmgo_put_(w, known ? "[...]" : "");
    return;
  }
  for (i = 0; i < v->ndim; i++) {
    tvmgo_put_(w, i == 0 ? "[" : ", ");
    tvmgo_put_(w, v->dims[i][0] != 0 ? v->dims[i] : "?");
  }
  tvmgo_put_(w, v->ndim == 0 ? "[]" : "]");
}

static inline void tvmgo_put_value_(tvmgo_writer_* w, const TVMGOValueInfo* v) {
  tvmgo_put_(w, v->name);
  if (v->name[0] != 0) tvmgo_put_(w, ": ");
  tvmgo_put_type_(w, v);
  if (v->bound) tvmgo_put_(w, " (bound)");
}

static inline size_t TVMGOFunctionInfoText(const TVMGOFunctionInfo* f, char* out, size_t size) {
  tvmgo_writer_ w;
  int i;
  w.out = out, w.size = size, w.at = 0;
  tvmgo_put_(&w, f->name);
  for (i = 0; i < f->num_params; i++) {
    tvmgo_put_(&w, i == 0 ? "(" : ", ");
    tvmgo_put_value_(&w, &f->params[i]);
  }
  tvmgo_put_(&w, f->num_params == 0 ? "() -> " : ") -> ");
  tvmgo_put_value_(&w, &f->result);
  return w.at;
}

#ifdef __cplusplus
}
#endif

#endif  // TVMGO_MODEL_SIGNATURE_H_
