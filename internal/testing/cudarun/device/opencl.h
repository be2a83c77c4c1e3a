// OpenCL C on the CPU: what generated kernels use of its built-in types and functions. translateOpenCL (opencl.go)
// renames vector types, float4 to cl_float4, because CUDA's have the same names.
#pragma once

#include "builtin.h"

#include <limits.h>
#include <type_traits>

#define __global
#define __local
#define __private
#define __constant
#define restrict __restrict__
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(fences) ((void)cudarun::barrier(__LINE__, "barrier", 0))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#if defined(__aarch64__) && defined(__GNUC__) && __GNUC__ < 13
typedef __fp16 half; /* C++ has no _Float16 there */
#else
typedef _Float16 half;
#endif

static inline size_t cudarun_dimension(uint3 v, unsigned d) { return d == 0 ? v.x : d == 1 ? v.y : v.z; }
static inline size_t get_local_id(unsigned d) { return cudarun_dimension(threadIdx, d); }
static inline size_t get_group_id(unsigned d) { return cudarun_dimension(blockIdx, d); }
static inline size_t get_local_size(unsigned d) { return cudarun_dimension(blockDim, d); }
static inline size_t get_num_groups(unsigned d) { return cudarun_dimension(gridDim, d); }

// ---- vectors

namespace cudarun {

template <class T, int N>
struct vector {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class V>
using lane_of = typename std::decay<decltype(std::declval<V &>()[0])>::type;
template <class V>
constexpr int count = sizeof(V) / sizeof(lane_of<V>);
template <class V>
using if_vector = typename std::enable_if<!std::is_arithmetic<V>::value && !std::is_pointer<V>::value && (count<V> > 0),
                                          V>::type;

// (float4)(x) of a number or a vector, and (float4)(a, b, c, d).
template <class V, class A>
static inline V make(A x) {
  if constexpr (std::is_arithmetic<A>::value) {
    V v;
    for (int i = 0; i < count<V>; i++) v[i] = static_cast<lane_of<V>>(x);
    return v;
  } else {
    return cudarun_bits<V>(x);
  }
}
template <class V, class A, class B, class... C>
static inline V make(A a, B b, C... c) {
  static_assert(sizeof...(C) + 2 == count<V>, "a vector has one value for each lane");
  const lane_of<V> list[] = {static_cast<lane_of<V>>(a), static_cast<lane_of<V>>(b), static_cast<lane_of<V>>(c)...};
  V v;
  for (int i = 0; i < count<V>; i++) v[i] = list[i];
  return v;
}

template <int N, class T>
static inline typename vector<T, N>::type load(size_t at, const T *p) {
  typename vector<T, N>::type v;
  for (int i = 0; i < N; i++) v[i] = p[N * at + i];
  return v;
}
template <int N, class T>
static inline void store(typename vector<T, N>::type v, size_t at, T *p) {
  for (int i = 0; i < N; i++) p[N * at + i] = v[i];
}

} // namespace cudarun

#define CUDARUN_LANES(T, name, n)                                                                                      \
  typedef cudarun::vector<T, n>::type cl_##name##n;                                                                    \
  template <class V>                                                                                                   \
  static inline cl_##name##n convert_##name##n(V v) { return __builtin_convertvector(v, cl_##name##n); }               \
  template <class V>                                                                                                   \
  static inline cl_##name##n as_##name##n(V v) { return cudarun_bits<cl_##name##n>(v); }
#define CUDARUN_VECTORS_OF(T, name)                                                                                    \
  CUDARUN_LANES(T, name, 2)                                                                                            \
  CUDARUN_LANES(T, name, 4)                                                                                            \
  CUDARUN_LANES(T, name, 8)                                                                                            \
  CUDARUN_LANES(T, name, 16)                                                                                           \
  template <class V>                                                                                                   \
  static inline T as_##name(V v) { return cudarun_bits<T>(v); }
CUDARUN_VECTORS_OF(char, char) // signed: see the compiler's options
CUDARUN_VECTORS_OF(unsigned char, uchar)
CUDARUN_VECTORS_OF(short, short)
CUDARUN_VECTORS_OF(unsigned short, ushort)
CUDARUN_VECTORS_OF(int, int)
CUDARUN_VECTORS_OF(unsigned, uint)
CUDARUN_VECTORS_OF(long, long)
CUDARUN_VECTORS_OF(unsigned long, ulong)
CUDARUN_VECTORS_OF(float, float)
CUDARUN_VECTORS_OF(double, double)
#undef CUDARUN_VECTORS_OF
#undef CUDARUN_LANES

#define CUDARUN_MEMORY(n)                                                                                              \
  template <class T>                                                                                                   \
  static inline auto vload##n(size_t at, const T *p) { return cudarun::load<n, T>(at, p); }                            \
  template <class V, class T>                                                                                          \
  static inline void vstore##n(V v, size_t at, T *p) { cudarun::store<n, T>(v, at, p); }
CUDARUN_MEMORY(2)
CUDARUN_MEMORY(4)
CUDARUN_MEMORY(8)
CUDARUN_MEMORY(16)
#undef CUDARUN_MEMORY

template <class V, class M>
static inline cudarun::if_vector<V> select(V a, V b, M mask) {
  V v;
  for (int i = 0; i < cudarun::count<V>; i++) v[i] = mask[i] < 0 ? b[i] : a[i];
  return v;
}

// ---- numbers

static inline float exp10(float x) { return exp10f(x); }
template <class T>
static inline T popcount(T x) {
  return static_cast<T>(__builtin_popcountll(static_cast<typename std::make_unsigned<T>::type>(x)));
}
template <class T>
static inline T clz(T x) {
  typename std::make_unsigned<T>::type bits = x;
  return static_cast<T>(bits ? __builtin_clzll(bits) - 64 + 8 * int{sizeof(T)} : 8 * int{sizeof(T)});
}
static inline float vload_half(size_t at, const half *p) { return static_cast<float>(p[at]); }
static inline void vstore_half_rte(float x, size_t at, half *p) { p[at] = static_cast<half>(x); }
static inline float convert_float_rtz(long x) { return cudarun::rounded_to_zero(x); }
static inline float convert_float_rtz(ulong x) { return cudarun::rounded_to_zero(x); }
static inline float convert_float_rtz(double x) { return __double2float_rz(x); }
static inline int atomic_cmpxchg(volatile int *p, int expected, int v) {
  return atomicCAS(const_cast<int *>(p), expected, v);
}

#define CUDARUN_OF_LANES(f)                                                                                            \
  template <class V>                                                                                                   \
  static inline cudarun::if_vector<V> f(V x) {                                                                         \
    for (int i = 0; i < cudarun::count<V>; i++) x[i] = f(x[i]);                                                        \
    return x;                                                                                                          \
  }
#define CUDARUN_OF_PAIRS(f)                                                                                            \
  template <class V>                                                                                                   \
  static inline cudarun::if_vector<V> f(V x, V y) {                                                                    \
    for (int i = 0; i < cudarun::count<V>; i++) x[i] = f(x[i], y[i]);                                                  \
    return x;                                                                                                          \
  }
CUDARUN_OF_LANES(exp) CUDARUN_OF_LANES(exp2) CUDARUN_OF_LANES(exp10) CUDARUN_OF_LANES(log) CUDARUN_OF_LANES(log2)
CUDARUN_OF_LANES(log10) CUDARUN_OF_LANES(log1p) CUDARUN_OF_LANES(sqrt) CUDARUN_OF_LANES(rsqrt) CUDARUN_OF_LANES(sin)
CUDARUN_OF_LANES(cos) CUDARUN_OF_LANES(tan) CUDARUN_OF_LANES(asin) CUDARUN_OF_LANES(acos) CUDARUN_OF_LANES(atan)
CUDARUN_OF_LANES(sinh) CUDARUN_OF_LANES(cosh) CUDARUN_OF_LANES(tanh) CUDARUN_OF_LANES(asinh) CUDARUN_OF_LANES(acosh)
CUDARUN_OF_LANES(atanh) CUDARUN_OF_LANES(erf) CUDARUN_OF_LANES(floor) CUDARUN_OF_LANES(ceil) CUDARUN_OF_LANES(trunc)
CUDARUN_OF_LANES(round) CUDARUN_OF_LANES(rint) CUDARUN_OF_LANES(fabs)
CUDARUN_OF_PAIRS(pow) CUDARUN_OF_PAIRS(fmod) CUDARUN_OF_PAIRS(atan2) CUDARUN_OF_PAIRS(hypot)
CUDARUN_OF_PAIRS(copysign)
#undef CUDARUN_OF_LANES
#undef CUDARUN_OF_PAIRS

// ---- subgroups: aligned parts of a warp of the engine, in the order of thread indices, x first

#ifndef CUDARUN_SUBGROUP
#define CUDARUN_SUBGROUP 32
#endif

namespace cudarun {

constexpr unsigned subgroup = CUDARUN_SUBGROUP;
static_assert(subgroup <= 32 && 32 % subgroup == 0, "a subgroup has 1 to 32 threads");
static inline unsigned subgroup_lane() { return static_cast<unsigned>(lane()) % subgroup; }

// The value of a thread of the subgroup. All its threads take part. Beyond the subgroup, a value is undefined: here,
// all its bits are set, so that a float is NaN.
template <class T>
static T subgroup_shuffle(int line, const char *doing, T v, unsigned source) {
  const unsigned first = static_cast<unsigned>(lane()) - subgroup_lane(), own = subgroup_lane();
  const unsigned mask = (0xFFFFFFFFu >> (32 - subgroup)) << first;
  T r = exchange(mask, v, static_cast<int>(first + (source < subgroup ? source : own)), line, doing);
  if (source >= subgroup) __builtin_memset(&r, 0xFF, sizeof r);
  return r;
}
template <class T> // the threads of a subgroup and of the next one, whose values are next
static T intel_shuffle_down(int line, T v, T next, unsigned delta) {
  const unsigned from = subgroup_lane() + delta;
  T a = subgroup_shuffle(line, "intel_sub_group_shuffle_down", v, from);
  T b = subgroup_shuffle(line, "intel_sub_group_shuffle_down", next, from - subgroup);
  return from < subgroup ? a : b;
}

} // namespace cudarun

static inline unsigned get_sub_group_local_id() { return cudarun::subgroup_lane(); }
static inline unsigned get_sub_group_size() { return cudarun::subgroup; }
#define sub_group_shuffle(v, from) cudarun::subgroup_shuffle(__LINE__, "sub_group_shuffle", v, from)
#define sub_group_shuffle_xor(v, mask)                                                                                 \
  cudarun::subgroup_shuffle(__LINE__, "sub_group_shuffle_xor", v, cudarun::subgroup_lane() ^ (mask))
#define sub_group_shuffle_down(v, delta)                                                                               \
  cudarun::subgroup_shuffle(__LINE__, "sub_group_shuffle_down", v, cudarun::subgroup_lane() + (delta))
#define intel_sub_group_shuffle(v, from) cudarun::subgroup_shuffle(__LINE__, "intel_sub_group_shuffle", v, from)
#define intel_sub_group_shuffle_xor(v, mask)                                                                           \
  cudarun::subgroup_shuffle(__LINE__, "intel_sub_group_shuffle_xor", v, cudarun::subgroup_lane() ^ (mask))
#define intel_sub_group_shuffle_down(v, next, delta) cudarun::intel_shuffle_down(__LINE__, v, next, delta)
