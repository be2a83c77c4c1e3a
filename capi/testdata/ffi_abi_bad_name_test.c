/* The tvm-ffi C ABI: names that are over-long, empty, NULL, or have a zero byte inside. */
#include <tvm/runtime/c_backend_api.h>
#include <tvmgo/device_api.h>

#include "ffi_abi_test.h"

enum { LONG = 1 << 20, MOST = 65535 };
static char longest[LONG + 1];

static int nothing(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  return 0;
}
static int get(void* field, TVMFFIAny* result) { return (void)field, *result = any_of(kTVMFFINone), 0; }

/* The call fails. The error contains the length and the limit, but not the whole name. */
#define TOO_LONG(call)                                              \
  do {                                                              \
    int rc_ = (call);                                               \
    taken_error e_ = take_error();                                  \
    if (rc_ != -1 || strstr(e_.message, "has 1048576 bytes, at most 65535 are allowed") == NULL) \
      FAIL("%s is %d: %s: %s", #call, rc_, e_.kind, e_.message);    \
    CHECK(strlen(e_.message) < 400);                                \
  } while (0)

static void test_long(TVMFFIObjectHandle f) {
  TVMFFIByteArray name = {longest, LONG};
  TVMFFIObjectHandle out = NULL;
  int32_t index;
  TVMFFIFieldInfo field;
  TVMFFIMethodInfo method;
  TVMFFIAny one = int_view(1), result;
  memset(&field, 0, sizeof field), memset(&method, 0, sizeof method);
  field.name = method.name = name, field.getter = get, method.method = object_view(f);
  CHECK(TVMFFITypeGetOrAllocIndex(&name, -1, 1, 0, 0, kTVMFFIObject) == -1);
  TOO_LONG(-1);
  TOO_LONG(TVMFFITypeKeyToIndex(&name, &index));
  TOO_LONG(TVMFFIFunctionSetGlobal(&name, f, 0));
  TOO_LONG(TVMFFIFunctionSetGlobalFromMethodInfo(&method, 0));
  TOO_LONG(TVMFFIFunctionGetGlobal(&name, &out));
  TOO_LONG(TVMFFITypeRegisterField(kTVMFFIObject, &field));
  TOO_LONG(TVMFFITypeRegisterMethod(kTVMFFIObject, &method));
  TOO_LONG(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &one));
  TOO_LONG(TVMFFIEnvModRegisterSystemLibSymbol(longest, nothing));
  TOO_LONG(TVMFFIEnvModRegisterContextSymbol(longest, nothing));
  TOO_LONG(CALL("ffi.SystemLib", &result, text_view(longest)));
  name.size = SIZE_MAX; /* it is not read to its end */
  FAILS(TVMFFIFunctionSetGlobal(&name, f, 0), "ValueError", "at most 65535");
  CHECK(TVMFFITypeGetOrAllocIndex(&name, -1, 1, 0, 0, kTVMFFIObject) == -1 && take_error().kind[0] != 0);
  CHECK(strong_count(f) == 1);

  OK(CALL("ffi.SystemLib", &result));
  TVMFFIAny lib = result;
  TOO_LONG(TVMFFIEnvModLookupFromImports(lib.v_obj, longest, &out));
  FAILS(CALL("ffi.ModuleLoadFromFile", &result, text_view("x"), text_view(longest)), "NotFoundError", "no loader");
  drop(&lib);
}

/* The longest name that is allowed works everywhere. */
static void test_longest(TVMFFIObjectHandle f) {
  TVMFFIByteArray name = {longest, MOST};
  TVMFFIAny lib, got, result;
  TVMFFIObjectHandle out = NULL;
  char symbol[2048] = "__tvm_ffi_", *tail = symbol + strlen(symbol);
  OK(TVMFFIFunctionSetGlobal(&name, f, 0));
  OK(TVMFFIFunctionGetGlobal(&name, &out));
  CHECK(out == f);
  TVMFFIObjectDecRef(out);
  FAILS(TVMFFIFunctionSetGlobal(&name, f, 0), "RuntimeError", "taken already");
  OK(CALL("ffi.FunctionRemoveGlobal", &result, ptr_view(kTVMFFIByteArrayPtr, &name)));
  CHECK(result.v_int64 == 1 && strong_count(f) == 1);
  int32_t type = TVMFFITypeGetOrAllocIndex(&name, -1, 1, 0, 0, kTVMFFIObject), found = 0;
  CHECK(type > 0);
  OK(TVMFFITypeKeyToIndex(&name, &found));
  CHECK(found == type);

  memset(tail, 's', 1024); /* a registered symbol is found, even with a long name */
  OK(TVMFFIEnvModRegisterSystemLibSymbol(symbol, nothing));
  OK(CALL("ffi.SystemLib", &lib));
  OK(CALL("ffi.ModuleGetFunction", &got, lib, text_view(tail), int_view(0)));
  CHECK(got.type_index == kTVMFFIFunction);
  drop(&got);
  drop(&lib);
}

static void test_zero_bytes(TVMFFIObjectHandle f) {
  TVMFFIByteArray name = {"bad\0name", 8};
  TVMFFIMethodInfo method;
  TVMFFIAny one = int_view(1), result;
  memset(&method, 0, sizeof method);
  method.name = name, method.method = object_view(f);
  FAILS(TVMFFIFunctionSetGlobal(&name, f, 0), "ValueError", "zero byte");
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&method, 0), "ValueError", "zero byte");
  CHECK(TVMFFITypeGetOrAllocIndex(&name, -1, 1, 0, 0, kTVMFFIObject) == -1);
  FAILS(-1, "ValueError", "zero byte");
  FAILS(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &one), "ValueError", "zero byte");
  FAILS(CALL("ffi.SystemLib", &result, ptr_view(kTVMFFIByteArrayPtr, &name)), "ValueError", "zero byte");
  method.name = bytes_of("bad_name.metadata"), method.metadata = (TVMFFIByteArray){NULL, 100};
  FAILS(TVMFFIFunctionSetGlobalFromMethodInfo(&method, 0), "ValueError", "metadata");
  CHECK(strong_count(f) == 1);
}

static void test_texts_of_elements(void) {
  TVMFFIByteArray text = {longest, LONG}, huge = {longest, SIZE_MAX};
  DLDataType t;
  TVMFFIAny out = any_of(kTVMFFINone);
  FAILS(TVMFFIDataTypeFromString(&text, &t), "ValueError", "nnnn\": unknown type"); /* only a part of it is shown */
  FAILS(TVMFFIStringFromByteArray(&huge, &out), "MemoryError", "make string: 18446744073709551615 bytes");
  FAILS(TVMFFIBytesFromByteArray(&huge, &out), "MemoryError", "make bytes: 18446744073709551615 bytes");
}

static void test_addresses_and_devices(void) {
  FAILS(TVMFFIEnvModRegisterSystemLibSymbol("bad_name.null", NULL), "ValueError", "address is NULL");
  FAILS(TVMFFIEnvModRegisterSystemLibSymbol("", nothing), "ValueError", "empty");
  FAILS(TVMFFIEnvModRegisterSystemLibSymbol(NULL, nothing), "ValueError", "NULL");
  FAILS(TVMFFIEnvModRegisterContextSymbol("", nothing), "ValueError", "empty");
  FAILS(TVMFFIEnvRegisterCAPI(longest, NULL), "ValueError", "unknown");
  TVMGODeviceSpec spec;
  TVMFFIAny regs[2] = {int_view(1), int_view(2)};
  memset(&spec, 0, sizeof spec);
  char name[] = "a_device_whose_name_is_longer_than_forty_letters";
  spec.struct_size = sizeof spec, spec.name = name, spec.device_type = 40;
  FAILS(TVMGODeviceAPIRegister(&spec), "ValueError", "has 48 bytes, at most 40 are allowed");
  FAILS(TVMBackendAnyListSetPackedArg(regs, 0, NULL, 0), "ValueError", "args is NULL");
  FAILS(TVMBackendAnyListMoveFromPackedReturn(regs, 0, NULL, 0), "ValueError", "args is NULL");
}

void test_bad_names(void) {
  TVMFFIObjectHandle f = NULL;
  memset(longest, 'n', LONG);
  OK(TVMFFIFunctionCreate(NULL, nothing, NULL, &f));
  test_long(f);
  test_longest(f);
  test_zero_bytes(f);
  test_texts_of_elements();
  test_addresses_and_devices();
  CHECK(strong_count(f) == 1);
  TVMFFIObjectDecRef(f);
}
