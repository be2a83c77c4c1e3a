#include "json.h"
#include "recursive.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *begin, *at, *end;
  tvmgo_text scratch; /* of the string that is read */
  TVMFFIAny* stack;   /* owned: elements, keys and values of what is not complete */
  size_t size, capacity;
  int level;
} reader;

static int read_value(reader* r, TVMFFIAny* out);

/* Raises an error about the place at. */
static int bad(const reader* r, const char* at, const char* what) {
  const char* line = r->begin;
  size_t lines = 1;
  for (const char* p = r->begin; p < at; p++) {
    if (*p != '\n') continue;
    lines++;
    line = p + 1;
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR, "parse JSON: %s: line %zu column %zu (char %zu)", what, lines,
                     (size_t)(at - line) + 1, (size_t)(at - r->begin));
}

static void skip_space(reader* r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
    r->at++;
}

/* The next byte, or -1 at the end. */
static int peek(const reader* r) { return r->at < r->end ? (unsigned char)*r->at : -1; }

static int skip(reader* r, const char* text) {
  size_t n = strlen(text);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return 0;
  r->at += n;
  return 1;
}

/* Takes ownership of *v. */
static int push(reader* r, TVMFFIAny* v) {
  if (r->size == r->capacity) {
    size_t capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
    TVMFFIAny* stack = realloc(r->stack, capacity * sizeof *stack);
    if (stack == NULL) {
      tvmgo_any_clear(v);
      return tvmgo_raise_oom();
    }
    r->stack = stack;
    r->capacity = capacity;
  }
  r->stack[r->size++] = *v;
  return 0;
}

static void pop_to(reader* r, size_t size) {
  while (r->size > size) tvmgo_any_clear(&r->stack[--r->size]);
}

/* ---- Strings ------------------------------------------------------------------------------- */

/* Four hexadecimal digits, or -1. */
static int read_hex(reader* r) {
  int code = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    int c = peek(r);
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

static void add_utf8(tvmgo_text* t, uint32_t code) {
  char s[4];
  size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = n; i-- > 1; code >>= 6) s[i] = (char)(0x80 | (code & 0x3F));
  s[0] = (char)(lead[n] | code);
  tvmgo_text_add(t, s, n);
}

/* Behind "\u", which stands at start; two of them make a character beyond 16 bits. */
static int read_unicode(reader* r, const char* start) {
  int code = read_hex(r);
  if (code < 0) return bad(r, start, "\\u must be followed by four hexadecimal digits");
  uint32_t whole = (uint32_t)code;
  if (code >= 0xD800 && code <= 0xDFFF) {
    int low = code < 0xDC00 && skip(r, "\\u") ? read_hex(r) : -1;
    if (low < 0xDC00 || low > 0xDFFF) return bad(r, start, "half of a surrogate pair");
    whole = 0x10000 + ((uint32_t)(code - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
  }
  add_utf8(&r->scratch, whole);
  return 0;
}

static int read_escape(reader* r) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char* start = r->at++;
  int c = peek(r);
  if (c == 'u') {
    r->at++;
    return read_unicode(r, start);
  }
  const char* known = c <= 0 ? NULL : strchr(from, c);
  if (known == NULL) return bad(r, start, "unknown escape");
  tvmgo_text_add(&r->scratch, &to[known - from], 1);
  r->at++;
  return 0;
}

static int read_string(reader* r, TVMFFIAny* out) {
  const char* start = r->at++;
  r->scratch.size = 0;
  for (;;) {
    const char* plain = r->at;
    while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= 0x20)
      r->at++;
    size_t n = (size_t)(r->at - plain);
    int c = peek(r);
    if (c == '"') {
      r->at++;
      if (r->scratch.size == 0 && !r->scratch.failed) return tvmgo_string_make(plain, n, out);
      tvmgo_text_add(&r->scratch, plain, n);
      return tvmgo_text_string(&r->scratch, 0, out);
    }
    tvmgo_text_add(&r->scratch, plain, n);
    if (c < 0) return bad(r, start, "the string has no end");
    if (c < 0x20) return bad(r, r->at, "control character in a string");
    if (read_escape(r) != 0) return -1;
  }
}

/* ---- Numbers ------------------------------------------------------------------------------- */

static int skip_digits(reader* r) {
  const char* start = r->at;
  while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
  return r->at > start;
}

static int read_number(reader* r, TVMFFIAny* out) {
  const char* start = r->at;
  int whole = 1, good = 1;
  skip(r, "-");
  if (skip(r, "Infinity") || (start == r->at && skip(r, "NaN"))) {
    *out = (TVMFFIAny){.type_index = kTVMFFIFloat};
    out->v_float64 = *start == 'N' ? NAN : *start == '-' ? -INFINITY : INFINITY;
    return 0;
  }
  if (!skip(r, "0")) good = skip_digits(r);
  if (good && skip(r, ".")) {
    whole = 0;
    good = skip_digits(r);
  }
  if (good && (skip(r, "e") || skip(r, "E"))) {
    whole = 0;
    if (!skip(r, "+")) skip(r, "-");
    good = skip_digits(r);
  }
  if (!good) return bad(r, start, "expecting value");
  r->scratch.size = 0; /* the text may end right here, without a NUL */
  tvmgo_text_add(&r->scratch, start, (size_t)(r->at - start));
  tvmgo_text_add(&r->scratch, "", 1);
  if (r->scratch.failed) return tvmgo_raise_oom();
  errno = 0;
  long long integer = whole ? strtoll(r->scratch.data, NULL, 10) : 0;
  if (whole && errno == 0) {
    *out = tvmgo_any_int(integer);
    return 0;
  }
  double v = strtod_l(r->scratch.data, NULL, tvmgo_c_locale());
  if (isinf(v)) return bad(r, start, "the number is too large");
  *out = (TVMFFIAny){.type_index = kTVMFFIFloat};
  out->v_float64 = v;
  return 0;
}

/* ---- Arrays and objects -------------------------------------------------------------------- */

/* The Array of what lies on the stack above base. */
static int make_array(reader* r, size_t base, TVMFFIAny* out) {
  TVMFFIObject* array = tvmgo_array_new(r->stack + base, (int64_t)(r->size - base));
  pop_to(r, base);
  if (array == NULL) return -1;
  *out = tvmgo_any_object(array);
  return 0;
}

/* The Map of the keys and values that lie on the stack above base. */
static int make_map(reader* r, size_t base, TVMFFIAny* out) {
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  int rc = map == NULL ? -1 : 0;
  for (size_t i = base; rc == 0 && i < r->size; i += 2)
    rc = tvmgo_map_set(&map, &r->stack[i], &r->stack[i + 1]);
  pop_to(r, base);
  if (rc != 0)
    tvmgo_object_release(map);
  else
    *out = tvmgo_any_object(map);
  return rc;
}

/* A key and the colon behind it. */
static int read_key(reader* r) {
  TVMFFIAny key;
  skip_space(r);
  if (peek(r) != '"') return bad(r, r->at, "expecting property name enclosed in double quotes");
  if (read_string(r, &key) != 0 || push(r, &key) != 0) return -1;
  skip_space(r);
  return skip(r, ":") ? 0 : bad(r, r->at, "expecting ':' delimiter");
}

static int read_container(reader* r, TVMFFIAny* out) {
  int is_map = *r->at++ == '{';
  const char* close = is_map ? "}" : "]";
  size_t base = r->size;
  if (tvmgo_level_enter("parse JSON", &r->level) != 0) return -1;
  skip_space(r);
  for (int closed = skip(r, close); !closed;) {
    TVMFFIAny v;
    if ((is_map && read_key(r) != 0) || read_value(r, &v) != 0 || push(r, &v) != 0) return -1;
    skip_space(r);
    closed = skip(r, close);
    if (!closed && !skip(r, ",")) return bad(r, r->at, "expecting ',' delimiter");
  }
  r->level--;
  return is_map ? make_map(r, base, out) : make_array(r, base, out);
}

static int read_value(reader* r, TVMFFIAny* out) {
  skip_space(r);
  switch (peek(r)) {
    case '{':
    case '[': return read_container(r, out);
    case '"': return read_string(r, out);
    case 't':
    case 'f':
    case 'n':
      *out = tvmgo_any_none();
      if (skip(r, "null")) return 0;
      *out = tvmgo_any_bool(*r->at == 't');
      return skip(r, "true") || skip(r, "false") ? 0 : bad(r, r->at, "expecting value");
    default: return read_number(r, out);
  }
}

int tvmgo_json_parse(TVMFFIByteArray text, TVMFFIAny* result) {
  reader r = {.begin = text.data, .at = text.data, .end = text.data + text.size};
  TVMFFIAny v;
  int rc = read_value(&r, &v);
  if (rc == 0) {
    skip_space(&r);
    if (r.at == r.end) {
      *result = v;
    } else {
      rc = bad(&r, r.at, "unexpected text behind the value");
      tvmgo_any_clear(&v);
    }
  }
  pop_to(&r, 0);
  free(r.stack);
  tvmgo_text_free(&r.scratch);
  return rc;
}
