/* Whether this library can be used: not if another one of the same kind was loaded before it. dlopen cannot be made to
 * fail, so the functions with which every use begins raise the reason. */
#pragma once

#include <stddef.h>

/* The reason, or NULL. It is set once, while the library is loaded (capi/second.c), and never freed. */
extern const char* tvmgo_unusable;

int tvmgo_raise_unusable(const char* op); /* always returns -1 */

/* 0, or -1 with an error raised. */
static inline int tvmgo_check_usable(const char* op) {
  return __builtin_expect(tvmgo_unusable == NULL, 1) ? 0 : tvmgo_raise_unusable(op);
}
