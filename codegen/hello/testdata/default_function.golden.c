/* default_function(A: float32[10, 10], B: float32[10, 10]) */
static int32_t default_function_body(float* A, float* B) {
  for (int32_t i0 = 0; i0 < 10; ++i0) {
    for (int32_t i1 = 0; i1 < 10; ++i1) {
      B[i0 * 10 + i1] = A[i0 * 10 + i1];
    }
  }
  return 0;
}

/* The values that tvmgo_check_0 takes from the arguments. */
typedef struct {
  void* data_0;
  void* data_1;
} tvmgo_check_0_taken;

static int32_t tvmgo_check_0(const tvmgo_parameter* p, const char* signature, const int64_t* limits, const TVMFFIAny* args, int32_t num_args,
    tvmgo_check_0_taken* taken) {
  if (tvmgo_count(p->function, signature, args, num_args, 2) != 0) return -1;
  const DLTensor* tensor_0 = NULL;
  if (tvmgo_tensor(&p[0], &args[0], (DLDataType){2, 32, 1}, 2, 4, &tensor_0) != 0) return -1;
  const DLTensor* tensor_1 = NULL;
  if (tvmgo_tensor(&p[1], &args[1], (DLDataType){2, 32, 1}, 2, 4, &tensor_1) != 0) return -1;
  if (tvmgo_contiguous(&p[0], tensor_0) != 0) return -1;
  if (tvmgo_contiguous(&p[1], tensor_1) != 0) return -1;
  if (tvmgo_same(&p[0], "shape[0]", tensor_0->shape[0], limits[0], NULL, NULL) != 0) return -1;
  if (tvmgo_same(&p[0], "shape[1]", tensor_0->shape[1], limits[1], NULL, NULL) != 0) return -1;
  if (tvmgo_same(&p[1], "shape[0]", tensor_1->shape[0], limits[2], NULL, NULL) != 0) return -1;
  if (tvmgo_same(&p[1], "shape[1]", tensor_1->shape[1], limits[3], NULL, NULL) != 0) return -1;
  void* const data_0 = tvmgo_data(tensor_0);
  void* const data_1 = tvmgo_data(tensor_1);
  const uintptr_t start_0 = (uintptr_t)data_0;
  const uint64_t size_0 = (uint64_t)limits[4];
  const uintptr_t start_1 = (uintptr_t)data_1;
  const uint64_t size_1 = (uint64_t)limits[5];
  if (start_0 != start_1 && tvmgo_overlap(start_0, size_0, start_1, size_1)) return tvmgo_overlaps(&p[0], &p[1], 0, 1, 1);
  taken->data_0 = data_0;
  taken->data_1 = data_1;
  (void)limits;
  return 0;
}

TVMGO_EXPORT int __tvm_ffi_default_function(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const tvmgo_parameter p[] = {
      {"default_function", "argument 0 (A)", "A", "float32[10, 10]"},
      {"default_function", "argument 1 (B)", "B", "float32[10, 10]"},
  };
  static const int64_t limits[] = {10, 10, 10, 10, 400, 400};
  (void)self, (void)result;
  tvmgo_check_0_taken taken;
  if (tvmgo_check_0(p, "default_function(A: float32[10, 10], B: float32[10, 10])", limits, args, num_args, &taken) != 0) return -1;
  return default_function_body((float*)taken.data_0, (float*)taken.data_1);
}
