/* Harness of the program that drives the classic C ABI. */
#ifndef CLASSIC_ABI_TEST_H_
#define CLASSIC_ABI_TEST_H_

#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "check.h"

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

void test_error_functions(void); /* classic_abi_error_test.c */
void test_data(void);            /* classic_abi_data_test.c */
void test_modules(void);         /* classic_abi_module_test.c */
void test_bad_input(void);       /* classic_abi_bad_test.c */
void test_backend(void);         /* classic_abi_backend_test.c */

#endif
