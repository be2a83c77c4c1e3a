/* Classic C ABI: objects and their types.
 *
 * The types of both generations have their own numbers and keys; the table below pairs them. A type
 * that only the newer one has keeps its number there, which the classic table leaves free. */
#include "classic.h"
#include "object/type_internal.h"

#include <stdlib.h>
#include <string.h>

enum { NO_FFI_TYPE = -1 }; /* a classic type without objects in this runtime */

static const struct {
  const char* key;
  int32_t ffi;
} classic_types[] = {
    {"runtime.Object", kTVMFFIObject},     {"runtime.Module", kTVMFFIModule},
    {"runtime.NDArray", kTVMFFITensor},    {"runtime.String", kTVMFFIStr},
    {"Array", kTVMFFIArray},               {"Map", kTVMFFIMap},
    {"runtime.ShapeTuple", kTVMFFIShape},  {"runtime.PackedFunc", kTVMFFIFunction},
    {"runtime.disco.DRef", NO_FFI_TYPE},   {"runtime.RPCObjectRef", NO_FFI_TYPE},
    {"runtime.Closure", NO_FFI_TYPE},      {"runtime.ADT", NO_FFI_TYPE},
};
enum { NUM_CLASSIC = sizeof classic_types / sizeof classic_types[0] };

static unsigned classic_index(int32_t ffi) {
  for (unsigned i = 0; i < NUM_CLASSIC; i++)
    if (classic_types[i].ffi == ffi) return i;
  return (unsigned)ffi;
}

/* Index in the tvm-ffi table; NO_FFI_TYPE for a classic type without one. Raises for unknown ones. */
static int ffi_index(unsigned classic, const char* op, int32_t* out) {
  if (classic < NUM_CLASSIC) {
    *out = classic_types[classic].ffi;
    return 0;
  }
  *out = (int32_t)classic;
  if (classic >= kTVMFFIStaticObjectBegin && classic <= INT32_MAX &&
      classic_index(*out) == classic && tvmgo_type_at(*out) != NULL)
    return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "%s: there is no type of index %u: take it from TVMObjectGetTypeIndex or "
                     "TVMObjectTypeKey2Index",
                     op, classic);
}

int TVMObjectGetTypeIndex(TVMObjectHandle obj, unsigned* out_tindex) {
  static const char op[] = "get type index";
  if (classic_need(out_tindex, op, "out_tindex") != 0 || classic_need(obj, op, "the object") != 0)
    return -1;
  *out_tindex = classic_index(((TVMFFIObject*)obj)->type_index);
  return 0;
}

int TVMObjectTypeKey2Index(const char* type_key, unsigned* out_tindex) {
  static const char op[] = "find type";
  if (classic_need(out_tindex, op, "out_tindex") != 0 ||
      classic_need(type_key, op, "the key") != 0)
    return -1;
  for (unsigned i = 0; i < NUM_CLASSIC; i++) {
    if (strcmp(type_key, classic_types[i].key) == 0) {
      *out_tindex = i;
      return 0;
    }
  }
  TVMFFIByteArray key = {type_key, strlen(type_key)};
  int32_t ffi = NO_FFI_TYPE;
  if (TVMFFITypeKeyToIndex(&key, &ffi) != 0) return -1;
  if (ffi < kTVMFFIStaticObjectBegin)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: \"%s\" is a plain value, not an object type", op,
                       type_key);
  *out_tindex = classic_index(ffi);
  return 0;
}

int TVMObjectTypeIndex2Key(unsigned tindex, char** out_type_key) {
  static const char op[] = "get type key";
  int32_t ffi;
  if (classic_need(out_type_key, op, "out_type_key") != 0) return -1;
  *out_type_key = NULL;
  if (ffi_index(tindex, op, &ffi) != 0) return -1;
  TVMFFIByteArray key;
  if (tindex < NUM_CLASSIC)
    key = (TVMFFIByteArray){classic_types[tindex].key, strlen(classic_types[tindex].key)};
  else
    key = tvmgo_type_at(ffi)->info.type_key;
  char* copy = malloc(key.size + 1);
  if (copy == NULL) return tvmgo_raise_oom();
  memcpy(copy, key.data, key.size);
  copy[key.size] = 0;
  *out_type_key = copy;
  return 0;
}

int TVMObjectDerivedFrom(uint32_t child_type_index, uint32_t parent_type_index, int* is_derived) {
  static const char op[] = "compare types";
  int32_t child, parent;
  if (classic_need(is_derived, op, "is_derived") != 0 ||
      ffi_index(child_type_index, op, &child) != 0 || ffi_index(parent_type_index, op, &parent) != 0)
    return -1;
  if (child_type_index == parent_type_index || parent == kTVMFFIObject)
    *is_derived = 1;
  else
    *is_derived = child != NO_FFI_TYPE && parent != NO_FFI_TYPE &&
                  tvmgo_type_derived_from(child, parent);
  return 0;
}

int TVMObjectRetain(TVMObjectHandle obj) { return TVMFFIObjectIncRef(obj); }

int TVMObjectFree(TVMObjectHandle obj) {
  tvmgo_object_release(obj);
  return 0;
}

int TVMByteArrayFree(TVMByteArray* arr) {
  if (arr != &tvmgo_thread_get()->return_bytes) free(arr);
  return 0;
}
