TVMGO_COMMON int32_t tvmgo_int(const tvmgo_parameter* p, const TVMFFIAny* a, int64_t least, int64_t most, int64_t* out) {
  if (a->type_index != kTVMFFIInt && a->type_index != kTVMFFIBool) return tvmgo_expected(p, tvmgo_kind(a));
  *out = a->v_int64;
  return tvmgo_range(p, *out, least, most);
}
