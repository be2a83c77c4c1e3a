/* Maps and dicts: content, order, layout, sharing. */
#include "ctest/check.h"

#include <pthread.h>
#include <stdlib.h>

#include "container/map_internal.h"

static TVMFFIAny raw(const char* s) {
  return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = s};
}

/* Key i of the tests: half are integers, half are strings of several lengths. */
static TVMFFIAny key_of(int i, char buf[32]) {
  if (i % 2 == 0) return tvmgo_any_int(i);
  snprintf(buf, 32, "%s%d", i % 3 == 0 ? "a longer key " : "k", i);
  return raw(buf);
}

/* Every rule of the layout that C++ code relies on. Returns the number of entries in the order. */
static int64_t check_map_whole(TVMFFIObject* map) {
  const tvmgo_map* m = (const tvmgo_map*)map;
  if (tvmgo_map_is_small(m)) {
    CHECK(m->size <= tvmgo_map_capacity(m));
    return (int64_t)m->size;
  }
  CHECK(m->slots >= 2 && (m->slots & (m->slots - 1)) == 0);
  CHECK_EQ_INT(m->fib_shift, 64 - __builtin_ctzll(m->slots));
  CHECK(m->data_deleter != NULL);
  uint64_t live = 0, listed = 0, before = TVMGO_MAP_NONE;
  for (uint64_t s = 0; s < (m->slots + 15) / 16 * 16; s++) {
    uint8_t meta = *tvmgo_map_meta(m, s);
    CHECK(meta != TVMGO_MAP_RESERVED);
    if (meta == TVMGO_MAP_EMPTY) continue;
    CHECK(s < m->slots);
    live++;
  }
  for (uint64_t s = m->head; s != TVMGO_MAP_NONE; s = tvmgo_map_item_at(m, s)->next) {
    CHECK(tvmgo_map_live(m, s));
    CHECK_EQ_INT(tvmgo_map_item_at(m, s)->prev, before);
    before = s;
    if (++listed > m->size) break;
  }
  CHECK_EQ_INT(m->tail, before);
  CHECK_EQ_INT(live, m->size);
  CHECK_EQ_INT(listed, m->size);
  return (int64_t)listed;
}

static void check_map_of(int32_t type, int n) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  char buf[32];
  TVMFFIObject* map = tvmgo_map_new(type);
  REQUIRE(map != NULL);
  CHECK_EQ_INT(map->type_index, type);
  for (int i = 0; i < n; i++) {
    TVMFFIAny key = key_of(i, buf), value = tvmgo_any_int(i * 10);
    REQUIRE(tvmgo_map_set(&map, &key, &value) == 0);
  }
  CHECK_EQ_INT(tvmgo_map_size(map), n);
  CHECK_EQ_INT(check_map_whole(map), n);
  CHECK_EQ_INT(tvmgo_map_is_small((tvmgo_map*)map), n <= 4);

  void* cursor = NULL; /* in the order of insertion */
  const TVMFFIAny *k, *v;
  int at = 0;
  for (; tvmgo_map_next(map, &cursor, &k, &v); at++) {
    TVMFFIAny key = key_of(at, buf);
    if (!tvmgo_any_equal(k, &key) || v->v_int64 != at * 10) {
      CHECK_EQ_INT(v->v_int64, at * 10);
      break;
    }
  }
  CHECK_EQ_INT(at, n);
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    TVMFFIAny key = key_of(i, buf);
    v = tvmgo_map_get(map, &key);
    if (v == NULL || v->v_int64 != i * 10) wrong++;
  }
  CHECK_EQ_INT(wrong, 0);
  TVMFFIAny absent = raw("absent");
  CHECK_EQ_PTR(tvmgo_map_get(map, &absent), NULL);

  for (int i = 0; i < n; i += 3) { /* erase every third, twice */
    TVMFFIAny key = key_of(i, buf);
    CHECK_EQ_INT(tvmgo_map_erase(&map, &key), 1);
    CHECK_EQ_INT(tvmgo_map_erase(&map, &key), 0);
  }
  CHECK_EQ_INT(check_map_whole(map), n - (n + 2) / 3);
  for (int i = 0; i < n; i++) {
    TVMFFIAny key = key_of(i, buf);
    v = tvmgo_map_get(map, &key);
    if ((v != NULL) != (i % 3 != 0)) wrong++;
  }
  CHECK_EQ_INT(wrong, 0);
  for (int i = 0; i < n; i += 3) { /* and put them back */
    TVMFFIAny key = key_of(i, buf), value = raw("a value on the heap");
    REQUIRE(tvmgo_map_set(&map, &key, &value) == 0);
  }
  CHECK_EQ_INT(check_map_whole(map), n);
  tvmgo_object_release(map);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_map_sizes(void) {
  static const int sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 100000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_map_of(kTVMFFIMap, sizes[i]);
    check_map_of(kTVMFFIDict, sizes[i]);
  }
}

static void test_map_random_changes(void) {
  enum { KEYS = 600, STEPS = 40000 };
  static int value_of[KEYS]; /* 0 = absent */
  memset(value_of, 0, sizeof value_of);
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIDict);
  REQUIRE(map != NULL);
  uint64_t seed = 88172645463325252u;
  char buf[32];
  int present = 0;
  for (int step = 1; step <= STEPS; step++) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    int i = (int)(seed % KEYS);
    TVMFFIAny key = key_of(i, buf), value = tvmgo_any_int(step);
    if ((seed >> 32) % 5 < 2) {
      CHECK_EQ_INT(tvmgo_map_erase(&map, &key), value_of[i] != 0);
      present -= value_of[i] != 0;
      value_of[i] = 0;
    } else {
      CHECK_OK(tvmgo_map_set(&map, &key, &value));
      present += value_of[i] == 0;
      value_of[i] = step;
    }
    if (step % 1000 == 0) CHECK_EQ_INT(check_map_whole(map), present);
  }
  for (int i = 0; i < KEYS; i++) {
    TVMFFIAny key = key_of(i, buf);
    const TVMFFIAny* v = tvmgo_map_get(map, &key);
    CHECK_EQ_INT(v == NULL ? 0 : v->v_int64, value_of[i]);
  }
  void* cursor = NULL; /* a value that is set later comes later */
  const TVMFFIAny *k, *v;
  int64_t last = 0;
  while (tvmgo_map_next(map, &cursor, &k, &v)) {
    CHECK(v->v_int64 > last);
    last = v->v_int64;
  }
  tvmgo_object_release(map);
}

static void expect_order(TVMFFIObject* map, const char* want) {
  char got[64] = "";
  void* cursor = NULL;
  const TVMFFIAny *k, *v;
  while (tvmgo_map_next(map, &cursor, &k, &v)) {
    size_t n = strlen(got);
    snprintf(got + n, sizeof got - n, "%d", (int)k->v_int64);
  }
  CHECK_STR(got, want);
}

static void set_int(TVMFFIObject** map, int key, int value) {
  TVMFFIAny k = tvmgo_any_int(key), v = tvmgo_any_int(value);
  CHECK_OK(tvmgo_map_set(map, &k, &v));
}

static void test_map_order_after_replacing(void) {
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  for (int i = 1; i <= 3; i++) set_int(&map, i, i);
  set_int(&map, 1, 9);
  expect_order(map, "123"); /* the row keeps its order */
  set_int(&map, 4, 4);
  CHECK(tvmgo_map_is_small((tvmgo_map*)map));
  set_int(&map, 2, 8); /* a full row becomes dense even for a key it has */
  CHECK(!tvmgo_map_is_small((tvmgo_map*)map));
  CHECK_EQ_INT(((tvmgo_map*)map)->slots, 8);
  expect_order(map, "1342");
  set_int(&map, 3, 8);
  expect_order(map, "1423");
  set_int(&map, 3, 7);
  expect_order(map, "1423");
  tvmgo_object_release(map);
}

static void test_map_copy_on_write(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (int n = 0; n <= 40; n += 4) {
    TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
    for (int i = 0; i < n; i++) {
      TVMFFIAny k = tvmgo_any_int(i), v = raw("a value on the heap");
      CHECK_OK(tvmgo_map_set(&map, &k, &v));
    }
    TVMFFIObject* shared = map;
    tvmgo_object_retain(shared);
    set_int(&map, 1000, 1);
    CHECK(map != shared);
    CHECK_EQ_INT(tvmgo_map_size(shared), n);
    CHECK_EQ_INT(tvmgo_map_size(map), n + 1);
    CHECK_EQ_INT(check_map_whole(shared), n);
    CHECK_EQ_INT(check_map_whole(map), n + 1);
    TVMFFIObject* own = map;
    set_int(&map, 1000, 2);
    CHECK_EQ_PTR(map, own); /* held alone: changed in place */
    tvmgo_object_retain(map);
    TVMFFIAny k = tvmgo_any_int(1000), absent = tvmgo_any_int(-5);
    CHECK_EQ_INT(tvmgo_map_erase(&map, &absent), 0);
    CHECK_EQ_PTR(map, own);
    CHECK_EQ_INT(tvmgo_map_erase(&map, &k), 1);
    CHECK(map != own);
    CHECK_EQ_INT(tvmgo_map_size(own), n + 1);
    tvmgo_object_release(own);
    tvmgo_object_release(map);
    tvmgo_object_release(shared);
  }
  TVMFFIObject* dict = tvmgo_map_new(kTVMFFIDict);
  TVMFFIObject* other = dict;
  tvmgo_object_retain(other);
  for (int i = 0; i < 40; i++) set_int(&dict, i, i);
  CHECK_EQ_PTR(dict, other); /* a Dict changes for everyone */
  CHECK_EQ_INT(tvmgo_map_size(other), 40);
  CHECK_OK(tvmgo_map_clear(dict));
  CHECK_EQ_INT(tvmgo_map_size(other), 0);
  CHECK_EQ_INT(check_map_whole(other), 0);
  set_int(&dict, 3, 3);
  expect_order(other, "3");
  tvmgo_object_release(dict);
  tvmgo_object_release(other);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* A table that another program moved its contents out of: dense, no slots, no data. */
static void test_map_emptied_by_others(void) {
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIDict);
  tvmgo_map* m = (tvmgo_map*)map;
  m->data = NULL;
  m->slots = 0;
  TVMFFIAny key = tvmgo_any_int(1);
  CHECK_EQ_PTR(tvmgo_map_get(map, &key), NULL);
  CHECK_EQ_INT(tvmgo_map_erase(&map, &key), 0);
  set_int(&map, 1, 1);
  expect_order(map, "1");
  tvmgo_object_release(map);
}

static TVMFFIAny same_hash(const TVMFFIAny* v) {
  (void)v;
  return tvmgo_any_int(42);
}
static TVMFFIAny by_address(const TVMFFIAny* a, const TVMFFIAny* b) {
  return tvmgo_any_bool(a->v_obj == b->v_obj);
}
static int failing_hash(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  return tvmgo_raise(TVMGO_RUNTIME_ERROR, "no hash today");
}

static int32_t new_type(const char* key) {
  TVMFFIByteArray k = {key, strlen(key)};
  return TVMFFITypeGetOrAllocIndex(&k, -1, 1, 0, 1, kTVMFFIObject);
}

static void register_attr(int32_t type, const char* name, TVMFFIAny value) {
  TVMFFIByteArray n = {name, strlen(name)};
  CHECK_OK(TVMFFITypeRegisterAttr(type, &n, &value));
}

/* All keys in one chain, with keys of other home slots in between: chains must be moved. */
static void test_map_one_long_chain(void) {
  enum { N = 300 };
  int32_t type = new_type("test.SameHash");
  register_attr(type, "__any_hash__", tvmgo_any_ptr((void*)same_hash));
  register_attr(type, "__any_equal__", tvmgo_any_ptr((void*)by_address));
  static TVMFFIObject* keys[N];
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  for (int i = 0; i < N; i++) {
    keys[i] = tvmgo_object_new(sizeof(TVMFFIObject), type, tvmgo_object_plain_deleter);
    TVMFFIAny k = tvmgo_any_object(keys[i]), v = tvmgo_any_int(i);
    CHECK_OK(tvmgo_map_set(&map, &k, &v));
    set_int(&map, i, i);
  }
  CHECK_EQ_INT(check_map_whole(map), 2 * N);
  for (int i = 0; i < N; i += 2) {
    TVMFFIAny k = tvmgo_any_object(keys[i]);
    CHECK_EQ_INT(tvmgo_map_erase(&map, &k), 1);
  }
  CHECK_EQ_INT(check_map_whole(map), 2 * N - N / 2);
  for (int i = 0; i < N; i++) {
    TVMFFIAny k = tvmgo_any_object(keys[i]), number = tvmgo_any_int(i);
    CHECK_EQ_INT(tvmgo_map_get(map, &k) != NULL, i % 2);
    CHECK(tvmgo_map_get(map, &number) != NULL);
  }
  tvmgo_object_release(map);
  for (int i = 0; i < N; i++) tvmgo_object_release(keys[i]);
}

static void test_map_failing_hash(void) {
  int32_t type = new_type("test.FailingHash");
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionCreate(NULL, failing_hash, NULL, &f));
  register_attr(type, "__any_hash__", tvmgo_any_object(f));
  tvmgo_object_release(f);
  TVMFFIObject* object = tvmgo_object_new(sizeof(TVMFFIObject), type, tvmgo_object_plain_deleter);
  TVMFFIAny key = tvmgo_any_object(object), value = tvmgo_any_int(1);
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  for (int i = 0; i < 5; i++) set_int(&map, i, i);
  CHECK_FAILS(tvmgo_map_set(&map, &key, &value), "RuntimeError", "no hash today");
  CHECK_FAILS(tvmgo_map_erase(&map, &key), "RuntimeError", "no hash today");
  CHECK_EQ_PTR(tvmgo_map_get(map, &key), NULL);
  CHECK_NO_ERROR();
  tvmgo_any_hash(&key);
  CHECK_NO_ERROR();
  CHECK_EQ_INT(check_map_whole(map), 5);
  tvmgo_object_release(map);
  tvmgo_object_release(object);
}

static int hashes_left;
static int hash_that_ends(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  if (hashes_left-- <= 0) return tvmgo_raise(TVMGO_RUNTIME_ERROR, "no hash left");
  *result = tvmgo_any_int(42);
  return 0;
}

/* A chain has taken the slot of a number, and there is no space for all of the chain's parts elsewhere. The map must
 * grow but cannot. The failed attempt must leave it unchanged. */
static void test_map_chain_that_cannot_move(void) {
  enum { N = 120 };
  int32_t type = new_type("test.HashThatEnds");
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionCreate(NULL, hash_that_ends, NULL, &f));
  register_attr(type, "__any_hash__", tvmgo_any_object(f));
  tvmgo_object_release(f);
  static TVMFFIObject* keys[N];
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  int refused = 0;
  for (int i = 0; i < N; i++) {
    keys[i] = tvmgo_object_new(sizeof(TVMFFIObject), type, tvmgo_object_plain_deleter);
    TVMFFIAny k = tvmgo_any_object(keys[i]), number = tvmgo_any_int(i), v = tvmgo_any_int(i);
    hashes_left = 1 << 30;
    CHECK_OK(tvmgo_map_set(&map, &k, &v));
    hashes_left = 1; /* for the key that is in the way */
    if (tvmgo_map_set(&map, &number, &v) != 0) {
      CHECK_ERROR(TVMGO_RUNTIME_ERROR, "no hash left");
      CHECK_EQ_INT(check_map_whole(map), 2 * i + 1);
      refused++;
      hashes_left = 1 << 30;
      CHECK_OK(tvmgo_map_set(&map, &number, &v));
    }
  }
  CHECK(refused > 0);
  hashes_left = 1 << 30;
  CHECK_EQ_INT(check_map_whole(map), 2 * N);
  tvmgo_object_release(map);
  for (int i = 0; i < N; i++) tvmgo_object_release(keys[i]);
}

/* ---- Threads ------------------------------------------------------------------------------- */

static void* share_map(void* arg) {
  TVMFFIObject* mine = arg; /* a reference of its own */
  for (int i = 0; i < 2000; i++) {
    TVMFFIAny k = tvmgo_any_int(i % 50);
    if (tvmgo_map_get(mine, &k) == NULL) return (void*)1;
    tvmgo_object_retain(mine);
    tvmgo_object_release(mine);
  }
  set_int(&mine, 1000, 1); /* shared: changes a copy */
  int64_t n = tvmgo_map_size(mine);
  tvmgo_object_release(mine);
  return (void*)(intptr_t)(n != 51);
}

static void test_map_shared_by_threads(void) {
  enum { THREADS = 4 };
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIObject* map = tvmgo_map_new(kTVMFFIMap);
  for (int i = 0; i < 50; i++) {
    TVMFFIAny k = tvmgo_any_int(i), v = raw("a value on the heap");
    CHECK_OK(tvmgo_map_set(&map, &k, &v));
  }
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    tvmgo_object_retain(map);
    REQUIRE(pthread_create(&threads[i], NULL, share_map, map) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    void* failed;
    pthread_join(threads[i], &failed);
    CHECK(failed == NULL);
  }
  CHECK_EQ_INT(tvmgo_map_size(map), 50);
  tvmgo_object_release(map);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_map_sizes);
  RUN(test_map_random_changes);
  RUN(test_map_order_after_replacing);
  RUN(test_map_copy_on_write);
  RUN(test_map_emptied_by_others);
  RUN(test_map_one_long_chain);
  RUN(test_map_failing_hash);
  RUN(test_map_chain_that_cannot_move);
  RUN(test_map_shared_by_threads);
  return check_end();
}
