// Vector types with CUDA's alignments; the compiler checks the alignment of each access (-fsanitize=alignment).
#pragma once

#define CUDARUN_VECTORS(T, name, align2, align4)                                                                       \
  struct name##1 { T x; };                                                                                             \
  struct __attribute__((aligned(align2))) name##2 { T x, y; };                                                         \
  struct name##3 { T x, y, z; };                                                                                       \
  struct __attribute__((aligned(align4))) name##4 { T x, y, z, w; };                                                   \
  static inline name##1 make_##name##1(T x) { return {x}; }                                                            \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                    \
  static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                            \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDARUN_VECTORS(signed char, char, 2, 4)
CUDARUN_VECTORS(unsigned char, uchar, 2, 4)
CUDARUN_VECTORS(short, short, 4, 8)
CUDARUN_VECTORS(unsigned short, ushort, 4, 8)
CUDARUN_VECTORS(int, int, 8, 16)
CUDARUN_VECTORS(unsigned int, uint, 8, 16)
CUDARUN_VECTORS(long, long, 16, 16)
CUDARUN_VECTORS(unsigned long, ulong, 16, 16)
CUDARUN_VECTORS(long long, longlong, 16, 16)
CUDARUN_VECTORS(unsigned long long, ulonglong, 16, 16)
CUDARUN_VECTORS(float, float, 8, 16)
CUDARUN_VECTORS(double, double, 16, 16)
#undef CUDARUN_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
