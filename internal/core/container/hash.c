/* Hash and equality of values as map keys (docs/abi.md B.11). C++ code computes the same numbers, since
 * it looks keys up in our tables. */
#include "container/map_internal.h"
#include "object/type_internal.h"

#include <string.h>

uint64_t tvmgo_hash_bytes(const char* data, size_t size) {
  const uint64_t multiplier = UINT64_C(1099511628211), modulus = 2147483647;
  if (size < 8) return tvmgo_bytes_word(data, size) % modulus;
  const char* end = data + size;
  uint64_t h = 0;
  for (; size >= 8; data += 8, size -= 8) h = (h * multiplier + tvmgo_bytes_word8(data)) % modulus;
  if (size > 0) {
    uint64_t w = tvmgo_bytes_word8(end - 8) >> (8 * (8 - size)); /* part of it came before */
    h = (h * multiplier + w) % modulus;
  }
  return h;
}

static const char* key_of(int32_t type_index) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  return info == NULL ? "(not registered)" : info->type_key.data;
}

/* Calls what a type registered in one of the columns. Its numeric result is in *out. */
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

/* The hash that the type of an object registered; else that of its address. A value with the type of a text but without
 * one is an error. */
int tvmgo_custom_hash(const TVMFFIAny* v, uint64_t* out) {
  if (tvmgo_text_kind(v->type_index) != 0 && tvmgo_check_value(v) != 0) return -1;
  TVMFFIAny custom;
  int64_t h = v->v_int64;
  if (tvmgo_type_attr_get(&tvmgo_column_any_hash, v->type_index, &custom) &&
      call_custom(&custom, v, 1, "hash", &h) != 0)
    return -1;
  *out = tvmgo_hash_combine((uint64_t)v->type_index, (uint64_t)h);
  return 0;
}

/* Two objects of one type: equal as their type registered; else they are different. */
int tvmgo_custom_equal(const TVMFFIAny* a, const TVMFFIAny* b) {
  TVMFFIAny custom;
  int64_t equal;
  if (!tvmgo_type_attr_get(&tvmgo_column_any_equal, a->type_index, &custom)) return 0;
  TVMFFIAny args[2] = {*a, *b};
  if (call_custom(&custom, args, 2, "equality", &equal) != 0) return -1;
  return equal != 0;
}

int tvmgo_any_try_hash(const TVMFFIAny* v, uint64_t* out) {
  tvmgo_map_key key;
  tvmgo_map_key_init(&key, v);
  return tvmgo_map_key_hash(&key, out);
}

int tvmgo_any_try_equal(const TVMFFIAny* a, const TVMFFIAny* b) {
  tvmgo_map_key key;
  tvmgo_map_key_init(&key, a);
  return tvmgo_map_key_equal(&key, b);
}

/* Without a way to report it, a failing custom hash counts as the hash of the address. */
uint64_t tvmgo_any_hash(const TVMFFIAny* v) {
  uint64_t h;
  if (tvmgo_any_try_hash(v, &h) == 0) return h;
  tvmgo_object_release(tvmgo_error_take());
  return tvmgo_hash_combine((uint64_t)v->type_index, v->v_uint64);
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
  return tvmgo_any_int((int64_t)tvmgo_hash_bytes(words.data, words.size));
}

TVMFFIAny tvmgo_big_int_equal(const TVMFFIAny* a, const TVMFFIAny* b) {
  TVMFFIByteArray x = big_int_words(a), y = big_int_words(b);
  return tvmgo_any_bool(x.size == y.size && memcmp(x.data, y.data, x.size) == 0);
}

/* Before other constructors make maps. Needs no memory. */
__attribute__((constructor(102))) static void describe_big_int(void) {
  static const TVMFFITypeMetadata metadata = {.total_size = 32};
  TVMFFIAny hash = tvmgo_any_ptr((void*)tvmgo_big_int_hash);
  TVMFFIAny equal = tvmgo_any_ptr((void*)tvmgo_big_int_equal);
  tvmgo_type_reflect_builtin(kTVMFFIBigInt, NULL, 0, &metadata);
  TVMFFITypeRegisterAttr(kTVMFFIBigInt, &tvmgo_column_any_hash.name, &hash);
  TVMFFITypeRegisterAttr(kTVMFFIBigInt, &tvmgo_column_any_equal.name, &equal);
}
