//// float16
#if defined(__F16C__) && defined(__GNUC__)
typedef float tvmgo_floats __attribute__((vector_size(16)));
typedef short tvmgo_halves __attribute__((vector_size(16)));

static inline __attribute__((unused)) uint16_t tvmgo_to_float16(float x) {
  return (uint16_t)__builtin_ia32_vcvtps2ph((tvmgo_floats){x, 0, 0, 0}, 0)[0];
}

static inline float tvmgo_from_float16(uint16_t x) {
  return __builtin_ia32_vcvtph2ps((tvmgo_halves){(short)x, 0, 0, 0, 0, 0, 0, 0})[0];
}
#else
/* Rounds to nearest, ties to even. Below 2^-14 the addition rounds: the last digit of 0.5 + x is one of float16. */
static inline __attribute__((unused)) uint16_t tvmgo_to_float16(float x) {
  union { float number; uint32_t bits; } all = {x}, sum;
  const uint32_t sign = all.bits >> 16 & 0x8000;
  all.bits &= 0x7fffffff;
  sum.number = all.number + 0.5f;
  const uint32_t large = (all.bits + 0xfff + (all.bits >> 13 & 1) - (112u << 23)) >> 13;
  uint32_t result = all.bits < 0x38800000 ? sum.bits - 0x3f000000 : large;
  result = all.bits >= 0x477ff000 ? 0x7c00 : result;
  result = all.bits > 0x7f800000 ? 0x7e00 : result;
  return (uint16_t)(sign | result);
}

static inline float tvmgo_from_float16(uint16_t x) {
  const uint32_t rest = x & 0x7fff;
  union { float number; uint32_t bits; } small = {(float)(int32_t)rest * 0x1p-24f}, large;
  large.bits = (rest << 13) + (rest >= 0x7c00 ? 224u << 23 : 112u << 23);
  large.bits = (uint32_t)(x & 0x8000) << 16 | (rest < 0x400 ? small.bits : large.bits);
  return large.number;
}
#endif

static inline __attribute__((unused)) float tvmgo_round_float16(float x) {
  return tvmgo_from_float16(tvmgo_to_float16(x));
}

//// bfloat16
/* Rounds to nearest, ties to even. */
static inline __attribute__((unused)) uint16_t tvmgo_to_bfloat16(float x) {
  union { float number; uint32_t bits; } u = {x};
  const uint32_t result = (u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16;
  return (uint16_t)((u.bits & 0x7fffffff) > 0x7f800000 ? (u.bits >> 16 & 0x8000) | 0x7fc0 : result);
}

static inline float tvmgo_from_bfloat16(uint16_t x) {
  union { uint32_t from; float to; } u = {(uint32_t)x << 16};
  return u.to;
}

static inline __attribute__((unused)) float tvmgo_round_bfloat16(float x) {
  return tvmgo_from_bfloat16(tvmgo_to_bfloat16(x));
}

//// narrow
/* Rounds to a 16-bit float with so many mantissa bits (digits): to nearest, ties to even. */
static inline uint16_t tvmgo_narrow(double x, int digits, int bias) {
  union { double from; uint64_t to; } u = {x};
  const uint64_t sign = u.to >> 63 << 15, infinity = 0x7fff >> digits << digits;
  const int exponent = (int)(u.to >> 52 & 0x7ff);
  uint64_t mantissa = u.to & 0xfffffffffffff;
  if (exponent == 0x7ff) return (uint16_t)(sign | infinity | (mantissa != 0 ? (uint64_t)1 << (digits - 1) : 0));
  if (exponent == 0) return (uint16_t)sign;
  const int e = exponent - 1023 + bias;
  const int shift = 52 - digits + (e < 1 ? 1 - e : 0);
  if (shift > 53) return (uint16_t)sign;
  mantissa |= (uint64_t)1 << 52;
  const uint64_t half = (uint64_t)1 << (shift - 1), rest = mantissa & (2 * half - 1);
  uint64_t result = mantissa >> shift;
  result += rest > half || (rest == half && (result & 1) != 0);
  if (e > 1) result += (uint64_t)(e - 1) << digits;
  return (uint16_t)(sign | (result > infinity ? infinity : result));
}

//// float16_of_double: narrow
static inline float tvmgo_round_float16_of_double(double x) { return tvmgo_from_float16(tvmgo_narrow(x, 10, 15)); }

//// bfloat16_of_double: narrow
static inline float tvmgo_round_bfloat16_of_double(double x) { return tvmgo_from_bfloat16(tvmgo_narrow(x, 7, 127)); }

//// bfloat16_of_int: bfloat16_of_double
/* Digits that a double cannot hold are rounded to odd, so that rounding twice gives the same as rounding once. */
static inline __attribute__((unused)) float tvmgo_round_bfloat16_of_uint(uint64_t x) {
  const uint64_t odd = x >> 53 != 0 && (x & 0x7ff) != 0 ? (x & ~(uint64_t)0x7ff) | 0x800 : x;
  return tvmgo_round_bfloat16_of_double((double)odd);
}
static inline __attribute__((unused)) float tvmgo_round_bfloat16_of_int(int64_t x) {
  return x < 0 ? -tvmgo_round_bfloat16_of_uint(-(uint64_t)x) : tvmgo_round_bfloat16_of_uint((uint64_t)x);
}

//// clz
static inline int tvmgo_clz(uint64_t x, int bits) { return x == 0 ? bits : __builtin_clzll(x) - (64 - bits); }
