/* Element types as text, in both grammars, and their sizes. */
#include "ctest/check.h"

typedef struct {
  const char* text;
  DLDataType want;
  const char* printed; /* NULL: as text */
} good;

static const good modern[] = {
    {"", {3, 0, 0}, NULL},
    {"void", {3, 0, 0}, ""},
    {"int", {0, 32, 1}, "int32"},
    {"int0", {0, 32, 1}, "int32"},
    {"int08", {0, 8, 1}, "int8"},
    {"int8", {0, 8, 1}, NULL},
    {"int128", {0, 128, 1}, NULL},
    {"uint", {1, 32, 1}, "uint32"},
    {"uint1", {1, 1, 1}, NULL},
    {"float", {2, 32, 1}, "float32"},
    {"float8", {2, 8, 1}, NULL},
    {"float16x3", {2, 16, 3}, NULL},
    {"handle", {3, 64, 1}, NULL},
    {"handle32", {3, 32, 1}, "handle"},
    {"handlex2", {3, 64, 2}, "handle"},
    {"bfloat", {4, 16, 1}, "bfloat16"},
    {"bool", {6, 8, 1}, NULL},
    {"bool1", {6, 1, 1}, NULL},
    {"bool8x4", {6, 8, 4}, "boolx4"},
    {"boolxvscalex4", {6, 8, 65532}, NULL},
    {"i8", {0, 8, 1}, "int8"},
    {"u1", {1, 1, 1}, "uint1"},
    {"f64", {2, 64, 1}, "float64"},
    {"f8", {2, 8, 1}, "float8"},
    {"f0", {2, 32, 1}, "float32"},
    {"bf16", {4, 16, 1}, "bfloat16"},
    {"intx4", {0, 32, 4}, "int32x4"},
    {"int8x1", {0, 8, 1}, "int8"},
    {"int8x32767", {0, 8, 32767}, NULL},
    {"int8x65535", {0, 8, 65535}, "int8"},
    {"int8xvscalex4", {0, 8, 65532}, NULL},
    {"int8xvscalex32768", {0, 8, 32768}, NULL},
    {"float8_e3m4", {7, 8, 1}, NULL},
    {"float8_e4m3", {8, 8, 1}, NULL},
    {"float8_e4m3b11fnuz", {9, 8, 1}, NULL},
    {"float8_e4m3fn", {10, 8, 1}, NULL},
    {"float8_e4m3fnx4", {10, 8, 4}, NULL},
    {"float8_e4m3fnuz", {11, 8, 1}, NULL},
    {"float8_e5m2", {12, 8, 1}, NULL},
    {"float8_e5m2fnuz", {13, 8, 1}, NULL},
    {"float8_e8m0fnu", {14, 8, 1}, NULL},
    {"float6_e2m3fn", {15, 6, 1}, NULL},
    {"float6_e3m2fn", {16, 6, 1}, NULL},
    {"float4_e2m1fn", {17, 4, 1}, NULL},
    {"float4_e2m1fnx2", {17, 4, 2}, NULL},
    {"float4_e2m1fn_x2", {17, 4, 2}, "float4_e2m1fnx2"},
    {"fp8_e4m3fn", {10, 8, 1}, "float8_e4m3fn"},
    {"f8_e5m2", {12, 8, 1}, "float8_e5m2"},
    {"fp6_e2m3fn", {15, 6, 1}, "float6_e2m3fn"},
    {"f4_e2m1fn_x2", {17, 4, 2}, "float4_e2m1fnx2"},
};

static const good classic[] = {
    {"", {3, 0, 0}, NULL},
    {"void", {3, 0, 0}, ""},
    {"bool", {1, 1, 1}, NULL},
    {"uint1", {1, 1, 1}, "bool"},
    {"uint1x4", {1, 1, 4}, NULL},
    {"int", {0, 32, 1}, "int32"},
    {"float32x4", {2, 32, 4}, NULL},
    {"handle", {3, 64, 1}, NULL},
    {"bfloat16", {4, 16, 1}, NULL},
    {"e4m3_float8", {10, 8, 1}, NULL},
    {"e4m3_float", {10, 8, 1}, "e4m3_float8"},
    {"e5m2_float8x2", {12, 8, 2}, NULL},
    {"int8xvscalex4", {0, 8, 65532}, NULL},
    {"float8_e4m3fn", {10, 8, 1}, "e4m3_float8"},
};

static const char* const bad_modern[] = {
    "i", "u", "f", "bf", "f8_", "fp8_", "float8_", "float8_zzz", "float6_", "f4_zzz", "fp8", "fp16",
    "float8_e2m1fn", "float8_e4m3fn8", "float8_e4m3fn_x4", "e4m3", "e4m3_float", "complex",
    "complex64", "b8", "void8", "voidx2", "int256", "int999999999999999999999", "int8x", "int8x0",
    "int8x65536", "int8x-4", "int8xx4", "int8x4x4", "int8x4_", "int8_x4", "int8xvscale",
    "int8xvscale4", "int8xvscalex0", "int8xvscalex32769", "int-8", "int+8", " int8", "int8 ",
    "Int8", "INT32", "short", "custom", "custom[", "custom[a]", "int8,", "float4_e2m1fn_",
};

static const char* const bad_classic[] = {"boolx4", "i8", "f32", "bool8", "complex64", "int8x0",
                                          "int300", "e4m3_float8y", "x", "xvscalex4"};

typedef int (*parser)(const char* s, size_t n, DLDataType* out);
typedef int (*printer)(DLDataType t, char* buf, size_t cap);

static void check_good(const good* g, size_t n, parser parse, printer print) {
  for (size_t i = 0; i < n; i++) {
    DLDataType t;
    char text[64];
    if (!CHECK_OK(parse(g[i].text, strlen(g[i].text), &t))) continue;
    if (t.code != g[i].want.code || t.bits != g[i].want.bits || t.lanes != g[i].want.lanes)
      check_fail(__FILE__, __LINE__, "\"%s\" is {%d,%d,%d}", g[i].text, t.code, t.bits, t.lanes);
    if (CHECK_OK(print(t, text, sizeof text)))
      CHECK_STR(text, g[i].printed != NULL ? g[i].printed : g[i].text);
  }
}

static void check_bad(const char* const* texts, size_t n, parser parse) {
  for (size_t i = 0; i < n; i++) {
    DLDataType t = {99, 99, 99};
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", texts[i]);
    CHECK_FAILS(parse(texts[i], strlen(texts[i]), &t), "ValueError", quoted);
    CHECK_EQ_INT(t.code, 99);
  }
}

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void test_modern(void) {
  check_good(modern, COUNT(modern), tvmgo_dtype_parse, tvmgo_dtype_print);
  check_bad(bad_modern, COUNT(bad_modern), tvmgo_dtype_parse);
  DLDataType t;
  CHECK_FAILS(tvmgo_dtype_parse("int32", 6, &t), "ValueError", ""); /* the NUL is part of it */
  CHECK_FAILS(tvmgo_dtype_parse("int1", 5, &t), "ValueError", "accepted are");
  CHECK_FAILS(tvmgo_dtype_parse(NULL, 3, &t), "ValueError", "NULL");
  CHECK_OK(tvmgo_dtype_parse("int32x", 5, &t)); /* and what follows does not */
}

static void test_classic(void) {
  check_good(classic, COUNT(classic), tvmgo_dtype_parse_classic, tvmgo_dtype_print_classic);
  check_bad(bad_classic, COUNT(bad_classic), tvmgo_dtype_parse_classic);
}

/* Every type that can be printed is parsed again and printed the same. */
static void test_every_code_prints_or_fails(void) {
  static const uint8_t bits[] = {1, 4, 6, 8, 16, 32, 64, 128};
  static const uint16_t lanes[] = {1, 2, 4, 1024, 65532};
  for (int code = 0; code < 129; code++) {
    for (size_t b = 0; b < COUNT(bits); b++) {
      for (size_t l = 0; l < COUNT(lanes); l++) {
        DLDataType t = {(uint8_t)code, bits[b], lanes[l]}, back;
        char text[64], again[64];
        if (code > 17 || code == 5) {
          CHECK_FAILS(tvmgo_dtype_print(t, text, sizeof text), "ValueError", "has no name");
          continue;
        }
        CHECK_OK(tvmgo_dtype_print(t, text, sizeof text));
        if (!CHECK_OK(tvmgo_dtype_parse(text, strlen(text), &back))) continue;
        CHECK_OK(tvmgo_dtype_print(back, again, sizeof again));
        CHECK_STR(again, text);
      }
    }
  }
  char small[4];
  CHECK_FAILS(tvmgo_dtype_print((DLDataType){0, 32, 1}, small, 4), "ValueError", "int32");
}

static int code_of(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  TVMFFIByteArray name;
  if (n != 1 || tvmgo_any_string(&args[0], "name", &name) != 0) return -1;
  if (name.size == 4 && memcmp(name.data, "none", 4) == 0)
    return tvmgo_raise(TVMGO_KEY_ERROR, "no such custom type");
  *result = tvmgo_any_int(name.size == 3 && memcmp(name.data, "low", 3) == 0 ? 5 : 130);
  return 0;
}

static int name_of(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  return tvmgo_string_make("posit", 5, result);
}

static void test_custom(void) {
  static const char getter[] = "dtype.get_custom_type_code", namer[] = "dtype.get_custom_type_name";
  DLDataType t;
  char text[64];
  CHECK_FAILS(tvmgo_dtype_parse("custom[posit]8", 14, &t), "ValueError", getter);
  CHECK_FAILS(tvmgo_dtype_print((DLDataType){130, 8, 1}, text, 64), "ValueError", namer);
  TVMFFIObjectHandle f, g;
  CHECK_OK(TVMFFIFunctionCreate(NULL, code_of, NULL, &f));
  CHECK_OK(TVMFFIFunctionCreate(NULL, name_of, NULL, &g));
  CHECK_OK(tvmgo_global_set(getter, strlen(getter), f, 0));
  CHECK_OK(tvmgo_global_set(namer, strlen(namer), g, 0));
  tvmgo_object_release(f);
  tvmgo_object_release(g);
  CHECK_OK(tvmgo_dtype_parse("custom[posit]8x4", 16, &t));
  CHECK_EQ_INT(t.code, 130);
  CHECK_EQ_INT(t.bits, 8);
  CHECK_EQ_INT(t.lanes, 4);
  CHECK_OK(tvmgo_dtype_print(t, text, sizeof text));
  CHECK_STR(text, "custom[posit]8x4");
  CHECK_OK(tvmgo_dtype_print_classic(t, text, sizeof text));
  CHECK_STR(text, "custom[posit]8x4");
  CHECK_FAILS(tvmgo_dtype_parse("custom[low]8", 12, &t), "ValueError", "129");
  CHECK_FAILS(tvmgo_dtype_parse("custom[none]8", 13, &t), "KeyError", "no such custom type");
  tvmgo_global_remove(getter, strlen(getter));
  tvmgo_global_remove(namer, strlen(namer));
}

static void test_bytes(void) {
  static const struct {
    DLDataType t;
    int64_t n;
    size_t want;
  } cases[] = {
      {{2, 32, 1}, 3, 12},  {{2, 32, 4}, 3, 48}, {{1, 1, 1}, 9, 9}, /* one byte each */
      {{1, 1, 8}, 3, 3},    {{1, 1, 2}, 5, 2},   {{6, 8, 1}, 9, 9},
      {{6, 1, 1}, 9, 2},    {{0, 4, 1}, 3, 2},   {{17, 4, 1}, 5, 3},
      {{15, 6, 1}, 4, 3},   {{0, 8, 1}, 0, 0},   {{3, 0, 0}, 4, 0},
      {{0, 1, 1}, 9, 2},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    size_t got = 12345;
    CHECK_OK(tvmgo_dtype_bytes(cases[i].t, cases[i].n, &got));
    if (got != cases[i].want)
      check_fail(__FILE__, __LINE__, "case %zu is %zu bytes, want %zu", i, got, cases[i].want);
  }
  size_t out;
  DLDataType f32 = {2, 32, 1};
  CHECK_FAILS(tvmgo_dtype_bytes(f32, -1, &out), "ValueError", "-1");
  CHECK_FAILS(tvmgo_dtype_bytes(f32, INT64_MAX, &out), "ValueError", "memory");
  CHECK_FAILS(tvmgo_dtype_bytes((DLDataType){2, 8, 1}, INT64_MAX, &out), "ValueError", "memory");
  CHECK_FAILS(tvmgo_dtype_bytes((DLDataType){0, 8, 65532}, 1, &out), "ValueError", "scalable");
}

static void test_public_functions(void) {
  TVMFFIByteArray text = {"float8_e4m3fnx4", 15};
  DLDataType t;
  TVMFFIAny s;
  TVMFFIByteArray back;
  CHECK_OK(TVMFFIDataTypeFromString(&text, &t));
  CHECK_OK(TVMFFIDataTypeToString(&t, &s));
  CHECK_OK(tvmgo_any_string(&s, "dtype", &back));
  CHECK_TEXT(back, "float8_e4m3fnx4");
  tvmgo_any_clear(&s);
  CHECK_FAILS(TVMFFIDataTypeFromString(NULL, &t), "ValueError", "text is NULL");
  CHECK_FAILS(TVMFFIDataTypeFromString(&text, NULL), "ValueError", "out is NULL");
  CHECK_FAILS(TVMFFIDataTypeToString(NULL, &s), "ValueError", "dtype is NULL");
  CHECK_FAILS(TVMFFIDataTypeToString(&t, NULL), "ValueError", "out is NULL");
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_modern);
  RUN(test_classic);
  RUN(test_every_code_prints_or_fails);
  RUN(test_custom);
  RUN(test_bytes);
  RUN(test_public_functions);
  return check_end();
}
