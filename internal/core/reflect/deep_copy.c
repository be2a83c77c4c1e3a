/* Deep copies of values (ffi.DeepCopy).
 *
 * A copy is put into the table before its children are copied, and filled in as they are: shared objects stay shared,
 * and a value that contains itself is copied to one that does. Only new Arrays and Maps without other owners are
 * changed. */
#include "reflect/enum.h"
#include "container/list.h"
#include "container/map_internal.h"
#include "reflect/recursive.h"

#include <stdlib.h>

typedef struct {
  const char* op;
  tvmgo_visited seen; /* value is the copy */
  int level;
} copier;

static int copy_any(copier* c, const TVMFFIAny* v, TVMFFIAny* out);

/* Adds obj's copy (consumed; NULL: an error was raised) to the table. */
static TVMFFIObject* know(copier* c, TVMFFIObject* obj, TVMFFIObject* copy) {
  if (copy == NULL) return NULL;
  tvmgo_visited_entry* e = tvmgo_visited_add(&c->seen, obj, NULL);
  if (e == NULL) {
    tvmgo_object_release(copy);
    return NULL;
  }
  e->value = tvmgo_any_object(copy);
  return copy;
}

/* An Array of n Nones. */
static TVMFFIObject* array_of(int64_t n) {
  TVMFFIAny* nones = calloc((size_t)n + 1, sizeof *nones);
  TVMFFIObject* array = nones == NULL ? NULL : tvmgo_array_new(nones, n);
  if (nones == NULL) tvmgo_raise_oom();
  free(nones);
  return array;
}

static TVMFFIObject* copy_array(copier* c, TVMFFIObject* array) {
  int64_t n = tvmgo_seq_cell(array)->size;
  TVMFFIObject* copy = know(c, array, array_of(n));
  if (copy == NULL) return NULL;
  TVMFFIAny* items = tvmgo_seq_cell(copy)->data;
  TVMFFIAny item;
  for (int64_t i = 0; i < n && tvmgo_seq_step(array, i, &item); i++) {
    int rc = copy_any(c, &item, &items[i]);
    tvmgo_any_clear(&item);
    if (rc != 0) return NULL;
  }
  return copy;
}

static TVMFFIObject* copy_list(copier* c, TVMFFIObject* list) {
  TVMFFIObject* copy = know(c, list, tvmgo_list_new(NULL, 0));
  if (copy == NULL || tvmgo_list_reserve(copy, tvmgo_seq_cell(list)->size) != 0) return NULL;
  TVMFFIAny item, made;
  for (int64_t i = 0; tvmgo_seq_step(list, i, &item); i++) {
    int rc = copy_any(c, &item, &made);
    tvmgo_any_clear(&item);
    if (rc == 0) {
      int64_t size = tvmgo_seq_cell(copy)->size;
      rc = tvmgo_list_replace(copy, size, size, &made, 1);
      tvmgo_any_clear(&made);
    }
    if (rc != 0) return NULL;
  }
  return copy;
}

/* Sets an entry of a copy; of a Map as well in place, although the table holds it too. */
static int put(TVMFFIObject* map, const TVMFFIAny* key, const TVMFFIAny* value) {
  int32_t type = map->type_index;
  map->type_index = kTVMFFIDict;
  int rc = tvmgo_map_set(&map, key, value);
  map->type_index = type;
  return rc;
}

static TVMFFIObject* copy_map(copier* c, TVMFFIObject* map) {
  TVMFFIObject* copy = know(c, map, tvmgo_map_new(map->type_index));
  if (copy == NULL) return NULL;
  TVMFFIAny key, value;
  for (uint64_t place = 0; tvmgo_map_step(map, &place, &key, &value);) {
    TVMFFIAny k, v;
    int rc = copy_any(c, &key, &k);
    if (rc == 0) {
      rc = copy_any(c, &value, &v);
      if (rc == 0) {
        rc = put(copy, &k, &v);
        tvmgo_any_clear(&v);
      }
      tvmgo_any_clear(&k);
    }
    tvmgo_any_clear(&key);
    tvmgo_any_clear(&value);
    if (rc != 0) return NULL;
  }
  return copy;
}

/* A shallow copy by the type's own function. */
static TVMFFIObject* shallow_copy(copier* c, TVMFFIObject* obj) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(obj->type_index);
  TVMFFIAny f, arg = tvmgo_any_object(obj), copy = tvmgo_any_none();
  if (!tvmgo_hook_find("__ffi_shallow_copy__", obj->type_index, &f) ||
      f.type_index != kTVMFFIFunction) {
    tvmgo_raise(TVMGO_RUNTIME_ERROR,
                "%s: objects of type %s cannot be copied: the type registers no "
                "__ffi_shallow_copy__, as C++ types do that are not copy-constructible",
                c->op, info == NULL ? "(not registered)" : info->type_key.data);
    return NULL;
  }
  if (tvmgo_function_call(f.v_obj, &arg, 1, &copy) != 0) return NULL;
  if (copy.type_index == obj->type_index) return copy.v_obj;
  tvmgo_raise(TVMGO_TYPE_ERROR, "%s: __ffi_shallow_copy__ of type %s returned a %s", c->op,
              info->type_key.data, tvmgo_type_name(copy.type_index));
  tvmgo_any_clear(&copy);
  return NULL;
}

static TVMFFIObject* copy_reflected(copier* c, TVMFFIObject* obj) {
  TVMFFIObject* copy = know(c, obj, shallow_copy(c, obj));
  if (copy == NULL) return NULL;
  tvmgo_field_walk w = tvmgo_fields(obj->type_index, 0);
  for (const TVMFFIFieldInfo* f; (f = tvmgo_field_next(&w)) != NULL;) {
    TVMFFIAny value, made;
    if (tvmgo_field_get(c->op, obj, f, &value) != 0) return NULL;
    int rc = copy_any(c, &value, &made);
    if (rc == 0) {
      if (made.v_uint64 != value.v_uint64) rc = tvmgo_field_set(c->op, copy, f, &made);
      tvmgo_any_clear(&made);
    }
    tvmgo_any_clear(&value);
    if (rc != 0) return NULL;
  }
  return copy;
}

static int copy_any(copier* c, const TVMFFIAny* v, TVMFFIAny* out) {
  int32_t type = v->type_index;
  if (!tvmgo_any_is_object(v) || type == kTVMFFIStr || type == kTVMFFIBytes ||
      type == kTVMFFIShape || type == kTVMFFIBigInt || tvmgo_is_enum(type)) /* a member of an enumeration is unique */
    return TVMFFIAnyViewToOwnedAny(v, out);
  const tvmgo_visited_entry* e = tvmgo_visited_find(&c->seen, v->v_obj, NULL);
  if (e != NULL) return TVMFFIAnyViewToOwnedAny(&e->value, out);
  if (tvmgo_level_enter(c->op, &c->level) != 0) return -1;
  TVMFFIObject* copy = type == kTVMFFIArray                          ? copy_array(c, v->v_obj)
                       : type == kTVMFFIList                         ? copy_list(c, v->v_obj)
                       : type == kTVMFFIMap || type == kTVMFFIDict   ? copy_map(c, v->v_obj)
                                                                     : copy_reflected(c, v->v_obj);
  c->level--;
  if (copy == NULL) return -1;
  tvmgo_object_retain(copy); /* the table keeps its own reference */
  *out = tvmgo_any_object(copy);
  return 0;
}

/* Clears unfinished copies: those that contain themselves would never be freed. */
static void abandon(copier* c) {
  for (uint32_t i = 0; i < c->seen.size; i++) {
    TVMFFIObject* copy = c->seen.entries[i].value.v_obj;
    TVMFFISeqCell* cell = tvmgo_seq_cell(copy);
    switch (copy->type_index) {
      case kTVMFFIArray:
        for (int64_t k = 0; k < cell->size; k++) tvmgo_any_clear((TVMFFIAny*)cell->data + k);
        break;
      case kTVMFFIList:
        while (cell->size > 0 &&
               tvmgo_list_replace(copy, cell->size - 1, cell->size, NULL, 0) == 0) {
        }
        break;
      case kTVMFFIMap:
      case kTVMFFIDict: {
        int32_t type = copy->type_index;
        copy->type_index = kTVMFFIDict;
        tvmgo_map_clear(copy);
        copy->type_index = type;
        break;
      }
      default: break;
    }
  }
}

int tvmgo_deep_copy(const char* op, const TVMFFIAny* v, TVMFFIAny* copy) {
  copier c = {.op = op};
  int rc = copy_any(&c, v, copy);
  if (rc != 0) {
    *copy = tvmgo_any_none();
    abandon(&c);
  }
  tvmgo_visited_free(&c.seen);
  return rc;
}
