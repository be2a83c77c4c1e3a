/* Argument checks that built-in functions share. */
#include "object/object.h"

int tvmgo_check_count(const char* fname, int32_t n, int32_t min, int32_t max) {
  if (n >= min && (max < 0 || n <= max)) return 0;
  if (min == max)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected %d argument%s, got %d", fname, (int)min,
                       min == 1 ? "" : "s", (int)n);
  if (max < 0)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected at least %d argument%s, got %d", fname,
                       (int)min, min == 1 ? "" : "s", (int)n);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected %d to %d arguments, got %d", fname, (int)min,
                     (int)max, (int)n);
}

static int wrong_type(const char* fname, const TVMFFIAny* args, int32_t i, const char* want) {
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument %d must be %s, got %s", fname, (int)i, want,
                     tvmgo_type_name(args[i].type_index));
}

int tvmgo_arg_int_slow(const char* fname, const TVMFFIAny* args, int32_t i, int64_t* out) {
  if (args[i].type_index == kTVMFFIBigInt)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument %d does not fit 64 bits", fname, (int)i);
  if (args[i].type_index != kTVMFFIInt && args[i].type_index != kTVMFFIBool)
    return wrong_type(fname, args, i, "int");
  *out = args[i].v_int64;
  return 0;
}

/* For numbers that are 32 bits wide further on: a larger one must not come out as another. */
int tvmgo_arg_int32(const char* fname, const TVMFFIAny* args, int32_t i, int32_t* out) {
  int64_t v = 0;
  if (tvmgo_arg_int(fname, args, i, &v) != 0) return -1;
  if (v < INT32_MIN || v > INT32_MAX)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument %d is out of range: %lld", fname, (int)i,
                       (long long)v);
  *out = (int32_t)v;
  return 0;
}

int tvmgo_arg_text(const char* fname, const TVMFFIAny* args, int32_t i, TVMFFIByteArray* out) {
  if (!tvmgo_any_text(&args[i], out)) return wrong_type(fname, args, i, "str");
  return 0;
}

int tvmgo_arg_kind(const char* fname, const TVMFFIAny* args, int32_t i, int32_t type_index) {
  return args[i].type_index == type_index
             ? 0
             : wrong_type(fname, args, i, tvmgo_type_name(type_index));
}

int tvmgo_arg_object(const char* fname, const TVMFFIAny* args, int32_t i, int32_t type_index,
                     void** out) {
  if (args[i].type_index != type_index) return wrong_type(fname, args, i, tvmgo_type_name(type_index));
  if (args[i].v_obj == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument %d is a NULL %s", fname, (int)i,
                       tvmgo_type_name(type_index));
  *out = args[i].v_obj;
  return 0;
}
