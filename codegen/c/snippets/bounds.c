//// outside: raise
static __attribute__((noinline, cold)) int32_t tvmgo_outside(const char* function, const char* buffer, int dim,
                                                             long long index, long long size) {
  return tvmgo_raise("IndexError",
                     "%s: index %lld is outside of dimension %d of buffer %s, which has %lld: pass a larger tensor, or "
                     "other indices", function, index, dim, buffer, size);
}

//// report
/* Records the first index outside of its dimension. Returns false. */
static bool tvmgo_report(int64_t* record, int32_t access, int64_t index, int64_t size) {
  int32_t none = 0;
  if (__atomic_compare_exchange_n((int32_t*)record, &none, access, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    record[1] = index;
    record[2] = size;
  }
  return false;
}

//// reports: outside call
/* The buffer and the dimension of an access of a kernel. */
typedef struct {
  const char* buffer;
  int dim;
} tvmgo_access;

/* The first index outside of its dimension, as kernels report it. access counts from 1; 0: there is none. */
typedef struct {
  int32_t access, unused;
  int64_t index, size;
} tvmgo_record;

static int32_t tvmgo_copy_record(tvmgo_import* known, const char* name, int type, int id, void* on_device,
                                 tvmgo_record* here) {
  int64_t shape[1] = {3};
  DLTensor t;
  TVMFFIAny args[3], result;
  memset(&t, 0, sizeof(t));
  memset(args, 0, sizeof(args));
  t.data = on_device;
  t.device.device_type = (DLDeviceType)type;
  t.device.device_id = id;
  t.ndim = 1;
  t.dtype.code = kDLInt;
  t.dtype.bits = 64;
  t.dtype.lanes = 1;
  t.shape = shape;
  args[0].type_index = kTVMFFIDLTensorPtr;
  args[0].v_ptr = &t;
  args[1].type_index = kTVMFFIOpaquePtr;
  args[1].v_ptr = here;
  args[2].type_index = kTVMFFIInt;
  args[2].v_int64 = (int64_t)sizeof(*here);
  return tvmgo_call(known, name, args, 3, &result);
}

static int32_t tvmgo_clear_reports(tvmgo_import* copy, int type, int id, void* on_device) {
  tvmgo_record none = {0, 0, 0, 0};
  return tvmgo_copy_record(copy, "runtime.TVMTensorCopyFromBytes", type, id, on_device, &none);
}

static int32_t tvmgo_check_reports(tvmgo_import* copy, int type, int id, void* on_device, const char* function,
                                   const tvmgo_access* accesses, int n) {
  tvmgo_record got = {0, 0, 0, 0};
  const int32_t rc = tvmgo_copy_record(copy, "runtime.TVMTensorCopyToBytes", type, id, on_device, &got);
  if (rc != 0 || got.access < 1 || got.access > n) return rc;
  const tvmgo_access* a = &accesses[got.access - 1];
  return tvmgo_outside(function, a->buffer, a->dim, (long long)got.index, (long long)got.size);
}
