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
/* The nearest number, ties to even. Below 2^-14 it is the addition that rounds: the last digit of 0.5 + x is one of float16. */
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

static inline __attribute__((unused)) float tvmgo_round_float16(float x) { return tvmgo_from_float16(tvmgo_to_float16(x)); }
