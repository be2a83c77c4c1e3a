/* The tvm-ffi C ABI: tensors, both generations of DLPack, and the tensor functions of the registry. */
#include "ffi_abi_test.h"

static float data[6] = {1, 2, 3, 4, 5, 6};
static int64_t shape[2] = {2, 3}, strides[2] = {3, 1}, transposed[2] = {1, 2};

static int given_back;
static void give_back(DLManagedTensor* self) { given_back += self->manager_ctx == data; }
static void give_back_versioned(DLManagedTensorVersioned* self) { given_back += self->manager_ctx == data; }

static DLTensor two_by_three(void) {
  return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
}

static void test_legacy(void) {
  DLManagedTensor lent = {two_by_three(), data, give_back}, *loan = NULL;
  TVMFFIObjectHandle t = NULL;
  given_back = 0;
  OK(TVMFFITensorFromDLPack(&lent, 4, 1, &t));
  NEED(t != NULL);
  DLTensor* dl = TVMFFITensorGetDLTensorPtr(t);
  CHECK(TVMFFIObjectGetTypeIndex(t) == kTVMFFITensor && dl->data == data && dl->ndim == 2 && dl->shape[1] == 3);
  CHECK(dl->strides != NULL && dl->strides[0] == 3 && dl->strides[1] == 1);
  CHECK(dl->shape != shape); /* its own copy */
  OK(TVMFFITensorToDLPack(t, &loan));
  OK(TVMFFIObjectDecRef(t));
  CHECK(given_back == 0 && loan->dl_tensor.data == data);
  loan->deleter(loan);
  CHECK(given_back == 1);

  FAILS(TVMFFITensorFromDLPack(NULL, 0, 0, &t), "ValueError", "NULL");
  FAILS(TVMFFITensorFromDLPack(&lent, 0, 0, NULL), "ValueError", "NULL");
  FAILS(TVMFFITensorFromDLPack(&lent, 3, 0, &t), "ValueError", "power of two");
  lent.dl_tensor.data = (char*)data + 1;
  FAILS(TVMFFITensorFromDLPack(&lent, 4, 0, &t), "ValueError", "aligned");
  lent.dl_tensor = two_by_three(), lent.dl_tensor.strides = transposed;
  FAILS(TVMFFITensorFromDLPack(&lent, 0, 1, &t), "ValueError", "contiguous");
  lent.dl_tensor = two_by_three(), lent.dl_tensor.shape = NULL;
  FAILS(TVMFFITensorFromDLPack(&lent, 0, 0, &t), "ValueError", "shape is NULL");
  lent.dl_tensor = two_by_three(), lent.dl_tensor.ndim = -1;
  FAILS(TVMFFITensorFromDLPack(&lent, 0, 0, &t), "ValueError", "ndim");
  lent.dl_tensor = two_by_three(), lent.dl_tensor.data = NULL;
  FAILS(TVMFFITensorFromDLPack(&lent, 0, 0, &t), "ValueError", "data is NULL");
  int64_t wild[2] = {(int64_t)1 << 40, (int64_t)1 << 40}, negative[2] = {2, -3};
  lent.dl_tensor = two_by_three(), lent.dl_tensor.shape = wild;
  FAILS(TVMFFITensorFromDLPack(&lent, 0, 0, &t), "ValueError", "elements");
  lent.dl_tensor.shape = negative;
  FAILS(TVMFFITensorFromDLPack(&lent, 0, 0, &t), "ValueError", "negative");
  CHECK(given_back == 1); /* the lender still owns rejected loans */
  FAILS(TVMFFITensorToDLPack(NULL, &loan), "TypeError", "NULL");
}

static void test_versioned(void) {
  DLManagedTensorVersioned lent, *loan = NULL;
  TVMFFIObjectHandle t = NULL;
  memset(&lent, 0, sizeof lent);
  lent.version = (DLPackVersion){DLPACK_MAJOR_VERSION, 99}; /* newer minor versions are accepted */
  lent.manager_ctx = data, lent.deleter = give_back_versioned, lent.dl_tensor = two_by_three();
  given_back = 0;
  OK(TVMFFITensorFromDLPackVersioned(&lent, 0, 0, &t));
  NEED(t != NULL);
  OK(TVMFFITensorToDLPackVersioned(t, &loan));
  CHECK(loan->version.major == DLPACK_MAJOR_VERSION && loan->dl_tensor.data == data && loan->dl_tensor.strides != NULL);
  OK(TVMFFIObjectDecRef(t));
  CHECK(given_back == 0);
  loan->deleter(loan);
  CHECK(given_back == 1);
  lent.version.major++;
  FAILS(TVMFFITensorFromDLPackVersioned(&lent, 0, 0, &t), "ValueError", "version");
  lent.version.major--;
  lent.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  FAILS(TVMFFITensorFromDLPackVersioned(&lent, 0, 0, &t), "NotSupportedError", "padded");
  FAILS(TVMFFITensorFromDLPackVersioned(NULL, 0, 0, &t), "ValueError", "NULL");
  FAILS(TVMFFITensorFromDLPackVersioned(&lent, 0, 0, NULL), "ValueError", "NULL");
  FAILS(TVMFFITensorToDLPackVersioned(NULL, &loan), "TypeError", "NULL");
  TVMFFIAny array;
  OK(call_global("ffi.Array", NULL, 0, &array));
  FAILS(TVMFFITensorToDLPackVersioned(array.v_obj, &loan), "TypeError", "Array");
  DLManagedTensor* legacy = NULL;
  FAILS(TVMFFITensorToDLPack(array.v_obj, &legacy), "TypeError", "Array");
  drop(&array);
}

static void test_view(void) {
  DLManagedTensor lent = {two_by_three(), data, give_back};
  TVMFFIObjectHandle source = NULL, view = NULL;
  given_back = 0;
  OK(TVMFFITensorFromDLPack(&lent, 0, 0, &source));
  DLTensor flat = two_by_three();
  int64_t six = 6, one = 1;
  flat.ndim = 1, flat.shape = &six, flat.strides = &one;
  OK(TVMFFITensorCreateUnsafeView(source, &flat, &view));
  NEED(view != NULL);
  six = 7; /* copied */
  CHECK(TVMFFITensorGetDLTensorPtr(view)->shape[0] == 6 && TVMFFITensorGetDLTensorPtr(view)->data == data);
  OK(TVMFFIObjectDecRef(source));
  CHECK(given_back == 0); /* the view keeps it */
  flat.strides = NULL;
  FAILS(TVMFFITensorCreateUnsafeView(view, &flat, &source), "ValueError", "strides");
  FAILS(TVMFFITensorCreateUnsafeView(view, NULL, &source), "ValueError", "NULL");
  flat.strides = strides;
  FAILS(TVMFFITensorCreateUnsafeView(view, &flat, NULL), "ValueError", "NULL");
  FAILS(TVMFFITensorCreateUnsafeView(NULL, &flat, &source), "TypeError", "NULL");
  OK(TVMFFIObjectDecRef(view));
  CHECK(given_back == 1);
}

static TVMFFIAny float32(void) {
  TVMFFIAny a = any_of(kTVMFFIDataType);
  a.v_dtype = (DLDataType){kDLFloat, 32, 1};
  return a;
}

static TVMFFIAny device(int32_t type) {
  TVMFFIAny a = any_of(kTVMFFIDevice);
  a.v_device = TVMFFIDLDeviceFromIntPair(type, 0);
  return a;
}

/* The functions that the Python package of Apache TVM calls. */
static void test_registry(void) {
  TVMFFIAny dims, a, b, out, bytes = ptr_view(kTVMFFIOpaquePtr, data), none = any_of(kTVMFFINone);
  float back[6] = {0};
  OK(CALL("ffi.Shape", &dims, int_view(2), int_view(3)));
  OK(CALL("runtime.TVMTensorAllocWithScope", &a, dims, float32(), device(kDLCPU), none));
  OK(CALL("runtime.TVMTensorAllocWithScope", &b, dims, float32(), device(kDLCPU), text_view("global")));
  NEED(a.type_index == kTVMFFITensor && b.type_index == kTVMFFITensor);
  CHECK((size_t)TVMFFITensorGetDLTensorPtr(a.v_obj)->data % 64 == 0);
  OK(CALL("runtime.TVMTensorCopyFromBytes", &out, a, bytes, int_view(sizeof data)));
  OK(CALL("runtime.TVMTensorCopyFromTo", &out, a, b));
  OK(CALL("runtime.TVMTensorCopyToBytes", &out, b, ptr_view(kTVMFFIOpaquePtr, back), int_view(sizeof back)));
  CHECK(memcmp(data, back, sizeof back) == 0);
  FAILS(CALL("runtime.TVMTensorCopyFromBytes", &out, a, bytes, int_view(4)), "ValueError", "24 bytes");
  FAILS(CALL("runtime.TVMTensorCopyFromBytes", &out, a, bytes, int_view(-1)), "ValueError", "argument 2, the number of "
      "bytes, is negative");
  FAILS(CALL("runtime.TVMTensorCopyFromBytes", &out, dims, bytes, int_view(4)), "TypeError", "Tensor");
  FAILS(CALL("runtime.TVMTensorCopyToBytes", &out, a, int_view(1), int_view(24)), "TypeError", "void*");

  TVMFFIAny flat, view;
  OK(CALL("ffi.Shape", &flat, int_view(3)));
  OK(CALL("runtime.TVMTensorCreateView", &view, a, flat, float32(), int_view(12)));
  DLTensor* dl = TVMFFITensorGetDLTensorPtr(view.v_obj);
  CHECK(*(float*)((char*)dl->data + dl->byte_offset) == 4);
  drop(&view);
  FAILS(CALL("runtime.TVMTensorCreateView", &view, a, flat, float32(), int_view(16)), "ValueError", "fit");
  FAILS(CALL("runtime.TVMTensorCreateView", &view, a, flat, float32(), int_view(-4)), "ValueError", "negative");
  FAILS(CALL("runtime.TVMTensorCopyFromTo", &out, a, dims), "TypeError", "Tensor");
  FAILS(CALL("runtime.TVMTensorAllocWithScope", &out, dims, float32(), int_view(1)), "TypeError", "Device");
  FAILS(CALL("runtime.TVMTensorAllocWithScope", &out, dims, float32(), device(100)), "ValueError", "100");
  FAILS(CALL("runtime.TVMTensorAllocWithScope", &out, dims, float32(), device(kDLCPU), text_view("nowhere")),
      "NotSupportedError",
        "nowhere");
  drop(&flat);
  drop(&dims);
  drop(&a);
  drop(&b);
}

void test_tensors(void) {
  test_legacy();
  test_versioned();
  test_view();
  test_registry();
}
