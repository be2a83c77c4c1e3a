/* Making objects of reflected types: empty, with defaults, and from arguments (__ffi_init__). */
#include "call/builtin.h"
#include "container/container.h"
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tvmgo_reflected_new(const char* op, int32_t type_index, TVMFFIAny* object) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  TVMFFIAny make;
  *object = tvmgo_any_none();
  if (info == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the type index %d is not registered", op,
                       (int)type_index);
  if (info->metadata != NULL && info->metadata->creator != NULL) {
    TVMFFIObjectHandle made = NULL;
    int rc = info->metadata->creator(&made);
    if (rc == 0) *object = tvmgo_any_object(made);
    return rc;
  }
  if (!tvmgo_hook_find("__ffi_new__", type_index, &make) || make.type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "%s: objects of type %.*s can't be made: the type has neither a creator nor "
                       "__ffi_new__",
                       op, (int)info->type_key.size, info->type_key.data);
  int rc = tvmgo_function_call(make.v_obj, NULL, 0, object);
  if (rc != 0) return rc;
  if (object->type_index == type_index) return 0;
  tvmgo_any_clear(object);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: __ffi_new__ of type %.*s made something else", op,
                     (int)info->type_key.size, info->type_key.data);
}

int tvmgo_field_set_default(const char* op, TVMFFIObject* obj, const TVMFFIFieldInfo* f) {
  const TVMFFIAny* given = &f->default_value_or_factory;
  if ((f->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory) == 0)
    return tvmgo_field_set(op, obj, f, given);
  if (given->type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: the default of field %.*s must be a Function, got %s",
                       op, (int)f->name.size, f->name.data, tvmgo_type_name(given->type_index));
  TVMFFIAny made = tvmgo_any_none();
  int rc = tvmgo_function_call(given->v_obj, NULL, 0, &made);
  if (rc != 0) return rc;
  rc = tvmgo_field_set(op, obj, f, &made);
  tvmgo_any_clear(&made);
  return rc;
}

/* ---- __ffi_init__ -------------------------------------------------------------------------- */

/* The constructor of a type. positional are indices of fields: those that need an argument come
 * first. */
typedef struct {
  const TVMFFITypeInfo* info;
  int32_t num_fields, num_positional;
  int32_t* positional;
  const TVMFFIFieldInfo* fields[];
} maker;

static const char in_init[] = ".__ffi_init__()";

static int is_argument(const TVMFFIFieldInfo* f) {
  return (f->flags & kTVMFFIFieldFlagBitMaskInitOff) == 0;
}
static int has_default(const TVMFFIFieldInfo* f) {
  return (f->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0;
}
static int is_keyword_only(const TVMFFIFieldInfo* f) {
  return (f->flags & kTVMFFIFieldFlagBitMaskKwOnly) != 0;
}

static int complain(const maker* m, const char* what, const char* name, size_t size) {
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%.*s%s %s '%.*s'", (int)m->info->type_key.size,
                     m->info->type_key.data, in_init, what, (int)size, name);
}

static int too_many(const maker* m, int32_t given) {
  return tvmgo_raise(TVMGO_TYPE_ERROR,
                     "%.*s%s takes at most %d positional argument(s), but %d were given",
                     (int)m->info->type_key.size, m->info->type_key.data, in_init,
                     (int)m->num_positional, (int)given);
}

/* Raises an error that names the type and the field; the setter's error becomes its cause. */
static int blame(const maker* m, const TVMFFIFieldInfo* f, const char* what) {
  TVMFFIObject* cause = tvmgo_error_take();
  if (cause == NULL) return -1; /* the error is with a front end */
  const TVMFFIErrorCell* cell = tvmgo_error_cell(cause);
  size_t size = m->info->type_key.size + f->name.size + 2 * cell->message.size + 64;
  size_t lines = 0;
  for (size_t i = 0; i < cell->message.size; i++) lines += cell->message.data[i] == '\n';
  size += 2 * lines;
  char* text = malloc(size);
  TVMFFIObjectHandle error = NULL;
  int rc = -1;
  if (text != NULL) {
    int n = snprintf(text, size, "%.*s%s %s '%.*s':\n  ", (int)m->info->type_key.size,
                     m->info->type_key.data, in_init, what, (int)f->name.size, f->name.data);
    char* at = text + n;
    for (size_t i = 0; i < cell->message.size; i++) {
      *at++ = cell->message.data[i];
      if (at[-1] == '\n') at = memset(at, ' ', 2), at += 2;
    }
    TVMFFIByteArray message = {text, (size_t)(at - text)};
    rc = TVMFFIErrorCreateWithCauseAndExtraContext(&cell->kind, &message, &cell->backtrace, cause,
                                                   NULL, &error);
    free(text);
  }
  if (rc == 0) {
    TVMFFIErrorSetRaised(error);
    tvmgo_object_release(error);
  }
  tvmgo_object_release(cause);
  return rc == 0 ? -1 : tvmgo_raise_oom();
}

/* Sets field i from *value, or to its default when that is NULL. */
static int bind(const maker* m, TVMFFIObject* obj, uint8_t* is_set, int32_t i,
                const TVMFFIAny* value) {
  const TVMFFIFieldInfo* f = m->fields[i];
  int rc = value == NULL ? tvmgo_field_set_default(in_init, obj, f)
                         : tvmgo_field_set(in_init, obj, f, value);
  if (rc == -1) return blame(m, f, value == NULL ? "default for field" : "field");
  is_set[i] = 1;
  return rc;
}

static int32_t find_argument(const maker* m, TVMFFIByteArray name) {
  for (int32_t i = 0; i < m->num_fields; i++)
    if (is_argument(m->fields[i]) && m->fields[i]->name.size == name.size &&
        memcmp(m->fields[i]->name.data, name.data, name.size) == 0)
      return i;
  return -1;
}

static int bind_keywords(const maker* m, TVMFFIObject* obj, uint8_t* is_set, const TVMFFIAny* args,
                         int32_t n) {
  if (n % 2 != 0)
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "%.*s%s KWARGS requires an even number of key-value arguments",
                       (int)m->info->type_key.size, m->info->type_key.data, in_init);
  for (int32_t i = 0; i < n; i += 2) {
    TVMFFIByteArray name;
    if (tvmgo_any_string(&args[i], "a keyword", &name) != 0) return -1;
    int32_t at = find_argument(m, name);
    if (at < 0) return complain(m, "got an unexpected keyword argument", name.data, name.size);
    if (is_set[at]) return complain(m, "got multiple values for argument", name.data, name.size);
    int rc = bind(m, obj, is_set, at, &args[i + 1]);
    if (rc != 0) return rc;
  }
  return 0;
}

static int bind_all(const maker* m, TVMFFIObject* obj, uint8_t* is_set, const TVMFFIAny* args,
                    int32_t n) {
  int32_t positional = 0;
  while (positional < n && !(tvmgo_any_is_object(&args[positional]) &&
                             args[positional].v_obj == &tvmgo_kwargs_object))
    positional++;
  if (positional > m->num_positional && positional == n) return too_many(m, positional);
  int rc = 0;
  for (int32_t i = 0; rc == 0 && i < positional && i < m->num_positional; i++)
    rc = bind(m, obj, is_set, m->positional[i], &args[i]);
  if (rc != 0) return rc;
  if (positional > m->num_positional) return too_many(m, positional);
  if (positional < n)
    rc = bind_keywords(m, obj, is_set, args + positional + 1, n - positional - 1);
  for (int32_t i = 0; rc == 0 && i < m->num_fields; i++) {
    const TVMFFIFieldInfo* f = m->fields[i];
    if (is_set[i]) continue;
    if (has_default(f))
      rc = bind(m, obj, is_set, i, NULL);
    else if (is_argument(f))
      rc = complain(m,
                    is_keyword_only(f) ? "missing required keyword-only argument:"
                                       : "missing required argument:",
                    f->name.data, f->name.size);
  }
  return rc;
}

static int make_record(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const maker* m = self;
  TVMFFIAny object;
  int rc = tvmgo_reflected_new(in_init + 1, m->info->type_index, &object);
  if (rc != 0) return rc;
  uint8_t* is_set = calloc((size_t)m->num_fields + 1, 1);
  rc = is_set == NULL ? tvmgo_raise_oom() : bind_all(m, object.v_obj, is_set, args, n);
  free(is_set);
  if (rc != 0) {
    tvmgo_any_clear(&object);
    return rc;
  }
  *result = object;
  return 0;
}

static maker* maker_new(int32_t type_index) {
  int32_t n = 0;
  tvmgo_field_walk w = tvmgo_fields(type_index, 0);
  while (tvmgo_field_next(&w) != NULL) n++;
  maker* m = malloc(sizeof *m + (size_t)n * (sizeof(void*) + sizeof(int32_t)));
  if (m == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  *m = (maker){.info = TVMFFIGetTypeInfo(type_index), .positional = (int32_t*)(m->fields + n)};
  w = tvmgo_fields(type_index, 0);
  for (const TVMFFIFieldInfo* f; m->num_fields < n && (f = tvmgo_field_next(&w)) != NULL;)
    m->fields[m->num_fields++] = f;
  for (int optional = 0; optional <= 1; optional++)
    for (int32_t i = 0; i < m->num_fields; i++)
      if (is_argument(m->fields[i]) && !is_keyword_only(m->fields[i]) &&
          has_default(m->fields[i]) == optional)
        m->positional[m->num_positional++] = i;
  return m;
}

int tvmgo_record_init(int32_t type_index) {
  static const TVMFFIByteArray name = {"__ffi_init__", 12};
  if (TVMFFIGetTypeInfo(type_index) == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "register __ffi_init__: the type index %d is not registered",
                       (int)type_index);
  maker* m = maker_new(type_index);
  TVMFFIObjectHandle f;
  if (m == NULL) return -1;
  if (TVMFFIFunctionCreate(m, make_record, free, &f) != 0) {
    free(m);
    return -1;
  }
  TVMFFIAny value = tvmgo_any_object(f);
  int rc = TVMFFITypeRegisterAttr(type_index, &name, &value);
  tvmgo_object_release(f);
  return rc;
}
