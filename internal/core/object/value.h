/* Conversion of values between the two ABIs with one table (docs/abi.md I.5).
 *
 * Views borrow, results own. Tensors are never retagged. */
#pragma once

#include "object/counted.h"
#include <tvm/runtime/c_runtime_api.h>

static inline TVMFFIAny tvmgo_any_none(void) {
  TVMFFIAny a = {0};
  return a;
}
static inline TVMFFIAny tvmgo_any_int(int64_t v) {
  TVMFFIAny a = {0};
  a.type_index = kTVMFFIInt;
  a.v_int64 = v;
  return a;
}
static inline TVMFFIAny tvmgo_any_float(double v) {
  TVMFFIAny a = {0};
  a.type_index = kTVMFFIFloat;
  a.v_float64 = v;
  return a;
}
static inline TVMFFIAny tvmgo_any_bool(int v) {
  TVMFFIAny a = {0};
  a.type_index = kTVMFFIBool;
  a.v_int64 = v != 0;
  return a;
}
static inline TVMFFIAny tvmgo_any_ptr(void* p) {
  TVMFFIAny a = {0};
  a.type_index = p == NULL ? kTVMFFINone : kTVMFFIOpaquePtr;
  a.v_ptr = p;
  return a;
}
/* A value for an object: a view or an owned reference, as the caller needs. NULL gives None. */
static inline TVMFFIAny tvmgo_any_object(void* obj) {
  TVMFFIAny a = {0};
  if (obj != NULL) {
    a.type_index = ((TVMFFIObject*)obj)->type_index;
    a.v_obj = (TVMFFIObject*)obj;
  }
  return a;
}
static inline int tvmgo_any_is_object(const TVMFFIAny* v) {
  return v->type_index >= kTVMFFIStaticObjectBegin;
}
/* Releases what an owned value holds and sets it to None. */
static inline void tvmgo_any_clear(TVMFFIAny* v) {
  if (v->type_index >= kTVMFFIStaticObjectBegin) tvmgo_object_release(v->v_obj);
  *v = tvmgo_any_none();
}

/* Name of a type index for messages: "int", "Tensor", ... never NULL. */
const char* tvmgo_type_name(int32_t type_index);
const char* tvmgo_classic_code_name(int code);

/* Whether an object can be at this address. */
static inline int tvmgo_may_be_object(const void* p) {
  return (uintptr_t)p >= 4096 && (uintptr_t)p % _Alignof(TVMFFIObject) == 0;
}

/* Whether a value matches its type index; else raises an error that begins with "a value" and states the defect. */
int tvmgo_check_value(const TVMFFIAny* v);
/* The same for a value whose type index is an object's. */
int tvmgo_check_object(const TVMFFIAny* v);
/* The same as tvmgo_check_value; most values are checked without a call: numbers, pointers, and objects whose type
 * matches the value. */
static inline int tvmgo_need_value(const TVMFFIAny* v) {
  if ((uint32_t)v->type_index <= kTVMFFIDLTensorPtr) return 0;
  if (TVMGO_LIKELY(v->type_index >= kTVMFFIStaticObjectBegin && tvmgo_may_be_object(v->v_obj) &&
                   v->v_obj->type_index == v->type_index))
    return 0;
  return tvmgo_check_value(v);
}
/* Whether a successful callback returned an owned value; else raises an error and sets the value to None. */
int tvmgo_check_result(TVMFFIAny* result);

/* View -> classic argument. bool_code: 0 for generated files, kTVMArgBool for C callbacks.
 * Short strings point into *in, which must not move during the call. */
int tvmgo_classic_from_view(const TVMFFIAny* in, int bool_code, TVMValue* v, int* code);
/* Classic argument -> view. */
int tvmgo_view_from_classic(const TVMValue* v, int code, TVMFFIAny* out);
/* Owned value -> classic result; *in is consumed. Text and dtypes go to the thread's buffer. */
int tvmgo_classic_result_from_any(TVMFFIAny* in, TVMValue* v, int* code);
/* Classic result -> owned value; the classic reference is consumed. Codes 11 and 12 are copied. */
int tvmgo_any_from_classic_result(const TVMValue* v, int code, TVMFFIAny* out);

/* The DLTensor of a tensor object, which follows the header. */
static inline DLTensor* tvmgo_tensor_dl(void* obj) { return (DLTensor*)((TVMFFIObject*)obj + 1); }

/* Classic array handles are DLTensor*: 24 bytes into the tensor object. */
static inline TVMFFIObject* tvmgo_tensor_of_array(TVMArrayHandle a) {
  return (TVMFFIObject*)((char*)a - sizeof(TVMFFIObject));
}
