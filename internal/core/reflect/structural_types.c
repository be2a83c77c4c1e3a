/* The types of structural comparison, visiting and mutation, and the registry functions of the
 * first. */
#include "reflect/builtins.h"
#include "container/map_internal.h"
#include "reflect/structural.h"
#include "reflect/visit_context.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct {
  TVMFFIObject header;
  TVMFFIAny value;
} interrupt;

typedef struct {
  TVMFFIObject header;
  TVMFFIAny key;
  int64_t hash; /* structural, without options */
} structural_key;

_Static_assert(sizeof(structural_key) == 48 && sizeof(interrupt) == 40, "");

static int32_t interrupt_type, key_type;
static const tvmgo_structural_options plain_options;

/* ---- StructuralKey ------------------------------------------------------------------------- */

static int make_key(TVMFFIObjectHandle* out) {
  *out = tvmgo_record_new(key_type, sizeof(structural_key));
  return *out == NULL ? -1 : 0;
}

static int key_of(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  uint64_t hash;
  if (tvmgo_check_count(name, n, 1, 1) != 0) return -1;
  structural_key* k = tvmgo_record_new(key_type, sizeof *k);
  if (k == NULL) return -1;
  int rc = TVMFFIAnyViewToOwnedAny(&args[0], &k->key);
  if (rc == 0)
    rc = tvmgo_structural_hash(name, &k->key, plain_options, &hash);
  else
    k->key = tvmgo_any_none();
  if (rc != 0) {
    tvmgo_object_release(k);
    return rc;
  }
  k->hash = (int64_t)hash;
  *result = tvmgo_any_object(k);
  return 0;
}

static int keys_equal(const char* name, const structural_key* a, const structural_key* b,
                      int* equal) {
  *equal = a == b;
  if (a == b || a->hash != b->hash) return 0;
  return tvmgo_structural_equal(name, &a->key, &b->key, plain_options, equal, NULL);
}

static int key_equal(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  void *a, *b;
  int equal;
  if (tvmgo_check_count(name, n, 2, 2) != 0 ||
      tvmgo_arg_object(name, args, 0, key_type, &a) != 0 ||
      tvmgo_arg_object(name, args, 1, key_type, &b) != 0 || keys_equal(name, a, b, &equal) != 0)
    return -1;
  *result = tvmgo_any_bool(equal);
  return 0;
}

/* As attributes __any_hash__ and __any_equal__, which C++ code calls too. */
static TVMFFIAny key_any_hash(const TVMFFIAny* v) {
  return tvmgo_any_int(((const structural_key*)v->v_obj)->hash);
}

static TVMFFIAny key_any_equal(const TVMFFIAny* a, const TVMFFIAny* b) {
  int equal;
  if (keys_equal("ffi.StructuralKey", (const structural_key*)a->v_obj,
                 (const structural_key*)b->v_obj, &equal) == 0)
    return tvmgo_any_bool(equal);
  return tvmgo_any_object(tvmgo_error_take());
}

/* ---- Functions ----------------------------------------------------------------------------- */

static int interrupt_of(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (tvmgo_check_count(name, n, 1, 1) != 0) return -1;
  interrupt* i = tvmgo_record_new(interrupt_type, sizeof *i);
  if (i == NULL) return -1;
  if (TVMFFIAnyViewToOwnedAny(&args[0], &i->value) != 0) {
    i->value = tvmgo_any_none();
    tvmgo_object_release(i);
    return -1;
  }
  *result = tvmgo_any_object(i);
  return 0;
}

static int make_interrupt(TVMFFIObjectHandle* out) {
  *out = tvmgo_record_new(interrupt_type, sizeof(interrupt));
  return *out == NULL ? -1 : 0;
}

/* Converts the arguments that are values to owned ones, and reads the last two, which are options. */
static int compare_args(const char* name, const TVMFFIAny* args, int32_t n, int32_t values,
                        TVMFFIAny* owned, tvmgo_structural_options* options) {
  int64_t flags[2];
  if (tvmgo_check_count(name, n, values + 2, values + 2) != 0) return -1;
  for (int32_t i = 0; i < 2; i++)
    if (tvmgo_arg_int(name, args, values + i, &flags[i]) != 0) return -1;
  *options = (tvmgo_structural_options){flags[0] != 0, flags[1] != 0};
  for (int32_t i = 0; i < values; i++) {
    if (TVMFFIAnyViewToOwnedAny(&args[i], &owned[i]) == 0) continue;
    while (i-- > 0) tvmgo_any_clear(&owned[i]);
    return -1;
  }
  return 0;
}

static int equal(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v[2];
  tvmgo_structural_options options;
  int same;
  if (compare_args(name, args, n, 2, v, &options) != 0) return -1;
  int rc = tvmgo_structural_equal(name, &v[0], &v[1], options, &same, NULL);
  if (rc == 0) *result = tvmgo_any_bool(same);
  tvmgo_any_clear(&v[0]);
  tvmgo_any_clear(&v[1]);
  return rc;
}

static int first_mismatch(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v[2];
  tvmgo_structural_options options;
  tvmgo_access_path* paths[2];
  int same;
  if (compare_args(name, args, n, 2, v, &options) != 0) return -1;
  int rc = tvmgo_structural_equal(name, &v[0], &v[1], options, &same, paths);
  if (rc == 0 && !same) {
    TVMFFIAny pair[2] = {tvmgo_any_object(paths[0]), tvmgo_any_object(paths[1])};
    rc = tvmgo_give_new(tvmgo_array_new(pair, 2), result);
  }
  tvmgo_object_release(paths[0]);
  tvmgo_object_release(paths[1]);
  tvmgo_any_clear(&v[0]);
  tvmgo_any_clear(&v[1]);
  return rc;
}

static int hash(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v;
  tvmgo_structural_options options;
  uint64_t h;
  if (compare_args(name, args, n, 1, &v, &options) != 0) return -1;
  int rc = tvmgo_structural_hash(name, &v, options, &h);
  if (rc == 0) *result = tvmgo_any_int((int64_t)h);
  tvmgo_any_clear(&v);
  return rc;
}

TVMGO_REFLECT_STRUCTURAL(TVMGO_BUILTIN_DEFINE)

/* ---- Types --------------------------------------------------------------------------------- */

#define ANY "{\"type\":\"Any\"}"
#define OBJECT "{\"type\":\"ffi.Object\"}"

static const tvmgo_record_field interrupt_fields[] = {
    {"value", ANY, NULL, kTVMFFIAny, 16, 24, kTVMFFIFieldFlagBitMaskHasDefault, NULL},
    {0},
};
static const tvmgo_record_field key_fields[] = {
    {"key", ANY, NULL, kTVMFFIAny, 16, 24, 0, NULL},
    {"hash_i64", "{\"type\":\"int\"}", NULL, kTVMFFIInt, 8, 40, 0, NULL},
    {0},
};
static const tvmgo_record_method key_methods[] = {
    {"__ffi_init__", ffi_key, 1, OBJECT, ANY, "From any value, whose structural hash it keeps."},
    {0},
};
static int32_t describe(const char* key, int is_final, int32_t size, TVMFFIObjectCreator creator,
                        const tvmgo_record_field* fields, const tvmgo_record_method* methods) {
  tvmgo_record_description d = {key, kTVMFFIObject, size, kTVMFFISEqHashKindUnsupported, is_final,
                                creator, fields, methods};
  return tvmgo_record_describe(&d);
}

void tvmgo_register_structural_types(void) {
  interrupt_type = describe("ffi.VisitInterrupt", 1, 40, make_interrupt, interrupt_fields, NULL);
  tvmgo_register_visit_types();
  tvmgo_register_visit_context();
  tvmgo_register_mutate_types();
  key_type = describe("ffi.StructuralKey", 1, 48, make_key, key_fields, key_methods);
  TVMFFIAny hash_value = tvmgo_any_ptr((void*)key_any_hash);
  TVMFFIAny equal_value = tvmgo_any_ptr((void*)key_any_equal);
  static const TVMFFIByteArray hash_column = {"__any_hash__", 12},
                               equal_column = {"__any_equal__", 13};
  if (TVMFFITypeRegisterAttr(key_type, &hash_column, &hash_value) != 0 ||
      TVMFFITypeRegisterAttr(key_type, &equal_column, &equal_value) != 0)
    abort();
  TVMGO_REFLECT_STRUCTURAL(TVMGO_BUILTIN_REGISTER)
}
