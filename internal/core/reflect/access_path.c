#include "reflect/access_path.h"
#include "reflect/builtins.h"
#include "container/map_internal.h"
#include "object/text.h"

#include <stdlib.h>

_Static_assert(sizeof(tvmgo_access_step) == 48 && offsetof(tvmgo_access_step, key) == 32, "");
_Static_assert(sizeof(tvmgo_access_path) == 48 && offsetof(tvmgo_access_path, depth) == 40, "");

static int32_t step_type, path_type;

static int make_step(TVMFFIObjectHandle* out) {
  *out = tvmgo_record_new(step_type, sizeof(tvmgo_access_step));
  return *out == NULL ? -1 : 0;
}

static int make_path(TVMFFIObjectHandle* out) {
  *out = tvmgo_record_new(path_type, sizeof(tvmgo_access_path));
  return *out == NULL ? -1 : 0;
}

tvmgo_access_step* tvmgo_access_step_new(tvmgo_step_kind kind, const TVMFFIAny* key) {
  tvmgo_access_step* s = tvmgo_record_new(step_type, sizeof *s);
  if (s == NULL) return NULL;
  s->kind = kind;
  if (TVMFFIAnyViewToOwnedAny(key, &s->key) == 0) return s;
  s->key = tvmgo_any_none();
  tvmgo_object_release(s);
  return NULL;
}

tvmgo_access_path* tvmgo_access_path_root(void) {
  return tvmgo_record_new(path_type, sizeof(tvmgo_access_path));
}

tvmgo_access_path* tvmgo_access_path_extend(tvmgo_access_path* path, tvmgo_access_step* step) {
  tvmgo_access_path* p = tvmgo_record_new(path_type, sizeof *p);
  if (p == NULL) return NULL;
  tvmgo_object_retain(p->parent = path);
  tvmgo_object_retain(p->step = step);
  p->depth = path->depth + 1;
  return p;
}

/* ---- Comparing ----------------------------------------------------------------------------- */

/* 1, 0 or -1. A front end can build a path with a wrong depth, so the depth alone is not relied on. */
static int paths_equal(const tvmgo_access_path* a, const tvmgo_access_path* b) {
  if (a->depth != b->depth) return 0;
  while (a != b) {
    if (a == NULL || b == NULL || (a->step == NULL) != (b->step == NULL)) return 0;
    if (a->step != NULL) {
      if (a->step->kind != b->step->kind) return 0;
      int same = tvmgo_any_try_equal(&a->step->key, &b->step->key);
      if (same != 1) return same;
    }
    a = a->parent;
    b = b->parent;
  }
  return 1;
}

/* ---- Methods ------------------------------------------------------------------------------- */

static int path_arg(const char* name, const TVMFFIAny* args, int32_t i, tvmgo_access_path** path) {
  void* p;
  if (tvmgo_arg_object(name, args, i, path_type, &p) != 0) return -1;
  *path = p;
  return 0;
}

static int give_extended(tvmgo_access_path* path, tvmgo_access_step* step, TVMFFIAny* result) {
  return step == NULL ? -1 : tvmgo_give_new(tvmgo_access_path_extend(path, step), result);
}

static int root(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(name, n, 0, 0) != 0) return -1;
  return tvmgo_give_new(tvmgo_access_path_root(), result);
}

static int extend(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_access_path* path;
  void* step;
  if (tvmgo_check_count(name, n, 2, 2) != 0 || path_arg(name, args, 0, &path) != 0 ||
      tvmgo_arg_object(name, args, 1, step_type, &step) != 0)
    return -1;
  return give_extended(path, step, result);
}

static int extend_by(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result,
                     tvmgo_step_kind kind) {
  tvmgo_access_path* path;
  if (tvmgo_check_count(name, n, 2, 2) != 0 || path_arg(name, args, 0, &path) != 0) return -1;
  TVMFFIAny key = args[1];
  TVMFFIByteArray text;
  int64_t i;
  if (kind == TVMGO_STEP_FIELD || kind == TVMGO_STEP_FIELD_MISSING) {
    if (tvmgo_any_string(&key, name, &text) != 0) return -1;
  } else if (kind == TVMGO_STEP_ELEMENT || kind == TVMGO_STEP_ELEMENT_MISSING) {
    if (tvmgo_arg_int(name, args, 1, &i) != 0) return -1;
    key = tvmgo_any_int(i);
  }
  tvmgo_access_step* step = tvmgo_access_step_new(kind, &key);
  int rc = give_extended(path, step, result);
  tvmgo_object_release(step);
  return rc;
}

#define EXTEND(id, kind)                                                                  \
  static int id(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {  \
    return extend_by(name, args, n, result, kind);                                        \
  }
EXTEND(field, TVMGO_STEP_FIELD)
EXTEND(element, TVMGO_STEP_ELEMENT)
EXTEND(map_key, TVMGO_STEP_KEY)
EXTEND(field_missing, TVMGO_STEP_FIELD_MISSING)
EXTEND(element_missing, TVMGO_STEP_ELEMENT_MISSING)
EXTEND(key_missing, TVMGO_STEP_KEY_MISSING)

static int two_paths(const char* name, const TVMFFIAny* args, int32_t n, tvmgo_access_path** a,
                     tvmgo_access_path** b) {
  if (tvmgo_check_count(name, n, 2, 2) != 0 || path_arg(name, args, 0, a) != 0) return -1;
  return path_arg(name, args, 1, b);
}

static int path_equal(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_access_path *a, *b;
  if (two_paths(name, args, n, &a, &b) != 0) return -1;
  int same = paths_equal(a, b);
  if (same >= 0) *result = tvmgo_any_bool(same);
  return same < 0 ? -1 : 0;
}

static int is_prefix_of(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_access_path *a, *b;
  if (two_paths(name, args, n, &a, &b) != 0) return -1;
  while (b != NULL && b->depth > a->depth) b = b->parent;
  int same = b == NULL ? 0 : paths_equal(a, b);
  if (same >= 0) *result = tvmgo_any_bool(same);
  return same < 0 ? -1 : 0;
}

static int steps_of(tvmgo_access_path* path, TVMFFIAny* result) {
  int64_t count = 0;
  for (tvmgo_access_path* p = path; p != NULL && p->step != NULL; p = p->parent) count++;
  TVMFFIAny* steps = malloc(((size_t)count + 1) * sizeof *steps);
  if (steps == NULL) return tvmgo_raise_oom();
  int64_t i = count;
  for (tvmgo_access_path* p = path; i > 0; p = p->parent) steps[--i] = tvmgo_any_object(p->step);
  int rc = tvmgo_give_new(tvmgo_array_new(steps, count), result);
  free(steps);
  return rc;
}

static int to_steps(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_access_path* path;
  if (tvmgo_check_count(name, n, 1, 1) != 0 || path_arg(name, args, 0, &path) != 0) return -1;
  return steps_of(path, result);
}

/* ---- Text: called with the object, and with a function that gives the text of a value -------- */

static int repr_args(const char* name, const TVMFFIAny* args, int32_t n, int32_t type, void** obj,
                     void** child_text) {
  if (tvmgo_check_count(name, n, 2, 2) != 0 || tvmgo_arg_object(name, args, 0, type, obj) != 0)
    return -1;
  return tvmgo_arg_object(name, args, 1, kTVMFFIFunction, child_text);
}

static int put_text_of(tvmgo_text* t, void* child_text, const TVMFFIAny* v) {
  TVMFFIAny text = tvmgo_any_none();
  TVMFFIByteArray bytes;
  if (tvmgo_function_call(child_text, v, 1, &text) != 0) return -1;
  int rc = tvmgo_any_string(&text, "the text of a value", &bytes);
  if (rc == 0) tvmgo_text_add(t, bytes.data, bytes.size);
  tvmgo_any_clear(&text);
  return rc;
}

static int step_repr(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void *obj, *child_text;
  TVMFFIByteArray bytes;
  tvmgo_text t = {0};
  int rc = 0;
  if (repr_args(name, args, n, step_type, &obj, &child_text) != 0) return -1;
  const tvmgo_access_step* s = obj;
  int missing = s->kind >= TVMGO_STEP_FIELD_MISSING;
  if (s->kind == TVMGO_STEP_FIELD && tvmgo_any_text(&s->key, &bytes)) {
    tvmgo_text_put(&t, ".");
    tvmgo_text_add(&t, bytes.data, bytes.size);
  } else {
    tvmgo_text_put(&t, missing ? "[<missing:" : "[");
    rc = put_text_of(&t, child_text, &s->key);
    tvmgo_text_put(&t, missing ? ">]" : "]");
  }
  if (rc == 0) rc = tvmgo_text_string(&t, 0, result);
  tvmgo_text_free(&t);
  return rc;
}

static int path_repr(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void *obj, *child_text;
  tvmgo_text t = {0};
  TVMFFIAny steps, step;
  if (repr_args(name, args, n, path_type, &obj, &child_text) != 0 || steps_of(obj, &steps) != 0)
    return -1;
  int rc = 0;
  tvmgo_text_put(&t, "<root>");
  for (int64_t i = 0; rc == 0 && tvmgo_seq_step(steps.v_obj, i, &step); i++) {
    rc = put_text_of(&t, child_text, &step);
    tvmgo_any_clear(&step);
  }
  if (rc == 0) rc = tvmgo_text_string(&t, 0, result);
  tvmgo_text_free(&t);
  tvmgo_any_clear(&steps);
  return rc;
}

/* ---- Types --------------------------------------------------------------------------------- */

#define INT "{\"type\":\"int\"}"
#define ANY "{\"type\":\"Any\"}"
#define STR "{\"type\":\"ffi.String\"}"
#define BOOL "{\"type\":\"bool\"}"
#define STEP "{\"type\":\"ffi.reflection.AccessStep\"}"
#define PATH "{\"type\":\"ffi.reflection.AccessPath\"}"
#define OPTIONAL(t) "{\"type\":\"Optional\",\"args\":[" t "]}"

static const tvmgo_record_field step_fields[] = {
    {"kind", INT, NULL, kTVMFFIInt, 4, 24, 0, NULL},
    {"key", ANY, NULL, kTVMFFIAny, 16, 32, 0, NULL},
    {0},
};
static const tvmgo_record_field path_fields[] = {
    {"parent", OPTIONAL("{\"type\":\"ffi.Object\"}"), NULL, kTVMFFIAny, 8, 24, 0, &path_type},
    {"step", OPTIONAL(STEP), NULL, kTVMFFIAny, 8, 32, 0, &step_type},
    {"depth", INT, NULL, kTVMFFIInt, 4, 40, 0, NULL},
    {0},
};

#define METHODS(X)                                                     \
  X(call_root, "_root", root, 1, PATH, "")                             \
  X(call_extend, "_extend", extend, 0, PATH, PATH "," STEP)            \
  X(call_attr, "_attr", field, 0, PATH, PATH "," STR)                  \
  X(call_item, "_array_item", element, 0, PATH, PATH "," INT)          \
  X(call_map_item, "_map_item", map_key, 0, PATH, PATH "," ANY)        \
  X(call_attr_missing, "_attr_missing", field_missing, 0, PATH, PATH "," STR)          \
  X(call_item_missing, "_array_item_missing", element_missing, 0, PATH, PATH "," INT)  \
  X(call_map_missing, "_map_item_missing", key_missing, 0, PATH, PATH "," ANY)         \
  X(call_is_prefix_of, "_is_prefix_of", is_prefix_of, 0, BOOL, PATH "," PATH)          \
  X(call_to_steps, "_to_steps", to_steps, 0, "{\"type\":\"ffi.Array\",\"args\":[" STEP "]}", PATH) \
  X(call_path_equal, "_path_equal", path_equal, 0, BOOL, PATH "," PATH)

#define DEFINE(id, name, body, is_static, result, params) \
  TVMGO_BUILTIN_DEFINE(id, "ffi.reflection.AccessPath." name, body)
METHODS(DEFINE)
TVMGO_BUILTIN_DEFINE(call_step_repr, "ffi.reflection.AccessStep.__ffi_repr__", step_repr)
TVMGO_BUILTIN_DEFINE(call_path_repr, "ffi.reflection.AccessPath.__ffi_repr__", path_repr)

#define DESCRIBE(id, name, body, is_static, result, params) \
  {name, id, is_static, result, params, NULL},
static const tvmgo_record_method path_methods[] = {METHODS(DESCRIBE){0}};

void tvmgo_register_access_path_types(void) {
  const tvmgo_record_description step = {"ffi.reflection.AccessStep", kTVMFFIObject, 48,
                                         kTVMFFISEqHashKindConstTreeNode, 1, make_step, step_fields,
                                         NULL},
                                 path = {"ffi.reflection.AccessPath", kTVMFFIObject, 48,
                                         kTVMFFISEqHashKindConstTreeNode, 1, make_path, path_fields,
                                         path_methods};
  step_type = tvmgo_record_describe(&step);
  path_type = tvmgo_record_describe(&path);
  tvmgo_record_hook(step_type, "__ffi_repr__", call_step_repr);
  tvmgo_record_hook(path_type, "__ffi_repr__", call_path_repr);
}
