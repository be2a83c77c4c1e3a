/* Maps, by global functions: lookups of present and of absent keys, a walk over all entries, creating a map of 1000
 * entries.
 *
 * As in a program that computes its keys, a lookup uses a key that is equal to the key in the map but a different
 * object, and keys come in random order. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 4, SOME = 1000, MANY = 100000 };

typedef TVMFFIAny (*make_key)(int64_t i);

/* A string of 9 to 14 bytes, which is too long to be stored in the value itself. The caller owns it. */
static TVMFFIAny str_key(int64_t i) {
  char text[32];
  TVMFFIByteArray bytes = {text, (size_t)snprintf(text, sizeof text, "key no. %lld", (long long)i)};
  TVMFFIAny key;
  bench_check(TVMFFIStringFromByteArray(&bytes, &key), "make a key");
  return key;
}

static TVMFFIAny int_key(int64_t i) { return bench_int(i * 7); }

/* A map and the keys for lookups in it, whose number is a power of two. A batch continues where the previous one ended:
 * otherwise a short batch would only use a few keys, all of them in the cache. */
typedef struct {
  TVMFFIAny map, *hits, *misses;
  size_t mask, next;
} table;

static TVMFFIObjectHandle get_item, count, walk, make_map;

static void prepare_functions(void) {
  if (get_item != NULL) return;
  get_item = bench_global("ffi.MapGetItem");
  count = bench_global("ffi.MapCount");
  walk = bench_global("ffi.MapForwardIterFunctor");
  make_map = bench_global("ffi.Map");
}

/* Alternating keys and values; the value of key i is i. */
static TVMFFIAny* entries(make_key key, int64_t n) {
  TVMFFIAny* e = malloc((size_t)(2 * n) * sizeof *e);
  bench_check(e == NULL, "allocate");
  for (int64_t i = 0; i < n; i++) {
    e[2 * i] = key(i);
    e[2 * i + 1] = bench_int(i);
  }
  return e;
}

static void prepare(table* t, make_key key, int64_t n) {
  uint32_t random = 1;
  prepare_functions();
  if (t->hits != NULL) return;
  TVMFFIAny* e = entries(key, n);
  t->map = bench_call(make_map, e, (int32_t)(2 * n));
  for (int64_t i = 0; i < n; i++) bench_release(e[2 * i]);
  free(e);
  size_t keys = 4;
  while (keys < (size_t)n) keys *= 2;
  t->mask = keys - 1;
  t->hits = malloc(2 * keys * sizeof *t->hits);
  bench_check(t->hits == NULL, "allocate");
  t->misses = t->hits + keys;
  for (size_t i = 0; i < keys; i++) {
    random = random * 1664525 + 1013904223;
    int64_t which = (int64_t)(((uint64_t)random * (uint64_t)n) >> 32);
    t->hits[i] = key(which);
    t->misses[i] = key(which + n);
    TVMFFIAny args[2] = {t->map, t->hits[i]};
    if (bench_call(get_item, args, 2).v_int64 != which) bench_fail("the map has a wrong value");
    args[1] = t->misses[i];
    if (bench_call(count, args, 2).v_int64 != 0) bench_fail("found an absent key");
  }
}

static void look_up(TVMFFIObjectHandle f, table* t, const TVMFFIAny* keys, int64_t n) {
  TVMFFIAny args[2] = {t->map}, result;
  for (size_t i = t->next, end = t->next += (size_t)n; i < end; i++) {
    args[1] = keys[i & t->mask];
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(f, args, 2, &result), "look a key up");
  }
}

#define TABLE(name, key, size)                                                 \
  static table name;                                                           \
  static void prepare_##name(void) { prepare(&name, key, size); }              \
  static void hit_##name(int64_t n) { look_up(get_item, &name, name.hits, n); } \
  static void miss_##name(int64_t n) { look_up(count, &name, name.misses, n); }

TABLE(str_few, str_key, FEW)
TABLE(str_some, str_key, SOME)
TABLE(str_many, str_key, MANY)
TABLE(int_few, int_key, FEW)
TABLE(int_some, int_key, SOME)
TABLE(int_many, int_key, MANY)

/* Reads every key and every value of the map of 1000 entries as the Python package does. */
static void walk_all(int64_t n) {
  TVMFFIAny key_of = bench_int(0), value_of = bench_int(1), advance = bench_int(2);
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny step = bench_call(walk, &str_some.map, 1);
    int64_t seen = 0;
    do {
      bench_release(bench_call(step.v_obj, &key_of, 1));
      bench_release(bench_call(step.v_obj, &value_of, 1));
      seen++;
    } while (bench_call(step.v_obj, &advance, 1).v_int64 != 0);
    if (seen != SOME) bench_fail("the walk missed entries");
    bench_release(step);
  }
}

static TVMFFIAny *str_entries, *int_entries;

static void prepare_entries(void) {
  prepare_functions();
  if (str_entries == NULL) str_entries = entries(str_key, SOME);
  if (int_entries == NULL) int_entries = entries(int_key, SOME);
}

static void make_str(int64_t n) {
  for (int64_t i = 0; i < n; i++) bench_release(bench_call(make_map, str_entries, 2 * SOME));
}
static void make_int(int64_t n) {
  for (int64_t i = 0; i < n; i++) bench_release(bench_call(make_map, int_entries, 2 * SOME));
}

const bench_row bench_map_rows[] = {
    {"map-str-4", prepare_str_few, hit_str_few},
    {"map-str-1000", prepare_str_some, hit_str_some},
    {"map-str-100000", prepare_str_many, hit_str_many},
    {"map-int-4", prepare_int_few, hit_int_few},
    {"map-int-1000", prepare_int_some, hit_int_some},
    {"map-int-100000", prepare_int_many, hit_int_many},
    {"map-miss-str-4", prepare_str_few, miss_str_few},
    {"map-miss-str-1000", prepare_str_some, miss_str_some},
    {"map-miss-str-100000", prepare_str_many, miss_str_many},
    {"map-miss-int-4", prepare_int_few, miss_int_few},
    {"map-miss-int-1000", prepare_int_some, miss_int_some},
    {"map-miss-int-100000", prepare_int_many, miss_int_many},
    {"map-walk", prepare_str_some, walk_all},
    {"map-make-str", prepare_entries, make_str},
    {"map-make-int", prepare_entries, make_int},
    {0},
};
