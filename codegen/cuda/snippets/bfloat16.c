//// odd
/* Rounds to odd: an inexact float gets an odd last bit, so that a second rounding gives the result of a single one. */
__device__ __forceinline__ float tvmgo_odd(float truncated, bool exact) {
  return exact ? truncated : __uint_as_float(__float_as_uint(truncated) | 1);
}
__device__ __forceinline__ float tvmgo_odd_of(double x) {
  const float truncated = __double2float_rz(x);
  return x == x ? tvmgo_odd(truncated, (double)truncated == x) : NAN;
}
__device__ __forceinline__ float tvmgo_odd_of(long long x) {
  const float truncated = __ll2float_rz(x);
  return tvmgo_odd(truncated, (long long)truncated == x);
}
__device__ __forceinline__ float tvmgo_odd_of(unsigned long long x) {
  const float truncated = __ull2float_rz(x);
  return tvmgo_odd(truncated, (unsigned long long)truncated == x);
}

//// bfloat16: odd
/* bfloat16. Each operation rounds once: a result that is rounded to float first is the same. */
__device__ __forceinline__ unsigned short tvmgo_bf16_of_f32(float x) {
#if __CUDA_ARCH__ >= 800
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const unsigned int bits = __float_as_uint(x);
  return (unsigned short)(x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff);
#endif
}
__device__ __forceinline__ float tvmgo_f32_of_bf16(unsigned short bits) {
  return __uint_as_float((unsigned int)bits << 16);
}
__device__ __forceinline__ unsigned short tvmgo_bf16_add(unsigned short a, unsigned short b) {
#if __CUDA_ARCH__ >= 900
  unsigned short sum;
  asm("add.rn.bf16 %0, %1, %2;" : "=h"(sum) : "h"(a), "h"(b));
  return sum;
#else
  return tvmgo_bf16_of_f32(tvmgo_f32_of_bf16(a) + tvmgo_f32_of_bf16(b));
#endif
}
__device__ __forceinline__ unsigned short tvmgo_bf16_sub(unsigned short a, unsigned short b) {
#if __CUDA_ARCH__ >= 900
  unsigned short difference;
  asm("sub.rn.bf16 %0, %1, %2;" : "=h"(difference) : "h"(a), "h"(b));
  return difference;
#else
  return tvmgo_bf16_of_f32(tvmgo_f32_of_bf16(a) - tvmgo_f32_of_bf16(b));
#endif
}
__device__ __forceinline__ unsigned short tvmgo_bf16_mul(unsigned short a, unsigned short b) {
#if __CUDA_ARCH__ >= 900
  unsigned short product;
  asm("mul.rn.bf16 %0, %1, %2;" : "=h"(product) : "h"(a), "h"(b));
  return product;
#else
  return tvmgo_bf16_of_f32(tvmgo_f32_of_bf16(a) * tvmgo_f32_of_bf16(b));
#endif
}
struct bfloat16 {
  unsigned short bits;
  bfloat16() = default;
  __device__ __forceinline__ explicit bfloat16(float x) : bits(tvmgo_bf16_of_f32(x)) {}
  __device__ __forceinline__ explicit bfloat16(double x) : bits(tvmgo_bf16_of_f32(tvmgo_odd_of(x))) {}
  __device__ __forceinline__ explicit bfloat16(int x) : bits(tvmgo_bf16_of_f32(tvmgo_odd_of((long long)x))) {}
  __device__ __forceinline__ explicit bfloat16(unsigned int x) : bits(tvmgo_bf16_of_f32(tvmgo_odd_of((long long)x))) {}
  __device__ __forceinline__ explicit bfloat16(long long x) : bits(tvmgo_bf16_of_f32(tvmgo_odd_of(x))) {}
  __device__ __forceinline__ explicit bfloat16(unsigned long long x) : bits(tvmgo_bf16_of_f32(tvmgo_odd_of(x))) {}
  __device__ __forceinline__ operator float() const { return tvmgo_f32_of_bf16(bits); }
  static __device__ __forceinline__ bfloat16 of_bits(int x) {
    bfloat16 b;
    b.bits = (unsigned short)x;
    return b;
  }
};
__device__ __forceinline__ bfloat16 operator+(bfloat16 a, bfloat16 b) {
  return bfloat16::of_bits(tvmgo_bf16_add(a.bits, b.bits));
}
__device__ __forceinline__ bfloat16 operator-(bfloat16 a, bfloat16 b) {
  return bfloat16::of_bits(tvmgo_bf16_sub(a.bits, b.bits));
}
__device__ __forceinline__ bfloat16 operator*(bfloat16 a, bfloat16 b) {
  return bfloat16::of_bits(tvmgo_bf16_mul(a.bits, b.bits));
}
__device__ __forceinline__ bfloat16 operator/(bfloat16 a, bfloat16 b) {
  return bfloat16((float)a / (float)b);
}
