/* Structural visits from C: foreign visitors, errors during a visit, values that contain themselves. */
#include "ctest/check.h"

#include "container/list.h"
#include "record/record.h"

static int call(const char* name, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  *result = tvmgo_any_none();
  TVMFFIObject* f = tvmgo_global_get(name, strlen(name));
  if (f == NULL) return tvmgo_raise(TVMGO_NOT_FOUND_ERROR, "no global function %s", name);
  int rc = tvmgo_function_call(f, args, n, result);
  tvmgo_object_release(f);
  return rc;
}

static int calls;

/* Visits the children through the visitor, and fails at the Int 13. */
static int descend(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  CHECK_EQ_INT(n, 2);
  calls++;
  if (args[0].type_index == kTVMFFIInt && args[0].v_int64 == 13)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "thirteen");
  TVMFFIAny swapped[2] = {args[1], args[0]};
  return call("ffi.StructuralVisitorDefaultVisit", swapped, 2, result);
}

static TVMFFIObject* callbacks(void) {
  TVMFFIObjectHandle f;
  CHECK_OK(TVMFFIFunctionCreate(NULL, descend, NULL, &f));
  TVMFFIAny pair[2] = {tvmgo_any_int(kTVMFFIAny), tvmgo_any_object(f)};
  TVMFFIAny entry = tvmgo_any_object(tvmgo_array_new(pair, 2));
  TVMFFIObject* list = tvmgo_array_new(&entry, 1);
  tvmgo_any_clear(&entry);
  tvmgo_object_release(f);
  return list;
}

static void test_errors_and_circles(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny items[3] = {tvmgo_any_int(1), tvmgo_any_int(13), tvmgo_any_int(2)}, result;
  TVMFFIObject *list = tvmgo_list_new(items, 3), *entries = callbacks();
  TVMFFIAny args[2] = {tvmgo_any_object(list), tvmgo_any_object(entries)};
  calls = 0;
  CHECK_FAILS(call("ffi.StructuralVisit", args, 2, &result), "ValueError", "thirteen");
  CHECK_EQ_INT(calls, 3);
  CHECK_OK(tvmgo_list_replace(list, 0, 3, &args[0], 1));
  CHECK_FAILS(call("ffi.StructuralVisit", args, 2, &result), "ValueError", "levels deep");
  CHECK_OK(tvmgo_list_replace(list, 0, 1, NULL, 0));
  tvmgo_object_release(list);
  tvmgo_object_release(entries);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* ---- A visitor that is not ours ------------------------------------------------------------ */

typedef struct foreign foreign;
typedef TVMFFIAny (*foreign_call)(foreign*, TVMFFIAny);
struct foreign {
  TVMFFIObject header;
  const foreign_call* table;
  int32_t region;
};

static TVMFFIAny answer; /* of the foreign visitor at the Int 2 */

static TVMFFIAny visit_foreign(foreign* v, TVMFFIAny value) {
  (void)v;
  calls++;
  if (value.type_index != kTVMFFIInt || value.v_int64 != 2) return tvmgo_any_none();
  TVMFFIAny given = answer;
  if (tvmgo_any_is_object(&given)) tvmgo_object_retain(given.v_obj);
  return given;
}

static void test_foreign_visitor(void) {
  static const foreign_call table[] = {visit_foreign};
  TVMFFIByteArray base = {"ffi.StructuralVisitor", 21}, key = {"test.Visitor", 12};
  int32_t parent;
  CHECK_OK(TVMFFITypeKeyToIndex(&base, &parent));
  int32_t type = TVMFFITypeGetOrAllocIndex(&key, -1, 2, 0, 1, parent);
  REQUIRE(type > 0);
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  foreign* v = tvmgo_object_new(sizeof *v, type, tvmgo_object_plain_deleter);
  REQUIRE(v != NULL);
  v->table = table;
  TVMFFIAny items[3] = {tvmgo_any_int(1), tvmgo_any_int(2), tvmgo_any_int(3)};
  TVMFFIAny result, one = items[0];
  TVMFFIAny args[2] = {tvmgo_any_object(v), tvmgo_any_object(tvmgo_array_new(items, 3))};
  calls = 0;
  CHECK_OK(call("ffi.StructuralVisitorDefaultVisit", args, 2, &result));
  CHECK_EQ_INT(calls, 3);
  CHECK_OK(call("ffi.VisitInterrupt", &one, 1, &answer));
  CHECK_OK(call("ffi.StructuralVisitorDefaultVisit", args, 2, &result));
  CHECK_EQ_INT(result.type_index, kTVMFFIVisitInterrupt);
  CHECK_EQ_INT(calls, 5);
  tvmgo_any_clear(&result);
  tvmgo_any_clear(&answer);
  answer = tvmgo_any_object(tvmgo_error_new("KeyError", 8, "lost", 4, "", 0));
  CHECK_FAILS(call("ffi.StructuralVisitorDefaultVisit", args, 2, &result), "KeyError", "lost");
  tvmgo_any_clear(&answer);
  answer = tvmgo_any_int(5);
  CHECK_FAILS(call("ffi.StructuralVisitorDefaultVisit", args, 2, &result), "TypeError", "got int");
  answer = tvmgo_any_none();
  tvmgo_any_clear(&args[1]);
  tvmgo_object_release(v);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_errors_and_circles);
  RUN(test_foreign_visitor);
  return check_end();
}
