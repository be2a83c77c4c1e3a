//// int: expected raise
TVMGO_SHARED int32_t tvmgo_int(const tvmgo_parameter* p, TVMGO_ARGUMENT, int64_t least, int64_t most, int64_t* out) {
  if (!TVMGO_IS_INT) return tvmgo_expected(p, TVMGO_A);
  *out = a->v_int64;
  if (*out >= least && *out <= most) return 0;
  return tvmgo_raise("ValueError", TVMGO_AT "%lld does not fit %s", TVMGO_OF(p), (long long)*out, p->type);
}

//// float: expected
TVMGO_SHARED int32_t tvmgo_float(const tvmgo_parameter* p, TVMGO_ARGUMENT, double* out) {
  if (TVMGO_IS_INT) *out = (double)a->v_int64;
  else if (TVMGO_IS_FLOAT) *out = a->v_float64;
  else return tvmgo_expected(p, TVMGO_A);
  return 0;
}

//// pointer: expected
TVMGO_SHARED int32_t tvmgo_pointer(const tvmgo_parameter* p, TVMGO_ARGUMENT, void** out) {
  if (a->type_index == kTVMFFINone) *out = NULL;
  else if (a->type_index == kTVMFFIOpaquePtr || a->type_index == kTVMFFIDLTensorPtr) *out = a->v_ptr;
  else if (a->type_index == kTVMFFITensor) *out = a->v_obj + 1;
  else return tvmgo_expected(p, TVMGO_A);
  return 0;
}

//// pointer classic
TVMGO_SHARED int32_t tvmgo_pointer(const tvmgo_parameter* p, TVMGO_ARGUMENT, void** out) {
  if (code == kTVMNullptr) *out = NULL;
  else if (code == kTVMOpaqueHandle || code == kTVMDLTensorHandle || code == kTVMNDArrayHandle) *out = a->v_handle;
  else return tvmgo_expected(p, TVMGO_A);
  return 0;
}

//// tensor_of: expected raise
/* Takes the tensor of an argument. */
static inline int32_t tvmgo_tensor_of(const tvmgo_parameter* p, TVMGO_ARGUMENT, const DLTensor** out) {
  if (a->type_index == kTVMFFITensor) *out = (const DLTensor*)(const void*)(a->v_obj + 1);
  else if (a->type_index == kTVMFFIDLTensorPtr) *out = (const DLTensor*)a->v_ptr;
  else return tvmgo_expected(p, TVMGO_A);
  return *out != NULL ? 0 : tvmgo_raise("ValueError", TVMGO_AT "the pointer to the tensor is NULL", TVMGO_OF(p));
}

//// tensor_of classic
/* Takes the tensor of an argument. */
static inline int32_t tvmgo_tensor_of(const tvmgo_parameter* p, TVMGO_ARGUMENT, const DLTensor** out) {
  if (code != kTVMDLTensorHandle && code != kTVMNDArrayHandle) return tvmgo_expected(p, TVMGO_A);
  *out = (const DLTensor*)a->v_handle;
  return *out != NULL ? 0 : tvmgo_raise("ValueError", TVMGO_AT "the pointer to the tensor is NULL", TVMGO_OF(p));
}

//// tensor: tensor_of shaped placed aligned
/* Takes a tensor of the CPU, and checks everything that does not depend on other arguments. */
TVMGO_SHARED int32_t tvmgo_tensor(const tvmgo_parameter* p, TVMGO_ARGUMENT, DLDataType type, int32_t ndim,
                                  unsigned alignment, const DLTensor** out) {
  if (tvmgo_tensor_of(p, TVMGO_A, out) != 0 || tvmgo_shaped(p, *out, type, ndim) != 0) return -1;
  if (tvmgo_placed(p, *out, kDLCPU, NULL, NULL) != 0) return -1;
  return tvmgo_aligned(p, *out, alignment);
}

//// device_tensor: tensor_of shaped placed
/* Takes a tensor of a device; see tvmgo_placed. */
TVMGO_SHARED int32_t tvmgo_device_tensor(const tvmgo_parameter* p, TVMGO_ARGUMENT, DLDataType type, int32_t ndim,
                                         int device, const tvmgo_parameter* by, const DLTensor* first,
                                         const DLTensor** out) {
  if (tvmgo_tensor_of(p, TVMGO_A, out) != 0 || tvmgo_shaped(p, *out, type, ndim) != 0) return -1;
  return tvmgo_placed(p, *out, device, by, first);
}

//// any_tensor: tensor_of extents placed
/* Takes a tensor of any type and shape on a device; see tvmgo_placed. */
TVMGO_SHARED int32_t tvmgo_any_tensor(const tvmgo_parameter* p, TVMGO_ARGUMENT, int device, const tvmgo_parameter* by,
                                      const DLTensor* first, const DLTensor** out) {
  if (tvmgo_tensor_of(p, TVMGO_A, out) != 0 || tvmgo_extents(p, *out) != 0) return -1;
  return tvmgo_placed(p, *out, device, by, first);
}
