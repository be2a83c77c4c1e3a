/* Lets go of a result that is not what the call said. */
static int32_t tvmgo_not_a(const char* caller, const char* callee, const char* want, TVMFFIAny* result) {
  const char* got = tvmgo_kind(result);
  tvmgo_let_go(result);
  return tvmgo_raise("TypeError", "%s: the packed function %s gave %s, expected %s", caller, callee, got, want);
}
