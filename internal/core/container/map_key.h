/* Keys of maps during a look-up: the text of a key is determined once, not once for each key that it is compared
 * with. */
#pragma once

#include "container/container.h"
#include "object/short_bytes.h"

typedef struct {
  const TVMFFIAny* any;
  int32_t text;          /* kTVMFFIStr or kTVMFFIBytes; 0 when the key is no text */
  TVMFFIByteArray bytes; /* of a text */
} tvmgo_map_key;

/* hash.c: the cases that the inline functions below do not handle. */
uint64_t tvmgo_hash_bytes(const char* data, size_t size);
int tvmgo_custom_hash(const TVMFFIAny* v, uint64_t* out);
int tvmgo_custom_equal(const TVMFFIAny* a, const TVMFFIAny* b);

static inline uint64_t tvmgo_hash_combine(uint64_t seed, uint64_t v) {
  return seed ^ (v + UINT64_C(0x9e3779b9) + (seed << 6) + (seed >> 2));
}

/* kTVMFFIStr or kTVMFFIBytes for the forms of strings and bytes, else 0. */
static inline int32_t tvmgo_text_kind(int32_t type_index) {
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

/* The text of v, of the given kind; 0 when it has none. */
static inline int tvmgo_text_of(const TVMFFIAny* v, int32_t kind, TVMFFIByteArray* out) {
  if (TVMGO_LIKELY(v->type_index == kind && v->v_obj != NULL)) {
    const TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(v->v_obj);
    out->data = bytes->data;
    out->size = bytes->size;
    return 1;
  }
  return tvmgo_any_text(v, out);
}

/* Fills *key instead of returning it: a compiler copies a returned struct with wider loads than the stores that wrote
 * it, and such loads stall the processor. v must outlive the key. */
static inline void tvmgo_map_key_init(tvmgo_map_key* key, const TVMFFIAny* v) {
  int32_t kind = tvmgo_text_kind(v->type_index);
  key->any = v;
  key->text = kind != 0 && tvmgo_text_of(v, kind, &key->bytes) ? kind : 0;
}

/* 0, or -1 with an error when the hash that the type registered fails. */
static inline int tvmgo_map_key_hash(const tvmgo_map_key* key, uint64_t* out) {
  const TVMFFIAny* v = key->any;
  if (key->text != 0) {
    *out = tvmgo_hash_combine((uint64_t)key->text,
                              tvmgo_hash_bytes(key->bytes.data, key->bytes.size));
    return 0;
  }
  if (v->type_index >= kTVMFFIRawStr) return tvmgo_custom_hash(v, out);
  *out = tvmgo_hash_combine((uint64_t)v->type_index, v->v_uint64);
  return 0;
}

/* 1, 0, or -1 with an error when the equality that the type registered fails. */
static inline int tvmgo_map_key_equal(const tvmgo_map_key* key, const TVMFFIAny* other) {
  const TVMFFIAny* v = key->any;
  if (v->type_index == other->type_index && v->v_uint64 == other->v_uint64 &&
      (key->text == 0 || v->small_str_len == other->small_str_len))
    return 1;
  if (key->text != 0) {
    TVMFFIByteArray bytes;
    return key->text == tvmgo_text_kind(other->type_index) &&
           tvmgo_text_of(other, key->text, &bytes) && bytes.size == key->bytes.size &&
           tvmgo_bytes_same(bytes.data, key->bytes.data, bytes.size);
  }
  if (v->type_index != other->type_index || v->type_index < kTVMFFIStaticObjectBegin) return 0;
  return tvmgo_custom_equal(v, other);
}
