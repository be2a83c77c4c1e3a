/* The harness of the C tests: one header, one program per *_test.c file.
 *
 *   static void test_sum(void) { CHECK_EQ_INT(1 + 1, 2); }
 *   int main(int argc, char** argv) {
 *     check_begin(argc, argv);
 *     RUN(test_sum);
 *     return check_end();
 *   }
 *
 * A failed check prints its location and values, and the test continues; REQUIRE returns from the function instead.
 * Checks may run on any thread. Every test prints one line, "ok ...", "FAIL ..." or
 * "skip ...: why"; arguments of the program are substrings that select tests by name. */
#pragma once

#include "core.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_THREAD__)
#define CHECK_TSAN 1
#else
#define CHECK_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CHECK_ASAN 1
#else
#define CHECK_ASAN 0
#endif

static struct {
  int argc;
  char** argv;
  const char* program;
  int failed_tests;
  const char* skipped; /* reason, set by SKIP */
  _Atomic int failures; /* failed checks of the running test */
} check_state __attribute__((unused));

/* Prints one failed check; checks beyond the tenth of a test are only counted. */
static inline void check_fail(const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
static inline void check_fail(const char* file, int line, const char* format, ...) {
  if (atomic_fetch_add(&check_state.failures, 1) >= 10) return;
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char* slash = strrchr(file, '/');
  fprintf(stderr, "  %s:%d: %s\n", slash != NULL ? slash + 1 : file, line, text);
}

#define CHECK(x)                                                       \
  do {                                                                 \
    if (!(x)) check_fail(__FILE__, __LINE__, "%s is false", #x);       \
  } while (0)

/* Leaves a void function when x is false. */
#define REQUIRE(x)                                                     \
  do {                                                                 \
    if (!(x)) {                                                        \
      check_fail(__FILE__, __LINE__, "%s is false", #x);               \
      return;                                                          \
    }                                                                  \
  } while (0)

#define CHECK_EQ_INT(got, want)                                                             \
  do {                                                                                      \
    int64_t check_got = (int64_t)(got), check_want = (int64_t)(want);                       \
    if (check_got != check_want)                                                            \
      check_fail(__FILE__, __LINE__, "%s is %" PRId64 ", want %" PRId64, #got, check_got,   \
                 check_want);                                                               \
  } while (0)

#define CHECK_EQ_PTR(got, want)                                                             \
  do {                                                                                      \
    const void *check_got = (got), *check_want = (want);                                    \
    if (check_got != check_want)                                                            \
      check_fail(__FILE__, __LINE__, "%s is %p, want %p", #got, check_got, check_want);     \
  } while (0)

/* NUL-terminated text; NULL equals only NULL. */
#define CHECK_STR(got, want)                                                                \
  do {                                                                                      \
    const char *check_got = (got), *check_want = (want);                                    \
    if (check_got == NULL || check_want == NULL ? check_got != check_want                   \
                                                : strcmp(check_got, check_want) != 0)       \
      check_fail(__FILE__, __LINE__, "%s is \"%s\", want \"%s\"", #got,                     \
                 check_got == NULL ? "(null)" : check_got,                                  \
                 check_want == NULL ? "(null)" : check_want);                               \
  } while (0)

/* As CHECK_STR for a TVMFFIByteArray. */
#define CHECK_TEXT(got, want)                                                               \
  do {                                                                                      \
    TVMFFIByteArray check_got = (got);                                                      \
    const char* check_want = (want);                                                        \
    if (check_got.size != strlen(check_want) ||                                             \
        memcmp(check_got.data, check_want, check_got.size) != 0)                            \
      check_fail(__FILE__, __LINE__, "%s is \"%.*s\", want \"%s\"", #got,                   \
                 (int)check_got.size, check_got.data, check_want);                          \
  } while (0)

/* x returns 0; otherwise the raised error is taken and shown. */
#define CHECK_OK(x) check_ok(__FILE__, __LINE__, #x, (x))

/* An error is raised, of this kind, and its message contains text. Takes the error. */
#define CHECK_ERROR(kind, text) check_error(__FILE__, __LINE__, kind, text)

/* No error is raised. */
#define CHECK_NO_ERROR() check_no_error(__FILE__, __LINE__)

/* x returns non-zero and raised such an error. */
#define CHECK_FAILS(x, kind, text)                                                          \
  do {                                                                                      \
    if ((x) == 0)                                                                           \
      check_fail(__FILE__, __LINE__, "%s succeeded", #x);                                   \
    else                                                                                    \
      check_error(__FILE__, __LINE__, kind, text);                                          \
  } while (0)

/* Ends the running test (a void function) as skipped, with the reason. */
#define SKIP(reason)                   \
  do {                                 \
    check_state.skipped = (reason);    \
    return;                            \
  } while (0)

#define RUN(test) check_run(#test, test)

/* 1 when the error (borrowed) has this kind and its message contains text. */
static inline int check_error_matches(TVMFFIObject* e, const char* kind, const char* text) {
  const TVMFFIErrorCell* c = tvmgo_error_cell(e);
  return c->kind.size == strlen(kind) && memcmp(c->kind.data, kind, c->kind.size) == 0 &&
         (*text == '\0' || memmem(c->message.data, c->message.size, text, strlen(text)) != NULL);
}

static inline void check_error(const char* file, int line, const char* kind, const char* text) {
  TVMFFIObject* e = tvmgo_error_take();
  if (e == NULL) {
    check_fail(file, line, "no error is raised, want %s with \"%s\"", kind, text);
    return;
  }
  if (!check_error_matches(e, kind, text)) {
    const TVMFFIErrorCell* c = tvmgo_error_cell(e);
    check_fail(file, line, "error is %.*s \"%.*s\", want %s with \"%s\"", (int)c->kind.size,
               c->kind.data, (int)c->message.size, c->message.data, kind, text);
  }
  tvmgo_object_release(e);
}

static inline void check_no_error(const char* file, int line) {
  TVMFFIObject* e = tvmgo_error_take();
  if (e == NULL) return;
  const TVMFFIErrorCell* c = tvmgo_error_cell(e);
  check_fail(file, line, "error raised: %.*s: %.*s", (int)c->kind.size, c->kind.data,
             (int)c->message.size, c->message.data);
  tvmgo_object_release(e);
}

static inline int check_ok(const char* file, int line, const char* what, int rc) {
  if (rc == 0) return 1;
  TVMFFIObject* e = tvmgo_error_take();
  if (e == NULL) {
    check_fail(file, line, "%s is %d with no error raised", what, rc);
    return 0;
  }
  const TVMFFIErrorCell* c = tvmgo_error_cell(e);
  check_fail(file, line, "%s failed: %.*s: %.*s", what, (int)c->kind.size, c->kind.data,
             (int)c->message.size, c->message.data);
  tvmgo_object_release(e);
  return 0;
}

/* Counts of what is alive; compare before and after. */
static inline int64_t check_live(tvmgo_live_kind kind) {
  int64_t counts[TVMGO_LIVE_KINDS];
  tvmgo_live_snapshot(counts);
  return counts[kind];
}

/* A path below testdata/, in a buffer of the calling thread. */
static inline const char* check_testdata(const char* name) {
  static __thread char path[4096];
  const char* dir = getenv("TVMGO_TESTDATA");
  snprintf(path, sizeof path, "%s/%s", dir != NULL ? dir : "testdata", name);
  return path;
}

static inline double check_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void check_begin(int argc, char** argv) {
  check_state.argc = argc;
  check_state.argv = argv;
  const char* slash = strrchr(argv[0], '/');
  check_state.program = slash != NULL ? slash + 1 : argv[0];
  setvbuf(stdout, NULL, _IOLBF, 0);
}

static inline void check_run(const char* name, void (*test)(void)) {
  int selected = check_state.argc < 2;
  for (int i = 1; i < check_state.argc; i++)
    if (strstr(name, check_state.argv[i]) != NULL) selected = 1;
  if (!selected) return;
  atomic_store(&check_state.failures, 0);
  check_state.skipped = NULL;
  double start = check_seconds();
  test();
  TVMFFIObject* left = tvmgo_error_take();
  if (left != NULL) {
    const TVMFFIErrorCell* c = tvmgo_error_cell(left);
    check_fail(name, 0, "left an error behind: %.*s: %.*s", (int)c->kind.size, c->kind.data,
               (int)c->message.size, c->message.data);
    tvmgo_object_release(left);
  }
  int failures = atomic_load(&check_state.failures);
  if (failures != 0) {
    check_state.failed_tests++;
    printf("FAIL %s/%s: %d failed checks\n", check_state.program, name, failures);
  } else if (check_state.skipped != NULL) {
    printf("skip %s/%s: %s\n", check_state.program, name, check_state.skipped);
  } else {
    printf("ok   %s/%s (%.2f s)\n", check_state.program, name, check_seconds() - start);
  }
}

/* Exit status of the program. */
static inline int check_end(void) { return check_state.failed_tests != 0; }
