/* Records: classes as a front end defines them, objects from arguments and from names. */
#include "ctest/check.h"

#include "call/builtin.h"
#include "record/record.h"

static TVMFFIAny raw(const char* s) {
  return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = s};
}

static int call(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  TVMFFIObject* f = tvmgo_global_get(name, strlen(name));
  if (f == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "no global function %s", name);
  int rc = tvmgo_function_call(f, args, n, result);
  tvmgo_object_release(f);
  return rc;
}

static int call_attr(const char* column, int32_t type, const TVMFFIAny* args, int32_t n,
                     TVMFFIAny* result) {
  TVMFFIAny f;
  *result = tvmgo_any_none();
  if (!tvmgo_hook_find(column, type, &f))
    return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "no attribute %s", column);
  return tvmgo_function_call(f.v_obj, args, n, result);
}

/* A front end's converter: accepts all values except texts that begin with "bad". */
static int convert(void* how, const TVMFFIAny* value, TVMFFIAny* out) {
  TVMFFIByteArray text;
  (*(int*)how)++;
  if (tvmgo_any_text(value, &text) && text.size >= 3 && memcmp(text.data, "bad", 3) == 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "first line\nsecond line");
  return TVMFFIAnyViewToOwnedAny(value, out);
}

static int conversions;

static int add_field(int32_t type, const char* name, int32_t static_type, int64_t size,
                     int64_t offset, int64_t flags, TVMFFIAny fallback) {
  TVMFFIAny args[3] = {tvmgo_any_int(static_type), tvmgo_any_int((int64_t)(intptr_t)&conversions),
                       tvmgo_any_int((int64_t)(intptr_t)convert)},
            getter, setter;
  if (call("ffi.MakeFieldGetter", args, 1, &getter) != 0 ||
      call("ffi.MakeFieldSetter", args, 3, &setter) != 0)
    return -1;
  TVMFFIFieldInfo info = {.name = {name, strlen(name)},
                          .flags = flags | kTVMFFIFieldFlagBitMaskWritable |
                                   kTVMFFIFieldFlagBitSetterIsFunctionObj,
                          .size = size,
                          .alignment = size < 8 ? size : 8,
                          .offset = offset,
                          .getter = (TVMFFIFieldGetter)(intptr_t)getter.v_int64,
                          .setter = setter.v_obj,
                          .default_value_or_factory = fallback,
                          .field_static_type_index = static_type};
  int rc = TVMFFITypeRegisterField(type, &info);
  tvmgo_any_clear(&setter);
  return rc;
}

static int32_t new_type(const char* name) {
  TVMFFIByteArray key = {name, strlen(name)};
  return TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
}

/* number: int, value: Any (default "a default of some length"), part: an object or None (by keyword). */
static int32_t record_class(void) {
  static int32_t type;
  if (type != 0) return type;
  type = new_type("test.Record");
  TVMFFIAny args[2] = {tvmgo_any_int(type), tvmgo_any_int(56)}, ignored;
  CHECK_OK(add_field(type, "number", kTVMFFIInt, 8, 24, 0, tvmgo_any_none()));
  CHECK_OK(add_field(type, "value", kTVMFFIAny, 16, 32, kTVMFFIFieldFlagBitMaskHasDefault,
                     raw("a default of some length")));
  CHECK_OK(add_field(type, "part", kTVMFFIArray, 8, 48,
                     kTVMFFIFieldFlagBitMaskHasDefault | kTVMFFIFieldFlagBitMaskKwOnly,
                     tvmgo_any_none()));
  CHECK_OK(call("ffi._PyClassRegisterTypeAttrColumns", args, 2, &ignored));
  return type;
}

static TVMFFIAny field_of(TVMFFIObject* obj, int i) {
  TVMFFIAny v = tvmgo_any_none();
  const TVMFFIFieldInfo* f = &TVMFFIGetTypeInfo(obj->type_index)->fields[i];
  CHECK_OK(tvmgo_field_get("test", obj, f, &v));
  return v;
}

static void test_construct(void) {
  int32_t type = record_class();
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIObject* part = tvmgo_array_new(NULL, 0);
  TVMFFIAny args[5] = {tvmgo_any_int(7), tvmgo_any_object(&tvmgo_kwargs_object), raw("part"),
                       tvmgo_any_object(part)},
            obj, copy, v;
  CHECK_OK(call_attr("__ffi_init__", type, args, 4, &obj));
  REQUIRE(obj.type_index == type);
  v = field_of(obj.v_obj, 0);
  CHECK_EQ_INT(v.v_int64, 7);
  v = field_of(obj.v_obj, 1);
  CHECK_EQ_INT(v.type_index, kTVMFFIStr);
  tvmgo_any_clear(&v);
  v = field_of(obj.v_obj, 2);
  CHECK_EQ_PTR(v.v_obj, part);
  tvmgo_any_clear(&v);
  CHECK_EQ_INT((uint32_t)part->combined_ref_count, 2);
  CHECK_OK(call_attr("__ffi_shallow_copy__", type, &obj, 1, &copy));
  CHECK_EQ_INT((uint32_t)part->combined_ref_count, 3);
  tvmgo_any_clear(&obj);
  v = field_of(copy.v_obj, 2);
  CHECK_EQ_PTR(v.v_obj, part);
  tvmgo_any_clear(&v);
  tvmgo_any_clear(&copy);
  CHECK_EQ_INT((uint32_t)part->combined_ref_count, 1);
  tvmgo_object_release(part);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_construct_wrongly(void) {
  int32_t type = record_class();
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny kwargs = tvmgo_any_object(&tvmgo_kwargs_object), one = tvmgo_any_int(1), obj;
  const struct {
    TVMFFIAny args[5];
    int32_t n;
    const char *kind, *says;
  } cases[] = {
      {{one}, 0, "TypeError", "missing required argument: 'number'"},
      {{one, one, one}, 3, "TypeError", "takes at most 2 positional argument(s), but 3 were given"},
      {{one, one, one, kwargs}, 4, "TypeError", "but 3 were given"},
      {{one, kwargs, raw("part")}, 3, "TypeError", "even number"},
      {{one, kwargs, raw("none"), one}, 4, "TypeError", "unexpected keyword argument 'none'"},
      {{one, kwargs, raw("number"), one}, 4, "TypeError", "multiple values for argument 'number'"},
      {{one, kwargs, one, one}, 4, "TypeError", "keyword"},
      {{kwargs, raw("value"), one}, 3, "TypeError", "missing required argument: 'number'"},
      {{raw("text")}, 1, "TypeError", "test.Record.__ffi_init__() field 'number':\n  "},
      {{one, raw("bad value")}, 2, "ValueError", "'value':\n  first line\n  second line"},
      {{one, kwargs, raw("part"), one}, 4, "TypeError", "'part':\n  "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK_FAILS(call_attr("__ffi_init__", type, cases[i].args, cases[i].n, &obj), cases[i].kind,
                cases[i].says);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_from_names(void) {
  int32_t type = record_class();
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny args[5] = {raw("test.Record"), raw("number"), tvmgo_any_int(3)}, obj, v;
  CHECK_OK(call("ffi.MakeObjectFromPackedArgs", args, 3, &obj));
  REQUIRE(obj.type_index == type);
  v = field_of(obj.v_obj, 0);
  CHECK_EQ_INT(v.v_int64, 3);
  tvmgo_any_clear(&obj);
  CHECK_FAILS(call("ffi.MakeObjectFromPackedArgs", args, 1, &obj), "TypeError", "number");
  CHECK_FAILS(call("ffi.MakeObjectFromPackedArgs", args, 2, &obj), "TypeError", "got 2");
  CHECK_FAILS(call("ffi.MakeObjectFromPackedArgs", args, 0, &obj), "TypeError", "got 0");
  args[3] = raw("colour");
  args[4] = tvmgo_any_int(1);
  CHECK_FAILS(call("ffi.MakeObjectFromPackedArgs", args, 5, &obj), "TypeError", "colour");
  args[0] = raw("test.NoSuchType");
  CHECK_FAILS(call("ffi.MakeObjectFromPackedArgs", args, 3, &obj), "NotFoundError", "NoSuchType");
  args[0] = tvmgo_any_int(kTVMFFITensor);
  CHECK_FAILS(call("ffi.MakeObjectFromPackedArgs", args, 3, &obj), "RuntimeError", "__ffi_new__");
  args[0] = tvmgo_any_int(1 << 19);
  CHECK_FAILS(call("ffi.MakeObjectFromPackedArgs", args, 3, &obj), "ValueError", "not registered");
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_class_that_cannot_be(void) {
  int32_t type = new_type("test.TooSmall");
  TVMFFIAny args[3] = {tvmgo_any_int(type), tvmgo_any_int(40)}, out;
  CHECK_OK(add_field(type, "value", kTVMFFIAny, 16, 32, 0, tvmgo_any_none()));
  CHECK_FAILS(call("ffi._PyClassRegisterTypeAttrColumns", args, 2, &out), "ValueError", "byte 48");
  args[0] = tvmgo_any_int(-5);
  CHECK_FAILS(call("ffi._PyClassRegisterTypeAttrColumns", args, 2, &out), "ValueError", "-5");
  CHECK_FAILS(call("ffi._RegisterFFIInit", args, 1, &out), "ValueError", "-5");
  CHECK_FAILS(call("ffi._RegisterFFIInit", args, 0, &out), "TypeError", "expected 1");
  static const int32_t no_field[] = {-2, 7, 8, 13, 63};
  for (size_t i = 0; i < sizeof no_field / sizeof *no_field; i++) {
    args[0] = tvmgo_any_int(no_field[i]);
    CHECK_FAILS(call("ffi.MakeFieldGetter", args, 1, &out), "ValueError", "no field");
    CHECK_FAILS(call("ffi.MakeFieldSetter", args, 3, &out), "ValueError", "no field");
  }
  args[0] = tvmgo_any_int(1);
  args[1] = args[2] = tvmgo_any_int(0);
  CHECK_FAILS(call("ffi.MakeFieldSetter", args, 3, &out), "ValueError", "converter");
}

/* Fields of the core's own types accept only values that the core can read back. */
static void test_own_fields_are_checked(void) {
  static const char* const types[] = {"ffi.reflection.AccessPath", "ffi.EnumState",
                                      "ffi.reflection.AccessStep", "ffi.IntEnum", "ffi.StrEnum",
                                      "ffi.StructuralKey", "ffi.VisitInterrupt"};
  TVMFFIObject* array = tvmgo_array_new(NULL, 0);
  const TVMFFIAny values[] = {tvmgo_any_none(), tvmgo_any_int(INT64_MAX), raw("text"),
                              raw("a longer text"), tvmgo_any_object(array)};
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  int refused = 0;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    TVMFFIByteArray key = {types[t], strlen(types[t])};
    int32_t type;
    TVMFFIAny obj;
    CHECK_OK(TVMFFITypeKeyToIndex(&key, &type));
    CHECK_OK(tvmgo_reflected_new("test", type, &obj));
    tvmgo_field_walk w = tvmgo_fields(type, 0);
    for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;)
      for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (tvmgo_field_set("test", obj.v_obj, f, &values[i]) != 0) {
          refused++;
          tvmgo_object_release(tvmgo_error_take());
        }
        TVMFFIAny v, text;
        CHECK_OK(tvmgo_field_get("test", obj.v_obj, f, &v));
        tvmgo_any_clear(&v);
        CHECK_OK(call("ffi.ReprPrint", &obj, 1, &text));
        tvmgo_any_clear(&text);
      }
    tvmgo_any_clear(&obj);
  }
  CHECK_EQ_INT(refused, 13 + 13 + 5 + 11 + 10 + 4); /* by type */
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
  tvmgo_object_release(array);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_construct);
  RUN(test_construct_wrongly);
  RUN(test_from_names);
  RUN(test_class_that_cannot_be);
  RUN(test_own_fields_are_checked);
  return check_end();
}
