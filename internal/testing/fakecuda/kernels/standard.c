// Kernels that every test can use. The PTX that names them is fakecuda.StandardPTX.
#include "fakecuda_kernel.h"

#define COUNT(l, i) (FAKECUDA_ARG(l, i, int32_t) > 0 ? (size_t)FAKECUDA_ARG(l, i, int32_t) : 0)

// Threads of the launch along x: elements beyond them are not accessed, as on a device.
static size_t covered(const fakecuda_launch *l, size_t n) {
  size_t threads = (size_t)l->grid[0] * l->block[0];
  return n < threads ? n : threads;
}

static size_t floats_1(const fakecuda_launch *l) { return 4 * covered(l, COUNT(l, 1)); }
static size_t floats_2(const fakecuda_launch *l) { return 4 * covered(l, COUNT(l, 2)); }

// add_one(float *x, int n): x[i] += 1
static int add_one_run(const fakecuda_launch *l) {
  float *x = FAKECUDA_ARG(l, 0, float *);
  for (size_t i = 0; i < covered(l, COUNT(l, 1)); i++) x[i] += 1;
  return 0;
}
FAKECUDA_KERNEL(add_one, .name = "add_one", .run = add_one_run, .nparams = 2,
                .params = {{8, FAKECUDA_BOTH, floats_1}, {4, FAKECUDA_VALUE, NULL}})

// fill(float *x, float value, int n): x[i] = value
static int fill_run(const fakecuda_launch *l) {
  float *x = FAKECUDA_ARG(l, 0, float *);
  for (size_t i = 0; i < covered(l, COUNT(l, 2)); i++) x[i] = FAKECUDA_ARG(l, 1, float);
  return 0;
}
FAKECUDA_KERNEL(fill, .name = "fill", .run = fill_run, .nparams = 3,
                .params = {{8, FAKECUDA_WRITES, floats_2}, {4, FAKECUDA_VALUE, NULL}, {4, FAKECUDA_VALUE, NULL}})

// scale(float *x, float by, int n): x[i] *= by
static int scale_run(const fakecuda_launch *l) {
  float *x = FAKECUDA_ARG(l, 0, float *);
  for (size_t i = 0; i < covered(l, COUNT(l, 2)); i++) x[i] *= FAKECUDA_ARG(l, 1, float);
  return 0;
}
FAKECUDA_KERNEL(scale, .name = "scale", .run = scale_run, .nparams = 3,
                .params = {{8, FAKECUDA_BOTH, floats_2}, {4, FAKECUDA_VALUE, NULL}, {4, FAKECUDA_VALUE, NULL}})

// wait_released(): returns after the test has called fakecuda_release
static int wait_run(const fakecuda_launch *l) {
  l->wait_released();
  return 0;
}
FAKECUDA_KERNEL(wait_released, .name = "wait_released", .run = wait_run, .nparams = 0)

// illegal_address(): fails like a kernel that dereferences an invalid pointer
static int illegal_run(const fakecuda_launch *l) {
  (void)l;
  return 700;
}
FAKECUDA_KERNEL(illegal_address, .name = "illegal_address", .run = illegal_run, .nparams = 0)

// shared_sum(float *out, const float *x, int n): out[0] = sum of x, with 1024 bytes of static shared memory
static size_t one_float(const fakecuda_launch *l) {
  (void)l;
  return 4;
}
static int shared_sum_run(const fakecuda_launch *l) {
  const float *x = FAKECUDA_ARG(l, 1, const float *);
  float sum = 0;
  for (size_t i = 0; i < COUNT(l, 2); i++) sum += x[i];
  *FAKECUDA_ARG(l, 0, float *) = sum;
  return 0;
}
static size_t all_floats_2(const fakecuda_launch *l) { return 4 * COUNT(l, 2); }
FAKECUDA_KERNEL(shared_sum, .name = "shared_sum", .run = shared_sum_run, .nparams = 3, .static_shared = 1024,
                .max_threads = 256,
                .params = {{8, FAKECUDA_WRITES, one_float}, {8, FAKECUDA_READS, all_floats_2}, {4, FAKECUDA_VALUE,
                    NULL}})
