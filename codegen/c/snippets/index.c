static __attribute__((noinline, cold)) int32_t tvmgo_outside(const char* function, const char* buffer, int dim, long long index, long long size) {
  return tvmgo_raise("IndexError", "%s: index %lld is outside of dimension %d of buffer %s, which has %lld: pass a larger tensor, or other indices",
                     function, index, dim, buffer, size);
}
