/* Registration of our own record types from descriptions. */
#include "record/record.h"
#include "object/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Fields -------------------------------------------------------------------------------- */

/* C++ code that made the object may have left any bytes after a 32-bit number. */
static int get_int32(void* field, TVMFFIAny* result) {
  *result = tvmgo_any_int(*(const int32_t*)field);
  return 0;
}

static int set_field(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const tvmgo_record_field* f = self;
  TVMFFIAny value;
  if (tvmgo_check_count(f->name, n, 2, 2) != 0) return -1;
  if (args[0].type_index != kTVMFFIOpaquePtr)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "set field %s: argument 0 must be its address, got %s",
                       f->name, tvmgo_type_name(args[0].type_index));
  if (TVMFFIAnyViewToOwnedAny(&args[1], &value) != 0) return -1;
  int32_t want = f->holds != NULL ? *f->holds : f->static_type;
  int is_right = 1;
  if (f->holds != NULL && f->size == (int32_t)sizeof(void*))
    is_right = value.type_index == kTVMFFINone || tvmgo_type_derived_from(value.type_index, want);
  else if (f->holds != NULL) /* a text, small or not */
    is_right = value.type_index == want || value.type_index == kTVMFFISmallStr;
  else if (want >= kTVMFFIStaticObjectBegin)
    is_right = tvmgo_type_derived_from(value.type_index, want);
  if (!is_right) {
    tvmgo_raise(TVMGO_TYPE_ERROR, "set field %s: it holds %s, got %s", f->name,
                tvmgo_type_name(want), tvmgo_type_name(value.type_index));
    tvmgo_any_clear(&value);
    return -1;
  }
  if (f->size == (int32_t)sizeof(int32_t)) {
    int64_t number = 0;
    if (tvmgo_record_store(f->name, &number, kTVMFFIInt, &value) != 0) return -1;
    if (number < INT32_MIN || number > INT32_MAX)
      return tvmgo_raise(TVMGO_VALUE_ERROR, "set field %s: %lld is out of range", f->name,
                         (long long)number);
    *(int32_t*)args[0].v_ptr = (int32_t)number;
    return 0;
  }
  int32_t stored_as = f->static_type == kTVMFFIAny && f->size == (int32_t)sizeof(void*)
                          ? (int32_t)kTVMFFIObject
                          : f->static_type;
  return tvmgo_record_store(f->name, args[0].v_ptr, stored_as, &value);
}

/* ---- Texts --------------------------------------------------------------------------------- */

static TVMFFIByteArray bytes_of(const char* s) {
  return (TVMFFIByteArray){s == NULL ? "" : s, s == NULL ? 0 : strlen(s)};
}

/* JSON inside a JSON string. */
static void put_quoted(tvmgo_text* t, const char* s) {
  for (; *s != 0; s++) {
    if (*s == '"') tvmgo_text_put(t, "\\");
    tvmgo_text_add(t, s, 1);
  }
}

static void put_method_schema(tvmgo_text* t, const tvmgo_record_method* m) {
  tvmgo_text_put(t, "{\"type_schema\":\"");
  put_quoted(t, "{\"type\":\"ffi.Function\",\"named_args\":{\"return\":[");
  put_quoted(t, m->result);
  put_quoted(t, "],\"params\":[");
  put_quoted(t, m->params);
  put_quoted(t, "]}}");
  tvmgo_text_put(t, "\"}");
}

static void must(int rc, const char* key) {
  if (rc == 0) return;
  fprintf(stderr, "tvmgo: register type %s: out of memory\n", key);
  abort();
}

static int describe_field(int32_t type, const tvmgo_record_field* f) {
  tvmgo_text schema = {0};
  TVMFFIObjectHandle setter;
  tvmgo_text_put(&schema, "{\"type_schema\":\"");
  put_quoted(&schema, f->schema);
  tvmgo_text_put(&schema, "\"}");
  if (schema.failed) return tvmgo_raise_oom();
  if (TVMFFIFunctionCreate((void*)f, set_field, NULL, &setter) != 0) {
    tvmgo_text_free(&schema);
    return -1;
  }
  int32_t stored_as = f->static_type == kTVMFFIAny && f->size == (int32_t)sizeof(void*)
                          ? (int32_t)kTVMFFIObject
                          : f->static_type;
  TVMFFIFieldInfo info = {
      .name = bytes_of(f->name),
      .doc = bytes_of(f->doc),
      .metadata = {schema.data, schema.size},
      .flags = f->flags | kTVMFFIFieldFlagBitSetterIsFunctionObj,
      .size = f->size,
      .alignment = f->size < 8 ? f->size : 8,
      .offset = f->offset,
      .getter = f->size == (int32_t)sizeof(int32_t) ? get_int32 : tvmgo_record_getter(stored_as),
      .setter = setter,
      .field_static_type_index = f->static_type,
  };
  int rc = TVMFFITypeRegisterField(type, &info);
  tvmgo_object_release(setter);
  tvmgo_text_free(&schema);
  return rc;
}

static int describe_method(int32_t type, const tvmgo_record_method* m) {
  static const TVMFFIByteArray init = {"__ffi_init__", 12};
  tvmgo_text schema = {0};
  TVMFFIObjectHandle call;
  put_method_schema(&schema, m);
  if (schema.failed) return tvmgo_raise_oom();
  if (TVMFFIFunctionCreate(NULL, m->call, NULL, &call) != 0) {
    tvmgo_text_free(&schema);
    return -1;
  }
  TVMFFIMethodInfo info = {
      .name = bytes_of(m->name),
      .doc = bytes_of(m->doc),
      .metadata = {schema.data, schema.size},
      .flags = m->is_static ? kTVMFFIFieldFlagBitMaskIsStaticMethod : 0,
      .method = tvmgo_any_object(call),
  };
  int rc = TVMFFITypeRegisterMethod(type, &info);
  if (rc == 0 && strcmp(m->name, init.data) == 0) rc = TVMFFITypeRegisterAttr(type, &init, &info.method);
  tvmgo_object_release(call);
  tvmgo_text_free(&schema);
  return rc;
}

int tvmgo_record_try_hook(int32_t type_index, const char* column, TVMFFISafeCallType call) {
  TVMFFIByteArray name = bytes_of(column);
  TVMFFIObjectHandle f;
  if (TVMFFIFunctionCreate(NULL, call, NULL, &f) != 0) return -1;
  TVMFFIAny value = tvmgo_any_object(f);
  int rc = TVMFFITypeRegisterAttr(type_index, &name, &value);
  tvmgo_object_release(f);
  return rc;
}

void tvmgo_record_hook(int32_t type_index, const char* column, TVMFFISafeCallType call) {
  must(tvmgo_record_try_hook(type_index, column, call), column);
}

int32_t tvmgo_record_try_describe(const tvmgo_record_description* d) {
  static const TVMFFIByteArray final = {"__ffi_type_final__", 18};
  TVMFFIByteArray key = bytes_of(d->key);
  const TVMFFITypeInfo* parent = TVMFFIGetTypeInfo(d->parent);
  int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, parent->type_depth + 1, 0, !d->is_final,
                                           d->parent);
  if (type < 0) return -1;
  for (const tvmgo_record_field* f = d->fields; f != NULL && f->name != NULL; f++)
    if (describe_field(type, f) != 0) return -1;
  for (const tvmgo_record_method* m = d->methods; m != NULL && m->name != NULL; m++)
    if (describe_method(type, m) != 0) return -1;
  TVMFFITypeMetadata metadata = {.creator = d->creator,
                                 .total_size = d->size,
                                 .structural_eq_hash_kind = d->structural_kind};
  if (TVMFFITypeRegisterMetadata(type, &metadata) != 0 ||
      (d->creator != NULL && tvmgo_record_type(type, (size_t)d->size) != 0))
    return -1;
  TVMFFIAny is_final = tvmgo_any_bool(d->is_final);
  return TVMFFITypeRegisterAttr(type, &final, &is_final) == 0 ? type : -1;
}

int32_t tvmgo_record_describe(const tvmgo_record_description* d) {
  int32_t type = tvmgo_record_try_describe(d);
  must(type < 0, d->key);
  return type;
}
