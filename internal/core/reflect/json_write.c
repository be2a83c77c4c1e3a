#include "reflect/json.h"
#include "reflect/recursive.h"
#include "object/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INDENT_MAX 1000

static const char op[] = "write JSON";

typedef struct {
  tvmgo_text text;
  tvmgo_visited seen; /* the Lists and Dicts that contain the current position */
  int32_t indent;
  int level;
} writer;

static int write_value(writer* w, const TVMFFIAny* v);

static void write_string(tvmgo_text* t, TVMFFIByteArray s) {
  static const char special[] = "\"\\/\b\f\n\r\t", letter[] = "\"\\/bfnrt";
  tvmgo_text_put(t, "\"");
  for (size_t i = 0; i < s.size; i++) {
    unsigned char c = (unsigned char)s.data[i];
    const char* known = c == 0 ? NULL : strchr(special, c);
    if (known != NULL)
      tvmgo_text_printf(t, "\\%c", letter[known - special]);
    else if (c < 0x20 || c == 0x7F)
      tvmgo_text_printf(t, "\\u%04x", (unsigned)c);
    else
      tvmgo_text_add(t, s.data + i, 1);
  }
  tvmgo_text_put(t, "\"");
}

/* A fraction or an exponent distinguishes it from an Int; 17 digits are read back as the same double. Below 1e17,
 * %.17g would write an integral value without either. */
static void write_float(tvmgo_text* t, double v) {
  if (isnan(v))
    tvmgo_text_put(t, "NaN");
  else if (isinf(v))
    tvmgo_text_put(t, v < 0 ? "-Infinity" : "Infinity");
  else
    tvmgo_text_double(t, fabs(v) < 1e17 && v == trunc(v) ? "%.1f" : "%.17g", v);
}

static void new_line(writer* w) {
  if (w->indent == 0) return;
  tvmgo_text_put(&w->text, "\n");
  for (int64_t n = (int64_t)w->level * w->indent; n > 0; n--) tvmgo_text_put(&w->text, " ");
}

static int write_seq(writer* w, TVMFFIObject* seq) {
  TVMFFIAny item;
  int rc = 0;
  tvmgo_text_put(&w->text, "[");
  for (int64_t i = 0; rc == 0 && tvmgo_seq_step(seq, i, &item); i++) {
    if (i > 0) tvmgo_text_put(&w->text, ",");
    new_line(w);
    rc = write_value(w, &item);
    tvmgo_any_clear(&item);
  }
  return rc;
}

static int write_map(writer* w, TVMFFIObject* map) {
  TVMFFIAny key, value;
  TVMFFIByteArray name;
  uint64_t place = 0;
  int rc = 0;
  tvmgo_text_put(&w->text, "{");
  for (int first = 1; rc == 0 && tvmgo_map_step(map, &place, &key, &value); first = 0) {
    if (!first) tvmgo_text_put(&w->text, ",");
    new_line(w);
    if (key.type_index != kTVMFFIStr && key.type_index != kTVMFFISmallStr) {
      rc = tvmgo_raise(TVMGO_VALUE_ERROR, "%s: keys must be str, got %s", op,
                       tvmgo_type_name(key.type_index));
    } else {
      tvmgo_any_text(&key, &name);
      write_string(&w->text, name);
      tvmgo_text_put(&w->text, w->indent == 0 ? ":" : ": ");
      rc = write_value(w, &value);
    }
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
  }
  return rc;
}

static int write_container(writer* w, TVMFFIObject* obj) {
  if (tvmgo_visited_find(&w->seen, obj, NULL) != NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: a %s contains itself", op,
                       tvmgo_type_name(obj->type_index));
  uint32_t mark = w->seen.size;
  if (tvmgo_level_enter(op, &w->level) != 0 || tvmgo_visited_add(&w->seen, obj, NULL) == NULL)
    return -1;
  int is_map = obj->type_index == kTVMFFIMap || obj->type_index == kTVMFFIDict;
  int rc = is_map ? write_map(w, obj) : write_seq(w, obj);
  tvmgo_visited_forget(&w->seen, mark);
  w->level--;
  new_line(w);
  tvmgo_text_put(&w->text, is_map ? "}" : "]");
  return rc;
}

static int write_value(writer* w, const TVMFFIAny* v) {
  TVMFFIByteArray text;
  switch (v->type_index) {
    case kTVMFFINone: tvmgo_text_put(&w->text, "null"); return 0;
    case kTVMFFIBool: tvmgo_text_put(&w->text, v->v_int64 ? "true" : "false"); return 0;
    case kTVMFFIInt: tvmgo_text_printf(&w->text, "%" PRId64, v->v_int64); return 0;
    case kTVMFFIFloat: write_float(&w->text, v->v_float64); return 0;
    case kTVMFFIStr:
    case kTVMFFISmallStr:
      if (tvmgo_any_text(v, &text)) write_string(&w->text, text);
      return 0;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict: return write_container(w, v->v_obj);
    default:
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "%s: a %s has no form in JSON; accepted are None, bool, int, float, str, "
                         "Array, List, Map and Dict",
                         op, tvmgo_type_name(v->type_index));
  }
}

int tvmgo_json_write(const TVMFFIAny* v, int32_t indent, TVMFFIAny* result) {
  if (indent > INDENT_MAX)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: indent must be at most %d, got %" PRId32, op,
                       INDENT_MAX, indent);
  writer w = {.indent = indent};
  int rc = write_value(&w, v);
  if (rc == 0) rc = tvmgo_text_string(&w.text, 0, result);
  tvmgo_text_free(&w.text);
  tvmgo_visited_free(&w.seen);
  return rc;
}
