/* Calls what a packed call names. The result is to be let go of by whoever takes it. */
static int32_t tvmgo_call(tvmgo_import* known, const char* name, TVMValue* args, int* codes, int n, TVMValue* result, int* code) {
  TVMFunctionHandle f;
  const int rc = tvmgo_find(known, name, &f);
  if (rc != 0) return rc;
  result->v_int64 = 0;
  *code = kTVMNullptr;
  return TVMFuncCall(f, args, codes, n, result, code);
}
