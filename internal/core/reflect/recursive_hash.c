/* A hash of values by content (ffi.RecursiveHash): values that tvmgo_equal considers equal have the same hash. */
#include "container/map_internal.h"
#include "reflect/recursive.h"

#include <math.h>

typedef struct {
  const char* op;
  tvmgo_visited seen; /* done: first is the hash */
  int level;
} hasher;

static int hash_any(hasher* h, const TVMFFIAny* v, uint64_t* out);

static uint64_t combine(uint64_t seed, uint64_t v) {
  return seed ^ (v + UINT64_C(0x9e3779b9) + (seed << 6) + (seed >> 2));
}

/* Spreads every bit over the word, so that sums of such numbers still distinguish sets. */
static uint64_t spread(uint64_t v) {
  v = (v ^ (v >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  v = (v ^ (v >> 27)) * UINT64_C(0x94d049bb133111eb);
  return v ^ (v >> 31);
}

static uint64_t hash_shape(const TVMFFIShapeCell* s) {
  uint64_t hash = combine(kTVMFFIShape, s->size);
  for (size_t i = 0; i < s->size; i++) hash = combine(hash, (uint64_t)s->data[i]);
  return hash;
}

static int hash_seq(hasher* h, TVMFFIObject* seq, uint64_t* out) {
  uint64_t hash = (uint64_t)seq->type_index, child;
  int64_t i = 0;
  for (TVMFFIAny item; tvmgo_seq_step(seq, i, &item); i++) {
    int rc = hash_any(h, &item, &child);
    tvmgo_any_clear(&item);
    if (rc != 0) return rc;
    hash = combine(hash, spread(child));
  }
  *out = combine(hash, (uint64_t)i);
  return 0;
}

/* The order of entries does not count, so their hashes are added up. */
static int hash_map(hasher* h, TVMFFIObject* map, uint64_t* out) {
  uint64_t sum = 0, k, v, place = 0;
  for (TVMFFIAny key, value; tvmgo_map_step(map, &place, &key, &value);) {
    int rc = hash_any(h, &key, &k);
    if (rc == 0) rc = hash_any(h, &value, &v);
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
    if (rc != 0) return rc;
    sum += spread(combine(spread(k), v));
  }
  *out = combine(combine((uint64_t)map->type_index, (uint64_t)tvmgo_map_size(map)), sum);
  return 0;
}

static int answer(void* state, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  hasher* h = state;
  TVMFFIAny v;
  uint64_t hash;
  if (tvmgo_check_count(h->op, n, 1, 1) != 0 || TVMFFIAnyViewToOwnedAny(&args[0], &v) != 0)
    return -1;
  uint32_t mark = h->seen.size;
  int level = h->level, rc = hash_any(h, &v, &hash);
  tvmgo_any_clear(&v);
  if (rc == 0) {
    *result = tvmgo_any_int((int64_t)hash);
  } else { /* the hook may go on */
    tvmgo_visited_forget(&h->seen, mark);
    h->level = level;
  }
  return rc;
}

static int hash_reflected(hasher* h, TVMFFIObject* obj, uint64_t* out) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  TVMFFIAny hook;
  if (tvmgo_hook_find("__ffi_hash__", obj->type_index, &hook)) {
    int64_t r = 0;
    int rc = tvmgo_hook_call_int(h->op, &hook, obj, NULL, answer, h, &r);
    *out = (uint64_t)r;
    return rc;
  }
  if (tvmgo_hook_find("__ffi_eq__", obj->type_index, &hook) ||
      tvmgo_hook_find("__ffi_compare__", obj->type_index, &hook))
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: type %.*s registers __ffi_eq__ or __ffi_compare__ but not __ffi_hash__, which "
                       "must agree with it on what is equal",
                       h->op, (int)info->type_key.size, info->type_key.data);
  uint64_t hash = info == NULL ? 0 : info->type_key_hash, child;
  tvmgo_field_walk w = tvmgo_fields(
      obj->type_index, kTVMFFIFieldFlagBitMaskHashOff | kTVMFFIFieldFlagBitMaskCompareOff);
  for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
    TVMFFIAny value;
    int rc = tvmgo_field_get(h->op, obj, f, &value);
    if (rc != 0) return rc;
    rc = hash_any(h, &value, &child);
    tvmgo_any_clear(&value);
    if (rc != 0) return rc;
    hash = combine(hash, child);
  }
  *out = hash;
  return 0;
}

/* An object inside itself is represented by its type. */
static int hash_object(hasher* h, TVMFFIObject* obj, uint64_t* out) {
  int32_t type = obj->type_index;
  const tvmgo_visited_entry* e = tvmgo_visited_find(&h->seen, obj, NULL);
  if (e != NULL) {
    *out = e->done ? e->first : (uint64_t)type;
    return 0;
  }
  if (tvmgo_level_enter(h->op, &h->level) != 0) return -1;
  uint32_t at = h->seen.size;
  if (tvmgo_visited_add(&h->seen, obj, NULL) == NULL) return -1;
  int rc = type == kTVMFFIArray || type == kTVMFFIList ? hash_seq(h, obj, out)
           : type == kTVMFFIMap || type == kTVMFFIDict ? hash_map(h, obj, out)
                                                       : hash_reflected(h, obj, out);
  h->level--;
  if (rc != 0) return rc;
  h->seen.entries[at].first = *out;
  h->seen.entries[at].done = 1;
  return 0;
}

static int hash_any(hasher* h, const TVMFFIAny* v, uint64_t* out) {
  TVMFFIAny plain = {.type_index = v->type_index};
  switch (v->type_index) {
    case kTVMFFIBool: plain.v_int64 = v->v_int64 != 0; break;
    case kTVMFFIFloat:
      if (isnan(v->v_float64))
        plain.v_float64 = NAN;
      else
        plain.v_float64 = v->v_float64 == 0 ? 0 : v->v_float64;
      break;
    case kTVMFFIDataType: plain.v_dtype = v->v_dtype; break;
    case kTVMFFIDevice: plain.v_device = v->v_device; break;
    case kTVMFFINone: break;
    case kTVMFFIShape: *out = hash_shape(TVMFFIShapeGetCellPtr(v->v_obj)); return 0;
    case kTVMFFIStr:
    case kTVMFFIBytes:
    case kTVMFFIBigInt: return tvmgo_any_try_hash(v, out);
    default:
      if (tvmgo_any_is_object(v) && v->v_obj != NULL) return hash_object(h, v->v_obj, out);
      return tvmgo_any_try_hash(v, out);
  }
  return tvmgo_any_try_hash(&plain, out);
}

int tvmgo_recursive_hash(const char* op, const TVMFFIAny* v, uint64_t* hash) {
  hasher h = {.op = op};
  int rc = hash_any(&h, v, hash);
  tvmgo_visited_free(&h.seen);
  return rc;
}
