/* The front end's tensor allocator, which generated code uses. */
#include "device/device.h"

static _Atomic(DLPackManagedTensorAllocator) global_allocator;

int TVMFFIEnvSetDLPackManagedTensorAllocator(DLPackManagedTensorAllocator allocator,
                                             int write_to_global_context,
                                             DLPackManagedTensorAllocator* opt_out_original) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (opt_out_original != NULL) *opt_out_original = t->dlpack_allocator;
  t->dlpack_allocator = allocator;
  if (write_to_global_context) atomic_store(&global_allocator, allocator);
  return 0;
}

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void) {
  DLPackManagedTensorAllocator own = tvmgo_thread_get()->dlpack_allocator;
  return own != NULL ? own : atomic_load(&global_allocator);
}

static void allocator_error(void* ctx, const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
}

int TVMFFIEnvTensorAlloc(DLTensor* prototype, TVMFFIObjectHandle* out) {
  static const char op[] = "allocate tensor";
  if (prototype == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %s is NULL", op,
                       prototype == NULL ? "the prototype" : "out");
  DLPackManagedTensorAllocator alloc = TVMFFIEnvGetDLPackManagedTensorAllocator();
  if (alloc == NULL) { /* no front end: the device's own data space */
    tvmgo_tensor* t = tvmgo_tensor_new(prototype->shape, prototype->ndim, prototype->dtype,
                                       prototype->device, NULL);
    *out = t;
    return t == NULL ? -1 : 0;
  }
  DLManagedTensorVersioned* made = NULL;
  if (alloc(prototype, &made, NULL, allocator_error) != 0) {
    if (tvmgo_thread_get()->error == NULL)
      tvmgo_raise(TVMGO_MEMORY_ERROR, "%s: the front end's allocator failed without a reason", op);
    return -1;
  }
  if (TVMFFITensorFromDLPackVersioned(made, 0, 0, out) == 0) return 0;
  if (made != NULL && made->deleter != NULL) made->deleter(made);
  return -1;
}
