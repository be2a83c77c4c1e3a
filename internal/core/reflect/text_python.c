/* Strings, bytes and large integers as Python's literals. */
#include "reflect/text_python.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Escape sequences of terminals that set colours are kept readable: "\x1b[1m". Returns their size, or 0. */
static size_t colour_size(const char* s, size_t n) {
  if (n < 3 || s[0] != 0x1b || s[1] != '[') return 0;
  size_t i = 2;
  while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';')) i++;
  return i < n && (s[i] == 'm' || s[i] == 'K') ? i + 1 : 0;
}

/* The bytes of one UTF-8 sequence longer than one byte, or 0; it may be overlong. */
static size_t utf8_size(const unsigned char* s, size_t n, uint32_t* code) {
  size_t size = (s[0] & 0xE0) == 0xC0 ? 2 : (s[0] & 0xF0) == 0xE0 ? 3 : (s[0] & 0xF8) == 0xF0 ? 4 : 0;
  if (size == 0 || size > n) return 0;
  *code = s[0] & (0x7Fu >> size);
  for (size_t i = 1; i < size; i++) {
    if ((s[i] & 0xC0) != 0x80) return 0;
    *code = *code << 6 | (s[i] & 0x3F);
  }
  return size;
}

void tvmgo_text_python_string(tvmgo_text* t, TVMFFIByteArray s) {
  static const char plain[] = "\n\t\r\\\"", escaped[] = "ntr\\\"";
  tvmgo_text_put(t, "\"");
  for (size_t i = 0; i < s.size;) {
    unsigned char c = (unsigned char)s.data[i];
    size_t size = colour_size(s.data + i, s.size - i);
    const char* known = c == 0 ? NULL : strchr(plain, c);
    uint32_t code;
    if (size > 0) {
      tvmgo_text_put(t, "\\x1b");
      tvmgo_text_add(t, s.data + i + 1, size - 1);
    } else if (known != NULL) {
      tvmgo_text_printf(t, "\\%c", escaped[known - plain]);
    } else if (c >= 0x20 && c < 0x7F) {
      tvmgo_text_add(t, s.data + i, 1);
    } else if ((size = utf8_size((const unsigned char*)s.data + i, s.size - i, &code)) > 0) {
      tvmgo_text_printf(t, size < 4 ? "\\u%04x" : "\\U%08x", (unsigned)code);
    } else {
      tvmgo_text_printf(t, "\\x%02x", (unsigned)c);
    }
    i += size > 0 ? size : 1;
  }
  tvmgo_text_put(t, "\"");
}

void tvmgo_text_python_bytes(tvmgo_text* t, TVMFFIByteArray b) {
  tvmgo_text_put(t, "b\"");
  for (size_t i = 0; i < b.size; i++) {
    unsigned char c = (unsigned char)b.data[i];
    if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\')
      tvmgo_text_add(t, b.data + i, 1);
    else
      tvmgo_text_printf(t, "\\x%02x", (unsigned)c);
  }
  tvmgo_text_put(t, "\"");
}

/* Divides the magnitude by 10^18 until nothing is left, and prints the remainders backwards. */
int tvmgo_text_big_int(tvmgo_text* t, const TVMFFIAny* v) {
  const uint64_t step = UINT64_C(1000000000000000000);
  TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(v);
  size_t n = content.size / sizeof(uint64_t), parts = 0;
  uint64_t* words = malloc(2 * n * sizeof *words + n * sizeof *words / 8 + sizeof *words);
  if (words == NULL) return tvmgo_raise_oom();
  uint64_t* remainders = words + n; /* 64 bits hold 1.07 times 18 digits */
  memcpy(words, content.data, content.size);
  if (words[n - 1] >> 63) {
    tvmgo_text_put(t, "-");
    uint64_t carry = 1;
    for (size_t i = 0; i < n; i++) {
      words[i] = ~words[i] + carry;
      carry &= words[i] == 0;
    }
  }
  while (n > 0 && words[n - 1] == 0) n--;
  while (n > 0) {
    uint64_t rest = 0;
    for (size_t i = n; i-- > 0;) {
      unsigned __int128 d = (unsigned __int128)rest << 64 | words[i];
      words[i] = (uint64_t)(d / step);
      rest = (uint64_t)(d % step);
    }
    remainders[parts++] = rest;
    while (n > 0 && words[n - 1] == 0) n--;
  }
  for (size_t i = parts; i-- > 0;)
    tvmgo_text_printf(t, i + 1 == parts ? "%" PRIu64 : "%018" PRIu64, remainders[i]);
  free(words);
  return 0;
}
