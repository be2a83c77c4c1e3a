/* Equality and order of values by content (ffi.RecursiveEq, Lt, Le, Gt, Ge).
 *
 * As in TVM, objects are compared by their reflected fields: all objects of a type without fields, such as tensors and
 * functions, are equal. Maps are equal regardless of the order of entries; unequal maps have no order. */
#include "container/map_internal.h"
#include "reflect/recursive.h"

#include <math.h>
#include <string.h>

#define UNEQUAL 1

typedef struct {
  const char* op;
  int eq_only;     /* order is 0 or UNEQUAL; a missing order is not an error */
  tvmgo_visited seen; /* pairs that are assumed to be equal until a difference is found */
  int level;
} comparer;

static int compare(comparer* c, const TVMFFIAny* a, const TVMFFIAny* b, int* order);

static int sign_of(int less, int greater) { return less ? -1 : greater; }

static int no_order(const comparer* c, const char* what, int* order) {
  *order = UNEQUAL;
  if (c->eq_only) return 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: values of type %s have no order", c->op, what);
}

/* ---- Values without children --------------------------------------------------------------- */

static int order_floats(const comparer* c, double a, double b, int* order) {
  if (isnan(a) || isnan(b)) {
    if (no_order(c, "NaN", order) != 0) return -1;
    if (isnan(a) && isnan(b)) *order = 0;
    return 0;
  }
  *order = sign_of(a < b, a > b);
  return 0;
}

static int order_dtypes(DLDataType a, DLDataType b) {
  if (a.code != b.code) return sign_of(a.code < b.code, 1);
  if (a.bits != b.bits) return sign_of(a.bits < b.bits, 1);
  return sign_of(a.lanes < b.lanes, a.lanes > b.lanes);
}

static int order_devices(DLDevice a, DLDevice b) {
  if (a.device_type != b.device_type) return sign_of(a.device_type < b.device_type, 1);
  return sign_of(a.device_id < b.device_id, a.device_id > b.device_id);
}

static int order_shapes(const TVMFFIShapeCell* a, const TVMFFIShapeCell* b) {
  for (size_t i = 0; i < a->size && i < b->size; i++)
    if (a->data[i] != b->data[i]) return sign_of(a->data[i] < b->data[i], 1);
  return sign_of(a->size < b->size, a->size > b->size);
}

/* By bytes, which for UTF-8 is by code points. */
static int order_texts(TVMFFIByteArray a, TVMFFIByteArray b) {
  size_t n = a.size < b.size ? a.size : b.size;
  int order = n == 0 ? 0 : memcmp(a.data, b.data, n);
  return order != 0 ? sign_of(order < 0, 1) : sign_of(a.size < b.size, a.size > b.size);
}

static int64_t word_at(TVMFFIByteArray words, size_t i) {
  int64_t w;
  memcpy(&w, words.data + i * sizeof w, sizeof w);
  return w;
}

/* Two's complement without redundant words: among equal signs, more words are further from 0. */
static int order_integers(TVMFFIByteArray a, TVMFFIByteArray b) {
  size_t n = a.size / sizeof(int64_t), m = b.size / sizeof(int64_t);
  int64_t x = word_at(a, n - 1), y = word_at(b, m - 1);
  if ((x < 0) != (y < 0)) return sign_of(x < 0, 1);
  if (n != m) return sign_of((n < m) == (x >= 0), 1);
  if (x != y) return sign_of(x < y, 1);
  for (size_t i = n - 1; i-- > 0;) {
    uint64_t u = (uint64_t)word_at(a, i), v = (uint64_t)word_at(b, i);
    if (u != v) return sign_of(u < v, 1);
  }
  return 0;
}

/* ---- Objects with children ----------------------------------------------------------------- */

static int compare_seqs(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* order) {
  TVMFFIAny x, y;
  *order = 0;
  for (int64_t i = 0;; i++) {
    int in_a = tvmgo_seq_step(a, i, &x), in_b = tvmgo_seq_step(b, i, &y), rc = 0;
    if (in_a && in_b)
      rc = compare(c, &x, &y, order);
    else
      *order = in_a - in_b;
    if (in_a) tvmgo_any_clear(&x);
    if (in_b) tvmgo_any_clear(&y);
    if (rc != 0 || *order != 0 || !in_a) return rc;
  }
}

static int compare_maps(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* order) {
  const char* what = tvmgo_type_name(a->type_index);
  TVMFFIAny key, x, y;
  uint64_t place = 0;
  *order = 0;
  if (tvmgo_map_size(a) != tvmgo_map_size(b)) return no_order(c, what, order);
  while (*order == 0 && tvmgo_map_step(a, &place, &key, &x)) {
    const TVMFFIAny* stored;
    int found = tvmgo_map_find(b, &key, &stored), rc = found < 0 ? -1 : 0;
    if (found == 1) {
      rc = TVMFFIAnyViewToOwnedAny(stored, &y);
      if (rc == 0) {
        rc = compare(c, &x, &y, order);
        tvmgo_any_clear(&y);
      }
    }
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&x);
    if (rc != 0) return rc;
    if (found == 0 || *order != 0) return no_order(c, what, order);
  }
  return 0;
}

static int compare_fields(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* order) {
  tvmgo_field_walk w = tvmgo_fields(a->type_index, kTVMFFIFieldFlagBitMaskCompareOff);
  *order = 0;
  for (const TVMFFIFieldInfo* f; *order == 0 && (f = tvmgo_field_next(&w)) != NULL;) {
    TVMFFIAny x, y;
    int rc = tvmgo_field_get(c->op, a, f, &x);
    if (rc != 0) return rc;
    rc = tvmgo_field_get(c->op, b, f, &y);
    if (rc == 0) {
      rc = compare(c, &x, &y, order);
      tvmgo_any_clear(&y);
    }
    tvmgo_any_clear(&x);
    if (rc != 0) return rc;
  }
  return 0;
}

/* Called by hooks: the order of two children, or whether they are equal. */
static int answer(comparer* c, const TVMFFIAny* args, int32_t n, int* order) {
  TVMFFIAny a, b;
  if (tvmgo_check_count(c->op, n, 2, 2) != 0 || TVMFFIAnyViewToOwnedAny(&args[0], &a) != 0)
    return -1;
  int rc = TVMFFIAnyViewToOwnedAny(&args[1], &b);
  if (rc == 0) {
    uint32_t mark = c->seen.size;
    int level = c->level;
    rc = compare(c, &a, &b, order);
    if (rc != 0 || *order != 0) { /* pairs below that were assumed to be equal may not be */
      tvmgo_visited_forget(&c->seen, mark);
      c->level = level;
    }
    tvmgo_any_clear(&b);
  }
  tvmgo_any_clear(&a);
  return rc;
}

static int answer_order(void* state, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int order = 0, rc = answer(state, args, n, &order);
  if (rc == 0) *result = tvmgo_any_int(order);
  return rc;
}

static int answer_equal(void* state, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int order = 0, rc = answer(state, args, n, &order);
  if (rc == 0) *result = tvmgo_any_bool(order == 0);
  return rc;
}

static int compare_reflected(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* order) {
  TVMFFIAny hook;
  int64_t r;
  int rc;
  if (c->eq_only && tvmgo_hook_find("__ffi_eq__", a->type_index, &hook)) {
    rc = tvmgo_hook_call_int(c->op, &hook, a, b, answer_equal, c, &r);
    *order = r != 0 ? 0 : UNEQUAL;
    return rc;
  }
  if (tvmgo_hook_find("__ffi_compare__", a->type_index, &hook)) {
    rc = tvmgo_hook_call_int(c->op, &hook, a, b, answer_order, c, &r);
    *order = sign_of(r < 0, r > 0);
    return rc;
  }
  return compare_fields(c, a, b, order);
}

static int compare_children(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* order) {
  switch (a->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: return compare_seqs(c, a, b, order);
    case kTVMFFIMap:
    case kTVMFFIDict: return compare_maps(c, a, b, order);
    default: return compare_reflected(c, a, b, order);
  }
}

static int compare_objects(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* order) {
  *order = 0;
  const tvmgo_visited_entry* e = tvmgo_visited_find(&c->seen, a, b);
  if (e != NULL && !e->done && !c->eq_only)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: a cyclic reference: values that contain themselves have no order", c->op);
  if (e != NULL) return 0;
  if (tvmgo_level_enter(c->op, &c->level) != 0) return -1;
  uint32_t at = c->seen.size;
  if (tvmgo_visited_add(&c->seen, a, b) == NULL) return -1;
  int rc = compare_children(c, a, b, order);
  c->level--;
  if (rc == 0 && *order == 0) c->seen.entries[at].done = 1;
  return rc;
}

static int compare_same_type(comparer* c, const TVMFFIAny* a, const TVMFFIAny* b, int* order) {
  *order = 0;
  switch (a->type_index) {
    case kTVMFFINone: return 0;
    case kTVMFFIBool: *order = (a->v_int64 != 0) - (b->v_int64 != 0); return 0;
    case kTVMFFIInt: *order = sign_of(a->v_int64 < b->v_int64, a->v_int64 > b->v_int64); return 0;
    case kTVMFFIFloat: return order_floats(c, a->v_float64, b->v_float64, order);
    case kTVMFFIDataType: *order = order_dtypes(a->v_dtype, b->v_dtype); return 0;
    case kTVMFFIDevice: *order = order_devices(a->v_device, b->v_device); return 0;
    default: break;
  }
  if (a->v_uint64 == b->v_uint64) return 0;
  if (a->type_index == kTVMFFIShape) {
    *order = order_shapes(TVMFFIShapeGetCellPtr(a->v_obj), TVMFFIShapeGetCellPtr(b->v_obj));
    return 0;
  }
  if (tvmgo_any_is_object(a) && a->v_obj != NULL && b->v_obj != NULL)
    return compare_objects(c, a->v_obj, b->v_obj, order);
  return no_order(c, tvmgo_type_name(a->type_index), order);
}

static int is_bytes(int32_t type) { return type == kTVMFFIBytes || type == kTVMFFISmallBytes; }

static int compare(comparer* c, const TVMFFIAny* a, const TVMFFIAny* b, int* order) {
  TVMFFIByteArray x, y;
  if (tvmgo_any_text(a, &x) && tvmgo_any_text(b, &y) &&
      is_bytes(a->type_index) == is_bytes(b->type_index)) {
    *order = order_texts(x, y);
    return 0;
  }
  int32_t s = a->type_index, t = b->type_index;
  if ((s == kTVMFFIInt || s == kTVMFFIBigInt) && (t == kTVMFFIInt || t == kTVMFFIBigInt) &&
      (s == kTVMFFIBigInt || t == kTVMFFIBigInt)) {
    *order =
        order_integers(TVMFFIBigIntGetContentByteArray(a), TVMFFIBigIntGetContentByteArray(b));
    return 0;
  }
  if (s == t) return compare_same_type(c, a, b, order);
  *order = s == kTVMFFINone ? -1 : UNEQUAL;
  if (c->eq_only || s == kTVMFFINone || t == kTVMFFINone) return 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: there is no order between %s and %s", c->op,
                     tvmgo_type_name(s), tvmgo_type_name(t));
}

static int run(comparer* c, const TVMFFIAny* a, const TVMFFIAny* b, int* order) {
  int rc = compare(c, a, b, order);
  tvmgo_visited_free(&c->seen);
  return rc;
}

int tvmgo_equal(const char* op, const TVMFFIAny* a, const TVMFFIAny* b, int* equal) {
  comparer c = {.op = op, .eq_only = 1};
  int order = 0, rc = run(&c, a, b, &order);
  *equal = order == 0;
  return rc;
}

int tvmgo_order(const char* op, const TVMFFIAny* a, const TVMFFIAny* b, int* order) {
  comparer c = {.op = op};
  return run(&c, a, b, order);
}
