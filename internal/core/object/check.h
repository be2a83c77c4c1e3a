/* Checks of names and of the arguments of built-in functions. */
#pragma once

#include <tvm/ffi/c_api.h>

/* Check names that are looked up later: not NULL, not empty, not too long, without a zero byte. Raise an error "op:
 * what is ...". */
enum { TVMGO_MAX_NAME = 65535 };
int tvmgo_check_name(const char* op, const char* what, const TVMFFIByteArray* name);
int tvmgo_check_path(const char* op, const char* path);
int tvmgo_check_cname(const char* op, const char* what, const char* name);

/* Checks of arguments for built-ins: raise an error that names the function and return -1. */
int tvmgo_check_count(const char* fname, int32_t n, int32_t min, int32_t max);
int tvmgo_arg_int_slow(const char* fname, const TVMFFIAny* args, int32_t i, int64_t* out);
static inline int tvmgo_arg_int(const char* fname, const TVMFFIAny* args, int32_t i, int64_t* out) {
  if (__builtin_expect(args[i].type_index != kTVMFFIInt, 0)) return tvmgo_arg_int_slow(fname, args, i, out);
  *out = args[i].v_int64;
  return 0;
}
int tvmgo_arg_int32(const char* fname, const TVMFFIAny* args, int32_t i, int32_t* out);
int tvmgo_arg_text(const char* fname, const TVMFFIAny* args, int32_t i, TVMFFIByteArray* out);
int tvmgo_arg_kind(const char* fname, const TVMFFIAny* args, int32_t i, int32_t type_index);
int tvmgo_arg_object(const char* fname, const TVMFFIAny* args, int32_t i, int32_t type_index,
                     void** out);
