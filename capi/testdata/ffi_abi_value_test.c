/* The tvm-ffi C ABI: strings, bytes, element types, and the containers, which are used through global functions
 * only. */
#include "ffi_abi_test.h"

static void test_strings(void) {
  static const char text[] = "seven b|eight by|0123456789";
  for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
    int (*make)(const TVMFFIByteArray*, TVMFFIAny*) = is_bytes ? TVMFFIBytesFromByteArray : TVMFFIStringFromByteArray;
    for (size_t n = 0; n < sizeof text; n++) {
      TVMFFIByteArray in = {text, n};
      TVMFFIAny out = any_of(kTVMFFINone);
      OK(make(&in, &out));
      int32_t want = n <= 7 ? (is_bytes ? kTVMFFISmallBytes : kTVMFFISmallStr) : (is_bytes ? kTVMFFIBytes : kTVMFFIStr);
      CHECK(out.type_index == want);
      TVMFFIByteArray got = text_of(&out);
      CHECK(got.size == n && memcmp(got.data, text, n) == 0);
      if (n != 7 || !is_bytes) CHECK(got.data[n] == 0);
      if (n <= 7) CHECK(out.small_str_len == n);
      if (n > 7) CHECK(out.zero_padding == 0 && strong_count(out.v_obj) == 1);
      drop(&out);
    }
    TVMFFIByteArray nul = {"a\0b", 3}, missing = {NULL, 3}, none = {NULL, 0};
    TVMFFIAny out = any_of(kTVMFFINone);
    OK(make(&nul, &out));
    CHECK(out.small_str_len == 3 && memcmp(out.v_bytes, "a\0b", 4) == 0);
    OK(make(&none, &out));
    CHECK(out.small_str_len == 0);
    FAILS(make(&missing, &out), "ValueError", "NULL");
    FAILS(make(NULL, &out), "ValueError", "NULL");
    FAILS(make(&nul, NULL), "ValueError", "NULL");
  }
  TVMFFIAny out;
  OK(CALL("ffi.String", &out, text_view("longer than seven")));
  CHECK(out.type_index == kTVMFFIStr && is_text(text_of(&out), "longer than seven"));
  drop(&out);
  TVMFFIByteArray raw = bytes_of("bytes");
  OK(CALL("ffi.Bytes", &out, ptr_view(kTVMFFIByteArrayPtr, &raw)));
  CHECK(out.type_index == kTVMFFISmallBytes && is_text(text_of(&out), "bytes"));
  FAILS(CALL("ffi.String", &out, int_view(1)), "TypeError", "int");
  FAILS(CALL("ffi.Bytes", &out, text_view("text")), "TypeError", "must be bytes");
  FAILS(call_global("ffi.String", NULL, 0, &out), "TypeError", "1 argument");
}

static void test_dtypes(void) {
  static const struct {
    const char* text;
    DLDataType type;
  } known[] = {{"int32", {kDLInt, 32, 1}},        {"uint8x4", {kDLUInt, 8, 4}},       {"float16", {kDLFloat, 16, 1}},
               {"bfloat16", {kDLBfloat, 16, 1}},  {"bool", {kDLBool, 8, 1}},          {"float8_e4m3fn",
                   {kDLFloat8_e4m3fn, 8, 1}},
               {"handle", {kDLOpaqueHandle, 64, 1}}, {"float4_e2m1fn", {kDLFloat4_e2m1fn, 4, 1}}};
  DLDataType type;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    TVMFFIByteArray text = bytes_of(known[i].text);
    TVMFFIAny out = any_of(kTVMFFINone);
    OK(TVMFFIDataTypeFromString(&text, &type));
    CHECK(memcmp(&type, &known[i].type, sizeof type) == 0);
    OK(TVMFFIDataTypeToString(&known[i].type, &out));
    if (known[i].type.code == kDLOpaqueHandle)
      CHECK(strncmp(text_of(&out).data, "handle", 6) == 0);
    else
      CHECK(is_text(text_of(&out), known[i].text));
    drop(&out);
  }
  TVMFFIByteArray bad = bytes_of("flaot32"), empty = bytes_of("float32x0");
  TVMFFIAny out = any_of(kTVMFFINone);
  FAILS(TVMFFIDataTypeFromString(&bad, &type), "ValueError", "flaot32");
  FAILS(TVMFFIDataTypeFromString(&empty, &type), "ValueError", "float32x0");
  FAILS(TVMFFIDataTypeFromString(NULL, &type), "ValueError", "NULL");
  FAILS(TVMFFIDataTypeFromString(&bad, NULL), "ValueError", "NULL");
  FAILS(TVMFFIDataTypeToString(NULL, &out), "ValueError", "NULL");
  FAILS(TVMFFIDataTypeToString(&type, NULL), "ValueError", "NULL");
  type = (DLDataType){99, 32, 1};
  FAILS(TVMFFIDataTypeToString(&type, &out), "ValueError", "99");
}

static void test_big_ints(void) {
  static const int64_t words[][3] = {{5, 0, 0}, {-5, -1, -1}, {INT64_MIN, 0, 0}, {1, 2, 3}};
  static const size_t kept[] = {1, 1, 2, 3}; /* significant words */
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
    TVMFFIByteArray in = {(const char*)words[i], sizeof words[i]};
    TVMFFIAny out = any_of(kTVMFFINone);
    OK(TVMFFIBigIntFromByteArray(&in, &out));
    CHECK(out.type_index == (kept[i] == 1 ? kTVMFFIInt : kTVMFFIBigInt));
    TVMFFIByteArray got = TVMFFIBigIntGetContentByteArray(&out);
    CHECK(got.size == 8 * kept[i] && memcmp(got.data, words[i], got.size) == 0);
    drop(&out);
  }
  TVMFFIByteArray empty = {NULL, 0}, odd = {"123456789", 9}, missing = {NULL, 8};
  TVMFFIAny out = any_of(kTVMFFINone);
  OK(TVMFFIBigIntFromByteArray(&empty, &out));
  CHECK(out.type_index == kTVMFFIInt && out.v_int64 == 0);
  FAILS(TVMFFIBigIntFromByteArray(&odd, &out), "ValueError", "BigInt content must contain whole 64-bit words");
  FAILS(TVMFFIBigIntFromByteArray(&missing, &out), "ValueError", "NULL");
  FAILS(TVMFFIBigIntFromByteArray(NULL, &out), "ValueError", "NULL");
  FAILS(TVMFFIBigIntFromByteArray(&odd, NULL), "ValueError", "NULL");
  out = text_view("no integer");
  CHECK(TVMFFIBigIntGetContentByteArray(&out).size == 0 && TVMFFIBigIntGetContentByteArray(NULL).size == 0);

  TVMFFIByteArray big = {(const char*)words[3], sizeof words[3]}; /* equal by value, as a key too */
  TVMFFIAny key, same, map, found;
  OK(TVMFFIBigIntFromByteArray(&big, &key));
  OK(TVMFFIBigIntFromByteArray(&big, &same));
  OK(CALL("ffi.Map", &map, key, int_view(9)));
  OK(CALL("ffi.MapGetItem", &found, map, same));
  CHECK(found.v_int64 == 9);
  drop(&map);
  drop(&key);
  drop(&same);
}

void test_texts(void) {
  test_strings();
  test_dtypes();
  test_big_ints();
}

/* ---- containers ---- */

static void test_arrays(void) {
  TVMFFIAny array, out;
  OK(CALL("ffi.Array", &array, int_view(10), text_view("a text of some length"), any_of(kTVMFFINone)));
  NEED(array.type_index == kTVMFFIArray);
  TVMFFISeqCell* cell = (TVMFFISeqCell*)((char*)array.v_obj + sizeof(TVMFFIObject)); /* the layout that C++ reads */
  const TVMFFIAny* items = cell->data;
  CHECK(cell->size == 3 && cell->capacity >= 3 && cell->data_deleter == NULL);
  CHECK(items[0].v_int64 == 10 && items[1].type_index == kTVMFFIStr && items[2].type_index == kTVMFFINone);
  OK(CALL("ffi.ArraySize", &out, array));
  CHECK(out.v_int64 == 3);
  OK(CALL("ffi.ArrayGetItem", &out, array, int_view(1)));
  CHECK(is_text(text_of(&out), "a text of some length"));
  drop(&out);
  OK(CALL("ffi.ArrayContains", &out, array, text_view("a text of some length")));
  CHECK(out.type_index == kTVMFFIBool && out.v_int64 == 1);
  OK(CALL("ffi.ArrayContains", &out, array, int_view(11)));
  CHECK(out.v_int64 == 0);
  FAILS(CALL("ffi.ArrayGetItem", &out, array, int_view(3)), "IndexError", "3");
  FAILS(CALL("ffi.ArrayGetItem", &out, array, int_view(-1)), "IndexError", "-1");
  FAILS(CALL("ffi.ArrayGetItem", &out, array, text_view("x")), "TypeError", "int");
  FAILS(CALL("ffi.ArrayGetItem", &out, int_view(1), int_view(1)), "TypeError", "Array");
  FAILS(CALL("ffi.ArraySize", &out, array, array), "TypeError", "1 argument");
  FAILS(call_global("ffi.ArraySize", NULL, 0, &out), "TypeError", "1 argument");
  drop(&array);

  TVMFFIAny shape;
  OK(CALL("ffi.Shape", &shape, int_view(2), int_view(3)));
  NEED(shape.type_index == kTVMFFIShape);
  CHECK(TVMFFIShapeGetCellPtr(shape.v_obj)->size == 2 && TVMFFIShapeGetCellPtr(shape.v_obj)->data[1] == 3);
  FAILS(CALL("ffi.Shape", &out, text_view("x")), "TypeError", "int");
  drop(&shape);
}

/* Iterates with ffi.MapForwardIterFunctor. Returns the sum of the values, or -1. */
static int64_t walk_sum(const char* functor, TVMFFIAny map) {
  TVMFFIAny walk, item, arg;
  int64_t sum = 0;
  OK(CALL(functor, &walk, map));
  if (walk.type_index != kTVMFFIFunction) return -1;
  for (;;) {
    arg = int_view(1), item = any_of(kTVMFFINone);
    OK(TVMFFIFunctionCall(walk.v_obj, &arg, 1, &item));
    sum += item.v_int64;
    arg = int_view(2);
    if (TVMFFIFunctionCall(walk.v_obj, &arg, 1, &item) != 0 || item.v_int64 == 0) break;
  }
  arg = int_view(0);
  FAILS(TVMFFIFunctionCall(walk.v_obj, &arg, 1, &item), "IndexError", "no entry"); /* the end was reached */
  drop(&walk);
  return sum;
}

static void test_maps(void) {
  enum { N = 200 };
  static TVMFFIAny args[2 * N];
  static char names[N][24];
  TVMFFIAny map, out, missing;
  for (int i = 0; i < N; i++) {
    snprintf(names[i], sizeof names[i], "key number %d", i);
    args[2 * i] = i % 2 ? text_view(names[i]) : int_view(i);
    args[2 * i + 1] = int_view(i);
  }
  OK(call_global("ffi.Map", args, 2 * N, &map));
  NEED(map.type_index == kTVMFFIMap);
  OK(CALL("ffi.MapSize", &out, map));
  CHECK(out.v_int64 == N);
  for (int i = 0; i < N; i++) {
    OK(CALL("ffi.MapGetItem", &out, map, args[2 * i]));
    CHECK(out.v_int64 == i);
  }
  OK(CALL("ffi.MapCount", &out, map, text_view("key number 7")));
  CHECK(out.v_int64 == 1);
  OK(CALL("ffi.MapCount", &out, map, text_view("key number 8"))); /* its key is an integer */
  CHECK(out.v_int64 == 0);
  CHECK(walk_sum("ffi.MapForwardIterFunctor", map) == N * (N - 1) / 2);
  OK(call_global("ffi.GetInvalidObject", NULL, 0, &missing));
  OK(CALL("ffi.MapGetItemOrMissing", &out, map, text_view("no")));
  CHECK(out.v_obj == missing.v_obj);
  drop(&out);
  drop(&missing);
  FAILS(CALL("ffi.MapGetItem", &out, map, text_view("no such key")), "KeyError", "no such key");
  FAILS(CALL("ffi.MapGetItem", &out, args[0], args[0]), "TypeError", "Map");
  FAILS(CALL("ffi.DictGetItem", &out, map, args[0]), "TypeError", "Dict");
  FAILS(call_global("ffi.Map", args, 3, &out), "TypeError", "no value");
  drop(&map);
}

static void test_dicts(void) {
  TVMFFIAny dict, out;
  OK(call_global("ffi.Dict", NULL, 0, &dict));
  NEED(dict.type_index == kTVMFFIDict);
  void* same = dict.v_obj;
  for (int i = 0; i < 100; i++) OK(CALL("ffi.DictSetItem", &out, dict, int_view(i), int_view(1)));
  OK(CALL("ffi.DictSetItem", &out, dict, int_view(5), int_view(6)));
  CHECK(dict.v_obj == same && strong_count(same) == 1);
  OK(CALL("ffi.DictErase", &out, dict, int_view(0)));
  OK(CALL("ffi.DictErase", &out, dict, int_view(12345))); /* nothing to erase */
  OK(CALL("ffi.DictSize", &out, dict));
  CHECK(out.v_int64 == 99);
  CHECK(walk_sum("ffi.DictForwardIterFunctor", dict) == 99 + 5);
  OK(CALL("ffi.DictClear", &out, dict));
  OK(CALL("ffi.DictCount", &out, dict, int_view(5)));
  CHECK(out.v_int64 == 0);
  FAILS(CALL("ffi.DictGetItem", &out, dict, int_view(5)), "KeyError", "5");
  FAILS(CALL("ffi.DictSetItem", &out, dict, int_view(5)), "TypeError", "3 arguments");
  drop(&dict);
}

void test_containers(void) {
  test_arrays();
  test_maps();
  test_dicts();
}
