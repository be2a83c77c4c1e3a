/* Strings, bytes, shapes and arrays in the layouts that C++ users of tvm-ffi inline (docs/abi.md B.1, B.2),
 * dtype strings (A.2, B.9), and the order of types. */
#pragma once

#include "object/counted.h"

/* string.c: small form up to 7 bytes, else a heap object with a NUL behind the text.
 * out is overwritten, not released. */
int tvmgo_string_make(const char* data, size_t size, TVMFFIAny* out);
int tvmgo_bytes_make(const char* data, size_t size, TVMFFIAny* out);
/* A Bytes object that is a view of owner's memory; owner is retained. */
int tvmgo_bytes_view(const void* data, size_t size, void* owner, TVMFFIAny* out);
/* Text of a Str, SmallStr, RawStr, or the content of Bytes, SmallBytes, ByteArrayPtr value: a view
 * that lives as long as *v. 0 when v is none of these. */
int tvmgo_any_text(const TVMFFIAny* v, TVMFFIByteArray* out);
/* As tvmgo_any_text for strings only; raises TypeError naming `what` otherwise. */
int tvmgo_any_string(const TVMFFIAny* v, const char* what, TVMFFIByteArray* out);

/* shape.c */
TVMFFIObject* tvmgo_shape_new(const int64_t* dims, size_t n);
/* The caller writes the dimensions before anyone else gets the shape. */
TVMFFIObject* tvmgo_shape_new_uninit(size_t n, int64_t** dims);

/* array.c: elements are views that get converted to owned values. NULL with an error raised. */
TVMFFIObject* tvmgo_array_new(const TVMFFIAny* items, int64_t n);
/* A new array with one more element, and capacity for as many again. */
TVMFFIObject* tvmgo_array_append(TVMFFIObject* array, const TVMFFIAny* item);
/* Adds an owned or plain value in place if the array has capacity and no other owner; a lock of the caller must ensure
 * that none is added meanwhile. 0 if the array was not changed. Allocates and raises nothing. */
int tvmgo_array_push_alone(TVMFFIObject* array, const TVMFFIAny* item);
static inline TVMFFISeqCell* tvmgo_seq_cell(void* obj) {
  return (TVMFFISeqCell*)((TVMFFIObject*)obj + 1);
}

/* dtype.c: both string grammars; -1 with ValueError raised on bad text or code. */
int tvmgo_dtype_parse(const char* s, size_t n, DLDataType* out);
int tvmgo_dtype_parse_classic(const char* s, size_t n, DLDataType* out);
/* Writes NUL-terminated text into buf (64 bytes are always enough). */
int tvmgo_dtype_print(DLDataType t, char* buf, size_t cap);
int tvmgo_dtype_print_classic(DLDataType t, char* buf, size_t cap);
/* Calls the first of two global functions that is registered: 1 with *result owned, 0 when neither is
 * registered, -1 when it failed. Only custom types need it. Set by a constructor of global.c. */
extern int (*tvmgo_dtype_call_first)(const char* const names[2], const TVMFFIAny* arg, TVMFFIAny* result);
/* Bytes of n elements: packed, except {1,1,1} (one byte each). -1 on overflow (ValueError). */
int tvmgo_dtype_bytes(DLDataType t, int64_t n, size_t* out);

/* type.c: the type table. */
int tvmgo_type_derived_from(int32_t child, int32_t parent);
