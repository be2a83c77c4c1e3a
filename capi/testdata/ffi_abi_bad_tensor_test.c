/* The tvm-ffi C ABI: DLPack tensors that are rejected. The caller keeps them: no deleter runs, and nothing is
 * changed. */
#include "ffi_abi_test.h"

static int deleted;
static void deleter(DLManagedTensor* m) { (void)m, deleted++; }
static void deleter_versioned(DLManagedTensorVersioned* m) { (void)m, deleted++; }

static _Alignas(64) float data[16];
static int64_t shape[2] = {2, 3}, strides[2] = {3, 1};

static DLManagedTensorVersioned good(void) {
  DLManagedTensorVersioned m;
  memset(&m, 0, sizeof m);
  m.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  m.deleter = deleter_versioned;
  m.dl_tensor = (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape,
      .strides = strides};
  return m;
}

/* Rejected in both generations (if only_versioned is 0), with both texts in the error. The caller still owns the
 * tensor. */
static void refused(DLManagedTensorVersioned m, int32_t alignment, int32_t contiguous, int only_versioned,
    const char* text,
                    const char* more) {
  TVMFFIObjectHandle out = NULL;
  DLManagedTensor old = {m.dl_tensor, NULL, deleter};
  deleted = 0;
  for (int versioned = only_versioned; versioned < 2; versioned++) {
    int rc = versioned ? TVMFFITensorFromDLPackVersioned(&m, alignment, contiguous, &out)
                       : TVMFFITensorFromDLPack(&old, alignment, contiguous, &out);
    taken_error e = take_error();
    if (rc != -1 || strstr(e.message, text) == NULL || strstr(e.message, more) == NULL)
      FAIL("%d, \"%s: %s\", want \"%s\" and \"%s\"", rc, e.kind, e.message, text, more);
    CHECK(out == NULL && deleted == 0);
  }
}

#define WITH(member, value) \
  (__extension__({            \
    DLManagedTensorVersioned m_ = good(); \
    m_.member = value;        \
    m_;                       \
  }))

static void test_from_dlpack(void) {
  static int64_t negative[2] = {2, -3}, huge[2] = {INT64_MAX, 3}, wide[2] = {1, 2}, gaps[2] = {6, 2};
  refused(WITH(version.major, 2), 0, 0, 1, "version 2.", "1.x");
  refused(WITH(version.major, 0), 0, 0, 1, "version 0.", "1.x");
  refused(WITH(version.major, UINT32_MAX), 0, 0, 1, "version 4294967295.", "1.x");
  refused(WITH(flags, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED), 0, 0, 1, "padded", "pack them");
  refused(WITH(dl_tensor.ndim, -1), 0, 0, 0, "ndim", "-1");
  refused(WITH(dl_tensor.ndim, INT32_MAX), 0, 0, 0, "ndim is 2147483647", "more than 1024");
  refused(WITH(dl_tensor.shape, NULL), 0, 0, 0, "ndim is 2", "shape is NULL");
  refused(WITH(dl_tensor.shape, negative), 0, 0, 0, "dimension 1", "-3");
  refused(WITH(dl_tensor.shape, huge), 0, 0, 0, "shape", "2^63");
  refused(WITH(dl_tensor.data, NULL), 0, 0, 0, "24 bytes", "data is NULL");
  refused(WITH(dl_tensor.dtype.lanes, 0), 0, 0, 0, "dtype", "0 lanes");
  refused(WITH(dl_tensor.dtype.bits, 0), 0, 0, 0, "dtype", "0 bits");
  refused(WITH(dl_tensor.byte_offset, UINT64_MAX - 3), 0, 0, 0, "byte_offset", "out of memory");
  refused(WITH(dl_tensor.device, ((DLDevice){0, 0})), 0, 0, 0, "device of type 0", "id 0");
  refused(WITH(dl_tensor.device, ((DLDevice){kDLCPU, -1})), 0, 0, 0, "device of type 1", "id -1");
  refused(good(), 3, 0, 0, "require_alignment is 3", "power of two");
  refused(good(), -64, 0, 0, "require_alignment is -64", "power of two");
  refused(good(), INT32_MIN, 0, 0, "require_alignment", "power of two");
  refused(WITH(dl_tensor.data, (char*)data + 4), 64, 0, 0, "aligned to 4 bytes", "64 bytes as require_alignment");
  refused(WITH(dl_tensor.byte_offset, 8), 16, 0, 0, "aligned to 8 bytes", "16 bytes as require_alignment");
  refused(WITH(dl_tensor.strides, gaps), 0, 1, 0, "not contiguous", "require_contiguous");
  refused(WITH(dl_tensor.strides, wide), 0, 1, 0, "not contiguous", "require_contiguous");

  TVMFFIObjectHandle out = NULL;
  DLManagedTensorVersioned m = good();
  DLManagedTensor old = {m.dl_tensor, NULL, NULL};
  FAILS(TVMFFITensorFromDLPack(NULL, 0, 0, &out), "ValueError", "managed tensor is NULL");
  FAILS(TVMFFITensorFromDLPackVersioned(NULL, 0, 0, &out), "ValueError", "managed tensor is NULL");
  FAILS(TVMFFITensorFromDLPack(&old, 0, 0, NULL), "ValueError", "out is NULL");
  FAILS(TVMFFITensorFromDLPackVersioned(&m, 0, 0, NULL), "ValueError", "out is NULL");
  CHECK(deleted == 0);

  m.deleter = NULL, m.dl_tensor.strides = NULL; /* no deleter, compact: both are valid */
  OK(TVMFFITensorFromDLPackVersioned(&m, 64, 1, &out));
  CHECK(TVMFFITensorGetDLTensorPtr(out)->strides[0] == 3);
  OK(TVMFFIObjectDecRef(out));
  OK(TVMFFITensorFromDLPack(&old, 64, 1, &out));
  OK(TVMFFIObjectDecRef(out));
  m = good();
  OK(TVMFFITensorFromDLPackVersioned(&m, 64, 1, &out));
  OK(TVMFFIObjectDecRef(out));
  CHECK(deleted == 1);
}

static void test_views(void) {
  DLManagedTensorVersioned m = good(), *lent = NULL;
  DLManagedTensor* lent_old = NULL;
  TVMFFIObjectHandle source = NULL, out = NULL;
  TVMFFIAny array;
  OK(TVMFFITensorFromDLPackVersioned(&m, 0, 0, &source));
  OK(call_global("ffi.Array", NULL, 0, &array));
  int64_t negative[1] = {-1}, one[1] = {1};
  DLTensor view = m.dl_tensor;
  view.ndim = 1, view.shape = negative, view.strides = one;
  FAILS(TVMFFITensorCreateUnsafeView(source, &view, &out), "ValueError", "negative");
  view.shape = NULL;
  FAILS(TVMFFITensorCreateUnsafeView(source, &view, &out), "ValueError", "shape is NULL");
  view.ndim = -5;
  FAILS(TVMFFITensorCreateUnsafeView(source, &view, &out), "ValueError", "ndim");
  FAILS(TVMFFITensorCreateUnsafeView(array.v_obj, &m.dl_tensor, &out), "TypeError", "Array, not a Tensor");
  FAILS(TVMFFITensorToDLPack(array.v_obj, &lent_old), "TypeError", "Array, not a Tensor");
  FAILS(TVMFFITensorToDLPackVersioned(array.v_obj, &lent), "TypeError", "Array, not a Tensor");
  FAILS(TVMFFITensorToDLPackVersioned(NULL, &lent), "TypeError", "NULL");
  FAILS(TVMFFITensorToDLPackVersioned(source, NULL), "ValueError", "out is NULL");
  CHECK(out == NULL && lent == NULL && lent_old == NULL && strong_count(source) == 1);
  OK(TVMFFITensorToDLPackVersioned(source, &lent)); /* exported twice, and imported again */
  OK(TVMFFITensorFromDLPackVersioned(lent, 0, 0, &out));
  OK(TVMFFIObjectDecRef(source));
  CHECK(TVMFFITensorGetDLTensorPtr(out)->data == data);
  OK(TVMFFIObjectDecRef(out));
  drop(&array);
}

void test_bad_tensors(void) {
  test_from_dlpack();
  test_views();
}
