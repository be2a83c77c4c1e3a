/* Integers that do not fit 64 bits (docs/abi.md B.1): words in two's complement, least significant first, as few as the
 * value needs. */
#include "container/container.h"

#include <string.h>

typedef struct {
  TVMFFIObject header;
  uint64_t num_words;
  int64_t words[];
} big_int;

int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  if (input == NULL || out == NULL || (input->data == NULL && input->size > 0))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "make BigInt: %s is NULL",
                       out == NULL ? "out" : "the content");
  if (input->size % sizeof(int64_t) != 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "BigInt content must contain whole 64-bit words, got %zu bytes", input->size);
  if (input->size > PTRDIFF_MAX / 2)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "make BigInt: %zu bytes are more than memory can hold",
                       input->size);
  size_t n = input->size / sizeof(int64_t);
  int64_t top = 0, below;
  if (n > 0) memcpy(&top, input->data + (n - 1) * sizeof top, sizeof top);
  while (n > 1) { /* a word that only extends the sign of the one below is redundant */
    memcpy(&below, input->data + (n - 2) * sizeof below, sizeof below);
    if (top != (below < 0 ? -1 : 0)) break;
    top = below;
    n--;
  }
  if (n <= 1) {
    *out = tvmgo_any_int(top);
    return 0;
  }
  big_int* b = tvmgo_object_new_uninit(sizeof *b + n * sizeof *b->words, kTVMFFIBigInt,
                                       tvmgo_object_plain_deleter);
  if (b == NULL) return -1;
  b->num_words = n;
  memcpy(b->words, input->data, n * sizeof *b->words);
  *out = tvmgo_any_object(b);
  return 0;
}

TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value) {
  TVMFFIByteArray none = {NULL, 0};
  if (value == NULL) return none;
  if (value->type_index == kTVMFFIInt)
    return (TVMFFIByteArray){(const char*)&value->v_int64, sizeof value->v_int64};
  if (value->type_index != kTVMFFIBigInt) return none; /* an error cannot be returned */
  const big_int* b = (const big_int*)value->v_obj;
  if (b == NULL || b->header.type_index != kTVMFFIBigInt) return none;
  return (TVMFFIByteArray){(const char*)b->words, b->num_words * sizeof *b->words};
}
