/* The tvm-ffi C ABI: counted objects, and the table of types. */
#include "ffi_abi_test.h"

static void test_version(void) {
  TVMFFIVersion v = {9, 9, 9};
  TVMFFIGetVersion(&v);
  CHECK(v.major == TVM_FFI_VERSION_MAJOR && v.minor == TVM_FFI_VERSION_MINOR && v.patch == TVM_FFI_VERSION_PATCH);
}

static int released;
static void release(void* handle) { released += *(int*)handle; }

static void test_counts(void) {
  int handle = 1;
  TVMFFIObjectHandle obj = NULL;
  released = 0;
  OK(TVMFFIObjectCreateOpaque(&handle, kTVMFFIOpaquePyObject, release, &obj));
  NEED(obj != NULL);
  TVMFFIObject* header = obj;
  CHECK(header->combined_ref_count == 0x100000001u && header->type_index == kTVMFFIOpaquePyObject &&
      header->__padding == 0);
  CHECK(TVMFFIOpaqueObjectGetCellPtr(obj)->handle == &handle);
  OK(TVMFFIObjectIncRef(obj));
  CHECK(strong_count(obj) == 2);
  OK(TVMFFIObjectDecRef(obj));
  CHECK(released == 0);

  /* A weak reference outlives the value, not the memory: what C++ inlines. */
  __atomic_fetch_add(&header->combined_ref_count, (uint64_t)1 << 32, __ATOMIC_RELAXED);
  OK(TVMFFIObjectDecRef(obj));
  CHECK(released == 1);
  CHECK(header->combined_ref_count == (uint64_t)1 << 32); /* no strong reference: a promotion must fail */
  if (__atomic_fetch_sub(&header->combined_ref_count, (uint64_t)1 << 32, __ATOMIC_ACQ_REL) == (uint64_t)1 << 32)
    header->deleter(obj, kTVMFFIObjectDeleterFlagBitMaskWeak);
  CHECK(released == 1);

  FAILS(TVMFFIObjectCreateOpaque(&handle, kTVMFFIFunction, release, &obj), "RuntimeError", "68");
  FAILS(TVMFFIObjectCreateOpaque(&handle, kTVMFFIOpaquePyObject, release, NULL), "ValueError", "NULL");
  CHECK(released == 1); /* the caller still owns a rejected handle */
  OK(TVMFFIObjectCreateOpaque(&handle, kTVMFFIOpaquePyObject, NULL, &obj));
  OK(TVMFFIObjectDecRef(obj));
  FAILS(TVMFFIObjectIncRef(NULL), "ValueError", "NULL");
  FAILS(TVMFFIObjectDecRef(NULL), "ValueError", "NULL");
}

/* C programs make objects with their own deleters. */
static int deleted;
static void delete_own(void* self, int flags) {
  (void)self;
  deleted = flags;
}

static void test_own_object(void) {
  TVMFFIObject own = {.combined_ref_count = 0x100000001u, .type_index = kTVMFFIObject, .deleter = delete_own};
  TVMFFIAny array, item, view = object_view(&own);
  OK(CALL("ffi.Array", &array, view, view));
  CHECK(strong_count(&own) == 3);
  OK(CALL("ffi.ArrayGetItem", &item, array, int_view(1)));
  CHECK(item.v_obj == &own);
  drop(&item);
  drop(&array);
  CHECK(strong_count(&own) == 1 && deleted == 0);
  OK(TVMFFIObjectDecRef(&own));
  CHECK(deleted == kTVMFFIObjectDeleterFlagBitMaskBoth);
}

static TVMFFICustomAllocator* in_force(void) { return TVMFFIGetCustomAllocator(); }
static void* allocate(size_t size, size_t alignment, int32_t type_index, void* context) {
  (void)alignment, (void)type_index, (void)context;
  return malloc(size);
}

static void test_allocator(void) {
  TVMFFICustomAllocator own = {allocate, NULL}, none = {NULL, NULL}, *plain = in_force();
  NEED(plain != NULL && plain->allocate != NULL);
  OK(TVMFFISetCustomAllocator(&own));
  CHECK(in_force() == &own);
  FAILS(TVMFFISetCustomAllocator(&none), "ValueError", "NULL");
  CHECK(in_force() == &own);
  OK(TVMFFISetCustomAllocator(NULL));
  CHECK(in_force() == plain);
}

static void test_markers(void) {
  TVMFFIAny missing, kwargs, again;
  OK(call_global("ffi.GetInvalidObject", NULL, 0, &missing));
  OK(call_global("ffi.GetInvalidObject", NULL, 0, &again));
  OK(call_global("ffi.GetKwargsObject", NULL, 0, &kwargs));
  CHECK(missing.v_obj != NULL && missing.v_obj == again.v_obj && kwargs.v_obj != NULL && kwargs.v_obj != missing.v_obj);
  drop(&missing);
  drop(&again);
  drop(&kwargs);
}

void test_objects(void) {
  test_version();
  test_counts();
  test_own_object();
  test_allocator();
  test_markers();
}

/* ---- types ---- */

static int32_t register_type(const char* name, int32_t depth, int32_t slots, int overflow, int32_t parent) {
  TVMFFIByteArray key = bytes_of(name);
  return TVMFFITypeGetOrAllocIndex(&key, -1, depth, slots, overflow, parent);
}

static void test_static_types(void) {
  static const struct {
    const char* key;
    int32_t index;
  } known[] = {{"None", 0},          {"int", 1},          {"bool", 2},      {"float", 3},      {"ffi.Object", 64},
               {"ffi.String", 65},   {"ffi.Bytes", 66},   {"ffi.Error", 67}, {"ffi.Function", 68}, {"ffi.Shape", 69},
               {"ffi.Tensor", 70},   {"ffi.Array", 71},   {"ffi.Map", 72},  {"ffi.Module", 73}, {"ffi.List", 75},
               {"ffi.Dict", 76}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    TVMFFIByteArray key = bytes_of(known[i].key);
    int32_t index = -7;
    OK(TVMFFITypeKeyToIndex(&key, &index));
    CHECK(index == known[i].index);
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
    NEED(info != NULL);
    CHECK(info->type_index == index && is_text(info->type_key, known[i].key));
    CHECK(info->type_depth == (index > 64));
    if (index > 64) CHECK(info->type_ancestors[0] == TVMFFIGetTypeInfo(kTVMFFIObject));
  }
  TVMFFIByteArray unknown = bytes_of("no.such.Type");
  int32_t index = -7;
  FAILS(TVMFFITypeKeyToIndex(&unknown, &index), "NotFoundError", "no.such.Type");
  FAILS(TVMFFITypeKeyToIndex(NULL, &index), "ValueError", "NULL");
  FAILS(TVMFFITypeKeyToIndex(&unknown, NULL), "ValueError", "NULL");
  CHECK(TVMFFIGetTypeInfo(40) == NULL && TVMFFIGetTypeInfo(-5) == NULL && TVMFFIGetTypeInfo(INT32_MAX) == NULL);
  TVMFFIAny keys, size;
  OK(call_global("ffi.GetRegisteredTypeKeys", NULL, 0, &keys));
  OK(CALL("ffi.ArraySize", &size, keys));
  CHECK(size.v_int64 > 20);
  drop(&keys);
}

static void test_own_types(void) {
  int32_t base = register_type("ffi_abi_test.Base", 1, 2, 0, kTVMFFIObject);
  CHECK(base >= kTVMFFIDynObjectBegin);
  CHECK(register_type("ffi_abi_test.Base", 1, 2, 0, kTVMFFIObject) == base);
  int32_t first = register_type("ffi_abi_test.First", 2, 0, 0, base), second = register_type("ffi_abi_test.Second", 2,
      0, 0, base);
  CHECK(first == base + 1 && second == base + 2);
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(second);
  NEED(info != NULL);
  CHECK(info->type_depth == 2 && info->type_ancestors[0]->type_index == kTVMFFIObject &&
      info->type_ancestors[1]->type_index == base);
  CHECK(register_type("ffi_abi_test.Third", 2, 0, 0, base) == -1); /* no slot is left */
  take_error();
  CHECK(register_type("ffi_abi_test.Unknown", 0, 0, 0, -2) == -2);
  CHECK(register_type("ffi_abi_test.Orphan", 2, 0, 0, 123456) == -1);
  CHECK(strstr(take_error().message, "123456") != NULL);
  CHECK(register_type("ffi_abi_test.Deep", 7, 0, 0, base) == -1);
  CHECK(strstr(take_error().message, "depth") != NULL);
  TVMFFIByteArray clash = bytes_of("ffi_abi_test.Clash");
  CHECK(TVMFFITypeGetOrAllocIndex(&clash, kTVMFFIArray, 1, 0, 0, kTVMFFIObject) == -1);
  CHECK(strstr(take_error().message, "71") != NULL);
  CHECK(TVMFFITypeGetOrAllocIndex(NULL, -1, 1, 0, 0, kTVMFFIObject) == -1);
  take_error();
}

static int get_field(void* field, TVMFFIAny* result) {
  *result = int_view(*(int64_t*)field);
  return 0;
}

static int method(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  return 0;
}

static void test_reflection(void) {
  int32_t type = register_type("ffi_abi_test.Reflected", 1, 0, 0, kTVMFFIObject);
  TVMFFIFieldInfo field;
  memset(&field, 0, sizeof field);
  field.name = bytes_of("x"), field.doc = bytes_of("what x is"), field.metadata = bytes_of("{}");
  field.size = 8, field.alignment = 8, field.offset = 24, field.getter = get_field;
  field.default_value_or_factory = int_view(3);
  OK(TVMFFITypeRegisterField(type, &field));
  FAILS(TVMFFITypeRegisterField(type, &field), "RuntimeError", "ffi_abi_test.Reflected");
  FAILS(TVMFFITypeRegisterField(999999, &field), "ValueError", "999999");
  FAILS(TVMFFITypeRegisterField(type, NULL), "ValueError", "NULL");

  TVMFFIObjectHandle f = NULL;
  OK(TVMFFIFunctionCreate(NULL, method, NULL, &f));
  TVMFFIMethodInfo m;
  memset(&m, 0, sizeof m);
  m.name = bytes_of("m"), m.method = object_view(f);
  OK(TVMFFITypeRegisterMethod(type, &m));
  FAILS(TVMFFITypeRegisterMethod(type, NULL), "ValueError", "NULL");
  TVMFFIObjectDecRef(f);

  TVMFFITypeMetadata metadata;
  memset(&metadata, 0, sizeof metadata);
  metadata.total_size = 32;
  OK(TVMFFITypeRegisterMetadata(type, &metadata));
  FAILS(TVMFFITypeRegisterMetadata(type, &metadata), "RuntimeError", "ffi_abi_test.Reflected");
  FAILS(TVMFFITypeRegisterMetadata(type, NULL), "ValueError", "NULL");

  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type);
  NEED(info != NULL && info->num_fields == 1 && info->num_methods == 1 && info->metadata != NULL);
  CHECK(is_text(info->fields[0].name, "x") && is_text(info->fields[0].doc, "what x is") &&
      info->fields[0].offset == 24);
  CHECK(info->fields[0].default_value_or_factory.v_int64 == 3 && info->metadata->total_size == 32);
  CHECK(is_text(info->methods[0].name, "m") && info->methods[0].method.v_obj == f);

  TVMFFIByteArray attr = bytes_of("ffi_abi_test_attr");
  CHECK(TVMFFIGetTypeAttrColumn(&attr) == NULL && TVMFFIGetTypeAttrColumn(NULL) == NULL);
  TVMFFIAny value = any_of(kTVMFFINone);
  OK(TVMFFITypeRegisterAttr(kTVMFFINone, &attr, &value)); /* makes the column */
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&attr);
  NEED(column != NULL);
  value = text_view("value of the attribute");
  OK(TVMFFITypeRegisterAttr(type, &attr, &value));
  CHECK(TVMFFIGetTypeAttrColumn(&attr) == column && column->begin_index == 0 && column->size > type);
  CHECK(is_text(text_of(&column->data[type]), "value of the attribute") && column->data[0].type_index == kTVMFFINone);
  FAILS(TVMFFITypeRegisterAttr(type, &attr, &value), "RuntimeError", "value already");
  FAILS(TVMFFITypeRegisterAttr(type, NULL, &value), "ValueError", "NULL");
  FAILS(TVMFFITypeRegisterAttr(type, &attr, NULL), "ValueError", "NULL");
  FAILS(TVMFFITypeRegisterAttr(999999, &attr, &value), "ValueError", "999999");
}

void test_types(void) {
  test_static_types();
  test_own_types();
  test_reflection();
}
