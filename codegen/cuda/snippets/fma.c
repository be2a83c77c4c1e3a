//// float16_fma: float16_vectors
/* Fused multiply-adds of float16, which round once. Before sm_53 the sum is rounded to float first. */
#if __CUDA_ARCH__ >= 530
__device__ __forceinline__ unsigned short tvmgo_f16_fma(unsigned short a, unsigned short b, unsigned short c) {
  unsigned short sum;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(sum) : "h"(a), "h"(b), "h"(c));
  return sum;
}
__device__ __forceinline__ unsigned int tvmgo_f16x2_fma(unsigned int a, unsigned int b, unsigned int c) {
  unsigned int sum;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}
#else
__device__ __forceinline__ unsigned short tvmgo_f16_fma(unsigned short a, unsigned short b, unsigned short c) {
  return tvmgo_f16_of_f32(fmaf(tvmgo_f32_of_f16(a), tvmgo_f32_of_f16(b), tvmgo_f32_of_f16(c)));
}
__device__ __forceinline__ unsigned int tvmgo_f16x2_fma(unsigned int a, unsigned int b, unsigned int c) {
  return tvmgo_f16_fma(a, b, c) | (unsigned int)tvmgo_f16_fma(a >> 16, b >> 16, c >> 16) << 16;
}
#endif
__device__ __forceinline__ half tvmgo_fma(half a, half b, half c) {
  return half::of_bits(tvmgo_f16_fma(a.bits, b.bits, c.bits));
}
template <int lanes, typename Word>
__device__ __forceinline__ tvmgo_pairs<half, lanes, Word, unsigned int> tvmgo_fma(
    tvmgo_pairs<half, lanes, Word, unsigned int> a, tvmgo_pairs<half, lanes, Word, unsigned int> b,
    tvmgo_pairs<half, lanes, Word, unsigned int> c) {
#pragma unroll
  for (int i = 0; i < lanes / 2; ++i) a.pair[i] = tvmgo_f16x2_fma(a.pair[i], b.pair[i], c.pair[i]);
  return a;
}
