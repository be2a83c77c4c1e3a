/* Attributes of built-in types. __ffi_convert__ is a function that converts a value to an object of the type: typed
 * fields and schemas of the Python package call it. __ffi_type_final__ says that a type has no subtypes. */
#include "container/builtins.h"
#include "container/list.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  int32_t type;
  int nullable; /* None stays None */
  const char *function, *prints;
} conversion;

static const conversion conversions[] = {
    {kTVMFFIObject, 1, "ffi.Object.__ffi_convert__", "ffi.Object"},
    {kTVMFFIStr, 0, "ffi.String.__ffi_convert__", "str"},
    {kTVMFFIBytes, 0, "ffi.Bytes.__ffi_convert__", "bytes"},
    {kTVMFFIError, 0, "ffi.Error.__ffi_convert__", "ffi.Error"},
    {kTVMFFIFunction, 1, "ffi.Function.__ffi_convert__", "ffi.Function"},
    {kTVMFFIShape, 0, "ffi.Shape.__ffi_convert__", "ffi.Shape"},
    {kTVMFFITensor, 1, "ffi.Tensor.__ffi_convert__", "ffi.Tensor"},
    {kTVMFFIArray, 0, "ffi.Array.__ffi_convert__", "Array<Any>"},
    {kTVMFFIList, 0, "ffi.List.__ffi_convert__", "List<Any>"},
    {kTVMFFIMap, 0, "ffi.Map.__ffi_convert__", "Map<Any, Any>"},
    {kTVMFFIDict, 0, "ffi.Dict.__ffi_convert__", "Dict<Any, Any>"},
};

static int is_sequence(int32_t type) { return type == kTVMFFIArray || type == kTVMFFIList; }
static int is_mapping(int32_t type) { return type == kTVMFFIMap || type == kTVMFFIDict; }

/* Whether an owned value is one of the type already. */
static int is_one(const conversion* c, const TVMFFIAny* v) {
  if (v->type_index == kTVMFFINone) return c->nullable;
  if (v->type_index == kTVMFFISmallStr) return c->type == kTVMFFIStr;
  if (v->type_index == kTVMFFISmallBytes) return c->type == kTVMFFIBytes;
  return tvmgo_any_is_object(v) && tvmgo_type_derived_from(v->type_index, c->type);
}

/* 0 with *out NULL if an element is not an integer. */
static int shape_of(TVMFFIObject* seq, TVMFFIObject** out) {
  const TVMFFISeqCell* cell = tvmgo_seq_cell(seq);
  const TVMFFIAny* items = cell->data;
  *out = NULL;
  for (int64_t i = 0; i < cell->size; i++)
    if (items[i].type_index != kTVMFFIInt && items[i].type_index != kTVMFFIBool) return 0;
  int64_t* dims = malloc(sizeof *dims * (size_t)(cell->size > 0 ? cell->size : 1));
  if (dims == NULL) return tvmgo_raise_oom();
  for (int64_t i = 0; i < cell->size; i++) dims[i] = items[i].v_int64;
  *out = tvmgo_shape_new(dims, (size_t)cell->size);
  free(dims);
  return *out == NULL ? -1 : 0;
}

static int mapping_of(TVMFFIObject* from, int32_t type, TVMFFIObject** out) {
  const TVMFFIAny *key, *value;
  void* cursor = NULL;
  if ((*out = tvmgo_map_new(type)) == NULL) return -1;
  while (tvmgo_map_next(from, &cursor, &key, &value)) {
    if (tvmgo_map_set(out, key, value) == 0) continue;
    tvmgo_object_release(*out);
    return -1;
  }
  return 0;
}

/* A new object of the type from a value of another type; 0 with *out NULL if that is not possible. */
static int made_of(const conversion* c, const TVMFFIAny* v, TVMFFIObject** out) {
  *out = NULL;
  if (is_sequence(v->type_index)) {
    const TVMFFISeqCell* cell = tvmgo_seq_cell(v->v_obj);
    if (c->type == kTVMFFIShape) return shape_of(v->v_obj, out);
    if (!is_sequence(c->type)) return 0;
    *out = c->type == kTVMFFIArray ? tvmgo_array_new(cell->data, cell->size)
                                   : tvmgo_list_new(cell->data, cell->size);
    return *out == NULL ? -1 : 0;
  }
  return is_mapping(v->type_index) && is_mapping(c->type) ? mapping_of(v->v_obj, c->type, out) : 0;
}

static int convert(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const conversion* c = self;
  TVMFFIAny v;
  TVMFFIObject* made = NULL;
  if (tvmgo_check_count(c->function, n, 1, 1) != 0) return -1;
  if (tvmgo_any_is_object(&args[0]) && args[0].v_obj == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument 0 is a NULL %s", c->function,
                       tvmgo_type_name(args[0].type_index));
  if (TVMFFIAnyViewToOwnedAny(&args[0], &v) != 0) return -1;
  int32_t type = v.type_index;
  if (is_one(c, &v)) {
    *result = v;
    return 0;
  }
  int rc = made_of(c, &v, &made);
  tvmgo_any_clear(&v);
  if (rc != 0) return rc;
  if (made != NULL) return tvmgo_give_new(made, result);
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "Cannot cast from `%.*s` to `%s`", (int)info->type_key.size,
                     info->type_key.data, c->prints); /* as C++ code words it */
}

static void set(int32_t type, const char* column, const TVMFFIAny* value) {
  TVMFFIByteArray name = {column, strlen(column)};
  if (TVMFFITypeRegisterAttr(type, &name, value) != 0) abort();
}

void tvmgo_register_attributes(void) {
  for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
    TVMFFIObjectHandle f;
    if (TVMFFIFunctionCreate((void*)&conversions[i], convert, NULL, &f) != 0) abort();
    TVMFFIAny value = tvmgo_any_object(f);
    set(conversions[i].type, "__ffi_convert__", &value);
    tvmgo_object_release(f);
  }
  TVMFFIAny yes = tvmgo_any_bool(1);
  set(kTVMFFIModule, "__ffi_type_final__", &yes);
  set(kTVMFFIBigInt, "__ffi_type_final__", &yes);
}
