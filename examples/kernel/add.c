/* A hand-written kernel: add(A, B, C) sets C = A + B for float32 vectors of equal length on the CPU. C may be A or B.
 *
 *   cc -O3 -shared -fPIC -I../../include add.c -o add.so
 *
 * The function "add" is exported as __tvm_ffi_add. All functions of modules have the same signature: arguments are
 * tagged values; a function that fails sets the thread's error and returns -1. The function that sets it is undefined
 * here; the runtime that loads the file provides it. */
#include <tvm/ffi/c_api.h>

#include <stdarg.h>
#include <stdio.h>

static int fail(const char* kind, const char* format, ...) {
  char message[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* Returns the tensor of an object, or a DLTensor* that the caller owns. NULL if the value is neither. */
static const DLTensor* tensor_of(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(value->v_obj);
  if (value->type_index == kTVMFFIDLTensorPtr) return value->v_ptr;
  return NULL;
}

/* 0 if the value is a contiguous vector as described above. */
static int check(const TVMFFIAny* value, const char* name, const DLTensor** out) {
  const DLTensor* t = tensor_of(value);
  if (t == NULL) return fail("TypeError", "add: %s is no tensor (type index %d)", name, (int)value->type_index);
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1)
    return fail("TypeError", "add: %s has elements of type code %d with %d bits and %d lanes, not float32", name,
                (int)t->dtype.code, (int)t->dtype.bits, (int)t->dtype.lanes);
  if (t->device.device_type != kDLCPU)
    return fail("ValueError", "add: %s is on a device of type %d: copy it to the CPU", name,
        (int)t->device.device_type);
  if (t->ndim != 1) return fail("ValueError", "add: %s has %d dimensions, not 1", name, (int)t->ndim);
  if (t->strides != NULL && t->strides[0] != 1 && t->shape[0] > 1)
    return fail("ValueError", "add: the elements of %s are %lld apart: make it contiguous", name,
        (long long)t->strides[0]);
  if (t->data == NULL && t->shape[0] > 0) return fail("ValueError", "add: %s has no memory", name);
  *out = t;
  return 0;
}

static float* elements(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

TVM_FFI_DLL_EXPORT int __tvm_ffi_add(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static const char* const names[] = {"A", "B", "C"};
  const DLTensor* t[3];
  (void)self, (void)result; /* there is no context, and the result is None by default */
  if (num_args != 3) return fail("TypeError", "add: 3 arguments are needed (A, B, C), got %d", (int)num_args);
  for (int i = 0; i < 3; i++)
    if (check(&args[i], names[i], &t[i]) != 0) return -1;
  for (int i = 1; i < 3; i++)
    if (t[i]->shape[0] != t[0]->shape[0])
      return fail("ValueError", "add: %s has %lld elements, A has %lld", names[i], (long long)t[i]->shape[0],
                  (long long)t[0]->shape[0]);
  const float *a = elements(t[0]), *b = elements(t[1]);
  float* c = elements(t[2]);
  for (int64_t i = 0, n = t[0]->shape[0]; i < n; i++) c[i] = a[i] + b[i];
  return 0;
}
