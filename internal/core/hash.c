/* Hash and equality of values as map keys (ABI.md B.11). C++ code computes the same numbers, since
 * it looks keys up in our tables. */
#include "map_internal.h"
#include "type_internal.h"

#include <string.h>

static uint64_t combine(uint64_t seed, uint64_t v) {
  return seed ^ (v + UINT64_C(0x9e3779b9) + (seed << 6) + (seed >> 2));
}

static uint64_t hash_bytes(const char* data, size_t size) {
  const uint64_t multiplier = UINT64_C(1099511628211), modulus = 2147483647;
  uint64_t h = 0, w;
  for (; size >= 8; data += 8, size -= 8) {
    memcpy(&w, data, 8);
    h = (h * multiplier + w) % modulus;
  }
  if (size > 0) {
    w = 0;
    memcpy(&w, data, size);
    h = (h * multiplier + w) % modulus;
  }
  return h;
}

/* kTVMFFIStr or kTVMFFIBytes for the forms of strings and bytes, else 0. */
static int32_t text_kind(int32_t type_index) {
  switch (type_index) {
    case kTVMFFIStr:
    case kTVMFFISmallStr:
    case kTVMFFIRawStr:
      return kTVMFFIStr;
    case kTVMFFIBytes:
    case kTVMFFISmallBytes:
    case kTVMFFIByteArrayPtr:
      return kTVMFFIBytes;
    default:
      return 0;
  }
}

static const char* key_of(int32_t type_index) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  return info == NULL ? "(not registered)" : info->type_key.data;
}

/* Calls what a type registered in one of the columns. The number it answers is in *out. */
static int call_custom(const TVMFFIAny* f, const TVMFFIAny* args, int n, const char* what,
                       int64_t* out) {
  TVMFFIAny result = tvmgo_any_none();
  if (f->type_index == kTVMFFIOpaquePtr) {
    if (n == 1) {
      TVMFFIAny (*hash)(const TVMFFIAny*) = (TVMFFIAny (*)(const TVMFFIAny*))f->v_ptr;
      result = hash(args);
    } else {
      TVMFFIAny (*equal)(const TVMFFIAny*, const TVMFFIAny*) =
          (TVMFFIAny (*)(const TVMFFIAny*, const TVMFFIAny*))f->v_ptr;
      result = equal(&args[0], &args[1]);
    }
  } else if (f->type_index == kTVMFFIFunction) {
    if (tvmgo_function_call(f->v_obj, args, n, &result) != 0) return -1;
  } else {
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s of type %s: expected a Function or void*, got %s",
                       what, key_of(args[0].type_index), tvmgo_type_name(f->type_index));
  }
  if (result.type_index == kTVMFFIInt || result.type_index == kTVMFFIBool) {
    *out = result.v_int64;
    return 0;
  }
  if (result.type_index == kTVMFFIError)
    TVMFFIErrorSetRaised(result.v_obj);
  else
    tvmgo_raise(TVMGO_TYPE_ERROR, "%s of type %s: expected an int result, got %s", what,
                key_of(args[0].type_index), tvmgo_type_name(result.type_index));
  tvmgo_any_clear(&result);
  return -1;
}

int tvmgo_any_try_hash(const TVMFFIAny* v, uint64_t* out) {
  int32_t text = text_kind(v->type_index);
  TVMFFIByteArray bytes;
  if (text != 0 && tvmgo_any_text(v, &bytes)) {
    *out = combine((uint64_t)text, hash_bytes(bytes.data, bytes.size));
    return 0;
  }
  TVMFFIAny custom;
  if (v->type_index >= kTVMFFIStaticObjectBegin &&
      tvmgo_type_attr_get(&tvmgo_column_any_hash, v->type_index, &custom)) {
    int64_t h;
    if (call_custom(&custom, v, 1, "hash", &h) != 0) return -1;
    *out = combine((uint64_t)v->type_index, (uint64_t)h);
    return 0;
  }
  *out = combine((uint64_t)v->type_index, v->v_uint64);
  return 0;
}

int tvmgo_any_try_equal(const TVMFFIAny* a, const TVMFFIAny* b) {
  if (a->type_index == b->type_index && a->zero_padding == b->zero_padding &&
      a->v_uint64 == b->v_uint64)
    return 1;
  int32_t text = text_kind(a->type_index);
  if (text != 0) {
    TVMFFIByteArray x, y;
    return text == text_kind(b->type_index) && tvmgo_any_text(a, &x) && tvmgo_any_text(b, &y) &&
           x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
  }
  TVMFFIAny custom;
  if (a->type_index == b->type_index && a->type_index >= kTVMFFIStaticObjectBegin &&
      tvmgo_type_attr_get(&tvmgo_column_any_equal, a->type_index, &custom)) {
    TVMFFIAny args[2] = {*a, *b};
    int64_t equal;
    if (call_custom(&custom, args, 2, "equality", &equal) != 0) return -1;
    return equal != 0;
  }
  return 0;
}

/* Without a way to report it, a failing custom hash counts as the hash of the address. */
uint64_t tvmgo_any_hash(const TVMFFIAny* v) {
  uint64_t h;
  if (tvmgo_any_try_hash(v, &h) == 0) return h;
  tvmgo_object_release(tvmgo_error_take());
  return combine((uint64_t)v->type_index, v->v_uint64);
}

/* A failing custom equality counts as "different". */
int tvmgo_any_equal(const TVMFFIAny* a, const TVMFFIAny* b) {
  int equal = tvmgo_any_try_equal(a, b);
  if (equal >= 0) return equal;
  tvmgo_object_release(tvmgo_error_take());
  return 0;
}

/* The words of a BigInt object: a count and the words behind the header. */
static TVMFFIByteArray big_int_words(const TVMFFIAny* v) {
  size_t n;
  memcpy(&n, v->v_obj + 1, sizeof n);
  return (TVMFFIByteArray){(const char*)(v->v_obj + 1) + sizeof n, n * sizeof(int64_t)};
}

TVMFFIAny tvmgo_big_int_hash(const TVMFFIAny* v) {
  TVMFFIByteArray words = big_int_words(v);
  return tvmgo_any_int((int64_t)hash_bytes(words.data, words.size));
}

TVMFFIAny tvmgo_big_int_equal(const TVMFFIAny* a, const TVMFFIAny* b) {
  TVMFFIByteArray x = big_int_words(a), y = big_int_words(b);
  return tvmgo_any_bool(x.size == y.size && memcmp(x.data, y.data, x.size) == 0);
}

uint64_t tvmgo_hash_bytes(const char* data, size_t size) { return hash_bytes(data, size); }
