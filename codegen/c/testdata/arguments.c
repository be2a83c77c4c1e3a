/* Calls mixed(A: float32[n, k], B: float32[k, m], C: int8[n * 2], D: float64[], s: int16, x: float32, flag: bool,
 * any: handle) with one wrong argument, and prints one line with the error for each mistake. With CLASSIC it uses the
 * calling convention of TVM v0.20. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef CLASSIC
#include <tvm/runtime/c_runtime_api.h>
#else
#include <tvm/ffi/extra/c_env_api.h>
#endif
#include <tvm/runtime/c_backend_api.h>

static char message[1024];
enum { COUNT = 8 };

#ifdef CLASSIC
extern int mixed(TVMValue*, int*, int, TVMValue*, int*, void*);
void TVMAPISetLastError(const char* text) { snprintf(message, sizeof message, "%s", text); }
enum { NONE = kTVMNullptr, INT = kTVMArgInt, REAL = kTVMArgFloat, BOOL = kTVMArgBool, TEXT = kTVMStr,
       TENSOR = kTVMDLTensorHandle, POINTER = kTVMOpaqueHandle };
static TVMValue args[COUNT + 1];
static int codes[COUNT + 1];
#define KIND(i) codes[i]
#define TEXT_OF(i) args[i].v_str
#define POINTER_OF(i) args[i].v_handle
#else
extern int __tvm_ffi_mixed(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
/* For metadata, which this program does not query. */
int TVMFFIStringFromByteArray(const TVMFFIByteArray* text, TVMFFIAny* out) {
  (void)text, (void)out;
  return -1;
}
void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* text) {
  snprintf(message, sizeof message, "%s: %s", kind, text);
}
enum { NONE = kTVMFFINone, INT = kTVMFFIInt, REAL = kTVMFFIFloat, BOOL = kTVMFFIBool, TEXT = kTVMFFIRawStr,
       TENSOR = kTVMFFIDLTensorPtr, POINTER = kTVMFFIOpaquePtr };
static TVMFFIAny args[COUNT + 1];
#define KIND(i) args[i].type_index
#define TEXT_OF(i) args[i].v_c_str
#define POINTER_OF(i) args[i].v_ptr
#endif

static DLTensor a, b, c, d;
static int64_t a_shape[3], a_strides[3], b_shape[2], b_strides[2], c_shape[1];
static int count, no_list;

static void put(int i, DLTensor* t, int ndim, int64_t* shape, int64_t* strides, int code, int bits) {
  memset(t, 0, sizeof *t);
  static _Alignas(64) char memory[4][4096];
  t->data = memory[i];
  t->ndim = ndim, t->shape = shape, t->strides = strides;
  t->dtype = (DLDataType){(uint8_t)code, (uint8_t)bits, 1};
  t->device.device_type = kDLCPU;
  KIND(i) = TENSOR;
  POINTER_OF(i) = t;
}

/* Arguments with which all is well: n = 3, k = 4, m = 5. */
static void reset(void) {
  memset(args, 0, sizeof args);
  a_shape[0] = 3, a_shape[1] = 4, a_shape[2] = 1, a_strides[0] = 4, a_strides[1] = 1, a_strides[2] = 1;
  b_shape[0] = 4, b_shape[1] = 5, b_strides[0] = 8, b_strides[1] = 1;
  c_shape[0] = 6;
  put(0, &a, 2, a_shape, a_strides, kDLFloat, 32);
  put(1, &b, 2, b_shape, b_strides, kDLFloat, 32);
  put(2, &c, 1, c_shape, NULL, kDLInt, 8);
  put(3, &d, 0, NULL, NULL, kDLFloat, 64);
  KIND(4) = INT, args[4].v_int64 = 7;
  KIND(5) = REAL, args[5].v_float64 = 0.5;
  KIND(6) = BOOL, args[6].v_int64 = 1;
  KIND(7) = NONE;
  count = COUNT, no_list = 0;
}

static int call(void) {
  message[0] = 0;
#ifdef CLASSIC
  TVMValue result;
  int code = kTVMNullptr;
  return mixed(no_list ? NULL : args, codes, count, &result, &code, NULL);
#else
  TVMFFIAny result = {0};
  return __tvm_ffi_mixed(NULL, no_list ? NULL : args, count, &result);
#endif
}

static int failures;

static void tell(const char* how) {
  const int rc = call();
  printf("%s => %d %s\n", how, rc, message);
  if ((rc == 0) != (message[0] == 0)) failures++;
  reset();
}
#define WITH(statement) \
  statement;            \
  tell(#statement)

int main(void) {
  reset();
  tell("well");
  /* count and kinds */
  WITH(count = 7);
  WITH(count = 9);
  WITH(count = -1);
  WITH(no_list = 1);
  WITH(KIND(0) = NONE);
  WITH(KIND(0) = INT);
  WITH((KIND(1) = TEXT, TEXT_OF(1) = "text"));
  WITH(POINTER_OF(0) = NULL);
  WITH(KIND(4) = REAL);
  WITH((KIND(4) = TEXT, TEXT_OF(4) = "7"));
  WITH(args[4].v_int64 = 32768);
  WITH(args[4].v_int64 = -32769);
  WITH((KIND(5) = INT, args[5].v_int64 = 2));
  WITH((KIND(5) = TEXT, TEXT_OF(5) = "0.5"));
  WITH(args[6].v_int64 = 2);
  WITH((KIND(7) = POINTER, POINTER_OF(7) = &a));
  WITH((KIND(7) = TEXT, TEXT_OF(7) = "text"));
  /* what a tensor is */
  WITH(a.ndim = 3);
  WITH(a.ndim = 1);
  WITH(a.ndim = -1);
  WITH(d.ndim = 1);
  WITH(a.shape = NULL);
  WITH(a_shape[0] = -1);
  WITH(a_shape[1] = INT64_MIN);
  WITH(a_shape[0] = INT64_MAX);
  WITH((a_shape[0] = 0, a_shape[1] = INT64_MAX));
  WITH(a.dtype.code = kDLInt);
  WITH(a.dtype.bits = 64);
  WITH(a.dtype.lanes = 4);
  WITH(a.dtype.code = 99);
  WITH(d.dtype.code = kDLBfloat);
  WITH(a.device.device_type = kDLCUDA);
  WITH((b.device.device_type = kDLOpenCL, b.device.device_id = 3));
  WITH(a.device.device_type = 77);
  WITH(a.device.device_id = 5);
  WITH(a.data = NULL);
  WITH((a.data = NULL, a_shape[0] = 0, c_shape[0] = 0));
  /* where it is */
  WITH(a.data = (char*)a.data + 32);
  WITH(a.byte_offset = 64);
  WITH(a.byte_offset = 4);
  WITH(b.byte_offset = 4);
  WITH(b.byte_offset = 2);
  WITH(d.data = (char*)d.data + 1);
  /* strides */
  WITH(a.strides = NULL);
  WITH(a_strides[0] = 5);
  WITH((a_strides[0] = 1, a_strides[1] = 3));
  WITH(a_strides[1] = 0);
  WITH((a_shape[0] = 1, c_shape[0] = 2, a_strides[0] = 99));
  WITH(b_strides[0] = 20);
  WITH(b_strides[1] = 2);
  WITH(b_strides[0] = -8);
  WITH(b_strides[0] = INT64_MAX);
  WITH(b.strides = NULL);
  /* sizes that depend on each other */
  WITH(b_shape[0] = 5);
  WITH(c_shape[0] = 7);
  WITH((a_shape[0] = (int64_t)1 << 32, c_shape[0] = (int64_t)1 << 33));
  WITH((a_shape[1] = 0, b_shape[0] = 0));
  return failures;
}
