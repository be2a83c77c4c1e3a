TVMGO_COMMON int32_t tvmgo_tensor(const tvmgo_parameter* p, const TVMFFIAny* a, DLDataType type, int32_t ndim, unsigned alignment,
                            const DLTensor** out) {
  if (a->type_index == kTVMFFITensor) *out = (const DLTensor*)(const void*)(a->v_obj + 1);
  else if (a->type_index == kTVMFFIDLTensorPtr) *out = (const DLTensor*)a->v_ptr;
  else return tvmgo_expected(p, tvmgo_kind(a));
  return tvmgo_described(p, *out, type, ndim, alignment);
}
