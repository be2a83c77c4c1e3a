/* Asks the function of an imported module for a number that it has for an integer. 1 when there is no such function. */
static int32_t tvmgo_ask(tvmgo_import* known, const char* name, int64_t about, int64_t* number) {
  TVMFFIObjectHandle f;
  if (tvmgo_find(known, name, &f) != 0) return 1;
  TVMFFIAny arg = {.type_index = kTVMFFIInt}, result = {.type_index = kTVMFFINone};
  arg.v_int64 = about;
  const int rc = TVMFFIFunctionCall(f, &arg, 1, &result);
  *number = result.v_int64;
  return rc;
}
