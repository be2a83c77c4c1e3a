#include "reflect/json_graph.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int tvmgo_base64_write(TVMFFIByteArray bytes, TVMFFIAny* out) {
  size_t size = (bytes.size + 2) / 3 * 4;
  char* text = malloc(size + 1);
  if (text == NULL) return tvmgo_raise_oom();
  char* at = text;
  for (size_t i = 0; i < bytes.size; i += 3) {
    size_t n = bytes.size - i < 3 ? bytes.size - i : 3;
    uint32_t group = 0;
    for (size_t k = 0; k < 3; k++)
      group = group << 8 | (k < n ? (unsigned char)bytes.data[i + k] : 0);
    for (size_t k = 0; k < 4; k++) *at++ = k > n ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  int rc = tvmgo_string_make(text, size, out);
  free(text);
  return rc;
}

static int bad(const char* op, const char* why) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: bytes must be in base64: %s", op, why);
}

int tvmgo_base64_read(const char* op, TVMFFIByteArray text, TVMFFIAny* out) {
  if (text.size % 4 != 0) return bad(op, "the length is no multiple of 4");
  size_t padding = 0;
  while (padding < 2 && padding < text.size && text.data[text.size - 1 - padding] == '=') padding++;
  char* bytes = malloc(text.size / 4 * 3 + 1);
  if (bytes == NULL) return tvmgo_raise_oom();
  size_t n = 0;
  uint32_t group = 0;
  for (size_t i = 0; i < text.size; i++) {
    const char* digit = text.data[i] == 0 ? NULL : strchr(digits, text.data[i]);
    int is_padding = i >= text.size - padding;
    if (digit == NULL && !is_padding) {
      free(bytes);
      return bad(op, "a character does not belong to it");
    }
    group = group << 6 | (is_padding ? 0 : (uint32_t)(digit - digits));
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes[n++] = (char)(group >> shift);
    group = 0;
  }
  int rc = tvmgo_bytes_make(bytes, n - padding, out);
  free(bytes);
  return rc;
}
