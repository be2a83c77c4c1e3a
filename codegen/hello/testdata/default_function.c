/* default_function(A: float32[10, 10], B: float32[10, 10]) */
static int32_t default_function_body(float* A, float* B) {
  for (int32_t i0 = 0; i0 < 10; ++i0) {
    for (int32_t i1 = 0; i1 < 10; ++i1) {
      B[i0 * 10 + i1] = A[i0 * 10 + i1];
    }
  }
  return 0;
}

TVMGO_EXPORT int __tvm_ffi_default_function(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const tvmgo_parameter p[] = {
      {"default_function", 0, "A", "float32[10, 10]"},
      {"default_function", 1, "B", "float32[10, 10]"},
  };
  (void)self, (void)result;
  if (tvmgo_count("default_function", "default_function(A: float32[10, 10], B: float32[10, 10])", args, num_args, 2) != 0) return -1;
  const DLTensor* A_tensor = NULL;
  if (tvmgo_tensor(&p[0], &args[0], (DLDataType){2, 32, 1}, 2, 4, &A_tensor) != 0) return -1;
  const DLTensor* B_tensor = NULL;
  if (tvmgo_tensor(&p[1], &args[1], (DLDataType){2, 32, 1}, 2, 4, &B_tensor) != 0) return -1;
  if (tvmgo_compact(&p[0], A_tensor) != 0) return -1;
  if (tvmgo_compact(&p[1], B_tensor) != 0) return -1;
  if (tvmgo_same(&p[0], "shape[0]", A_tensor->shape[0], 10, NULL, NULL) != 0) return -1;
  if (tvmgo_same(&p[0], "shape[1]", A_tensor->shape[1], 10, NULL, NULL) != 0) return -1;
  if (tvmgo_same(&p[1], "shape[0]", B_tensor->shape[0], 10, NULL, NULL) != 0) return -1;
  if (tvmgo_same(&p[1], "shape[1]", B_tensor->shape[1], 10, NULL, NULL) != 0) return -1;
  return default_function_body((float*)tvmgo_data(A_tensor), (float*)tvmgo_data(B_tensor));
}
