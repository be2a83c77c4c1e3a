/* The tvm-ffi C ABI: malformed values. Small strings with a wrong length or garbage after their text, objects with the
 * type index of another type, NULL instead of an object. */
#include "ffi_abi_test.h"

static TVMFFIAny small(int32_t type_index, uint32_t size, const char* text) {
  TVMFFIAny v = any_of(type_index);
  v.small_str_len = size;
  memset(v.v_bytes, '#', sizeof v.v_bytes); /* garbage after the text */
  memcpy(v.v_bytes, text, strlen(text));
  return v;
}

static int same(TVMFFIAny a, TVMFFIAny b) {
  TVMFFIAny array, found = any_of(kTVMFFINone);
  OK(CALL("ffi.Array", &array, a));
  OK(CALL("ffi.ArrayContains", &found, array, b));
  drop(&array);
  return found.type_index == kTVMFFIBool && found.v_int64 == 1;
}

static void test_small_strings(void) {
  static const int32_t kinds[] = {kTVMFFISmallStr, kTVMFFISmallBytes};
  TVMFFIAny out = any_of(kTVMFFINone), map, count;
  for (int i = 0; i < 2; i++) {
    static const uint32_t sizes[] = {8, 200, UINT32_MAX};
    for (int k = 0; k < 3; k++) {
      TVMFFIAny bad = small(kinds[i], sizes[k], "");
      FAILS(TVMFFIAnyViewToOwnedAny(&bad, &out), "ValueError", "at most 7 fit");
      CHECK(out.type_index == kTVMFFINone);
      FAILS(CALL("ffi.Array", &out, int_view(1), bad), "ValueError", "ffi.Array: argument 1");
      FAILS(CALL("ffi.MapCount", &out, bad, bad), "ValueError", "ffi.MapCount: argument 0");
    }
    TVMFFIAny dirty = small(kinds[i], 2, "ab"), clean = any_of(kinds[i]);
    clean.small_str_len = 2, clean.v_bytes[0] = 'a', clean.v_bytes[1] = 'b';
    OK(TVMFFIAnyViewToOwnedAny(&dirty, &out));
    CHECK(memcmp(&out, &clean, sizeof out) == 0); /* equal strings have equal bytes, which C++ compares and hashes */
    CHECK(same(dirty, clean) && same(clean, dirty));
    OK(CALL("ffi.Map", &map, dirty, int_view(1)));
    OK(CALL("ffi.MapCount", &count, map, clean));
    CHECK(count.v_int64 == 1);
    drop(&map);
    out = any_of(kTVMFFINone);
  }
  FAILS(CALL("runtime.String", &out, small(kTVMFFISmallStr, 77, "")), "ValueError", "runtime.String: argument 0");
}

/* The unused bytes of a number are ignored. */
static void test_padding(void) {
  TVMFFIAny a = int_view(5), b = int_view(5), out = any_of(kTVMFFINone);
  b.zero_padding = 0xdeadbeef;
  CHECK(same(a, b) && same(b, a));
  OK(TVMFFIAnyViewToOwnedAny(&b, &out));
  CHECK(memcmp(&a, &out, sizeof a) == 0);
  a = any_of(kTVMFFIDataType), b = a;
  a.v_dtype = b.v_dtype = (DLDataType){kDLInt, 32, 1};
  b.v_uint64 |= UINT64_C(0xffff) << 48;
  OK(TVMFFIAnyViewToOwnedAny(&b, &out));
  CHECK(memcmp(&a, &out, sizeof a) == 0);
  a = any_of(kTVMFFINone), b = a, b.v_int64 = 9, b.zero_padding = 1;
  OK(TVMFFIAnyViewToOwnedAny(&b, &out));
  CHECK(memcmp(&a, &out, sizeof a) == 0);
}

static void test_casts(void) {
  TVMFFIAny array, out = any_of(kTVMFFINone), as_module, as_tensor, as_function, nowhere = any_of(kTVMFFIArray);
  OK(CALL("ffi.Array", &array, int_view(1)));
  as_module = ptr_view(kTVMFFIModule, array.v_obj);
  as_tensor = ptr_view(kTVMFFITensor, array.v_obj);
  as_function = ptr_view(kTVMFFIFunction, array.v_obj);
  FAILS(TVMFFIAnyViewToOwnedAny(&as_module, &out), "TypeError", "type index 73 (Module), but the header of its object "
      "says 71 (Array)");
  FAILS(CALL("ffi.ModuleGetKind", &out, as_module), "TypeError", "ffi.ModuleGetKind: argument 0");
  FAILS(CALL("runtime.TVMTensorCopyFromTo", &out, as_tensor, as_tensor), "TypeError", "Tensor");
  FAILS(CALL("ffi.Array", &out, array, as_function), "TypeError", "ffi.Array: argument 1");
  FAILS(CALL("ffi.Map", &out, as_function, array), "TypeError", "ffi.Map: argument 0");
  FAILS(CALL("ffi.ModuleGetKind", &out, array), "TypeError", "argument 0 must be Module, got Array");
  nowhere.v_int64 = 5; /* an integer instead of an object */
  FAILS(TVMFFIAnyViewToOwnedAny(&nowhere, &out), "TypeError", "no object can be");
  FAILS(CALL("ffi.ArraySize", &out, nowhere), "TypeError", "ffi.ArraySize: argument 0");
  CHECK(strong_count(array.v_obj) == 1);
  drop(&array);

  for (int32_t type = kTVMFFIObject; type < kTVMFFIStaticObjectEnd; type++) {
    TVMFFIAny null = any_of(type);
    FAILS(CALL("ffi.Array", &out, null), "ValueError", "ffi.Array: argument 0");
    FAILS(CALL("runtime.TVMTensorCopyFromTo", &out, null, null), "ValueError", "argument 0");
  }
  TVMFFIAny dtype = any_of(kTVMFFIDataType), cpu = any_of(kTVMFFIDevice);
  dtype.v_dtype = (DLDataType){kDLFloat, 32, 1}, cpu.v_device = (DLDevice){kDLCPU, 0};
  FAILS(CALL("runtime.TVMTensorAllocWithScope", &out, any_of(kTVMFFIShape), dtype, cpu), "ValueError", "argument 0");
  FAILS(CALL("runtime.TVMTensorCreateView", &out, any_of(kTVMFFITensor), any_of(kTVMFFIShape), dtype), "ValueError",
      "argument 0");
  FAILS(CALL("runtime.TVMTensorAllocWithScope", &out, int_view(1), dtype, cpu), "TypeError",
      "argument 0 must be Shape, got int");
  FAILS(CALL("runtime.NumThreads", &out, int_view(1)), "TypeError", "expected 0 arguments, got 1");
  FAILS(CALL("ffi.FunctionListGlobalNamesFunctor", &out, int_view(1)), "TypeError", "expected 0 arguments, got 1");
  TVMFFIByteArray gone = {NULL, 3}, nothing = {NULL, 0};
  FAILS(CALL("ffi.Bytes", &out, ptr_view(kTVMFFIByteArrayPtr, &gone)), "ValueError", "ffi.Bytes: argument 0");
  OK(CALL("ffi.Bytes", &out, ptr_view(kTVMFFIByteArrayPtr, &nothing)));
  CHECK(text_of(&out).size == 0);
  FAILS(CALL("runtime.ModuleLoadFromFile", &out, int_view(3)), "TypeError", "runtime.ModuleLoadFromFile: argument 0 "
      "must be str, got int");
}

/* Module objects of other libraries: only the header is read. */
static void test_module_of_others(void) {
  struct {
    TVMFFIObject header;
    void* rest[4];
  } foreign = {{.combined_ref_count = UINT64_C(0x100000001), .type_index = kTVMFFIModule}, {NULL}};
  TVMFFIAny out, view = object_view(&foreign);
  TVMFFIObjectHandle f = NULL;
  FAILS(CALL("ffi.ModuleGetKind", &out, view), "NotSupportedError", "another runtime");
  FAILS(CALL("ffi.ModuleGetFunction", &out, view, text_view("f"), int_view(1)), "NotSupportedError", "another runtime");
  FAILS(TVMFFIEnvModLookupFromImports(&foreign, "f", &f), "NotSupportedError", "another runtime");
  CHECK(f == NULL && strong_count(&foreign) == 1);
}

/* Errors for objects that were released too often, while a weak reference keeps their memory. */
static void test_dead_objects(void) {
  TVMFFIObject dead = {.combined_ref_count = UINT64_C(0x100000000), .type_index = kTVMFFIObject};
  FAILS(TVMFFIObjectDecRef(&dead), "RuntimeError", "released more often");
  FAILS(TVMFFIObjectIncRef(&dead), "RuntimeError", "released more often");
  CHECK(dead.combined_ref_count == UINT64_C(0x100000000));
}

void test_bad_values(void) {
  test_small_strings();
  test_padding();
  test_casts();
  test_module_of_others();
  test_dead_objects();
}
