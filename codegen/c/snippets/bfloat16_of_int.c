/* Digits that a double cannot hold are rounded to an odd one, so that the second rounding is as good as one alone. */
static inline __attribute__((unused)) float tvmgo_round_bfloat16_of_uint(uint64_t x) {
  return tvmgo_round_bfloat16_of_double((double)(x >> 53 != 0 && (x & 0x7ff) != 0 ? (x & ~(uint64_t)0x7ff) | 0x800 : x));
}
static inline __attribute__((unused)) float tvmgo_round_bfloat16_of_int(int64_t x) {
  return x < 0 ? -tvmgo_round_bfloat16_of_uint(-(uint64_t)x) : tvmgo_round_bfloat16_of_uint((uint64_t)x);
}
