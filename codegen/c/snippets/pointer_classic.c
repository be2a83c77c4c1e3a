TVMGO_COMMON int32_t tvmgo_pointer(const tvmgo_parameter* p, const TVMValue* a, int code, void** out) {
  if (code == kTVMNullptr) *out = NULL;
  else if (code == kTVMOpaqueHandle || code == kTVMDLTensorHandle || code == kTVMNDArrayHandle) *out = a->v_handle;
  else return tvmgo_expected(p, tvmgo_kind(code));
  return 0;
}
