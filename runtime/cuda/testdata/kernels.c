// The kernels of kernels.cu for the fake driver (internal/testing/fakecuda), except scale, which the fake driver has.
#include <string.h>

#include "fakecuda_kernel.h"

static size_t bytes_40(const fakecuda_launch *l) { return (void)l, 40; }
static size_t bytes_128(const fakecuda_launch *l) { return (void)l, 128; }
static size_t bytes_4(const fakecuda_launch *l) { return (void)l, 4; }

static int types_run(const fakecuda_launch *l) {
  double *out = FAKECUDA_ARG(l, 0, double *);
  out[0] = FAKECUDA_ARG(l, 1, int64_t), out[1] = FAKECUDA_ARG(l, 2, int32_t), out[2] = FAKECUDA_ARG(l, 3, uint32_t);
  out[3] = FAKECUDA_ARG(l, 4, double), out[4] = FAKECUDA_ARG(l, 5, float);
  return 0;
}
FAKECUDA_KERNEL(types, .name = "types", .run = types_run, .nparams = 6,
                .params = {{8, FAKECUDA_WRITES, bytes_40}, {8, 0, 0}, {4, 0, 0}, {4, 0, 0}, {8, 0, 0}, {4, 0, 0}})

static int shape_run(const fakecuda_launch *l) {
  int32_t *out = FAKECUDA_ARG(l, 0, int32_t *);
  for (int i = 0; i < 3; i++)
    out[i] = (int32_t)l->grid[i], out[3 + i] = (int32_t)l->block[i], out[6 + i] = (int32_t)l->cluster[i];
  out[9] = (int32_t)l->shared;
  return 0;
}
FAKECUDA_KERNEL(shape, .name = "shape", .run = shape_run, .nparams = 1, .params = {{8, FAKECUDA_WRITES, bytes_40}})
FAKECUDA_KERNEL(shape_static, .name = "shape_static", .run = shape_run, .nparams = 1, .static_shared = 1024,
                .params = {{8, FAKECUDA_WRITES, bytes_40}})

static size_t block_floats(const fakecuda_launch *l) { return 4 * l->block[0]; }
static int few_run(const fakecuda_launch *l) {
  for (uint32_t i = 0; i < l->block[0]; i++) FAKECUDA_ARG(l, 0, float *)[i] = (float)i;
  return 0;
}
FAKECUDA_KERNEL(few, .name = "few", .run = few_run, .nparams = 1, .max_threads = 64, .params = {{8, FAKECUDA_WRITES,
    block_floats}})

static int words_run(const fakecuda_launch *l) {
  memcpy(FAKECUDA_ARG(l, 0, void *), l->params[1], 128);
  return 0;
}
FAKECUDA_KERNEL(words, .name = "words", .run = words_run, .nparams = 2, .params = {{8, FAKECUDA_WRITES, bytes_128},
    {128, 0, 0}})

// Kernels of the fake driver cannot access global variables. The result is 0, as after the function that prepares the
// barrier.
static int count_run(const fakecuda_launch *l) {
  *FAKECUDA_ARG(l, 0, int32_t *) = 0;
  return 0;
}
FAKECUDA_KERNEL(count, .name = "count", .run = count_run, .nparams = 1, .params = {{8, FAKECUDA_WRITES, bytes_4}})

// add_one(float *x): x[i] += 1 for every block i (add_one.ptx)
static size_t blocks_of_floats(const fakecuda_launch *l) { return 4 * (size_t)l->grid[0]; }
static int add_one_run(const fakecuda_launch *l) {
  float *x = FAKECUDA_ARG(l, 0, float *);
  for (uint32_t i = 0; i < l->grid[0]; i++) x[i] += 1;
  return 0;
}
FAKECUDA_KERNEL(add_one, .name = "add_one", .run = add_one_run, .nparams = 1, .params = {{8, FAKECUDA_BOTH,
    blocks_of_floats}})
