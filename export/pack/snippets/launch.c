//// no_variant: device_text raise
/* Raises the error of tensors on a device for which the file has no kernel. */
static int32_t tvmgo_no_variant(const char* function, DLDevice d, const char* variants) {
  char device[64];
  tvmgo_device_text((int)d.device_type, (int)d.device_id, device, sizeof(device));
  return tvmgo_raise("ValueError", "%s: the tensors are on %s, and the file has the function for %s", function, device,
                     variants);
}

//// wrong
/* What went wrong in the expression of a launch parameter: bits of a variable wrong. */
enum { TVMGO_OVERFLOW = 1, TVMGO_ZERO = 2 };

//// add: wrong
static inline int64_t tvmgo_add(int64_t a, int64_t b, int* wrong) {
  if (__builtin_add_overflow(a, b, &a)) *wrong |= TVMGO_OVERFLOW;
  return a;
}

//// sub: wrong
static inline int64_t tvmgo_sub(int64_t a, int64_t b, int* wrong) {
  if (__builtin_sub_overflow(a, b, &a)) *wrong |= TVMGO_OVERFLOW;
  return a;
}

//// mul: wrong
static inline int64_t tvmgo_mul(int64_t a, int64_t b, int* wrong) {
  if (__builtin_mul_overflow(a, b, &a)) *wrong |= TVMGO_OVERFLOW;
  return a;
}

//// divides: wrong
static inline int tvmgo_divides(int64_t a, int64_t b, int* wrong) {
  if (b == 0) *wrong |= TVMGO_ZERO;
  else if (a == INT64_MIN && b == -1) *wrong |= TVMGO_OVERFLOW;
  else return 1;
  return 0;
}

//// div: divides
static inline int64_t tvmgo_div(int64_t a, int64_t b, int* wrong) { return tvmgo_divides(a, b, wrong) ? a / b : 0; }

//// mod: divides
static inline int64_t tvmgo_mod(int64_t a, int64_t b, int* wrong) { return tvmgo_divides(a, b, wrong) ? a % b : 0; }

//// ceildiv: divides
static inline int64_t tvmgo_ceildiv(int64_t a, int64_t b, int* wrong) {
  if (!tvmgo_divides(a, b, wrong)) return 0;
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

//// min
static inline int64_t tvmgo_min(int64_t a, int64_t b, int* wrong) {
  (void)wrong;
  return a < b ? a : b;
}

//// max
static inline int64_t tvmgo_max(int64_t a, int64_t b, int* wrong) {
  (void)wrong;
  return a > b ? a : b;
}

//// launch_extent: wrong raise
/* Checks the value of a launch parameter. expr: its expression, "" if the caller passes the value. */
static int32_t tvmgo_launch_extent(const char* function, const char* tag, const char* expr, int wrong, int64_t value) {
  if (wrong == 0 && value >= 0 && value <= UINT32_MAX) return 0;
  const char* is = *expr != 0 ? " = " : "";
  if (wrong == 0) {
    return tvmgo_raise("ValueError", "%s: launch parameter %s%s%s is %lld, expected 0 to 4294967295", function, tag, is,
                       expr, (long long)value);
  }
  return tvmgo_raise("ValueError", "%s: launch parameter %s%s%s: %s", function, tag, is, expr,
                     (wrong & TVMGO_ZERO) != 0 ? "division by zero" : "the result does not fit 64 bits");
}

//// launch: call
/* Makes a device the current one of this thread, and launches a kernel on it. */
static int32_t tvmgo_launch(tvmgo_import* known, const char* kernel, DLDevice d, TVMFFIAny* args, int32_t n) {
  static tvmgo_import set_device;
  TVMFFIAny device[2] = {{.type_index = kTVMFFIInt}, {.type_index = kTVMFFIInt}}, result;
  device[0].v_int64 = (int64_t)d.device_type;
  device[1].v_int64 = d.device_id;
  const int32_t rc = tvmgo_call(&set_device, "__tvm_set_device", device, 2, &result);
  return rc != 0 ? rc : tvmgo_call(known, kernel, args, n, &result);
}
