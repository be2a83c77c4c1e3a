/* Structural comparison from C: the position of a difference, with a hook that ignores differences. */
#include "ctest/call.h"

#include "reflect/structural.h"

typedef struct {
  TVMFFIObject header;
  int64_t number;
} loose;

static int compared;

/* Compares the numbers, and ignores the result. */
static int loosely_equal(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  CHECK_EQ_INT(n, 3);
  TVMFFIAny asked[4] = {tvmgo_any_int(((loose*)args[0].v_obj)->number),
                        tvmgo_any_int(((loose*)args[1].v_obj)->number), tvmgo_any_int(0),
                        raw("number")};
  TVMFFIAny same = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(args[2].v_obj, asked, 4, &same));
  CHECK_EQ_INT(same.v_int64, asked[0].v_int64 == asked[1].v_int64);
  compared++;
  *result = tvmgo_any_bool(1);
  return 0;
}

static int32_t loose_type(void) {
  static const TVMFFIByteArray key = {"test.Loose", 10}, column = {"__s_equal__", 11};
  static const TVMFFITypeMetadata metadata = {
      .total_size = sizeof(loose), .structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode};
  static int32_t type;
  if (type > 0) return type;
  type = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  CHECK_OK(TVMFFITypeRegisterMetadata(type, &metadata));
  TVMFFIObjectHandle f;
  CHECK_OK(TVMFFIFunctionCreate(NULL, loosely_equal, NULL, &f));
  TVMFFIAny hook = tvmgo_any_object(f);
  CHECK_OK(TVMFFITypeRegisterAttr(type, &column, &hook));
  tvmgo_object_release(f);
  return type;
}

/* [[Loose], last] */
static TVMFFIAny pair_of(int64_t number, int64_t last) {
  loose* l = tvmgo_object_new(sizeof *l, loose_type(), tvmgo_object_plain_deleter);
  l->number = number;
  TVMFFIAny item = tvmgo_any_object(l), items[2];
  items[0] = tvmgo_any_object(tvmgo_array_new(&item, 1));
  items[1] = tvmgo_any_int(last);
  TVMFFIAny array = tvmgo_any_object(tvmgo_array_new(items, 2));
  tvmgo_any_clear(&item);
  tvmgo_any_clear(&items[0]);
  return array;
}

static void test_differences_passed_over(void) {
  loose_type();
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny a = pair_of(1, 5), b = pair_of(2, 6), result, no = tvmgo_any_bool(0);
  CHECK_OK(CALL("ffi.GetFirstStructuralMismatch", &result, a, b, no, no));
  CHECK_EQ_INT(compared, 1);
  CHECK_STR(repr(result), "(<root>[1], <root>[1])");
  tvmgo_any_clear(&result);
  tvmgo_any_clear(&b);
  b = pair_of(2, 5);
  CHECK_OK(CALL("ffi.GetFirstStructuralMismatch", &result, a, b, no, no));
  CHECK_EQ_INT(result.type_index, kTVMFFINone);
  CHECK_EQ_INT(compared, 2);
  tvmgo_any_clear(&a);
  tvmgo_any_clear(&b);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_differences_passed_over);
  return check_end();
}
