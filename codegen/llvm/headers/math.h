/* The declarations of the C library's <math.h> that generated code uses: the same for each machine, so that generated
 * code needs no header of the C library. */
#ifndef TVMGO_LLVM_MATH_H_
#define TVMGO_LLVM_MATH_H_

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define HUGE_VAL __builtin_inf()
#define HUGE_VALF __builtin_inff()

#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define isnormal(x) __builtin_isnormal(x)
#define signbit(x) __builtin_signbit(x)

#define TVMGO_FLOATS1(name) \
  double name(double);      \
  float name##f(float);
#define TVMGO_FLOATS2(name)     \
  double name(double, double);  \
  float name##f(float, float);
#define TVMGO_FLOATS3(name)             \
  double name(double, double, double);  \
  float name##f(float, float, float);

TVMGO_FLOATS1(acos) TVMGO_FLOATS1(acosh) TVMGO_FLOATS1(asin) TVMGO_FLOATS1(asinh) TVMGO_FLOATS1(atan)
TVMGO_FLOATS1(atanh) TVMGO_FLOATS1(cbrt) TVMGO_FLOATS1(ceil) TVMGO_FLOATS1(cos) TVMGO_FLOATS1(cosh) TVMGO_FLOATS1(erf)
TVMGO_FLOATS1(erfc) TVMGO_FLOATS1(exp) TVMGO_FLOATS1(exp2) TVMGO_FLOATS1(expm1) TVMGO_FLOATS1(fabs)
TVMGO_FLOATS1(floor) TVMGO_FLOATS1(lgamma) TVMGO_FLOATS1(log) TVMGO_FLOATS1(log10) TVMGO_FLOATS1(log1p)
TVMGO_FLOATS1(log2) TVMGO_FLOATS1(logb) TVMGO_FLOATS1(nearbyint) TVMGO_FLOATS1(rint) TVMGO_FLOATS1(round)
TVMGO_FLOATS1(sin) TVMGO_FLOATS1(sinh) TVMGO_FLOATS1(sqrt) TVMGO_FLOATS1(tan) TVMGO_FLOATS1(tanh)
TVMGO_FLOATS1(tgamma) TVMGO_FLOATS1(trunc)
TVMGO_FLOATS2(atan2) TVMGO_FLOATS2(copysign) TVMGO_FLOATS2(fdim) TVMGO_FLOATS2(fmax) TVMGO_FLOATS2(fmin)
TVMGO_FLOATS2(fmod) TVMGO_FLOATS2(hypot) TVMGO_FLOATS2(nextafter) TVMGO_FLOATS2(pow) TVMGO_FLOATS2(remainder)
TVMGO_FLOATS3(fma)
double ldexp(double, int);
float ldexpf(float, int);
double frexp(double, int*);
float frexpf(float, int*);
long lround(double);
long lroundf(float);
long lrint(double);
long lrintf(float);

#undef TVMGO_FLOATS1
#undef TVMGO_FLOATS2
#undef TVMGO_FLOATS3

#endif
