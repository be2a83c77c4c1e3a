/* The type table: static types, allocation, reflection, attributes, many threads at once. */
#include "ctest/call.h"

#include <pthread.h>

static TVMFFIByteArray key(const char* s) { return (TVMFFIByteArray){s, strlen(s)}; }

static int32_t alloc(const char* name, int32_t depth, int32_t slots, int overflow, int32_t parent) {
  TVMFFIByteArray k = key(name);
  return TVMFFITypeGetOrAllocIndex(&k, -1, depth, slots, overflow, parent);
}

static int32_t object_type(const char* name) { return alloc(name, 1, 0, 1, kTVMFFIObject); }

static void test_static_types(void) {
  static const struct {
    int32_t index;
    const char* key;
  } types[] = {
      {0, "None"}, {1, "int"}, {2, "bool"}, {3, "float"}, {4, "void*"}, {5, "DataType"},
      {6, "Device"}, {7, "DLTensor*"}, {8, "const char*"}, {9, "TVMFFIByteArray*"},
      {10, "ObjectRValueRef"}, {11, "ffi.SmallStr"}, {12, "ffi.SmallBytes"}, {13, "ffi.Unchanged"},
      {64, "ffi.Object"}, {65, "ffi.String"}, {66, "ffi.Bytes"}, {67, "ffi.Error"},
      {68, "ffi.Function"}, {69, "ffi.Shape"}, {70, "ffi.Tensor"}, {71, "ffi.Array"},
      {72, "ffi.Map"}, {73, "ffi.Module"}, {74, "ffi.OpaquePyObject"}, {75, "ffi.List"},
      {76, "ffi.Dict"}, {77, "ffi.VisitInterrupt"}, {78, "ffi.BigInt"},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(types[i].index);
    REQUIRE(info != NULL);
    CHECK_EQ_INT(info->type_index, types[i].index);
    CHECK_TEXT(info->type_key, types[i].key);
    CHECK_EQ_INT(info->type_depth, types[i].index > 64);
    if (types[i].index > 64) CHECK_EQ_PTR(info->type_ancestors[0], TVMFFIGetTypeInfo(64));
    TVMFFIByteArray k = key(types[i].key);
    int32_t index = -5;
    CHECK_OK(TVMFFITypeKeyToIndex(&k, &index));
    CHECK_EQ_INT(index, types[i].index);
    CHECK_EQ_INT(TVMFFITypeGetOrAllocIndex(&k, 127, 9, 9, 0, 99), types[i].index);
  }
  static const int32_t absent[] = {-1, 14, 63, 79, 127, 1 << 20, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    CHECK_EQ_PTR(TVMFFIGetTypeInfo(absent[i]), NULL);
  CHECK_NO_ERROR();
  CHECK_EQ_INT(TVMFFIGetTypeInfo(kTVMFFIObject)->metadata->total_size, 24);
}

static void test_unknown_key(void) {
  TVMFFIByteArray k = key("test.Nowhere"), null = {NULL, 3};
  int32_t index;
  CHECK_FAILS(TVMFFITypeKeyToIndex(&k, &index), "NotFoundError", "test.Nowhere");
  CHECK_FAILS(TVMFFITypeKeyToIndex(NULL, &index), "ValueError", "NULL");
  CHECK_FAILS(TVMFFITypeKeyToIndex(&null, &index), "ValueError", "NULL");
  CHECK_FAILS(TVMFFITypeKeyToIndex(&k, NULL), "ValueError", "out");
  CHECK_EQ_INT(TVMFFITypeGetOrAllocIndex(&k, -1, 1, 0, 1, -2), -2); /* only looks */
  CHECK_NO_ERROR();
  CHECK_FAILS(TVMFFITypeKeyToIndex(&k, &index), "NotFoundError", "test.Nowhere");
}

/* The indices that the reference implementation assigns for the same calls. */
static void test_slots(void) {
  int32_t a = object_type("test.First");
  CHECK(a >= kTVMFFIDynObjectBegin);
  CHECK_EQ_INT(object_type("test.First"), a);
  int32_t p = alloc("test.Parent", 1, 2, 1, kTVMFFIObject);
  CHECK_EQ_INT(p, a + 1);
  CHECK_EQ_INT(alloc("test.C0", 2, 0, 1, p), p + 1);
  CHECK_EQ_INT(alloc("test.C1", 2, 0, 1, p), p + 2);
  CHECK_EQ_INT(alloc("test.C2", 2, 0, 1, p), p + 3); /* overflow */
  CHECK_EQ_INT(alloc("test.C3", 2, 0, 1, p), p + 4);
  CHECK_EQ_INT(object_type("test.After"), p + 5);
  int32_t q = alloc("test.Parent2", 1, 3, 1, kTVMFFIObject);
  CHECK_EQ_INT(q, p + 6);
  CHECK_EQ_INT(alloc("test.D0", 2, 1, 1, q), q + 1);
  CHECK_EQ_INT(alloc("test.D1", 2, 1, 1, q), q + 4); /* two more do not fit */
  CHECK_EQ_INT(alloc("test.D2", 2, 1, 1, q), q + 6);
  CHECK_EQ_INT(alloc("test.E0", 2, 0, 1, q), q + 3); /* but one does */
  CHECK_EQ_INT(object_type("test.After2"), q + 8);

  CHECK(tvmgo_type_derived_from(q + 1, q));
  CHECK(tvmgo_type_derived_from(q + 1, kTVMFFIObject));
  CHECK(tvmgo_type_derived_from(q, q));
  CHECK(!tvmgo_type_derived_from(q, q + 1));
  CHECK(!tvmgo_type_derived_from(q + 1, p));
  CHECK(tvmgo_type_derived_from(kTVMFFIArray, kTVMFFIObject));
  CHECK(!tvmgo_type_derived_from(kTVMFFIArray, kTVMFFIMap));
  CHECK(!tvmgo_type_derived_from(kTVMFFIInt, kTVMFFIObject));
  CHECK(!tvmgo_type_derived_from(99999, 99999));
  int32_t deep = alloc("test.Deep", 3, 0, 1, q + 1);
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(deep);
  REQUIRE(info != NULL);
  CHECK_EQ_INT(info->type_depth, 3);
  CHECK_EQ_INT(info->type_ancestors[0]->type_index, kTVMFFIObject);
  CHECK_EQ_INT(info->type_ancestors[1]->type_index, q);
  CHECK_EQ_INT(info->type_ancestors[2]->type_index, q + 1);
  CHECK(tvmgo_type_derived_from(deep, q));
}

static void test_refused(void) {
  TVMFFIByteArray k = key("test.Refused"), empty = {"", 0};
  static const struct {
    int32_t index, depth, slots, overflow, parent;
    const char* text;
  } cases[] = {
      {kTVMFFIArray, 1, 0, 1, kTVMFFIObject, "another type has this static index"},
      {-1, 1, 0, 1, 5000, "parent index is not registered"},
      {-1, 2, 0, 1, kTVMFFIObject, "depth"},
      {-1, 1, 0, 1, -1, "depth"},
      {-1, -1, 0, 1, -1, "depth"},
      {-1, 1, -1, 1, kTVMFFIObject, "child slots"},
      {-1, 1, INT32_MAX, 1, kTVMFFIObject, "child slots"},
      {-1, 1, (1 << 20) - 1, 1, kTVMFFIObject, "table is full"},
      {-1, 2, 0, 1, kTVMFFIArray, "no more child types"},
      {200, 1, 0, 1, kTVMFFIObject, "static index"},
      {-7, 1, 0, 1, kTVMFFIObject, "static index"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_EQ_INT(TVMFFITypeGetOrAllocIndex(&k, cases[i].index, cases[i].depth, cases[i].slots,
                                           cases[i].overflow, cases[i].parent),
                 -1);
    CHECK_ERROR("ValueError", cases[i].text);
  }
  CHECK_EQ_INT(TVMFFITypeGetOrAllocIndex(NULL, -1, 1, 0, 1, 64), -1);
  CHECK_ERROR("ValueError", "NULL");
  CHECK_EQ_INT(TVMFFITypeGetOrAllocIndex(&empty, -1, 1, 0, 1, 64), -1);
  CHECK_ERROR("ValueError", "empty");
  int32_t final = alloc("test.Final", 1, 1, 0, kTVMFFIObject);
  CHECK_EQ_INT(alloc("test.Final.A", 2, 0, 0, final), final + 1);
  CHECK_EQ_INT(alloc("test.Final.B", 2, 0, 0, final), -1);
  CHECK_ERROR("ValueError", "test.Final.B");
  TVMFFIByteArray fixed = key("test.Static");
  CHECK_EQ_INT(TVMFFITypeGetOrAllocIndex(&fixed, 100, 1, 0, 0, kTVMFFIObject), 100);
  CHECK_TEXT(TVMFFIGetTypeInfo(100)->type_key, "test.Static");
}

static int seven(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  *result = tvmgo_any_int(7);
  return 0;
}

static int read_field(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_int(*(int64_t*)field);
  return 0;
}

static void test_fields_and_methods(void) {
  int32_t type = object_type("test.Reflected");
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type);
  char name[32] = "field0", doc[] = "what it means";
  TVMFFIFieldInfo field = {
      .name = key(name), .doc = key(doc), .size = 8, .offset = 24, .getter = read_field};
  field.default_value_or_factory =
      (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = "a default on the heap"};
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "field%d", i);
    field.name = key(name);
    field.offset = 24 + 8 * i;
    CHECK_OK(TVMFFITypeRegisterField(type, &field));
  }
  CHECK_FAILS(TVMFFITypeRegisterField(type, &field), "RuntimeError", "field19");
  memset(doc, 'x', sizeof doc - 1); /* texts were copied */
  CHECK_EQ_INT(info->num_fields, 20);
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "field%d", i);
    CHECK_TEXT(info->fields[i].name, name);
    CHECK_TEXT(info->fields[i].doc, "what it means");
    CHECK_EQ_PTR(info->fields[i].metadata.data, NULL);
    CHECK_EQ_INT(info->fields[i].offset, 24 + 8 * i);
    CHECK_EQ_INT(info->fields[i].default_value_or_factory.type_index, kTVMFFIStr);
  }
  field.name = key("");
  CHECK_FAILS(TVMFFITypeRegisterField(type, &field), "ValueError", "name");
  field.name = key("ok");
  field.doc = (TVMFFIByteArray){NULL, 4};
  CHECK_FAILS(TVMFFITypeRegisterField(type, &field), "ValueError", "NULL");
  CHECK_FAILS(TVMFFITypeRegisterField(type, NULL), "ValueError", "NULL");
  CHECK_FAILS(TVMFFITypeRegisterField(4000, &field), "ValueError", "4000");

  TVMFFIObjectHandle f;
  CHECK_OK(TVMFFIFunctionCreate(NULL, seven, NULL, &f));
  TVMFFIMethodInfo method = {.name = key("seven"), .method = tvmgo_any_object(f)};
  for (int i = 0; i < 6; i++) CHECK_OK(TVMFFITypeRegisterMethod(type, &method));
  tvmgo_object_release(f);
  CHECK_EQ_INT(info->num_methods, 6);
  TVMFFIAny r = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(info->methods[5].method.v_obj, NULL, 0, &r));
  CHECK_EQ_INT(r.v_int64, 7);

  TVMFFITypeMetadata metadata = {.doc = key("a type"), .total_size = 40};
  CHECK_OK(TVMFFITypeRegisterMetadata(type, &metadata));
  CHECK_FAILS(TVMFFITypeRegisterMetadata(type, &metadata), "RuntimeError", "test.Reflected");
  CHECK_TEXT(info->metadata->doc, "a type");
  CHECK_EQ_INT(info->metadata->total_size, 40);
  CHECK_FAILS(TVMFFITypeRegisterMetadata(4000, &metadata), "ValueError", "4000");
}

/* A base class in front of Object in a C++ class has its fields at negative offsets. */
static void test_field_before_the_object(void) {
  struct {
    int64_t base;
    TVMFFIObject object;
  } n = {.base = 7};
  int32_t type = object_type("test.Before");
  TVMFFIFieldInfo field = {
      .name = key("base"), .size = 8, .alignment = 8, .offset = -8, .getter = read_field};
  CHECK_OK(TVMFFITypeRegisterField(type, &field));
  const TVMFFIFieldInfo* known = TVMFFIGetTypeInfo(type)->fields;
  CHECK_EQ_INT(known->offset, -8);
  TVMFFIAny v = tvmgo_any_none();
  CHECK_OK(known->getter((char*)&n.object + known->offset, &v));
  CHECK_EQ_INT(v.v_int64, 7);
  field.name = key("size");
  field.size = -1;
  CHECK_FAILS(TVMFFITypeRegisterField(type, &field), "ValueError", "size and alignment");
  /* Objects that are made here have no memory there. */
  TVMFFIAny args[] = {tvmgo_any_int(type), tvmgo_any_int(48)}, r;
  CHECK_FAILS(call("ffi._PyClassRegisterTypeAttrColumns", args, 2, &r), "ValueError", "field base of type test.Before");
}

static void test_attributes(void) {
  static const char* const always[] = {"__any_hash__", "__any_equal__"};
  for (int i = 0; i < 2; i++) {
    TVMFFIByteArray name = key(always[i]);
    const TVMFFITypeAttrColumn* c = TVMFFIGetTypeAttrColumn(&name);
    REQUIRE(c != NULL);
    CHECK_EQ_INT(c->begin_index, 0);
    CHECK(c->size > kTVMFFIBigInt);
    CHECK_EQ_INT(c->data[kTVMFFIBigInt].type_index, kTVMFFIOpaquePtr);
  }
  TVMFFIByteArray name = key("test.attr"), empty = key("");
  CHECK_EQ_PTR(TVMFFIGetTypeAttrColumn(&name), NULL);
  CHECK_EQ_PTR(TVMFFIGetTypeAttrColumn(NULL), NULL);
  TVMFFIAny none = tvmgo_any_none(), five = tvmgo_any_int(5);
  CHECK_OK(TVMFFITypeRegisterAttr(kTVMFFIObject, &name, &none));
  const TVMFFITypeAttrColumn* c = TVMFFIGetTypeAttrColumn(&name);
  REQUIRE(c != NULL);
  CHECK_EQ_INT(c->size, 0);
  int32_t last = 0;
  for (int i = 0; i < 300; i++) {
    char type_name[32];
    snprintf(type_name, sizeof type_name, "test.Attr%d", i);
    last = object_type(type_name);
    TVMFFIAny value = tvmgo_any_int(i);
    CHECK_OK(TVMFFITypeRegisterAttr(last, &name, &value));
  }
  CHECK_EQ_PTR(TVMFFIGetTypeAttrColumn(&name), c); /* updated in place */
  CHECK_EQ_INT(c->size, last + 1);
  CHECK_EQ_INT(c->data[last].v_int64, 299);
  CHECK_EQ_INT(c->data[last - 299].v_int64, 0);
  CHECK_EQ_INT(c->data[kTVMFFIArray].type_index, kTVMFFINone);
  CHECK_FAILS(TVMFFITypeRegisterAttr(last, &name, &five), "RuntimeError", "test.Attr299");
  CHECK_FAILS(TVMFFITypeRegisterAttr(70000, &name, &five), "ValueError", "70000");
  CHECK_FAILS(TVMFFITypeRegisterAttr(last, &empty, &five), "ValueError", "name");
  CHECK_FAILS(TVMFFITypeRegisterAttr(last, NULL, &five), "ValueError", "name");
  CHECK_FAILS(TVMFFITypeRegisterAttr(last, &name, NULL), "ValueError", "NULL");
}

static void test_module_imports_field(void) {
  static const tvmgo_module_class cls = {.kind = "test"};
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(kTVMFFIModule);
  CHECK_EQ_INT(info->metadata->total_size, 48);
  REQUIRE(info->num_fields == 1);
  const TVMFFIFieldInfo* field = &info->fields[0];
  CHECK_TEXT(field->name, "imports_");
  CHECK_EQ_INT(field->offset, 24);
  CHECK_EQ_INT(field->size, 8);
  tvmgo_module* m = tvmgo_module_new(&cls, "test", 0, NULL);
  tvmgo_module* dep = tvmgo_module_new(&cls, "test", 0, NULL);
  REQUIRE(m != NULL && dep != NULL);
  CHECK_OK(tvmgo_module_import(m, dep));
  TVMFFIAny imports = tvmgo_any_none();
  CHECK_OK(field->getter((char*)m + field->offset, &imports));
  CHECK_EQ_INT(imports.type_index, kTVMFFIArray);
  CHECK_EQ_INT(tvmgo_seq_cell(imports.v_obj)->size, 1);
  tvmgo_any_clear(&imports);
  tvmgo_object_release(m);
  tvmgo_object_release(dep);
}

/* ---- Threads: all register the same types, and each some of its own ------------------------- */

enum { THREADS = 4, TYPES = 200 };
static int32_t shared_index[THREADS][TYPES];
static pthread_barrier_t start;

static void* register_types(void* arg) {
  int me = (int)(intptr_t)arg;
  char name[64];
  pthread_barrier_wait(&start);
  for (int i = 0; i < TYPES; i++) {
    snprintf(name, sizeof name, "test.shared.%d", i);
    int32_t shared = shared_index[me][i] = alloc(name, 1, i % 3, 1, kTVMFFIObject);
    snprintf(name, sizeof name, "test.own.%d.%d", me, i);
    int32_t own = alloc(name, 2, 0, 1, shared);
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(own);
    TVMFFIByteArray k = key(name), attr = key("test.threads");
    int32_t found = -1;
    CHECK(info != NULL && info->type_index == own && info->type_ancestors[1]->type_index == shared);
    CHECK(TVMFFITypeKeyToIndex(&k, &found) == 0 && found == own);
    CHECK(tvmgo_type_derived_from(own, shared));
    TVMFFIAny value = tvmgo_any_int(own);
    CHECK_OK(TVMFFITypeRegisterAttr(own, &attr, &value));
    value = tvmgo_any_ptr(&start);
    attr = key("__any_hash__");
    CHECK_OK(TVMFFITypeRegisterAttr(own, &attr, &value));
    TVMFFIFieldInfo field = {.name = key(name), .getter = read_field};
    CHECK_OK(TVMFFITypeRegisterField(shared_index[me][0], &field));
    /* Hashing reads the column while it grows. */
    TVMFFIObject plain = {.combined_ref_count = TVMGO_REF_UNIQUE, .type_index = kTVMFFIObject};
    TVMFFIAny any = tvmgo_any_object(&plain);
    tvmgo_any_hash(&any);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&start, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    REQUIRE(pthread_create(&threads[i], NULL, register_types, (void*)(intptr_t)i) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&start);
  for (int i = 0; i < TYPES; i++)
    for (int t = 1; t < THREADS; t++) CHECK_EQ_INT(shared_index[t][i], shared_index[0][i]);
  CHECK_EQ_INT(TVMFFIGetTypeInfo(shared_index[0][0])->num_fields, THREADS * TYPES);
  TVMFFIByteArray attr = key("test.threads");
  const TVMFFITypeAttrColumn* c = TVMFFIGetTypeAttrColumn(&attr);
  int set = 0;
  for (int32_t i = 0; i < c->size; i++) {
    if (c->data[i].type_index == kTVMFFINone) continue;
    CHECK_EQ_INT(c->data[i].v_int64, i);
    set++;
  }
  CHECK_EQ_INT(set, THREADS * TYPES);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_static_types);
  RUN(test_unknown_key);
  RUN(test_slots);
  RUN(test_refused);
  RUN(test_fields_and_methods);
  RUN(test_field_before_the_object);
  RUN(test_attributes);
  RUN(test_module_imports_field);
  RUN(test_threads);
  return check_end();
}
