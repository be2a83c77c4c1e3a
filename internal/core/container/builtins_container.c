/* Global functions about arrays, shapes, strings and types (docs/abi.md B.13), with their classic names
 * (A.6). */
#include "container/builtins.h"
#include "container/map_internal.h"
#include "object/type_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong_index(const char* fname, int64_t index, int64_t size) {
  return tvmgo_raise(TVMGO_INDEX_ERROR, "%s: index %" PRId64 " is out of range for size %" PRId64,
                     fname, index, size);
}

/* ---- Arrays and shapes --------------------------------------------------------------------- */

static int array_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return tvmgo_give_new(tvmgo_array_new(args, n), result);
}

static int array_arg(const char* fname, const TVMFFIAny* args, int32_t n, int32_t want,
                     const TVMFFISeqCell** seq) {
  void* array;
  if (tvmgo_check_count(fname, n, want, want) != 0 ||
      tvmgo_arg_object(fname, args, 0, kTVMFFIArray, &array) != 0)
    return -1;
  *seq = tvmgo_seq_cell(array);
  return 0;
}

static int array_get_item(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const TVMFFISeqCell* seq;
  int64_t i;
  if (array_arg(fname, args, n, 2, &seq) != 0 || tvmgo_arg_int(fname, args, 1, &i) != 0) return -1;
  if (i < 0 || i >= seq->size) return wrong_index(fname, i, seq->size);
  return tvmgo_give((const TVMFFIAny*)seq->data + i, result);
}

static int array_size(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const TVMFFISeqCell* seq;
  if (array_arg(fname, args, n, 1, &seq) != 0) return -1;
  *result = tvmgo_any_int(seq->size);
  return 0;
}

static int array_contains(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const TVMFFISeqCell* seq;
  if (array_arg(fname, args, n, 2, &seq) != 0) return -1;
  int found = 0;
  for (int64_t i = 0; i < seq->size && found == 0; i++)
    found = tvmgo_any_try_equal((const TVMFFIAny*)seq->data + i, &args[1]);
  if (found < 0) return -1;
  *result = tvmgo_any_bool(found);
  return 0;
}

static int shape_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int64_t* dims = malloc((size_t)n * sizeof *dims + 1);
  if (dims == NULL) return tvmgo_raise_oom();
  int rc = 0;
  for (int32_t i = 0; i < n && rc == 0; i++) rc = tvmgo_arg_int(fname, args, i, &dims[i]);
  if (rc == 0) rc = tvmgo_give_new(tvmgo_shape_new(dims, (size_t)n), result);
  free(dims);
  return rc;
}

static int shape_size(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void* shape;
  if (tvmgo_check_count(fname, n, 1, 1) != 0 ||
      tvmgo_arg_object(fname, args, 0, kTVMFFIShape, &shape) != 0)
    return -1;
  *result = tvmgo_any_int((int64_t)TVMFFIShapeGetCellPtr(shape)->size);
  return 0;
}

static int shape_elem(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void* shape;
  int64_t i;
  if (tvmgo_check_count(fname, n, 2, 2) != 0 ||
      tvmgo_arg_object(fname, args, 0, kTVMFFIShape, &shape) != 0 ||
      tvmgo_arg_int(fname, args, 1, &i) != 0)
    return -1;
  const TVMFFIShapeCell* cell = TVMFFIShapeGetCellPtr(shape);
  if (i < 0 || (uint64_t)i >= cell->size) return wrong_index(fname, i, (int64_t)cell->size);
  *result = tvmgo_any_int(cell->data[i]);
  return 0;
}

/* ---- Strings, bytes, bool, types, markers -------------------------------------------------- */

static int string_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIByteArray text;
  char what[80];
  snprintf(what, sizeof what, "%s: argument 0", fname);
  if (tvmgo_check_count(fname, n, 1, 1) != 0 || tvmgo_any_string(&args[0], what, &text) != 0)
    return -1;
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

static int bytes_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(fname, n, 1, 1) != 0) return -1;
  int32_t type = args[0].type_index;
  if (type != kTVMFFIBytes && type != kTVMFFISmallBytes && type != kTVMFFIByteArrayPtr)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument 0 must be bytes, got %s", fname,
                       tvmgo_type_name(type));
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

/* Bools need no box here: bool is a separate kind of value. */
static int bool_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int64_t v;
  if (tvmgo_check_count(fname, n, 1, 1) != 0 || tvmgo_arg_int(fname, args, 0, &v) != 0) return -1;
  *result = tvmgo_any_bool(v != 0);
  return 0;
}

/* Two objects that mean "no value" and "keyword arguments follow"; only their address matters. */
TVMFFIObject tvmgo_missing_object = {.combined_ref_count = TVMGO_REF_UNIQUE,
                                     .type_index = kTVMFFIObject};
TVMFFIObject tvmgo_kwargs_object = {.combined_ref_count = TVMGO_REF_UNIQUE, .type_index = kTVMFFIObject};

static int missing_object(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(fname, n, 0, 0) != 0) return -1;
  TVMFFIAny view = tvmgo_any_object(&tvmgo_missing_object);
  return tvmgo_give(&view, result);
}

static int kwargs_object(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(fname, n, 0, 0) != 0) return -1;
  TVMFFIAny view = tvmgo_any_object(&tvmgo_kwargs_object);
  return tvmgo_give(&view, result);
}

static int type_keys(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(fname, n, 0, 0) != 0) return -1;
  int32_t limit = tvmgo_type_limit();
  int64_t found = 0;
  TVMFFIAny* keys = calloc((size_t)limit, sizeof *keys);
  if (keys == NULL) return tvmgo_raise_oom();
  int rc = 0;
  for (int32_t i = 0; i < limit && rc == 0; i++) {
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(i);
    if (info != NULL)
      rc = tvmgo_string_make(info->type_key.data, info->type_key.size, &keys[found++]);
  }
  if (rc == 0) rc = tvmgo_give_new(tvmgo_array_new(keys, found), result);
  for (int64_t i = 0; i < found; i++) tvmgo_any_clear(&keys[i]);
  free(keys);
  return rc;
}

/* ---- Names --------------------------------------------------------------------------------- */

#define BUILTINS(X)                                                \
  X(ffi_array, "ffi.Array", array_make)                            \
  X(ffi_array_get_item, "ffi.ArrayGetItem", array_get_item)        \
  X(ffi_array_size, "ffi.ArraySize", array_size)                   \
  X(ffi_array_contains, "ffi.ArrayContains", array_contains)       \
  X(ffi_shape, "ffi.Shape", shape_make)                            \
  X(ffi_string, "ffi.String", string_make)                         \
  X(ffi_bytes, "ffi.Bytes", bytes_make)                            \
  X(ffi_invalid_object, "ffi.GetInvalidObject", missing_object)    \
  X(ffi_kwargs_object, "ffi.GetKwargsObject", kwargs_object)       \
  X(ffi_type_keys, "ffi.GetRegisteredTypeKeys", type_keys)         \
  X(old_array, "runtime.Array", array_make)                        \
  X(old_array_get_item, "runtime.ArrayGetItem", array_get_item)    \
  X(old_array_size, "runtime.ArraySize", array_size)               \
  X(old_shape, "runtime.ShapeTuple", shape_make)                   \
  X(old_shape_size, "runtime.GetShapeTupleSize", shape_size)       \
  X(old_shape_elem, "runtime.GetShapeTupleElem", shape_elem)       \
  X(old_string, "runtime.String", string_make)                     \
  X(old_ffi_string, "runtime.GetFFIString", string_make)           \
  X(old_box_bool, "runtime.BoxBool", bool_make)                    \
  X(old_unbox_bool, "runtime.UnBoxBool", bool_make)

BUILTINS(TVMGO_BUILTIN_DEFINE)

__attribute__((constructor(111))) static void register_builtins(void) {
  BUILTINS(TVMGO_BUILTIN_REGISTER)
  tvmgo_register_map_builtins();
  tvmgo_register_list_builtins();
  tvmgo_register_attributes();
}
