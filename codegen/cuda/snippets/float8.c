//// float8
/* The code of the nearest value of a float of 8 bits, ties to even. most is the code of its greatest finite value. */
__device__ __forceinline__ unsigned char tvmgo_f8_of_f32(float x, int fraction, int least, int most, int beyond,
                                                          int nan) {
  const float size = fabsf(x);
  const unsigned int bits = __float_as_uint(size), shift = 23 - fraction;
  int code;
  if (size < ldexpf(1.0f, least)) {
    code = (int)rintf(ldexpf(size, fraction - least));
  } else {
    code = (int)((bits + (bits >> shift & 1) + (1u << (shift - 1)) - 1) >> shift) - ((126 + least) << fraction);
  }
  code = x != x ? nan : code > most ? beyond : code;
  return (unsigned char)(code | (__float_as_uint(x) >> 24 & 0x80));
}

//// float8_e4m3: float8 odd
/* float8_e4m3: computed as float, and rounded once after each operation. */
__device__ __forceinline__ unsigned short tvmgo_e4m3x2_of_f32(float low, float high) {
#if __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return (unsigned short)(tvmgo_f8_of_f32(low, 3, -6, 0x7e, 0x7e, 0x7f) |
                          tvmgo_f8_of_f32(high, 3, -6, 0x7e, 0x7e, 0x7f) << 8);
#endif
}
/* The instruction saturates: a number above 464 becomes NaN. */
__device__ __forceinline__ unsigned short tvmgo_e4m3x2_exact(float low, float high) {
  unsigned short pair = tvmgo_e4m3x2_of_f32(low, high);
  if (fabsf(low) > 464.0f) pair = (unsigned short)((pair & 0xff80) | 0x7f);
  if (fabsf(high) > 464.0f) pair = (unsigned short)((pair & 0x80ff) | 0x7f << 8);
  return pair;
}
__device__ __forceinline__ float tvmgo_f32_of_e4m3(unsigned char code) {
  const unsigned int size = code & 0x7f;
  const float x = size == 0x7f ? NAN : __uint_as_float(size << 20) * 0x1p120f;
  return code & 0x80 ? -x : x;
}
struct float8_e4m3 {
  unsigned char bits;
  float8_e4m3() = default;
  __device__ __forceinline__ explicit float8_e4m3(float x) : bits((unsigned char)tvmgo_e4m3x2_exact(x, 0.0f)) {}
  __device__ __forceinline__ explicit float8_e4m3(double x) : float8_e4m3(tvmgo_odd_of(x)) {}
  __device__ __forceinline__ explicit float8_e4m3(int x) : float8_e4m3(tvmgo_odd_of((long long)x)) {}
  __device__ __forceinline__ explicit float8_e4m3(unsigned int x) : float8_e4m3(tvmgo_odd_of((long long)x)) {}
  __device__ __forceinline__ explicit float8_e4m3(long long x) : float8_e4m3(tvmgo_odd_of(x)) {}
  __device__ __forceinline__ explicit float8_e4m3(unsigned long long x) : float8_e4m3(tvmgo_odd_of(x)) {}
  __device__ __forceinline__ operator float() const { return tvmgo_f32_of_e4m3(bits); }
  static __device__ __forceinline__ float8_e4m3 of_bits(int x) {
    float8_e4m3 f;
    f.bits = (unsigned char)x;
    return f;
  }
};
__device__ __forceinline__ float8_e4m3 operator+(float8_e4m3 a, float8_e4m3 b) {
  return float8_e4m3((float)a + (float)b);
}
__device__ __forceinline__ float8_e4m3 operator-(float8_e4m3 a, float8_e4m3 b) {
  return float8_e4m3((float)a - (float)b);
}
__device__ __forceinline__ float8_e4m3 operator*(float8_e4m3 a, float8_e4m3 b) {
  return float8_e4m3((float)a * (float)b);
}
__device__ __forceinline__ float8_e4m3 operator/(float8_e4m3 a, float8_e4m3 b) {
  return float8_e4m3((float)a / (float)b);
}

//// float8_e4m3_vectors: float8_e4m3 pairs
typedef tvmgo_pairs<float8_e4m3, 2, unsigned short, unsigned short> float8_e4m3_2;
typedef tvmgo_pairs<float8_e4m3, 4, unsigned int, unsigned short> float8_e4m3_4;
typedef tvmgo_pairs<float8_e4m3, 8, uint2, unsigned short> float8_e4m3_8;
typedef tvmgo_pairs<float8_e4m3, 16, uint4, unsigned short> float8_e4m3_16;

__device__ __forceinline__ unsigned short tvmgo_pair_of(const float8_e4m3*, float low, float high) {
  return tvmgo_e4m3x2_exact(low, high);
}
template <typename Number>
__device__ __forceinline__ unsigned short tvmgo_pair_of(const float8_e4m3*, Number low, Number high) {
  return (unsigned short)(float8_e4m3(low).bits | float8_e4m3(high).bits << 8);
}

//// float8_e5m2: float8 odd
/* float8_e5m2: computed as float, and rounded once after each operation. */
__device__ __forceinline__ unsigned short tvmgo_e5m2x2_of_f32(float low, float high) {
#if __CUDA_ARCH__ >= 890
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return (unsigned short)(tvmgo_f8_of_f32(low, 2, -14, 0x7b, 0x7b, 0x7e) |
                          tvmgo_f8_of_f32(high, 2, -14, 0x7b, 0x7b, 0x7e) << 8);
#endif
}
/* The instruction saturates: a number from 61440 on becomes infinity. */
__device__ __forceinline__ unsigned short tvmgo_e5m2x2_exact(float low, float high) {
  unsigned short pair = tvmgo_e5m2x2_of_f32(low, high);
  if (fabsf(low) >= 61440.0f) pair = (unsigned short)((pair & 0xff80) | 0x7c);
  if (fabsf(high) >= 61440.0f) pair = (unsigned short)((pair & 0x80ff) | 0x7c << 8);
  return pair;
}
__device__ __forceinline__ float tvmgo_f32_of_e5m2(unsigned char code) {
  const unsigned int size = code & 0x7f;
  const float x = size >= 0x7c ? (size == 0x7c ? INFINITY : NAN) : __uint_as_float(size << 21) * 0x1p112f;
  return code & 0x80 ? -x : x;
}
struct float8_e5m2 {
  unsigned char bits;
  float8_e5m2() = default;
  __device__ __forceinline__ explicit float8_e5m2(float x) : bits((unsigned char)tvmgo_e5m2x2_exact(x, 0.0f)) {}
  __device__ __forceinline__ explicit float8_e5m2(double x) : float8_e5m2(tvmgo_odd_of(x)) {}
  __device__ __forceinline__ explicit float8_e5m2(int x) : float8_e5m2(tvmgo_odd_of((long long)x)) {}
  __device__ __forceinline__ explicit float8_e5m2(unsigned int x) : float8_e5m2(tvmgo_odd_of((long long)x)) {}
  __device__ __forceinline__ explicit float8_e5m2(long long x) : float8_e5m2(tvmgo_odd_of(x)) {}
  __device__ __forceinline__ explicit float8_e5m2(unsigned long long x) : float8_e5m2(tvmgo_odd_of(x)) {}
  __device__ __forceinline__ operator float() const { return tvmgo_f32_of_e5m2(bits); }
  static __device__ __forceinline__ float8_e5m2 of_bits(int x) {
    float8_e5m2 f;
    f.bits = (unsigned char)x;
    return f;
  }
};
__device__ __forceinline__ float8_e5m2 operator+(float8_e5m2 a, float8_e5m2 b) {
  return float8_e5m2((float)a + (float)b);
}
__device__ __forceinline__ float8_e5m2 operator-(float8_e5m2 a, float8_e5m2 b) {
  return float8_e5m2((float)a - (float)b);
}
__device__ __forceinline__ float8_e5m2 operator*(float8_e5m2 a, float8_e5m2 b) {
  return float8_e5m2((float)a * (float)b);
}
__device__ __forceinline__ float8_e5m2 operator/(float8_e5m2 a, float8_e5m2 b) {
  return float8_e5m2((float)a / (float)b);
}

//// float8_e5m2_vectors: float8_e5m2 pairs
typedef tvmgo_pairs<float8_e5m2, 2, unsigned short, unsigned short> float8_e5m2_2;
typedef tvmgo_pairs<float8_e5m2, 4, unsigned int, unsigned short> float8_e5m2_4;
typedef tvmgo_pairs<float8_e5m2, 8, uint2, unsigned short> float8_e5m2_8;
typedef tvmgo_pairs<float8_e5m2, 16, uint4, unsigned short> float8_e5m2_16;

__device__ __forceinline__ unsigned short tvmgo_pair_of(const float8_e5m2*, float low, float high) {
  return tvmgo_e5m2x2_exact(low, high);
}
template <typename Number>
__device__ __forceinline__ unsigned short tvmgo_pair_of(const float8_e5m2*, Number low, Number high) {
  return (unsigned short)(float8_e5m2(low).bits | float8_e5m2(high).bits << 8);
}
