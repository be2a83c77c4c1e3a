#include "reflect/structural.h"
#include "container/map_internal.h"
#include "reflect/structural_difference.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char* op;
  TVMFFIDefRegionKind region;
  int skip_tensor_content;
  tvmgo_visited left, right; /* the value of an entry is the corresponding object on the other side */
  int level;
  tvmgo_difference first;
} comparer;

static int compare(comparer* c, const TVMFFIAny* a, const TVMFFIAny* b, int* equal);

int tvmgo_structural_kind(const char* op, const TVMFFIObject* obj, TVMFFISEqHashKind* kind) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  *kind = info == NULL || info->metadata == NULL ? kTVMFFISEqHashKindUnsupported
                                                 : info->metadata->structural_eq_hash_kind;
  if (*kind != kTVMFFISEqHashKindUnsupported) return 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR,
                     "%s: type %s does not say how it is compared by structure: give it a "
                     "structural_eq_hash_kind in its metadata",
                     op, info == NULL ? "?" : info->type_key.data);
}

TVMFFIDefRegionKind tvmgo_structural_region(TVMFFIDefRegionKind outside, int64_t field_flags) {
  if (outside == kTVMFFIDefRegionKindPattern) return outside;
  if (field_flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple) return kTVMFFIDefRegionKindSimple;
  if (field_flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern) return kTVMFFIDefRegionKindPattern;
  return outside;
}

TVMFFIDefRegionKind tvmgo_structural_hook_region(TVMFFIDefRegionKind outside, int64_t number) {
  if (outside == kTVMFFIDefRegionKindPattern || number == kTVMFFIDefRegionKindNone) return outside;
  return (TVMFFIDefRegionKind)number;
}

int tvmgo_structural_tensor(const char* op, const DLTensor* t, size_t* nbytes) {
  if (t->device.device_type != kDLCPU)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: the content of a tensor on %s can't be read here: copy it to the CPU "
                       "or set skip_tensor_content",
                       op, tvmgo_device_type_name(t->device.device_type));
  if (!tvmgo_dl_contiguous(t))
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "%s: a tensor is not contiguous: copy it or set skip_tensor_content", op);
  return tvmgo_dl_bytes(t, nbytes);
}

/* ---- Containers ---------------------------------------------------------------------------- */

static int compare_seqs(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* equal) {
  if (!c->first.is_wanted && tvmgo_seq_cell(a)->size != tvmgo_seq_cell(b)->size) {
    *equal = 0;
    return 0;
  }
  for (int64_t i = 0;; i++) {
    TVMFFIAny x, y, at = tvmgo_any_int(i);
    int in_a = tvmgo_seq_step(a, i, &x), in_b = tvmgo_seq_step(b, i, &y), rc = 0;
    if (in_a && in_b) rc = compare(c, &x, &y, equal);
    if (in_a) tvmgo_any_clear(&x);
    if (in_b) tvmgo_any_clear(&y);
    if (rc != 0 || (!in_a && !in_b)) return rc;
    if (in_a != in_b) *equal = 0;
    if (!*equal)
      return tvmgo_difference_add(
          &c->first, in_a ? TVMGO_STEP_ELEMENT : TVMGO_STEP_ELEMENT_MISSING, &at,
          in_b ? TVMGO_STEP_ELEMENT : TVMGO_STEP_ELEMENT_MISSING, &at);
  }
}

/* The corresponding key on the other side; borrowed. */
static TVMFFIAny counterpart(const tvmgo_visited* map, const TVMFFIAny* key) {
  const tvmgo_visited_entry* e =
      tvmgo_any_is_object(key) ? tvmgo_visited_find(map, key->v_obj, NULL) : NULL;
  return e == NULL ? *key : e->value;
}

/* The first entry of a without a counterpart in b or with a different value; flip: a is the right side, and only keys
 * are compared. */
static int compare_entries(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int flip, int* equal) {
  TVMFFIAny key, x, y = tvmgo_any_none();
  uint64_t place = 0;
  int rc = 0;
  while (rc == 0 && *equal && tvmgo_map_step(a, &place, &key, &x)) {
    TVMFFIAny other = counterpart(flip ? &c->right : &c->left, &key);
    const TVMFFIAny* stored;
    int found = tvmgo_map_find(b, &other, &stored);
    rc = found < 0 ? -1 : 0;
    if (found == 0) *equal = 0;
    if (found == 1 && !flip) {
      rc = TVMFFIAnyViewToOwnedAny(stored, &y);
      if (rc == 0) rc = compare(c, &x, &y, equal);
      tvmgo_any_clear(&y);
    }
    if (rc == 0 && !*equal) {
      tvmgo_step_kind there = found == 1 ? TVMGO_STEP_KEY : TVMGO_STEP_KEY_MISSING;
      rc = flip ? tvmgo_difference_add(&c->first, there, &other, TVMGO_STEP_KEY, &key)
                : tvmgo_difference_add(&c->first, TVMGO_STEP_KEY, &key, there, &other);
    }
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&x);
  }
  return rc;
}

static int compare_maps(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* equal) {
  int same_size = tvmgo_map_size(a) == tvmgo_map_size(b);
  if (!same_size && !c->first.is_wanted) {
    *equal = 0;
    return 0;
  }
  int rc = compare_entries(c, a, b, 0, equal);
  if (rc != 0 || !*equal || same_size) return rc;
  rc = compare_entries(c, b, a, 1, equal);
  *equal = 0;
  return rc;
}

static int compare_shapes(const TVMFFIShapeCell* a, const TVMFFIShapeCell* b) {
  return a->size == b->size &&
         (a->size == 0 || memcmp(a->data, b->data, a->size * sizeof *a->data) == 0);
}

static int compare_tensors(comparer* c, const DLTensor* a, const DLTensor* b, int* equal) {
  *equal = a == b || (a->ndim == b->ndim &&
                      (a->ndim == 0 || memcmp(a->shape, b->shape, (size_t)a->ndim * 8) == 0) &&
                      memcmp(&a->dtype, &b->dtype, sizeof a->dtype) == 0);
  if (!*equal || a == b || c->skip_tensor_content) return 0;
  size_t n, m;
  if (tvmgo_structural_tensor(c->op, a, &n) != 0 || tvmgo_structural_tensor(c->op, b, &m) != 0)
    return -1;
  *equal = n == 0 || memcmp((const char*)a->data + a->byte_offset,
                            (const char*)b->data + b->byte_offset, n) == 0;
  return 0;
}

/* ---- Objects ------------------------------------------------------------------------------- */

static int compare_in(comparer* c, TVMFFIDefRegionKind region, const TVMFFIAny* a,
                      const TVMFFIAny* b, int* equal) {
  TVMFFIDefRegionKind outside = c->region;
  c->region = region;
  int rc = compare(c, a, b, equal);
  c->region = outside;
  return rc;
}

/* Called by hooks: whether two children are equal, in a region, below a name. */
static int answer(void* state, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  comparer* c = state;
  TVMFFIAny a, b;
  TVMFFIByteArray name;
  int64_t region;
  int equal = 1;
  if (tvmgo_check_count(c->op, n, 4, 4) != 0 || tvmgo_arg_int(c->op, args, 2, &region) != 0 ||
      tvmgo_any_string(&args[3], c->op, &name) != 0 || TVMFFIAnyViewToOwnedAny(&args[0], &a) != 0)
    return -1;
  int rc = TVMFFIAnyViewToOwnedAny(&args[1], &b);
  if (rc == 0) {
    int level = c->level;
    rc = compare_in(c, tvmgo_structural_hook_region(c->region, region), &a, &b, &equal);
    c->level = level;
    if (rc == 0 && !equal) rc = tvmgo_difference_add_field(&c->first, name);
    tvmgo_any_clear(&b);
  }
  tvmgo_any_clear(&a);
  if (rc == 0) *result = tvmgo_any_bool(equal);
  return rc;
}

static int compare_fields(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* equal) {
  TVMFFIAny hook;
  *equal = 1;
  if (tvmgo_hook_find("__s_equal__", a->type_index, &hook)) {
    size_t mark = c->first.num_steps;
    int64_t r = 0;
    int rc = tvmgo_hook_call_int(c->op, &hook, a, b, answer, c, &r);
    *equal = r != 0;
    /* The hook may have ignored differences. */
    if (rc == 0 && *equal) tvmgo_difference_forget(&c->first, mark);
    return rc;
  }
  tvmgo_field_walk w = tvmgo_fields(a->type_index, kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  for (const TVMFFIFieldInfo* f; *equal && (f = tvmgo_field_next(&w)) != NULL;) {
    TVMFFIAny x, y;
    int rc = tvmgo_field_get(c->op, a, f, &x);
    if (rc != 0) return rc;
    rc = tvmgo_field_get(c->op, b, f, &y);
    if (rc == 0) {
      rc = compare_in(c, tvmgo_structural_region(c->region, f->flags), &x, &y, equal);
      tvmgo_any_clear(&y);
    }
    tvmgo_any_clear(&x);
    if (rc == 0 && !*equal) rc = tvmgo_difference_add_field(&c->first, f->name);
    if (rc != 0) return rc;
  }
  return 0;
}

/* Records that the two objects correspond to each other. */
static int pair_up(comparer* c, TVMFFIObject* a, TVMFFIObject* b) {
  tvmgo_visited_entry* e = tvmgo_visited_add(&c->left, a, NULL);
  if (e == NULL) return -1;
  e->value = tvmgo_any_object(b);
  tvmgo_object_retain(b);
  e = tvmgo_visited_add(&c->right, b, NULL);
  if (e == NULL) return -1;
  e->value = tvmgo_any_object(a);
  tvmgo_object_retain(a);
  return 0;
}

static int compare_variables(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* equal) {
  TVMFFIDefRegionKind region = c->region;
  if (region == kTVMFFIDefRegionKindSimple) c->region = kTVMFFIDefRegionKindNone;
  int rc = compare_fields(c, a, b, equal);
  c->region = region;
  if (rc != 0 || !*equal) return rc;
  *equal = a == b || region != kTVMFFIDefRegionKindNone;
  return *equal ? pair_up(c, a, b) : 0;
}

static int compare_objects(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* equal) {
  TVMFFISEqHashKind kind;
  if (tvmgo_structural_kind(c->op, a, &kind) != 0) return -1;
  switch (kind) {
    case kTVMFFISEqHashKindUniqueInstance: *equal = a == b; return 0;
    case kTVMFFISEqHashKindConstTreeNode:
      if (a == b) return 0;
      break;
    case kTVMFFISEqHashKindDAGNode:
    case kTVMFFISEqHashKindFreeVar: {
      const tvmgo_visited_entry* e = tvmgo_visited_find(&c->left, a, NULL);
      if (e != NULL || tvmgo_visited_find(&c->right, b, NULL) != NULL) {
        *equal = e != NULL && e->value.v_obj == b;
        return 0;
      }
      break;
    }
    default: break;
  }
  if (kind == kTVMFFISEqHashKindFreeVar) return compare_variables(c, a, b, equal);
  int rc = compare_fields(c, a, b, equal);
  if (rc == 0 && *equal && kind == kTVMFFISEqHashKindDAGNode) rc = pair_up(c, a, b);
  return rc;
}

static int compare_children(comparer* c, TVMFFIObject* a, TVMFFIObject* b, int* equal) {
  if (tvmgo_level_enter(c->op, &c->level) != 0) return -1;
  int rc;
  switch (a->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList: rc = compare_seqs(c, a, b, equal); break;
    case kTVMFFIMap:
    case kTVMFFIDict: rc = compare_maps(c, a, b, equal); break;
    default: rc = compare_objects(c, a, b, equal); break;
  }
  c->level--;
  return rc;
}

static int compare(comparer* c, const TVMFFIAny* a, const TVMFFIAny* b, int* equal) {
  TVMFFIByteArray x, y;
  *equal = 1;
  if (tvmgo_any_text(a, &x) || a->type_index == kTVMFFIBigInt || tvmgo_any_text(b, &y)) {
    int same = tvmgo_any_try_equal(a, b);
    *equal = same == 1;
    return same < 0 ? -1 : 0;
  }
  if (a->type_index != b->type_index) {
    *equal = 0;
    return 0;
  }
  switch (a->type_index) {
    case kTVMFFIFloat:
      *equal = a->v_uint64 == b->v_uint64 || (isnan(a->v_float64) && isnan(b->v_float64));
      return 0;
    case kTVMFFIShape:
      *equal = compare_shapes(TVMFFIShapeGetCellPtr(a->v_obj), TVMFFIShapeGetCellPtr(b->v_obj));
      return 0;
    case kTVMFFITensor:
      return compare_tensors(c, tvmgo_tensor_dl(a->v_obj), tvmgo_tensor_dl(b->v_obj), equal);
    default: break;
  }
  if (tvmgo_any_is_object(a)) return compare_children(c, a->v_obj, b->v_obj, equal);
  *equal = a->v_uint64 == b->v_uint64;
  return 0;
}

int tvmgo_structural_equal(const char* op, const TVMFFIAny* a, const TVMFFIAny* b,
                           tvmgo_structural_options options, int* equal,
                           tvmgo_access_path* paths[2]) {
  comparer c = {
      .op = op,
      .region =
          options.map_free_vars ? kTVMFFIDefRegionKindPattern : kTVMFFIDefRegionKindNone,
      .skip_tensor_content = options.skip_tensor_content,
      .first = {.is_wanted = paths != NULL},
  };
  int rc = compare(&c, a, b, equal);
  if (paths != NULL) paths[0] = paths[1] = NULL;
  if (rc == 0 && !*equal && paths != NULL) rc = tvmgo_difference_paths(&c.first, paths);
  tvmgo_difference_free(&c.first);
  tvmgo_visited_free(&c.left);
  tvmgo_visited_free(&c.right);
  return rc;
}
