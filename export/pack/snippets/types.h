#include <stdint.h>
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic error "-Wimplicit-function-declaration"

/* The C types that a kernel may have for a parameter of a signature. When types of functions are compared, a
 * transparent union is compatible with each of its members. */
#define TVMGO_ONE_OF(name, ...) typedef union { __VA_ARGS__ } name __attribute__((transparent_union))
#define TVMGO_PTR(T, n) T* a##n; const T* b##n; volatile T* c##n; const volatile T* d##n;
#define TVMGO_VOID TVMGO_PTR(void, 0)
#if __SIZEOF_LONG__ == 8
typedef int tvmgo_other32;
typedef unsigned int tvmgo_otheru32;
typedef long tvmgo_other64;
typedef unsigned long tvmgo_otheru64;
#else
typedef long tvmgo_other32;
typedef unsigned long tvmgo_otheru32;
typedef long long tvmgo_other64;
typedef unsigned long long tvmgo_otheru64;
#endif
#ifdef __FLT16_MAX__
#define TVMGO_HALF(n) TVMGO_PTR(_Float16, n)
#else
#define TVMGO_HALF(n)
#endif
TVMGO_ONE_OF(tvmgo_int8, int8_t a; char b;);
TVMGO_ONE_OF(tvmgo_uint8, uint8_t a; char b;);
TVMGO_ONE_OF(tvmgo_int32, int32_t a; tvmgo_other32 b; int c; uint32_t d;); /* uint32_t for enumerations, see below */
TVMGO_ONE_OF(tvmgo_uint32, uint32_t a; tvmgo_otheru32 b; unsigned c; int32_t d;);
TVMGO_ONE_OF(tvmgo_int64, int64_t a; tvmgo_other64 b; long long c;);
TVMGO_ONE_OF(tvmgo_uint64, uint64_t a; tvmgo_otheru64 b; unsigned long long c;);
typedef _Bool tvmgo_bool;
typedef int16_t tvmgo_int16;
typedef uint16_t tvmgo_uint16;
typedef float tvmgo_float32;
typedef double tvmgo_float64;
TVMGO_ONE_OF(tvmgo_p_bool,
             TVMGO_VOID TVMGO_PTR(_Bool, 1) TVMGO_PTR(uint8_t, 2) TVMGO_PTR(char, 3) TVMGO_PTR(int8_t, 4));
TVMGO_ONE_OF(tvmgo_p_int8, TVMGO_VOID TVMGO_PTR(int8_t, 1) TVMGO_PTR(char, 2));
TVMGO_ONE_OF(tvmgo_p_uint8, TVMGO_VOID TVMGO_PTR(uint8_t, 1) TVMGO_PTR(char, 2));
TVMGO_ONE_OF(tvmgo_p_int16, TVMGO_VOID TVMGO_PTR(int16_t, 1));
TVMGO_ONE_OF(tvmgo_p_uint16, TVMGO_VOID TVMGO_PTR(uint16_t, 1));
TVMGO_ONE_OF(tvmgo_p_int32, TVMGO_VOID TVMGO_PTR(int32_t, 1) TVMGO_PTR(tvmgo_other32, 2) TVMGO_PTR(int, 3));
TVMGO_ONE_OF(tvmgo_p_uint32, TVMGO_VOID TVMGO_PTR(uint32_t, 1) TVMGO_PTR(tvmgo_otheru32, 2) TVMGO_PTR(unsigned, 3));
TVMGO_ONE_OF(tvmgo_p_int64, TVMGO_VOID TVMGO_PTR(int64_t, 1) TVMGO_PTR(tvmgo_other64, 2) TVMGO_PTR(long long, 3));
TVMGO_ONE_OF(tvmgo_p_uint64,
             TVMGO_VOID TVMGO_PTR(uint64_t, 1) TVMGO_PTR(tvmgo_otheru64, 2) TVMGO_PTR(unsigned long long, 3));
TVMGO_ONE_OF(tvmgo_p_float16, TVMGO_VOID TVMGO_PTR(uint16_t, 1) TVMGO_PTR(int16_t, 2) TVMGO_HALF(3));
TVMGO_ONE_OF(tvmgo_p_float32, TVMGO_VOID TVMGO_PTR(float, 1));
TVMGO_ONE_OF(tvmgo_p_float64, TVMGO_VOID TVMGO_PTR(double, 1));
TVMGO_ONE_OF(tvmgo_p_any,
             TVMGO_VOID TVMGO_PTR(_Bool, 1) TVMGO_PTR(char, 2) TVMGO_PTR(int8_t, 3) TVMGO_PTR(uint8_t, 4)
             TVMGO_PTR(int16_t, 5) TVMGO_PTR(uint16_t, 6) TVMGO_PTR(int32_t, 7) TVMGO_PTR(uint32_t, 8)
             TVMGO_PTR(int64_t, 9) TVMGO_PTR(uint64_t, 10) TVMGO_PTR(long long, 11) TVMGO_PTR(unsigned long long, 12)
             TVMGO_PTR(float, 13) TVMGO_PTR(double, 14) TVMGO_HALF(15));

/* An enumeration is accepted for the integer of its size. Two enumerations are never the same type. */
enum tvmgo_unsigned { tvmgo_unsigned_value };
enum tvmgo_signed { tvmgo_signed_value = -1 };

/* The types that a kernel may have instead, as text for an error. */
#define TVMGO_BOTH(M, T, text) M(T*, text "*") M(const T*, "const " text "*")
#define TVMGO_TYPES(M) \
  M(_Bool, "bool") M(char, "char") M(int8_t, "int8_t") M(uint8_t, "uint8_t") M(int16_t, "int16_t") \
  M(uint16_t, "uint16_t") M(int32_t, "int32_t") M(uint32_t, "uint32_t") M(int64_t, "int64_t") M(uint64_t, "uint64_t") \
  M(long long, "long long") M(unsigned long long, "unsigned long long") M(float, "float") M(double, "double") \
  M(long double, "long double") \
  TVMGO_BOTH(M, void, "void") TVMGO_BOTH(M, _Bool, "bool") TVMGO_BOTH(M, char, "char") TVMGO_BOTH(M, int8_t, "int8_t") \
  TVMGO_BOTH(M, uint8_t, "uint8_t") TVMGO_BOTH(M, int16_t, "int16_t") TVMGO_BOTH(M, uint16_t, "uint16_t") \
  TVMGO_BOTH(M, int32_t, "int32_t") TVMGO_BOTH(M, uint32_t, "uint32_t") TVMGO_BOTH(M, int64_t, "int64_t") \
  TVMGO_BOTH(M, uint64_t, "uint64_t") TVMGO_BOTH(M, long long, "long long") \
  TVMGO_BOTH(M, unsigned long long, "unsigned long long") TVMGO_BOTH(M, float, "float") TVMGO_BOTH(M, double, "double")
