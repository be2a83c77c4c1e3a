/* The tvm-ffi C ABI: types that cannot be registered, found or described. */
#include "ffi_abi_test.h"

static int get(void* field, TVMFFIAny* result) {
  *result = int_view(*(int64_t*)field);
  return 0;
}

static int32_t allocate(const char* key, int32_t fixed, int32_t depth, int32_t slots, int32_t overflow,
    int32_t parent) {
  TVMFFIByteArray k = bytes_of(key);
  return TVMFFITypeGetOrAllocIndex(&k, fixed, depth, slots, overflow, parent);
}

static void test_registration(void) {
  const struct {
    const char* key;
    int32_t fixed, depth, slots, overflow, parent;
    const char* text;
  } wrong[] = {
      {"bad_type.parent", -1, 1, 0, 0, 987654, "parent index is not registered (987654)"},
      {"bad_type.parent", -1, 1, 0, 0, INT32_MIN, "parent index is not registered"},
      {"bad_type.parent", -1, 1, 0, 0, INT32_MAX, "parent index is not registered"},
      {"bad_type.depth", -1, 2, 0, 0, kTVMFFIObject, "depth"},
      {"bad_type.depth", -1, -1, 0, 0, -1, "depth"},
      {"bad_type.slots", -1, 1, -1, 0, kTVMFFIObject, "child slots"},
      {"bad_type.slots", -1, 1, INT32_MAX, 0, kTVMFFIObject, "child slots"},
      {"bad_type.fixed", kTVMFFIArray, 1, 0, 0, kTVMFFIObject, "another type has this static index (71)"},
      {"bad_type.fixed", 128, 1, 0, 0, kTVMFFIObject, "static index"},
      {"bad_type.fixed", -9, 1, 0, 0, kTVMFFIObject, "static index"},
      {"bad_type.child", -1, 2, 0, 0, kTVMFFIArray, "takes no more child types"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    CHECK(allocate(wrong[i].key, wrong[i].fixed, wrong[i].depth, wrong[i].slots, wrong[i].overflow,
        wrong[i].parent) == -1);
    FAILS(-1, "ValueError", wrong[i].text);
    CHECK(allocate(wrong[i].key, -1, 1, 0, 0, -2) == -2); /* nothing is left of it */
  }
}

static void test_lookup(void) {
  TVMFFIByteArray near = bytes_of("ffi.Modul"), far = bytes_of("nothing.is.called.like.this"), null = {NULL, 3},
      empty = {"", 0};
  int32_t index = 42;
  FAILS(TVMFFITypeKeyToIndex(&near, &index), "NotFoundError", "\"ffi.Modul\" is registered: load the library that "
      "registers it, or did you mean \"ffi.Module\"?");
  FAILS(TVMFFITypeKeyToIndex(&far, &index), "NotFoundError", "load the library");
  FAILS(TVMFFITypeKeyToIndex(&null, &index), "ValueError", "NULL");
  FAILS(TVMFFITypeKeyToIndex(&empty, &index), "NotFoundError", "\"\"");
  FAILS(TVMFFITypeKeyToIndex(&near, NULL), "ValueError", "out is NULL");
  CHECK(index == 42);
  CHECK(TVMFFIGetTypeInfo(-1) == NULL && TVMFFIGetTypeInfo(INT32_MAX) == NULL && TVMFFIGetTypeInfo(INT32_MIN) == NULL);
}

static void test_descriptions(void) {
  int32_t type = allocate("bad_type.Described", -1, 1, 0, 0, kTVMFFIObject);
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type);
  NEED(info != NULL);
  TVMFFIAny array;
  OK(call_global("ffi.Array", NULL, 0, &array));
  TVMFFIFieldInfo good, f;
  memset(&good, 0, sizeof good);
  good.name = bytes_of("x"), good.size = good.alignment = 8, good.offset = 24, good.getter = get;
  f = good, f.getter = NULL;
  FAILS(TVMFFITypeRegisterField(type, &f), "ValueError", "register field x: the getter is NULL");
  f = good, f.flags = kTVMFFIFieldFlagBitMaskWritable;
  FAILS(TVMFFITypeRegisterField(type, &f), "ValueError", "setter is NULL");
  f = good, f.size = -8;
  FAILS(TVMFFITypeRegisterField(type, &f), "ValueError", "negative");
  f = good, f.flags = kTVMFFIFieldFlagBitSetterIsFunctionObj, f.setter = array.v_obj;
  FAILS(TVMFFITypeRegisterField(type, &f), "TypeError", "setter is a Function object");
  f = good, f.default_value_or_factory = any_of(kTVMFFIStr);
  FAILS(TVMFFITypeRegisterField(type, &f), "ValueError", "register field x: its default");
  f = good, f.metadata = (TVMFFIByteArray){NULL, 9};
  FAILS(TVMFFITypeRegisterField(type, &f), "ValueError", "NULL");
  for (int32_t i = -2; i < 2; i++)
    FAILS(TVMFFITypeRegisterField(i < 0 ? i : 900000 + i, &good), "ValueError", "not registered");
  CHECK(info->num_fields == 0 && strong_count(array.v_obj) == 1);

  TVMFFIMethodInfo m;
  memset(&m, 0, sizeof m);
  m.name = bytes_of("go"), m.method = ptr_view(kTVMFFIFunction, array.v_obj);
  FAILS(TVMFFITypeRegisterMethod(type, &m), "TypeError", "register method go");
  m.method = any_of(kTVMFFIFunction);
  FAILS(TVMFFITypeRegisterMethod(type, &m), "ValueError", "register method go");
  FAILS(TVMFFITypeRegisterMethod(-1, &m), "ValueError", "-1");
  CHECK(info->num_methods == 0);

  TVMFFIByteArray attr = bytes_of("bad_type.attribute"), null = {NULL, 1};
  TVMFFIAny one = int_view(1), bad = any_of(63);
  FAILS(TVMFFITypeRegisterAttr(type, NULL, &one), "ValueError", "the name is NULL");
  FAILS(TVMFFITypeRegisterAttr(type, &null, &one), "ValueError", "the name is NULL");
  FAILS(TVMFFITypeRegisterAttr(type, &attr, NULL), "ValueError", "the value is NULL");
  FAILS(TVMFFITypeRegisterAttr(type, &attr, &bad), "TypeError", "bad_type.attribute");
  FAILS(TVMFFITypeRegisterAttr(INT32_MAX, &attr, &one), "ValueError", "not registered");
  CHECK(TVMFFIGetTypeAttrColumn(&attr) == NULL);
  OK(TVMFFITypeRegisterAttr(type, &attr, &one));
  FAILS(TVMFFITypeRegisterAttr(type, &attr, &one), "RuntimeError", "has a value already");
  drop(&array);
}

static void test_errors_and_numbers(void) {
  TVMFFIByteArray text = bytes_of("text"), huge = {"text", SIZE_MAX - 4}, words = {"12345678", (SIZE_MAX >> 1) - 7};
  TVMFFIObjectHandle out = NULL;
  TVMFFIAny array, big = any_of(kTVMFFIBigInt), value = any_of(kTVMFFINone);
  OK(call_global("ffi.Array", NULL, 0, &array));
  CHECK(TVMFFIErrorCreate(&huge, &text, NULL, &out) == -1 && out == NULL);
  CHECK(TVMFFIErrorCreate(&text, &huge, NULL, &out) == -1 && out == NULL);
  CHECK(TVMFFIErrorCreate(&text, &text, &huge, &out) == -1 && out == NULL);
  CHECK(TVMFFIErrorCreateWithCauseAndExtraContext(&text, &text, NULL, array.v_obj, NULL, &out) == -1); /* no error */
  CHECK(strong_count(array.v_obj) == 1 && take_error().kind[0] == 0);
  FAILS(TVMFFIBigIntFromByteArray(&words, &value), "ValueError", "more than memory can hold");
  CHECK(TVMFFIBigIntGetContentByteArray(&big).data == NULL);
  big = ptr_view(kTVMFFIBigInt, array.v_obj);
  CHECK(TVMFFIBigIntGetContentByteArray(&big).data == NULL);
  FAILS(TVMFFIObjectCreateOpaque(&value, kTVMFFIArray, NULL, &out), "RuntimeError", "type index 71 is not allowed");
  FAILS(TVMFFIEnvSetStream(-1, 0, &out, NULL), "ValueError", "type -1");
  FAILS(TVMFFIEnvSetStream(kDLCUDA, -1, &out, NULL), "ValueError", "id -1");
  drop(&array);
}

void test_bad_types(void) {
  test_registration();
  test_lookup();
  test_descriptions();
  test_errors_and_numbers();
}
