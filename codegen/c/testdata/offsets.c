/* Calls f(A: float32[n] on OpenCL), which launches f_kernel, in a runtime whose modules accept parts of buffers that
 * begin at multiples of 128 bytes, or in one whose modules accept no parts. Prints the kernel's arguments or the error.
 * With CLASSIC it uses the calling convention of TVM v0.20. */
#include <stdio.h>
#include <string.h>
#ifdef CLASSIC
#include <tvm/runtime/c_runtime_api.h>
#else
#include <tvm/ffi/extra/c_env_api.h>
#endif
#include <tvm/runtime/c_backend_api.h>

static char message[1024];
static int knows, asked; /* of offsets */
static char names[4][64];
static DLTensor a;
static int64_t n = 8;

#define NAME(h) ((const char*)(h))
static void* found(const char* name) {
  if (strstr(name, "offset") != NULL && (asked++, !knows)) return NULL;
  for (int i = 0; i < 4; i++) {
    if (names[i][0] == 0) strcpy(names[i], name);
    if (strcmp(names[i], name) == 0) return names[i];
  }
  return NULL;
}

static int64_t called(const char* name, int is_tensor, int is_pointer, void* p) {
  if (strstr(name, "offset") != NULL) return knows;
  if (strcmp(name, "f_kernel") == 0)
    printf("%s", is_tensor && p == &a ? "a tensor" : is_pointer && p == a.data ? "a handle" : "something else");
  return 0;
}

#ifdef CLASSIC
extern void* __tvm_module_ctx;
extern int f(TVMValue*, int*, int, TVMValue*, int*, void*);
void TVMAPISetLastError(const char* text) { snprintf(message, sizeof message, "%s", text); }
int TVMFuncFree(TVMFunctionHandle h) { return h == NULL; }
int TVMObjectFree(TVMObjectHandle h) { return h == NULL; }
int TVMBackendGetFuncFromEnv(void* context, const char* name, TVMFunctionHandle* out) {
  return (void)context, (*out = found(name)) == NULL ? -1 : 0;
}
int TVMFuncCall(TVMFunctionHandle h, TVMValue* args, int* codes, int count, TVMValue* result, int* code) {
  result->v_int64 = called(NAME(h), count > 0 && codes[0] == kTVMDLTensorHandle,
                           count > 0 && codes[0] == kTVMOpaqueHandle, args[0].v_handle);
  *code = kTVMArgInt;
  return result->v_int64 == -7 ? (TVMAPISetLastError("no such device"), -1) : 0;
}
static int call(void) {
  TVMValue arg = {.v_handle = &a}, result;
  int code = kTVMDLTensorHandle, got;
  return f(&arg, &code, 1, &result, &got, NULL);
}
#else
extern void* __tvm_ffi__library_ctx;
extern int __tvm_ffi_f(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
/* For metadata, which this program does not query. */
int TVMFFIStringFromByteArray(const TVMFFIByteArray* text, TVMFFIAny* out) {
  (void)text, (void)out;
  return -1;
}
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* text) {
  snprintf(message, sizeof message, "%s: %s", kind, text);
}
int TVMFFIObjectDecRef(TVMFFIObjectHandle h) { return h == NULL; }
int TVMFFIEnvModLookupFromImports(TVMFFIObjectHandle context, const char* name, TVMFFIObjectHandle* out) {
  return (void)context, (*out = found(name)) == NULL ? -1 : 0;
}
int TVMFFIFunctionCall(TVMFFIObjectHandle h, TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = called(NAME(h), count > 0 && args[0].type_index == kTVMFFIDLTensorPtr,
                           count > 0 && args[0].type_index == kTVMFFIOpaquePtr, args[0].v_ptr);
  return result->v_int64 == -7 ? (TVMFFIErrorSetRaisedFromCStr("ValueError", "no such device"), -1) : 0;
}
static int call(void) {
  TVMFFIAny arg = {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &a}, result;
  return __tvm_ffi_f(NULL, &arg, 1, &result);
}
#endif

int main(void) {
  static const struct {
    int64_t n;
    uint64_t offset;
    int knows;
  } cases[] = {{8, 0, 0}, {8, 0, 128}, {8, 256, 0}, {8, 256, 128}, {8, 64, 128}, {8, 64, 64}, {8, 64, -7}, {0, 4, 0}};
  static char memory[1024];
#ifdef CLASSIC
  __tvm_module_ctx = &a;
#else
  __tvm_ffi__library_ctx = &a;
#endif
  a = (DLTensor){.data = memory, .device = {kDLOpenCL, 3}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &n};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    n = cases[i].n, a.byte_offset = cases[i].offset, knows = cases[i].knows;
    message[0] = 0, asked = 0;
    printf("%d %d %d: ", (int)n, (int)a.byte_offset, knows);
    const int rc = call();
    printf("%s%s\n", rc != 0 ? message : "", asked > 0 ? ", asked" : "");
  }
  return 0;
}
