/* Operations on short texts without memcpy or memcmp: for them the call costs more than the work. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words of text are little-endian");

static inline uint64_t tvmgo_bytes_word8(const char* p) {
  uint64_t w;
  memcpy(&w, p, 8);
  return w;
}

/* Up to seven bytes as a word, zeros behind them. Nothing beyond them is read. */
static inline uint64_t tvmgo_bytes_word(const char* p, size_t size) {
  uint32_t first, last;
  if (size >= 4) {
    memcpy(&first, p, 4);
    memcpy(&last, p + size - 4, 4);
    return first | (uint64_t)last << (8 * (size - 4));
  }
  if (size == 0) return 0;
  return (uint64_t)(uint8_t)p[0] | (uint64_t)(uint8_t)p[size / 2] << (8 * (size / 2)) |
         (uint64_t)(uint8_t)p[size - 1] << (8 * (size - 1));
}

/* Copies size bytes, 8 or more. */
static inline void tvmgo_bytes_copy(char* to, const char* from, size_t size) {
  typedef struct {
    uint64_t word[2];
  } pair;
  if (size > 32) {
    memcpy(to, from, size);
  } else if (size >= 16) {
    pair first, last;
    memcpy(&first, from, 16);
    memcpy(&last, from + size - 16, 16);
    memcpy(to, &first, 16);
    memcpy(to + size - 16, &last, 16);
  } else {
    uint64_t first = tvmgo_bytes_word8(from), last = tvmgo_bytes_word8(from + size - 8);
    memcpy(to, &first, 8);
    memcpy(to + size - 8, &last, 8);
  }
}

/* Whether size bytes are the same. Compares the end first, because keys often begin alike. */
static inline int tvmgo_bytes_same(const char* a, const char* b, size_t size) {
  if (size < 8) return tvmgo_bytes_word(a, size) == tvmgo_bytes_word(b, size);
  if (size > 64) return memcmp(a, b, size) == 0;
  size -= 8;
  if (tvmgo_bytes_word8(a + size) != tvmgo_bytes_word8(b + size)) return 0;
  for (size_t i = 0; i < size; i += 8)
    if (tvmgo_bytes_word8(a + i) != tvmgo_bytes_word8(b + i)) return 0;
  return 1;
}
