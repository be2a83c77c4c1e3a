/* Structural maps and mutations from C: changes by callbacks, foreign mutators, hooks. */
#include "ctest/call.h"

#include "container/list.h"
#include "container/map_internal.h"
#include "record/record.h"
#include "reflect/structural_mutate.h"

static TVMFFIObject* function_of(TVMFFISafeCallType call) {
  TVMFFIObjectHandle f;
  CHECK_OK(TVMFFIFunctionCreate(NULL, call, NULL, &f));
  return f;
}

/* One entry; flag is kTVMFFINone for the entries of a map. */
static TVMFFIAny entries_of(int32_t type, TVMFFISafeCallType call, TVMFFIAny flag) {
  TVMFFIObject* f = function_of(call);
  TVMFFIAny items[3] = {tvmgo_any_int(type), tvmgo_any_object(f), flag};
  TVMFFIAny entry =
      tvmgo_any_object(tvmgo_array_new(items, flag.type_index == kTVMFFINone ? 2 : 3));
  TVMFFIAny list = tvmgo_any_object(tvmgo_array_new(&entry, 1));
  tvmgo_any_clear(&entry);
  tvmgo_object_release(f);
  return list;
}

static int map(TVMFFIAny root, int32_t type, TVMFFISafeCallType call_back, int order,
               TVMFFIAny* result) {
  TVMFFIAny entries = entries_of(type, call_back, tvmgo_any_none());
  TVMFFIAny none = tvmgo_any_object(tvmgo_array_new(NULL, 0));
  int rc = CALL("ffi.StructuralMap", result, root, entries, none, tvmgo_any_int(order));
  tvmgo_any_clear(&entries);
  tvmgo_any_clear(&none);
  return rc;
}

static int mutate(TVMFFIAny root, int32_t type, TVMFFISafeCallType call_back, TVMFFIAny* result) {
  TVMFFIAny entries = entries_of(type, call_back, tvmgo_any_bool(1));
  int rc = CALL("ffi.StructuralMutate", result, root, entries);
  tvmgo_any_clear(&entries);
  return rc;
}

/* A value as an argument that transfers ownership. */
static TVMFFIAny moved(TVMFFIAny* v) {
  TVMFFIAny any = {.type_index = kTVMFFIObjectRValueRef};
  any.v_ptr = &v->v_obj;
  return any;
}

static int one_more(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  CHECK(n >= 1);
  if (args[0].v_int64 == 13) return tvmgo_raise(TVMGO_VALUE_ERROR, "thirteen");
  *result = tvmgo_any_int(args[0].v_int64 + 1);
  return 0;
}

static void test_errors_on_the_way(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny result;
  static const char* const texts[] = {"[1,13,2]", "{\"a\":1,\"b\":13,\"c\":2}", "[[1],[13]]"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    for (int order = 0; order < 2; order++) {
      TVMFFIAny v = json(texts[i]);
      CHECK_FAILS(map(v, kTVMFFIInt, one_more, order, &result), "ValueError", "thirteen");
      CHECK_STR(stringify(v), texts[i]);
      CHECK_FAILS(mutate(v, kTVMFFIInt, one_more, &result), "ValueError", "thirteen");
      CHECK_FAILS(map(moved(&v), kTVMFFIInt, one_more, order, &result), "ValueError", "thirteen");
      CHECK(v.v_obj == NULL); /* given away all the same */
    }
  }
  TVMFFIObject* list = tvmgo_list_new(NULL, 0);
  TVMFFIAny circle = tvmgo_any_object(list);
  CHECK_OK(tvmgo_list_replace(list, 0, 0, &circle, 1));
  CHECK_FAILS(map(circle, kTVMFFIInt, one_more, 0, &result), "ValueError", "levels deep");
  CHECK_OK(tvmgo_list_replace(list, 0, 1, NULL, 0));
  tvmgo_object_release(list);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* ---- Callbacks that change the visited container -------------------------------------------- */

static TVMFFIObject* changing; /* List or Dict, borrowed */
static int change;

/* First call: empties it; second: adds a 9; third: both; and so on. */
static void disturb_once(void) {
  TVMFFIAny nine = tvmgo_any_int(9), key = tvmgo_any_int(100 + change);
  int is_map = changing->type_index == kTVMFFIDict, what = change++ % 3;
  if (what != 1 && is_map) CHECK_OK(tvmgo_map_clear(changing));
  if (what != 1 && !is_map)
    CHECK_OK(tvmgo_list_replace(changing, 0, tvmgo_seq_cell(changing)->size, NULL, 0));
  if (what == 0) return;
  TVMFFIObject* map = changing;
  int64_t end = is_map ? tvmgo_map_size(map) : tvmgo_seq_cell(changing)->size;
  if (end > 6) return; /* it must end */
  if (is_map) {
    CHECK_OK(tvmgo_map_set(&map, &key, &nine));
    CHECK(map == changing);
  } else {
    CHECK_OK(tvmgo_list_replace(changing, end, end, &nine, 1));
  }
}

static int disturb(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n;
  disturb_once();
  *result = tvmgo_any_object(tvmgo_array_new(NULL, 0)); /* something to lose */
  return 0;
}

/* A callback's new entry in the position of another one is not overwritten by the mutation. */
static void check_added(TVMFFIObject* dict) {
  TVMFFIAny key, value;
  uint64_t place = 0;
  while (tvmgo_map_step(dict, &place, &key, &value)) {
    if (key.v_int64 >= 100) CHECK(value.type_index == kTVMFFIInt && value.v_int64 == 9);
    tvmgo_any_clear(&value);
  }
}

static TVMFFIAny four_of(int32_t type) {
  TVMFFIAny part = tvmgo_any_object(tvmgo_array_new(NULL, 0)), v;
  TVMFFIAny items[4] = {tvmgo_any_int(1), part, tvmgo_any_int(2), part};
  if (type == kTVMFFIList) {
    v = tvmgo_any_object(tvmgo_list_new(items, 4));
  } else {
    TVMFFIObject* dict = tvmgo_map_new(kTVMFFIDict);
    for (int i = 0; i < 4; i++) {
      TVMFFIAny key = tvmgo_any_int(i);
      CHECK_OK(tvmgo_map_set(&dict, &key, &items[i]));
    }
    v = tvmgo_any_object(dict);
  }
  tvmgo_any_clear(&part);
  return v;
}

static void test_changes_meanwhile(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (int how = 0; how < 24; how++) {
    int32_t type = how & 1 ? kTVMFFIList : kTVMFFIDict;
    int is_given = (how & 2) != 0, order = (how & 4) != 0;
    TVMFFIAny v = four_of(type), result;
    changing = v.v_obj;
    change = how / 8; /* what comes first */
    int rc = map(is_given ? moved(&v) : v, kTVMFFIInt, disturb, order, &result);
    if (!CHECK_OK(rc)) continue;
    CHECK_EQ_INT(result.type_index, type);
    if (is_given) CHECK(result.v_obj == changing);
    if (type == kTVMFFIDict && is_given) check_added(changing);
    tvmgo_any_clear(&result);
    if (!is_given) tvmgo_any_clear(&v);
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* ---- In place ------------------------------------------------------------------------------ */

static void test_in_place(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (int order = 0; order < 2; order++) {
    TVMFFIAny v = json("[1,[2,{\"a\":3}]]"), result;
    TVMFFIObject* inner = ((TVMFFIAny*)tvmgo_seq_cell(v.v_obj)->data)[1].v_obj;
    TVMFFIObject* outer = v.v_obj;
    CHECK_OK(map(v, kTVMFFIInt, one_more, order, &result));
    CHECK(result.v_obj != outer);
    CHECK_STR(stringify(result), "[2,[3,{\"a\":4}]]");
    CHECK_STR(stringify(v), "[1,[2,{\"a\":3}]]");
    tvmgo_any_clear(&result);
    tvmgo_object_retain(inner);
    CHECK_OK(map(moved(&v), kTVMFFIInt, one_more, order, &result));
    CHECK(result.v_obj == outer);
    CHECK(((TVMFFIAny*)tvmgo_seq_cell(result.v_obj)->data)[1].v_obj != inner);
    CHECK_STR(stringify(tvmgo_any_object(inner)), "[2,{\"a\":3}]");
    tvmgo_object_release(inner);
    inner = ((TVMFFIAny*)tvmgo_seq_cell(result.v_obj)->data)[1].v_obj;
    v = result;
    CHECK_OK(map(moved(&v), kTVMFFIInt, one_more, order, &result));
    CHECK(((TVMFFIAny*)tvmgo_seq_cell(result.v_obj)->data)[1].v_obj == inner);
    CHECK_STR(stringify(result), "[3,[4,{\"a\":5}]]");
    tvmgo_object_retain_weak(result.v_obj); /* someone may want it back */
    v = result;
    CHECK_OK(map(moved(&v), kTVMFFIInt, one_more, order, &result));
    CHECK(result.v_obj != outer);
    tvmgo_object_release_weak(outer);
    tvmgo_any_clear(&result);
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static TVMFFIObject* shared;

static int map_to_shared(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  TVMFFIAny view = args[0];
  if (view.type_index == kTVMFFIInt) return one_more(self, args, n, result);
  if (view.type_index == kTVMFFIMap) view = tvmgo_any_object(shared);
  return TVMFFIAnyViewToOwnedAny(&view, result);
}

/* A callback's result that others hold is copied, wherever it is stored. */
static void test_given_by_callback(void) {
  TVMFFIAny v = json("[{},2]"), part = json("[1]"), result;
  shared = part.v_obj;
  CHECK_OK(map(moved(&v), kTVMFFIAny, map_to_shared, 0, &result));
  CHECK_STR(stringify(result), "[[2],3]");
  CHECK_STR(stringify(part), "[1]");
  tvmgo_any_clear(&result);
  tvmgo_any_clear(&part);
}

/* ---- Hooks and mutators that are not ours -------------------------------------------------- */

typedef struct {
  TVMFFIObject header;
  int64_t number;
} thing;

static int32_t thing_type(void) {
  static const TVMFFIByteArray key = {"test.MutatedThing", 17};
  return TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
}

static TVMFFIAny thing_of(int64_t number) {
  thing* t = tvmgo_object_new(sizeof *t, thing_type(), tvmgo_object_plain_deleter);
  t->number = number;
  return tvmgo_any_object(t);
}

static int hooks_in_place;

static TVMFFIAny lost_error(void) {
  return tvmgo_any_object(tvmgo_error_new("KeyError", 8, "lost", 4, "", 0));
}

static TVMFFIAny mutate_thing(tvmgo_mutator* m, TVMFFIAny value) {
  (void)m;
  int64_t number = ((thing*)value.v_obj)->number;
  if (number == 13) return lost_error();
  return number == 0 ? tvmgo_unchanged() : thing_of(number + 1);
}

static TVMFFIAny change_thing(tvmgo_mutator* m, TVMFFIAny value) {
  (void)m;
  hooks_in_place++;
  if (((thing*)value.v_obj)->number == 13) return mutate_thing(m, value);
  ((thing*)value.v_obj)->number += 10;
  return tvmgo_unchanged();
}

static TVMFFIAny register_thing(void) {
  static const TVMFFIByteArray copying = {"__s_mutate__", 12},
                               changing_name = {"__s_maybe_inplace_mutate__", 26};
  TVMFFIAny copy = tvmgo_any_ptr((void*)mutate_thing);
  TVMFFIAny in_place = tvmgo_any_ptr((void*)change_thing);
  static int is_registered;
  if (!is_registered++) {
    CHECK_OK(TVMFFITypeRegisterAttr(thing_type(), &copying, &copy));
    CHECK_OK(TVMFFITypeRegisterAttr(thing_type(), &changing_name, &in_place));
  }
  TVMFFIAny things[2] = {thing_of(0), thing_of(5)};
  TVMFFIAny array = tvmgo_any_object(tvmgo_array_new(things, 2));
  tvmgo_any_clear(&things[0]);
  tvmgo_any_clear(&things[1]);
  return array;
}

static int64_t number_at(TVMFFIAny array, int64_t i) {
  return ((thing*)((TVMFFIAny*)tvmgo_seq_cell(array.v_obj)->data)[i].v_obj)->number;
}

static void test_hooks(void) {
  TVMFFIAny warm = register_thing(); /* the registration itself keeps objects */
  tvmgo_any_clear(&warm);
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny v = register_thing(), result, lost;
  hooks_in_place = 0;
  CHECK_OK(map(v, kTVMFFIInt, one_more, 1, &result));
  CHECK_EQ_INT(number_at(result, 0) + 100 * number_at(result, 1), 600);
  CHECK_EQ_INT(number_at(v, 1), 5);
  CHECK_EQ_INT(hooks_in_place, 0);
  tvmgo_any_clear(&result);
  CHECK_OK(map(moved(&v), kTVMFFIInt, one_more, 1, &result));
  CHECK_EQ_INT(number_at(result, 0) + 100 * number_at(result, 1), 1510);
  CHECK_EQ_INT(hooks_in_place, 2);
  tvmgo_any_clear(&result);
  lost = thing_of(13);
  v = tvmgo_any_object(tvmgo_array_new(&lost, 1));
  CHECK_FAILS(map(v, kTVMFFIInt, one_more, 0, &result), "KeyError", "lost");
  tvmgo_any_clear(&lost);
  CHECK_FAILS(map(moved(&v), kTVMFFIInt, one_more, 0, &result), "KeyError", "lost");
  CHECK_EQ_INT(hooks_in_place, 3);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static int foreign_calls;

static TVMFFIAny foreign_mutate(tvmgo_mutator* m, TVMFFIAny value) {
  (void)m;
  foreign_calls++;
  if (value.type_index != kTVMFFIInt) return tvmgo_unchanged();
  if (value.v_int64 == 13) return lost_error();
  return tvmgo_any_int(-value.v_int64);
}
static TVMFFIAny foreign_get(tvmgo_mutator* m, TVMFFIAny variable) {
  (void)m, (void)variable;
  return tvmgo_any_int(77);
}
static TVMFFIAny foreign_set(tvmgo_mutator* m, TVMFFIAny variable, TVMFFIAny mapped) {
  (void)m, (void)variable, (void)mapped;
  return tvmgo_any_object(tvmgo_error_new("KeyError", 8, "full", 4, "", 0));
}

static void test_foreign_mutator(void) {
  static const tvmgo_mutator_table table = {foreign_mutate, foreign_mutate, foreign_get,
                                            foreign_set};
  TVMFFIByteArray base = {"ffi.StructuralMutator", 21}, key = {"test.Mutator", 12};
  int32_t parent;
  CHECK_OK(TVMFFITypeKeyToIndex(&base, &parent));
  int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 2, 0, 1, parent);
  REQUIRE(type > 0);
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  tvmgo_mutator* m = tvmgo_object_new(sizeof *m, type, tvmgo_object_plain_deleter);
  REQUIRE(m != NULL);
  m->table = &table;
  TVMFFIAny self = tvmgo_any_object(m), v = json("[1,\"a\",3]"), bad = json("{\"k\":[],\"l\":13}");
  TVMFFIAny result;
  CHECK_OK(CALL("ffi.StructuralMutatorDefaultMutate", &result, self, v));
  CHECK_STR(stringify(result), "[-1,\"a\",-3]");
  CHECK_EQ_INT(foreign_calls, 3);
  tvmgo_any_clear(&result);
  CHECK_OK(CALL("ffi.StructuralMutatorMutate", &result, self, v));
  CHECK(result.v_obj == v.v_obj);
  tvmgo_any_clear(&result);
  CHECK_FAILS(CALL("ffi.StructuralMutatorDefaultMutate", &result, self, bad), "KeyError", "lost");
  CHECK_OK(CALL("ffi.StructuralMutatorVarRemapGet", &result, self, v));
  CHECK_EQ_INT(result.v_int64, 77);
  CHECK_FAILS(CALL("ffi.StructuralMutatorVarRemapSet", &result, self, v, v), "KeyError", "full");
  CHECK_FAILS(CALL("ffi.StructuralMutatorVarRemapSet", &result, self, tvmgo_any_int(1), v),
              "TypeError", "a variable must be an object, got int");
  tvmgo_any_clear(&v);
  tvmgo_any_clear(&bad);
  tvmgo_object_release(m);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* ---- Mutators that are kept ---------------------------------------------------------------- */

static TVMFFIAny kept;

static int keep_mutator(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  CHECK_EQ_INT(n, 3);
  CHECK_EQ_INT(args[2].v_int64, TVMGO_IN_PLACE);
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&args[1], &kept));
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

static void test_kept_mutator(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny v = json("[1]"), key = json("[]"), mapped = json("[2,3]"), result;
  CHECK_OK(mutate(moved(&v), kTVMFFIArray, keep_mutator, &result));
  tvmgo_any_clear(&result);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(CALL("ffi.StructuralMutatorVarRemapSet", &result, kept, key, mapped));
    CHECK_OK(CALL("ffi.StructuralMutatorVarRemapGet", &result, kept, key));
    CHECK(result.v_obj == mapped.v_obj);
    tvmgo_any_clear(&result);
  }
  CHECK_OK(CALL("ffi.StructuralMutatorVarRemapSet", &result, kept, key, tvmgo_any_int(4)));
  CHECK_OK(CALL("ffi.StructuralMutatorVarRemapGet", &result, kept, key));
  CHECK_EQ_INT(result.v_int64, 4);
  CHECK_OK(CALL("ffi.StructuralMutatorVarRemapSet", &result, kept, key, mapped));
  tvmgo_any_clear(&mapped);
  tvmgo_any_clear(&key);
  tvmgo_any_clear(&kept); /* with all that it holds */
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_errors_on_the_way);
  RUN(test_changes_meanwhile);
  RUN(test_in_place);
  RUN(test_given_by_callback);
  RUN(test_hooks);
  RUN(test_foreign_mutator);
  RUN(test_kept_mutator);
  return check_end();
}
