/* The nearest number of 16 bits, ties to even, of which so many hold digits behind the point. */
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
