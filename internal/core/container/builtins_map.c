/* Global functions about maps and dicts (docs/abi.md B.13), with their classic names (A.6). */
#include "container/builtins.h"
#include "container/map_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int map_make_of(const char* fname, int32_t type_index, const TVMFFIAny* args, int32_t n,
                       TVMFFIAny* result) {
  if (n % 2 != 0)
    return tvmgo_raise(TVMGO_TYPE_ERROR,
                       "%s: expected alternating keys and values, got %d arguments: the last key has "
                       "no value",
                       fname, (int)n);
  TVMFFIObject* map = tvmgo_map_new(type_index);
  if (map == NULL) return -1;
  for (int32_t i = 0; i < n; i += 2) {
    if (tvmgo_map_set(&map, &args[i], &args[i + 1]) != 0) {
      tvmgo_object_release(map);
      return -1;
    }
  }
  return tvmgo_give_new(map, result);
}

static int map_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return map_make_of(fname, kTVMFFIMap, args, n, result);
}

static int dict_make(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return map_make_of(fname, kTVMFFIDict, args, n, result);
}

/* The same bodies serve Map and Dict: the word after the dot in the name says which is expected. The compiler evaluates
 * it: bodies that are called often are inline in each of their entry points. */
#define BODY static inline __attribute__((always_inline)) int

BODY map_arg(const char* fname, const TVMFFIAny* args, int32_t n, int32_t want,
                   TVMFFIObject** map) {
  const char* dot = strchr(fname, '.');
  int32_t type = strncmp(dot + 1, "Dict", 4) == 0 ? kTVMFFIDict : kTVMFFIMap;
  void* object;
  if (TVMGO_LIKELY(n == want && args[0].type_index == type && args[0].v_obj != NULL)) {
    *map = args[0].v_obj;
    return 0;
  }
  if (tvmgo_check_count(fname, n, want, want) != 0 ||
      tvmgo_arg_object(fname, args, 0, type, &object) != 0)
    return -1;
  *map = object;
  return 0;
}

__attribute__((cold)) static int no_key(const char* fname, const TVMFFIAny* key) {
  TVMFFIByteArray text;
  if (tvmgo_any_text(key, &text))
    return tvmgo_raise(TVMGO_KEY_ERROR, "%s: there is no key \"%.*s\"", fname,
                       (int)(text.size < 200 ? text.size : 200), text.data);
  switch (key->type_index) {
    case kTVMFFINone:
      return tvmgo_raise(TVMGO_KEY_ERROR, "%s: there is no key None", fname);
    case kTVMFFIInt:
      return tvmgo_raise(TVMGO_KEY_ERROR, "%s: there is no key %" PRId64, fname, key->v_int64);
    case kTVMFFIBool:
      return tvmgo_raise(TVMGO_KEY_ERROR, "%s: there is no key %s", fname,
                         key->v_int64 ? "True" : "False");
    case kTVMFFIFloat:
      return tvmgo_raise(TVMGO_KEY_ERROR, "%s: there is no key %.17g", fname, key->v_float64);
    default:
      return tvmgo_raise(TVMGO_KEY_ERROR, "%s: there is no such key of type %s", fname,
                         tvmgo_type_name(key->type_index));
  }
}

BODY map_get_item(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* map;
  const TVMFFIAny* value;
  if (map_arg(fname, args, n, 2, &map) != 0) return -1;
  int found = tvmgo_map_find(map, &args[1], &value);
  if (found < 0) return -1;
  return found ? tvmgo_give(value, result) : no_key(fname, &args[1]);
}

BODY map_get_or_missing(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* map;
  const TVMFFIAny* value;
  if (map_arg(fname, args, n, 2, &map) != 0) return -1;
  int found = tvmgo_map_find(map, &args[1], &value);
  if (found < 0) return -1;
  TVMFFIAny none = tvmgo_any_object(&tvmgo_missing_object);
  return tvmgo_give(found ? value : &none, result);
}

BODY map_count(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* map;
  const TVMFFIAny* value;
  if (map_arg(fname, args, n, 2, &map) != 0) return -1;
  int found = tvmgo_map_find(map, &args[1], &value);
  if (found < 0) return -1;
  *result = tvmgo_any_int(found);
  return 0;
}

BODY map_size(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* map;
  if (map_arg(fname, args, n, 1, &map) != 0) return -1;
  *result = tvmgo_any_int(tvmgo_map_size(map));
  return 0;
}

static int map_items(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* map;
  if (map_arg(fname, args, n, 1, &map) != 0) return -1;
  size_t size = (size_t)tvmgo_map_size(map), i = 0;
  TVMFFIAny* views = malloc(2 * size * sizeof *views + 1);
  if (views == NULL) return tvmgo_raise_oom();
  const TVMFFIAny *key, *value;
  for (void* cursor = NULL; i < size && tvmgo_map_next(map, &cursor, &key, &value); i++) {
    views[2 * i] = *key;
    views[2 * i + 1] = *value;
  }
  int rc = tvmgo_give_new(tvmgo_array_new(views, (int64_t)(2 * i)), result);
  free(views);
  return rc;
}

static int dict_set_item(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* dict;
  if (map_arg(fname, args, n, 3, &dict) != 0) return -1;
  return tvmgo_map_set(&dict, &args[1], &args[2]);
}

static int dict_erase(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* dict;
  if (map_arg(fname, args, n, 2, &dict) != 0) return -1;
  return tvmgo_map_erase(&dict, &args[1]) < 0 ? -1 : 0;
}

static int dict_clear(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* dict;
  if (map_arg(fname, args, n, 1, &dict) != 0) return -1;
  return tvmgo_map_clear(dict);
}

/* ---- Iterating: a function that walks one map ---------------------------------------------- */

typedef struct {
  TVMFFIObject* map;
  _Atomic uint64_t place;
} walk;

static void walk_free(void* self) {
  tvmgo_object_release(((walk*)self)->map);
  free(self);
}

static const char walk_name[] = "map iterator";

static int walk_step(walk* w, int64_t what, TVMFFIAny* result) {
  uint64_t place = atomic_load_explicit(&w->place, memory_order_relaxed);
  const tvmgo_map_entry* entry = tvmgo_map_entry_at(w->map, place);
  if (TVMGO_UNLIKELY(entry == NULL))
    return tvmgo_raise(TVMGO_INDEX_ERROR,
                       "%s: there is no entry here: the map ended or was changed", walk_name);
  switch (what) {
    case 0: return tvmgo_give(&entry->key, result);
    case 1: return tvmgo_give(&entry->value, result);
    case 2:
      place = tvmgo_map_after_entry(w->map, place, entry);
      atomic_store_explicit(&w->place, place, memory_order_relaxed);
      *result = tvmgo_any_bool(place != 0);
      return 0;
    default:
      return tvmgo_raise(TVMGO_VALUE_ERROR,
                         "%s: argument 0 must be 0 (key), 1 (value) or 2 (advance), got %" PRId64,
                         walk_name, what);
  }
}

static int walk_checked(walk* w, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int64_t what;
  if (tvmgo_check_count(walk_name, n, 1, 1) != 0 || tvmgo_arg_int(walk_name, args, 0, &what) != 0)
    return -1;
  return walk_step(w, what, result);
}

static int walk_call(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (TVMGO_LIKELY(n == 1 && args[0].type_index == kTVMFFIInt))
    return walk_step(self, args[0].v_int64, result);
  return walk_checked(self, args, n, result);
}

static int map_walk(const char* fname, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIObject* map;
  if (map_arg(fname, args, n, 1, &map) != 0) return -1;
  walk* w = malloc(sizeof *w);
  if (w == NULL) return tvmgo_raise_oom();
  w->map = map;
  atomic_init(&w->place, tvmgo_map_first(map));
  TVMFFIObjectHandle f;
  if (TVMFFIFunctionCreate(w, walk_call, walk_free, &f) != 0) {
    free(w);
    return -1;
  }
  tvmgo_object_retain(map);
  return tvmgo_give_new(f, result);
}

/* ---- Names --------------------------------------------------------------------------------- */

#define BUILTINS(X)                                                           \
  X(ffi_map, "ffi.Map", map_make)                                             \
  X(ffi_map_get_item, "ffi.MapGetItem", map_get_item)                         \
  X(ffi_map_get_or_missing, "ffi.MapGetItemOrMissing", map_get_or_missing)    \
  X(ffi_map_count, "ffi.MapCount", map_count)                                 \
  X(ffi_map_size, "ffi.MapSize", map_size)                                    \
  X(ffi_map_walk, "ffi.MapForwardIterFunctor", map_walk)                      \
  X(ffi_dict, "ffi.Dict", dict_make)                                          \
  X(ffi_dict_get_item, "ffi.DictGetItem", map_get_item)                       \
  X(ffi_dict_get_or_missing, "ffi.DictGetItemOrMissing", map_get_or_missing)  \
  X(ffi_dict_count, "ffi.DictCount", map_count)                               \
  X(ffi_dict_size, "ffi.DictSize", map_size)                                  \
  X(ffi_dict_walk, "ffi.DictForwardIterFunctor", map_walk)                    \
  X(ffi_dict_set_item, "ffi.DictSetItem", dict_set_item)                      \
  X(ffi_dict_erase, "ffi.DictErase", dict_erase)                              \
  X(ffi_dict_clear, "ffi.DictClear", dict_clear)                              \
  X(old_map, "runtime.Map", map_make)                                         \
  X(old_map_get_item, "runtime.MapGetItem", map_get_item)                     \
  X(old_map_count, "runtime.MapCount", map_count)                             \
  X(old_map_items, "runtime.MapItems", map_items)                             \
  X(old_map_size, "runtime.MapSize", map_size)

BUILTINS(TVMGO_BUILTIN_DEFINE)

void tvmgo_register_map_builtins(void) { BUILTINS(TVMGO_BUILTIN_REGISTER) }
