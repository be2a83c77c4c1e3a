//// unroll
/* Asks the compiler to write out the loop that comes next. */
#define tvmgo_pragma(text) _Pragma(#text)
#ifdef __clang__
#define tvmgo_unroll(n) tvmgo_pragma(clang loop unroll_count(n))
#else
#define tvmgo_unroll(n) tvmgo_pragma(GCC unroll n)
#endif

//// returned
/* The function ends here, without an error. */
#define TVMGO_RETURNED INT32_MAX
