#include "ctest/check.h"

static TVMFFIByteArray text(const char* s) { return (TVMFFIByteArray){s, strlen(s)}; }

static int64_t objects(void) { return check_live(TVMGO_LIVE_OBJECTS); }

/* ---- safe calls ---- */

static int add(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  int64_t sum = self != NULL ? *(int64_t*)self : 0;
  for (int32_t i = 0; i < n; i++) {
    if (args[i].type_index != kTVMFFIInt)
      return tvmgo_raise(TVMGO_TYPE_ERROR, "add: argument %d is %s", i,
                         tvmgo_type_name(args[i].type_index));
    sum += args[i].v_int64;
  }
  *result = tvmgo_any_int(sum);
  return 0;
}

static void count_end(void* self) { ++*(int64_t*)self; }

static TVMFFIObjectHandle function(void* self, TVMFFISafeCallType call) {
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionCreate(self, call, NULL, &f));
  return f;
}

static void test_create_and_call(void) {
  int64_t before = objects(), functions = check_live(TVMGO_LIVE_FUNCTIONS), base = 100;
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionCreate(&base, add, count_end, &f));
  REQUIRE(f != NULL);
  CHECK_EQ_INT(((TVMFFIObject*)f)->type_index, kTVMFFIFunction);
  CHECK_EQ_PTR(tvmgo_function_cell(f)->cpp_call, NULL);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_FUNCTIONS), functions + 1);
  TVMFFIAny args[2] = {tvmgo_any_int(20), tvmgo_any_int(3)}, result = tvmgo_any_none();
  CHECK_OK(TVMFFIFunctionCall(f, args, 2, &result));
  CHECK_EQ_INT(result.type_index, kTVMFFIInt);
  CHECK_EQ_INT(result.v_int64, 123);
  result = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(f, NULL, 0, &result));
  CHECK_EQ_INT(result.v_int64, 100);
  CHECK_OK(TVMFFIObjectDecRef(f));
  CHECK_EQ_INT(base, 101); /* its deleter ran once */
  CHECK_EQ_INT(objects(), before);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_FUNCTIONS), functions);
}

static void test_bad_handles(void) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny result = tvmgo_any_none();
  CHECK_FAILS(TVMFFIFunctionCreate(NULL, NULL, NULL, &f), TVMGO_VALUE_ERROR, "safe_call is NULL");
  CHECK_FAILS(TVMFFIFunctionCreate(NULL, add, NULL, NULL), TVMGO_VALUE_ERROR, "out is NULL");
  CHECK_FAILS(TVMFFIFunctionCall(NULL, NULL, 0, &result), TVMGO_VALUE_ERROR, "NULL");
  TVMFFIObject* other = tvmgo_object_new(sizeof *other, kTVMFFIObject, tvmgo_object_plain_deleter);
  CHECK_FAILS(TVMFFIFunctionCall(other, NULL, 0, &result), TVMGO_TYPE_ERROR, "not Function");
  tvmgo_object_release(other);
}

static void test_error_passes_through(void) {
  TVMFFIObjectHandle f = function(NULL, add);
  TVMFFIAny args[2] = {tvmgo_any_int(1), tvmgo_any_none()}, result = tvmgo_any_none();
  CHECK_FAILS(TVMFFIFunctionCall(f, args, 2, &result), TVMGO_TYPE_ERROR, "add: argument 1 is None");
  CHECK_EQ_INT(result.type_index, kTVMFFINone);
  tvmgo_object_release(f);
}

/* A library function keeps its library; an exported symbol gets a NULL handle. */
static int tell_self(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)args, (void)n;
  *result = tvmgo_any_bool(self == NULL);
  return 0;
}

static void test_library_function_keeps_owner(void) {
  int64_t before = objects();
  TVMFFIObject* owner = tvmgo_object_new(sizeof *owner, kTVMFFIObject, tvmgo_object_plain_deleter);
  tvmgo_function* f = tvmgo_function_of_safe_call(tell_self, owner);
  REQUIRE(f != NULL);
  tvmgo_object_release(owner);
  CHECK_EQ_INT(objects(), before + 2);
  TVMFFIAny result = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(f, NULL, 0, &result));
  CHECK_EQ_INT(result.v_int64, 1);
  tvmgo_object_release(f);
  CHECK_EQ_INT(objects(), before);
}

/* ---- generated functions of the classic generation ---- */

static int seen_codes[80], seen_n;

static int packed(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* resource) {
  if (resource != NULL || *ret_code != kTVMNullptr)
    return tvmgo_raise(TVMGO_INTERNAL_ERROR, "bad convention");
  seen_n = n;
  memcpy(seen_codes, codes, (size_t)n * sizeof *codes);
  if (n > 0 && codes[0] == kTVMArgInt && args[0].v_int64 < 0) {
    TVMAPISetLastError("ValueError: negative");
    return -1;
  }
  if (n > 0 && codes[0] == kTVMArgInt && args[0].v_int64 == 77) return -1; /* without an error */
  ret->v_int64 = 0;
  for (int i = 0; i < n; i++)
    if (codes[i] == kTVMArgInt) ret->v_int64 += args[i].v_int64;
  *ret_code = kTVMArgInt;
  return 0;
}

static void test_packed_from_both_sides(void) {
  tvmgo_function* f = tvmgo_function_of_packed(packed, NULL);
  REQUIRE(f != NULL);
  TVMFFIAny views[3] = {tvmgo_any_int(4), tvmgo_any_bool(1), {.type_index = kTVMFFIRawStr}};
  views[2].v_c_str = "text";
  TVMFFIAny result = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(f, views, 3, &result));
  CHECK_EQ_INT(result.v_int64, 5); /* a bool arrives as an int: old files know no other */
  CHECK_EQ_INT(seen_n, 3);
  CHECK(seen_codes[0] == kTVMArgInt && seen_codes[1] == kTVMArgInt && seen_codes[2] == kTVMStr);

  TVMValue args[2] = {{.v_int64 = 30}, {.v_int64 = 12}}, ret;
  int codes[2] = {kTVMArgInt, kTVMArgInt}, code = -1;
  CHECK_OK(TVMFuncCall(f, args, codes, 2, &ret, &code));
  CHECK_EQ_INT(code, kTVMArgInt);
  CHECK_EQ_INT(ret.v_int64, 42);
  codes[1] = kTVMArgBool, args[1].v_int64 = 1;
  CHECK_OK(TVMFuncCall(f, args, codes, 2, &ret, &code));
  CHECK_EQ_INT(ret.v_int64, 31);
  CHECK_EQ_INT(seen_codes[1], kTVMArgInt);

  args[0].v_int64 = -1;
  CHECK_FAILS(TVMFuncCall(f, args, codes, 1, &ret, &code), TVMGO_VALUE_ERROR, "negative");
  args[0].v_int64 = 77;
  CHECK_FAILS(TVMFuncCall(f, args, codes, 1, &ret, &code), TVMGO_RUNTIME_ERROR, "returned -1");
  tvmgo_object_release(f);
}

static void test_many_arguments(void) {
  enum { N = 80 }; /* more than fit the stack */
  tvmgo_function* f = tvmgo_function_of_packed(packed, NULL);
  TVMFFIAny views[N], result = tvmgo_any_none();
  TVMValue args[N], ret;
  int codes[N], code;
  for (int i = 0; i < N; i++) {
    views[i] = tvmgo_any_int(i + 1);
    args[i].v_int64 = i + 1;
    codes[i] = kTVMArgInt;
  }
  CHECK_OK(tvmgo_function_call(f, views, N, &result));
  CHECK_EQ_INT(result.v_int64, N * (N + 1) / 2);
  CHECK_OK(TVMFuncCall(f, args, codes, N, &ret, &code));
  CHECK_EQ_INT(ret.v_int64, N * (N + 1) / 2);
  tvmgo_object_release(f);
  TVMFFIObjectHandle g = function(NULL, add);
  CHECK_OK(TVMFuncCall(g, args, codes, N, &ret, &code));
  CHECK_EQ_INT(ret.v_int64, N * (N + 1) / 2);
  tvmgo_object_release(g);
}

/* ---- classic callbacks ---- */

typedef struct {
  int finished, last_code, set_twice;
  int fail; /* what to return */
} callback_state;

static int callback(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  callback_state* s = resource;
  if (n > 0) s->last_code = codes[0];
  if (s->fail != 0) {
    TVMAPISetLastError("callback: refused");
    return s->fail;
  }
  if (n == 0) return 0;
  if (s->set_twice) {
    TVMValue v = {.v_str = "the first result, long enough for the heap"};
    int code = kTVMStr;
    if (TVMCFuncSetReturn(ret, &v, &code, 1) != 0) return -1;
  }
  return TVMCFuncSetReturn(ret, &args[0], &codes[0], 1);
}

static void finish(void* self) { ((callback_state*)self)->finished++; }

static void test_classic_callback(void) {
  int64_t before = objects();
  callback_state s = {0};
  tvmgo_function* f = tvmgo_function_of_callback(callback, &s, finish);
  REQUIRE(f != NULL);
  TVMFFIAny arg = tvmgo_any_int(5), result = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(f, &arg, 1, &result));
  CHECK_EQ_INT(result.v_int64, 5);
  arg = tvmgo_any_bool(1);
  CHECK_OK(tvmgo_function_call(f, &arg, 1, &result));
  CHECK_EQ_INT(s.last_code, kTVMArgBool);
  CHECK_EQ_INT(result.type_index, kTVMFFIBool);

  s.set_twice = 1;
  arg = (TVMFFIAny){.type_index = kTVMFFIRawStr};
  arg.v_c_str = "a text that is copied";
  result = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(f, &arg, 1, &result));
  TVMFFIByteArray got = {NULL, 0};
  CHECK(tvmgo_any_text(&result, &got));
  CHECK_TEXT(got, "a text that is copied");
  tvmgo_any_clear(&result);

  TVMValue value = {.v_str = "classic text"}, ret;
  int code = kTVMStr, ret_code;
  CHECK_OK(TVMFuncCall(f, &value, &code, 1, &ret, &ret_code));
  CHECK_EQ_INT(ret_code, kTVMStr);
  CHECK_STR(ret.v_str, "classic text");
  CHECK_OK(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code));
  CHECK_EQ_INT(ret_code, kTVMNullptr);

  s.fail = -1;
  CHECK_FAILS(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code), TVMGO_RUNTIME_ERROR,
              "callback: refused");
  CHECK_FAILS(TVMFuncCall(NULL, NULL, NULL, 0, &ret, &ret_code), TVMGO_VALUE_ERROR, "NULL");
  CHECK_FAILS(TVMFuncCall(f, NULL, NULL, 2, &ret, &ret_code), TVMGO_VALUE_ERROR, "2 arguments");
  CHECK_FAILS(TVMCFuncSetReturn(&result, &value, &code, 2), TVMGO_VALUE_ERROR, "num_ret is 2");
  CHECK_EQ_INT(s.finished, 0);
  tvmgo_object_release(f);
  CHECK_EQ_INT(s.finished, 1);
  CHECK_EQ_INT(objects(), before);
}

/* Objects pass through the classic convention with correct counts. */
static void test_object_through_callback(void) {
  int64_t before = objects();
  callback_state s = {0};
  tvmgo_function* f = tvmgo_function_of_callback(callback, &s, NULL);
  TVMFFIObjectHandle inner = function(NULL, add);
  TVMFFIAny arg = tvmgo_any_object(inner), result = tvmgo_any_none();
  CHECK_OK(tvmgo_function_call(f, &arg, 1, &result));
  CHECK_EQ_INT(s.last_code, kTVMPackedFuncHandle);
  CHECK_EQ_PTR(result.v_obj, inner);
  tvmgo_object_release(inner);
  CHECK_EQ_INT((uint32_t)((TVMFFIObject*)inner)->combined_ref_count, 1); /* the result's */
  tvmgo_any_clear(&result);
  tvmgo_object_release(f);
  CHECK_EQ_INT(objects(), before);
}

/* ---- globals ---- */

static void test_globals(void) {
  int64_t before = objects();
  TVMFFIByteArray name = text("test.function.global");
  TVMFFIObjectHandle f = function(NULL, add), g = function(NULL, tell_self), got = &got;
  CHECK_OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK_EQ_PTR(got, NULL); /* absent is no error */
  CHECK_OK(TVMFFIFunctionSetGlobal(&name, f, 0));
  CHECK_OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK_EQ_PTR(got, f);
  tvmgo_object_release(got);
  CHECK_FAILS(TVMFFIFunctionSetGlobal(&name, g, 0), TVMGO_RUNTIME_ERROR, "test.function.global");
  CHECK_OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK_EQ_PTR(got, f);
  tvmgo_object_release(got);
  CHECK_OK(TVMFFIFunctionSetGlobal(&name, g, 1));
  CHECK_EQ_INT((uint32_t)((TVMFFIObject*)f)->combined_ref_count, 1); /* ours alone */
  CHECK_EQ_INT(tvmgo_global_remove(name.data, name.size), 1);
  CHECK_EQ_INT(tvmgo_global_remove(name.data, name.size), 0);
  CHECK_OK(TVMFFIFunctionGetGlobal(&name, &got));
  CHECK_EQ_PTR(got, NULL);
  tvmgo_object_release(f);
  tvmgo_object_release(g);
  CHECK_EQ_INT(objects(), before);
}

static void test_global_bad_arguments(void) {
  TVMFFIObjectHandle f = function(NULL, add), got = NULL;
  TVMFFIByteArray name = text("test.function.bad"), empty = text(""), null = {NULL, 4};
  TVMFFIObject* other = tvmgo_object_new(sizeof *other, kTVMFFIObject, tvmgo_object_plain_deleter);
  CHECK_FAILS(TVMFFIFunctionSetGlobal(NULL, f, 0), TVMGO_VALUE_ERROR, "NULL");
  CHECK_FAILS(TVMFFIFunctionSetGlobal(&null, f, 0), TVMGO_VALUE_ERROR, "NULL");
  CHECK_FAILS(TVMFFIFunctionSetGlobal(&empty, f, 0), TVMGO_VALUE_ERROR, "empty");
  CHECK_FAILS(TVMFFIFunctionSetGlobal(&name, NULL, 0), TVMGO_TYPE_ERROR, "NULL");
  CHECK_FAILS(TVMFFIFunctionSetGlobal(&name, other, 0), TVMGO_TYPE_ERROR, "not a Function");
  CHECK_FAILS(TVMFFIFunctionGetGlobal(&name, NULL), TVMGO_VALUE_ERROR, "out is NULL");
  CHECK_FAILS(TVMFFIFunctionGetGlobal(NULL, &got), TVMGO_VALUE_ERROR, "NULL");
  CHECK_EQ_INT(tvmgo_global_remove(name.data, name.size), 0);
  tvmgo_object_release(other);
  tvmgo_object_release(f);
}

/* Index of a name in the sorted array, -1 when it is not there. */
static int64_t position(TVMFFIObject* names, const char* name) {
  TVMFFISeqCell* cell = tvmgo_seq_cell(names);
  for (int64_t i = 0; i < cell->size; i++) {
    TVMFFIByteArray t;
    if (tvmgo_any_text((TVMFFIAny*)cell->data + i, &t) && t.size == strlen(name) &&
        memcmp(t.data, name, t.size) == 0)
      return i;
  }
  return -1;
}

static void test_global_names(void) {
  enum { MANY = 600 }; /* the table grows on the way */
  int64_t before = objects();
  TVMFFIObjectHandle f = function(NULL, add);
  char name[64];
  for (int i = 0; i < MANY; i++) {
    int len = snprintf(name, sizeof name, "test.names.%03d", i);
    CHECK_OK(tvmgo_global_set(name, (size_t)len, f, 0));
  }
  TVMFFIObject* names = tvmgo_global_names();
  REQUIRE(names != NULL);
  int64_t first = position(names, "test.names.000");
  CHECK(first >= 0);
  CHECK_EQ_INT(position(names, "test.names.599"), first + MANY - 1); /* sorted */
  tvmgo_object_release(names);
  for (int i = 0; i < MANY; i++) {
    int len = snprintf(name, sizeof name, "test.names.%03d", i);
    TVMFFIObject* got = tvmgo_global_get(name, (size_t)len);
    CHECK_EQ_PTR(got, f);
    tvmgo_object_release(got);
    CHECK_EQ_INT(tvmgo_global_remove(name, (size_t)len), 1);
  }
  names = tvmgo_global_names();
  CHECK_EQ_INT(position(names, "test.names.000"), -1);
  tvmgo_object_release(names);
  tvmgo_object_release(f);
  CHECK_EQ_INT(objects(), before);
}

/* A function that is overridden while its deleter looks at the table: no deadlock. */
static void look_up_again(void* self) {
  TVMFFIObject* f = tvmgo_global_get(self, strlen(self));
  tvmgo_object_release(f);
}

static void test_deleter_may_use_the_table(void) {
  static char name[] = "test.function.deleter";
  TVMFFIObjectHandle f = NULL, g = function(NULL, add);
  CHECK_OK(TVMFFIFunctionCreate(name, add, look_up_again, &f));
  CHECK_OK(tvmgo_global_set(name, strlen(name), f, 0));
  tvmgo_object_release(f);
  CHECK_OK(tvmgo_global_set(name, strlen(name), g, 1));
  CHECK_OK(TVMFFIFunctionCreate(name, add, look_up_again, &f));
  CHECK_OK(tvmgo_global_set(name, strlen(name), f, 1));
  tvmgo_object_release(f);
  CHECK_EQ_INT(tvmgo_global_remove(name, strlen(name)), 1);
  tvmgo_object_release(g);
}

/* Built-ins exist before main, and are called like any other function. */
static void test_builtins_are_registered(void) {
  TVMFFIByteArray name = text("ffi.FunctionListGlobalNamesFunctor");
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionGetGlobal(&name, &f));
  REQUIRE(f != NULL);
  TVMFFIAny functor = tvmgo_any_none(), arg = tvmgo_any_int(-1), count = tvmgo_any_none();
  CHECK_OK(TVMFFIFunctionCall(f, NULL, 0, &functor));
  REQUIRE(functor.type_index == kTVMFFIFunction);
  CHECK_OK(TVMFFIFunctionCall(functor.v_obj, &arg, 1, &count));
  CHECK(count.v_int64 > 10);
  tvmgo_any_clear(&functor);
  tvmgo_object_release(f);
}

static void test_last_error_text(void) {
  TVMAPISetLastError("TypeError: wrong");
  CHECK_ERROR(TVMGO_TYPE_ERROR, "wrong");
  TVMAPISetLastError("plain: text");
  CHECK_ERROR(TVMGO_RUNTIME_ERROR, "plain: text");
  TVMAPISetLastError(NULL);
  CHECK_ERROR(TVMGO_RUNTIME_ERROR, "");
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_create_and_call);
  RUN(test_bad_handles);
  RUN(test_error_passes_through);
  RUN(test_library_function_keeps_owner);
  RUN(test_packed_from_both_sides);
  RUN(test_many_arguments);
  RUN(test_classic_callback);
  RUN(test_object_through_callback);
  RUN(test_globals);
  RUN(test_global_bad_arguments);
  RUN(test_global_names);
  RUN(test_deleter_may_use_the_table);
  RUN(test_builtins_are_registered);
  RUN(test_last_error_text);
  return check_end();
}
