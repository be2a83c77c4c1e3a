TVMGO_COMMON int32_t tvmgo_float(const tvmgo_parameter* p, const TVMValue* a, int code, double* out) {
  if (code == kTVMArgInt || code == kTVMArgBool) *out = (double)a->v_int64;
  else if (code == kTVMArgFloat) *out = a->v_float64;
  else return tvmgo_expected(p, tvmgo_kind(code));
  return 0;
}
