/* Global functions that take any value (docs/abi.md B.13): text, order, hash, copy, devices. */
#include "reflect/builtins.h"
#include "reflect/recursive.h"

/* Owned copies of n arguments, which may be views of text. */
static int own_args(const char* fname, const TVMFFIAny* args, int32_t n, int32_t want,
                    TVMFFIAny* owned) {
  if (tvmgo_check_count(fname, n, want, want) != 0) return -1;
  for (int32_t i = 0; i < n; i++) {
    if (TVMFFIAnyViewToOwnedAny(&args[i], &owned[i]) == 0) continue;
    while (i-- > 0) tvmgo_any_clear(&owned[i]);
    return -1;
  }
  return 0;
}

static int repr_print(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v;
  if (own_args(fname, args, n, 1, &v) != 0) return -1;
  int rc = tvmgo_repr(fname, &v, result);
  tvmgo_any_clear(&v);
  return rc;
}

static int deep_copy(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v;
  if (own_args(fname, args, n, 1, &v) != 0) return -1;
  int rc = tvmgo_deep_copy(fname, &v, result);
  tvmgo_any_clear(&v);
  return rc;
}

static int recursive_hash(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v;
  uint64_t hash = 0;
  if (own_args(fname, args, n, 1, &v) != 0) return -1;
  int rc = tvmgo_recursive_hash(fname, &v, &hash);
  if (rc == 0) *result = tvmgo_any_int((int64_t)hash);
  tvmgo_any_clear(&v);
  return rc;
}

static int recursive_eq(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny v[2];
  int equal = 0;
  if (own_args(fname, args, n, 2, v) != 0) return -1;
  int rc = tvmgo_equal(fname, &v[0], &v[1], &equal);
  if (rc == 0) *result = tvmgo_any_bool(equal);
  tvmgo_any_clear(&v[0]);
  tvmgo_any_clear(&v[1]);
  return rc;
}

static int order(const char* fname, const TVMFFIAny* args, int32_t n, int* sign) {
  TVMFFIAny v[2];
  if (own_args(fname, args, n, 2, v) != 0) return -1;
  int rc = tvmgo_order(fname, &v[0], &v[1], sign);
  tvmgo_any_clear(&v[0]);
  tvmgo_any_clear(&v[1]);
  return rc;
}

#define ORDER(id, relation)                                                                   \
  static int id(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {     \
    int sign = 0, rc = order(fname, args, n, &sign);                                          \
    if (rc == 0) *result = tvmgo_any_bool(sign relation 0);                                   \
    return rc;                                                                                \
  }
ORDER(recursive_lt, <)
ORDER(recursive_le, <=)
ORDER(recursive_gt, >)
ORDER(recursive_ge, >=)

/* ---- Devices ------------------------------------------------------------------------------- */

typedef struct {
  const char* op;
  tvmgo_visited seen; /* containers inside the container, which are looked through once */
  int level;
} finder;

static int find_device(finder* f, const TVMFFIAny* v, DLDevice* device);

/* 1 if the value contains a device that is not a CPU, 0 if not, or -1. */
static int find_below(finder* f, TVMFFIObject* obj, DLDevice* device) {
  TVMFFIAny key, item;
  int found = 0;
  uint64_t place = 0;
  int64_t i = 0;
  int is_map = obj->type_index == kTVMFFIMap || obj->type_index == kTVMFFIDict;
  if (tvmgo_level_enter(f->op, &f->level) != 0) return -1;
  while (found == 0 && (is_map ? tvmgo_map_step(obj, &place, &key, &item)
                               : tvmgo_seq_step(obj, i++, &item))) {
    found = find_device(f, &item, device);
    tvmgo_any_clear(&item);
    if (is_map) tvmgo_any_clear(&key);
  }
  f->level--;
  return found;
}

static int find_device(finder* f, const TVMFFIAny* v, DLDevice* device) {
  switch (v->type_index) {
    case kTVMFFITensor:
      if (tvmgo_tensor_dl(v->v_obj)->device.device_type == kDLCPU) return 0;
      *device = tvmgo_tensor_dl(v->v_obj)->device;
      return 1;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (tvmgo_visited_find(&f->seen, v->v_obj, NULL) != NULL) return 0;
      if (tvmgo_visited_add(&f->seen, v->v_obj, NULL) == NULL) return -1;
      return find_below(f, v->v_obj, device);
    default: return 0;
  }
}

static int first_device(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  finder f = {.op = fname};
  DLDevice device = {kDLCPU, 0};
  if (tvmgo_check_count(fname, n, 1, 1) != 0) return -1;
  int found = find_device(&f, &args[0], &device);
  tvmgo_visited_free(&f.seen);
  if (found < 0) return -1;
  *result = tvmgo_any_none();
  result->type_index = kTVMFFIDevice;
  result->v_device = device;
  return 0;
}

/* ---- Names --------------------------------------------------------------------------------- */

TVMGO_REFLECT_RECURSIVE(TVMGO_BUILTIN_DEFINE)

void tvmgo_register_recursive_builtins(void) { TVMGO_REFLECT_RECURSIVE(TVMGO_BUILTIN_REGISTER) }
