/* The functions that Go calls: results and errors of one call, bound calls, and the stream of a call. */
#include "bridge/bridge.h"
#include "ctest/check.h"

static TVMFFIStreamHandle seen;

static int add(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self;
  seen = tvmgo_stream_get(kDLCPU, 0);
  if (n != 2) return tvmgo_raise(TVMGO_TYPE_ERROR, "add: %d arguments", (int)n);
  *result = tvmgo_any_int(args[0].v_int64 + args[1].v_int64);
  return 0;
}

static uintptr_t function_of(TVMFFISafeCallType body) {
  TVMFFIObjectHandle f = NULL;
  CHECK_OK(TVMFFIFunctionCreate(NULL, body, NULL, &f));
  return (uintptr_t)f;
}

static void test_call(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  uintptr_t f = function_of(add);
  TVMFFIAny args[2] = {tvmgo_any_int(2), tvmgo_any_int(3)};
  tvmgo_any_ret r = tvmgo_bridge_call(f, args, 2, (tvmgo_place){0});
  CHECK_EQ_INT(r.err, 0);
  CHECK_EQ_INT(r.value.v_int64, 5);
  r = tvmgo_bridge_call(f, args, 1, (tvmgo_place){0});
  REQUIRE(r.err != 0);
  CHECK_NO_ERROR(); /* the caller has it, not the thread */
  CHECK_TEXT(tvmgo_error_cell((TVMFFIObject*)r.err)->message, "add: 1 arguments");
  tvmgo_object_release((void*)r.err);
  tvmgo_object_release((void*)f);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

static int first(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)self, (void)n;
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

/* A bound call holds its arguments, its last result and its last error. */
static void test_bound_call(void) {
  int64_t live = check_live(TVMGO_LIVE_OBJECTS);
  uintptr_t f = function_of(first);
  TVMFFIAny item = tvmgo_any_int(7);
  TVMFFIObject* array = tvmgo_array_new(&item, 1);
  TVMFFIAny arg = tvmgo_any_object(array);
  tvmgo_ret bound = tvmgo_bound_new(f, &arg, 1, (tvmgo_place){0});
  REQUIRE(bound.err == 0);
  tvmgo_object_release(array);
  tvmgo_object_release((void*)f);
  for (int i = 0; i < 3; i++) {
    CHECK_EQ_INT(tvmgo_bound_call(bound.value), 0);
    CHECK_EQ_PTR(((tvmgo_bound*)bound.value)->result.v_obj, array);
  }
  tvmgo_bound_free(bound.value);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), live);
}

/* The stream of a call is current on the thread during the call; then the earlier one is current again. */
static void test_stream_of_a_call(void) {
  uintptr_t f = function_of(add);
  TVMFFIAny args[2] = {tvmgo_any_int(2), tvmgo_any_int(3)};
  tvmgo_any_ret r = tvmgo_bridge_call(f, args, 2, (tvmgo_place){kDLCPU, 0, 0x40});
  CHECK_EQ_INT(r.err, 0);
  CHECK_EQ_PTR(seen, (void*)0x40);
  CHECK_EQ_PTR(tvmgo_stream_get(kDLCPU, 0), NULL);
  tvmgo_object_release((void*)f);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_call);
  RUN(test_bound_call);
  RUN(test_stream_of_a_call);
  return check_end();
}
