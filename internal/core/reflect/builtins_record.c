/* Global functions about classes that front ends define, and about objects by the names of their
 * fields (docs/abi.md B.13). */
#include "reflect/builtins.h"
#include "record/record.h"

#include <stdlib.h>
#include <string.h>

/* How a front end converts a value to the type of a field of its class. *converted is owned. */
typedef int (*converter)(void* how, const TVMFFIAny* value, TVMFFIAny* converted);

typedef struct {
  int32_t static_type;
  void* how; /* kept by the front end */
  converter convert;
} field_setter;

static int set_field(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  const field_setter* s = self;
  const char* op = "set field";
  if (tvmgo_check_count(op, n, 2, 2) != 0) return -1;
  if (args[0].type_index != kTVMFFIOpaquePtr)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument 0 must be its address, got %s", op,
                       tvmgo_type_name(args[0].type_index));
  TVMFFIAny converted = tvmgo_any_none();
  int rc = s->convert(s->how, &args[1], &converted);
  if (rc != 0) return rc;
  return tvmgo_record_store(op, args[0].v_ptr, s->static_type, &converted);
}

static int static_type_arg(const char* fname, const TVMFFIAny* args, int32_t* type) {
  if (tvmgo_arg_int32(fname, args, 0, type) != 0) return -1;
  if (tvmgo_record_getter(*type) != NULL) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument 0: no field has the type index %d", fname,
                     (int)*type);
}

static int make_setter(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int32_t type;
  int64_t how, convert;
  if (tvmgo_check_count(fname, n, 3, 3) != 0 || static_type_arg(fname, args, &type) != 0 ||
      tvmgo_arg_int(fname, args, 1, &how) != 0 || tvmgo_arg_int(fname, args, 2, &convert) != 0)
    return -1;
  if (convert == 0)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: argument 2, the address of the converter, is 0",
                       fname);
  field_setter* s = malloc(sizeof *s);
  if (s == NULL) return tvmgo_raise_oom();
  *s = (field_setter){type, (void*)(intptr_t)how, (converter)(intptr_t)convert};
  TVMFFIObjectHandle f;
  if (TVMFFIFunctionCreate(s, set_field, free, &f) != 0) {
    free(s);
    return -1;
  }
  *result = tvmgo_any_object(f);
  return 0;
}

static int make_getter(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int32_t type;
  if (tvmgo_check_count(fname, n, 1, 1) != 0 || static_type_arg(fname, args, &type) != 0) return -1;
  *result = tvmgo_any_int((int64_t)(intptr_t)tvmgo_record_getter(type));
  return 0;
}

static int register_init(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int32_t type;
  if (tvmgo_check_count(fname, n, 1, 1) != 0 || tvmgo_arg_int32(fname, args, 0, &type) != 0)
    return -1;
  return tvmgo_record_init(type);
}

/* Checks that fields lie within the object's size: others would overwrite other memory. */
static int check_size(const char* fname, int32_t type, int32_t size) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type);
  if (info == NULL)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the type index %d is not registered", fname,
                       (int)type);
  int64_t need = sizeof(TVMFFIObject);
  tvmgo_field_walk w = tvmgo_fields(type, 0);
  for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
    if (f->offset < (int64_t)sizeof(TVMFFIObject))
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "%s: field %.*s of type %s lies at offset %lld, in front of what an object that is "
                         "made here has: only C++ can make objects of this type and those derived from it",
                         fname, (int)f->name.size, f->name.data, info->type_key.data, (long long)f->offset);
    if (f->offset + f->size > need) need = f->offset + f->size;
  }
  if (size >= need) return 0;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: objects of type %s have fields up to byte %lld, not %d",
                     fname, info->type_key.data, (long long)need, (int)size);
}

static int register_class(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int32_t type, size;
  if (tvmgo_check_count(fname, n, 2, 2) != 0 || tvmgo_arg_int32(fname, args, 0, &type) != 0 ||
      tvmgo_arg_int32(fname, args, 1, &size) != 0 || check_size(fname, type, size) != 0 ||
      tvmgo_record_init(type) != 0)
    return -1;
  return tvmgo_record_type(type, (size_t)size);
}

/* ---- Objects from names and values --------------------------------------------------------- */

static int type_arg(const char* fname, const TVMFFIAny* args, int32_t n, int32_t* type) {
  TVMFFIByteArray key;
  if (n % 2 == 0)
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: expected a type, then names and values, got %d arguments",
                       fname, (int)n);
  if (tvmgo_any_text(&args[0], &key)) return TVMFFITypeKeyToIndex(&key, type);
  return tvmgo_arg_int32(fname, args, 0, type);
}

/* The index of the argument for a field, or 0. */
static int32_t find_value(const TVMFFIAny* args, int32_t n, const TVMFFIFieldInfo* f) {
  TVMFFIByteArray name;
  for (int32_t i = 1; i < n; i += 2)
    if (tvmgo_any_text(&args[i], &name) && name.size == f->name.size &&
        memcmp(name.data, f->name.data, name.size) == 0)
      return i + 1;
  return 0;
}

static int set_fields(const char* fname, TVMFFIObject* obj, const TVMFFIAny* args, int32_t n) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  TVMFFIByteArray name;
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, 0);
  for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
    int32_t at = find_value(args, n, f);
    int rc;
    if (at > 0)
      rc = tvmgo_field_set(fname, obj, f, &args[at]);
    else if (f->flags & kTVMFFIFieldFlagBitMaskHasDefault)
      rc = tvmgo_field_set_default(fname, obj, f);
    else
      rc = tvmgo_raise(TVMGO_TYPE_ERROR, "%s: field %.*s of type %s needs a value", fname,
                       (int)f->name.size, f->name.data, info->type_key.data);
    if (rc != 0) return rc;
  }
  for (int32_t i = 1; i < n; i += 2) {
    int known = 0;
    if (tvmgo_arg_text(fname, args, i, &name) != 0) return -1;
    w = tvmgo_fields(obj->type_index, 0);
    for (const TVMFFIFieldInfo* f; !known && (f = tvmgo_field_next(&w)) != NULL;)
      known = name.size == f->name.size && memcmp(name.data, f->name.data, name.size) == 0;
    if (!known)
      return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: type %s has no field %.*s", fname,
                         info->type_key.data, (int)name.size, name.data);
  }
  return 0;
}

static int make_object(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int32_t type;
  TVMFFIAny object;
  if (type_arg(fname, args, n, &type) != 0 || tvmgo_reflected_new(fname, type, &object) != 0)
    return -1;
  int rc = set_fields(fname, object.v_obj, args, n);
  if (rc != 0) {
    tvmgo_any_clear(&object);
    return rc;
  }
  *result = object;
  return 0;
}

TVMGO_REFLECT_RECORD(TVMGO_BUILTIN_DEFINE)

/* Types last: their indices are those of the reference implementation, which registers them in this order. */
__attribute__((constructor(111))) static void register_builtins(void) {
  TVMGO_REFLECT_RECORD(TVMGO_BUILTIN_REGISTER)
  tvmgo_register_recursive_builtins();
  tvmgo_register_json_builtins();
  tvmgo_register_enum_types();
  tvmgo_register_access_path_types();
  tvmgo_register_structural_types();
}
