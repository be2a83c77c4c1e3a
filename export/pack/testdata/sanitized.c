/* Calls host functions of pack, which are compiled with sanitizers, under a minimal runtime. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/extra/c_env_api.h>

extern int __tvm_ffi_add(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
extern int __tvm_ffi__metadata_add(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
extern void* __tvm_ffi__library_ctx;

static char message[1024], launched[256];
static int lookups, context_a, context_b;

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* text) {
  snprintf(message, sizeof(message), "%s: %s", kind, text);
}

int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle context, const char* name, TVMFFIObjectHandle* out) {
  static char set_device, kernel_a, kernel_b;
  lookups++;
  *out = strcmp(name, "__tvm_set_device") == 0 ? &set_device : context == &context_a ? &kernel_a : &kernel_b;
  if (*out == &kernel_a) kernel_a = 'a';
  if (*out == &kernel_b) kernel_b = 'b';
  return strcmp(name, "add") != 0 && *out != &set_device ? -1 : 0;
}

int TVMFFIFunctionCall(TVMFFIObjectHandle f, TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  size_t at = strlen(launched);
  result->type_index = kTVMFFINone;
  snprintf(launched + at, sizeof(launched) - at, "[%c:", *(char*)f == 0 ? 's' : *(char*)f);
  for (int32_t i = 0; i < n; i++) {
    at = strlen(launched);
    if (args[i].type_index == kTVMFFIInt)
      snprintf(launched + at, sizeof(launched) - at, " %lld", (long long)args[i].v_int64);
    else snprintf(launched + at, sizeof(launched) - at, " t%d", args[i].type_index);
  }
  strcat(launched, "]");
  return 0;
}

int TVMFFIStringFromByteArray(const TVMFFIByteArray* text, TVMFFIAny* out) {
  out->type_index = kTVMFFINone;
  return text->data[text->size] == 0 && strlen(text->data) == text->size ? 0 : -1;
}

int TVMFFIBytesFromByteArray(const TVMFFIByteArray* text, TVMFFIAny* out) {
  return TVMFFIStringFromByteArray(text, out);
}

static int64_t* shape_of(int64_t n) {
  int64_t* shape = malloc(sizeof(int64_t)); /* in its own allocation, so that an access beyond its end is detected */
  *shape = n;
  return shape;
}

static int failures;

static void expect(const char* what, int rc, const char* want) {
  const char* got = rc == 0 ? launched : message;
  if (strcmp(got, want) != 0) {
    printf("%s: \"%s\" instead of \"%s\"\n", what, got, want);
    failures++;
  }
  launched[0] = message[0] = 0;
}

int main(void) {
  enum { N = 5 };
  TVMFFIAny* args = calloc(4, sizeof(TVMFFIAny));
  TVMFFIAny result = {0};
  DLTensor t[3];
  float* data[3];
  for (int i = 0; i < 3; i++) {
    data[i] = malloc(N * sizeof(float));
    for (int k = 0; k < N; k++) data[i][k] = (float)(i + k);
    t[i] = (DLTensor){.data = data[i], .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1},
                      .shape = shape_of(N)};
    args[i].type_index = kTVMFFIDLTensorPtr;
    args[i].v_ptr = &t[i];
  }
  args[3].type_index = kTVMFFIInt;
  args[3].v_int64 = N;
  expect("cpu", __tvm_ffi_add(0, args, 4, &result), "");
  for (int k = 0; k < N; k++)
    if (data[2][k] != (float)(2 * k + 1)) failures++;

  expect("count", __tvm_ffi_add(0, 0, 0, &result),
         "TypeError: add: expected 4 arguments, got 0: add(a: const float32[n], b: const float32[n], c: "
         "out float32[n], n: int32)");
  expect("NULL", __tvm_ffi_add(0, 0, 4, &result),
         "TypeError: add: expected 4 arguments, got NULL: add(a: const float32[n], b: const float32[n], c: "
         "out float32[n], n: int32)");
  args[3].v_int64 = INT64_MIN;
  expect("int", __tvm_ffi_add(0, args, 4, &result),
         "ValueError: add: argument 3 (n): -9223372036854775808 does not fit int32");
  args[3].v_int64 = N;
  args[1].v_ptr = 0;
  expect("no tensor", __tvm_ffi_add(0, args, 4, &result),
         "ValueError: add: argument 1 (b): the pointer to the tensor is NULL");
  args[1].v_ptr = &t[1];
  t[1].data = 0;
  expect("no data", __tvm_ffi_add(0, args, 4, &result), "ValueError: add: argument 1 (b): the tensor's data is NULL");
  t[1].data = data[1];
  t[2].ndim = -1;
  expect("ndim", __tvm_ffi_add(0, args, 4, &result),
         "ValueError: add: argument 2 (c): expected 1 dimension (float32[n]), got -1");
  t[2].ndim = 1;
  *t[2].shape = -N;
  expect("shape", __tvm_ffi_add(0, args, 4, &result),
         "ValueError: add: argument 2 (c): shape[0] is -5, which is negative");
  *t[2].shape = N;
  t[0].dtype = (DLDataType){200, 255, 65535};
  expect("type", __tvm_ffi_add(0, args, 4, &result),
         "TypeError: add: argument 0 (a): expected float32, got a type of code 200");
  t[0].dtype = (DLDataType){kDLInt, 255, 65535};
  expect("lanes", __tvm_ffi_add(0, args, 4, &result),
         "TypeError: add: argument 0 (a): expected float32, got int255x65535");
  t[0].dtype = t[1].dtype;
  t[0].device.device_type = (DLDeviceType)77;
  expect("device", __tvm_ffi_add(0, args, 4, &result),
         "ValueError: add: argument 1 (b): "
         "the tensor is on cpu:0, expected a device of type 77, the device of argument 0 (a): copy it");
  for (int i = 0; i < 3; i++) t[i].device = (DLDevice){kDLVulkan, 2};
  expect("variant", __tvm_ffi_add(0, args, 4, &result),
         "ValueError: add: the tensors are on vulkan:2, and the file has the function for cpu, opencl");

  for (int i = 0; i < 3; i++) t[i].device = (DLDevice){kDLOpenCL, 2};
  __tvm_ffi__library_ctx = &context_a;
  for (int i = 0; i < 2; i++) expect("opencl", __tvm_ffi_add(0, args, 4, &result), "[s: 4 2][a: t4 t4 t4 5 1 64]");
  if (lookups != 2) printf("%d lookups\n", lookups), failures++;
  __tvm_ffi__library_ctx = &context_b; /* the file was loaded again */
  expect("opencl again", __tvm_ffi_add(0, args, 4, &result), "[s: 4 2][b: t4 t4 t4 5 1 64]");

  expect("metadata", __tvm_ffi__metadata_add(0, 0, 0, &result), "");
  for (int i = 0; i < 3; i++) free(data[i]), free(t[i].shape);
  free(args);
  if (failures == 0) puts("ok");
  return failures != 0;
}
