/* A size that the code keeps in a smaller type. */
TVMGO_COMMON int32_t tvmgo_fits(const tvmgo_parameter* p, const char* what, int64_t value, int64_t least, int64_t most,
                          const char* type) {
  if (value >= least && value <= most) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "%s is %lld, which does not fit %s", TVMGO_OF(p), what, (long long)value, type);
}
