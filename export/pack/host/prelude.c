#include <stdint.h>
#include <tvm/ffi/extra/c_env_api.h>

#define TVMGO_EXPORT __attribute__((visibility("default")))
#define TVMGO_STATIC static __attribute__((unused))

/* The loader puts the library's module here, in whose imports device kernels are looked up. */
TVMGO_EXPORT void* __tvm_ffi__library_ctx = 0;

/* ---- Messages ---- */

/* An error's text in the making. Numbers are written into room, to which parts point: it is not to be copied. */
typedef struct {
  const char* parts[24];
  int32_t n;
  char room[160];
  int32_t used;
} tvmgo_message;

/* One parameter of one function. */
typedef struct {
  const char* function;
  int32_t index;
  const char* name; /* or NULL */
  const char* type; /* as the signature says it */
} tvmgo_param;

static void tvmgo_say(tvmgo_message* m, const char* text) {
  if (m->n < 24) m->parts[m->n++] = text;
}

static void tvmgo_say_int(tvmgo_message* m, int64_t value) {
  char digits[20];
  int32_t n = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do digits[n++] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (m->used + n + 2 > (int32_t)sizeof(m->room)) {
    tvmgo_say(m, "?");
    return;
  }
  tvmgo_say(m, &m->room[m->used]);
  if (value < 0) m->room[m->used++] = '-';
  while (n > 0) m->room[m->used++] = digits[--n];
  m->room[m->used++] = 0;
}

static void tvmgo_say_param(tvmgo_message* m, const tvmgo_param* p) {
  tvmgo_say(m, "argument ");
  tvmgo_say_int(m, p->index);
  if (p->name == 0) return;
  tvmgo_say(m, " (");
  tvmgo_say(m, p->name);
  tvmgo_say(m, ")");
}

TVMGO_STATIC void tvmgo_about_function(tvmgo_message* m, const char* function) {
  m->n = m->used = 0;
  tvmgo_say(m, function);
  tvmgo_say(m, ": ");
}

TVMGO_STATIC void tvmgo_about(tvmgo_message* m, const tvmgo_param* p) {
  tvmgo_about_function(m, p->function);
  tvmgo_say_param(m, p);
  tvmgo_say(m, ": ");
}

static int tvmgo_raise(tvmgo_message* m, const char* kind) {
  TVMFFIErrorSetRaisedFromCStrParts(kind, m->parts, m->n);
  return -1;
}

TVMGO_STATIC void tvmgo_say_type(tvmgo_message* m, DLDataType t) {
  static const char* const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool", "float8_e3m4", "float8_e4m3",
                                      "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
                                      "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"};
  if (t.code >= sizeof(names) / sizeof(names[0])) {
    tvmgo_say(m, "a type of code ");
    tvmgo_say_int(m, t.code);
    return;
  }
  tvmgo_say(m, names[t.code]);
  if (t.code < kDLBool) tvmgo_say_int(m, t.bits);
  if (t.lanes == 1) return;
  tvmgo_say(m, "x");
  tvmgo_say_int(m, t.lanes);
}

TVMGO_STATIC void tvmgo_say_device(tvmgo_message* m, DLDevice d) {
  static const char* const names[] = {"?", "cpu", "cuda", "cuda_host", "opencl", "?", "?", "vulkan", "metal", "vpi", "rocm", "rocm_host",
                                      "ext_dev", "cuda_managed", "oneapi", "webgpu", "hexagon", "maia"};
  int32_t type = (int32_t)d.device_type;
  if (type < 0 || type >= (int32_t)(sizeof(names) / sizeof(names[0])) || names[type][0] == '?') {
    tvmgo_say(m, "device type ");
    tvmgo_say_int(m, type);
    tvmgo_say(m, ", number ");
  } else {
    tvmgo_say(m, names[type]);
    tvmgo_say(m, ":");
  }
  tvmgo_say_int(m, d.device_id);
}

static const char* tvmgo_kind(const TVMFFIAny* a) {
  switch (a->type_index) {
    case kTVMFFINone: return "None";
    case kTVMFFIInt: return "int";
    case kTVMFFIBool: return "bool";
    case kTVMFFIFloat: return "float";
    case kTVMFFIOpaquePtr: return "a pointer";
    case kTVMFFIDataType: return "a data type";
    case kTVMFFIDevice: return "a device";
    case kTVMFFIDLTensorPtr:
    case kTVMFFITensor: return "a tensor";
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
    case kTVMFFIStr: return "a string";
    case kTVMFFIByteArrayPtr:
    case kTVMFFISmallBytes:
    case kTVMFFIBytes: return "bytes";
    case kTVMFFIFunction: return "a function";
    case kTVMFFIShape: return "a shape";
    case kTVMFFIArray:
    case kTVMFFIList: return "an array";
    case kTVMFFIMap:
    case kTVMFFIDict: return "a map";
    case kTVMFFIModule: return "a module";
  }
  return "another object";
}

/* ---- Arguments ---- */

TVMGO_STATIC int tvmgo_count(const char* function, const char* signature, const void* args, int32_t got, int32_t want) {
  if (got == want && (args != 0 || want == 0)) return 0;
  tvmgo_message m;
  tvmgo_about_function(&m, function);
  tvmgo_say(&m, "expected ");
  tvmgo_say_int(&m, want);
  tvmgo_say(&m, want == 1 ? " argument, got " : " arguments, got ");
  if (got == want) tvmgo_say(&m, "NULL");
  else tvmgo_say_int(&m, got);
  tvmgo_say(&m, ": ");
  tvmgo_say(&m, signature);
  return tvmgo_raise(&m, "TypeError");
}

static int tvmgo_expected(const tvmgo_param* p, const TVMFFIAny* a) {
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "expected ");
  tvmgo_say(&m, p->type);
  tvmgo_say(&m, ", got ");
  tvmgo_say(&m, tvmgo_kind(a));
  return tvmgo_raise(&m, "TypeError");
}

TVMGO_STATIC int tvmgo_int(const tvmgo_param* p, const TVMFFIAny* a, int64_t least, int64_t most, int64_t* out) {
  if (a->type_index != kTVMFFIInt && a->type_index != kTVMFFIBool) return tvmgo_expected(p, a);
  *out = a->v_int64;
  if (*out >= least && *out <= most) return 0;
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say_int(&m, *out);
  tvmgo_say(&m, " does not fit ");
  tvmgo_say(&m, p->type);
  return tvmgo_raise(&m, "ValueError");
}

TVMGO_STATIC int tvmgo_float(const tvmgo_param* p, const TVMFFIAny* a, double* out) {
  if (a->type_index == kTVMFFIInt || a->type_index == kTVMFFIBool) *out = (double)a->v_int64;
  else if (a->type_index == kTVMFFIFloat) *out = a->v_float64;
  else return tvmgo_expected(p, a);
  return 0;
}

TVMGO_STATIC int tvmgo_tensor(const tvmgo_param* p, const TVMFFIAny* a, const DLTensor** out) {
  if (a->type_index == kTVMFFITensor) *out = (const DLTensor*)(const void*)(a->v_obj + 1);
  else if (a->type_index == kTVMFFIDLTensorPtr && a->v_ptr != 0) *out = (const DLTensor*)a->v_ptr;
  else if (a->type_index != kTVMFFIDLTensorPtr) return tvmgo_expected(p, a);
  else {
    tvmgo_message m;
    tvmgo_about(&m, p);
    tvmgo_say(&m, "the pointer to the tensor is NULL");
    return tvmgo_raise(&m, "ValueError");
  }
  const DLTensor* t = *out;
  int wrong = t->ndim < 0 || (t->ndim > 0 && t->shape == 0);
  for (int32_t i = 0; !wrong && i < t->ndim; i++) wrong = t->shape[i] < 0;
  if (!wrong) return 0;
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "the tensor's shape makes no sense");
  return tvmgo_raise(&m, "ValueError");
}

TVMGO_STATIC int tvmgo_type(const tvmgo_param* p, const DLTensor* t, uint8_t code, uint8_t bits, uint16_t lanes) {
  if (t->dtype.code == code && t->dtype.bits == bits && t->dtype.lanes == lanes) return 0;
  if (code == kDLBool && bits == 8 && t->dtype.code == kDLUInt && t->dtype.bits == 1 && t->dtype.lanes == lanes) return 0; /* classic */
  DLDataType want = {code, bits, lanes};
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "expected ");
  tvmgo_say_type(&m, want);
  tvmgo_say(&m, ", got ");
  tvmgo_say_type(&m, t->dtype);
  return tvmgo_raise(&m, "TypeError");
}

TVMGO_STATIC int tvmgo_ndim(const tvmgo_param* p, const DLTensor* t, int32_t want) {
  if (t->ndim == want) return 0;
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "expected ");
  tvmgo_say_int(&m, want);
  tvmgo_say(&m, want == 1 ? " dimension (" : " dimensions (");
  tvmgo_say(&m, p->type);
  tvmgo_say(&m, "), got ");
  tvmgo_say_int(&m, t->ndim);
  return tvmgo_raise(&m, "ValueError");
}

/* name and by say where the size comes from that is wanted; NULL when it stands in the signature. */
TVMGO_STATIC int tvmgo_dim(const tvmgo_param* p, const DLTensor* t, int32_t dim, int64_t want, const char* name, const tvmgo_param* by) {
  if (t->shape[dim] == want) return 0;
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "dimension ");
  tvmgo_say_int(&m, dim);
  tvmgo_say(&m, " of ");
  tvmgo_say(&m, p->type);
  tvmgo_say(&m, " is ");
  tvmgo_say_int(&m, t->shape[dim]);
  tvmgo_say(&m, ", expected ");
  tvmgo_say_int(&m, want);
  if (name != 0) {
    tvmgo_say(&m, ": ");
    tvmgo_say(&m, name);
    tvmgo_say(&m, " is set by ");
    tvmgo_say_param(&m, by);
  }
  return tvmgo_raise(&m, "ValueError");
}

static int tvmgo_is_empty(const DLTensor* t) {
  for (int32_t i = 0; i < t->ndim; i++)
    if (t->shape[i] == 0) return 1;
  return 0;
}

TVMGO_STATIC int tvmgo_compact(const tvmgo_param* p, const DLTensor* t) {
  if (t->strides == 0 || tvmgo_is_empty(t)) return 0;
  int64_t step = 1;
  for (int32_t i = t->ndim; i-- > 0;) {
    int overflow = 0;
    if (t->shape[i] != 1 && t->strides[i] == step) overflow = __builtin_mul_overflow(step, t->shape[i], &step);
    else if (t->shape[i] != 1) overflow = 1;
    if (!overflow) continue;
    tvmgo_message m;
    tvmgo_about(&m, p);
    tvmgo_say(&m, "the tensor is not compact: its stride along dimension ");
    tvmgo_say_int(&m, i);
    tvmgo_say(&m, " is ");
    tvmgo_say_int(&m, t->strides[i]);
    tvmgo_say(&m, ", expected ");
    tvmgo_say_int(&m, step);
    tvmgo_say(&m, ": copy it");
    return tvmgo_raise(&m, "ValueError");
  }
  return 0;
}

TVMGO_STATIC int tvmgo_has_data(const tvmgo_param* p, const DLTensor* t) {
  if (t->data != 0 || tvmgo_is_empty(t)) return 0;
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "the tensor's data is NULL");
  return tvmgo_raise(&m, "ValueError");
}

/* Where the elements begin: an address, on devices that have such. */
TVMGO_STATIC void* tvmgo_elements(const DLTensor* t) {
  return t->data == 0 ? t->data : (void*)((uintptr_t)t->data + (uintptr_t)t->byte_offset);
}

TVMGO_STATIC int tvmgo_aligned(const tvmgo_param* p, const DLTensor* t) {
  if (((uintptr_t)t->data + (uintptr_t)t->byte_offset) % 64 == 0) return 0;
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "the elements begin ");
  tvmgo_say_int(&m, (int64_t)(((uintptr_t)t->data + (uintptr_t)t->byte_offset) % 64));
  tvmgo_say(&m, " bytes behind a multiple of 64: copy them to aligned memory");
  return tvmgo_raise(&m, "ValueError");
}

/* Whether a kernel gets a buffer from its beginning. */
TVMGO_STATIC int tvmgo_is_whole(const DLTensor* t) { return t->byte_offset == 0 || tvmgo_is_empty(t); }

TVMGO_STATIC int tvmgo_same_device(const tvmgo_param* p, const DLTensor* t, const tvmgo_param* first, const DLTensor* u) {
  if (t->device.device_type == u->device.device_type && t->device.device_id == u->device.device_id) return 0;
  tvmgo_message m;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "the tensor is on ");
  tvmgo_say_device(&m, t->device);
  tvmgo_say(&m, ", and ");
  tvmgo_say_param(&m, first);
  tvmgo_say(&m, " on ");
  tvmgo_say_device(&m, u->device);
  return tvmgo_raise(&m, "ValueError");
}

TVMGO_STATIC int tvmgo_no_variant(const char* function, DLDevice d, const char* variants) {
  tvmgo_message m;
  tvmgo_about_function(&m, function);
  tvmgo_say(&m, "the tensors are on ");
  tvmgo_say_device(&m, d);
  tvmgo_say(&m, ", and the file has the function for ");
  tvmgo_say(&m, variants);
  return tvmgo_raise(&m, "ValueError");
}

/* ---- Launch parameters ---- */

enum { TVMGO_OVERFLOW = 1, TVMGO_ZERO = 2 };

TVMGO_STATIC int64_t tvmgo_add(int64_t a, int64_t b, int* bad) {
  if (__builtin_add_overflow(a, b, &a)) *bad |= TVMGO_OVERFLOW;
  return a;
}

TVMGO_STATIC int64_t tvmgo_sub(int64_t a, int64_t b, int* bad) {
  if (__builtin_sub_overflow(a, b, &a)) *bad |= TVMGO_OVERFLOW;
  return a;
}

TVMGO_STATIC int64_t tvmgo_mul(int64_t a, int64_t b, int* bad) {
  if (__builtin_mul_overflow(a, b, &a)) *bad |= TVMGO_OVERFLOW;
  return a;
}

static int tvmgo_divides(int64_t a, int64_t b, int* bad) {
  if (b == 0) *bad |= TVMGO_ZERO;
  else if (a == INT64_MIN && b == -1) *bad |= TVMGO_OVERFLOW;
  else return 1;
  return 0;
}

TVMGO_STATIC int64_t tvmgo_div(int64_t a, int64_t b, int* bad) { return tvmgo_divides(a, b, bad) ? a / b : 0; }
TVMGO_STATIC int64_t tvmgo_mod(int64_t a, int64_t b, int* bad) { return tvmgo_divides(a, b, bad) ? a % b : 0; }

TVMGO_STATIC int64_t tvmgo_ceildiv(int64_t a, int64_t b, int* bad) {
  if (!tvmgo_divides(a, b, bad)) return 0;
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

TVMGO_STATIC int64_t tvmgo_min(int64_t a, int64_t b, int* bad) {
  (void)bad;
  return a < b ? a : b;
}

TVMGO_STATIC int64_t tvmgo_max(int64_t a, int64_t b, int* bad) {
  (void)bad;
  return a > b ? a : b;
}

TVMGO_STATIC int tvmgo_extent(const char* function, const char* tag, const char* expr, int bad, int64_t value) {
  if (bad == 0 && value >= 0 && value <= UINT32_MAX) return 0;
  tvmgo_message m;
  tvmgo_about_function(&m, function);
  tvmgo_say(&m, "launch parameter ");
  tvmgo_say(&m, tag);
  if (expr != 0) {
    tvmgo_say(&m, " = ");
    tvmgo_say(&m, expr);
  }
  if (bad & TVMGO_ZERO) tvmgo_say(&m, ": division by zero");
  else if (bad) tvmgo_say(&m, ": the result does not fit 64 bits");
  else {
    tvmgo_say(&m, " is ");
    tvmgo_say_int(&m, value);
    tvmgo_say(&m, ", expected 0 to 4294967295");
  }
  return tvmgo_raise(&m, "ValueError");
}

/* ---- Device kernels ---- */

/* What was looked up for one module: a file that is opened again while it is mapped may get another one. */
typedef struct {
  void* context;
  TVMFFIObjectHandle function;
} tvmgo_import;

TVMGO_STATIC int tvmgo_find(tvmgo_import* known, const char* name, TVMFFIObjectHandle* out) {
  void* context = __atomic_load_n(&__tvm_ffi__library_ctx, __ATOMIC_ACQUIRE);
  if (context != 0 && __atomic_load_n(&known->context, __ATOMIC_ACQUIRE) == context) {
    *out = __atomic_load_n(&known->function, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&known->context, __ATOMIC_ACQUIRE) == context) return 0;
  }
  int rc = TVMFFIEnvModLookupFromImports(context, name, out);
  if (rc != 0) return rc;
  __atomic_store_n(&known->context, (void*)0, __ATOMIC_RELEASE);
  __atomic_store_n(&known->function, *out, __ATOMIC_RELEASE);
  __atomic_store_n(&known->context, context, __ATOMIC_RELEASE);
  return 0;
}

/* For devices whose kernels take handles of buffers. Kernels of tvmgo's runtime take a tensor as well, of which they see the part of the
 * buffer that it is. Its device modules, and no others, have a function that returns what an offset must be a multiple of. */
TVMGO_STATIC int tvmgo_offset(const tvmgo_param* p, const DLTensor* t) {
  static tvmgo_import known[2];
  const int vulkan = t->device.device_type == kDLVulkan;
  TVMFFIObjectHandle alignment;
  TVMFFIAny device, result;
  tvmgo_message m;
  if (tvmgo_is_whole(t)) return 0;
  if (tvmgo_find(&known[vulkan], vulkan ? "tvmgo.vulkan.offset_alignment" : "tvmgo.opencl.offset_alignment", &alignment) != 0) {
    tvmgo_about(&m, p);
    tvmgo_say(&m, "the tensor begins ");
    tvmgo_say_int(&m, (int64_t)t->byte_offset);
    tvmgo_say(&m, " bytes inside of its buffer, and this runtime gives kernels on ");
    tvmgo_say_device(&m, t->device);
    tvmgo_say(&m, " whole buffers only: copy it, or load the file with tvmgo's runtime");
    return tvmgo_raise(&m, "ValueError");
  }
  device.type_index = kTVMFFIInt;
  device.zero_padding = 0;
  device.v_int64 = t->device.device_id;
  result.type_index = kTVMFFINone;
  result.zero_padding = 0;
  result.v_int64 = 0;
  int rc = TVMFFIFunctionCall(alignment, &device, 1, &result);
  if (rc != 0) return rc;
  if (result.v_int64 > 0 && t->byte_offset % (uint64_t)result.v_int64 == 0) return 0;
  tvmgo_about(&m, p);
  tvmgo_say(&m, "the tensor begins ");
  tvmgo_say_int(&m, (int64_t)t->byte_offset);
  tvmgo_say(&m, " bytes inside of its buffer, and kernels on ");
  tvmgo_say_device(&m, t->device);
  tvmgo_say(&m, " take a part that begins at a multiple of ");
  tvmgo_say_int(&m, result.v_int64);
  tvmgo_say(&m, " bytes: copy it to a tensor of its own");
  return tvmgo_raise(&m, "ValueError");
}

TVMGO_STATIC int tvmgo_launch(tvmgo_import* known, const char* kernel, DLDevice d, TVMFFIAny* args, int32_t n) {
  static tvmgo_import set_device;
  TVMFFIObjectHandle launch, set;
  TVMFFIAny device[2], result;
  int rc = tvmgo_find(known, kernel, &launch);
  if (rc == 0) rc = tvmgo_find(&set_device, "__tvm_set_device", &set);
  if (rc != 0) return rc;
  for (int i = 0; i < 2; i++) {
    device[i].type_index = kTVMFFIInt;
    device[i].zero_padding = 0;
    device[i].v_int64 = i == 0 ? (int64_t)d.device_type : d.device_id;
  }
  result.type_index = kTVMFFINone;
  result.zero_padding = 0;
  result.v_int64 = 0;
  rc = TVMFFIFunctionCall(set, device, 2, &result);
  if (rc == 0) rc = TVMFFIFunctionCall(launch, args, n, &result);
  return rc;
}

TVMGO_STATIC void tvmgo_pass_pointer(TVMFFIAny* a, void* pointer) {
  a->type_index = kTVMFFIOpaquePtr;
  a->zero_padding = 0;
  a->v_uint64 = 0;
  a->v_ptr = pointer;
}

/* A buffer, by its handle; a part of one by the tensor, once tvmgo_offset has found that it may be. */
TVMGO_STATIC void tvmgo_pass_buffer(TVMFFIAny* a, const DLTensor* t) {
  const int whole = tvmgo_is_whole(t);
  tvmgo_pass_pointer(a, whole ? t->data : (void*)(uintptr_t)t);
  if (!whole) a->type_index = kTVMFFIDLTensorPtr;
}

TVMGO_STATIC void tvmgo_pass_int(TVMFFIAny* a, int64_t value) {
  a->type_index = kTVMFFIInt;
  a->zero_padding = 0;
  a->v_int64 = value;
}

TVMGO_STATIC void tvmgo_pass_float(TVMFFIAny* a, double value) {
  a->type_index = kTVMFFIFloat;
  a->zero_padding = 0;
  a->v_float64 = value;
}
