/* Checks of values from callers and callbacks: does a value match its type index? */
#include "object/object.h"

#define SMALL_MAX 7

static int null(const TVMFFIAny* v) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, "a value of type %s is a NULL pointer: pass None for no value",
                     tvmgo_type_name(v->type_index));
}

int tvmgo_check_object(const TVMFFIAny* v) {
  if (v->v_obj == NULL) return null(v);
  if (!tvmgo_may_be_object(v->v_obj))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "a value of type %s holds %p, where no object can be",
                       tvmgo_type_name(v->type_index), (void*)v->v_obj);
  int32_t is = v->v_obj->type_index;
  if (is == v->type_index) return 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR,
                     "a value says type index %d (%s), but the header of its object says %d (%s): the "
                     "object was cast wrongly, or is gone",
                     (int)v->type_index, tvmgo_type_name(v->type_index), (int)is,
                     tvmgo_type_name(is));
}

int tvmgo_check_value(const TVMFFIAny* v) {
  if (v->type_index >= kTVMFFIStaticObjectBegin) return tvmgo_check_object(v);
  switch (v->type_index) {
    case kTVMFFINone:
    case kTVMFFIInt:
    case kTVMFFIBool:
    case kTVMFFIFloat:
    case kTVMFFIOpaquePtr:
    case kTVMFFIDataType:
    case kTVMFFIDevice:
    case kTVMFFIDLTensorPtr: /* code that reads it checks for NULL */
    case kTVMFFIUnchanged:
      return 0;
    case kTVMFFIRawStr:
    case kTVMFFIObjectRValueRef:
      return v->v_ptr == NULL ? null(v) : 0;
    case kTVMFFIByteArrayPtr: {
      const TVMFFIByteArray* b = v->v_ptr;
      if (b == NULL) return null(v);
      if (b->data != NULL || b->size == 0) return 0;
      return tvmgo_raise(TVMGO_VALUE_ERROR, "a TVMFFIByteArray of %zu bytes has the data NULL",
                         b->size);
    }
    case kTVMFFISmallStr:
    case kTVMFFISmallBytes:
      if (v->small_str_len <= SMALL_MAX) return 0;
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "a small %s says that it has %u bytes, but at most 7 fit: make it with %s",
                         tvmgo_type_name(v->type_index), (unsigned)v->small_str_len,
                         v->type_index == kTVMFFISmallStr ? "TVMFFIStringFromByteArray"
                                                          : "TVMFFIBytesFromByteArray");
    default:
      return tvmgo_raise(TVMGO_TYPE_ERROR, "no value has the type index %d", (int)v->type_index);
  }
}

int tvmgo_check_result(TVMFFIAny* result) {
  int rc;
  if (result->type_index == kTVMFFIRawStr || result->type_index == kTVMFFIByteArrayPtr ||
      result->type_index == kTVMFFIObjectRValueRef)
    rc = tvmgo_raise(TVMGO_TYPE_ERROR,
                     "a %s (type index %d) is a view, which nobody owns: own it first, with "
                     "TVMFFIAnyViewToOwnedAny",
                     tvmgo_type_name(result->type_index), (int)result->type_index);
  else
    rc = tvmgo_check_value(result);
  if (rc == 0) return 0;
  *result = tvmgo_any_none(); /* its content cannot be trusted, not even for a release */
  return tvmgo_raise_context("call function: its result is wrong");
}
