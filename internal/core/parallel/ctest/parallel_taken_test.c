/* Tasks that the caller takes because no worker has begun them: these workers get no core until the test lets them. */
#include "parallel/ctest/launches.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int hold, held;
static pthread_t caller;

/* A worker asks for its core before it takes a task. */
int sched_getcpu(void) {
  unsigned cpu = 0;
  if (!pthread_equal(pthread_self(), caller) && atomic_load(&hold)) {
    atomic_fetch_add(&held, 1);
    while (atomic_load(&hold)) sched_yield();
    atomic_fetch_sub(&held, 1);
  }
  syscall(SYS_getcpu, &cpu, NULL, NULL);
  return (int)cpu;
}

static void test_caller_runs_them(void) {
  for (int n = 0; n <= THREADS; n++) {
    record r = {0};
    atomic_store(&hold, 1);
    CHECK_OK(TVMBackendParallelLaunch(note, &r, n));
    check_ran(&r, n == 0 ? THREADS : n);
    for (int i = 0; i < (n == 0 ? THREADS : n); i++) CHECK(pthread_equal(r.thread[i], caller));
    atomic_store(&hold, 0);
  }
}

/* Workers that have seen a job and come late run none of its tasks, but those of the next one. */
static void test_late_workers(void) {
  for (int i = 0; i < 50; i++) {
    record taken = {0}, shared = {0};
    atomic_store(&hold, 1);
    CHECK_OK(TVMBackendParallelLaunch(note, &taken, 0));
    while (atomic_load(&held) < THREADS - 1) sched_yield();
    atomic_store(&hold, 0);
    CHECK_OK(TVMBackendParallelLaunch(note_apart, &shared, 0));
    check_ran(&taken, THREADS);
    check_ran(&shared, THREADS);
    for (int t = 1; t < THREADS; t++) CHECK(!pthread_equal(shared.thread[t], caller));
  }
}

/* After a failure the caller takes no further task, so the workers have to run the rest. */
typedef struct {
  record ran;
  int failing, rc;
} failure;
static int fail_one(int id, TVMParallelGroupEnv* env, void* cdata) {
  failure* f = cdata;
  note(id, env, &f->ran);
  if (id != f->failing) return 0;
  atomic_store(&hold, 0);
  return f->rc == -2 ? -2 : tvmgo_raise(TVMGO_VALUE_ERROR, "bad tile");
}
static void test_failures(void) {
  int64_t before = check_live(TVMGO_LIVE_OBJECTS);
  for (int id = 0; id < THREADS; id++) {
    char text[64];
    snprintf(text, sizeof text, "Task %d error: bad tile", id);
    failure f = {.failing = id, .rc = -1}, front_end = {.failing = id, .rc = -2};
    atomic_store(&hold, 1);
    CHECK_FAILS(TVMBackendParallelLaunch(fail_one, &f, 0), TVMGO_VALUE_ERROR, text);
    check_ran(&f.ran, THREADS);
    for (int i = 0; i < THREADS; i++) CHECK_EQ_INT(pthread_equal(f.ran.thread[i], caller) != 0, i <= id);
    atomic_store(&hold, 1);
    CHECK_EQ_INT(TVMBackendParallelLaunch(fail_one, &front_end, 0), -2);
    CHECK(tvmgo_thread_get()->error == NULL);
    record after = {0};
    CHECK_OK(TVMBackendParallelLaunch(note, &after, 0));
    check_ran(&after, THREADS);
  }
  CHECK_EQ_INT(check_live(TVMGO_LIVE_OBJECTS), before);
}

/* An error that a task raised and handled is dropped, and is not that of a later task. */
static int handle_one(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env;
  if (id == 2 && cdata != NULL) return 7;
  return tvmgo_raise(TVMGO_VALUE_ERROR, "handled"), 0;
}
static void test_handled_errors(void) {
  atomic_store(&hold, 1);
  CHECK_OK(TVMBackendParallelLaunch(handle_one, NULL, 0));
  CHECK_NO_ERROR();
  CHECK_FAILS(TVMBackendParallelLaunch(handle_one, "", 3), TVMGO_RUNTIME_ERROR,
              "Task 2 error: returned 7 without an error");
  atomic_store(&hold, 0);
}

/* A task that the caller has taken is a task: launches in it are nested. */
static int nest(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env, (void)id;
  record r = {0};
  CHECK_EQ_INT(TVMBackendParallelLaunch(note, &r, 2), -1);
  tvmgo_object_release(tvmgo_error_take());
  CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
  check_ran(&r, 1);
  atomic_fetch_add((_Atomic int*)cdata, 1);
  return 0;
}
static void test_nested(void) {
  _Atomic int ran = 0;
  atomic_store(&hold, 1);
  CHECK_OK(TVMBackendParallelLaunch(nest, &ran, 0));
  atomic_store(&hold, 0);
  CHECK_EQ_INT(atomic_load(&ran), THREADS);
  CHECK_EQ_INT(tvmgo_thread_get()->parallel_depth, 0);
}

/* A child that a task forked has no workers, and its launch says so. */
static int fork_here(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env;
  if (id == 0) *(pid_t*)cdata = fork();
  return 0;
}
static void test_fork_in_a_task(void) {
  if (CHECK_TSAN) SKIP("ThreadSanitizer allows no threads after a fork");
  pid_t child = -1;
  int status = -1;
  fflush(NULL);
  int rc = TVMBackendParallelLaunch(fork_here, &child, 0);
  if (child == 0) {
    TVMFFIObject* e = rc == -1 ? tvmgo_error_take() : NULL;
    _exit(e != NULL && strstr(tvmgo_error_cell(e)->message.data, "forked inside a task") != NULL ? 0 : 1);
  }
  CHECK_OK(rc);
  REQUIRE(child > 0);
  CHECK_EQ_INT(waitpid(child, &status, 0), child);
  CHECK_EQ_INT(status, 0);
}

int main(int argc, char** argv) {
  set_env("4", NULL);
  caller = pthread_self();
  check_begin(argc, argv);
  RUN(test_caller_runs_them);
  RUN(test_late_workers);
  RUN(test_failures);
  RUN(test_handled_errors);
  RUN(test_nested);
  RUN(test_fork_in_a_task);
  return check_end();
}
