/* Strings and bytes objects: created from text, and released. */
#include "program.h"

#include <string.h>

static char text[8192];

static void prepare(void) { memset(text, 'x', sizeof text); }

/* The text begins at a different one of 64 offsets each time: the position of a copy of 4 KiB relative to its source
 * within a page influences the time more than the implementation does. The compiler cannot see the size, as in a
 * program where it is not constant. */
static inline void make(int (*from)(const TVMFFIByteArray*, TVMFFIAny*), size_t size, int64_t n) {
  TVMFFIByteArray input = {text, size};
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny made;
    input.data = text + i % 64 * 64;
    __asm__ volatile("" : "+m"(input));
    bench_check(from(&input, &made), "make text");
    bench_release(made);
  }
}

static void string_5(int64_t n) { make(TVMFFIStringFromByteArray, 5, n); }
static void string_32(int64_t n) { make(TVMFFIStringFromByteArray, 32, n); }
static void string_4k(int64_t n) { make(TVMFFIStringFromByteArray, 4096, n); }
static void bytes_5(int64_t n) { make(TVMFFIBytesFromByteArray, 5, n); }
static void bytes_32(int64_t n) { make(TVMFFIBytesFromByteArray, 32, n); }
static void bytes_4k(int64_t n) { make(TVMFFIBytesFromByteArray, 4096, n); }

const bench_row bench_text_rows[] = {
    {"string-5", prepare, string_5},
    {"string-32", prepare, string_32},
    {"string-4k", prepare, string_4k},
    {"bytes-5", prepare, bytes_5},
    {"bytes-32", prepare, bytes_32},
    {"bytes-4k", prepare, bytes_4k},
    {0},
};
