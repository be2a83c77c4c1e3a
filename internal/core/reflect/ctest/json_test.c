/* ffi.json.Parse and ffi.json.Stringify. */
#include "ctest/call.h"
#include "reflect/recursive.h"

#include <locale.h>
#include <math.h>

static void test_json_reads(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  static const struct {
    const char *text, *want;
  } good[] = {
      {"null", "None"},
      {" true ", "True"},
      {"\r\n\t false", "False"},
      {"0", "0"},
      {"-0", "0"},
      {"-17", "-17"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "9.22337e+18"},
      {"1.5", "1.5"},
      {"-2.5e-3", "-0.0025"},
      {"1E2", "100"},
      {"01", "1"},
      {"-007", "-7"},
      {"+1", "1"},
      {".5", "0.5"},
      {"-.5e1", "-5"},
      {"1.", "1"},
      {"+1.e+2", "100"},
      {"00.5", "0.5"},
      {"0e-999", "0"},
      {"Infinity", "inf"},
      {"-Infinity", "-inf"},
      {"NaN", "nan"},
      {"\"\"", "\"\""},
      {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"a\\\"\\\\/\\x08\\x0c\\n\\r\\t\""},
      {"\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"", "\"A\\u00e9\\u20ac\\U0001f600\""},
      {"\"\\ud800\\udc00\\udbff\\udfff\"", "\"\\U00010000\\U0010ffff\""},
      {"[]", "()"},
      {"[ 1 , [2] , {} ]", "(1, (2,), {})"},
      {"{\"k\": {\"a long enough key\": [1]}, \"l\" : 2}", "{\"k\": {\"a long enough key\": (1,)}, \"l\": 2}"},
      {"{\"k\": 1, \"l\": 2, \"k\": 3}", "{\"k\": 3, \"l\": 2}"},
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    TVMFFIAny v = json(good[i].text);
    CHECK_STR(repr(v), good[i].want);
    tvmgo_any_clear(&v);
  }
  TVMFFIAny v = json("\"\\u0000x\"");
  TVMFFIByteArray t;
  CHECK(tvmgo_any_text(&v, &t) && t.size == 2 && memcmp(t.data, "\0x", 2) == 0);
  tvmgo_any_clear(&v);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* Texts that end at the end of their block, without a NUL. */
static void test_json_reads_bytes(void) {
  static const char* const texts[] = {"12", "-1.5e3", "[1]", "\"a\"", "null"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t n = strlen(texts[i]);
    char* block = malloc(n);
    memcpy(block, texts[i], n);
    TVMFFIByteArray b = {block, n};
    TVMFFIAny bytes = {.type_index = kTVMFFIByteArrayPtr}, v, want = json(texts[i]);
    bytes.v_ptr = &b;
    CHECK_OK(CALL("ffi.json.Parse", &v, bytes));
    free(block);
    TVMFFIAny r;
    CHECK_OK(CALL("ffi.RecursiveEq", &r, v, want));
    CHECK_EQ_INT(r.v_int64, 1);
    tvmgo_any_clear(&v);
    tvmgo_any_clear(&want);
  }
}

static void test_json_refuses(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  static const struct {
    const char *text, *want;
  } bad[] = {
      {"", "Expecting value: line 1 column 1 (char 0)"},
      {"  ", "Expecting value: line 1 column 3 (char 2)"},
      {"nul", "Expecting value: line 1 column 1 (char 0)"},
      {"[1,\n 2,]", "Expecting value: line 2 column 4 (char 7)"},
      {"[1 2]", "Expecting ',' delimiter: line 1 column 4 (char 3)"},
      {"[\"a long enough text\", 1", "Expecting ',' delimiter: line 1 column 25 (char 24)"},
      {"{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)"},
      {"{\"a\": [1, \"a long enough text\", ?]}", "Expecting value: line 1 column 33 (char 32)"},
      {"{a: 1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
      {"{\"a\": 1,}", "Expecting property name enclosed in double quotes: line 1 column 9 (char 8)"},
      {"{\"a\":1, ", "Syntax error near: line 1 column 9 (char 8)"},
      {"[1,", "Syntax error near: line 1 column 4 (char 3)"},
      {"{\"a\":", "Expecting value: line 1 column 6 (char 5)"},
      {"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
      {"[", "Expecting value: line 1 column 2 (char 1)"},
      {"-", "Expecting value: line 1 column 1 (char 0)"},
      {"1e", "Expecting value: line 1 column 1 (char 0)"},
      {"1e999", "Expecting value: line 1 column 1 (char 0)"},
      {"-1e999", "Expecting value: line 1 column 1 (char 0)"},
      {"1e-400", "Expecting value: line 1 column 1 (char 0)"},
      {"1-2", "Expecting value: line 1 column 1 (char 0)"},
      {"1.5.", "Expecting value: line 1 column 1 (char 0)"},
      {"+-1", "Expecting value: line 1 column 1 (char 0)"},
      {"--1", "Expecting value: line 1 column 1 (char 0)"},
      {"-NaN", "Expecting value: line 1 column 1 (char 0)"},
      {"+Infinity", "Expecting value: line 1 column 1 (char 0)"},
      {"0x10", "Extra data: line 1 column 2 (char 1)"},
      {"\"abc", "Unterminated string starting at: line 1 column 1 (char 0)"},
      {"{\"k\": \"abc", "Unterminated string starting at: line 1 column 7 (char 6)"},
      {"\"a\nb\"", "Invalid control character at: line 1 column 3 (char 2)"},
      {"\"\\x41\"", "Invalid \\escape: line 1 column 3 (char 2)"},
      {"\"\\u12g4\"", "Invalid \\uXXXX escape: line 1 column 3 (char 2)"},
      {"\"\\ud83d\"", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {"\"\\ud83dx\"", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {"\"\\ud83d\\u0041\"", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 10 (char 9)"},
      {"\"\\ud83d\\udbff\"", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 10 (char 9)"},
      {"\"\\ud83d\\ue000\"", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 10 (char 9)"},
      {"\"\\ud83d\\u00g1\"", "Invalid \\uXXXX escape: line 1 column 10 (char 9)"},
      {"\"\\ude00\"", "Invalid surrogate pair of \\uXXXX escapes: line 1 column 3 (char 2)"},
      {"\"\\", "Invalid \\escape: line 1 column 3 (char 2)"},
      {"null null", "Extra data: line 1 column 6 (char 5)"},
      {"01 2", "Extra data: line 1 column 4 (char 3)"},
      {"'a'", "Expecting value: line 1 column 1 (char 0)"},
      {"1\n\n x", "Extra data: line 3 column 2 (char 4)"},
  };
  TVMFFIAny r;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK_FAILS(CALL("ffi.json.Parse", &r, raw(bad[i].text)), "ValueError", bad[i].want);
    CHECK_EQ_INT(r.type_index, kTVMFFINone);
    CHECK(CALL("ffi.json.Parse", &r, raw(bad[i].text)) != 0);
    TVMFFIObject* e = tvmgo_error_take();
    CHECK_STR(tvmgo_error_cell(e)->message.data, bad[i].want);
    tvmgo_object_release(e);
  }
  CHECK_FAILS(CALL("ffi.json.Parse", &r, tvmgo_any_int(1)), "TypeError", "ffi.json.Parse");
  CHECK_FAILS(call("ffi.json.Parse", NULL, 0, &r), "TypeError", "ffi.json.Parse");
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* Every prefix of a text, and every change of one byte, is read or rejected, and nothing leaks. */
static void test_json_damaged(void) {
  static const char text[] =
      "{\"name\": [1, -2.5e+3, true, null, \"a long enough text \\u20ac\\n\"], \"n\": {\"x\": [[]]}}";
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  char copy[sizeof text];
  TVMFFIAny r;
  int refused = 0;
  for (size_t n = 0; n < sizeof text - 1; n++) {
    memcpy(copy, text, n);
    copy[n] = 0;
    CHECK_FAILS(CALL("ffi.json.Parse", &r, raw(copy)), "ValueError", "(char ");
    for (int c = 1; c < 256; c++) {
      memcpy(copy, text, sizeof text);
      copy[n] = (char)c;
      if (CALL("ffi.json.Parse", &r, raw(copy)) != 0) {
        refused++;
        tvmgo_object_release(tvmgo_error_take());
      }
      tvmgo_any_clear(&r);
    }
  }
  CHECK(refused > 1000);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* Texts may nest to any depth, and values are released without recursion. */
static void test_json_depth(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  enum { DEEP = 200000 };
  static const int depths[] = {TVMGO_RECURSION_LIMIT, TVMGO_RECURSION_LIMIT + 1, DEEP};
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    size_t n = (size_t)depths[i];
    char* text = malloc(2 * n + 1);
    memset(text, '[', n);
    memset(text + n, ']', n);
    text[2 * n] = 0;
    TVMFFIAny v = json(text), r;
    if (n == TVMGO_RECURSION_LIMIT) {
      CHECK_OK(CALL("ffi.json.Stringify", &r, v));
      TVMFFIByteArray t;
      CHECK(tvmgo_any_text(&r, &t) && t.size == 2 * n && memcmp(t.data, text, t.size) == 0);
      tvmgo_any_clear(&r);
    } else {
      CHECK_FAILS(CALL("ffi.json.Stringify", &r, v), "ValueError", "nested more than 1000");
    }
    tvmgo_any_clear(&v);
    text[n] = 0;
    CHECK_FAILS(CALL("ffi.json.Parse", &r, raw(text)), "ValueError", "Expecting value");
    free(text);
  }
  size_t n = DEEP;
  char* text = malloc(6 * n + 2);
  for (size_t i = 0; i < n; i++) memcpy(text + 5 * i, "{\"k\":", 5);
  text[5 * n] = '1';
  memset(text + 5 * n + 1, '}', n);
  text[6 * n + 1] = 0;
  TVMFFIAny v = json(text);
  tvmgo_any_clear(&v);
  free(text);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_json_writes(void) {
  static const char* same[] = {
      "null", "true", "false", "0", "-9223372036854775808", "[]", "{}", "[1,[2.5],{\"a\":\"b\"}]",
      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0001\\u001f\\u007f\"", "1.0", "-0.0", "NaN", "Infinity",
      "-Infinity", "0.10000000000000001", "1e+22", "9007199254740992.0",
      "99999999999999984.0", "1e+17",
      "{\"z\":1,\"a\":2,\"a key that is long\":3}", "\"\xc3\xa9\xe2\x82\xac\"",
  };
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    TVMFFIAny v = json(same[i]);
    CHECK_STR(stringify(v), same[i]);
    tvmgo_any_clear(&v);
  }
  TVMFFIAny list = LIST(tvmgo_any_int(1), raw("x"), tvmgo_any_bool(0)), r;
  CHECK_STR(stringify(list), "[1,\"x\",false]");
  CHECK_OK(CALL("ffi.json.Stringify", &r, list, tvmgo_any_int(2)));
  CHECK_STR(text_from(0, &r), "[\n  1,\n  \"x\",\n  false\n]");
  CHECK_OK(CALL("ffi.json.Stringify", &r, list, tvmgo_any_int(-1)));
  CHECK_STR(text_from(0, &r), "[\n1,\n\"x\",\nfalse\n]");
  TVMFFIAny dict, key = raw("k"), nested = json("{\"a\": [1]}");
  CHECK_OK(CALL("ffi.Dict", &dict, key, nested));
  CHECK_OK(CALL("ffi.json.Stringify", &r, dict, tvmgo_any_int(1)));
  CHECK_STR(text_from(0, &r), "{\n \"k\": {\n  \"a\": [\n   1\n  ]\n }\n}");
  CHECK_OK(CALL("ffi.json.Stringify", &r, dict, tvmgo_any_none()));
  CHECK_STR(text_from(0, &r), "{\"k\":{\"a\":[1]}}");
  TVMFFIAny twice = LIST(nested, list, nested, list);
  CHECK_STR(stringify(twice), "[{\"a\":[1]},[1,\"x\",false],{\"a\":[1]},[1,\"x\",false]]");
  tvmgo_any_clear(&twice);
  tvmgo_any_clear(&nested);
  tvmgo_any_clear(&dict);
  tvmgo_any_clear(&list);
}

/* A double is read back unchanged, also in a locale whose decimal point is a comma (if one is installed). */
static void test_json_floats_round_trip(void) {
  const char* where = setlocale(LC_NUMERIC, "de_DE.UTF-8");
  uint64_t bits = 0x9E3779B97F4A7C15u;
  for (int i = 0; i < 20000; i++) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    double v;
    memcpy(&v, &bits, sizeof v);
    if (isnan(v) || isinf(v)) continue;
    TVMFFIAny any = real(v), back = json(stringify(any));
    CHECK(back.type_index == kTVMFFIFloat && memcmp(&back.v_float64, &v, sizeof v) == 0);
  }
  if (where != NULL) setlocale(LC_NUMERIC, "C");
}

static void test_json_refuses_to_write(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny r, list = LIST(tvmgo_any_int(1)), dict, map;
  TVMFFIAny device = {.type_index = kTVMFFIDevice};
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, device), "ValueError", "has no form in JSON");
  CHECK_OK(CALL("ffi.Map", &map, tvmgo_any_int(1), tvmgo_any_int(2)));
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, map), "ValueError", "keys must be str, got int");
  CHECK_OK(CALL("ffi.Dict", &dict, raw("me"), list));
  CHECK_OK(CALL("ffi.ListAppend", &r, list, dict));
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, list), "ValueError", "contains itself");
  CHECK_OK(CALL("ffi.ListClear", &r, list));
  CHECK_OK(CALL("ffi.ListAppend", &r, list, map));
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, list), "ValueError", "keys must be str");
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, list, raw("2")), "TypeError", "ffi.json.Stringify");
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, list, tvmgo_any_int(INT64_MAX)), "ValueError",
              "ffi.json.Stringify");
  CHECK_FAILS(CALL("ffi.json.Stringify", &r, list, tvmgo_any_int(1001)), "ValueError", "indent");
  tvmgo_any_clear(&list);
  tvmgo_any_clear(&dict);
  tvmgo_any_clear(&map);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_json_reads);
  RUN(test_json_reads_bytes);
  RUN(test_json_refuses);
  RUN(test_json_damaged);
  RUN(test_json_depth);
  RUN(test_json_writes);
  RUN(test_json_floats_round_trip);
  RUN(test_json_refuses_to_write);
  return check_end();
}
