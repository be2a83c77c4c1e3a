/* The text of a value, as Python shows it (ffi.ReprPrint). */
#include "call/builtin.h"
#include "reflect/enum.h"
#include "reflect/recursive.h"
#include "reflect/text_python.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char* op;
  tvmgo_text text;
  tvmgo_visited seen; /* done: value is the text, or None: first is its place in text, second its size */
  int level;
  int hooks;     /* the number of running hooks: then the text is truncated again, and value is used */
  int addresses; /* TVM_FFI_REPR_WITH_ADDR=1 */
} printer;

static int print(printer* p, const TVMFFIAny* v);

/* ---- Values without children --------------------------------------------------------------- */

static void print_device(tvmgo_text* t, DLDevice d) {
  const char* name = tvmgo_device_type_name(d.device_type);
  tvmgo_text_printf(t, "%s:%d", name != NULL ? name : "unknown", (int)d.device_id);
}

static int print_dtype(tvmgo_text* t, DLDataType dtype) {
  char name[96];
  if (tvmgo_dtype_print(dtype, name, sizeof name) != 0) return -1;
  tvmgo_text_put(t, name);
  return 0;
}

static void print_dims(tvmgo_text* t, const int64_t* dims, size_t n) {
  for (size_t i = 0; i < n; i++) tvmgo_text_printf(t, i == 0 ? "%" PRId64 : ", %" PRId64, dims[i]);
}

static void print_address(printer* p, const char* before, const void* obj) {
  tvmgo_text_printf(&p->text, "%s0x%" PRIxPTR, before, (uintptr_t)obj);
}

static int print_tensor(printer* p, const TVMFFIAny* v) {
  const DLTensor* dl = tvmgo_tensor_dl(v->v_obj);
  if (print_dtype(&p->text, dl->dtype) != 0) return -1;
  tvmgo_text_put(&p->text, "[");
  print_dims(&p->text, dl->shape, (size_t)dl->ndim);
  tvmgo_text_put(&p->text, "]@");
  print_device(&p->text, dl->device);
  if (p->addresses) print_address(p, "@", v->v_obj);
  return 0;
}

/* ---- Objects with children ----------------------------------------------------------------- */

static int print_seq(printer* p, TVMFFIObject* seq) {
  int is_array = seq->type_index == kTVMFFIArray, rc = 0;
  int64_t i = 0;
  tvmgo_text_put(&p->text, is_array ? "(" : "[");
  for (TVMFFIAny item; rc == 0 && tvmgo_seq_step(seq, i, &item); i++) {
    if (i > 0) tvmgo_text_put(&p->text, ", ");
    rc = print(p, &item);
    tvmgo_any_clear(&item);
  }
  tvmgo_text_put(&p->text, !is_array ? "]" : i == 1 ? ",)" : ")");
  return rc;
}

static int print_map(printer* p, TVMFFIObject* map) {
  const char* between = "";
  uint64_t place = 0;
  int rc = 0;
  tvmgo_text_put(&p->text, "{");
  for (TVMFFIAny key, value; rc == 0 && tvmgo_map_step(map, &place, &key, &value);) {
    tvmgo_text_put(&p->text, between);
    between = ", ";
    rc = print(p, &key);
    tvmgo_text_put(&p->text, ": ");
    if (rc == 0) rc = print(p, &value);
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
  }
  tvmgo_text_put(&p->text, "}");
  return rc;
}

/* Whether one of the first n fields has this name: a field of a parent type is shown, its repetition is not. */
static int is_repeated(int32_t type_index, const TVMFFIFieldInfo* field, int n) {
  tvmgo_field_walk w = tvmgo_fields(type_index, kTVMFFIFieldFlagBitMaskReprOff);
  for (const TVMFFIFieldInfo* f; n > 0 && (f = tvmgo_field_next(&w)) != NULL; n--)
    if (f->name.size == field->name.size && memcmp(f->name.data, field->name.data, f->name.size) == 0)
      return 1;
  return 0;
}

static int print_fields(printer* p, TVMFFIObject* obj) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  if (info == NULL)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the type index %d is not registered", p->op,
                       (int)obj->type_index);
  const char* before = "(";
  int rc = 0, n = 0;
  tvmgo_text_add(&p->text, info->type_key.data, info->type_key.size);
  if (p->addresses) print_address(p, "@", obj);
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, kTVMFFIFieldFlagBitMaskReprOff);
  for (const TVMFFIFieldInfo* f; rc == 0 && (f = tvmgo_field_next(&w)) != NULL;) {
    if (is_repeated(obj->type_index, f, n++)) continue;
    TVMFFIAny value;
    tvmgo_text_put(&p->text, before);
    before = ", ";
    tvmgo_text_add(&p->text, f->name.data, f->name.size);
    tvmgo_text_put(&p->text, "=");
    rc = tvmgo_field_get(p->op, obj, f, &value);
    if (rc != 0) break;
    rc = print(p, &value);
    tvmgo_any_clear(&value);
  }
  if (*before == ',') tvmgo_text_put(&p->text, ")");
  return rc;
}

/* Called by hooks: the text of a child. */
static int answer(void* state, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  printer* p = state;
  TVMFFIAny v;
  if (tvmgo_check_count(p->op, n, 1, 1) != 0 || TVMFFIAnyViewToOwnedAny(&args[0], &v) != 0)
    return -1;
  size_t start = p->text.size;
  uint32_t mark = p->seen.size;
  int level = p->level, rc = print(p, &v);
  if (rc == 0) rc = tvmgo_text_string(&p->text, start, result);
  if (rc != 0) { /* the hook may go on */
    tvmgo_visited_forget(&p->seen, mark);
    p->level = level;
  }
  p->text.size = start;
  tvmgo_any_clear(&v);
  return rc;
}

static int print_by_hook(printer* p, const TVMFFIAny* hook, TVMFFIObject* obj) {
  TVMFFIAny r = tvmgo_any_none();
  TVMFFIByteArray text;
  p->hooks++;
  int rc = tvmgo_hook_call(p->op, hook, obj, NULL, answer, p, &r);
  p->hooks--;
  if (rc != 0) return rc;
  rc = tvmgo_any_string(&r, p->op, &text);
  if (rc == 0) tvmgo_text_add(&p->text, text.data, text.size);
  tvmgo_any_clear(&r);
  return rc;
}

static int print_container(printer* p, TVMFFIObject* obj) {
  TVMFFIAny hook;
  int rc, container = 1;
  int32_t type = obj->type_index;
  if (tvmgo_hook_find("__ffi_repr__", type, &hook)) {
    rc = print_by_hook(p, &hook, obj);
  } else if (type == kTVMFFIArray || type == kTVMFFIList) {
    rc = print_seq(p, obj);
  } else if (type == kTVMFFIMap || type == kTVMFFIDict) {
    rc = print_map(p, obj);
  } else if (tvmgo_is_enum(type)) {
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type);
    TVMFFIByteArray text = {"", 0};
    tvmgo_any_text(&((const tvmgo_enum*)obj)->text, &text);
    tvmgo_text_add(&p->text, info->type_key.data, info->type_key.size);
    tvmgo_text_put(&p->text, ".");
    tvmgo_text_add(&p->text, text.data, text.size);
    rc = 0;
  } else {
    container = 0;
    rc = print_fields(p, obj);
  }
  if (rc == 0 && container && p->addresses && type < kTVMFFIStaticObjectEnd)
    print_address(p, "@", obj);
  return rc;
}

static int print_object(printer* p, TVMFFIObject* obj) {
  tvmgo_visited_entry* e = tvmgo_visited_find(&p->seen, obj, NULL);
  TVMFFIByteArray text;
  if (e != NULL && !e->done) {
    tvmgo_text_put(&p->text, "...");
    if (p->addresses) print_address(p, "@", obj);
    return 0;
  }
  if (e != NULL && tvmgo_any_text(&e->value, &text)) {
    tvmgo_text_add(&p->text, text.data, text.size);
    return 0;
  }
  if (e != NULL) {
    tvmgo_text_again(&p->text, e->first, e->second);
    return 0;
  }
  if (tvmgo_level_enter(p->op, &p->level) != 0) return -1;
  uint32_t at = p->seen.size;
  if (tvmgo_visited_add(&p->seen, obj, NULL) == NULL) return -1;
  size_t start = p->text.size;
  int rc = print_container(p, obj);
  p->level--;
  if (rc != 0) return rc;
  TVMFFIAny value = tvmgo_any_none();
  if (p->hooks > 0 && tvmgo_text_string(&p->text, start, &value) != 0) return -1;
  e = &p->seen.entries[at];
  e->done = 1;
  e->first = start;
  e->second = p->text.size - start;
  e->value = value;
  return 0;
}

/* The markers of Python front ends, which have no special type. */
static const char* marker_name(const TVMFFIObject* obj) {
  if (obj == &tvmgo_missing_object) return "<MISSING>";
  static const char getter[] = "ffi.GetKwargsObject";
  TVMFFIAny kwargs = tvmgo_any_none();
  TVMFFIObject* f = tvmgo_global_get(getter, sizeof getter - 1);
  if (f != NULL && tvmgo_function_call(f, NULL, 0, &kwargs) != 0)
    tvmgo_object_release(tvmgo_error_take());
  tvmgo_object_release(f);
  int same = tvmgo_any_is_object(&kwargs) && kwargs.v_obj == obj;
  tvmgo_any_clear(&kwargs);
  return same ? "<KWARGS>" : NULL;
}

static int print(printer* p, const TVMFFIAny* v) {
  tvmgo_text* t = &p->text;
  TVMFFIByteArray text;
  switch (v->type_index) {
    case kTVMFFINone: tvmgo_text_put(t, "None"); return 0;
    case kTVMFFIBool: tvmgo_text_put(t, v->v_int64 ? "True" : "False"); return 0;
    case kTVMFFIInt: tvmgo_text_printf(t, "%" PRId64, v->v_int64); return 0;
    case kTVMFFIFloat: tvmgo_text_double(t, "%g", v->v_float64); return 0;
    case kTVMFFIDataType: return print_dtype(t, v->v_dtype);
    case kTVMFFIDevice: print_device(t, v->v_device); return 0;
    case kTVMFFIBigInt: return tvmgo_text_big_int(t, v);
    case kTVMFFITensor: return print_tensor(p, v);
    case kTVMFFIShape:
      tvmgo_text_put(t, "Shape(");
      print_dims(t, TVMFFIShapeGetCellPtr(v->v_obj)->data, TVMFFIShapeGetCellPtr(v->v_obj)->size);
      tvmgo_text_put(t, ")");
      return 0;
    case kTVMFFIStr:
    case kTVMFFISmallStr:
      if (tvmgo_any_text(v, &text)) tvmgo_text_python_string(t, text);
      return 0;
    case kTVMFFIBytes:
    case kTVMFFISmallBytes:
      if (tvmgo_any_text(v, &text)) tvmgo_text_python_bytes(t, text);
      return 0;
    default: break;
  }
  if (!tvmgo_any_is_object(v)) {
    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(v->type_index);
    tvmgo_text_put(t, info == NULL ? tvmgo_type_name(v->type_index) : info->type_key.data);
    return 0;
  }
  const char* marker = v->type_index == kTVMFFIObject ? marker_name(v->v_obj) : NULL;
  if (marker == NULL) return print_object(p, v->v_obj);
  tvmgo_text_put(t, marker);
  return 0;
}

int tvmgo_repr(const char* op, const TVMFFIAny* v, TVMFFIAny* result) {
  const char* addresses = getenv("TVM_FFI_REPR_WITH_ADDR");
  printer p = {.op = op, .addresses = addresses != NULL && strcmp(addresses, "1") == 0};
  int rc = print(&p, v);
  if (rc == 0) rc = tvmgo_text_string(&p.text, 0, result);
  tvmgo_text_free(&p.text);
  tvmgo_visited_free(&p.seen);
  return rc;
}
