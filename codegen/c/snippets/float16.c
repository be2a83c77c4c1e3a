static inline uint16_t tvmgo_to_float16(double x) { return tvmgo_narrow(x, 10, 15); }

static inline float tvmgo_from_float16(uint16_t x) {
  const uint32_t sign = (uint32_t)(x & 0x8000) << 16, exponent = x >> 10 & 31, mantissa = x & 0x3ff;
  union { uint32_t from; float to; } u = {sign};
  if (exponent == 31) u.from |= 0x7f800000 | mantissa << 13;
  else if (exponent != 0) u.from |= (exponent + 112) << 23 | mantissa << 13;
  else u.to = (sign != 0 ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
  return u.to;
}

static inline float tvmgo_round_float16(double x) { return tvmgo_from_float16(tvmgo_to_float16(x)); }
