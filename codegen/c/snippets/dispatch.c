//// dispatched
/* Returns the tensor of an argument; NULL if there is none. */
static inline const DLTensor* tvmgo_dispatched(const TVMFFIAny* args, int32_t num_args, int32_t i) {
  if (__builtin_expect(num_args <= i || args == NULL, 0)) return NULL;
  const TVMFFIAny* a = &args[i];
  if (__builtin_expect(a->type_index == kTVMFFITensor, 1)) return (const DLTensor*)(const void*)(a->v_obj + 1);
  return a->type_index == kTVMFFIDLTensorPtr ? (const DLTensor*)a->v_ptr : NULL;
}

//// call_variant: find
/* Calls a variant that may have been linked with this code, with the arguments and the result of its caller. */
static inline int tvmgo_call_variant(int (*linked)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*), tvmgo_import* known,
                                     const char* name, void* self, const TVMFFIAny* args, int32_t n,
                                     TVMFFIAny* result) {
  void* f;
  if (linked != NULL) return linked(self, args, n, result);
  if (tvmgo_find(known, name, &f) != 0) return -1;
  return TVMFFIFunctionCall(f, (TVMFFIAny*)(uintptr_t)args, n, result);
}

//// no_variant: device_text raise parameter
/* Raises the error of a tensor on a device for which the file has no variant. variants: those that it has. */
static __attribute__((noinline, cold)) int tvmgo_no_variant(const tvmgo_parameter* p, DLDevice d,
                                                            const char* variants) {
  char device[64], type[64];
  tvmgo_device_text((int)d.device_type, (int)d.device_id, device, sizeof(device));
  tvmgo_device_text((int)d.device_type, -1, type, sizeof(type));
  return tvmgo_raise("ValueError",
                     TVMGO_AT "the tensor is on %s, and the file has %s for %s: copy the tensor to a device of these, "
                     "or build %s for %s, too", TVMGO_OF(p), device, p->function, variants, p->function, type);
}

//// select: call device_text raise parameter
/* What a variant needs of its device: an attribute, by the numbers of runtime.GetDeviceAttr, that is not below least
   and not above most. The attribute 4, compute capability, is 100 * major + minor. */
typedef struct {
  int32_t variant, attribute, least, most;
} tvmgo_need;

enum { TVMGO_COMPUTE_VERSION = 4, TVMGO_KNOWN_DEVICES = 64 };

/* The variants for one type of device, in the order in which they are tried. */
typedef struct {
  int32_t variants, n;
  const tvmgo_need* needs; /* n of them */
  const char* names;       /* of the variants, for errors */
  uint8_t known[TVMGO_KNOWN_DEVICES]; /* by device number: 1 + the selected variant; 0: not selected yet */
} tvmgo_group;

/* Asks the runtime for an attribute of a device. Returns 1 if the attribute is not known. */
static int32_t tvmgo_attribute(DLDevice d, int32_t attribute, int32_t* number) {
  static tvmgo_import get;
  TVMFFIAny args[3] = {{.type_index = kTVMFFIInt}, {.type_index = kTVMFFIInt}, {.type_index = kTVMFFIInt}}, result;
  args[0].v_int64 = (int64_t)d.device_type;
  args[1].v_int64 = d.device_id;
  args[2].v_int64 = attribute;
  if (tvmgo_call(&get, "runtime.GetDeviceAttr", args, 3, &result) != 0) return -1;
  int rc = 1;
  if (result.type_index == kTVMFFIInt) {
    *number = result.v_int64 > INT32_MAX ? INT32_MAX : (int32_t)result.v_int64;
    return 0;
  }
  const char* text = NULL;
  size_t size = 0;
  if (result.type_index == kTVMFFISmallStr) {
    text = result.v_bytes;
    size = result.small_str_len;
  } else if (result.type_index == kTVMFFIStr) {
    const TVMFFIByteArray* bytes = (const TVMFFIByteArray*)(const void*)(result.v_obj + 1);
    text = bytes->data;
    size = bytes->size;
  }
  int32_t part[2] = {0, 0}, k = 0;
  for (size_t i = 0; i < size && i < 8; i++) {
    if (text[i] >= '0' && text[i] <= '9') part[k] = part[k] * 10 + (text[i] - '0'), rc = 0;
    else if (text[i] == '.' && k == 0) k = 1;
    else break;
  }
  *number = part[0] * 100 + part[1];
  if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  return rc;
}

/* Selects a variant, and remembers it. Returns -1 with an error if the device is suitable for none. */
static __attribute__((noinline, cold)) int tvmgo_select_first(tvmgo_group* g, DLDevice d, const tvmgo_parameter* p) {
  char device[64], lacks[256] = "";
  size_t used = 0;
  for (int32_t v = 0, i = 0; v < g->variants; v++) {
    int32_t fits = 1;
    for (; i < g->n && g->needs[i].variant == v; i++) {
      const tvmgo_need* need = &g->needs[i];
      int32_t number = 0;
      const int32_t rc = tvmgo_attribute(d, need->attribute, &number);
      if (rc < 0) return -1;
      if (rc == 0 && number >= need->least && number <= need->most) continue;
      fits = 0;
      if (used > 0) continue;
      if (rc != 0) used = (size_t)snprintf(lacks, sizeof(lacks), "which does not report attribute %d",
                                           (int)need->attribute);
      else if (need->attribute == TVMGO_COMPUTE_VERSION)
        used = (size_t)snprintf(lacks, sizeof(lacks), "which has compute capability %d.%d", (int)(number / 100),
                                (int)(number % 100));
      else
        used = (size_t)snprintf(lacks, sizeof(lacks), "whose %s is %d",
                                need->attribute == 1   ? "max_threads_per_block"
                                : need->attribute == 2 ? "thread_warp_size"
                                                       : "max_shared_memory_per_block", (int)number);
    }
    if (!fits) continue;
    if ((uint32_t)d.device_id < TVMGO_KNOWN_DEVICES)
      __atomic_store_n(&g->known[d.device_id], (uint8_t)(v + 1), __ATOMIC_RELAXED);
    return v;
  }
  tvmgo_device_text((int)d.device_type, (int)d.device_id, device, sizeof(device));
  return tvmgo_raise("ValueError",
                     TVMGO_AT "the tensor is on %s, %s, and the file has %s for %s: build it for a target that this "
                     "device is suitable for, too", TVMGO_OF(p), device, lacks, p->function, g->names);
}

static inline int tvmgo_select(tvmgo_group* g, DLDevice d, const tvmgo_parameter* p) {
  if ((uint32_t)d.device_id < TVMGO_KNOWN_DEVICES) {
    const uint8_t known = __atomic_load_n(&g->known[d.device_id], __ATOMIC_RELAXED);
    if (known != 0) return known - 1;
  }
  return tvmgo_select_first(g, d, p);
}
