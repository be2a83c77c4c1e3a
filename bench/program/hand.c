/* Hand-written versions of generated operators, which run on the same threads: plain loops that the compiler can
 * vectorize, sums spread over lanes by hand, and an exponential function that can be vectorized, too. Compiled with
 * -O3 -march=native. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_backend_api.h>

#define EXPORT __attribute__((visibility("default")))

enum { LANES = 64 };

typedef struct {
  const float *a, *b, *c;
  float* out;
  int64_t rows, n;
} work;

static float* data(const TVMFFIAny* a) {
  const DLTensor* t = TVMFFITensorGetDLTensorPtr(a->v_obj);
  return (float*)((char*)t->data + t->byte_offset);
}

static int64_t dim(const TVMFFIAny* a, int d) { return TVMFFITensorGetDLTensorPtr(a->v_obj)->shape[d]; }

/* The part of n that a task computes. */
static void share(int task, const TVMParallelGroupEnv* env, int64_t n, int64_t* from, int64_t* to) {
  const int64_t each = (n + env->num_task - 1) / env->num_task;
  *from = task * each < n ? task * each : n;
  *to = *from + each < n ? *from + each : n;
}

static int vadd(int task, TVMParallelGroupEnv* env, void* data) {
  const work* w = data;
  const float* restrict a = w->a;
  const float* restrict b = w->b;
  float* restrict out = w->out;
  int64_t from, to;
  share(task, env, w->n, &from, &to);
  for (int64_t i = from; i < to; i++) out[i] = a[i] + b[i];
  return 0;
}

/* e^x as 2^n · e^r with a polynomial, for x <= 0, as softmax needs it. */
static inline float exp_of(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  int32_t bits;
  float scale;
  memcpy(&bits, &shifted, 4);
  bits = (bits - 0x4b400000 + 127) << 23;
  memcpy(&scale, &bits, 4);
  return p * scale;
}

static int softmax(int task, TVMParallelGroupEnv* env, void* data) {
  const work* w = data;
  const int64_t n = w->n;
  int64_t from, to;
  share(task, env, w->rows, &from, &to);
  for (int64_t row = from; row < to; row++) {
    const float* restrict x = w->a + row * n;
    float* restrict out = w->out + row * n;
    float lanes[LANES], top = -INFINITY, sum = 0;
    int64_t i = 0;
    for (int l = 0; l < LANES; l++) lanes[l] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
      for (int l = 0; l < LANES; l++) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
    for (; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int l = 0; l < LANES; l++) top = lanes[l] > top ? lanes[l] : top;
    for (int l = 0; l < LANES; l++) lanes[l] = 0;
    for (i = 0; i + LANES <= n; i += LANES)
      for (int l = 0; l < LANES; l++) {
        const float e = exp_of(x[i + l] - top);
        out[i + l] = e;
        lanes[l] += e;
      }
    for (; i < n; i++) sum += out[i] = exp_of(x[i] - top);
    for (int l = 0; l < LANES; l++) sum += lanes[l];
    const float scale = 1 / sum;
    for (i = 0; i < n; i++) out[i] *= scale;
  }
  return 0;
}

static int layernorm(int task, TVMParallelGroupEnv* env, void* data) {
  const work* w = data;
  const int64_t n = w->n;
  int64_t from, to;
  share(task, env, w->rows, &from, &to);
  for (int64_t row = from; row < to; row++) {
    const float* restrict x = w->a + row * n;
    const float* restrict gamma = w->b;
    const float* restrict beta = w->c;
    float* restrict out = w->out + row * n;
    float lanes[LANES] = {0}, sum = 0, squares = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
      for (int l = 0; l < LANES; l++) lanes[l] += x[i + l];
    for (; i < n; i++) sum += x[i];
    for (int l = 0; l < LANES; l++) sum += lanes[l];
    const float mean = sum / (float)n;
    for (int l = 0; l < LANES; l++) lanes[l] = 0;
    for (i = 0; i + LANES <= n; i += LANES)
      for (int l = 0; l < LANES; l++) lanes[l] += (x[i + l] - mean) * (x[i + l] - mean);
    for (; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    for (int l = 0; l < LANES; l++) squares += lanes[l];
    const float scale = 1 / sqrtf(squares / (float)n + 1e-5f);
    for (i = 0; i < n; i++) out[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
  }
  return 0;
}

typedef struct {
  const char* from;
  char* to;
  int64_t bytes;
} moved;

static int move(int task, TVMParallelGroupEnv* env, void* data) {
  const moved* m = data;
  int64_t from, to;
  share(task, env, m->bytes, &from, &to);
  memcpy(m->to + from, m->from + from, (size_t)(to - from));
  return 0;
}

static int64_t bytes_of(const TVMFFIAny* a) {
  const DLTensor* t = TVMFFITensorGetDLTensorPtr(a->v_obj);
  int64_t bytes = t->dtype.bits / 8;
  for (int d = 0; d < t->ndim; d++) bytes *= t->shape[d];
  return bytes;
}

/* Reads and writes as many bytes as an operator must: copies one tensor to another of the same size, or one half of a
 * larger tensor to its other half. */
EXPORT int32_t __tvm_ffi_move(void* self, const TVMFFIAny* args, int32_t num, TVMFFIAny* result) {
  (void)self, (void)num, (void)result;
  moved m = {(char*)data(&args[0]), (char*)data(&args[1]), bytes_of(&args[0])};
  if (bytes_of(&args[1]) != m.bytes) {
    m.bytes /= 2;
    m.to = (char*)data(&args[0]) + m.bytes;
  }
  return TVMBackendParallelLaunch(move, &m, 0);
}

EXPORT int32_t __tvm_ffi_vadd(void* self, const TVMFFIAny* args, int32_t num, TVMFFIAny* result) {
  (void)self, (void)num, (void)result;
  work w = {.a = data(&args[0]), .b = data(&args[1]), .out = data(&args[2]), .n = dim(&args[0], 0)};
  return TVMBackendParallelLaunch(vadd, &w, 0);
}

EXPORT int32_t __tvm_ffi_softmax(void* self, const TVMFFIAny* args, int32_t num, TVMFFIAny* result) {
  (void)self, (void)num, (void)result;
  work w = {.a = data(&args[0]), .out = data(&args[1]), .rows = dim(&args[0], 0), .n = dim(&args[0], 1)};
  return TVMBackendParallelLaunch(softmax, &w, 0);
}

EXPORT int32_t __tvm_ffi_layernorm(void* self, const TVMFFIAny* args, int32_t num, TVMFFIAny* result) {
  (void)self, (void)num, (void)result;
  work w = {.a = data(&args[0]), .b = data(&args[1]), .c = data(&args[2]), .out = data(&args[3]),
            .rows = dim(&args[0], 0), .n = dim(&args[0], 1)};
  return TVMBackendParallelLaunch(layernorm, &w, 0);
}
