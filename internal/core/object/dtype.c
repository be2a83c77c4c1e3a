/* Element types as text. Two generations share one parser: "bool" is {6,8,1} in the modern grammar (docs/abi.md B.9)
 * and {1,1,1} in the classic one (A.2), whose small floats are the modern codes here (classic memory held 6 and 7 for
 * them). */
#include "object/object.h"

#include <stdio.h>
#include <string.h>

#define CUSTOM_BEGIN 129
#define VOID ((DLDataType){kDLOpaqueHandle, 0, 0})
#define BOOL_CLASSIC ((DLDataType){kDLUInt, 1, 1})
#define CLASSIC_E4M3 kDLFloat8_e4m3fn
#define CLASSIC_E5M2 kDLFloat8_e5m2

typedef enum { MODERN = 1, CLASSIC = 2, NEEDS_BITS = 4 } grammar;

/* Names that may be followed by bits. */
static const struct {
  const char* name;
  uint8_t code, bits;
  unsigned grammars;
} bases[] = {
    {"int", kDLInt, 32, MODERN | CLASSIC},
    {"uint", kDLUInt, 32, MODERN | CLASSIC},
    {"float", kDLFloat, 32, MODERN | CLASSIC},
    {"handle", kDLOpaqueHandle, 64, MODERN | CLASSIC},
    {"bfloat", kDLBfloat, 16, MODERN | CLASSIC},
    {"bool", kDLBool, 8, MODERN},
    {"e4m3_float", CLASSIC_E4M3, 8, CLASSIC},
    {"e5m2_float", CLASSIC_E5M2, 8, CLASSIC},
    {"i", kDLInt, 32, MODERN | NEEDS_BITS},
    {"u", kDLUInt, 32, MODERN | NEEDS_BITS},
    {"f", kDLFloat, 32, MODERN | NEEDS_BITS},
    {"bf", kDLBfloat, 16, MODERN | NEEDS_BITS},
};

/* Small floats: the name holds the bits. */
static const struct {
  const char* name;
  uint8_t code, bits;
} minis[] = {
    {"e3m4", kDLFloat8_e3m4, 8},
    {"e4m3", kDLFloat8_e4m3, 8},
    {"e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8},
    {"e4m3fn", kDLFloat8_e4m3fn, 8},
    {"e4m3fnuz", kDLFloat8_e4m3fnuz, 8},
    {"e5m2", kDLFloat8_e5m2, 8},
    {"e5m2fnuz", kDLFloat8_e5m2fnuz, 8},
    {"e8m0fnu", kDLFloat8_e8m0fnu, 8},
    {"e2m3fn", kDLFloat6_e2m3fn, 6},
    {"e3m2fn", kDLFloat6_e3m2fn, 6},
    {"e2m1fn", kDLFloat4_e2m1fn, 4},
};

typedef struct {
  const char *all, *at, *end;
  grammar grammar;
} reader;

static int bad(const reader* r, const char* why) {
  return tvmgo_raise(TVMGO_VALUE_ERROR,
                     "parse dtype \"%.*s\": %s; accepted are int, uint, float, bfloat, handle with "
                     "optional bits (1 to 255) and lanes (int8, float32x4, int8xvscalex4), bool, "
                     "%s, custom[name] and void",
                     tvmgo_quoted((size_t)(r->end - r->all)), r->all, why,
                     r->grammar == CLASSIC ? "e4m3_float8, e5m2_float8" : "float8_e4m3fn and kin");
}

/* Skips text if it is next. */
static int skip(reader* r, const char* text) {
  size_t n = strlen(text);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return 0;
  r->at += n;
  return 1;
}

/* Digits up to max: 1, 0 when there are none, -1 when the number is too large. */
static int number(reader* r, uint32_t max, uint32_t* out) {
  const char* start = r->at;
  uint32_t v = 0;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
    v = v * 10 + (uint32_t)(*r->at - '0');
    if (v > max) return -1;
  }
  *out = v;
  return r->at > start;
}

/* The rest of the text: nothing, xN or xvscalexN. */
static int lanes(reader* r, DLDataType* t) {
  t->lanes = 1;
  if (r->at == r->end) return 0;
  int scalable = skip(r, "xvscalex");
  if (!scalable && !skip(r, "x")) return bad(r, "unexpected text after the type");
  uint32_t n = 0;
  if (number(r, scalable ? 32768 : 65535, &n) != 1 || n == 0 || r->at != r->end)
    return bad(r, scalable ? "the factor of vscale must be a number from 1 to 32768"
                           : "lanes must be a number from 1 to 65535");
  t->lanes = scalable ? (uint16_t)-n : (uint16_t)n;
  return 0;
}

/* float8_e4m3fn, fp8_e4m3fn, f8_e4m3fn: 1 when the text is one, 0 when not, -1 when broken. */
static int mini(reader* r, DLDataType* t) {
  static const char* const prefixes[] = {"float", "fp", "f"};
  const char* start = r->at;
  for (int p = 0; p < 3; p++, r->at = start) {
    if (!skip(r, prefixes[p])) continue;
    uint8_t bits = skip(r, "8_") ? 8 : skip(r, "6_") ? 6 : skip(r, "4_") ? 4 : 0;
    if (bits == 0) continue;
    const char* name = r->at;
    while (r->at < r->end && *r->at != 'x' && *r->at != '_') r->at++;
    size_t n = (size_t)(r->at - name);
    for (size_t i = 0; i < sizeof minis / sizeof *minis; i++) {
      const char* known = minis[i].name;
      if (minis[i].bits != bits || strlen(known) != n || memcmp(known, name, n) != 0) continue;
      *t = (DLDataType){minis[i].code, bits, 1};
      if (bits == 4 && skip(r, "_x")) r->at--; /* float4_e2m1fn_x2 is float4_e2m1fnx2 */
      return lanes(r, t) == 0 ? 1 : -1;
    }
    return bad(r, "there is no such small float");
  }
  return 0;
}

int (*tvmgo_dtype_call_first)(const char* const names[2], const TVMFFIAny* arg, TVMFFIAny* result);

/* After "custom": [name], whose number is in the program's table. */
static int custom(reader* r, DLDataType* t) {
  static const char* const getters[2] = {"dtype.get_custom_type_code",
                                         "runtime._datatype_get_type_code"};
  const char* close = skip(r, "[") ? memchr(r->at, ']', (size_t)(r->end - r->at)) : NULL;
  if (close == NULL) return bad(r, "a custom type is written custom[name]");
  TVMFFIAny name, code;
  if (tvmgo_string_make(r->at, (size_t)(close - r->at), &name) != 0) return -1;
  r->at = close + 1;
  int called = tvmgo_dtype_call_first(getters, &name, &code);
  tvmgo_any_clear(&name);
  if (called < 0) return -1;
  if (!called) return bad(r, "no global function dtype.get_custom_type_code is registered");
  int good = code.type_index == kTVMFFIInt && code.v_int64 >= CUSTOM_BEGIN && code.v_int64 <= 255;
  if (good) *t = (DLDataType){(uint8_t)code.v_int64, 32, 1};
  tvmgo_any_clear(&code);
  return good ? 0 : bad(r, "the code of a custom type must be an int from 129 to 255");
}

static int bits_and_lanes(reader* r, DLDataType* t, int need) {
  uint32_t bits = 0;
  int digits = number(r, 255, &bits);
  if (digits < 0) return bad(r, "bits must be at most 255");
  if (need && digits == 0) return bad(r, "unknown type");
  if (bits != 0) t->bits = (uint8_t)bits;
  return lanes(r, t);
}

static int parse(const char* s, size_t n, grammar g, DLDataType* out) {
  if (s == NULL && n > 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "parse dtype: the text is NULL but its size is %zu", n);
  reader r = {s, s, s + n, g};
  DLDataType t = VOID;
  if (n == 0 || (n == 4 && memcmp(s, "void", 4) == 0)) {
    *out = t;
    return 0;
  }
  if (g == CLASSIC && n == 4 && memcmp(s, "bool", 4) == 0) {
    *out = BOOL_CLASSIC;
    return 0;
  }
  int rc = mini(&r, &t);
  if (rc == 0) {
    if (skip(&r, "custom")) {
      rc = custom(&r, &t);
      if (rc == 0) rc = bits_and_lanes(&r, &t, 0);
    } else {
      size_t best = sizeof bases / sizeof *bases, length = 0;
      for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        size_t k = strlen(bases[i].name);
        if ((bases[i].grammars & g) && k > length && k <= n && memcmp(s, bases[i].name, k) == 0) {
          best = i;
          length = k;
        }
      }
      if (length == 0) return bad(&r, "unknown type");
      r.at += length;
      t = (DLDataType){bases[best].code, bases[best].bits, 1};
      rc = bits_and_lanes(&r, &t, (bases[best].grammars & NEEDS_BITS) != 0);
    }
  }
  if (rc < 0) return -1;
  *out = t;
  return 0;
}

int tvmgo_dtype_parse(const char* s, size_t n, DLDataType* out) { return parse(s, n, MODERN, out); }

int tvmgo_dtype_parse_classic(const char* s, size_t n, DLDataType* out) {
  return parse(s, n, CLASSIC, out);
}

/* ---- Printing ------------------------------------------------------------------------------ */

/* The name of a custom type in brackets. */
static int custom_name(DLDataType t, char* buf, size_t cap) {
  static const char* const getters[2] = {"dtype.get_custom_type_name",
                                         "runtime._datatype_get_type_name"};
  TVMFFIAny code = tvmgo_any_int(t.code), name;
  int called = tvmgo_dtype_call_first(getters, &code, &name);
  if (called < 0) return -1;
  if (!called)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "print dtype: code %d is a custom type, but no global function "
                       "dtype.get_custom_type_name is registered",
                       (int)t.code);
  TVMFFIByteArray text;
  int rc = tvmgo_any_string(&name, "print dtype: name of a custom type", &text);
  if (rc == 0 && (size_t)snprintf(buf, cap, "custom[%.*s]", (int)text.size, text.data) >= cap)
    rc = tvmgo_raise(TVMGO_VALUE_ERROR, "print dtype: the name of custom type %d is too long",
                     (int)t.code);
  tvmgo_any_clear(&name);
  return rc;
}

static int print(DLDataType t, grammar g, char* buf, size_t cap) {
  char name[64] = "";
  int with_bits = 0, plain = 0; /* plain: neither bits nor lanes follow */
  if (t.code == kDLOpaqueHandle) {
    plain = 1;
    if (t.bits != 0 || t.lanes != 0) strcpy(name, "handle");
  } else if (g == CLASSIC && t.code == kDLUInt && t.bits == 1 && t.lanes == 1) {
    plain = 1;
    strcpy(name, "bool");
  } else if (t.code >= CUSTOM_BEGIN) {
    if (custom_name(t, name, sizeof name) != 0) return -1;
    with_bits = 1;
  } else {
    for (size_t i = 0; i < sizeof bases / sizeof *bases && name[0] == 0; i++)
      if ((bases[i].grammars & g) && !(bases[i].grammars & NEEDS_BITS) && bases[i].code == t.code)
        strcpy(name, bases[i].name);
    with_bits = name[0] != 0 && !(g == MODERN && t.code == kDLBool && t.bits == 8);
    for (size_t i = 0; i < sizeof minis / sizeof *minis && name[0] == 0; i++)
      if (minis[i].code == t.code)
        snprintf(name, sizeof name, "float%d_%s", (int)minis[i].bits, minis[i].name);
    if (name[0] == 0)
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "print dtype: code %d (bits %d, lanes %d) has no name; codes are 0 to 17 "
                         "except 5, and 129 to 255 for custom types",
                         (int)t.code, (int)t.bits, (int)t.lanes);
  }
  int count = (int16_t)t.lanes; /* negative: a multiple of the scalable length */
  char bits[8] = "", tail[24] = "";
  if (with_bits) snprintf(bits, sizeof bits, "%d", (int)t.bits);
  if (!plain && count > 1) snprintf(tail, sizeof tail, "x%d", count);
  if (!plain && count < -1) snprintf(tail, sizeof tail, "xvscalex%d", -count);
  if ((size_t)snprintf(buf, cap, "%s%s%s", name, bits, tail) >= cap)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "print dtype: \"%s%s%s\" needs more than %zu bytes", name,
                       bits, tail, cap);
  return 0;
}

int tvmgo_dtype_print(DLDataType t, char* buf, size_t cap) { return print(t, MODERN, buf, cap); }

int tvmgo_dtype_print_classic(DLDataType t, char* buf, size_t cap) {
  return print(t, CLASSIC, buf, cap);
}

/* ---- Size ---------------------------------------------------------------------------------- */

int tvmgo_dtype_bytes(DLDataType t, int64_t n, size_t* out) {
  if (n < 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "size of tensor: %lld elements", (long long)n);
  if ((int16_t)t.lanes < 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "size of tensor: a vector of scalable length has no size in bytes");
  uint64_t bits = (uint64_t)t.bits * t.lanes, total;
  if (t.code == kDLUInt && bits == 1) bits = 8;
  if (__builtin_mul_overflow((uint64_t)n, bits, &total) || total > UINT64_MAX - 7 ||
      (total + 7) / 8 > PTRDIFF_MAX)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "size of tensor: %lld elements of %llu bits are more than memory can hold",
                       (long long)n, (unsigned long long)bits);
  *out = (size_t)((total + 7) / 8);
  return 0;
}

/* ---- The public pair ----------------------------------------------------------------------- */

int TVMFFIDataTypeFromString(const TVMFFIByteArray* str, DLDataType* out) {
  if (str == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "parse dtype: %s is NULL",
                       out == NULL ? "out" : "the text");
  return tvmgo_dtype_parse(str->data, str->size, out);
}

int TVMFFIDataTypeToString(const DLDataType* dtype, TVMFFIAny* out) {
  if (dtype == NULL || out == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "print dtype: %s is NULL",
                       out == NULL ? "out" : "the dtype");
  char text[96];
  if (tvmgo_dtype_print(*dtype, text, sizeof text) != 0) return -1;
  return tvmgo_string_make(text, strlen(text), out);
}
