// The kernels of the CUDA libraries in testdata/artifacts: blocks of 256 threads, or 16 by 16 for the matrix product.
#include "fakecuda_kernel.h"

static size_t threads(const fakecuda_launch *l) { return (size_t)l->grid[0] * l->block[0]; }

static size_t count(const fakecuda_launch *l, int64_t n) {
  if (n < 0) return 0;
  return (size_t)n < threads(l) ? (size_t)n : threads(l);
}

// addone_kernel(const float *a, float *b, int n)
static size_t addone_count(const fakecuda_launch *l) { return count(l, FAKECUDA_ARG(l, 2, int32_t)); }
static size_t addone_bytes(const fakecuda_launch *l) { return 4 * addone_count(l); }
static int addone_run(const fakecuda_launch *l) {
  const float *a = FAKECUDA_ARG(l, 0, const float *);
  float *b = FAKECUDA_ARG(l, 1, float *);
  for (size_t i = 0; i < addone_count(l); i++) b[i] = a[i] + 1;
  return 0;
}
FAKECUDA_KERNEL(addone_kernel, .name = "addone_kernel", .run = addone_run, .max_threads = 256, .nparams = 3,
                .params = {{8, FAKECUDA_READS, addone_bytes}, {8, FAKECUDA_WRITES, addone_bytes}, {4, FAKECUDA_VALUE,
                    NULL}})

// vadd_kernel(const float *a, const float *b, float *c, n): n has 32 bits in the classic artifacts, 64 in the others
static int vadd(const fakecuda_launch *l, size_t n) {
  const float *a = FAKECUDA_ARG(l, 0, const float *), *b = FAKECUDA_ARG(l, 1, const float *);
  float *c = FAKECUDA_ARG(l, 2, float *);
  for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
  return 0;
}
static size_t vadd32_count(const fakecuda_launch *l) { return count(l, FAKECUDA_ARG(l, 3, int32_t)); }
static size_t vadd64_count(const fakecuda_launch *l) { return count(l, FAKECUDA_ARG(l, 3, int64_t)); }
static size_t vadd32_bytes(const fakecuda_launch *l) { return 4 * vadd32_count(l); }
static size_t vadd64_bytes(const fakecuda_launch *l) { return 4 * vadd64_count(l); }
static int vadd32_run(const fakecuda_launch *l) { return vadd(l, vadd32_count(l)); }
static int vadd64_run(const fakecuda_launch *l) { return vadd(l, vadd64_count(l)); }
FAKECUDA_KERNEL(vadd32, .name = "vadd_kernel", .run = vadd32_run, .max_threads = 256, .nparams = 4,
                .params = {{8, FAKECUDA_READS, vadd32_bytes}, {8, FAKECUDA_READS, vadd32_bytes}, {8, FAKECUDA_WRITES,
                    vadd32_bytes}, {4, FAKECUDA_VALUE, NULL}})
FAKECUDA_KERNEL(vadd64, .name = "vadd_kernel", .run = vadd64_run, .max_threads = 256, .nparams = 4,
                .params = {{8, FAKECUDA_READS, vadd64_bytes}, {8, FAKECUDA_READS, vadd64_bytes}, {8, FAKECUDA_WRITES,
                    vadd64_bytes}, {8, FAKECUDA_VALUE, NULL}})

// matmul_kernel(const float *a, const float *b, float *c): 64 by 64, one thread per element
#define N 64u
static size_t matmul_bytes(const fakecuda_launch *l) {
  (void)l;
  return 4 * N * N;
}
static int matmul_run(const fakecuda_launch *l) {
  const float *a = FAKECUDA_ARG(l, 0, const float *), *b = FAKECUDA_ARG(l, 1, const float *);
  float *c = FAKECUDA_ARG(l, 2, float *);
  for (uint32_t i = 0; i < l->grid[1] * l->block[1] && i < N; i++) {
    for (uint32_t j = 0; j < l->grid[0] * l->block[0] && j < N; j++) {
      float sum = 0;
      for (uint32_t k = 0; k < N; k++) sum += a[i * N + k] * b[k * N + j];
      c[i * N + j] = sum;
    }
  }
  return 0;
}
FAKECUDA_KERNEL(matmul_kernel, .name = "matmul_kernel", .run = matmul_run, .max_threads = 256, .nparams = 3,
                .params = {{8, FAKECUDA_READS, matmul_bytes}, {8, FAKECUDA_READS, matmul_bytes}, {8, FAKECUDA_WRITES,
                    matmul_bytes}})
