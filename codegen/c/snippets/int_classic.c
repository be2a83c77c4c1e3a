TVMGO_COMMON int32_t tvmgo_int(const tvmgo_parameter* p, const TVMValue* a, int code, int64_t least, int64_t most, int64_t* out) {
  if (code != kTVMArgInt && code != kTVMArgBool) return tvmgo_expected(p, tvmgo_kind(code));
  *out = a->v_int64;
  return tvmgo_range(p, *out, least, most);
}
