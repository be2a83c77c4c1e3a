/* Text that grows, and numbers that look the same under every locale. */
#pragma once

#include "object/object.h"

#include <locale.h>

/* All zero is the empty text. If memory is exhausted, later additions are lost and the error is reported at the end. */
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
/* The text from offset on, as an owned Str; raises MemoryError if an addition was lost. */
int tvmgo_text_string(const tvmgo_text* t, size_t offset, TVMFFIAny* out);
void tvmgo_text_free(tvmgo_text* t);

/* The edit distance of two names: the bytes to insert, remove or replace; INT_MAX if one has more than 64 bytes. */
int tvmgo_text_distance(const TVMFFIByteArray* a, const TVMFFIByteArray* b);

/* The locale "C". */
locale_t tvmgo_c_locale(void);
