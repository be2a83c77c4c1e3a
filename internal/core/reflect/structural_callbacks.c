#include "reflect/structural_callbacks.h"

static int matches(int32_t actual, int64_t wanted) {
  if (actual == wanted || wanted == kTVMFFIAny) return 1;
  if (wanted == kTVMFFIStr) return actual == kTVMFFISmallStr;
  if (wanted == kTVMFFIBytes) return actual == kTVMFFISmallBytes;
  return wanted >= kTVMFFIStaticObjectBegin && wanted <= INT32_MAX &&
         tvmgo_type_derived_from(actual, (int32_t)wanted);
}

const TVMFFIAny* tvmgo_callbacks_find(TVMFFIObject* callbacks, int32_t type) {
  if (callbacks == NULL) return NULL;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(callbacks);
  for (int64_t i = 0; i < cell->size; i++) {
    const TVMFFIAny* entry = tvmgo_seq_cell(((const TVMFFIAny*)cell->data)[i].v_obj)->data;
    if (matches(type, entry[0].v_int64)) return entry;
  }
  return NULL;
}

static int is_entry(const TVMFFIAny* v, int64_t size) {
  if (v->type_index != kTVMFFIArray) return 0;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(v->v_obj);
  const TVMFFIAny* items = cell->data;
  if (cell->size != size || items[0].type_index != kTVMFFIInt) return 0;
  if (items[1].type_index != kTVMFFIFunction) return 0;
  return size == 2 || items[2].type_index == kTVMFFIBool || items[2].type_index == kTVMFFIInt;
}

int tvmgo_callbacks_arg(const char* op, const TVMFFIAny* args, int32_t i, int64_t size,
                        TVMFFIObject** callbacks) {
  void* array;
  if (tvmgo_arg_object(op, args, i, kTVMFFIArray, &array) != 0) return -1;
  const TVMFFISeqCell* cell = tvmgo_seq_cell(array);
  for (int64_t k = 0; k < cell->size; k++)
    if (!is_entry((const TVMFFIAny*)cell->data + k, size))
      return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be an Array of (type index, %s)",
                         op, (int)i, size == 2 ? "Function" : "Function, bool");
  *callbacks = array;
  return 0;
}

int tvmgo_call_in_region(const char* op, const TVMFFIAny* args, int32_t* region, TVMFFIAny* result) {
  int32_t inside, outside = *region;
  void* callback;
  if (tvmgo_arg_int32(op, args, 1, &inside) != 0 ||
      tvmgo_arg_object(op, args, 2, kTVMFFIFunction, &callback) != 0)
    return -1;
  if (outside != kTVMFFIDefRegionKindPattern) *region = inside;
  int rc = tvmgo_function_call(callback, NULL, 0, result);
  *region = outside;
  return rc;
}
