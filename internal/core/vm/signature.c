/* Signatures of a program, and the module functions that describe its functions. */
#include "vm/session_state.h"

#include <stdio.h>

/* ---- the tables ---- */

static int in(int64_t first, int64_t n, int64_t size) { return first >= 0 && n >= 0 && n <= size && first <= size - n; }

/* Whether all indices of a type are valid; fields come behind their tuple. */
static int is_valid(const tvmgo_vm_signatures* s, int64_t i) {
  const tvmgo_vm_type* t = &s->types[i];
  return in(t->dims, t->num_dims, s->num_dims) && in(t->fields, t->num_fields, s->num_types) &&
         (t->num_fields == 0 || t->fields > i) && in(t->text, t->size, s->num_texts) &&
         in(t->name, t->name_size, s->num_texts) &&
         (t->num_dims == 0 || t->num_dims == t->ndim);
}

static void* copy_of(const void* from, int64_t n, size_t size) {
  void* copy = malloc((size_t)n * size + 1);
  if (copy != NULL && n > 0) memcpy(copy, from, (size_t)n * size);
  return copy;
}

void tvmgo_vm_signatures_free(tvmgo_vm_signatures* s) {
  free((void*)s->first);
  free((void*)s->types);
  free((void*)s->dims);
  free((void*)s->texts);
  *s = (tvmgo_vm_signatures){0};
}

int tvmgo_vm_program_describe(tvmgo_vm_program* p, const tvmgo_vm_signatures* from) {
  int ok = 1;
  for (int32_t i = 0; i < p->num_functions && ok; i++)
    ok = from->first[i] == -1 || in(from->first[i], (int64_t)p->functions[i].arity + 1, from->num_types);
  for (int64_t i = 0; i < from->num_types && ok; i++) ok = is_valid(from, i);
  for (int64_t i = 0; i < from->num_dims && ok; i++) ok = in(from->dims[i].text, from->dims[i].size, from->num_texts);
  if (!ok) return tvmgo_raise(TVMGO_VALUE_ERROR, "describe program: an index is out of its table");
  tvmgo_vm_signatures s = *from;
  s.first = copy_of(from->first, p->num_functions, sizeof *s.first);
  s.types = copy_of(from->types, from->num_types, sizeof *s.types);
  s.dims = copy_of(from->dims, from->num_dims, sizeof *s.dims);
  s.texts = copy_of(from->texts, from->num_texts, 1);
  if (s.first == NULL || s.types == NULL || s.dims == NULL || s.texts == NULL) {
    tvmgo_vm_signatures_free(&s);
    return tvmgo_raise_oom();
  }
  tvmgo_vm_signatures_free(&p->signatures);
  p->signatures = s;
  return 0;
}

const tvmgo_vm_type* tvmgo_vm_type_of(const tvmgo_vm_program* p, int32_t function, int32_t i) {
  const tvmgo_vm_signatures* s = &p->signatures;
  return s->num_types == 0 || s->first[function] < 0 ? NULL : &s->types[s->first[function] + i];
}

/* ---- descriptions as objects ---- */

static TVMFFIAny raw(const char* text) { return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = text}; }

/* Sets a key of a map; value is consumed, also if this fails, or if an error was raised before. */
static int put(TVMFFIObject** map, const char* key, int failed, TVMFFIAny value) {
  TVMFFIAny k = raw(key);
  int rc = failed || *map == NULL ? -1 : tvmgo_map_set(map, &k, &value);
  tvmgo_any_clear(&value);
  return rc;
}

static int put_text(TVMFFIObject** map, const char* key, const char* text, int64_t size) {
  TVMFFIAny v = tvmgo_any_none();
  int rc = tvmgo_string_make(text, (size_t)size, &v);
  return put(map, key, rc != 0, v);
}

static int put_array(TVMFFIObject** map, const char* key, const TVMFFIAny* items, int64_t n) {
  TVMFFIAny v = tvmgo_any_object(tvmgo_array_new(items, n));
  return put(map, key, v.v_obj == NULL, v);
}

static const char* kind_name(int32_t kind) {
  switch ((tvmgo_vm_kind)kind) {
    case TVMGO_VM_TENSOR: return "tensor";
    case TVMGO_VM_SHAPE: return "shape";
    case TVMGO_VM_TUPLE: return "tuple";
    case TVMGO_VM_NUMBER: return "number";
    case TVMGO_VM_FUNCTION: return "function";
    case TVMGO_VM_ANY: break;
  }
  return "any";
}

/* bound: the tensor that the type is of, or NULL. */
static int put_dims(TVMFFIObject** map, const tvmgo_vm_signatures* s, const tvmgo_vm_type* t, const DLTensor* bound) {
  int64_t n = t->ndim > 0 ? t->ndim : 0;
  TVMFFIAny* shape = calloc((size_t)n + 1, sizeof *shape);
  TVMFFIAny* names = calloc((size_t)n + 1, sizeof *names);
  int rc = shape == NULL || names == NULL ? tvmgo_raise_oom() : 0;
  for (int64_t i = 0; i < n && rc == 0; i++) {
    char number[24] = "?";
    const tvmgo_vm_dim* d = t->num_dims > 0 ? &s->dims[t->dims + i] : NULL;
    if (bound != NULL) snprintf(number, sizeof number, "%lld", (long long)bound->shape[i]);
    shape[i] = tvmgo_any_int(bound != NULL ? bound->shape[i] : d != NULL ? d->value : -1);
    rc = d != NULL ? tvmgo_string_make(s->texts + d->text, (size_t)d->size, &names[i])
                   : tvmgo_string_make(number, strlen(number), &names[i]);
  }
  if (rc == 0) rc = put_array(map, "shape", shape, n);
  if (rc == 0) rc = put_array(map, "dims", names, n);
  for (int64_t i = 0; i < n && names != NULL; i++) tvmgo_any_clear(&names[i]);
  free(shape);
  free(names);
  return rc;
}

/* A value to describe: its name, its type (NULL: not known), and the value that is bound to a parameter, or NULL. */
typedef struct {
  const char* name;
  int64_t size;
  const tvmgo_vm_type* type;
  const TVMFFIAny* bound;
} value_info;

/* The index of the device where a value lies; -1 before the model has devices. */
static int64_t device_of(const tvmgo_vm_program* p, const tvmgo_vm_model* m, const tvmgo_vm_type* t) {
  if (m == NULL) return -1;
  if (t == NULL || t->kind == TVMGO_VM_ANY || t->kind == TVMGO_VM_TENSOR)
    return t == NULL ? 0 : m->places[t - p->signatures.types].device;
  return m->num_devices - 1;
}

/* A result, or a field of a value; its type may be NULL. */
static value_info result_info(const tvmgo_vm_program* p, const tvmgo_vm_type* t) {
  value_info v = {"", 0, t, NULL};
  if (t != NULL && t->name_size > 0) v.name = p->signatures.texts + t->name, v.size = t->name_size;
  return v;
}

static TVMFFIObject* describe(const tvmgo_vm_program* p, const tvmgo_vm_model* m, const value_info* v);

static int put_fields(TVMFFIObject** map, const tvmgo_vm_program* p, const tvmgo_vm_model* m,
                      const tvmgo_vm_type* t) {
  int64_t n = t == NULL ? 0 : t->num_fields;
  TVMFFIAny* fields = calloc((size_t)n + 1, sizeof *fields);
  int rc = fields == NULL ? tvmgo_raise_oom() : 0;
  for (int64_t i = 0; i < n && rc == 0; i++) {
    value_info field = result_info(p, &p->signatures.types[t->fields + i]);
    fields[i] = tvmgo_any_object(describe(p, m, &field));
    if (fields[i].v_obj == NULL) rc = -1;
  }
  if (rc == 0) rc = put_array(map, "fields", fields, n);
  for (int64_t i = 0; i < n && fields != NULL; i++) tvmgo_any_clear(&fields[i]);
  free(fields);
  return rc;
}

/* The Map of a value; owned. NULL: raised. A type that the file does not tell is that of the bound tensor. */
static TVMFFIObject* describe(const tvmgo_vm_program* p, const tvmgo_vm_model* m, const value_info* v) {
  static const tvmgo_vm_type unknown = {.ndim = -1};
  const tvmgo_vm_signatures* s = &p->signatures;
  const tvmgo_vm_type* t = v->type != NULL ? v->type : &unknown;
  const DLTensor* bound = NULL;
  tvmgo_vm_type of_bound = *t;
  if (t->kind == TVMGO_VM_ANY && v->bound != NULL && v->bound->type_index == kTVMFFITensor) {
    bound = tvmgo_tensor_dl(v->bound->v_obj);
    of_bound.kind = TVMGO_VM_TENSOR, of_bound.ndim = bound->ndim, of_bound.dtype = bound->dtype;
    t = &of_bound;
  }
  const char* kind = kind_name(t->kind);
  char dtype[64] = "";
  if (t->dtype.bits > 0 && tvmgo_dtype_print(t->dtype, dtype, sizeof dtype) != 0) return NULL;
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  if (map == NULL || put_text(&map, "name", v->name, v->size) != 0 ||
      put_text(&map, "kind", kind, (int64_t)strlen(kind)) != 0 ||
      put_text(&map, "dtype", dtype, (int64_t)strlen(dtype)) != 0 ||
      put(&map, "ndim", 0, tvmgo_any_int(t->ndim)) != 0 || put_dims(&map, s, t, bound) != 0 ||
      put_fields(&map, p, m, v->type) != 0 ||
      put(&map, "device", 0, tvmgo_any_int(device_of(p, m, v->type))) != 0 ||
      put(&map, "bound", 0, tvmgo_any_bool(v->bound != NULL)) != 0 ||
      put_text(&map, "text", t->size > 0 ? s->texts + t->text : "", t->size) != 0) {
    tvmgo_object_release(map);
    return NULL;
  }
  return map;
}

static int put_params(TVMFFIObject** map, const tvmgo_vm_program* p, const vm_use* use, int32_t function) {
  const vm_function* f = &p->functions[function];
  TVMFFIAny* params = calloc((size_t)f->arity + 1, sizeof *params);
  int rc = params == NULL ? tvmgo_raise_oom() : 0;
  for (int32_t i = 0; i < f->arity && rc == 0; i++) {
    TVMFFIByteArray name = tvmgo_vm_param_name(p, f, i);
    value_info v = {name.data, (int64_t)name.size, tvmgo_vm_type_of(p, function, i),
                    tvmgo_vm_bound_value(use->params, function, i)};
    params[i] = tvmgo_any_object(describe(p, use->model, &v));
    if (params[i].v_obj == NULL) rc = -1;
  }
  if (rc == 0) rc = put_array(map, "params", params, f->arity);
  for (int32_t i = 0; i < f->arity && params != NULL; i++) tvmgo_any_clear(&params[i]);
  free(params);
  return rc;
}

static TVMFFIObject* signature_of(const tvmgo_vm_program* p, const vm_use* use, int32_t function) {
  const vm_function* f = &p->functions[function];
  value_info result = result_info(p, tvmgo_vm_type_of(p, function, f->arity));
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  int rc = map == NULL ? -1 : put_text(&map, "name", f->name, (int64_t)f->name_size);
  if (rc == 0) rc = put_params(&map, p, use, function);
  if (rc == 0) {
    TVMFFIAny info = tvmgo_any_object(describe(p, use->model, &result));
    rc = info.v_obj == NULL ? -1 : put(&map, "result", 0, info);
  }
  if (rc == 0) return map;
  tvmgo_object_release(map);
  return NULL;
}

/* ---- module functions ---- */

int tvmgo_vm_functions(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_vm_program* p = s->program;
  if (tvmgo_check_count(f, n, 0, 0) != 0) return -1;
  TVMFFIAny* names = calloc((size_t)p->num_functions + 1, sizeof *names);
  if (names == NULL) return tvmgo_raise_oom();
  int64_t count = 0;
  for (int32_t i = 0; i < p->num_functions; i++)
    if (p->functions[i].kind != FUNCTION_PACKED) names[count++] = raw(p->functions[i].name);
  TVMFFIObject* list = tvmgo_array_new(names, count);
  free(names);
  *result = tvmgo_any_object(list);
  return list == NULL ? -1 : 0;
}

int tvmgo_vm_signature(vm_session* s, const char* f, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  vm_use use;
  if (tvmgo_check_count(f, n, 1, 1) != 0) return -1;
  int32_t index = tvmgo_vm_session_function(s, f, &args[0]);
  if (index < 0) return -1;
  tvmgo_vm_session_peek(s, &use);
  TVMFFIObject* map = signature_of(s->program, &use, index);
  tvmgo_vm_session_leave(&use);
  *result = tvmgo_any_object(map);
  return map == NULL ? -1 : 0;
}
