//// grow: raise
/* Multiplies a number of bytes by an extent. */
static int32_t tvmgo_grow(uint64_t* bytes, int64_t extent, const char* function, const char* what, int dim) {
  if (extent < 0) {
    return tvmgo_raise("ValueError", "%s: %s: shape[%d] is %lld, which is negative", function, what, dim,
                       (long long)extent);
  }
  if (!__builtin_mul_overflow(*bytes, (uint64_t)extent, bytes) && *bytes < (uint64_t)1 << 62) return 0;
  return tvmgo_raise("MemoryError", "%s: %s: it would take more bytes than can be counted", function, what);
}

//// span: raise
/* Adds a dimension to the number of elements from a buffer's first to its last. */
static int32_t tvmgo_span(uint64_t* count, int64_t extent, int64_t stride, const char* function, const char* what,
                          int dim) {
  uint64_t way;
  if (extent < 0 || stride < 0) {
    return tvmgo_raise("ValueError", "%s: %s: shape[%d] is %lld and strides[%d] is %lld: neither may be negative",
                       function, what, dim, (long long)extent, dim, (long long)stride);
  }
  if (extent == 0) *count = 0;
  if (*count == 0) return 0;
  if (!__builtin_mul_overflow((uint64_t)extent - 1, (uint64_t)stride, &way) &&
      !__builtin_add_overflow(*count, way, count) && *count < (uint64_t)1 << 62) return 0;
  return tvmgo_raise("MemoryError", "%s: %s: it would take more elements than can be counted", function, what);
}
