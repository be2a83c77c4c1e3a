// Formats of floating point: how many bits of exponent and fraction they have, and what stands for infinity and NaN.
#pragma once

#include <math.h>
#include <stdint.h>

namespace cudarun {

struct format {
  int exponent, fraction;
  bool infinity; // has infinities; otherwise the largest exponent holds numbers, and only all ones are NaN
};
constexpr format kHalf = {5, 10, true}, kBfloat = {8, 7, true}, kE4M3 = {4, 3, false}, kE5M2 = {5, 2, true};

// The number of the bits.
inline double decode(const format &f, uint32_t bits) {
  int bias = (1 << (f.exponent - 1)) - 1;
  uint32_t fraction = bits & ((1u << f.fraction) - 1), top = (1u << f.exponent) - 1, e = bits >> f.fraction & top;
  double sign = bits >> (f.exponent + f.fraction) & 1 ? -1 : 1;
  if (f.infinity && e == top) return fraction ? NAN : sign * INFINITY;
  if (!f.infinity && e == top && fraction == (1u << f.fraction) - 1) return NAN;
  if (e == 0) return sign * ldexp(fraction, 1 - bias - f.fraction);
  return sign * ldexp(fraction + (1u << f.fraction), static_cast<int>(e) - bias - f.fraction);
}

// Rounds to nearest, ties to even. A number that is too large becomes infinity (NaN without infinities), or with
// saturate the largest number.
inline uint32_t encode(const format &f, double x, bool saturate = false) {
  int bias = (1 << (f.exponent - 1)) - 1, e;
  uint32_t sign = signbit(x) ? 1u << (f.exponent + f.fraction) : 0, top = (1u << f.exponent) - 1;
  uint32_t ones = (1u << f.fraction) - 1;
  uint32_t largest = f.infinity ? (top - 1) << f.fraction | ones : top << f.fraction | (ones - 1);
  if (x != x) return f.infinity ? top << f.fraction | ones : sign | top << f.fraction | ones;
  uint32_t beyond = saturate ? largest : f.infinity ? top << f.fraction : top << f.fraction | ones;
  if (isinf(x)) return sign | beyond;
  if (x == 0) return sign;
  frexp(x, &e); // |x| is in [2^(e-1), 2^e)
  int unit = e - 1 - f.fraction, least = 1 - bias - f.fraction;
  if (unit < least) unit = least;
  uint64_t n = static_cast<uint64_t>(nearbyint(ldexp(fabs(x), -unit)));
  // n units: the exponent field is unit - least + 1 for numbers with a leading one, which n contains.
  uint64_t bits = (static_cast<uint64_t>(unit - least) << f.fraction) + n;
  return sign | (bits > largest ? beyond : static_cast<uint32_t>(bits));
}

// Rounds a·b + c to odd: exact results stay, others get an odd last bit, so that a further rounding is correct.
inline double fma_odd(double a, double b, double c) {
  double p = a * b, sum = p + c, t = sum - p, error = (p - (sum - t)) + (c - t);
  if (error == 0 || isinf(sum) || sum != sum) return sum;
  uint64_t bits;
  __builtin_memcpy(&bits, &sum, 8);
  if (!(bits & 1)) (error > 0) == (sum > 0) ? bits++ : bits--;
  __builtin_memcpy(&sum, &bits, 8);
  return sum;
}

} // namespace cudarun
