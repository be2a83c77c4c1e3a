#include "reflect/json_graph.h"

#include <stdlib.h>

/* words = words * factor + add; the last word is 0 before. */
static void shift_in(uint64_t* words, size_t n, uint64_t factor, uint64_t add) {
  unsigned __int128 carry = add;
  for (size_t i = 0; i < n; i++) {
    carry += (unsigned __int128)words[i] * factor;
    words[i] = (uint64_t)carry;
    carry >>= 64;
  }
}

int tvmgo_big_int_parse(const char* op, TVMFFIByteArray text, TVMFFIAny* out) {
  int is_negative = text.size > 0 && text.data[0] == '-';
  int sign = is_negative || (text.size > 0 && text.data[0] == '+');
  size_t digits = text.size - (size_t)sign;
  const char* at = text.data + sign;
  if (digits == 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: an integer has no digits", op);
  size_t n = digits / 19 + 3, used = 1; /* 19 digits fit a word; the last one is for the sign */
  uint64_t* words = calloc(n, sizeof *words);
  if (words == NULL) return tvmgo_raise_oom();
  uint64_t factor = 1, add = 0; /* of the digits that are read but not shifted in */
  for (size_t i = 0; i < digits; i++) {
    if (at[i] < '0' || at[i] > '9') {
      free(words);
      return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: an integer must have decimal digits only", op);
    }
    factor *= 10;
    add = add * 10 + (uint64_t)(at[i] - '0');
    if (i + 1 < digits && factor < UINT64_C(1000000000000000000)) continue;
    shift_in(words, used, factor, add);
    factor = 1;
    add = 0;
    if (words[used - 1] != 0 && used < n) used++;
  }
  for (size_t i = 0, carry = 1; is_negative && i < n; i++) {
    words[i] = ~words[i] + carry;
    carry = carry && words[i] == 0;
  }
  TVMFFIByteArray content = {(const char*)words, n * sizeof *words};
  int rc = TVMFFIBigIntFromByteArray(&content, out);
  free(words);
  return rc;
}
