/* Text that grows, and numbers that look the same under every locale. */
#pragma once

#include "object/object.h"

#include <locale.h>

/* All zero is the empty text. Exhausted memory is recorded and reported at the end: what is added after it is
 * lost. */
typedef struct {
  char* data;
  size_t size, capacity;
  int failed;
} tvmgo_text;

void tvmgo_text_add(tvmgo_text* t, const char* data, size_t size);
void tvmgo_text_put(tvmgo_text* t, const char* s);
/* At most 63 bytes per call. */
void tvmgo_text_printf(tvmgo_text* t, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* A double in a given printf format, with a decimal point. At most 63 bytes. */
void tvmgo_text_double(tvmgo_text* t, const char* format, double v);
/* Appends size bytes of t from offset on. */
void tvmgo_text_again(tvmgo_text* t, size_t offset, size_t size);
/* What begins at offset, as an owned Str; raises MemoryError for what was lost on the way. */
int tvmgo_text_string(const tvmgo_text* t, size_t offset, TVMFFIAny* out);
void tvmgo_text_free(tvmgo_text* t);

/* The locale "C". */
locale_t tvmgo_c_locale(void);
