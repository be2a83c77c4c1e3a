static inline uint16_t tvmgo_to_bfloat16(double x) { return tvmgo_narrow(x, 7, 127); }

static inline float tvmgo_from_bfloat16(uint16_t x) {
  union { uint32_t from; float to; } u = {(uint32_t)x << 16};
  return u.to;
}

static inline float tvmgo_round_bfloat16(double x) { return tvmgo_from_bfloat16(tvmgo_to_bfloat16(x)); }
