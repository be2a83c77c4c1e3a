#include "reflect/json.h"
#include "object/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An array or object that is being read: its elements, or its keys and values, are on the stack above base. */
typedef struct {
  size_t base;
  int is_map;
} frame;

typedef struct {
  const char *begin, *at, *end;
  tvmgo_text scratch; /* of the string or number that is read */
  TVMFFIAny* stack;   /* owned: elements, keys and values of incomplete containers */
  size_t size, capacity;
  frame* frames; /* the innermost last; the depth is not limited */
  size_t depth, max_depth;
} reader;

/* Raises an error about the position `at`, worded as in Python's json module, as tvm-ffi does. */
static int bad(const reader* r, const char* at, const char* what) {
  const char* line = r->begin;
  size_t lines = 1;
  for (const char* p = r->begin; p < at; p++) {
    if (*p != '\n') continue;
    lines++;
    line = p + 1;
  }
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: line %zu column %zu (char %zu)", what, lines,
                     (size_t)(at - line) + 1, (size_t)(at - r->begin));
}

static const char expecting_value[] = "Expecting value";

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

/* The four digits of an escape; errors name the position `where`. */
static int read_code(reader* r, const char* where, uint32_t* code) {
  int digits = read_hex(r);
  if (digits < 0) return bad(r, where, "Invalid \\uXXXX escape");
  *code = (uint32_t)digits;
  return 0;
}

/* After "\u", whose letter is at u; two of them make a character beyond 16 bits. */
static int read_unicode(reader* r, const char* u) {
  static const char surrogate[] = "Invalid surrogate pair of \\uXXXX escapes";
  uint32_t code = 0, low = 0;
  if (read_code(r, u, &code) != 0) return -1;
  if (code >= 0xD800 && code <= 0xDFFF) {
    if (code >= 0xDC00 || !skip(r, "\\u")) return bad(r, u, surrogate);
    const char* digits = r->at;
    if (read_code(r, digits, &low) != 0) return -1;
    if (low < 0xDC00 || low > 0xDFFF) return bad(r, digits, surrogate);
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  add_utf8(&r->scratch, code);
  return 0;
}

static int read_escape(reader* r) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char* letter = ++r->at;
  int c = peek(r);
  if (c == 'u') {
    r->at++;
    return read_unicode(r, letter);
  }
  const char* known = c <= 0 ? NULL : strchr(from, c);
  if (known == NULL) return bad(r, letter, "Invalid \\escape");
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
    if (c < 0) return bad(r, start, "Unterminated string starting at");
    if (c < 0x20) return bad(r, r->at, "Invalid control character at");
    if (read_escape(r) != 0) return -1;
  }
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* The length of the longest text at the reader that consists of characters of numbers. */
static size_t number_size(const reader* r, int* is_whole) {
  const char* p = r->at;
  *is_whole = 1;
  for (; p < r->end; p++) {
    if (*p == '.' || *p == 'e' || *p == 'E')
      *is_whole = 0;
    else if ((*p < '0' || *p > '9') && *p != '+' && *p != '-')
      break;
  }
  return (size_t)(p - r->at);
}

/* Accepts all that strtoll and strtod accept completely and in range, so also "01", "+1", ".5" and "1.". Subnormal
 * numbers are read, because they are written, too. */
static int read_number(reader* r, TVMFFIAny* out) {
  const char* start = r->at;
  int is_negative = skip(r, "-"), is_whole;
  if (skip(r, "Infinity") || (!is_negative && skip(r, "NaN"))) {
    *out = (TVMFFIAny){.type_index = kTVMFFIFloat};
    out->v_float64 = *start == 'N' ? NAN : is_negative ? -INFINITY : INFINITY;
    return 0;
  }
  r->at = start;
  size_t size = number_size(r, &is_whole);
  r->scratch.size = 0; /* the text may end right here, without a NUL */
  tvmgo_text_add(&r->scratch, start, size);
  tvmgo_text_add(&r->scratch, "", 1);
  if (r->scratch.failed) return tvmgo_raise_oom();
  const char* text = r->scratch.data;
  char* end = (char*)text;
  errno = 0;
  long long integer = is_whole ? strtoll(text, &end, 10) : 0;
  if (is_whole && errno == 0) {
    *out = tvmgo_any_int(integer);
  } else {
    errno = 0;
    *out = (TVMFFIAny){.type_index = kTVMFFIFloat};
    out->v_float64 = strtod_l(text, &end, tvmgo_c_locale());
    if (isfinite(out->v_float64) && out->v_float64 != 0) errno = 0;
  }
  if (size == 0 || errno != 0 || *end != 0) return bad(r, start, expecting_value);
  r->at += size;
  return 0;
}

/* ---- Arrays and objects -------------------------------------------------------------------- */

/* An Array of the values on the stack above base. */
static int make_array(reader* r, size_t base, TVMFFIAny* out) {
  TVMFFIObject* array = tvmgo_array_new(r->stack + base, (int64_t)(r->size - base));
  pop_to(r, base);
  if (array == NULL) return -1;
  *out = tvmgo_any_object(array);
  return 0;
}

/* A Map of the keys and values on the stack above base. */
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

/* Reads a key and the colon after it. */
static int read_key(reader* r) {
  TVMFFIAny key;
  if (peek(r) != '"') return bad(r, r->at, "Expecting property name enclosed in double quotes");
  if (read_string(r, &key) != 0 || push(r, &key) != 0) return -1;
  skip_space(r);
  return skip(r, ":") ? 0 : bad(r, r->at, "Expecting ':' delimiter");
}

static int open_container(reader* r) {
  if (r->depth == r->max_depth) {
    size_t max = r->max_depth == 0 ? 16 : 2 * r->max_depth;
    frame* frames = realloc(r->frames, max * sizeof *frames);
    if (frames == NULL) return tvmgo_raise_oom();
    r->frames = frames;
    r->max_depth = max;
  }
  r->frames[r->depth++] = (frame){r->size, *r->at++ == '{'};
  return 0;
}

/* The character that ends the innermost container. */
static const char* closing(const reader* r) { return r->frames[r->depth - 1].is_map ? "}" : "]"; }

/* Reads up to the first value that is complete: a scalar, or a container without elements, which is
 * closed next. */
enum { SCALAR = 0, EMPTY = 1 }; /* and -1 */

static int read_begin(reader* r, TVMFFIAny* out) {
  for (;;) {
    skip_space(r);
    switch (peek(r)) {
      case '{':
      case '[':
        if (open_container(r) != 0) return -1;
        skip_space(r);
        if (skip(r, closing(r))) return EMPTY;
        if (r->frames[r->depth - 1].is_map && read_key(r) != 0) return -1;
        break;
      case '"': return read_string(r, out);
      case 't':
      case 'f':
      case 'n':
        *out = tvmgo_any_none();
        if (skip(r, "null")) return SCALAR;
        *out = tvmgo_any_bool(*r->at == 't');
        return skip(r, "true") || skip(r, "false") ? SCALAR : bad(r, r->at, expecting_value);
      default: return read_number(r, out);
    }
  }
}

/* Pushes a complete element. 1 when it was the last of its container, 0 when another begins here. */
static int read_behind(reader* r, TVMFFIAny* element) {
  if (push(r, element) != 0) return -1;
  skip_space(r);
  if (skip(r, closing(r))) return 1;
  if (!skip(r, ",")) return bad(r, r->at, "Expecting ',' delimiter");
  skip_space(r);
  if (peek(r) < 0) return bad(r, r->at, "Syntax error near");
  return r->frames[r->depth - 1].is_map ? read_key(r) : 0;
}

static int read_value(reader* r, TVMFFIAny* out) {
  for (;;) {
    int closes = read_begin(r, out);
    if (closes < 0) return -1;
    for (;;) {
      if (closes) {
        frame f = r->frames[--r->depth];
        if ((f.is_map ? make_map(r, f.base, out) : make_array(r, f.base, out)) != 0) return -1;
      }
      if (r->depth == 0) return 0;
      closes = read_behind(r, out);
      if (closes < 0) return -1;
      if (!closes) break;
    }
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
      rc = bad(&r, r.at, "Extra data");
      tvmgo_any_clear(&v);
    }
  }
  pop_to(&r, 0);
  free(r.stack);
  free(r.frames);
  tvmgo_text_free(&r.scratch);
  return rc;
}
