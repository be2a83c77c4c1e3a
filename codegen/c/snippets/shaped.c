TVMGO_COMMON void tvmgo_type_text(DLDataType t, char* out, size_t size) {
  static const char* const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool", "float8_e3m4", "float8_e4m3",
                                      "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
                                      "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"};
  int used;
  if (t.code >= sizeof(names) / sizeof(names[0])) used = snprintf(out, size, "a type of code %d", t.code);
  else if (t.code < kDLBool) used = snprintf(out, size, "%s%d", names[t.code], t.bits);
  else used = snprintf(out, size, "%s", names[t.code]);
  if (t.lanes != 1) snprintf(out + used, size - (size_t)used, "x%d", t.lanes);
}

TVMGO_COMMON void tvmgo_device_text(DLDevice d, char* out, size_t size) {
  static const char* const names[] = {"", "cpu", "cuda", "cuda_host", "opencl", "", "", "vulkan", "metal", "vpi", "rocm",
                                      "rocm_host", "ext_dev", "cuda_managed", "oneapi", "webgpu", "hexagon", "maia"};
  const int type = (int)d.device_type;
  if (type <= 0 || type >= (int)(sizeof(names) / sizeof(names[0])) || names[type][0] == 0)
    snprintf(out, size, "a device of type %d", type);
  else snprintf(out, size, "%s:%d", names[type], (int)d.device_id);
}

/* Whether a tensor has no element, whose address then may be anything. */
static int tvmgo_is_empty(const DLTensor* t) {
  for (int32_t i = 0; i < t->ndim; i++)
    if (t->shape[i] == 0) return 1;
  return 0;
}

/* All about a tensor that neither its device nor another argument decides. */
TVMGO_COMMON int32_t tvmgo_shaped(const tvmgo_parameter* p, const DLTensor* t, DLDataType type, int32_t ndim) {
  char want[64], got[64];
  if (t == NULL) {
    return tvmgo_raise("ValueError", TVMGO_AT "the pointer to the tensor is NULL", TVMGO_OF(p));
  }
  if (t->ndim != ndim) {
    return tvmgo_raise("ValueError", TVMGO_AT "expected %d %s (%s), got %d", TVMGO_OF(p), (int)ndim,
                       ndim == 1 ? "dimension" : "dimensions", p->type, (int)t->ndim);
  }
  if (t->ndim > 0 && t->shape == NULL) {
    return tvmgo_raise("ValueError", TVMGO_AT "the tensor's shape is NULL", TVMGO_OF(p));
  }
  for (int32_t i = 0; i < t->ndim; i++) {
    if (t->shape[i] >= 0 && t->shape[i] <= (int64_t)1 << 48) continue;
    return tvmgo_raise("ValueError", TVMGO_AT "shape[%d] is %lld, which is %s", TVMGO_OF(p), (int)i, (long long)t->shape[i],
                       t->shape[i] < 0 ? "negative" : "more than memory can hold");
  }
  const int is_type = t->dtype.code == type.code && t->dtype.bits == type.bits && t->dtype.lanes == type.lanes;
  const int is_old_bool = type.code == kDLBool && t->dtype.code == kDLUInt && t->dtype.bits == 1 && t->dtype.lanes == type.lanes;
  if (!is_type && !is_old_bool) {
    tvmgo_type_text(type, want, sizeof(want));
    tvmgo_type_text(t->dtype, got, sizeof(got));
    return tvmgo_raise("TypeError", TVMGO_AT "expected %s, got %s", TVMGO_OF(p), want, got);
  }
  return 0;
}
