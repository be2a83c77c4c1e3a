/* Calls of Relax executables with their results, which relax_test.go recorded, for both C ABIs, tvmgo/model.h and
 * tvmgo.hpp. */
#ifndef RELAX_TEST_H_
#define RELAX_TEST_H_

#include <dlpack/dlpack.h>
#include <stdint.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { V_NONE, V_TENSOR, V_TUPLE, V_SHAPE, V_INT, V_FLOAT, V_BOOL, V_TEXT, V_DTYPE, V_OBJECT };

/* An argument or a result. */
typedef struct value {
  int64_t kind;
  int64_t n;             /* of items, dims, or bytes of a text */
  struct value* items;   /* of a tuple */
  const int64_t* dims;   /* of a tensor or a shape */
  const char* bytes;     /* of a tensor or a text, which ends with a NUL */
  size_t nbytes;
  DLDataType dtype;
  int64_t i;
  double f;
} value;

typedef struct {
  const char* function;
  int64_t num_inputs;
  value inputs[16], output, after[16]; /* after: what the call makes of inputs; V_NONE: unchanged */
  int64_t fails;
} call_case;

/* Whether a tensor's type, shape and elements are those of want; prints a line if not. bytes are in host memory. */
int same_tensor(const value* want, const DLTensor* got, const void* bytes, const char* what);

/* Runs the cases in order, or, with threads above 1, on that many threads at once, each beginning with another case. */
void run_cases(void* session, const call_case* cases, int64_t n, int threads, void (*run)(void*, const call_case*));

void register_globals(void); /* wheelmodels.count, less and plus, which models call */
void run_classic(const char* library, const call_case* cases, int64_t n, int threads);
void run_ffi(const char* library, const call_case* cases, int64_t n, int threads);
void run_model(const char* library, const call_case* cases, int64_t n, int threads);
void run_hpp(const char* library, const call_case* cases, int64_t n, int threads);

#ifdef __cplusplus
}
#endif

#endif
