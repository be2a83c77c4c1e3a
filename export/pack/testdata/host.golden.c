
extern void tvmgo_cpu_add(float*, float*, float*, int32_t) __asm__("tvmgo_kernel_add");
static tvmgo_import tvmgo_cuda_add;
static tvmgo_import tvmgo_opencl_add;

/* add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32) launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64, tirx.use_dyn_shared_memory=4*n */
TVMGO_EXPORT int __tvm_ffi_add(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const tvmgo_parameter p[] = {
      {"add", "argument 0 (a)", "a", "float32[n]"},
      {"add", "argument 1 (b)", "b", "float32[n]"},
      {"add", "argument 2 (c)", "c", "float32[n]"},
      {"add", "argument 3 (n)", "n", "int32"},
  };
  const DLTensor* t0 = 0;
  const DLTensor* t1 = 0;
  const DLTensor* t2 = 0;
  int64_t v_n = 0;
  (void)p;
  (void)self, (void)result;
  if (tvmgo_count("add", "add(a: const float32[n], b: const float32[n], c: out float32[n], n: int32)", args, num_args, 4) != 0) return -1;
  if (tvmgo_device_tensor(&p[0], &args[0], (DLDataType){2, 32, 1}, 1, 0, NULL, NULL, &t0) != 0) return -1;
  if (tvmgo_contiguous(&p[0], t0) != 0) return -1;
  if (tvmgo_device_tensor(&p[1], &args[1], (DLDataType){2, 32, 1}, 1, (int)t0->device.device_type, &p[0], t0, &t1) != 0) return -1;
  if (tvmgo_contiguous(&p[1], t1) != 0) return -1;
  if (tvmgo_device_tensor(&p[2], &args[2], (DLDataType){2, 32, 1}, 1, (int)t0->device.device_type, &p[0], t0, &t2) != 0) return -1;
  if (tvmgo_contiguous(&p[2], t2) != 0) return -1;
  if (tvmgo_int(&p[3], &args[3], INT32_MIN, INT32_MAX, &v_n) != 0) return -1;
  if (tvmgo_same(&p[0], "shape[0]", t0->shape[0], v_n, "n", "argument 3 (n)") != 0) return -1;
  if (tvmgo_same(&p[1], "shape[0]", t1->shape[0], v_n, "n", "argument 3 (n)") != 0) return -1;
  if (tvmgo_same(&p[2], "shape[0]", t2->shape[0], v_n, "n", "argument 3 (n)") != 0) return -1;
  const DLDevice device = t0->device;
  if ((int32_t)device.device_type == 1) {
    tvmgo_cpu_add((float*)tvmgo_data(t0), (float*)tvmgo_data(t1), (float*)tvmgo_data(t2), (int32_t)v_n);
    return 0;
  }
  if ((int32_t)device.device_type == 2) {
    TVMFFIAny a[7] = {0};
    a[0].type_index = kTVMFFIOpaquePtr;
    a[0].v_ptr = tvmgo_data(t0);
    a[1].type_index = kTVMFFIOpaquePtr;
    a[1].v_ptr = tvmgo_data(t1);
    a[2].type_index = kTVMFFIOpaquePtr;
    a[2].v_ptr = tvmgo_data(t2);
    a[3].type_index = kTVMFFIInt;
    a[3].v_int64 = v_n;
    { /* blockIdx.x */
      int wrong = 0;
      const int64_t extent = tvmgo_ceildiv(v_n, INT64_C(64), &wrong);
      if (tvmgo_launch_extent("add", "blockIdx.x", "ceildiv(n, 64)", wrong, extent) != 0) return -1;
      if (extent == 0) return 0;
      a[4].type_index = kTVMFFIInt;
      a[4].v_int64 = extent;
    }
    { /* threadIdx.x */
      int wrong = 0;
      const int64_t extent = INT64_C(64);
      if (tvmgo_launch_extent("add", "threadIdx.x", "64", wrong, extent) != 0) return -1;
      if (extent == 0) return 0;
      a[5].type_index = kTVMFFIInt;
      a[5].v_int64 = extent;
    }
    { /* tirx.use_dyn_shared_memory */
      int wrong = 0;
      const int64_t extent = tvmgo_mul(INT64_C(4), v_n, &wrong);
      if (tvmgo_launch_extent("add", "tirx.use_dyn_shared_memory", "4*n", wrong, extent) != 0) return -1;
      a[6].type_index = kTVMFFIInt;
      a[6].v_int64 = extent;
    }
    return tvmgo_launch(&tvmgo_cuda_add, "add_cuda", device, a, 7);
  }
  if ((int32_t)device.device_type == 4) {
    if (t0->byte_offset != 0 && tvmgo_offset(&p[0], t0, &tvmgo_offset_opencl, "tvmgo.opencl.offset_alignment") != 0) return -1;
    if (t1->byte_offset != 0 && tvmgo_offset(&p[1], t1, &tvmgo_offset_opencl, "tvmgo.opencl.offset_alignment") != 0) return -1;
    if (t2->byte_offset != 0 && tvmgo_offset(&p[2], t2, &tvmgo_offset_opencl, "tvmgo.opencl.offset_alignment") != 0) return -1;
    TVMFFIAny a[7] = {0};
    tvmgo_pass_buffer(&a[0], t0->data, t0);
    tvmgo_pass_buffer(&a[1], t1->data, t1);
    tvmgo_pass_buffer(&a[2], t2->data, t2);
    a[3].type_index = kTVMFFIInt;
    a[3].v_int64 = v_n;
    { /* blockIdx.x */
      int wrong = 0;
      const int64_t extent = tvmgo_ceildiv(v_n, INT64_C(64), &wrong);
      if (tvmgo_launch_extent("add", "blockIdx.x", "ceildiv(n, 64)", wrong, extent) != 0) return -1;
      if (extent == 0) return 0;
      a[4].type_index = kTVMFFIInt;
      a[4].v_int64 = extent;
    }
    { /* threadIdx.x */
      int wrong = 0;
      const int64_t extent = INT64_C(64);
      if (tvmgo_launch_extent("add", "threadIdx.x", "64", wrong, extent) != 0) return -1;
      if (extent == 0) return 0;
      a[5].type_index = kTVMFFIInt;
      a[5].v_int64 = extent;
    }
    { /* tirx.use_dyn_shared_memory */
      int wrong = 0;
      const int64_t extent = tvmgo_mul(INT64_C(4), v_n, &wrong);
      if (tvmgo_launch_extent("add", "tirx.use_dyn_shared_memory", "4*n", wrong, extent) != 0) return -1;
      a[6].type_index = kTVMFFIInt;
      a[6].v_int64 = extent;
    }
    return tvmgo_launch(&tvmgo_opencl_add, "add", device, a, 7);
  }
  return tvmgo_no_variant("add", device, "cpu, cuda, opencl");
}

TVMGO_EXPORT int __tvm_ffi__metadata_add(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const char text[] =
      "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":\\\"No"
      "ne\\\"}],\\\"params\\\":[{\\\"type\\\":\\\"DLTensor*\\\"},{\\\"type\\\":\\\"DLTensor*\\\"},{\\\"type\\\":\\\"D"
      "LTensor*\\\"},{\\\"type\\\":\\\"int\\\"}]}}\",\"signature\":\"add(a: const float32[n], b: const float32[n], c:"
      " out float32[n], n: int32) launch blockIdx.x=ceildiv(n, 64), threadIdx.x=64, tirx.use_dyn_shared_memory=4*n\","
      "\"args\":[{\"name\":\"a\",\"kind\":\"tensor\",\"dtype\":\"float32\",\"shape\":[\"n\"],\"access\":\"const\"},{\""
      "name\":\"b\",\"kind\":\"tensor\",\"dtype\":\"float32\",\"shape\":[\"n\"],\"access\":\"const\"},{\"name\":\"c\""
      ",\"kind\":\"tensor\",\"dtype\":\"float32\",\"shape\":[\"n\"],\"access\":\"out\"},{\"name\":\"n\",\"kind\":\"sc"
      "alar\",\"dtype\":\"int32\"}],\"launch\":[{\"tag\":\"blockIdx.x\",\"expr\":\"ceildiv(n, 64)\"},{\"tag\":\"threa"
      "dIdx.x\",\"expr\":\"64\"},{\"tag\":\"tirx.use_dyn_shared_memory\",\"expr\":\"4*n\"}],\"targets\":[{\"device\":"
      "\"cpu\",\"format\":\"c\",\"target\":\"c\"},{\"device\":\"cuda\",\"format\":\"ptx\",\"target\":\"cuda\"},{\"dev"
      "ice\":\"opencl\",\"format\":\"cl\",\"target\":\"opencl\"}],\"builder\":\"tvmgo\",\"content_hash\":\"sha256:6ac"
      "9bf739cbbb707c4888a9a304c2d005d4cca81ee495b61fdfbfd4d27fd22a5\"}";
  (void)self, (void)args, (void)num_args;
  return tvmgo_text(text, sizeof text - 1, result);
}

TVMGO_EXPORT int __tvm_ffi__doc_add(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const char text[] =
      "Adds two vectors.";
  (void)self, (void)args, (void)num_args;
  return tvmgo_text(text, sizeof text - 1, result);
}
