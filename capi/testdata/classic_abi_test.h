/* Harness of the program that drives the classic C ABI as its users do: public headers only, no shortcut into the library. */
#ifndef CLASSIC_ABI_TEST_H_
#define CLASSIC_ABI_TEST_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

extern int failures; /* failed checks so far */

#define FAIL(...) (failures++, printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n'))

#define CHECK(x)                     \
  do {                               \
    if (!(x)) FAIL("%s is false", #x); \
  } while (0)

/* Leaves the test: what follows cannot work. */
#define NEED(x)                        \
  do {                                 \
    if (!(x)) {                        \
      FAIL("%s is false", #x);         \
      return;                          \
    }                                  \
  } while (0)

/* The call succeeds. */
#define OK(call)                                                                                    \
  do {                                                                                              \
    int rc_ = (call);                                                                               \
    if (rc_ != 0) FAIL("%s is %d: %s", #call, rc_, TVMGetLastError() ? TVMGetLastError() : "NULL"); \
  } while (0)

/* The call fails with -1, and the error contains `text`. */
#define FAILS(call, text) check_fails(__FILE__, __LINE__, #call, (call), text)
static inline void check_fails(const char* file, int line, const char* what, int rc, const char* text) {
  const char* error = TVMGetLastError();
  if (rc == -1 && error != NULL && strstr(error, text) != NULL) return;
  failures++;
  printf("%s:%d: %s is %d, error \"%s\", want -1 and \"%s\"\n", file, line, what, rc, error ? error : "NULL", text);
}

#define SAME_TEXT(got, want)                                                            \
  do {                                                                                  \
    const char* got_ = (got);                                                           \
    if (got_ == NULL || strcmp(got_, (want)) != 0)                                      \
      FAIL("%s is \"%s\", want \"%s\"", #got, got_ == NULL ? "NULL" : got_, (want)); \
  } while (0)

void test_error_functions(void); /* classic_abi_error_test.c */
void test_data(void);            /* classic_abi_data_test.c */
void test_modules(void);         /* classic_abi_module_test.c */

#endif
