/* Mutation of the parts of values. */
#include "container/list.h"
#include "container/map_internal.h"
#include "reflect/structural_mutate.h"
#include "reflect/visit_context.h"

#include <stdlib.h>

/* ---- Answers ------------------------------------------------------------------------------- */

int tvmgo_mutate_take(TVMFFIAny answer, TVMFFIAny* out) {
  *out = answer;
  if (answer.type_index != kTVMFFIError) return 0;
  TVMFFIErrorSetRaised(answer.v_obj);
  tvmgo_any_clear(out);
  return -1;
}

TVMFFIAny tvmgo_mutate_give(int rc, TVMFFIAny out) {
  if (rc == 0) return out;
  TVMFFIObject* error = tvmgo_error_take();
  if (error == NULL) { /* a front end keeps it: what calls us here only knows errors */
    tvmgo_raise(TVMGO_RUNTIME_ERROR, "mutate: stopped by the front end");
    error = tvmgo_error_take();
  }
  return tvmgo_any_object(error);
}

/* ---- Sequences ----------------------------------------------------------------------------- */

static void swap(TVMFFIAny* a, TVMFFIAny* b) {
  TVMFFIAny old = *a;
  *a = *b;
  *b = old;
}

/* Puts an owned value at i, unless a callback made the sequence shorter. */
static void put_element(TVMFFIObject* seq, int64_t i, TVMFFIAny* value) {
  TVMFFISeqCell* cell = tvmgo_seq_cell(seq);
  if (i < cell->size) swap((TVMFFIAny*)cell->data + i, value);
  tvmgo_any_clear(value);
}

/* An element is visited without a reference of its own, so that its count shows whether it has other owners. */
static int mutate_element(tvmgo_mutator* m, TVMFFIObject* seq, int64_t i, tvmgo_mutate_mode mode,
                          TVMFFIAny* old, TVMFFIAny* out) {
  const TVMFFIAny* item = (const TVMFFIAny*)tvmgo_seq_cell(seq)->data + i;
  *old = *item;
  return tvmgo_mutate(m, item, mode, out);
}

static int mutate_seq(tvmgo_mutator* m, TVMFFIObject* seq, tvmgo_mutate_mode mode, TVMFFIAny* out) {
  TVMFFIObject* target = mode == TVMGO_IN_PLACE ? seq : NULL; /* a copy from the first change on */
  int rc = 0;
  for (int64_t i = 0; rc == 0 && i < tvmgo_seq_cell(seq)->size; i++) {
    TVMFFIAny old, item;
    rc = mutate_element(m, seq, i, mode, &old, &item);
    if (rc != 0 || tvmgo_is_unchanged(&item) || tvmgo_is_same(&old, &item)) {
      tvmgo_any_clear(&item);
      continue;
    }
    if (target == NULL) {
      const TVMFFISeqCell* cell = tvmgo_seq_cell(seq);
      target = seq->type_index == kTVMFFIArray ? tvmgo_array_new(cell->data, cell->size)
                                               : tvmgo_list_new(cell->data, cell->size);
      rc = target == NULL ? -1 : 0;
    }
    if (rc == 0)
      put_element(target, i, &item);
    else
      tvmgo_any_clear(&item);
  }
  if (target == seq || target == NULL) {
    *out = tvmgo_unchanged();
    return rc;
  }
  *out = tvmgo_any_object(target);
  return rc;
}

/* ---- Maps: keys are names, not parts ------------------------------------------------------- */

static TVMFFIObject* copy_map(TVMFFIObject* map) {
  TVMFFIObject* copy = tvmgo_map_new(map->type_index);
  TVMFFIAny key, value;
  uint64_t place = 0;
  while (copy != NULL && tvmgo_map_step(map, &place, &key, &value)) {
    int rc = tvmgo_map_set(&copy, &key, &value);
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
    if (rc == 0) continue;
    tvmgo_object_release(copy);
    copy = NULL;
  }
  return copy;
}

/* Puts an owned value into the entry at a place, unless a callback put another there. */
static void put_entry(TVMFFIObject* map, uint64_t place, const TVMFFIAny* key, TVMFFIAny* value) {
  tvmgo_map_entry* e = tvmgo_map_entry_at(map, place);
  if (e != NULL && tvmgo_is_same(&e->key, key)) swap(&e->value, value);
  tvmgo_any_clear(value);
}

static int mutate_map(tvmgo_mutator* m, TVMFFIObject* map, tvmgo_mutate_mode mode, TVMFFIAny* out) {
  TVMFFIObject* target = mode == TVMGO_IN_PLACE ? map : NULL;
  int rc = 0;
  uint64_t place = tvmgo_map_first(map);
  const tvmgo_map_entry* e;
  for (; rc == 0 && (e = tvmgo_map_entry_at(map, place)) != NULL;
       place = tvmgo_map_after(map, place)) {
    TVMFFIAny key = e->key, old = e->value, value;
    if (tvmgo_any_is_object(&key)) tvmgo_object_retain(key.v_obj);
    rc = tvmgo_mutate(m, &e->value, mode, &value);
    if (rc == 0 && !tvmgo_is_unchanged(&value) && !tvmgo_is_same(&old, &value)) {
      if (target == NULL && (target = copy_map(map)) == NULL) rc = -1;
      if (target == map)
        put_entry(map, place, &key, &value);
      else if (rc == 0)
        rc = tvmgo_map_set(&target, &key, &value);
    }
    tvmgo_any_clear(&value);
    tvmgo_any_clear(&key);
  }
  *out = target == map || target == NULL ? tvmgo_unchanged() : tvmgo_any_object(target);
  return rc;
}

/* ---- Reflected fields ---------------------------------------------------------------------- */

static int shallow_copy(TVMFFIObject* obj, TVMFFIAny* copy) {
  TVMFFIAny hook, self = tvmgo_any_object(obj);
  *copy = tvmgo_any_none();
  if (!tvmgo_hook_find("__ffi_shallow_copy__", obj->type_index, &hook) ||
      hook.type_index != kTVMFFIFunction)
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "mutate: objects of type %s can't be copied: register __ffi_shallow_copy__ "
                       "or __s_mutate__ for the type",
                       tvmgo_type_name(obj->type_index));
  int rc = tvmgo_function_call(hook.v_obj, &self, 1, copy);
  if (rc == 0) rc = tvmgo_mutate_take(*copy, copy);
  if (rc != 0 || (copy->type_index == obj->type_index && copy->v_obj != obj)) return rc;
  tvmgo_any_clear(copy);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "mutate: __ffi_shallow_copy__ of type %s made no copy",
                     tvmgo_type_name(obj->type_index));
}

static int mutate_field(tvmgo_mutator* m, TVMFFIObject* obj, const TVMFFIFieldInfo* f,
                        int* changed) {
  TVMFFIAny old, value;
  if (tvmgo_field_get("mutate", obj, f, &old) != 0) return -1;
  int rc = tvmgo_mutate(m, &old, TVMGO_COPY, &value);
  if (rc == 0 && !tvmgo_is_unchanged(&value) && !tvmgo_is_same(&old, &value)) {
    rc = tvmgo_field_set("mutate", obj, f, &value);
    *changed |= rc == 0;
  }
  tvmgo_any_clear(&value);
  tvmgo_any_clear(&old);
  return rc;
}

static int mutate_fields(tvmgo_mutator* m, TVMFFIObject* obj, TVMFFISEqHashKind kind,
                         TVMFFIAny* out) {
  TVMFFIAny copy;
  if (shallow_copy(obj, &copy) != 0) return -1;
  int32_t outside = m->region, changed = 0, rc = 0;
  if (outside == kTVMFFIDefRegionKindSimple && kind == kTVMFFISEqHashKindFreeVar)
    m->region = kTVMFFIDefRegionKindNone;
  int32_t inside = m->region;
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  for (const TVMFFIFieldInfo* f; rc == 0 && (f = tvmgo_field_next(&w)) != NULL;) {
    m->region = tvmgo_structural_region(inside, f->flags);
    rc = mutate_field(m, copy.v_obj, f, &changed);
    m->region = inside;
  }
  m->region = outside;
  if (rc == 0 && changed) {
    *out = copy;
  } else {
    tvmgo_any_clear(&copy);
    *out = tvmgo_unchanged();
  }
  return rc;
}

/* A variable is rebuilt at its definition; its uses get the replacement. An object of a graph is rebuilt once. */
static int mutate_object(tvmgo_mutator* m, const TVMFFIAny* value, TVMFFIAny* out) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(value->type_index);
  TVMFFISEqHashKind kind = info == NULL || info->metadata == NULL
                               ? kTVMFFISEqHashKindUnsupported
                               : info->metadata->structural_eq_hash_kind;
  int is_variable = kind == kTVMFFISEqHashKindFreeVar, is_node = kind == kTVMFFISEqHashKindDAGNode;
  if (!is_variable && !is_node) return mutate_fields(m, value->v_obj, kind, out);
  int rc = tvmgo_mutate_remap_get(m, value, out);
  if (rc != 0 || out->type_index != kTVMFFINone) return rc;
  if (is_variable && m->region == kTVMFFIDefRegionKindNone) {
    *out = tvmgo_unchanged();
    return 0;
  }
  rc = mutate_fields(m, value->v_obj, kind, out);
  if (rc != 0) return rc;
  /* Uses of an unchanged variable find no replacement and are not changed; a pattern may reach it again. */
  if (!is_node && m->region != kTVMFFIDefRegionKindPattern && tvmgo_is_unchanged(out)) return 0;
  return tvmgo_mutate_remap_set(m, value, out);
}

/* ---- Any value ----------------------------------------------------------------------------- */

static int call_hook(tvmgo_mutator* m, const TVMFFIAny* hook, const TVMFFIAny* value,
                     TVMFFIAny* out) {
  if (hook->type_index == kTVMFFIOpaquePtr)
    return tvmgo_mutate_take(((tvmgo_mutate_call)hook->v_ptr)(m, *value), out);
  TVMFFIAny args[2] = {tvmgo_any_object(m), *value};
  int rc = tvmgo_function_call(hook->v_obj, args, 2, out);
  return rc == 0 ? tvmgo_mutate_take(*out, out) : rc;
}

static int is_callable(const TVMFFIAny* hook) {
  return hook->type_index == kTVMFFIOpaquePtr || hook->type_index == kTVMFFIFunction;
}

static int mutate_by_type(tvmgo_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode,
                          TVMFFIAny* out) {
  TVMFFIAny hook;
  *out = tvmgo_unchanged();
  if (!tvmgo_any_is_object(value)) return 0;
  switch (value->type_index) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
    case kTVMFFIBigInt: return 0;
    case kTVMFFIArray:
    case kTVMFFIList: return mutate_seq(m, value->v_obj, mode, out);
    case kTVMFFIMap:
    case kTVMFFIDict: return mutate_map(m, value->v_obj, mode, out);
    default: break;
  }
  if (mode == TVMGO_IN_PLACE &&
      tvmgo_hook_find("__s_maybe_inplace_mutate__", value->type_index, &hook) && is_callable(&hook))
    return call_hook(m, &hook, value, out);
  if (!tvmgo_hook_find("__s_mutate__", value->type_index, &hook))
    return mutate_object(m, value, out);
  if (is_callable(&hook)) return call_hook(m, &hook, value, out);
  return tvmgo_raise(TVMGO_TYPE_ERROR, "__s_mutate__ must be a function, got %s",
                     tvmgo_type_name(hook.type_index));
}

int tvmgo_mutate_parts(tvmgo_mutator* m, const TVMFFIAny* value, tvmgo_mutate_mode mode,
                       TVMFFIAny* out) {
  int32_t region = m->region;
  int rc = mutate_by_type(m, value, mode, out);
  m->region = region;
  if (rc == 0) return 0;
  tvmgo_any_clear(out);
  tvmgo_visit_context_add(value);
  return rc;
}

/* ---- For mutators of C++ code -------------------------------------------------------------- */

static TVMFFIAny keep(tvmgo_mutator* m, TVMFFIAny value) {
  return tvmgo_unchanged();
}

#define ATTRIBUTE(id, mutate_parts, mode)                       \
  static TVMFFIAny id(tvmgo_mutator* m, TVMFFIAny value) {      \
    TVMFFIAny out;                                              \
    int rc = mutate_parts(m, value.v_obj, mode, &out);          \
    if (rc != 0) tvmgo_any_clear(&out);                         \
    return tvmgo_mutate_give(rc, out);                          \
  }
ATTRIBUTE(copy_seq, mutate_seq, TVMGO_COPY)
ATTRIBUTE(change_seq, mutate_seq, TVMGO_IN_PLACE)
ATTRIBUTE(copy_map_values, mutate_map, TVMGO_COPY)
ATTRIBUTE(change_map_values, mutate_map, TVMGO_IN_PLACE)

void tvmgo_register_mutate_attributes(void) {
  static const TVMFFIByteArray copying = {"__s_mutate__", 12},
                               changing = {"__s_maybe_inplace_mutate__", 26};
  static const struct {
    int32_t type;
    tvmgo_mutate_call copy, change;
  } hooks[] = {
      {kTVMFFIStr, keep, keep},
      {kTVMFFIBytes, keep, keep},
      {kTVMFFIBigInt, keep, keep},
      {kTVMFFIArray, copy_seq, change_seq},
      {kTVMFFIList, copy_seq, change_seq},
      {kTVMFFIMap, copy_map_values, change_map_values},
      {kTVMFFIDict, copy_map_values, change_map_values},
  };
  for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
    TVMFFIAny copy = tvmgo_any_ptr((void*)hooks[i].copy);
    TVMFFIAny change = tvmgo_any_ptr((void*)hooks[i].change);
    if (TVMFFITypeRegisterAttr(hooks[i].type, &copying, &copy) != 0 ||
        TVMFFITypeRegisterAttr(hooks[i].type, &changing, &change) != 0)
      abort();
  }
}
