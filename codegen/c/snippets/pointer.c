TVMGO_COMMON int32_t tvmgo_pointer(const tvmgo_parameter* p, const TVMFFIAny* a, void** out) {
  if (a->type_index == kTVMFFINone) *out = NULL;
  else if (a->type_index == kTVMFFIOpaquePtr || a->type_index == kTVMFFIDLTensorPtr) *out = a->v_ptr;
  else if (a->type_index == kTVMFFITensor) *out = a->v_obj + 1;
  else return tvmgo_expected(p, tvmgo_kind(a));
  return 0;
}
