//// find: context
/* A function that was looked up for one module: a file that is opened again while it is mapped may get another one. */
typedef struct {
  void* context;
  void* function;
} tvmgo_import;

static int32_t tvmgo_find(tvmgo_import* known, const char* name, void** out) {
  void* context = __atomic_load_n(&TVMGO_CONTEXT, __ATOMIC_ACQUIRE);
  if (context != NULL && __atomic_load_n(&known->context, __ATOMIC_ACQUIRE) == context) {
    *out = __atomic_load_n(&known->function, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&known->context, __ATOMIC_ACQUIRE) == context) return 0;
  }
  const int rc = TVMGO_LOOK_UP(context, name, out);
  if (rc != 0) return rc;
  __atomic_store_n(&known->context, (void*)NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&known->function, *out, __ATOMIC_RELEASE);
  __atomic_store_n(&known->context, context, __ATOMIC_RELEASE);
  return 0;
}

//// call: find
/* Calls a function by name. The caller owns the result. */
static int32_t tvmgo_call(tvmgo_import* known, const char* name, TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void* f;
  const int rc = tvmgo_find(known, name, &f);
  if (rc != 0) return rc;
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return TVMFFIFunctionCall(f, args, n, result);
}

//// call classic
/* Calls a function by name. The caller owns the result. */
static int32_t tvmgo_call(tvmgo_import* known, const char* name, TVMValue* args, int* codes, int n, TVMValue* result,
                          int* code) {
  void* f;
  const int rc = tvmgo_find(known, name, &f);
  if (rc != 0) return rc;
  result->v_int64 = 0;
  *code = kTVMNullptr;
  return TVMFuncCall(f, args, codes, n, result, code);
}

//// call_linked: call
/* Calls a function that may have been linked with this code. */
static int32_t tvmgo_call_linked(int (*linked)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*), tvmgo_import* known,
                                 const char* name, TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (linked == NULL) return tvmgo_call(known, name, args, n, result);
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return linked(NULL, args, n, result);
}

//// let_go
/* Releases a result. */
static void tvmgo_let_go(const TVMFFIAny* result) {
  if (result->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result->v_obj);
}

//// let_go classic
extern int TVMArrayFree(TVMArrayHandle) __attribute__((weak)); /* a runtime that only runs may not have them */
extern int TVMObjectFree(TVMObjectHandle) __attribute__((weak));

/* Releases a result. */
static void tvmgo_let_go(const TVMValue* result, int code) {
  if (code == kTVMNDArrayHandle && TVMArrayFree != NULL) TVMArrayFree((TVMArrayHandle)result->v_handle);
  const int object = code == kTVMObjectHandle || code == kTVMModuleHandle || code == kTVMPackedFuncHandle;
  if (object && TVMObjectFree != NULL) TVMObjectFree(result->v_handle);
}

//// not_a: raise kind let_go
/* Releases a result of another type than the call expects, and raises the error. */
static int32_t tvmgo_not_a(const char* caller, const char* callee, const char* want, TVMGO_ARGUMENT) {
  const char* got = tvmgo_kind(TVMGO_A);
  tvmgo_let_go(TVMGO_A);
  return tvmgo_raise("TypeError", "%s: the packed function %s returned %s, expected %s", caller, callee, got, want);
}

//// ask: find
/* Calls a function of an imported module that maps an integer to an integer. Returns 1 if there is no such function. */
static int32_t tvmgo_ask(tvmgo_import* known, const char* name, int64_t about, int64_t* number) {
  void* f;
  if (tvmgo_find(known, name, &f) != 0) return 1;
  TVMFFIAny arg = {.type_index = kTVMFFIInt}, result = {.type_index = kTVMFFINone};
  arg.v_int64 = about;
  const int rc = TVMFFIFunctionCall(f, &arg, 1, &result);
  *number = result.v_int64;
  return rc;
}

//// ask classic
/* Calls a function of an imported module that maps an integer to an integer. Returns 1 if there is no such function. */
static int32_t tvmgo_ask(tvmgo_import* known, const char* name, int64_t about, int64_t* number) {
  void* f;
  if (tvmgo_find(known, name, &f) != 0) return 1;
  TVMValue arg = {.v_int64 = about}, result = {.v_int64 = 0};
  int code = kTVMArgInt, got = kTVMNullptr;
  const int rc = TVMFuncCall(f, &arg, &code, 1, &result, &got);
  *number = result.v_int64;
  return rc;
}

//// offset: is_empty device_text ask raise parameter
/* Checks that kernels can take a tensor which starts behind the beginning of its buffer, on devices whose data is a
   handle. Kernels of tvmgo's runtime take a tensor instead of a handle, and see the part of the buffer that it
   describes. Only its device modules have a function of this name, which returns the alignment of such offsets. */
static __attribute__((noinline, cold)) int32_t tvmgo_offset(const tvmgo_parameter* p, const DLTensor* t,
                                                            tvmgo_import* known, const char* name) {
  char device[64];
  int64_t unit = 0;
  if (tvmgo_is_empty(t)) return 0;
  tvmgo_device_text((int)t->device.device_type, (int)t->device.device_id, device, sizeof(device));
  const int32_t rc = tvmgo_ask(known, name, t->device.device_id, &unit);
  if (rc < 0) return rc;
  if (rc > 0) {
    return tvmgo_raise("ValueError",
                       TVMGO_AT "the elements begin %llu bytes into the device's memory, expected 0: this runtime "
                       "gives kernels on %s whole buffers only: copy them, or load the file with tvmgo's runtime",
                       TVMGO_OF(p), (unsigned long long)t->byte_offset, device);
  }
  if (unit > 0 && t->byte_offset % (uint64_t)unit == 0) return 0;
  return tvmgo_raise("ValueError",
                     TVMGO_AT "the elements begin %llu bytes into the device's memory, expected a multiple of %lld on "
                     "%s: copy them", TVMGO_OF(p), (unsigned long long)t->byte_offset, (long long)unit, device);
}

//// pass_buffer: is_empty
/* Passes a buffer to a kernel: its handle or, if the tensor starts behind the buffer's beginning, the tensor. */
static void tvmgo_pass_buffer(TVMFFIAny* a, void* data, const DLTensor* t) {
  const int whole = t->byte_offset == 0 || tvmgo_is_empty(t);
  a->type_index = whole ? kTVMFFIOpaquePtr : kTVMFFIDLTensorPtr;
  a->v_ptr = whole ? data : (void*)(uintptr_t)t;
}

//// pass_buffer classic
/* Passes a buffer to a kernel: its handle or, if the tensor starts behind the buffer's beginning, the tensor. */
static void tvmgo_pass_buffer(TVMValue* a, int* code, void* data, const DLTensor* t) {
  const int whole = t->byte_offset == 0 || tvmgo_is_empty(t);
  *code = whole ? kTVMOpaqueHandle : kTVMDLTensorHandle;
  a->v_handle = whole ? data : (void*)(uintptr_t)t;
}
