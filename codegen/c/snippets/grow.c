/* Multiplies a number of bytes by an extent. */
static int32_t tvmgo_grow(uint64_t* bytes, int64_t extent, const char* function, const char* what, int dim) {
  if (extent < 0) return tvmgo_raise("ValueError", "%s: %s: shape[%d] is %lld, which is negative", function, what, dim, (long long)extent);
  if (!__builtin_mul_overflow(*bytes, (uint64_t)extent, bytes) && *bytes < (uint64_t)1 << 62) return 0;
  return tvmgo_raise("MemoryError", "%s: %s: it would take more bytes than can be counted", function, what);
}
