/* Package container: maps, dicts, lists, big integers, and hash and equality of values as keys.
 *
 * Depends on object and call. The layouts are those that C++ users of tvm-ffi inline (docs/abi.md B.1, B.10, B.11):
 * they read and write the containers directly. Owns what it stores: keys, values and elements are converted to owned
 * values. Maps and arrays do not change once they are shared. A List or a Dict changes in place; two threads must not
 * use it at once. Holds no lock. A hash or an equality that a type registers may run foreign code, and so may a
 * release: both happen only while the container is consistent.
 *
 * builtins_*.c register the global functions about all of these, and about strings and shapes. */
#pragma once

#include "call/call.h"

/* map.c: insertion-ordered hash map (type index kTVMFFIMap, or kTVMFFIDict). */
TVMFFIObject* tvmgo_map_new(int32_t type_index);
/* Sets key to value (views, converted to owned). *map may be replaced when it has to grow; the
 * caller's reference moves with it. */
int tvmgo_map_set(TVMFFIObject** map, const TVMFFIAny* key, const TVMFFIAny* value);
/* The stored value, borrowed, or NULL. */
const TVMFFIAny* tvmgo_map_get(TVMFFIObject* map, const TVMFFIAny* key);
int64_t tvmgo_map_size(TVMFFIObject* map);
/* Iterates in insertion order: *cursor starts at NULL; returns 0 at the end. */
int tvmgo_map_next(TVMFFIObject* map, void** cursor, const TVMFFIAny** key,
                   const TVMFFIAny** value);

uint64_t tvmgo_any_hash(const TVMFFIAny* v);
int tvmgo_any_equal(const TVMFFIAny* a, const TVMFFIAny* b);

/* The object that means "no value" (ffi.GetInvalidObject). */
extern TVMFFIObject tvmgo_missing_object;
/* The object after which names and values alternate (ffi.GetKwargsObject). */
extern TVMFFIObject tvmgo_kwargs_object;
