/* Lets go of a result that is not what the call said. */
static int32_t tvmgo_not_a(const char* caller, const char* callee, const char* want, TVMValue result, int code) {
  tvmgo_let_go(result, code);
  return tvmgo_raise("TypeError", "%s: the packed function %s gave %s, expected %s", caller, callee, tvmgo_kind(code), want);
}
