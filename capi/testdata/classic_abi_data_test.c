/* The classic C ABI: arrays, DLPack, objects, streams and device memory, on the CPU. */
#include "classic_abi_test.h"

static TVMArrayHandle alloc(int ndim, const tvm_index_t* shape) {
  TVMArrayHandle out = NULL;
  OK(TVMArrayAlloc(shape, ndim, kDLFloat, 32, 1, kDLCPU, 0, &out));
  return out;
}

static void test_arrays(void) {
  const tvm_index_t shape[2] = {2, 3};
  float in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
  TVMArrayHandle a = alloc(2, shape), b = alloc(2, shape);
  NEED(a != NULL && b != NULL);
  CHECK(a->ndim == 2 && a->shape[0] == 2 && a->shape[1] == 3 && a->byte_offset == 0);
  CHECK(a->device.device_type == kDLCPU && a->dtype.code == kDLFloat && a->dtype.bits == 32);
  CHECK((size_t)a->data % 64 == 0);
  OK(TVMArrayCopyFromBytes(a, in, sizeof in));
  OK(TVMArrayCopyFromTo(a, b, NULL));
  OK(TVMSynchronize(kDLCPU, 0, NULL));
  OK(TVMArrayCopyToBytes(b, out, sizeof out));
  CHECK(memcmp(in, out, sizeof in) == 0);

  DLTensor user = *a; /* copies accept any DLTensor, but it is not a handle */
  float mine[6] = {0};
  user.data = mine, user.strides = NULL;
  OK(TVMArrayCopyFromTo(a, &user, NULL));
  CHECK(memcmp(in, mine, sizeof in) == 0);
  OK(TVMArrayCopyToBytes(&user, out, sizeof out));

  int64_t transposed[2] = {1, 2};
  user.strides = transposed;
  FAILS(TVMArrayCopyToBytes(&user, out, sizeof out), "contiguous");
  FAILS(TVMArrayCopyFromBytes(a, in, sizeof in - 4), "24");
  FAILS(TVMArrayCopyToBytes(a, NULL, sizeof in), "NULL");
  FAILS(TVMArrayCopyFromBytes(NULL, in, sizeof in), "NULL");
  FAILS(TVMArrayCopyToBytes(NULL, out, sizeof out), "NULL");
  FAILS(TVMArrayCopyFromTo(NULL, a, NULL), "NULL");
  FAILS(TVMArrayCopyFromTo(a, NULL, NULL), "NULL");
  OK(TVMArrayFree(a));
  OK(TVMArrayFree(b));
  OK(TVMArrayFree(NULL));
}

static void test_array_shapes(void) {
  const tvm_index_t one[1] = {5}, none[1] = {0}, negative[1] = {-1};
  const tvm_index_t huge[2] = {(tvm_index_t)1 << 40, (tvm_index_t)1 << 40};
  int64_t word = 7, back = 0;
  TVMArrayHandle a = NULL;
  OK(TVMArrayAlloc(NULL, 0, kDLInt, 64, 1, kDLCPU, 0, &a));
  NEED(a != NULL);
  OK(TVMArrayCopyFromBytes(a, &word, 8));
  OK(TVMArrayCopyToBytes(a, &back, 8));
  CHECK(back == 7);
  OK(TVMArrayFree(a));
  OK(TVMArrayAlloc(none, 1, kDLInt, 64, 1, kDLCPU, 0, &a));
  OK(TVMArrayCopyFromBytes(a, NULL, 0));
  OK(TVMArrayFree(a));
  OK(TVMArrayAlloc(one, 1, kDLUInt, 1, 1, kDLCPU, 0, &a)); /* classic bool: one byte each */
  OK(TVMArrayCopyFromBytes(a, "\1\0\1\0\1", 5));
  OK(TVMArrayFree(a));

  FAILS(TVMArrayAlloc(negative, 1, kDLInt, 64, 1, kDLCPU, 0, &a), "negative");
  CHECK(a == NULL);
  FAILS(TVMArrayAlloc(huge, 2, kDLInt, 64, 1, kDLCPU, 0, &a), "allocate");
  FAILS(TVMArrayAlloc(NULL, 1, kDLInt, 64, 1, kDLCPU, 0, &a), "NULL");
  FAILS(TVMArrayAlloc(one, -1, kDLInt, 64, 1, kDLCPU, 0, &a), "negative");
  FAILS(TVMArrayAlloc(one, 1, kDLInt, 64, 1, kDLCPU, 0, NULL), "NULL");
  FAILS(TVMArrayAlloc(one, 1, kDLInt, 0, 1, kDLCPU, 0, &a), "bits");
  FAILS(TVMArrayAlloc(one, 1, kDLInt, 300, 1, kDLCPU, 0, &a), "300");
  FAILS(TVMArrayAlloc(one, 1, kDLInt, 32, 1 << 16, kDLCPU, 0, &a), "65536");
  FAILS(TVMArrayAlloc(one, 1, kDLInt, 32, 1, 1000, 0, &a), "1000");
  FAILS(TVMArrayAlloc(one, 1, kDLInt, 32, 1, kDLCPU, -1, &a), "-1");
}

static int lent_back;
static void give_back(DLManagedTensor* self) { lent_back++, self->manager_ctx = NULL; }

static void test_dlpack(void) {
  int64_t shape[1] = {3};
  float data[3] = {1, 2, 3}, out[3] = {0};
  DLManagedTensor lent = {{data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0}, &lent_back, give_back};
  DLManagedTensor* loan = NULL;
  TVMArrayHandle a = NULL;
  OK(TVMArrayFromDLPack(&lent, &a));
  NEED(a != NULL);
  CHECK(a->data == data);
  OK(TVMArrayToDLPack(a, &loan));
  OK(TVMArrayFree(a));
  CHECK(lent_back == 0); /* the loan keeps the array */
  CHECK(loan->dl_tensor.data == data && loan->dl_tensor.shape[0] == 3);
  TVMDLManagedTensorCallDeleter(loan);
  CHECK(lent_back == 1);
  TVMDLManagedTensorCallDeleter(NULL);

  OK(TVMArrayFromDLPack(&lent, &a));
  OK(TVMArrayCopyToBytes(a, out, sizeof out));
  CHECK(memcmp(out, data, sizeof out) == 0);
  OK(TVMArrayFree(a));
  CHECK(lent_back == 2);
  FAILS(TVMArrayFromDLPack(NULL, &a), "NULL");
  CHECK(a == NULL);
  FAILS(TVMArrayFromDLPack(&lent, NULL), "NULL");
  FAILS(TVMArrayToDLPack(NULL, &loan), "NULL");
  lent.dl_tensor.ndim = -1;
  FAILS(TVMArrayFromDLPack(&lent, &a), "ndim");
  CHECK(lent_back == 2); /* the lender still owns a rejected loan */
}

/* Handles of this runtime contain an object; a DLTensor of the user does not. */
static void test_foreign_handles(void) {
  struct { char before[64]; DLTensor tensor; } mine;
  unsigned index;
  DLManagedTensor* loan;
  memset(&mine, 0, sizeof mine);
  FAILS(TVMArrayFree(&mine.tensor), "not an array of this runtime");
  FAILS(TVMArrayToDLPack(&mine.tensor, &loan), "not an array of this runtime");
  FAILS(TVMArrayGetTypeIndex(&mine.tensor, &index), "not an array of this runtime");
}

static int nothing(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)args, (void)codes, (void)n, (void)ret, (void)resource;
  return 0;
}

static void test_objects(void) {
  static const struct { const char* key; unsigned index; } known[] = {
      {"runtime.Object", 0}, {"runtime.Module", 1}, {"runtime.NDArray", 2}, {"runtime.String", 3},
      {"Array", 4}, {"Map", 5}, {"runtime.ShapeTuple", 6}, {"runtime.PackedFunc", 7}};
  unsigned index = 99, error;
  char* key = NULL;
  int derived = -1;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    OK(TVMObjectTypeKey2Index(known[i].key, &index));
    CHECK(index == known[i].index);
    OK(TVMObjectTypeIndex2Key(index, &key));
    SAME_TEXT(key, known[i].key);
    free(key);
    OK(TVMObjectDerivedFrom(index, 0, &derived));
    CHECK(derived == 1);
    OK(TVMObjectDerivedFrom(index, 2, &derived));
    CHECK(derived == (index == 2));
  }
  OK(TVMObjectTypeKey2Index("ffi.Function", &index)); /* either generation's name */
  CHECK(index == 7);
  OK(TVMObjectTypeKey2Index("ffi.Error", &error)); /* a type that only the newer one has */
  OK(TVMObjectTypeIndex2Key(error, &key));
  SAME_TEXT(key, "ffi.Error");
  free(key);
  FAILS(TVMObjectTypeKey2Index("no.such.Type", &index), "no.such.Type");
  FAILS(TVMObjectTypeKey2Index(NULL, &index), "NULL");
  FAILS(TVMObjectTypeKey2Index("Map", NULL), "NULL");
  FAILS(TVMObjectTypeIndex2Key(0xfffffff0u, &key), "4294967280");
  CHECK(key == NULL);
  FAILS(TVMObjectTypeIndex2Key(40, &key), "40");
  FAILS(TVMObjectTypeIndex2Key(0, NULL), "NULL");
  FAILS(TVMObjectDerivedFrom(123456789, 0, &derived), "123456789");
  FAILS(TVMObjectDerivedFrom(0, 0, NULL), "NULL");

  TVMFunctionHandle f = NULL;
  OK(TVMFuncCreateFromCFunc(nothing, NULL, NULL, &f));
  OK(TVMObjectGetTypeIndex(f, &index));
  CHECK(index == 7);
  OK(TVMObjectRetain(f));
  OK(TVMObjectFree(f));
  OK(TVMObjectGetTypeIndex(f, &index)); /* one reference is left */
  OK(TVMObjectFree(f));
  OK(TVMObjectFree(NULL));
  FAILS(TVMObjectRetain(NULL), "NULL");
  FAILS(TVMObjectGetTypeIndex(NULL, &index), "NULL");

  const tvm_index_t shape[1] = {1};
  TVMArrayHandle a = alloc(1, shape);
  NEED(a != NULL);
  OK(TVMArrayGetTypeIndex(a, &index));
  CHECK(index == 2);
  FAILS(TVMArrayGetTypeIndex(NULL, &index), "NULL");
  FAILS(TVMArrayGetTypeIndex(a, NULL), "NULL");
  OK(TVMArrayFree(a));

  TVMByteArray* bytes = malloc(sizeof *bytes); /* not this thread's result: freed */
  OK(TVMByteArrayFree(bytes));
  OK(TVMByteArrayFree(NULL));
}

static void test_streams(void) {
  TVMStreamHandle stream = (TVMStreamHandle)1;
  OK(TVMStreamCreate(kDLCPU, 0, &stream));
  CHECK(stream == NULL); /* the CPU has one queue */
  OK(TVMSetStream(kDLCPU, 0, stream));
  OK(TVMSynchronize(kDLCPU, 0, stream));
  OK(TVMStreamStreamSynchronize(kDLCPU, 0, stream, stream));
  OK(TVMStreamFree(kDLCPU, 0, stream));
  FAILS(TVMStreamFree(kDLCPU, 0, (TVMStreamHandle)1), "stream");
  FAILS(TVMStreamCreate(kDLCPU, 0, NULL), "NULL");
  FAILS(TVMStreamCreate(1000, 0, &stream), "1000");
  FAILS(TVMStreamFree(1000, 0, NULL), "1000");
  FAILS(TVMSetStream(1000, 0, NULL), "1000");
  FAILS(TVMSynchronize(1000, 0, NULL), "1000");
  FAILS(TVMStreamStreamSynchronize(1000, 0, NULL, NULL), "1000");
}

static void test_device_memory(void) {
  const DLDevice cpu = {kDLCPU, 0}, nowhere = {(DLDeviceType)6, 0};
  const DLDataType f32 = {kDLFloat, 32, 1};
  int64_t shape[2] = {4, 4};
  void *p = NULL, *q = NULL;
  OK(TVMDeviceAllocDataSpace(cpu, 64, 256, f32, &p));
  NEED(p != NULL);
  CHECK((size_t)p % 256 == 0);
  OK(TVMDeviceAllocDataSpaceWithScope(cpu, 2, shape, f32, "global", &q));
  NEED(q != NULL);
  DLTensor from = {p, cpu, 2, f32, shape, NULL, 0}, to = {q, cpu, 2, f32, shape, NULL, 0};
  memset(p, 5, 64);
  OK(TVMDeviceCopyDataFromTo(&from, &to, NULL));
  CHECK(memcmp(p, q, 64) == 0);
  FAILS(TVMDeviceCopyDataFromTo(NULL, &to, NULL), "NULL");
  to.ndim = 1;
  FAILS(TVMDeviceCopyDataFromTo(&from, &to, NULL), "equal");
  OK(TVMDeviceFreeDataSpace(cpu, p));
  OK(TVMDeviceFreeDataSpace(cpu, q));
  OK(TVMDeviceFreeDataSpace(cpu, NULL));
  OK(TVMDeviceAllocDataSpaceWithScope(cpu, 0, NULL, f32, NULL, &p)); /* a scalar */
  OK(TVMDeviceFreeDataSpace(cpu, p));
  FAILS(TVMDeviceAllocDataSpace(cpu, 64, 48, f32, &p), "48");
  CHECK(p == NULL);
  FAILS(TVMDeviceAllocDataSpace(cpu, 64, 64, f32, NULL), "NULL");
  FAILS(TVMDeviceAllocDataSpace(nowhere, 64, 64, f32, &p), "6");
  FAILS(TVMDeviceAllocDataSpaceWithScope(cpu, 2, NULL, f32, "", &p), "NULL");
  FAILS(TVMDeviceAllocDataSpaceWithScope(cpu, 2, shape, f32, "global.texture", &p), "global");
  FAILS(TVMDeviceFreeDataSpace(nowhere, &p), "6");
}

void test_data(void) {
  test_arrays();
  test_array_shapes();
  test_dlpack();
  test_foreign_handles();
  test_objects();
  test_streams();
  test_device_memory();
}
