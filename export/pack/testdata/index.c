#include <stdint.h>

/* Called like a function of the C library. */
void index(const int64_t* a, int64_t* out) { out[0] = a[0] * 2; }
