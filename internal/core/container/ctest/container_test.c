/* Strings, bytes, shapes, arrays, and the global functions about containers. */
#include "ctest/call.h"

#include <pthread.h>
#include <stdlib.h>

static TVMFFIByteArray text_of(const TVMFFIAny* v) {
  TVMFFIByteArray t = {"(no text)", 9};
  tvmgo_any_text(v, &t);
  return t;
}

/* ---- Strings and bytes --------------------------------------------------------------------- */

static void test_string_small_and_heap(void) {
  static const char full[] = "0123456789abcdef0123456789abcdef";
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (size_t n = 0; n <= 20; n++) {
    TVMFFIAny s, b;
    CHECK_OK(tvmgo_string_make(full, n, &s));
    CHECK_OK(tvmgo_bytes_make(full, n, &b));
    CHECK_EQ_INT(s.type_index, n <= 7 ? kTVMFFISmallStr : kTVMFFIStr);
    CHECK_EQ_INT(b.type_index, n <= 7 ? kTVMFFISmallBytes : kTVMFFIBytes);
    CHECK_EQ_INT(s.small_str_len, n <= 7 ? n : 0);
    TVMFFIByteArray t = text_of(&s), u = text_of(&b);
    CHECK_EQ_INT(t.size, n);
    CHECK_EQ_INT(u.size, n);
    CHECK(memcmp(t.data, full, n) == 0 && memcmp(u.data, full, n) == 0);
    CHECK_EQ_INT(t.data[n], 0);
    CHECK_EQ_INT(u.data[n], 0);
    CHECK(!tvmgo_any_equal(&s, &b));
    tvmgo_any_clear(&s);
    tvmgo_any_clear(&b);
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_string_public_functions(void) {
  TVMFFIByteArray in = {"a\0b", 3}, null_data = {NULL, 1}, empty = {NULL, 0};
  TVMFFIAny out;
  CHECK_OK(TVMFFIStringFromByteArray(&in, &out));
  CHECK_EQ_INT(out.small_str_len, 3);
  CHECK_OK(TVMFFIBytesFromByteArray(&empty, &out));
  CHECK_EQ_INT(out.type_index, kTVMFFISmallBytes);
  CHECK_FAILS(TVMFFIStringFromByteArray(&null_data, &out), "ValueError", "NULL");
  CHECK_FAILS(TVMFFIBytesFromByteArray(&null_data, &out), "ValueError", "NULL");
  CHECK_FAILS(TVMFFIStringFromByteArray(NULL, &out), "ValueError", "input is NULL");
  CHECK_FAILS(TVMFFIBytesFromByteArray(&in, NULL), "ValueError", "out is NULL");
  TVMFFIByteArray huge = {"x", SIZE_MAX};
  CHECK_FAILS(TVMFFIStringFromByteArray(&huge, &out), "MemoryError", "");
}

/* A text of n bytes that begins and ends with c. */
static TVMFFIAny long_text(size_t n, char c) {
  TVMFFIAny s;
  char* text = malloc(n);
  memset(text, c, n);
  CHECK_OK(tvmgo_string_make(text, n, &s));
  free(text);
  return s;
}

static int is_long_text(const TVMFFIAny* s, size_t n, char c) {
  TVMFFIByteArray t = text_of(s);
  if (t.size != n || t.data[n] != 0) return 0;
  for (size_t i = 0; i < n; i++)
    if (t.data[i] != c) return 0;
  return 1;
}

/* The thread keeps one of the blocks that it frees, but never one that is still in use. */
static void test_string_blocks_used_again(void) {
  static const size_t sizes[] = {900,  983,  984,   985,   1500,  3000,  2999,  1400, 4096,
                                 6000, 9000, 16343, 16344, 40000, 16000, 12000, 8000, 1000};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (size_t i = 0; i < SIZES; i++) {
    for (size_t j = 0; j < SIZES; j++) {
      TVMFFIAny a = long_text(sizes[i], 'a'), b = long_text(sizes[j], 'b');
      tvmgo_any_clear(&a);
      TVMFFIAny c = long_text(sizes[j], 'c'), d = long_text(sizes[i], 'd');
      CHECK(is_long_text(&b, sizes[j], 'b') && is_long_text(&c, sizes[j], 'c') &&
            is_long_text(&d, sizes[i], 'd'));
      tvmgo_any_clear(&b);
      tvmgo_any_clear(&c);
      tvmgo_any_clear(&d);
    }
  }
  /* A weak reference keeps the block after the string is freed. */
  TVMFFIAny weak = long_text(4000, 'w');
  TVMFFIObject* object = weak.v_obj;
  tvmgo_object_retain_weak(object);
  tvmgo_any_clear(&weak);
  TVMFFIAny next = long_text(4000, 'n');
  CHECK(next.v_obj != object);
  CHECK(!tvmgo_object_promote(object));
  tvmgo_object_release_weak(object);
  tvmgo_any_clear(&next);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void* release_text(void* text) {
  tvmgo_object_release(text);
  return NULL;
}

/* A thread that ends with such a block frees it: what leaks fails this program. */
static void test_string_block_of_ended_thread(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  for (int i = 0; i < 3; i++) {
    TVMFFIAny s = long_text(5000, 's');
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, release_text, s.v_obj) == 0);
    pthread_join(thread, NULL);
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_bytes_view_keeps_owner(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny owner, view;
  CHECK_OK(tvmgo_string_make("some longer text", 16, &owner));
  TVMFFIByteArray t = text_of(&owner);
  CHECK_OK(tvmgo_bytes_view(t.data + 5, 6, owner.v_obj, &view));
  tvmgo_any_clear(&owner);
  CHECK_EQ_INT(view.type_index, kTVMFFIBytes);
  CHECK_TEXT(text_of(&view), "longer");
  CHECK_EQ_PTR(text_of(&view).data, t.data + 5);
  tvmgo_any_clear(&view);
  CHECK_FAILS(tvmgo_bytes_view(NULL, 1, NULL, &view), "ValueError", "NULL");
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_any_string_wants_strings(void) {
  TVMFFIAny bytes, number = tvmgo_any_int(3), null = raw(NULL), name = raw("x");
  TVMFFIByteArray t;
  CHECK_OK(tvmgo_bytes_make("ab", 2, &bytes));
  CHECK_FAILS(tvmgo_any_string(&bytes, "load file: name", &t), "TypeError",
              "load file: name: expected str, got bytes");
  CHECK_FAILS(tvmgo_any_string(&number, "f", &t), "TypeError", "got int");
  CHECK_FAILS(tvmgo_any_string(&null, "f", &t), "ValueError", "NULL");
  CHECK_OK(tvmgo_any_string(&name, "f", &t));
  CHECK_TEXT(t, "x");
}

static void test_own_views(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIByteArray bytes = {"0123456789", 10};
  TVMFFIAny out, view = raw("short");
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&view, &out));
  CHECK_EQ_INT(out.type_index, kTVMFFISmallStr);
  view = raw("longer than seven");
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&view, &view)); /* in place */
  CHECK_EQ_INT(view.type_index, kTVMFFIStr);
  tvmgo_any_clear(&view);
  view = (TVMFFIAny){.type_index = kTVMFFIByteArrayPtr, .v_ptr = &bytes};
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&view, &out));
  CHECK_EQ_INT(out.type_index, kTVMFFIBytes);

  TVMFFIAny second; /* objects are shared */
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&out, &second));
  CHECK_EQ_PTR(out.v_obj, second.v_obj);
  tvmgo_any_clear(&second);

  TVMFFIObject* slot = out.v_obj; /* rvalue references are emptied */
  view = (TVMFFIAny){.type_index = kTVMFFIObjectRValueRef, .v_ptr = &slot};
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&view, &second));
  CHECK_EQ_PTR(slot, NULL);
  CHECK_EQ_PTR(second.v_obj, out.v_obj);
  CHECK_EQ_INT(second.type_index, kTVMFFIBytes);
  tvmgo_any_clear(&second);
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&view, &second));
  CHECK_EQ_INT(second.type_index, kTVMFFINone);

  DLTensor tensor = {0};
  view = (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = &tensor};
  CHECK_OK(TVMFFIAnyViewToOwnedAny(&view, &out));
  CHECK_EQ_INT(out.type_index, kTVMFFIDLTensorPtr);
  CHECK_EQ_PTR(out.v_ptr, &tensor);

  view = raw(NULL);
  CHECK_FAILS(TVMFFIAnyViewToOwnedAny(&view, &out), "ValueError", "NULL");
  view = (TVMFFIAny){.type_index = kTVMFFIArray};
  CHECK_FAILS(TVMFFIAnyViewToOwnedAny(&view, &out), "ValueError", "Array");
  view = (TVMFFIAny){.type_index = 40};
  CHECK_FAILS(TVMFFIAnyViewToOwnedAny(&view, &out), "TypeError", "40");
  CHECK_FAILS(TVMFFIAnyViewToOwnedAny(NULL, &out), "ValueError", "view is NULL");
  CHECK_FAILS(TVMFFIAnyViewToOwnedAny(&view, NULL), "ValueError", "out is NULL");
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* ---- Shapes and arrays --------------------------------------------------------------------- */

static void test_shape_layout(void) {
  static const int64_t dims[] = {2, -1, 3};
  TVMFFIObject* s = tvmgo_shape_new(dims, 3);
  REQUIRE(s != NULL);
  CHECK_EQ_INT(s->type_index, kTVMFFIShape);
  CHECK_EQ_INT(TVMFFIShapeGetCellPtr(s)->size, 3);
  CHECK(memcmp(TVMFFIShapeGetCellPtr(s)->data, dims, sizeof dims) == 0);
  CHECK_EQ_PTR((char*)TVMFFIShapeGetCellPtr(s)->data, (char*)s + 40);
  tvmgo_object_release(s);
  s = tvmgo_shape_new(NULL, 0);
  REQUIRE(s != NULL);
  CHECK_EQ_INT(TVMFFIShapeGetCellPtr(s)->size, 0);
  tvmgo_object_release(s);
  CHECK_EQ_PTR(tvmgo_shape_new(NULL, SIZE_MAX / 4), NULL);
  CHECK_ERROR("MemoryError", "");
}

static void test_array_owns_elements(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny items[3] = {tvmgo_any_int(7), raw("a string of some length"), raw("b")};
  TVMFFIObject* a = tvmgo_array_new(items, 3);
  REQUIRE(a != NULL);
  TVMFFISeqCell* cell = tvmgo_seq_cell(a);
  CHECK_EQ_INT(cell->size, 3);
  CHECK_EQ_INT(cell->capacity, 3);
  CHECK(cell->data_deleter == NULL);
  CHECK_EQ_PTR(cell->data, (char*)a + 56);
  TVMFFIObject* b = tvmgo_array_append(a, &items[1]);
  REQUIRE(b != NULL);
  tvmgo_object_release(a);
  const TVMFFIAny* stored = tvmgo_seq_cell(b)->data;
  CHECK_EQ_INT(tvmgo_seq_cell(b)->size, 4);
  CHECK_EQ_INT(stored[0].v_int64, 7);
  CHECK_TEXT(text_of(&stored[1]), "a string of some length");
  CHECK_EQ_INT(stored[2].type_index, kTVMFFISmallStr);
  CHECK_TEXT(text_of(&stored[3]), "a string of some length");
  tvmgo_object_release(b);

  TVMFFIAny broken[2] = {raw("another longer string"), raw(NULL)};
  CHECK_EQ_PTR(tvmgo_array_new(broken, 2), NULL);
  CHECK_ERROR("ValueError", "NULL");
  CHECK_EQ_PTR(tvmgo_array_new(NULL, -1), NULL);
  CHECK_ERROR("MemoryError", "");
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* ---- Global functions ---------------------------------------------------------------------- */

static void test_builtins_array_and_shape(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  static const char* const prefixes[] = {"ffi.", "runtime."};
  for (int p = 0; p < 2; p++) {
    char name[64];
    TVMFFIAny items[2] = {tvmgo_any_int(5), raw("text")}, a, r;
    snprintf(name, sizeof name, "%sArray", prefixes[p]);
    CHECK_OK(call(name, items, 2, &a));
    snprintf(name, sizeof name, "%sArraySize", prefixes[p]);
    CHECK_OK(call(name, &a, 1, &r));
    CHECK_EQ_INT(r.v_int64, 2);
    snprintf(name, sizeof name, "%sArrayGetItem", prefixes[p]);
    TVMFFIAny args[2] = {a, tvmgo_any_int(1)};
    CHECK_OK(call(name, args, 2, &r));
    CHECK_TEXT(text_of(&r), "text");
    args[1].v_int64 = 2;
    CHECK_FAILS(call(name, args, 2, &r), "IndexError", "index 2 is out of range for size 2");
    args[1].v_int64 = -1;
    CHECK_FAILS(call(name, args, 2, &r), "IndexError", name);
    CHECK_FAILS(call(name, args, 1, &r), "TypeError", "2 arguments");
    CHECK_FAILS(call(name, items, 2, &r), "TypeError", "argument 0 must be Array, got int");
    tvmgo_any_clear(&a);
  }
  TVMFFIAny items[2] = {tvmgo_any_int(5), raw("text")}, r;
  TVMFFIAny find[2];
  CHECK_OK(call("ffi.Array", items, 2, &find[0]));
  find[1] = raw("text");
  CHECK_OK(call("ffi.ArrayContains", find, 2, &r));
  CHECK_EQ_INT(r.type_index, kTVMFFIBool);
  CHECK_EQ_INT(r.v_int64, 1);
  find[1] = raw("texts");
  CHECK_OK(call("ffi.ArrayContains", find, 2, &r));
  CHECK_EQ_INT(r.v_int64, 0);
  tvmgo_any_clear(&find[0]);

  TVMFFIAny dims[2] = {tvmgo_any_int(4), tvmgo_any_int(6)}, elem[2];
  CHECK_OK(call("ffi.Shape", dims, 2, &elem[0]));
  CHECK_OK(call("runtime.GetShapeTupleSize", elem, 1, &r));
  CHECK_EQ_INT(r.v_int64, 2);
  elem[1] = tvmgo_any_int(1);
  CHECK_OK(call("runtime.GetShapeTupleElem", elem, 2, &r));
  CHECK_EQ_INT(r.v_int64, 6);
  elem[1] = tvmgo_any_int(9);
  CHECK_FAILS(call("runtime.GetShapeTupleElem", elem, 2, &r), "IndexError", "index 9");
  CHECK_FAILS(call("ffi.Shape", items, 2, &r), "TypeError", "argument 1 must be int");
  tvmgo_any_clear(&elem[0]);
  CHECK_OK(call("ffi.Shape", NULL, 0, &r));
  tvmgo_any_clear(&r);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_builtins_map(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny pairs[6] = {raw("one"),   tvmgo_any_int(1), raw("a longer key"),
                        raw("value"), tvmgo_any_int(3), tvmgo_any_none()};
  TVMFFIAny args[3], r, missing;
  CHECK_OK(call("ffi.GetInvalidObject", NULL, 0, &missing));
  CHECK_OK(call("ffi.Map", pairs, 6, &args[0]));
  args[1] = raw("a longer key");
  CHECK_OK(call("ffi.MapGetItem", args, 2, &r));
  CHECK_TEXT(text_of(&r), "value");
  CHECK_OK(call("ffi.MapCount", args, 2, &r));
  CHECK_EQ_INT(r.v_int64, 1);
  CHECK_OK(call("runtime.MapSize", args, 1, &r));
  CHECK_EQ_INT(r.v_int64, 3);
  args[1] = raw("two");
  CHECK_FAILS(call("ffi.MapGetItem", args, 2, &r), "KeyError",
              "ffi.MapGetItem: there is no key \"two\"");
  args[1] = tvmgo_any_int(17);
  CHECK_FAILS(call("runtime.MapGetItem", args, 2, &r), "KeyError", "17");
  CHECK_OK(call("ffi.MapGetItemOrMissing", args, 2, &r));
  CHECK_EQ_PTR(r.v_obj, missing.v_obj);
  tvmgo_any_clear(&r);
  CHECK_FAILS(call("ffi.Map", pairs, 3, &r), "TypeError", "3 arguments");
  CHECK_FAILS(call("ffi.DictSize", args, 1, &r), "TypeError", "argument 0 must be Dict, got Map");
  CHECK_OK(call("runtime.MapItems", args, 1, &r));
  CHECK_EQ_INT(tvmgo_seq_cell(r.v_obj)->size, 6);
  tvmgo_any_clear(&r);

  TVMFFIAny walk, step; /* walks in order, keeps the map alive */
  CHECK_OK(call("ffi.MapForwardIterFunctor", args, 1, &walk));
  tvmgo_any_clear(&args[0]);
  for (int i = 0; i < 3; i++) {
    step = tvmgo_any_int(0);
    r = tvmgo_any_none();
    CHECK_OK(tvmgo_function_call(walk.v_obj, &step, 1, &r));
    CHECK(tvmgo_any_equal(&r, &pairs[2 * i]));
    tvmgo_any_clear(&r);
    step = tvmgo_any_int(1);
    CHECK_OK(tvmgo_function_call(walk.v_obj, &step, 1, &r));
    CHECK(tvmgo_any_equal(&r, &pairs[2 * i + 1]));
    tvmgo_any_clear(&r);
    step = tvmgo_any_int(2);
    CHECK_OK(tvmgo_function_call(walk.v_obj, &step, 1, &r));
    CHECK_EQ_INT(r.v_int64, i < 2);
  }
  CHECK_FAILS(tvmgo_function_call(walk.v_obj, &step, 1, &r), "IndexError", "no entry");
  tvmgo_any_clear(&walk);
  tvmgo_any_clear(&missing);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_builtins_dict(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  TVMFFIAny args[3], r, walk;
  CHECK_OK(call("ffi.Dict", NULL, 0, &args[0]));
  for (int i = 0; i < 50; i++) {
    args[1] = tvmgo_any_int(i);
    args[2] = raw("a value on the heap");
    CHECK_OK(call("ffi.DictSetItem", args, 3, &r));
  }
  CHECK_OK(call("ffi.DictSize", args, 1, &r));
  CHECK_EQ_INT(r.v_int64, 50);
  CHECK_OK(call("ffi.DictForwardIterFunctor", args, 1, &walk));
  args[1] = tvmgo_any_int(7);
  CHECK_OK(call("ffi.DictErase", args, 2, &r));
  CHECK_OK(call("ffi.DictErase", args, 2, &r));
  CHECK_OK(call("ffi.DictCount", args, 2, &r));
  CHECK_EQ_INT(r.v_int64, 0);
  CHECK_FAILS(call("ffi.DictGetItem", args, 2, &r), "KeyError", "7");
  CHECK_OK(call("ffi.DictClear", args, 1, &r));
  CHECK_OK(call("ffi.DictSize", args, 1, &r));
  CHECK_EQ_INT(r.v_int64, 0);
  TVMFFIAny step = tvmgo_any_int(0); /* the entry under the walk is gone: an error, no crash */
  CHECK_FAILS(tvmgo_function_call(walk.v_obj, &step, 1, &r), "IndexError", "changed");
  tvmgo_any_clear(&walk);
  tvmgo_any_clear(&args[0]);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static void test_builtins_text_and_markers(void) {
  TVMFFIByteArray content = {"0123456789", 10};
  TVMFFIAny bytes = {.type_index = kTVMFFIByteArrayPtr, .v_ptr = &content}, s = raw("hi"), r, k;
  static const char* const makers[] = {"ffi.String", "runtime.String", "runtime.GetFFIString"};
  for (int i = 0; i < 3; i++) {
    CHECK_OK(call(makers[i], &s, 1, &r));
    CHECK_TEXT(text_of(&r), "hi");
    CHECK_FAILS(call(makers[i], &bytes, 1, &k), "TypeError", makers[i]);
  }
  CHECK_OK(call("ffi.Bytes", &bytes, 1, &r));
  CHECK_EQ_INT(r.type_index, kTVMFFIBytes);
  tvmgo_any_clear(&r);
  CHECK_FAILS(call("ffi.Bytes", &s, 1, &r), "TypeError", "must be bytes, got const char*");
  TVMFFIAny one = tvmgo_any_int(1);
  CHECK_OK(call("runtime.BoxBool", &one, 1, &r));
  CHECK_EQ_INT(r.type_index, kTVMFFIBool);
  CHECK_OK(call("runtime.UnBoxBool", &r, 1, &k));
  CHECK_EQ_INT(k.v_int64, 1);
  CHECK_OK(call("ffi.GetInvalidObject", NULL, 0, &r));
  CHECK_OK(call("ffi.GetKwargsObject", NULL, 0, &k));
  CHECK(r.v_obj != k.v_obj);
  CHECK_EQ_INT(r.type_index, kTVMFFIObject);
  tvmgo_any_clear(&r);
  tvmgo_any_clear(&k);
  CHECK_OK(call("ffi.GetRegisteredTypeKeys", NULL, 0, &r));
  CHECK(tvmgo_seq_cell(r.v_obj)->size >= 29);
  CHECK_TEXT(text_of((TVMFFIAny*)tvmgo_seq_cell(r.v_obj)->data + 1), "int");
  tvmgo_any_clear(&r);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_string_small_and_heap);
  RUN(test_string_public_functions);
  RUN(test_string_blocks_used_again);
  RUN(test_string_block_of_ended_thread);
  RUN(test_bytes_view_keeps_owner);
  RUN(test_any_string_wants_strings);
  RUN(test_own_views);
  RUN(test_shape_layout);
  RUN(test_array_owns_elements);
  RUN(test_builtins_array_and_shape);
  RUN(test_builtins_map);
  RUN(test_builtins_dict);
  RUN(test_builtins_text_and_markers);
  return check_end();
}
