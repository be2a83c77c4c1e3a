// Arithmetic functions that CUDA has beyond C's.
#pragma once

template <class To, class From>
static inline To cudarun_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "the sizes differ");
  To to;
  __builtin_memcpy(&to, &x, sizeof to);
  return to;
}
static inline int __float_as_int(float x) { return cudarun_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return cudarun_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return cudarun_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return cudarun_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return cudarun_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return cudarun_bits<double>(x); }
static inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}
static inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
static inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  n &= 31;
  return n ? high << n | low >> (32 - n) : high;
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  n &= 31;
  return n ? low >> n | high << (32 - n) : low;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned select) {
  unsigned long long all = static_cast<unsigned long long>(b) << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned s = select >> (4 * i) & 15, byte = static_cast<unsigned>(all >> (8 * (s & 7))) & 255;
    r |= (s & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
  }
  return r;
}
static inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
  return c;
}

#define CUDARUN_MIN_MAX(T)                                                                                             \
  static inline T min(T a, T b) { return b < a ? b : a; }                                                              \
  static inline T max(T a, T b) { return a < b ? b : a; }
CUDARUN_MIN_MAX(int)
CUDARUN_MIN_MAX(unsigned)
CUDARUN_MIN_MAX(long)
CUDARUN_MIN_MAX(unsigned long)
CUDARUN_MIN_MAX(long long)
CUDARUN_MIN_MAX(unsigned long long)
#undef CUDARUN_MIN_MAX
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

static inline float rsqrtf(float x) { return static_cast<float>(1 / sqrt(static_cast<double>(x))); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frcp_rn(float x) { return 1 / x; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __powf powf
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

// Conversions of floats to integers saturate; NaN becomes 0, in 64 bits the smallest value.
namespace cudarun {
template <class To, class From>
static inline To to_integer(From x, To low, To high, To nan) {
  if (x != x) return nan;
  if (x <= static_cast<From>(low)) return low;
  if (x >= static_cast<From>(high)) return high;
  return static_cast<To>(x);
}
static inline int to_int(double x) { return to_integer<int>(x, INT32_MIN, INT32_MAX, 0); }
static inline unsigned to_uint(double x) { return to_integer<unsigned>(x, 0, UINT32_MAX, 0); }
static inline long long to_long(double x) { return to_integer<long long>(x, INT64_MIN, INT64_MAX, INT64_MIN); }
static inline unsigned long long to_ulong(double x) {
  return to_integer<unsigned long long>(x, 0, UINT64_MAX, 1ull << 63);
}

// The float next to x in a direction, if x is no float: rounding of a number that double or __int128 holds exactly.
template <class Exact>
static inline float rounded_to_zero(Exact x) {
  float f = static_cast<float>(x);
  double d = static_cast<double>(f);
  if (isinf(f)) return f > 0 ? 0x1.fffffep127f : -0x1.fffffep127f;
  bool beyond = x < 0 ? d < static_cast<long double>(x) : d > static_cast<long double>(x);
  return beyond ? nextafterf(f, 0) : f;
}
} // namespace cudarun
#define CUDARUN_ROUNDINGS(from, T, to, name)                                                                           \
  static inline to __##from##2##name##_rn(T x) { return cudarun::to_##name(nearbyint(x)); }                            \
  static inline to __##from##2##name##_rz(T x) { return cudarun::to_##name(trunc(x)); }                                \
  static inline to __##from##2##name##_ru(T x) { return cudarun::to_##name(ceil(x)); }                                 \
  static inline to __##from##2##name##_rd(T x) { return cudarun::to_##name(floor(x)); }
#define CUDARUN_FROM(from, T)                                                                                          \
  CUDARUN_ROUNDINGS(from, T, int, int)                                                                                 \
  CUDARUN_ROUNDINGS(from, T, unsigned, uint)                                                                           \
  static inline long long __##from##2ll_rn(T x) { return cudarun::to_long(nearbyint(x)); }                             \
  static inline long long __##from##2ll_rz(T x) { return cudarun::to_long(trunc(x)); }                                 \
  static inline unsigned long long __##from##2ull_rn(T x) { return cudarun::to_ulong(nearbyint(x)); }                  \
  static inline unsigned long long __##from##2ull_rz(T x) { return cudarun::to_ulong(trunc(x)); }
CUDARUN_FROM(float, float)
CUDARUN_FROM(double, double)
#undef CUDARUN_FROM
#undef CUDARUN_ROUNDINGS
#define CUDARUN_TO_FLOAT(from, T)                                                                                      \
  static inline float __##from##2float_rn(T x) { return static_cast<float>(x); }                                       \
  static inline float __##from##2float_rz(T x) { return cudarun::rounded_to_zero(x); }
CUDARUN_TO_FLOAT(int, int)
CUDARUN_TO_FLOAT(uint, unsigned)
CUDARUN_TO_FLOAT(ll, long long)
CUDARUN_TO_FLOAT(ull, unsigned long long)
#undef CUDARUN_TO_FLOAT
static inline float __double2float_rn(double x) { return static_cast<float>(x); }
static inline float __double2float_rz(double x) {
  return isinf(x) ? static_cast<float>(x) : cudarun::rounded_to_zero(x);
}
static inline double __int2double_rn(int x) { return x; }
static inline double __ll2double_rn(long long x) { return static_cast<double>(x); }

// Reads that the read-only cache may serve: of global memory.
template <class T>
static inline T __ldg(const T *p) { return *p; }
#define __ldcg __ldg
#define __ldcs __ldg
#define __ldca __ldg
template <class T>
static inline void __stcs(T *p, T v) { *p = v; }
#define __stcg __stcs
