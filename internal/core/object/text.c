#include "object/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Space for n more bytes, or NULL. */
static char* room(tvmgo_text* t, size_t n) {
  if (t->failed) return NULL;
  if (n > t->capacity - t->size) {
    size_t capacity = t->capacity < 64 ? 64 : t->capacity;
    while (capacity - t->size < n && capacity <= PTRDIFF_MAX / 2) capacity *= 2;
    char* grown = capacity - t->size < n ? NULL : realloc(t->data, capacity);
    if (grown == NULL) {
      t->failed = 1;
      return NULL;
    }
    t->data = grown;
    t->capacity = capacity;
  }
  char* at = t->data + t->size;
  t->size += n;
  return at;
}

void tvmgo_text_add(tvmgo_text* t, const char* data, size_t size) {
  char* at = room(t, size);
  if (at != NULL && size > 0) memcpy(at, data, size);
}

void tvmgo_text_put(tvmgo_text* t, const char* s) { tvmgo_text_add(t, s, strlen(s)); }

void tvmgo_text_printf(tvmgo_text* t, const char* format, ...) {
  char line[64];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  tvmgo_text_add(t, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

void tvmgo_text_double(tvmgo_text* t, const char* format, double v) {
  char line[64];
  locale_t before = uselocale(tvmgo_c_locale());
  int n = snprintf(line, sizeof line, format, v);
  uselocale(before);
  tvmgo_text_add(t, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

void tvmgo_text_again(tvmgo_text* t, size_t offset, size_t size) {
  char* at = room(t, size);
  if (at != NULL) memcpy(at, t->data + offset, size);
}

int tvmgo_text_string(const tvmgo_text* t, size_t offset, TVMFFIAny* out) {
  if (t->failed) return tvmgo_raise_oom();
  return tvmgo_string_make(t->size == offset ? "" : t->data + offset, t->size - offset, out);
}

void tvmgo_text_free(tvmgo_text* t) {
  free(t->data);
  *t = (tvmgo_text){0};
}

locale_t tvmgo_c_locale(void) {
  static _Atomic(locale_t) shared;
  locale_t c = atomic_load_explicit(&shared, memory_order_acquire);
  if (c != (locale_t)0) return c;
  locale_t fresh = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (atomic_compare_exchange_strong(&shared, &c, fresh)) return fresh;
  if (fresh != (locale_t)0) freelocale(fresh);
  return c;
}
