/* Asks the function of an imported module for a number that it has for an integer. 1 when there is no such function. */
static int32_t tvmgo_ask(tvmgo_import* known, const char* name, int64_t about, int64_t* number) {
  TVMFunctionHandle f;
  if (tvmgo_find(known, name, &f) != 0) return 1;
  TVMValue arg = {.v_int64 = about}, result = {.v_int64 = 0};
  int code = kTVMArgInt, got = kTVMNullptr;
  const int rc = TVMFuncCall(f, &arg, &code, 1, &result, &got);
  *number = result.v_int64;
  return rc;
}
