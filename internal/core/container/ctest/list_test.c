/* Lists: the global functions, buffers that others own, and releases that look at the list. */
#include "ctest/call.h"
#include "container/container.h"
#include "container/list.h"

#define I tvmgo_any_int

static void test_list_edits(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny list = LIST(I(1), raw("two"), real(3.5)), r;
  CHECK_EQ_INT(list.type_index, kTVMFFIList);
  CHECK_OK(CALL("ffi.ListAppend", &r, list, raw("a string that is not small")));
  CHECK_STR(repr(list), "[1, \"two\", 3.5, \"a string that is not small\"]");
  CHECK_OK(CALL("ffi.ListInsert", &r, list, I(0), tvmgo_any_none()));
  CHECK_OK(CALL("ffi.ListInsert", &r, list, I(5), tvmgo_any_bool(1)));
  CHECK_STR(repr(list), "[None, 1, \"two\", 3.5, \"a string that is not small\", True]");
  CHECK_OK(CALL("ffi.ListPop", &r, list, I(4)));
  CHECK_STR(text_from(0, &r), "a string that is not small");
  CHECK_OK(CALL("ffi.ListErase", &r, list, I(0)));
  CHECK_OK(CALL("ffi.ListSetItem", &r, list, I(0), raw("the first one of them")));
  CHECK_OK(CALL("ffi.ListReverse", &r, list));
  CHECK_STR(repr(list), "[True, 3.5, \"two\", \"the first one of them\"]");
  CHECK_OK(CALL("ffi.ListSize", &r, list));
  CHECK_EQ_INT(r.v_int64, 4);
  CHECK_OK(CALL("ffi.ListGetItem", &r, list, I(1)));
  CHECK(r.type_index == kTVMFFIFloat && r.v_float64 == 3.5);
  CHECK_OK(CALL("ffi.ListContains", &r, list, raw("two")));
  CHECK(r.type_index == kTVMFFIBool && r.v_int64 == 1);
  CHECK_OK(CALL("ffi.ListContains", &r, list, raw("three")));
  CHECK_EQ_INT(r.v_int64, 0);
  CHECK_OK(CALL("ffi.ListEraseRange", &r, list, I(1), I(3)));
  CHECK_STR(repr(list), "[True, \"the first one of them\"]");
  CHECK_OK(CALL("ffi.ListClear", &r, list));
  CHECK_STR(repr(list), "[]");
  tvmgo_any_clear(&list);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_list_replaces_parts(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny list = LIST(I(0), I(1), I(2), I(3)), r, array = json("[\"x\", \"y\", \"z\"]");
  CHECK_OK(CALL("ffi.ListReplaceSlice", &r, list, I(1), I(3), array));
  CHECK_STR(repr(list), "[0, \"x\", \"y\", \"z\", 3]");
  CHECK_OK(CALL("ffi.ListReplaceSlice", &r, list, I(5), I(5), list));
  CHECK_STR(repr(list), "[0, \"x\", \"y\", \"z\", 3, 0, \"x\", \"y\", \"z\", 3]");
  CHECK_OK(CALL("ffi.ListReplaceSlice", &r, list, I(0), I(10), list));
  CHECK_STR(repr(list), "[0, \"x\", \"y\", \"z\", 3, 0, \"x\", \"y\", \"z\", 3]");
  TVMFFIAny none = LIST(I(9));
  CHECK_OK(CALL("ffi.ListClear", &r, none));
  CHECK_OK(CALL("ffi.ListReplaceSlice", &r, list, I(1), I(9), none));
  CHECK_STR(repr(list), "[0, 3]");
  tvmgo_any_clear(&none);
  tvmgo_any_clear(&array);
  tvmgo_any_clear(&list);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_list_bad_arguments(void) {
  TVMFFIAny list = LIST(I(1), I(2)), r, array = json("[1]");
  static const struct {
    const char *name, *kind, *text;
    int64_t i, j;
    int n;
  } bad[] = {
      {"ffi.ListGetItem", "IndexError", "index 2 is out of range for size 2", 2, 0, 2},
      {"ffi.ListGetItem", "IndexError", "index -1", -1, 0, 2},
      {"ffi.ListGetItem", "IndexError", "index -9223372036854775808", INT64_MIN, 0, 2},
      {"ffi.ListSetItem", "IndexError", "index 2", 2, 0, 3},
      {"ffi.ListPop", "IndexError", "index 9223372036854775807", INT64_MAX, 0, 2},
      {"ffi.ListErase", "IndexError", "index 2", 2, 0, 2},
      {"ffi.ListInsert", "IndexError", "index 3 is no place to insert", 3, 0, 3},
      {"ffi.ListEraseRange", "IndexError", "range [1, 3)", 1, 3, 3},
      {"ffi.ListEraseRange", "IndexError", "range [2, 1)", 2, 1, 3},
      {"ffi.ListEraseRange", "IndexError", "range [-1, 1)", -1, 1, 3},
      {"ffi.ListReserve", "MemoryError", "", INT64_MAX, 0, 2},
      {"ffi.ListGetItem", "TypeError", "ffi.ListGetItem", 0, 0, 3},
      {"ffi.ListPop", "TypeError", "ffi.ListPop", 0, 0, 1},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    TVMFFIAny args[] = {list, I(bad[k].i), I(bad[k].j)};
    CHECK_FAILS(call(bad[k].name, args, bad[k].n, &r), bad[k].kind, bad[k].text);
  }
  CHECK_FAILS(CALL("ffi.ListSize", &r, array), "TypeError", "ffi.List");
  CHECK_FAILS(CALL("ffi.ListSize", &r, tvmgo_any_none()), "TypeError", "ffi.List");
  CHECK_FAILS(CALL("ffi.ListGetItem", &r, list, raw("0")), "TypeError", "ffi.ListGetItem");
  CHECK_FAILS(CALL("ffi.ListReplaceSlice", &r, list, I(0), I(1), I(7)), "TypeError",
              "ffi.ListReplaceSlice");
  CHECK_OK(CALL("ffi.ListReserve", &r, list, I(-5)));
  CHECK_STR(repr(list), "[1, 2]");
  tvmgo_any_clear(&array);
  tvmgo_any_clear(&list);
}

static void test_list_grows(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny list = list_of(NULL, 0), r;
  for (int i = 0; i < 10000; i++) {
    char text[32];
    snprintf(text, sizeof text, "element number %d", i);
    CHECK_OK(CALL("ffi.ListAppend", &r, list, raw(text)));
  }
  CHECK_OK(CALL("ffi.ListGetItem", &r, list, I(9999)));
  CHECK_STR(text_from(0, &r), "element number 9999");
  TVMFFISeqCell* cell = tvmgo_seq_cell(list.v_obj);
  CHECK(cell->capacity < 4 * cell->size);
  CHECK_OK(CALL("ffi.ListReserve", &r, list, I(50000)));
  CHECK(cell->capacity >= 50000);
  CHECK_EQ_INT(cell->size, 10000);
  tvmgo_any_clear(&list);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* C++ code installs its own buffers: they are freed through their own deleter. */
static int foreign_frees;
static void free_foreign(void* data) {
  foreign_frees++;
  free(data);
}

static void test_list_with_a_foreign_buffer(void) {
  TVMFFIAny r;
  foreign_frees = 0;
  for (int grow = 0; grow < 2; grow++) {
    TVMFFIAny list = LIST(I(1), I(2));
    TVMFFISeqCell* cell = tvmgo_seq_cell(list.v_obj);
    TVMFFIAny* own = malloc(2 * sizeof *own);
    memcpy(own, cell->data, 2 * sizeof *own);
    cell->data_deleter(cell->data);
    cell->data = own;
    cell->capacity = 2;
    cell->data_deleter = free_foreign;
    if (grow) {
      CHECK_OK(CALL("ffi.ListAppend", &r, list, I(3)));
      CHECK_EQ_INT(foreign_frees, 2);
      CHECK_STR(repr(list), "[1, 2, 3]");
    }
    tvmgo_any_clear(&list);
    CHECK_EQ_INT(foreign_frees, grow + 1);
  }
}

/* Removed elements are released when the list is consistent again. */
static TVMFFIAny watched;
static int64_t size_seen;
static void look_at_list(void* self) {
  (void)self;
  size_seen = tvmgo_seq_cell(watched.v_obj)->size;
}
static int do_nothing(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)args, (void)n, (void)result;
  return 0;
}

static void test_list_is_whole_when_elements_are_released(void) {
  TVMFFIObjectHandle f;
  TVMFFIAny r;
  CHECK_OK(TVMFFIFunctionCreate(&watched, do_nothing, look_at_list, &f));
  watched = LIST(I(0), tvmgo_any_object(f), I(2));
  tvmgo_object_release(f);
  size_seen = -1;
  CHECK_OK(CALL("ffi.ListErase", &r, watched, I(1)));
  CHECK_EQ_INT(size_seen, 2);
  CHECK_STR(repr(watched), "[0, 2]");
  tvmgo_any_clear(&watched);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_list_edits);
  RUN(test_list_replaces_parts);
  RUN(test_list_bad_arguments);
  RUN(test_list_grows);
  RUN(test_list_with_a_foreign_buffer);
  RUN(test_list_is_whole_when_elements_are_released);
  return check_end();
}
