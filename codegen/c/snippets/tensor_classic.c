TVMGO_COMMON int32_t tvmgo_tensor(const tvmgo_parameter* p, const TVMValue* a, int code, DLDataType type, int32_t ndim,
                            unsigned alignment, const DLTensor** out) {
  if (code != kTVMDLTensorHandle && code != kTVMNDArrayHandle) return tvmgo_expected(p, tvmgo_kind(code));
  *out = (const DLTensor*)a->v_handle;
  return tvmgo_described(p, *out, type, ndim, alignment);
}
