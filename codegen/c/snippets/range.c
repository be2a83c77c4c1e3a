TVMGO_COMMON int32_t tvmgo_range(const tvmgo_parameter* p, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "%lld does not fit %s", TVMGO_OF(p), (long long)value, p->type);
}
