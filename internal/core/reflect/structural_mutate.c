/* Mutators with callbacks, and the registry functions. */
#include "reflect/builtins.h"
#include "reflect/structural_mutate.h"
#include "reflect/structural_callbacks.h"
#include "reflect/visit_context.h"

#include <stddef.h>

_Static_assert(offsetof(tvmgo_mutator, table) == 24, "ffi.StructuralMutator");
_Static_assert(offsetof(tvmgo_mutator, region) == 32, "ffi.StructuralMutator");

typedef enum { MAP_BEFORE, MAP_AFTER, OWN_DESCENT } order;

/* A mutator of ours. callbacks are Arrays of (type index, Function), or for OWN_DESCENT of (type
 * index, Function, whether it takes the mode). */
typedef struct {
  tvmgo_mutator base;
  const char* op;
  order order;
  int level;
  TVMFFIObject *callbacks, *region_callbacks; /* owned; the latter may be NULL */
  tvmgo_visited remap;                           /* variables and their replacements */
} our_mutator;

static int32_t mutator_type;

/* ---- Replacements of variables ------------------------------------------------------------- */

static int check_variable(const char* op, const TVMFFIAny* variable) {
  if (tvmgo_any_is_object(variable)) return 0;
  return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: a variable must be an object, got %s", op,
                     tvmgo_type_name(variable->type_index));
}

static int our_remap_get(our_mutator* m, const TVMFFIAny* variable, TVMFFIAny* mapped) {
  *mapped = tvmgo_any_none();
  if (check_variable(m->op, variable) != 0) return -1;
  const tvmgo_visited_entry* e = tvmgo_visited_find(&m->remap, variable->v_obj, NULL);
  return e == NULL ? 0 : tvmgo_give(&e->value, mapped);
}

static int our_remap_set(our_mutator* m, const TVMFFIAny* variable, const TVMFFIAny* mapped) {
  TVMFFIAny value;
  if (check_variable(m->op, variable) != 0 || TVMFFIAnyViewToOwnedAny(mapped, &value) != 0)
    return -1;
  tvmgo_visited_entry* e = tvmgo_visited_find(&m->remap, variable->v_obj, NULL);
  if (e == NULL) e = tvmgo_visited_add(&m->remap, variable->v_obj, NULL);
  TVMFFIAny old = value;
  if (e != NULL) {
    old = e->value;
    e->value = value;
  }
  tvmgo_any_clear(&old); /* last: a deleter may run anything */
  return e == NULL ? -1 : 0;
}

/* ---- Callbacks ----------------------------------------------------------------------------- */

static int call_map_callback(our_mutator* m, const TVMFFIAny* value, TVMFFIAny* out) {
  TVMFFIAny args[2] = {*value, tvmgo_any_int(m->base.region)};
  const TVMFFIAny* entry = tvmgo_callbacks_find(m->callbacks, value->type_index);
  int32_t n = 1;
  *out = tvmgo_unchanged();
  if (entry == NULL) {
    entry = tvmgo_callbacks_find(m->region_callbacks, value->type_index);
    n = 2;
  }
  if (entry == NULL) return 0;
  int rc = tvmgo_function_call(entry[1].v_obj, args, n, out);
  if (rc == 0) rc = tvmgo_mutate_take(*out, out);
  if (rc != 0) tvmgo_visit_context_add(value);
  return rc;
}

static int map_before(our_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode,
                      TVMFFIAny* out) {
  TVMFFIAny mapped;
  int rc = call_map_callback(m, value, &mapped);
  if (rc != 0) return rc;
  const TVMFFIAny* now = tvmgo_is_unchanged(&mapped) ? value : &mapped;
  if (!tvmgo_is_same(now, value) && !tvmgo_is_unique(now)) mode = TVMGO_COPY;
  rc = tvmgo_mutate_parts(&m->base, now, mode, out);
  if (rc == 0 && tvmgo_is_unchanged(out)) {
    *out = mapped;
    return 0;
  }
  tvmgo_any_clear(&mapped);
  return rc;
}

static int map_after(our_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode,
                     TVMFFIAny* out) {
  TVMFFIAny mapped, descended;
  int rc = tvmgo_mutate_parts(&m->base, value, mode, &descended);
  if (rc != 0) return rc;
  rc = call_map_callback(m, tvmgo_is_unchanged(&descended) ? value : &descended, &mapped);
  if (rc == 0 && tvmgo_is_unchanged(&mapped)) {
    *out = descended;
    return 0;
  }
  tvmgo_any_clear(&descended);
  *out = mapped;
  return rc;
}

static int own_descent(our_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode,
                       TVMFFIAny* out) {
  const TVMFFIAny* entry = tvmgo_callbacks_find(m->callbacks, value->type_index);
  if (entry == NULL) return tvmgo_mutate_parts(&m->base, value, mode, out);
  TVMFFIAny args[3] = {*value, tvmgo_any_object(m), tvmgo_any_int(mode)};
  int rc = tvmgo_function_call(entry[1].v_obj, args, entry[2].v_int64 != 0 ? 3 : 2, out);
  if (rc == 0) rc = tvmgo_mutate_take(*out, out);
  if (rc != 0) tvmgo_visit_context_add(value);
  return rc;
}

/* The mode is decided; the caller holds the value. */
static int mutate_value(our_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode,
                        TVMFFIAny* out) {
  *out = tvmgo_any_none();
  if (tvmgo_level_enter(m->op, &m->level) != 0) return -1;
  int32_t region = m->base.region;
  int rc;
  switch (m->order) {
    case MAP_BEFORE: rc = map_before(m, value, mode, out); break;
    case MAP_AFTER: rc = map_after(m, value, mode, out); break;
    default: rc = own_descent(m, value, mode, out); break;
  }
  if (rc != 0) tvmgo_any_clear(out);
  m->base.region = region;
  m->level--;
  return rc;
}

/* ---- Our mutators -------------------------------------------------------------------------- */

/* The value is retained, because a callback may release its container. */
static TVMFFIAny table_call(tvmgo_mutator* m, TVMFFIAny value, tvmgo_mutate_mode mode) {
  TVMFFIAny out;
  if (tvmgo_any_is_object(&value)) tvmgo_object_retain(value.v_obj);
  int rc = mutate_value((our_mutator*)m, &value, mode, &out);
  tvmgo_any_clear(&value);
  return tvmgo_mutate_give(rc, out);
}

static TVMFFIAny table_mutate(tvmgo_mutator* m, TVMFFIAny value) {
  return table_call(m, value, TVMGO_COPY);
}

static TVMFFIAny table_mutate_in_place(tvmgo_mutator* m, TVMFFIAny value) {
  return table_call(m, value, TVMGO_IN_PLACE);
}

static TVMFFIAny table_remap_get(tvmgo_mutator* m, TVMFFIAny variable) {
  TVMFFIAny mapped;
  int rc = our_remap_get((our_mutator*)m, &variable, &mapped);
  return tvmgo_mutate_give(rc, mapped);
}

static TVMFFIAny table_remap_set(tvmgo_mutator* m, TVMFFIAny variable, TVMFFIAny mapped) {
  return tvmgo_mutate_give(our_remap_set((our_mutator*)m, &variable, &mapped), tvmgo_any_none());
}

static const tvmgo_mutator_table our_table = {table_mutate, table_mutate_in_place, table_remap_get,
                                              table_remap_set};

/* Our mutators are called directly and with the value retained: the table can't pass on a front end's own errors. Other
 * mutators see the actual counts, which show what may be changed in place. */
int tvmgo_mutate(tvmgo_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode, TVMFFIAny* out) {
  if (mode == TVMGO_IN_PLACE && !tvmgo_is_unique(value)) mode = TVMGO_COPY;
  if (m->table != &our_table)
    return tvmgo_mutate_take(
        mode == TVMGO_IN_PLACE ? m->table->mutate_in_place(m, *value) : m->table->mutate(m, *value), out);
  TVMFFIAny held = *value;
  if (tvmgo_any_is_object(&held)) tvmgo_object_retain(held.v_obj);
  int rc = mutate_value((our_mutator*)m, &held, mode, out);
  tvmgo_any_clear(&held);
  return rc;
}

int tvmgo_mutate_remap_get(tvmgo_mutator* m, const TVMFFIAny* variable, TVMFFIAny* mapped) {
  return tvmgo_mutate_take(m->table->remap_get(m, *variable), mapped);
}

int tvmgo_mutate_remap_set(tvmgo_mutator* m, const TVMFFIAny* variable, const TVMFFIAny* mapped) {
  TVMFFIAny nothing;
  int rc = tvmgo_mutate_take(m->table->remap_set(m, *variable, *mapped), &nothing);
  tvmgo_any_clear(&nothing);
  return rc;
}

static void delete_mutator(void* self, int flags) {
  our_mutator* m = self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    tvmgo_object_release(m->callbacks);
    tvmgo_object_release(m->region_callbacks);
    tvmgo_visited_free(&m->remap);
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) tvmgo_object_free(self);
}

/* A root that the caller moved into the call may be changed in place. */
static int mutate_root(const char* op, order order, const TVMFFIAny* root, TVMFFIObject* callbacks,
                       TVMFFIObject* region_callbacks, TVMFFIAny* result) {
  TVMFFIAny value;
  our_mutator* m = tvmgo_object_new(sizeof *m, mutator_type, delete_mutator);
  if (m == NULL) return -1;
  m->base.table = &our_table;
  m->op = op;
  m->order = order;
  tvmgo_object_retain(m->callbacks = callbacks);
  if (region_callbacks != NULL) tvmgo_object_retain(m->region_callbacks = region_callbacks);
  int rc = TVMFFIAnyViewToOwnedAny(root, &value);
  if (rc == 0) {
    rc = tvmgo_mutate(&m->base, &value, TVMGO_IN_PLACE, result);
    if (rc == 0 && tvmgo_is_unchanged(result))
      *result = value;
    else
      tvmgo_any_clear(&value);
  }
  tvmgo_object_release(m);
  return rc;
}

/* ---- Functions ----------------------------------------------------------------------------- */

static int structural_mutate(const char* name, const TVMFFIAny* args, int32_t n,
                             TVMFFIAny* result) {
  TVMFFIObject* callbacks;
  if (tvmgo_check_count(name, n, 2, 2) != 0 ||
      tvmgo_callbacks_arg(name, args, 1, 3, &callbacks) != 0)
    return -1;
  return mutate_root(name, OWN_DESCENT, &args[0], callbacks, NULL, result);
}

static int structural_map(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject *callbacks, *region_callbacks;
  int64_t order;
  if (tvmgo_check_count(name, n, 4, 4) != 0 ||
      tvmgo_callbacks_arg(name, args, 1, 2, &callbacks) != 0 ||
      tvmgo_callbacks_arg(name, args, 2, 2, &region_callbacks) != 0 ||
      tvmgo_arg_int(name, args, 3, &order) != 0)
    return -1;
  return mutate_root(name, order == 0 ? MAP_BEFORE : MAP_AFTER, &args[0], callbacks,
                     region_callbacks, result);
}

static int mutator_arg(const char* name, const TVMFFIAny* args, int32_t n, int32_t want,
                       tvmgo_mutator** m) {
  if (tvmgo_check_count(name, n, want, want) != 0) return -1;
  if (!tvmgo_type_derived_from(args[0].type_index, mutator_type))
    return tvmgo_raise(TVMGO_TYPE_ERROR, "%s: argument 0 must be a StructuralMutator, got %s", name,
                       tvmgo_type_name(args[0].type_index));
  *m = (tvmgo_mutator*)args[0].v_obj;
  return 0;
}

static int mutate_by(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result,
                     int (*how)(tvmgo_mutator*, const TVMFFIAny*, tvmgo_mutate_mode, TVMFFIAny*)) {
  tvmgo_mutator* m;
  TVMFFIAny value;
  if (mutator_arg(name, args, n, 2, &m) != 0 || TVMFFIAnyViewToOwnedAny(&args[1], &value) != 0)
    return -1;
  int rc = how(m, &value, TVMGO_COPY, result);
  if (rc == 0 && tvmgo_is_unchanged(result))
    *result = value;
  else
    tvmgo_any_clear(&value);
  return rc;
}

static int mutator_mutate(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return mutate_by(name, args, n, result, tvmgo_mutate);
}

static int mutator_default(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return mutate_by(name, args, n, result, tvmgo_mutate_parts);
}

static int mutator_remap_get(const char* name, const TVMFFIAny* args, int32_t n,
                             TVMFFIAny* result) {
  tvmgo_mutator* m;
  if (mutator_arg(name, args, n, 2, &m) != 0 || check_variable(name, &args[1]) != 0) return -1;
  return tvmgo_mutate_remap_get(m, &args[1], result);
}

static int mutator_remap_set(const char* name, const TVMFFIAny* args, int32_t n,
                             TVMFFIAny* result) {
  tvmgo_mutator* m;
  TVMFFIAny mapped;
  if (mutator_arg(name, args, n, 3, &m) != 0 || check_variable(name, &args[1]) != 0 ||
      TVMFFIAnyViewToOwnedAny(&args[2], &mapped) != 0)
    return -1;
  int rc = tvmgo_mutate_remap_set(m, &args[1], &mapped);
  tvmgo_any_clear(&mapped);
  return rc;
}

static int mutator_region(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  tvmgo_mutator* m;
  if (mutator_arg(name, args, n, 1, &m) != 0) return -1;
  *result = tvmgo_any_int(m->region);
  return 0;
}

static int mutator_with_region(const char* name, const TVMFFIAny* args, int32_t n,
                               TVMFFIAny* result) {
  tvmgo_mutator* m;
  if (mutator_arg(name, args, n, 3, &m) != 0) return -1;
  return tvmgo_call_in_region(name, args, &m->region, result);
}

TVMGO_REFLECT_MUTATE(TVMGO_BUILTIN_DEFINE)

void tvmgo_register_mutate_types(void) {
  const tvmgo_record_description d = {"ffi.StructuralMutator", kTVMFFIObject, 40,
                                      kTVMFFISEqHashKindUnsupported, 0, NULL, NULL, NULL};
  mutator_type = tvmgo_record_describe(&d);
  tvmgo_register_mutate_attributes();
  TVMGO_REFLECT_MUTATE(TVMGO_BUILTIN_REGISTER)
}
