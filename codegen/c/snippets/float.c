TVMGO_COMMON int32_t tvmgo_float(const tvmgo_parameter* p, const TVMFFIAny* a, double* out) {
  if (a->type_index == kTVMFFIInt || a->type_index == kTVMFFIBool) *out = (double)a->v_int64;
  else if (a->type_index == kTVMFFIFloat) *out = a->v_float64;
  else return tvmgo_expected(p, tvmgo_kind(a));
  return 0;
}
