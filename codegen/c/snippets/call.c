/* Calls what a packed call names. The result is to be let go of by whoever takes it. */
static int32_t tvmgo_call(tvmgo_import* known, const char* name, TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObjectHandle f;
  const int rc = tvmgo_find(known, name, &f);
  if (rc != 0) return rc;
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return TVMFFIFunctionCall(f, args, n, result);
}
