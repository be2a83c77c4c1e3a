/* Text, equality, order, hash and copy of whole values; devices and storage of tensors. */
#include "ctest/call.h"
#include "container/container.h"
#include "reflect/recursive.h"
#include "device/tensor.h"

#include <math.h>

#define I tvmgo_any_int

static int64_t asked(int rc, TVMFFIAny* r) { return CHECK_OK(rc) ? r->v_int64 : INT64_MIN; }

#define ASK2(name)                                         \
  static int64_t name(TVMFFIAny a, TVMFFIAny b) {          \
    TVMFFIAny r;                                           \
    int rc = CALL("ffi.Recursive" #name, &r, a, b);        \
    return asked(rc, &r);                                  \
  }
ASK2(Eq) ASK2(Lt) ASK2(Le) ASK2(Gt) ASK2(Ge)

static int64_t hash(TVMFFIAny v) {
  TVMFFIAny r;
  int rc = CALL("ffi.RecursiveHash", &r, v);
  return asked(rc, &r);
}

static TVMFFIAny deep_copy(TVMFFIAny v) {
  TVMFFIAny r;
  CHECK_OK(CALL("ffi.DeepCopy", &r, v));
  return r;
}

static void add(TVMFFIAny list, TVMFFIAny v) {
  TVMFFIAny r;
  CHECK_OK(CALL("ffi.ListAppend", &r, list, v));
}

/* A list that contains itself: emptied before it is released. */
static TVMFFIAny cycle(void) {
  TVMFFIAny list = LIST(I(1));
  add(list, list);
  return list;
}
static void uncycle(TVMFFIAny* list) {
  TVMFFIAny r;
  CHECK_OK(CALL("ffi.ListClear", &r, *list));
  tvmgo_any_clear(list);
}

/* ---- An object with two reflected fields --------------------------------------------------- */

typedef struct {
  TVMFFIObject header;
  TVMFFIAny first, second;
} pair;

static void pair_delete(void* self, int flags) {
  pair* p = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_any_clear(&p->first);
    tvmgo_any_clear(&p->second);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

static TVMFFIAny pair_of(int32_t type, TVMFFIAny a, TVMFFIAny b) {
  pair* p = tvmgo_object_new(sizeof *p, type, pair_delete);
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&a, &p->first));
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&b, &p->second));
  return tvmgo_any_object(p);
}

static int get_field(void* field, TVMFFIAny* result) { return TVMFFIAnyViewToOwnedAny(field, result); }
static int set_field(void* field, const TVMFFIAny* v) {
  tvmgo_any_clear(field);
  return TVMFFIAnyViewToOwnedAny(v, field);
}
static int copy_pair(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)n;
  const pair* p = (const pair*)args[0].v_obj;
  *result = pair_of(args[0].v_obj->type_index, p->first, p->second);
  return 0;
}

static void set_attr(int32_t type, const char* column, TVMFFISafeCallType call_) {
  TVMFFIObjectHandle f;
  TVMFFIByteArray name = {column, strlen(column)};
  CHECK_OK(TVMFFIFunctionCreate(NULL, call_, NULL, &f));
  TVMFFIAny any = tvmgo_any_object(f);
  CHECK_OK(TVMFFITypeRegisterAttr(type, &name, &any));
  tvmgo_object_release(f);
}

/* A type whose second field has these flags. */
static int32_t pair_type(const char* key, int64_t flags) {
  TVMFFIByteArray k = {key, strlen(key)};
  int32_t type = TVMFFITypeGetOrAllocIndex(&k, -1, 1, 0, 1, kTVMFFIObject);
  CHECK(type >= kTVMFFIDynObjectBegin);
  TVMFFIFieldInfo f = {.name = {"first", 5}, .size = 16, .alignment = 8, .offset = offsetof(pair, first),
                       .flags = kTVMFFIFieldFlagBitMaskWritable, .getter = get_field,
                       .setter = (void*)set_field};
  f.default_value_or_factory = tvmgo_any_none();
  CHECK_OK(TVMFFITypeRegisterField(type, &f));
  f.name = (TVMFFIByteArray){"second", 6};
  f.offset = offsetof(pair, second);
  f.flags |= flags;
  CHECK_OK(TVMFFITypeRegisterField(type, &f));
  set_attr(type, "__ffi_shallow_copy__", copy_pair);
  return type;
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void test_repr(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny device = {.type_index = kTVMFFIDevice}, dtype = {.type_index = kTVMFFIDataType}, r;
  device.v_device = (DLDevice){kDLCUDA, 1};
  dtype.v_dtype = (DLDataType){kDLFloat, 16, 4};
  CHECK_STR(repr(device), "cuda:1");
  CHECK_STR(repr(dtype), "float16x4");
  CHECK_STR(repr(real(0.1)), "0.1");
  CHECK_STR(repr(raw("it's \"x\"\n\x01\x7f")), "\"it's \\\"x\\\"\\n\\x01\\x7f\"");
  TVMFFIByteArray b = {"\0a\"\\\xff", 5};
  TVMFFIAny bytes = {.type_index = kTVMFFIByteArrayPtr};
  bytes.v_ptr = &b;
  CHECK_STR(repr(bytes), "b\"\\x00a\\x22\\x5c\\xff\"");
  TVMFFIAny shared = LIST(I(1)), nested = LIST(shared, shared, raw("x"));
  CHECK_STR(repr(nested), "[[1], [1], \"x\"]");
  TVMFFIAny c = cycle();
  CHECK_STR(repr(c), "[1, ...]");
  TVMFFIAny shape;
  CHECK_OK(CALL("ffi.Shape", &shape, I(2), I(3)));
  CHECK_STR(repr(shape), "Shape(2, 3)");
  CHECK_OK(CALL("ffi.GetInvalidObject", &r));
  CHECK_STR(repr(r), "<MISSING>");
  tvmgo_any_clear(&r);
  int32_t type = pair_type("test.Printed", 0);
  TVMFFIAny p = pair_of(type, I(1), shared);
  CHECK_STR(repr(p), "test.Printed(first=1, second=[1])");
  tvmgo_any_clear(&p);
  tvmgo_any_clear(&shape);
  uncycle(&c);
  tvmgo_any_clear(&nested);
  tvmgo_any_clear(&shared);
  CHECK(check_live(TVMGO_LIVE_OBJECTS) <= live + 2); /* the type keeps its copy function */
}

/* ---- Equality, order and hash -------------------------------------------------------------- */

static void test_equal_is_by_content(void) {
  static const struct {
    const char *a, *b;
    int equal;
  } cases[] = {
      {"1", "1", 1},
      {"1", "1.0", 0},
      {"1", "true", 0},
      {"null", "null", 1},
      {"null", "0", 0},
      {"0.0", "-0.0", 1},
      {"NaN", "NaN", 1},
      {"\"a text that is not small\"", "\"a text that is not small\"", 1},
      {"\"a\"", "\"b\"", 0},
      {"[1, [2, \"x\"], {\"k\": null}]", "[1, [2, \"x\"], {\"k\": null}]", 1},
      {"[1, [2, \"x\"], {\"k\": null}]", "[1, [2, \"y\"], {\"k\": null}]", 0},
      {"[1, 2]", "[1, 2, 3]", 0},
      {"{\"a\": 1, \"b\": [2]}", "{\"b\": [2], \"a\": 1}", 1},
      {"{\"a\": 1, \"b\": [2]}", "{\"b\": [3], \"a\": 1}", 0},
      {"{\"a\": 1}", "{\"b\": 1}", 0},
      {"{\"a\": 1}", "{\"a\": 1, \"b\": 2}", 0},
      {"[]", "{}", 0},
  };
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TVMFFIAny a = json(cases[i].a), b = json(cases[i].b);
    CHECK_EQ_INT(Eq(a, b), cases[i].equal);
    CHECK_EQ_INT(Eq(b, a), cases[i].equal);
    CHECK_EQ_INT(hash(a) == hash(b), cases[i].equal);
    tvmgo_any_clear(&a);
    tvmgo_any_clear(&b);
  }
  TVMFFIAny list = LIST(I(1)), array = json("[1]");
  CHECK_EQ_INT(Eq(list, array), 0);
  tvmgo_any_clear(&list);
  tvmgo_any_clear(&array);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_order(void) {
  /* Each is less than the next. */
  static const char* const ascending[][8] = {
      {"null", "false", "true", NULL},
      {"-9223372036854775808", "-1", "0", "9223372036854775807", NULL},
      {"-Infinity", "-1.5", "0.0", "1e-300", "Infinity", NULL},
      {"\"\"", "\"a\"", "\"a\\u0000\"", "\"ab, and on and on\"", "\"b\"", "\"\\u00e9\"", NULL},
      {"[]", "[1]", "[1, 1]", "[1, 2]", "[2]", NULL},
      {"null", "[]", NULL},
      {"[[1], \"a\"]", "[[1], \"b\"]", "[[2], \"a\"]", NULL},
  };
  for (size_t k = 0; k < sizeof ascending / sizeof *ascending; k++) {
    for (int i = 0; ascending[k][i] != NULL; i++) {
      for (int j = 0; ascending[k][j] != NULL; j++) {
        if (k == 0 && i != j && i > 0 && j > 0 && i + j != 3) continue;
        TVMFFIAny a = json(ascending[k][i]), b = json(ascending[k][j]);
        CHECK_EQ_INT(Lt(a, b), i < j);
        CHECK_EQ_INT(Le(a, b), i <= j);
        CHECK_EQ_INT(Gt(a, b), i > j);
        CHECK_EQ_INT(Ge(a, b), i >= j);
        tvmgo_any_clear(&a);
        tvmgo_any_clear(&b);
      }
    }
  }
  TVMFFIAny shapes[4];
  CHECK_OK(CALL("ffi.Shape", &shapes[0], I(1)));
  CHECK_OK(CALL("ffi.Shape", &shapes[1], I(1), I(2)));
  CHECK_OK(CALL("ffi.Shape", &shapes[2], I(1), I(2), I(0)));
  CHECK_OK(CALL("ffi.Shape", &shapes[3], I(2)));
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 4; j++) {
      CHECK_EQ_INT(Eq(shapes[i], shapes[j]), i == j);
      CHECK_EQ_INT(Lt(shapes[i], shapes[j]), i < j);
      CHECK_EQ_INT(Gt(shapes[i], shapes[j]), i > j);
    }
  }
  for (int i = 0; i < 4; i++) tvmgo_any_clear(&shapes[i]);
  static const struct {
    const char *a, *b, *text;
  } none[] = {
      {"1", "\"a\"", "no order between int and"},
      {"{\"a\": 1}", "{\"a\": 2}", "Map have no order"},
      {"NaN", "1.0", "NaN have no order"},
      {"[1, NaN]", "[1, 2.0]", "NaN have no order"},
  };
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    TVMFFIAny a = json(none[i].a), b = json(none[i].b), r;
    CHECK_FAILS(CALL("ffi.RecursiveLt", &r, a, b), "TypeError", none[i].text);
    CHECK_FAILS(CALL("ffi.RecursiveGe", &r, a, b), "TypeError", "ffi.RecursiveGe");
    CHECK_EQ_INT(Eq(a, b), 0);
    tvmgo_any_clear(&a);
    tvmgo_any_clear(&b);
  }
}

static void test_cycles_end(void) {
  TVMFFIAny a = cycle(), b = cycle(), c = cycle(), r;
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  CHECK_OK(CALL("ffi.ListSetItem", &r, c, I(0), I(2)));
  CHECK_EQ_INT(Eq(a, b), 1);
  CHECK_EQ_INT(Eq(a, c), 0);
  CHECK_EQ_INT(hash(a), hash(b));
  CHECK_EQ_INT(Lt(a, c), 1);
  CHECK_FAILS(CALL("ffi.RecursiveLt", &r, a, b), "ValueError", "contain themselves");
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
  uncycle(&a);
  uncycle(&b);
  uncycle(&c);
}

static void test_too_deep_is_an_error(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny a = LIST(I(0)), b = LIST(I(0)), r;
  for (int i = 0; i < TVMGO_RECURSION_LIMIT; i++) {
    TVMFFIAny outer = LIST(a), other = LIST(b);
    tvmgo_any_clear(&a);
    tvmgo_any_clear(&b);
    a = outer;
    b = other;
  }
  CHECK_FAILS(CALL("ffi.ReprPrint", &r, a), "ValueError", "ffi.ReprPrint: the value is nested");
  CHECK_FAILS(CALL("ffi.DeepCopy", &r, a), "ValueError", "ffi.DeepCopy: the value is nested");
  CHECK_FAILS(CALL("ffi.RecursiveHash", &r, a), "ValueError", "nested more than 1000");
  CHECK_FAILS(CALL("ffi.RecursiveEq", &r, a, b), "ValueError", "nested more than 1000");
  CHECK_FAILS(CALL("ffi.RecursiveLt", &r, a, b), "ValueError", "nested more than 1000");
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, a), "ValueError", "nested more than 1000");
  CHECK_FAILS(CALL("ffi.ContainerFindFirstNonCPUDevice", &r, a), "ValueError", "nested more than 1000");
  tvmgo_any_clear(&a);
  tvmgo_any_clear(&b);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* 2^60 paths, 60 objects: each is visited once. */
static void test_shared_children_are_done_once(void) {
  TVMFFIAny a = LIST(I(1)), b = LIST(I(1));
  for (int i = 0; i < 60; i++) {
    TVMFFIAny outer = LIST(a, a), other = LIST(b, b);
    tvmgo_any_clear(&a);
    tvmgo_any_clear(&b);
    a = outer;
    b = other;
  }
  CHECK_EQ_INT(Eq(a, b), 1);
  CHECK_EQ_INT(Le(a, b), 1);
  CHECK_EQ_INT(hash(a), hash(b));
  TVMFFIAny copy = deep_copy(a), r;
  CHECK_EQ_INT(Eq(copy, b), 1);
  CHECK_OK(CALL("ffi.ContainerFindFirstNonCPUDevice", &r, a));
  CHECK_EQ_INT(r.v_device.device_type, kDLCPU);
  tvmgo_any_clear(&copy);
  tvmgo_any_clear(&a);
  tvmgo_any_clear(&b);
}

/* ---- Reflected objects and hooks ----------------------------------------------------------- */

static void test_reflected_fields(void) {
  int32_t plain = pair_type("test.Plain", 0);
  int32_t off = pair_type("test.Off", kTVMFFIFieldFlagBitMaskCompareOff | kTVMFFIFieldFlagBitMaskReprOff);
  TVMFFIAny a = pair_of(plain, I(1), raw("x")), b = pair_of(plain, I(1), raw("x")),
            c = pair_of(plain, I(1), raw("y")), d = pair_of(off, I(1), raw("x")),
            e = pair_of(off, I(1), raw("y"));
  CHECK_EQ_INT(Eq(a, b), 1);
  CHECK_EQ_INT(hash(a), hash(b));
  CHECK_EQ_INT(Eq(a, c), 0);
  CHECK(hash(a) != hash(c));
  CHECK_EQ_INT(Lt(a, c), 1);
  CHECK_EQ_INT(Eq(a, d), 0);
  CHECK_EQ_INT(Eq(d, e), 1);
  CHECK_EQ_INT(hash(d), hash(e));
  CHECK_STR(repr(e), "test.Off(first=1)");
  TVMFFIAny copy = deep_copy(e);
  CHECK(copy.v_obj != e.v_obj);
  CHECK_EQ_INT(Eq(copy, e), 1);
  CHECK_STR(repr(((pair*)copy.v_obj)->second), "\"y\"");
  TVMFFIAny* all[] = {&a, &b, &c, &d, &e, &copy};
  for (int i = 0; i < 6; i++) tvmgo_any_clear(all[i]);
}

static int print_hook(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  CHECK_EQ_INT(n, 2);
  pair* p = (pair*)args[0].v_obj;
  TVMFFIAny child = tvmgo_any_none();
  TVMFFIByteArray t;
  char text[64];
  if (tvmgo_function_call(args[1].v_obj, &p->second, 1, &child) != 0) return -1;
  CHECK(tvmgo_any_text(&child, &t));
  int size = snprintf(text, sizeof text, "<%.*s>", (int)t.size, t.data);
  tvmgo_any_clear(&child);
  return tvmgo_string_make(text, (size_t)size, result);
}

/* Compares only the first field, in reverse order. */
static int compare_hook(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  CHECK_EQ_INT(n, 3);
  TVMFFIAny two[] = {((pair*)args[1].v_obj)->first, ((pair*)args[0].v_obj)->first};
  return tvmgo_function_call(args[2].v_obj, two, 2, result);
}
static int hash_hook(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  CHECK_EQ_INT(n, 2);
  return tvmgo_function_call(args[1].v_obj, &((pair*)args[0].v_obj)->first, 1, result);
}
static int wrong_hook(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  return tvmgo_string_make("not a number, but text", 22, result);
}

static void test_hooks(void) {
  int32_t type = pair_type("test.Hooked", 0);
  set_attr(type, "__ffi_repr__", print_hook);
  set_attr(type, "__ffi_compare__", compare_hook);
  TVMFFIAny list = LIST(I(7)), r;
  TVMFFIAny a = pair_of(type, I(1), list), b = pair_of(type, I(2), list), c = pair_of(type, I(1), I(0));
  CHECK_STR(repr(a), "<[7]>");
  TVMFFIAny twice = LIST(a, a);
  CHECK_STR(repr(twice), "[<[7]>, <[7]>]");
  CHECK_EQ_INT(Gt(a, b), 1);
  CHECK_EQ_INT(Eq(a, c), 1);
  CHECK_FAILS(CALL("ffi.RecursiveHash", &r, a), "ValueError", "__ffi_hash__");
  set_attr(type, "__ffi_hash__", hash_hook);
  CHECK_EQ_INT(hash(a), hash(c));
  CHECK(hash(a) != hash(b));
  int32_t wrong = pair_type("test.WrongHook", 0);
  set_attr(wrong, "__ffi_compare__", wrong_hook);
  set_attr(wrong, "__ffi_hash__", wrong_hook);
  TVMFFIAny d = pair_of(wrong, I(1), I(1)), e = pair_of(wrong, I(1), I(1));
  CHECK_FAILS(CALL("ffi.RecursiveEq", &r, d, e), "TypeError", "test.WrongHook");
  CHECK_FAILS(CALL("ffi.RecursiveHash", &r, d), "TypeError", "test.WrongHook");
  TVMFFIAny* all[] = {&a, &b, &c, &d, &e, &twice, &list};
  for (int i = 0; i < 7; i++) tvmgo_any_clear(all[i]);
}

/* ---- Copies -------------------------------------------------------------------------------- */

static void test_deep_copy(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny shared = LIST(raw("a text that is not small")), dict, r;
  CHECK_OK(CALL("ffi.Dict", &dict, raw("k"), shared));
  TVMFFIAny nested = json("[[1], {\"x\": [2]}]"), v = LIST(shared, shared, dict, nested);
  TVMFFIAny* items = tvmgo_seq_cell(v.v_obj)->data;
  tvmgo_any_clear(&nested);
  TVMFFIAny copy = deep_copy(v), *copied = tvmgo_seq_cell(copy.v_obj)->data;
  CHECK_EQ_INT(Eq(v, copy), 1);
  for (int i = 0; i < 4; i++) CHECK(copied[i].v_obj != items[i].v_obj);
  CHECK_EQ_PTR(copied[0].v_obj, copied[1].v_obj);
  add(shared, I(2));
  CHECK_EQ_INT(Eq(v, copy), 0);
  CHECK_STR(repr(copied[2]), "{\"k\": [\"a text that is not small\"]}");
  tvmgo_any_clear(&copy);
  tvmgo_any_clear(&v);

  TVMFFIAny c = cycle();
  copy = deep_copy(c);
  copied = tvmgo_seq_cell(copy.v_obj)->data;
  CHECK_EQ_PTR(copied[1].v_obj, copy.v_obj);
  uncycle(&copy);

  /* A function cannot be copied: unfinished copies are freed, including cycles. */
  TVMFFIAny f;
  TVMFFIObject* g = tvmgo_global_get("ffi.Shape", 9);
  f = tvmgo_any_object(g);
  add(c, dict);
  add(c, f);
  CHECK_FAILS(CALL("ffi.DeepCopy", &r, c), "RuntimeError", "ffi.Function cannot be copied");
  tvmgo_object_release(g);
  uncycle(&c);
  tvmgo_any_clear(&dict);
  tvmgo_any_clear(&shared);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* ---- Tensors ------------------------------------------------------------------------------- */

static TVMFFIAny tensor_of(void* data, DLDevice device, int64_t n, uint64_t offset) {
  static int64_t shape[1], strides[1] = {1};
  shape[0] = n;
  DLTensor dl = {.data = data, .device = device, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape,
                 .strides = strides, .byte_offset = offset};
  return tvmgo_any_object(tvmgo_tensor_wrap(&dl, NULL, NULL));
}

static void test_devices_and_storage(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  float data[64];
  DLDevice cpu = {kDLCPU, 0}, cuda = {kDLCUDA, 3};
  TVMFFIAny a = tensor_of(data, cpu, 8, 0), b = tensor_of(data, cpu, 8, 16),
            c = tensor_of(data + 4, cpu, 8, 0), d = tensor_of(data, cpu, 9, 0),
            e = tensor_of(data, cuda, 8, 0), r;
  const struct {
    TVMFFIAny x, y;
    int shared;
  } pairs[] = {{a, a, 1}, {a, b, 0}, {b, c, 1}, {a, d, 0}, {a, e, 0}, {e, e, 1}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    CHECK_OK(CALL("runtime.TVMTensorIsStorageShared", &r, pairs[i].x, pairs[i].y));
    CHECK_EQ_INT(r.v_int64, pairs[i].shared);
  }
  CHECK_FAILS(CALL("runtime.TVMTensorIsStorageShared", &r, a, I(1)), "TypeError", "IsStorageShared");
  TVMFFIAny dict, list = LIST(a, I(1), raw("x"));
  CHECK_OK(CALL("ffi.Dict", &dict, raw("t"), e));
  CHECK_OK(CALL("ffi.ContainerFindFirstNonCPUDevice", &r, list));
  CHECK(r.type_index == kTVMFFIDevice && r.v_device.device_type == kDLCPU && r.v_device.device_id == 0);
  add(list, list);
  add(list, dict);
  CHECK_OK(CALL("ffi.ContainerFindFirstNonCPUDevice", &r, list));
  CHECK(r.v_device.device_type == kDLCUDA && r.v_device.device_id == 3);
  uncycle(&list);
  TVMFFIAny* all[] = {&a, &b, &c, &d, &e, &dict};
  for (int i = 0; i < 6; i++) tvmgo_any_clear(all[i]);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* A test of the Python package compares the results for valid values with the wheel's. */
static void test_conversion_of_bad_values(void) {
  static const TVMFFIByteArray name = {"__ffi_convert__", 15};
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&name);
  REQUIRE(column != NULL);
  for (int32_t type = kTVMFFIArray; type <= kTVMFFIDict; type++) {
    TVMFFIAny convert = column->data[type], r;
    if (convert.type_index != kTVMFFIFunction) continue;
    for (int32_t t = kTVMFFIObject; t <= kTVMFFIBigInt; t++) {
      TVMFFIAny nothing = {.type_index = t};
      r = tvmgo_any_none();
      CHECK_FAILS(tvmgo_function_call(convert.v_obj, &nothing, 1, &r), "ValueError", "argument 0 is a NULL");
    }
    r = tvmgo_any_none();
    CHECK_FAILS(tvmgo_function_call(convert.v_obj, NULL, 0, &r), "TypeError", "expected 1 argument, got 0");
  }
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_repr);
  RUN(test_equal_is_by_content);
  RUN(test_order);
  RUN(test_cycles_end);
  RUN(test_too_deep_is_an_error);
  RUN(test_shared_children_are_done_once);
  RUN(test_reflected_fields);
  RUN(test_hooks);
  RUN(test_deep_copy);
  RUN(test_conversion_of_bad_values);
  RUN(test_devices_and_storage);
  return check_end();
}
