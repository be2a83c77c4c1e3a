// Cases of the fake driver's tests: a program linked with the driver runs one case by name.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/cutypes.h"
#include "../fakecuda.h"
#include "calls.h"

typedef struct test_case {
  const char *name;
  void (*run)(void);
  struct test_case *next;
} test_case;
extern test_case *cases;

#define CASE(ident)                                                                                                    \
  static void ident(void);                                                                                             \
  __attribute__((constructor)) static void ident##_add(void) {                                                         \
    static test_case c = {#ident, ident, NULL};                                                                        \
    c.next = cases;                                                                                                    \
    cases = &c;                                                                                                        \
  }                                                                                                                    \
  static void ident(void)

#define FAIL(...) \
  (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))
#define IS(code, call)                                                                                                 \
  do {                                                                                                                 \
    int got_ = (call), want_ = (code);                                                                                 \
    if (got_ != want_) FAIL("%s answers %d, want %d", #call, got_, want_);                                             \
  } while (0)
#define CU(call) IS(0, call)
#define TRUE(what)                                                                                                     \
  do {                                                                                                                 \
    if (!(what)) FAIL("not so: %s", #what);                                                                            \
  } while (0)

// Expects exactly one report since the last check, which contains text; clears the reports.
#define REPORTED(text)                                                                                                 \
  do {                                                                                                                 \
    int n_ = fakecuda_reports();                                                                                       \
    const char *first_ = n_ ? fakecuda_report(0) : "-";                                                                \
    if (n_ != 1 || !strstr(first_, text)) FAIL("%d reports, the first %s; want one with: %s", n_, first_, text);       \
    fakecuda_clear_reports();                                                                                          \
  } while (0)
#define SILENT()                                                                                                       \
  do {                                                                                                                 \
    if (fakecuda_reports()) FAIL("reported: %s", fakecuda_report(0));                                                  \
  } while (0)

#define N 1024
#define BYTES (4 * N)

extern CUcontext ctx;
extern CUmodule mod;
extern const char *ptx;
void begin(void); // creates the context of device 0 and loads the standard kernels
void end(void);   // releases both; nothing else may be left
CUfunction kernel(const char *name);
int run(const char *name, CUstream on, CUdeviceptr x, float value); // add_one, fill or scale over N floats
CUdeviceptr memory(void);                                              // BYTES of device memory
CUstream stream(void);                                                 // one that does not wait for the default stream
CUevent event(void);

#endif
