/* The nearest number, ties to even. */
static inline __attribute__((unused)) uint16_t tvmgo_to_bfloat16(float x) {
  union { float number; uint32_t bits; } u = {x};
  const uint32_t result = (u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16;
  return (uint16_t)((u.bits & 0x7fffffff) > 0x7f800000 ? (u.bits >> 16 & 0x8000) | 0x7fc0 : result);
}

static inline float tvmgo_from_bfloat16(uint16_t x) {
  union { uint32_t from; float to; } u = {(uint32_t)x << 16};
  return u.to;
}

static inline __attribute__((unused)) float tvmgo_round_bfloat16(float x) { return tvmgo_from_bfloat16(tvmgo_to_bfloat16(x)); }
