#include "reflect/structural.h"
#include "container/map_internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  const char* op;
  TVMFFIDefRegionKind region;
  int skip_tensor_content;
  uint64_t variables, nodes; /* how many were visited: their numbers replace addresses */
  tvmgo_visited seen;           /* first is the hash */
  int level;
} hasher;

static int hash_any(hasher* h, const TVMFFIAny* v, uint64_t* out);

static uint64_t combine(uint64_t seed, uint64_t v) {
  return seed ^ (v + UINT64_C(0x9e3779b9) + (seed << 6) + (seed >> 2));
}

static uint64_t key_hash(int32_t type_index) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(type_index);
  return info == NULL ? (uint64_t)type_index : info->type_key_hash;
}

/* ---- Containers ---------------------------------------------------------------------------- */

static int hash_seq(hasher* h, TVMFFIObject* seq, uint64_t* out) {
  uint64_t hash = combine(key_hash(seq->type_index), (uint64_t)tvmgo_seq_cell(seq)->size), child;
  TVMFFIAny item;
  for (int64_t i = 0; tvmgo_seq_step(seq, i, &item); i++) {
    int rc = hash_any(h, &item, &child);
    tvmgo_any_clear(&item);
    if (rc != 0) return rc;
    hash = combine(hash, child);
  }
  *out = hash;
  return 0;
}

typedef struct {
  uint64_t key;
  TVMFFIAny value; /* owned */
} entry;

static int by_key(const void* a, const void* b) {
  uint64_t x = ((const entry*)a)->key, y = ((const entry*)b)->key;
  return (x > y) - (x < y);
}

/* A hash of a key that does not depend on the rest of the value; 0 if there is none, and the entry is ignored. Keys
 * define no variables, so only variables that are already known have one. */
static int key_number(hasher* h, const TVMFFIAny* key, uint64_t* out) {
  TVMFFIByteArray text;
  if (!tvmgo_any_is_object(key) || tvmgo_any_text(key, &text) || key->type_index == kTVMFFIBigInt)
    return tvmgo_any_try_hash(key, out) == 0 ? 1 : -1;
  const tvmgo_visited_entry* e = tvmgo_visited_find(&h->seen, key->v_obj, NULL);
  if (e != NULL) *out = e->first;
  return e != NULL;
}

/* Hashes entries in the order of their keys' hashes; of entries with the same hash only their number counts. */
static int hash_map(hasher* h, TVMFFIObject* map, uint64_t* out) {
  uint64_t hash = combine(key_hash(map->type_index), (uint64_t)tvmgo_map_size(map)), child;
  size_t capacity = (size_t)tvmgo_map_size(map), n = 0;
  entry* entries = malloc((capacity + 1) * sizeof *entries);
  if (entries == NULL) return tvmgo_raise_oom();
  TVMFFIAny key, value;
  uint64_t place = 0;
  int rc = 0;
  while (rc == 0 && n < capacity && tvmgo_map_step(map, &place, &key, &value)) {
    int known = key_number(h, &key, &entries[n].key);
    entries[n].value = value;
    if (known == 1)
      n++;
    else
      tvmgo_any_clear(&value);
    tvmgo_any_clear(&key);
    rc = known < 0 ? -1 : 0;
  }
  qsort(entries, n, sizeof *entries, by_key);
  for (size_t i = 0, next; rc == 0 && i < n; i = next) {
    for (next = i + 1; next < n && entries[next].key == entries[i].key;) next++;
    hash = combine(hash, entries[i].key);
    if (next > i + 1) continue;
    rc = hash_any(h, &entries[i].value, &child);
    if (rc == 0) hash = combine(hash, child);
  }
  while (n > 0) tvmgo_any_clear(&entries[--n].value);
  free(entries);
  *out = hash;
  return rc;
}

static uint64_t hash_sizes(uint64_t hash, const int64_t* sizes, size_t n) {
  hash = combine(hash, n);
  for (size_t i = 0; i < n; i++) hash = combine(hash, (uint64_t)sizes[i]);
  return hash;
}

static int hash_tensor(hasher* h, const DLTensor* t, uint64_t* out) {
  TVMFFIAny plain = tvmgo_any_none();
  plain.v_dtype = t->dtype;
  *out = combine(hash_sizes(key_hash(kTVMFFITensor), t->shape, (size_t)t->ndim), plain.v_uint64);
  if (h->skip_tensor_content) return 0;
  size_t size;
  if (tvmgo_structural_tensor(h->op, t, &size) != 0) return -1;
  *out = combine(*out, tvmgo_hash_bytes((const char*)t->data + t->byte_offset, size));
  return 0;
}

/* ---- Objects ------------------------------------------------------------------------------- */

static int hash_in(hasher* h, TVMFFIDefRegionKind region, const TVMFFIAny* v, uint64_t* hash) {
  TVMFFIDefRegionKind outside = h->region;
  uint64_t child;
  h->region = region;
  int rc = hash_any(h, v, &child);
  h->region = outside;
  if (rc == 0) *hash = combine(*hash, child);
  return rc;
}

/* Called by hooks: combines a hash with that of a child, in a region. */
static int answer(void* state, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  hasher* h = state;
  TVMFFIAny v;
  int64_t so_far, region;
  if (tvmgo_check_count(h->op, n, 3, 3) != 0 || tvmgo_arg_int(h->op, args, 1, &so_far) != 0 ||
      tvmgo_arg_int(h->op, args, 2, &region) != 0 || TVMFFIAnyViewToOwnedAny(&args[0], &v) != 0)
    return -1;
  uint64_t hash = (uint64_t)so_far;
  int level = h->level;
  int rc = hash_in(h, tvmgo_structural_hook_region(h->region, region), &v, &hash);
  h->level = level;
  tvmgo_any_clear(&v);
  if (rc == 0) *result = tvmgo_any_int((int64_t)hash);
  return rc;
}

static int hash_fields(hasher* h, TVMFFIObject* obj, uint64_t* out) {
  uint64_t hash = key_hash(obj->type_index);
  TVMFFIAny hook;
  if (tvmgo_hook_find("__s_hash__", obj->type_index, &hook)) {
    TVMFFIAny args[2] = {tvmgo_any_object(obj), tvmgo_any_int((int64_t)hash)}, r;
    int rc = tvmgo_hook_call_args(h->op, &hook, args, 2, answer, h, &r);
    if (rc != 0) return rc;
    *out = r.v_uint64;
    if (r.type_index != kTVMFFIInt)
      rc = tvmgo_raise(TVMGO_TYPE_ERROR, "%s: __s_hash__ of type %s must answer an int, got %s",
                       h->op, TVMFFIGetTypeInfo(obj->type_index)->type_key.data,
                       tvmgo_type_name(r.type_index));
    tvmgo_any_clear(&r);
    return rc;
  }
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
    TVMFFIAny value;
    int rc = tvmgo_field_get(h->op, obj, f, &value);
    if (rc != 0) return rc;
    rc = hash_in(h, tvmgo_structural_region(h->region, f->flags), &value, &hash);
    tvmgo_any_clear(&value);
    if (rc != 0) return rc;
  }
  *out = hash;
  return 0;
}

static int hash_variable(hasher* h, TVMFFIObject* obj, uint64_t* out) {
  TVMFFIDefRegionKind region = h->region;
  if (region == kTVMFFIDefRegionKindSimple) h->region = kTVMFFIDefRegionKindNone;
  int rc = hash_fields(h, obj, out);
  h->region = region;
  *out = region == kTVMFFIDefRegionKindNone ? (uint64_t)(uintptr_t)obj
                                            : combine(*out, h->variables++);
  return rc;
}

static int hash_object(hasher* h, TVMFFIObject* obj, uint64_t* out) {
  TVMFFISEqHashKind kind;
  if (tvmgo_structural_kind(h->op, obj, &kind) != 0) return -1;
  const tvmgo_visited_entry* known = tvmgo_visited_find(&h->seen, obj, NULL);
  if (known != NULL) {
    *out = known->first;
    return 0;
  }
  int rc = 0;
  if (kind == kTVMFFISEqHashKindFreeVar)
    rc = hash_variable(h, obj, out);
  else
    rc = hash_fields(h, obj, out);
  if (rc != 0) return rc;
  if (kind == kTVMFFISEqHashKindDAGNode) *out = combine(*out, h->nodes++);
  tvmgo_visited_entry* e = tvmgo_visited_add(&h->seen, obj, NULL);
  if (e == NULL) return -1;
  e->first = *out;
  return 0;
}

static int hash_children(hasher* h, TVMFFIObject* obj, uint64_t* out) {
  if (tvmgo_level_enter(h->op, &h->level) != 0) return -1;
  int rc;
  switch (obj->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: rc = hash_seq(h, obj, out); break;
    case kTVMFFIMap:
    case kTVMFFIDict: rc = hash_map(h, obj, out); break;
    default: rc = hash_object(h, obj, out); break;
  }
  h->level--;
  return rc;
}

static int hash_any(hasher* h, const TVMFFIAny* v, uint64_t* out) {
  TVMFFIByteArray text;
  TVMFFIAny plain = *v;
  switch (v->type_index) {
    case kTVMFFIBigInt: return tvmgo_any_try_hash(v, out);
    case kTVMFFIFloat:
      if (isnan(v->v_float64)) plain.v_float64 = NAN;
      return tvmgo_any_try_hash(&plain, out);
    case kTVMFFIShape: {
      const TVMFFIShapeCell* s = TVMFFIShapeGetCellPtr(v->v_obj);
      *out = hash_sizes(key_hash(kTVMFFIShape), s->data, s->size);
      return 0;
    }
    case kTVMFFITensor: return hash_tensor(h, tvmgo_tensor_dl(v->v_obj), out);
    default: break;
  }
  if (!tvmgo_any_is_object(v) || tvmgo_any_text(v, &text)) return tvmgo_any_try_hash(v, out);
  return hash_children(h, v->v_obj, out);
}

int tvmgo_structural_hash(const char* op, const TVMFFIAny* v, tvmgo_structural_options options,
                          uint64_t* hash) {
  hasher h = {
      .op = op,
      .region =
          options.map_free_vars ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone,
      .skip_tensor_content = options.skip_tensor_content,
  };
  int rc = hash_any(&h, v, hash);
  tvmgo_visited_free(&h.seen);
  return rc;
}
