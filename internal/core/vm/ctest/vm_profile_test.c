/* Profiles of calls: every instruction once, in every kind of control flow; limits; many threads. */
#include "ctest/device.h"
#include "profile/profile.h"
#include "vm/ctest/programs.h"

#include <pthread.h>

/* sum(n) = n == 0 ? 0 : n + sum(n - 1), and fail(n), which calls test.fail with n. */
static tvmgo_vm_program* sums(void) {
  assembly a;
  begin_assembly(&a);
  int64_t add = add_function(&a, 0, "test.add", 0, 0), fail = add_function(&a, 0, "test.fail", 0, 0);
  int64_t sum = add_function(&a, 1, "sum", 1, 4);
  EMIT_IF(&a, sum, 0, 5);
  EMIT_CALL(&a, sum, 1, add, 0, IMM(-1));
  EMIT_CALL(&a, sum, 2, sum, 1);
  EMIT_CALL(&a, sum, 3, add, 0, 2);
  EMIT_RET(&a, sum, 3);
  EMIT_RET(&a, sum, 0);
  int64_t failing = add_function(&a, 1, "failing", 1, 2);
  EMIT_CALL(&a, failing, 1, add, 0, IMM(1));
  EMIT_CALL(&a, failing, 1, fail, 1);
  EMIT_RET(&a, failing, 1);
  int64_t outer = add_function(&a, 1, "outer", 1, 2);
  EMIT_CALL(&a, outer, 1, failing, 0);
  EMIT_RET(&a, outer, 1);
  return tvmgo_vm_program_new(&a.d);
}
enum { SUM = 2, FAILING = 3, OUTER = 4 };

static int fails_always(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return tvmgo_raise(TVMGO_VALUE_ERROR, "always");
}

static int64_t sum(tvmgo_vm_model* m, int64_t n) {
  TVMFFIAny arg = tvmgo_any_int(n), r = tvmgo_any_none();
  CHECK_OK(tvmgo_vm_model_run(m, NULL, SUM, &arg, 1, &r));
  return r.v_int64;
}

/* How many events have a kind and a name. */
static int64_t count(const tvmgo_profile_snapshot* s, int32_t kind, const char* name) {
  int64_t n = 0;
  for (int64_t i = 0; i < s->num_events; i++) {
    const tvmgo_profile_site* site = s->sites[s->events[i].site];
    CHECK(s->events[i].begin <= s->events[i].end);
    n += site->kind == kind && strcmp(site->name, name) == 0;
  }
  return n;
}

static void test_every_instruction_once(void) {
  tvmgo_vm_model* m = model_of(sums());
  tvmgo_profile* p = tvmgo_profile_new(1 << 20);
  REQUIRE(m != NULL && p != NULL);
  tvmgo_profile_snapshot s;
  enum { DEEP = 20000 }; /* frames, which do not nest in C */
  sum(m, 5);
  CHECK_OK(tvmgo_profile_begin(p));
  CHECK_EQ_INT(sum(m, DEEP), (int64_t)DEEP * (DEEP + 1) / 2);
  tvmgo_profile_end();
  sum(m, 5);
  CHECK_OK(tvmgo_profile_read(p, &s));
  CHECK_EQ_INT(count(&s, TVMGO_PROFILE_FUNCTION, "sum"), 1);
  CHECK_EQ_INT(count(&s, TVMGO_PROFILE_INSTRUCTION, "sum"), DEEP);
  CHECK_EQ_INT(count(&s, TVMGO_PROFILE_INSTRUCTION, "test.add"), 2 * DEEP);
  CHECK_EQ_INT(s.num_events, 3 * DEEP + 1);
  CHECK_EQ_INT(s.dropped, 0);
  tvmgo_profile_snapshot_free(&s);
  tvmgo_profile_release(p);
  tvmgo_vm_model_release(m);
}

/* A call that fails ends all its events, so that those of the next call are right. */
static void test_failed_calls(void) {
  tvmgo_vm_model* m = model_of(sums());
  tvmgo_profile* p = tvmgo_profile_new(1 << 20);
  REQUIRE(m != NULL && p != NULL);
  tvmgo_profile_snapshot s;
  TVMFFIAny arg = tvmgo_any_int(1), r = tvmgo_any_none();
  CHECK_OK(tvmgo_profile_begin(p));
  for (int i = 0; i < 3; i++) CHECK_FAILS(tvmgo_vm_model_run(m, NULL, OUTER, &arg, 1, &r), TVMGO_VALUE_ERROR, "always");
  CHECK_EQ_INT(tvmgo_profiling->num_opened, 0);
  arg = tvmgo_any_int(-1);
  CHECK_FAILS(tvmgo_vm_model_run(m, NULL, SUM, &arg, 1, &r), TVMGO_RUNTIME_ERROR, "100000 calls");
  CHECK_EQ_INT(tvmgo_profiling->num_opened, 0);
  sum(m, 2);
  tvmgo_profile_end();
  CHECK(tvmgo_profiling == NULL);
  CHECK_OK(tvmgo_profile_read(p, &s));
  CHECK_EQ_INT(count(&s, TVMGO_PROFILE_FUNCTION, "outer"), 3);
  CHECK_EQ_INT(count(&s, TVMGO_PROFILE_INSTRUCTION, "failing"), 3);
  CHECK_EQ_INT(count(&s, TVMGO_PROFILE_INSTRUCTION, "test.fail"), 3);
  CHECK_EQ_INT(count(&s, TVMGO_PROFILE_FUNCTION, "sum"), 2);
  tvmgo_profile_snapshot_free(&s);
  tvmgo_profile_release(p);
  tvmgo_vm_model_release(m);
}

static void test_the_limit_drops_and_counts(void) {
  tvmgo_vm_model* m = model_of(sums());
  tvmgo_profile* p = tvmgo_profile_new(10);
  REQUIRE(m != NULL && p != NULL);
  tvmgo_profile_snapshot s;
  CHECK_OK(tvmgo_profile_begin(p));
  sum(m, 5); /* 16 events */
  tvmgo_profile_end();
  CHECK_OK(tvmgo_profile_read(p, &s));
  CHECK_EQ_INT(s.num_events, 10);
  CHECK_EQ_INT(s.dropped, 6);
  tvmgo_profile_snapshot_free(&s);
  tvmgo_profile_release(p);
  CHECK(tvmgo_profile_new(0) == NULL);
  CHECK_ERROR(TVMGO_VALUE_ERROR, "must be positive");
  tvmgo_vm_model_release(m);
}

/* The profile may be released while it records, and while storages that it counts exist. */
static void test_releases(void) {
  tvmgo_profile* p = tvmgo_profile_new(100);
  REQUIRE(p != NULL);
  CHECK_OK(tvmgo_profile_begin(p));
  tvmgo_profile_release(p);
  TVMFFIObject* s = tvmgo_vm_storage_new(NULL, (DLDevice){kDLCPU, 0}, 100, (DLDataType){kDLUInt, 8, 1}, NULL);
  REQUIRE(s != NULL);
  p = tvmgo_profile_current();
  tvmgo_profile_end();
  tvmgo_profile_release(p);
  tvmgo_object_release(s);
}

/* A copy to a device without timers: the stream is synchronized, and the event says so. */
static void test_copies(void) {
  static const TVMGODeviceAPI table = {DEVICE_FUNCTIONS};
  enum { TYPE = 30 };
  const TVMGODeviceSpec spec = {.struct_size = sizeof spec, .device_type = TYPE, .name = "profiled", .api = &table};
  CHECK_OK(TVMGODeviceAPIRegister(&spec));
  int64_t shape[1] = {25};
  DLDataType f32 = {kDLFloat, 32, 1};
  tvmgo_tensor* a = tvmgo_tensor_new(shape, 1, f32, (DLDevice){kDLCPU, 0}, NULL);
  tvmgo_tensor* b = tvmgo_tensor_new(shape, 1, f32, (DLDevice){(DLDeviceType)TYPE, 0}, NULL);
  tvmgo_profile* p = tvmgo_profile_new(100);
  REQUIRE(a != NULL && b != NULL && p != NULL);
  CHECK_OK(tvmgo_profile_begin(p));
  CHECK_OK(tvmgo_dl_copy(&a->dl, &b->dl, NULL));
  CHECK_OK(tvmgo_dl_copy(&a->dl, &a->dl, NULL));
  tvmgo_profile_end();
  tvmgo_profile_snapshot s;
  CHECK_OK(tvmgo_profile_read(p, &s));
  REQUIRE(s.num_events == 2);
  for (int i = 0; i < 2; i++) {
    const tvmgo_profile_site* site = s.sites[s.events[i].site];
    CHECK_EQ_INT(site->kind, TVMGO_PROFILE_COPY);
    CHECK_EQ_INT(s.events[i].value, 100);
    CHECK_EQ_INT(site->other.device_type, i == 0 ? TYPE : kDLCPU);
    CHECK_EQ_INT(site->waits, i == 0);
    CHECK(i == 0 ? s.events[i].on_stream >= 0 : s.events[i].on_stream == -1);
  }
  tvmgo_profile_snapshot_free(&s);
  tvmgo_profile_release(p);
  tvmgo_object_release(a);
  tvmgo_object_release(b);
}

enum { THREADS = 4, CALLS = 50 };
typedef struct {
  tvmgo_vm_model* model;
  tvmgo_profile *shared, *own;
} worker;

static void* work(void* arg) {
  worker* w = arg;
  for (int i = 0; i < CALLS; i++) {
    tvmgo_profile* p = i % 3 == 0 ? w->shared : i % 3 == 1 ? w->own : NULL;
    if (p != NULL) CHECK_OK(tvmgo_profile_begin(p));
    CHECK_EQ_INT(sum(w->model, 4), 10);
    tvmgo_profile_end(); /* nothing without a profile */
    tvmgo_profile_snapshot s;
    if (i % 10 == 0) {
      CHECK_OK(tvmgo_profile_read(w->shared, &s));
      tvmgo_profile_snapshot_free(&s);
    }
  }
  return NULL;
}

static void test_many_threads(void) {
  tvmgo_vm_model* m = model_of(sums());
  tvmgo_profile* shared = tvmgo_profile_new(1 << 20);
  REQUIRE(m != NULL && shared != NULL);
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){m, shared, tvmgo_profile_new(1 << 20)};
    pthread_create(&threads[i], NULL, work, &workers[i]);
  }
  tvmgo_profile_snapshot s;
  enum { EVENTS = 13 }; /* of sum(4) */
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK_OK(tvmgo_profile_read(workers[i].own, &s));
    CHECK_EQ_INT(s.num_events, EVENTS * 17);
    tvmgo_profile_snapshot_free(&s);
    tvmgo_profile_release(workers[i].own);
  }
  CHECK_OK(tvmgo_profile_read(shared, &s));
  CHECK_EQ_INT(s.num_events, EVENTS * 17 * THREADS);
  tvmgo_profile_snapshot_free(&s);
  tvmgo_profile_release(shared);
  tvmgo_vm_model_release(m);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  register_test_functions();
  tvmgo_global_builtin("test.fail", fails_always);
  RUN(test_every_instruction_once);
  RUN(test_failed_calls);
  RUN(test_the_limit_drops_and_counts);
  RUN(test_releases);
  RUN(test_copies);
  RUN(test_many_threads);
  return check_end();
}
