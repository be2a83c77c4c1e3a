/* Compares a number of a tensor's description with what it must be. by says where that comes from; NULL of a constant. */
TVMGO_COMMON int32_t tvmgo_same(const tvmgo_parameter* p, const char* what, int64_t got, int64_t want, const char* name,
                          const char* by) {
  if (got == want) return 0;
  if (name == NULL) {
    return tvmgo_raise("ValueError", TVMGO_AT "%s is %lld, expected %lld", TVMGO_OF(p), what, (long long)got, (long long)want);
  }
  return tvmgo_raise("ValueError", TVMGO_AT "%s is %lld, expected %s = %lld%s%s%s", TVMGO_OF(p), what, (long long)got, name,
                     (long long)want, by == NULL ? "" : " (", by == NULL ? "" : by, by == NULL ? "" : ")");
}
