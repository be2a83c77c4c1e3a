//// float16
/* float16. Each operation rounds once: a quotient that is rounded to float first is the same. */
__device__ __forceinline__ unsigned short tvmgo_f16_of_f32(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ unsigned short tvmgo_f16_of_f64(double x) {
  unsigned short bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return bits;
}
__device__ __forceinline__ unsigned short tvmgo_f16_of_s32(int x) {
  unsigned short bits;
  asm("cvt.rn.f16.s32 %0, %1;" : "=h"(bits) : "r"(x));
  return bits;
}
__device__ __forceinline__ unsigned short tvmgo_f16_of_u32(unsigned int x) {
  unsigned short bits;
  asm("cvt.rn.f16.u32 %0, %1;" : "=h"(bits) : "r"(x));
  return bits;
}
__device__ __forceinline__ unsigned short tvmgo_f16_of_s64(long long x) {
  unsigned short bits;
  asm("cvt.rn.f16.s64 %0, %1;" : "=h"(bits) : "l"(x));
  return bits;
}
__device__ __forceinline__ unsigned short tvmgo_f16_of_u64(unsigned long long x) {
  unsigned short bits;
  asm("cvt.rn.f16.u64 %0, %1;" : "=h"(bits) : "l"(x));
  return bits;
}
__device__ __forceinline__ float tvmgo_f32_of_f16(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
#if __CUDA_ARCH__ >= 530
__device__ __forceinline__ unsigned short tvmgo_f16_add(unsigned short a, unsigned short b) {
  unsigned short sum;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(sum) : "h"(a), "h"(b));
  return sum;
}
__device__ __forceinline__ unsigned short tvmgo_f16_sub(unsigned short a, unsigned short b) {
  unsigned short difference;
  asm("sub.rn.f16 %0, %1, %2;" : "=h"(difference) : "h"(a), "h"(b));
  return difference;
}
__device__ __forceinline__ unsigned short tvmgo_f16_mul(unsigned short a, unsigned short b) {
  unsigned short product;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(product) : "h"(a), "h"(b));
  return product;
}
#else
__device__ __forceinline__ unsigned short tvmgo_f16_add(unsigned short a, unsigned short b) {
  return tvmgo_f16_of_f32(tvmgo_f32_of_f16(a) + tvmgo_f32_of_f16(b));
}
__device__ __forceinline__ unsigned short tvmgo_f16_sub(unsigned short a, unsigned short b) {
  return tvmgo_f16_of_f32(tvmgo_f32_of_f16(a) - tvmgo_f32_of_f16(b));
}
__device__ __forceinline__ unsigned short tvmgo_f16_mul(unsigned short a, unsigned short b) {
  return tvmgo_f16_of_f32(tvmgo_f32_of_f16(a) * tvmgo_f32_of_f16(b));
}
#endif
struct half {
  unsigned short bits;
  half() = default;
  __device__ __forceinline__ explicit half(float x) : bits(tvmgo_f16_of_f32(x)) {}
  __device__ __forceinline__ explicit half(double x) : bits(tvmgo_f16_of_f64(x)) {}
  __device__ __forceinline__ explicit half(int x) : bits(tvmgo_f16_of_s32(x)) {}
  __device__ __forceinline__ explicit half(unsigned int x) : bits(tvmgo_f16_of_u32(x)) {}
  __device__ __forceinline__ explicit half(long long x) : bits(tvmgo_f16_of_s64(x)) {}
  __device__ __forceinline__ explicit half(unsigned long long x) : bits(tvmgo_f16_of_u64(x)) {}
  __device__ __forceinline__ operator float() const { return tvmgo_f32_of_f16(bits); }
  static __device__ __forceinline__ half of_bits(int x) {
    half h;
    h.bits = (unsigned short)x;
    return h;
  }
};
__device__ __forceinline__ half operator+(half a, half b) {
  return half::of_bits(tvmgo_f16_add(a.bits, b.bits));
}
__device__ __forceinline__ half operator-(half a, half b) {
  return half::of_bits(tvmgo_f16_sub(a.bits, b.bits));
}
__device__ __forceinline__ half operator*(half a, half b) {
  return half::of_bits(tvmgo_f16_mul(a.bits, b.bits));
}
__device__ __forceinline__ half operator/(half a, half b) { return half((float)a / (float)b); }
