/* Calls a function that may have been linked with this code. */
static int32_t tvmgo_call_linked(int (*linked)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*), tvmgo_import* known, const char* name,
                                 TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (linked == NULL) return tvmgo_call(known, name, args, n, result);
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return linked(NULL, args, n, result);
}
