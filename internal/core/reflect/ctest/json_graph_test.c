/* JSON graphs: every edit of a valid one, deep and cyclic ones, base64 and long integers. */
#include "ctest/check.h"

#include "reflect/enum.h"
#include "reflect/json_graph.h"
#include "container/list.h"
#include "container/map_internal.h"

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

static int read_graph(const char* text, TVMFFIAny* v) {
  TVMFFIAny arg = raw(text);
  return call("ffi.FromJSONGraphString", &arg, 1, v);
}

static const char* const graphs[] = {
    "{\"root_index\":3,\"nodes\":[{\"type\":\"int\",\"data\":7},{\"type\":\"ffi.Array\",\"data\":[0,0]},"
    "{\"type\":\"ffi.String\",\"data\":\"key\"},{\"type\":\"ffi.Map\",\"data\":[2,1]}]}",
    "{\"root_index\":6,\"nodes\":[{\"type\":\"Device\",\"data\":[1,0]},{\"type\":\"ffi.Bytes\",\"data\":"
    "\"YWJj\"},{\"type\":\"ffi.Shape\",\"data\":[1,2]},{\"type\":\"DataType\",\"data\":\"int8x4\"},"
    "{\"type\":\"ffi.BigInt\",\"data\":\"-99999999999999999999\"},{\"type\":\"float\",\"data\":1.5},"
    "{\"type\":\"ffi.List\",\"data\":[0,1,2,3,4,5]}]}",
    "{\"root_index\":3,\"nodes\":[{\"type\":\"None\"},{\"type\":\"bool\",\"data\":true},"
    "{\"type\":\"ffi.reflection.AccessStep\",\"data\":{\"kind\":1,\"key\":1}},"
    "{\"type\":\"ffi.reflection.AccessPath\",\"data\":{\"parent\":4,\"step\":2,\"depth\":1}},"
    "{\"type\":\"ffi.reflection.AccessPath\",\"data\":{\"parent\":0,\"step\":0,\"depth\":0}}]}",
};

static void test_round_trip(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    TVMFFIAny v, again;
    CHECK_OK(read_graph(graphs[i], &v));
    CHECK_OK(call("ffi.ToJSONGraphString", &v, 1, &again));
    TVMFFIAny v2;
    TVMFFIByteArray text;
    REQUIRE(tvmgo_any_text(&again, &text));
    CHECK_OK(read_graph(text.data, &v2));
    TVMFFIAny pair[4] = {v, v2, tvmgo_any_bool(0), tvmgo_any_bool(0)}, equal;
    CHECK_OK(call("ffi.StructuralEqual", pair, 4, &equal));
    CHECK_EQ_INT(equal.v_int64, 1);
    tvmgo_any_clear(&v);
    tvmgo_any_clear(&v2);
    tvmgo_any_clear(&again);
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* The result may be another value or an error; it can be printed, written again, and released. */
static void test_every_edit(void) {
  static const char edits[] = "\"0912-]}[{:,axe.\\ ";
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  int read = 0, refused = 0;
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
    size_t size = strlen(graphs[g]);
    char* text = malloc(size + 1);
    REQUIRE(text != NULL);
    for (size_t i = 0; i < size; i++)
      for (size_t k = 0; k < sizeof edits; k++) { /* the last one ends the text */
        memcpy(text, graphs[g], size + 1);
        text[i] = edits[k];
        TVMFFIAny v, said;
        if (read_graph(text, &v) != 0) {
          refused++;
          tvmgo_object_release(tvmgo_error_take());
          continue;
        }
        read++;
        CHECK_OK(call("ffi.ReprPrint", &v, 1, &said));
        tvmgo_any_clear(&said);
        CHECK_OK(call("ffi.ToJSONGraphString", &v, 1, &said));
        tvmgo_any_clear(&said);
        tvmgo_any_clear(&v);
      }
    free(text);
  }
  CHECK(read > 500);
  CHECK(refused > 5000);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_circles_and_depth(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny v;
  CHECK_FAILS(read_graph("{\"root_index\":0,\"nodes\":[{\"type\":\"ffi.List\",\"data\":[0]}]}", &v),
              "ValueError", "node 0 contains itself");
  CHECK_FAILS(read_graph("{\"root_index\":0,\"nodes\":[{\"type\":\"ffi.Map\",\"data\":[1,1]},"
                         "{\"type\":\"ffi.Array\",\"data\":[0]}]}", &v),
              "ValueError", "contains itself");
  CHECK_FAILS(read_graph("{\"root_index\":2,\"nodes\":[]}", &v), "ValueError", "no node 2");
  TVMFFIObject* list = tvmgo_list_new(NULL, 0);
  TVMFFIAny self = tvmgo_any_object(list);
  CHECK_OK(tvmgo_list_replace(list, 0, 0, &self, 1));
  CHECK_FAILS(call("ffi.ToJSONGraph", &self, 1, &v), "ValueError", "contains itself");
  CHECK_OK(tvmgo_list_replace(list, 0, 1, NULL, 0));
  TVMFFIAny deep = self;
  for (int i = 0; i < 2 * TVMGO_RECURSION_LIMIT; i++) {
    TVMFFIObject* outer = tvmgo_list_new(&deep, 1);
    tvmgo_any_clear(&deep);
    deep = tvmgo_any_object(outer);
  }
  CHECK_FAILS(call("ffi.ToJSONGraph", &deep, 1, &v), "ValueError", "levels deep");
  TVMFFIAny args[4] = {deep, deep, tvmgo_any_bool(0), tvmgo_any_bool(0)};
  CHECK_FAILS(call("ffi.StructuralEqual", args, 4, &v), "ValueError", "levels deep");
  CHECK_FAILS(call("ffi.GetFirstStructuralMismatch", args, 4, &v), "ValueError", "levels deep");
  CHECK_FAILS(call("ffi.StructuralHash", args + 1, 3, &v), "ValueError", "levels deep");
  CHECK_FAILS(call("ffi.StructuralKey", args, 1, &v), "ValueError", "levels deep");
  while (deep.v_obj != NULL && tvmgo_seq_cell(deep.v_obj)->size == 1) { /* not all on the stack */
    TVMFFIAny inner;
    tvmgo_seq_step(deep.v_obj, 0, &inner);
    tvmgo_any_clear(&deep);
    deep = inner;
  }
  tvmgo_any_clear(&deep);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_base64(void) {
  static const char* const bad[] = {"a", "abc", "=", "====", "a===", "ab=c", "a\nbc", "abc\x80", "ab==abcd"};
  char bytes[70];
  for (size_t n = 0; n < sizeof bytes; n++) {
    TVMFFIAny encoded, decoded;
    TVMFFIByteArray a = {bytes, n}, b;
    bytes[n] = (char)(n * 37 + 200);
    CHECK_OK(tvmgo_base64_write(a, &encoded));
    REQUIRE(tvmgo_any_text(&encoded, &b));
    CHECK_EQ_INT(b.size, (n + 2) / 3 * 4);
    CHECK_OK(tvmgo_base64_read("test", b, &decoded));
    REQUIRE(tvmgo_any_text(&decoded, &b));
    CHECK_EQ_INT(b.size, n);
    CHECK(n == 0 || memcmp(b.data, bytes, n) == 0);
    tvmgo_any_clear(&encoded);
    tvmgo_any_clear(&decoded);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    TVMFFIAny out;
    CHECK_FAILS(tvmgo_base64_read("test", (TVMFFIByteArray){bad[i], strlen(bad[i])}, &out), "ValueError", "base64");
  }
}

static void test_big_integers(void) {
  static const char* const texts[] = {"9223372036854775808", "-9223372036854775809", "18446744073709551615",
      "18446744073709551616", "-18446744073709551616", "-18446744073709551617", "1000000000000000000000000000000000000",
      "340282366920938463463374607431768211456", "-170141183460469231731687303715884105728",
          "-170141183460469231731687303715884105729",
      "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    TVMFFIAny v, said;
    TVMFFIByteArray text;
    CHECK_OK(tvmgo_big_int_parse("test", (TVMFFIByteArray){texts[i], strlen(texts[i])}, &v));
    CHECK_EQ_INT(v.type_index, kTVMFFIBigInt);
    CHECK_OK(call("ffi.ReprPrint", &v, 1, &said));
    REQUIRE(tvmgo_any_text(&said, &text));
    CHECK_TEXT(text, texts[i]);
    tvmgo_any_clear(&v);
    tvmgo_any_clear(&said);
  }
  TVMFFIAny v;
  CHECK_OK(tvmgo_big_int_parse("test", (TVMFFIByteArray){"-9223372036854775808", 20}, &v));
  CHECK_EQ_INT(v.type_index, kTVMFFIInt);
  CHECK_EQ_INT(v.v_int64, INT64_MIN);
  static const char* const bad[] = {"", "-", "--1", "1-", " 1", "+", "+-1", "12a", "0x1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_FAILS(tvmgo_big_int_parse("test", (TVMFFIByteArray){bad[i], strlen(bad[i])}, &v), "ValueError", "digits");
  static const struct {
    const char* text;
    int64_t value;
  } small[] = {{"+0007", 7}, {"-0", 0}, {"-012", -12}};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
    CHECK_OK(tvmgo_big_int_parse("test", (TVMFFIByteArray){small[i].text, strlen(small[i].text)}, &v));
    CHECK(v.type_index == kTVMFFIInt && v.v_int64 == small[i].value);
  }
}

static void test_enumeration_without_members(void) {
  TVMFFIByteArray key = {"test.Empty", 10}, parent_key = {"ffi.IntEnum", 11},
                  column = {"__ffi_enum__", 12}, state_key = {"ffi.EnumState", 13};
  int32_t parent, state_type;
  TVMFFIAny v, state, none = tvmgo_any_none();
  CHECK_OK(TVMFFITypeKeyToIndex(&parent_key, &parent));
  CHECK_OK(TVMFFITypeKeyToIndex(&state_key, &state_type));
  int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 3, 0, 1, parent);
  CHECK(type > 0);
  const char* text = "{\"root_index\":0,\"nodes\":[{\"type\":\"test.Empty\",\"data\":1}]}";
  CHECK_FAILS(read_graph(text, &v), "ValueError", "no member 1");
  CHECK_OK(tvmgo_reflected_new("test", state_type, &state));
  CHECK_OK(tvmgo_field_set("test", state.v_obj, &TVMFFIGetTypeInfo(state_type)->fields[1], &none));
  CHECK_OK(TVMFFITypeRegisterAttr(type, &column, &state));
  tvmgo_any_clear(&state);
  CHECK_FAILS(read_graph(text, &v), "ValueError", "no member 1");
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_round_trip);
  RUN(test_every_edit);
  RUN(test_circles_and_depth);
  RUN(test_base64);
  RUN(test_big_integers);
  RUN(test_enumeration_without_members);
  return check_end();
}
