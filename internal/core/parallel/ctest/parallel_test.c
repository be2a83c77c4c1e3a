/* Parallel launches: tasks, barriers, errors, nesting, many callers, forks. */
#include "parallel/ctest/launches.h"
#include "parallel/team.h"

#include <sys/wait.h>
#include <unistd.h>

static void test_every_task_runs_once(void) {
  for (int n = 0; n <= THREADS; n++) {
    record r = {0};
    CHECK_OK(TVMBackendParallelLaunch(note, &r, n));
    check_ran(&r, n == 0 ? THREADS : n);
    CHECK(pthread_equal(r.thread[0], pthread_self()));
  }
  for (int i = 0; i < 2000; i++) {
    record r = {0};
    CHECK_OK(TVMBackendParallelLaunch(note, &r, i % (THREADS + 1)));
    check_ran(&r, i % (THREADS + 1) == 0 ? THREADS : i % (THREADS + 1));
  }
}

/* Jobs that differ in function, data and size reach the workers unchanged. */
static int add_id(int id, TVMParallelGroupEnv* env, void* cdata) {
  atomic_fetch_add((_Atomic int*)cdata, id * 1000 + env->num_task);
  return 0;
}
static int add_one(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)id, (void)env;
  atomic_fetch_add((_Atomic int*)cdata, 1);
  return 0;
}

static void test_jobs_change(void) {
  _Atomic int a = 0, b = 0;
  enum { ROUNDS = 500 };
  for (int i = 0; i < ROUNDS; i++) {
    CHECK_OK(TVMBackendParallelLaunch(add_id, &a, 3));
    CHECK_OK(TVMBackendParallelLaunch(add_one, &b, 2));
    CHECK_OK(TVMBackendParallelLaunch(add_one, &a, 4));
  }
  CHECK_EQ_INT(atomic_load(&a), ROUNDS * (3000 + 9 + 4));
  CHECK_EQ_INT(atomic_load(&b), ROUNDS * 2);
}

static void test_arguments(void) {
  record r = {0};
  CHECK_FAILS(TVMBackendParallelLaunch(NULL, &r, 0), TVMGO_VALUE_ERROR, "flambda is NULL");
  CHECK_FAILS(TVMBackendParallelLaunch(note, &r, -1), TVMGO_VALUE_ERROR, "-1 tasks");
  CHECK_FAILS(TVMBackendParallelLaunch(note, &r, THREADS + 1), TVMGO_RUNTIME_ERROR,
              "set TVM_NUM_THREADS=5");
  check_ran(&r, 0);
}

/* ---- barriers ---- */

enum { PHASES = 200 };
typedef struct {
  int cells[MAX_TASKS]; /* plain memory: the barrier must order it */
  _Atomic int wrong;
} phases;

static int exchange(int id, TVMParallelGroupEnv* env, void* cdata) {
  phases* p = cdata;
  int n = env->num_task;
  for (int k = 1; k <= PHASES; k++) {
    p->cells[id] = k;
    if (TVMBackendParallelBarrier(id, env) != 0) return -1;
    for (int i = 0; i < n; i++)
      if (p->cells[i] != k) atomic_fetch_add(&p->wrong, 1);
    if (TVMBackendParallelBarrier(id, env) != 0) return -1;
  }
  return 0;
}

static void test_barrier_orders_memory(void) {
  for (int n = 0; n <= THREADS; n++) {
    phases p = {0};
    CHECK_OK(TVMBackendParallelLaunch(exchange, &p, n));
    CHECK_EQ_INT(atomic_load(&p.wrong), 0);
  }
}

static void test_barrier_arguments(void) {
  int32_t counters[2 * TVMGO_BARRIER_STRIDE] = {0};
  TVMParallelGroupEnv env = {counters, 2};
  CHECK_FAILS(TVMBackendParallelBarrier(0, NULL), TVMGO_VALUE_ERROR, "parallel barrier");
  CHECK_FAILS(TVMBackendParallelBarrier(2, &env), TVMGO_VALUE_ERROR, "task 2");
  CHECK_FAILS(TVMBackendParallelBarrier(-1, &env), TVMGO_VALUE_ERROR, "task -1");
}

/* The layout of docs/abi.md A.5: counters 16 ints apart, zero at the start. */
static int look_at_counters(int id, TVMParallelGroupEnv* env, void* cdata) {
  _Atomic int32_t* counters = env->sync_handle;
  _Atomic int* wrong = cdata;
  if ((uintptr_t)counters % 64 != 0) atomic_fetch_add(wrong, 1);
  if (atomic_load(&counters[id * 16]) != 0) atomic_fetch_add(wrong, 1);
  if (TVMBackendParallelBarrier(id, env) != 0) return -1;
  if (atomic_load(&counters[id * 16]) != 1) atomic_fetch_add(wrong, 1);
  return 0;
}

static void test_counters_start_at_zero(void) {
  _Atomic int wrong = 0;
  for (int i = 0; i < 50; i++) {
    CHECK_OK(TVMBackendParallelLaunch(look_at_counters, &wrong, 0));
    CHECK_OK(TVMBackendParallelLaunch(look_at_counters, &wrong, 1));
  }
  CHECK_EQ_INT(atomic_load(&wrong), 0);
}

static int fail_before_barrier(int id, TVMParallelGroupEnv* env, void* cdata) {
  if (id == *(int*)cdata) return tvmgo_raise(TVMGO_VALUE_ERROR, "bad tile");
  return TVMBackendParallelBarrier(id, env);
}

static void test_failure_opens_barrier(void) {
  for (int i = 0; i < THREADS; i++) {
    char text[64];
    snprintf(text, sizeof text, "Task %d error: ValueError: bad tile", i);
    CHECK_FAILS(TVMBackendParallelLaunch(fail_before_barrier, &i, 0), TVMGO_RUNTIME_ERROR, text);
  }
  record r = {0};
  CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
  check_ran(&r, THREADS);
}

/* ---- errors ---- */

static int fail_some(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env;
  const char* kinds = cdata; /* one letter a task */
  switch (kinds[id]) {
    case 'v': return tvmgo_raise(TVMGO_VALUE_ERROR, "value of %d", id);
    case 't': return tvmgo_raise(TVMGO_TYPE_ERROR, "type of %d", id);
    case 'n': return 7;
    case 'h': return tvmgo_raise(TVMGO_VALUE_ERROR, "handled"), 0;
    default: return 0;
  }
}

static void test_errors_are_joined(void) {
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "-v--", 0), TVMGO_VALUE_ERROR,
              "Task 1 error: value of 1");
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "v-v-", 0), TVMGO_VALUE_ERROR,
              "Task 0 error: value of 0\nTask 2 error: value of 2");
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "v--t", 0), TVMGO_RUNTIME_ERROR,
              "Task 0 error: ValueError: value of 0\nTask 3 error: TypeError: type of 3");
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "--n-", 0), TVMGO_RUNTIME_ERROR,
              "Task 2 error: returned 7 without an error");
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "n", 1), TVMGO_RUNTIME_ERROR,
              "Task 0 error: returned 7 without an error");
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "v", 1), TVMGO_VALUE_ERROR, "value of 0");
  /* An error that a worker raised and handled is dropped. */
  CHECK_OK(TVMBackendParallelLaunch(fail_some, "-hhh", 0));
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "-nnn", 0), TVMGO_RUNTIME_ERROR,
              "Task 1 error: returned 7 without an error\nTask 2");
  /* An older error of the caller is not reported as task 0's. */
  tvmgo_raise(TVMGO_INDEX_ERROR, "older");
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "n---", 0), TVMGO_RUNTIME_ERROR,
              "Task 0 error: returned 7");
  CHECK_NO_ERROR();
}

static int front_end_error(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env, (void)cdata;
  return id == 0 ? -2 : 0;
}

static void test_front_end_error_passes(void) {
  CHECK_EQ_INT(TVMBackendParallelLaunch(front_end_error, NULL, 0), -2);
  CHECK_EQ_INT(TVMBackendParallelLaunch(front_end_error, NULL, 1), -2);
  CHECK_NO_ERROR();
}

static void test_failed_launches_leak_nothing(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  for (int i = 0; i < 200; i++) {
    CHECK(TVMBackendParallelLaunch(fail_some, "vtvn", 0) != 0);
    tvmgo_object_release(tvmgo_error_take());
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

/* ---- nesting ---- */

static int nest(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env;
  int* wanted = cdata;
  if (id != wanted[0]) return 0;
  record r = {0};
  int rc = TVMBackendParallelLaunch(note, &r, wanted[1]);
  /* In a task it stays flat. */
  if (rc == 0) check_ran(&r, tvmgo_thread_get()->parallel_depth != 0 ? 1 : THREADS);
  return rc;
}

static void test_nested_launch(void) {
  for (int id = 0; id < THREADS; id++) {
    int all[2] = {id, 0}, two[2] = {id, 2}, one[2] = {id, 1};
    CHECK_FAILS(TVMBackendParallelLaunch(nest, two, 0), TVMGO_RUNTIME_ERROR,
                "nested parallel launch of 2 tasks");
    CHECK_OK(TVMBackendParallelLaunch(nest, all, 0));
    CHECK_OK(TVMBackendParallelLaunch(nest, one, 0)); /* one task is just a call */
  }
  int inner[2] = {0, 0};
  CHECK_OK(TVMBackendParallelLaunch(nest, inner, 1)); /* and so is one around */
  CHECK_EQ_INT(tvmgo_thread_get()->parallel_depth, 0);
}

/* ---- many callers ---- */

static void* call_often(void* arg) {
  int rounds = CHECK_TSAN ? 50 : 200;
  for (int i = 0; i < rounds; i++) {
    phases p = {0};
    record r = {0};
    CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
    check_ran(&r, THREADS);
    if (i % 10 == 0) {
      CHECK_OK(TVMBackendParallelLaunch(exchange, &p, 2 + i / 10 % 3));
      CHECK_EQ_INT(atomic_load(&p.wrong), 0);
    }
    if (i % 7 == 0)
      CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "-v-v", 0), TVMGO_VALUE_ERROR, "Task 3");
  }
  return arg;
}

static void test_many_callers(void) { run_threads(CALLERS, call_often, NULL); }

static void test_callers_do_not_wait_for_each_other(void) {
  pthread_barrier_init(&meeting, NULL, CALLERS);
  run_threads(CALLERS, meet_others, NULL);
  pthread_barrier_destroy(&meeting);
}

static void test_forked_child(void) {
  if (getenv("TVMGO_ARM64") != NULL) SKIP("qemu-user cannot fork a process that has threads");
  if (CHECK_TSAN) SKIP("ThreadSanitizer allows no threads after a fork");
  record r = {0};
  CHECK_OK(TVMBackendParallelLaunch(note, &r, 0)); /* the parent has workers */
  fflush(NULL);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(120);
    record c = {0};
    phases p = {0};
    int ok = TVMBackendParallelLaunch(note, &c, 0) == 0 && atomic_load(&c.num_task) == THREADS &&
             TVMBackendParallelLaunch(exchange, &p, 2) == 0 && atomic_load(&p.wrong) == 0;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ_INT(waitpid(child, &status, 0), child);
  CHECK_EQ_INT(status, 0);
  record after = {0};
  CHECK_OK(TVMBackendParallelLaunch(note, &after, 0));
  check_ran(&after, THREADS);
}

int main(int argc, char** argv) {
  set_env("4", NULL);
  check_begin(argc, argv);
  RUN(test_every_task_runs_once);
  RUN(test_jobs_change);
  RUN(test_arguments);
  RUN(test_barrier_orders_memory);
  RUN(test_barrier_arguments);
  RUN(test_counters_start_at_zero);
  RUN(test_failure_opens_barrier);
  RUN(test_errors_are_joined);
  RUN(test_front_end_error_passes);
  RUN(test_failed_launches_leak_nothing);
  RUN(test_nested_launch);
  RUN(test_many_callers);
  RUN(test_callers_do_not_wait_for_each_other);
  RUN(test_forked_child);
  return check_end();
}
