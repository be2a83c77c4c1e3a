#include "ctest/check.h"
#include "parallel/team.h"
#include "parallel/thread_count.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_TASKS = 64, THREADS = 4 };

/* How many more threads the system lets the core make. */
static _Atomic int may_create = INT_MAX;
int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*body)(void*), void* arg) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (next == NULL) *(void**)(void*)&next = dlsym(RTLD_NEXT, "pthread_create");
  int left = atomic_load(&may_create);
  if (left <= 0) {
    atomic_store(&may_create, left - 1); /* counted, for the tests that want none to be tried */
    return EAGAIN;
  }
  if (left != INT_MAX) atomic_store(&may_create, left - 1);
  return next(thread, attr, body, arg);
}

/* What a launch did: who ran, with how many tasks. */
typedef struct {
  _Atomic int runs[MAX_TASKS];
  _Atomic int num_task;
  pthread_t thread[MAX_TASKS];
} record;

static int note(int id, TVMParallelGroupEnv* env, void* cdata) {
  record* r = cdata;
  atomic_fetch_add(&r->runs[id], 1);
  atomic_store(&r->num_task, env->num_task);
  r->thread[id] = pthread_self();
  return 0;
}

static void check_ran(record* r, int n) {
  CHECK_EQ_INT(atomic_load(&r->num_task), n);
  for (int i = 0; i < MAX_TASKS; i++) CHECK_EQ_INT(atomic_load(&r->runs[i]), i < n);
}

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

/* Jobs that differ in function, data and size reach the workers whole. */
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

/* The layout that docs/abi.md A.5 gives: counters 16 ints apart, zero at the start. */
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
  /* What a worker raised and handled is forgotten. */
  CHECK_OK(TVMBackendParallelLaunch(fail_some, "-hhh", 0));
  CHECK_FAILS(TVMBackendParallelLaunch(fail_some, "-nnn", 0), TVMGO_RUNTIME_ERROR,
              "Task 1 error: returned 7 without an error\nTask 2");
  /* An older error of the caller doesn't pass for task 0's. */
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
  return TVMBackendParallelLaunch(note, &r, wanted[1]);
}

static void test_nested_launch(void) {
  for (int id = 0; id < THREADS; id++) {
    int all[2] = {id, 0}, two[2] = {id, 2}, one[2] = {id, 1};
    CHECK_FAILS(TVMBackendParallelLaunch(nest, all, 0), TVMGO_RUNTIME_ERROR, "fuse the loops");
    CHECK_FAILS(TVMBackendParallelLaunch(nest, two, 0), TVMGO_RUNTIME_ERROR,
                "nested parallel launch");
    CHECK_OK(TVMBackendParallelLaunch(nest, one, 0)); /* one task is just a call */
  }
  int inner[2] = {0, 0};
  CHECK_OK(TVMBackendParallelLaunch(nest, inner, 1)); /* and so is one around */
  CHECK_EQ_INT(tvmgo_thread_get()->parallel_depth, 0);
}

/* ---- size ---- */

static void set_env(const char* num_threads, const char* omp) {
  if (num_threads != NULL) setenv("TVM_NUM_THREADS", num_threads, 1);
  else unsetenv("TVM_NUM_THREADS");
  if (omp != NULL) setenv("OMP_NUM_THREADS", omp, 1);
  else unsetenv("OMP_NUM_THREADS");
}

static void test_size_from_environment(void) {
  int cores = tvmgo_parallel_cores();
  CHECK(cores >= 1 && cores <= TVMGO_PARALLEL_MAX_THREADS);
  const struct {
    const char *tvm, *omp;
    int want;
  } cases[] = {
      {"3", "5", 3},       {NULL, "5", 5},     {"0", "5", 5},      {"-2", "5", 5},
      {"many", "5", 5},    {"3x", "5", 5},     {"", "5", 5},       {" 3 ", "5", 3},
      {NULL, "4,2", 4},    {NULL, "0", cores}, {NULL, NULL, cores}, {"1e3", NULL, cores},
      {"99999999999999999999", NULL, TVMGO_PARALLEL_MAX_THREADS},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    set_env(cases[i].tvm, cases[i].omp);
    CHECK_EQ_INT(tvmgo_parallel_default(), cases[i].want);
  }
  set_env("4", NULL);
}

static void write_file(const char* dir, const char* name, const char* text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  for (char* p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = '\0';
    mkdir(path, 0700);
    *p = '/';
  }
  FILE* f = fopen(path, "w");
  REQUIRE(f != NULL);
  fputs(text, f);
  fclose(f);
}

static int quota(const char* dir) {
  char membership[512];
  snprintf(membership, sizeof membership, "%s/cgroup", dir);
  return tvmgo_parallel_quota(membership, dir);
}

static void test_quota_of_cgroup(void) {
  char v2[] = "/tmp/tvmgo-cgroup-XXXXXX", v1[] = "/tmp/tvmgo-cgroup-XXXXXX";
  REQUIRE(mkdtemp(v2) != NULL && mkdtemp(v1) != NULL);
  CHECK_EQ_INT(quota(v2), 0); /* nothing there */
  write_file(v2, "cgroup", "0::/pod/job\n");
  CHECK_EQ_INT(quota(v2), 0);
  write_file(v2, "pod/job/cpu.max", "max 100000\n");
  CHECK_EQ_INT(quota(v2), 0);
  write_file(v2, "pod/job/cpu.max", "250000 100000\n");
  CHECK_EQ_INT(quota(v2), 3); /* rounded up */
  write_file(v2, "pod/cpu.max", "150000 100000\n");
  CHECK_EQ_INT(quota(v2), 2); /* the group above is tighter */
  write_file(v2, "cpu.max", "1000 100000\n");
  CHECK_EQ_INT(quota(v2), 1);
  write_file(v2, "cpu.max", "garbage\n");
  CHECK_EQ_INT(quota(v2), 2);
  write_file(v2, "cgroup", "0::/not/mounted/here\n");
  CHECK_EQ_INT(quota(v2), 0);
  write_file(v2, "cpu.max", "400000 100000\n"); /* a container's own group is the root */
  CHECK_EQ_INT(quota(v2), 4);

  write_file(v1, "cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n1:cpuset:/job\n");
  CHECK_EQ_INT(quota(v1), 0);
  write_file(v1, "cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  write_file(v1, "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  CHECK_EQ_INT(quota(v1), 0);
  write_file(v1, "cpu,cpuacct/job/cpu.cfs_quota_us", "620000\n");
  CHECK_EQ_INT(quota(v1), 7);
  char command[128];
  snprintf(command, sizeof command, "rm -r %s %s", v1, v2);
  CHECK_EQ_INT(system(command), 0);
}

static void test_configure(void) {
  CHECK_FAILS(tvmgo_parallel_configure(TVMGO_PARALLEL_MAX_THREADS + 1), TVMGO_VALUE_ERROR,
              "at most 1024");
  for (int n = 1; n <= 9; n++) {
    record r = {0};
    CHECK_OK(tvmgo_parallel_configure(n));
    CHECK_EQ_INT(tvmgo_parallel_threads(), n);
    CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
    check_ran(&r, n);
  }
  record r = {0};
  CHECK_OK(tvmgo_parallel_configure(1));
  CHECK_OK(TVMBackendParallelLaunch(note, &r, 3)); /* one thread runs everything as one task */
  check_ran(&r, 1);
  CHECK_OK(tvmgo_parallel_configure(0));
  CHECK_EQ_INT(tvmgo_parallel_threads(), tvmgo_parallel_default());
  CHECK_OK(tvmgo_parallel_configure(THREADS));
}

/* ---- many callers ---- */

enum { CALLERS = 8 };

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

static void run_threads(int n, void* (*body)(void*), void* arg) {
  pthread_t threads[MAX_TASKS];
  for (int i = 0; i < n; i++) REQUIRE(pthread_create(&threads[i], NULL, body, arg) == 0);
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

static void test_many_callers(void) { run_threads(CALLERS, call_often, NULL); }

/* All callers are inside their launches at one time, so each has a team of its own. */
static pthread_barrier_t meeting;
static int meet(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env, (void)cdata;
  if (id == 0) pthread_barrier_wait(&meeting);
  return TVMBackendParallelBarrier(id, env);
}
static void* meet_others(void* arg) {
  CHECK_OK(TVMBackendParallelLaunch(meet, NULL, THREADS));
  return arg;
}

static void test_callers_do_not_wait_for_each_other(void) {
  pthread_barrier_init(&meeting, NULL, CALLERS);
  run_threads(CALLERS, meet_others, NULL);
  pthread_barrier_destroy(&meeting);
}

static int count_threads(void) {
  char line[128];
  int n = 0;
  FILE* f = fopen("/proc/self/status", "r");
  if (f == NULL) return 0;
  while (fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "Threads: %d", &n) == 1) break;
  fclose(f);
  return n;
}

/* With teams of 101 threads two fill the room of 256. A third launch of any size runs as one task,
 * one that insists on its tasks waits. */
enum { LARGE = 101 };
static _Atomic int holding, may_go, insisted;

static int hold(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env, (void)cdata;
  if (id != 0) return 0;
  atomic_fetch_add(&holding, 1);
  while (atomic_load(&may_go) == 0) sched_yield();
  return 0;
}
static void* hold_team(void* arg) {
  CHECK_OK(TVMBackendParallelLaunch(hold, NULL, 0));
  return arg;
}
static int count_tasks(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)id, (void)env;
  atomic_fetch_add((_Atomic int*)cdata, 1);
  return 0;
}
static void* insist(void* arg) {
  _Atomic int tasks = 0;
  CHECK_OK(TVMBackendParallelLaunch(count_tasks, &tasks, LARGE));
  CHECK_EQ_INT(atomic_load(&tasks), LARGE);
  atomic_store(&insisted, 1);
  return arg;
}

static void test_thread_limit(void) {
  pthread_t holders[2], other;
  CHECK_OK(tvmgo_parallel_configure(LARGE));
  for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&holders[i], NULL, hold_team, NULL) == 0);
  while (atomic_load(&holding) < 2) sched_yield();
  _Atomic int tasks = 0;
  CHECK_OK(TVMBackendParallelLaunch(count_tasks, &tasks, 0));
  CHECK_EQ_INT(atomic_load(&tasks), 1);
  REQUIRE(pthread_create(&other, NULL, insist, NULL) == 0);
  for (int i = 0; i < 1000; i++) sched_yield();
  CHECK_EQ_INT(atomic_load(&insisted), 0);
  atomic_store(&may_go, 1);
  for (int i = 0; i < 2; i++) pthread_join(holders[i], NULL);
  pthread_join(other, NULL);
  CHECK_EQ_INT(atomic_load(&insisted), 1);
  CHECK_OK(tvmgo_parallel_configure(THREADS));
}

/* Eight teams were used at one time; all but TVMGO_TEAM_KEEP go away when nobody needs them. */
static void test_idle_teams_retire(void) {
  pthread_barrier_init(&meeting, NULL, CALLERS);
  run_threads(CALLERS, meet_others, NULL);
  pthread_barrier_destroy(&meeting);
  int most = 1 + TVMGO_TEAM_KEEP * (THREADS - 1) + CHECK_TSAN; /* TSan has a thread of its own */
  double start = check_seconds();
  while (count_threads() > most && check_seconds() - start < 120) sched_yield();
  CHECK(count_threads() <= most);
  record r = {0};
  CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
  check_ran(&r, THREADS);
}

/* ---- the threads themselves ---- */

static int look_at_thread(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env;
  _Atomic int* wrong = cdata;
  if (id == 0) return 0;
  char name[32];
  sigset_t blocked;
  cpu_set_t cores;
  pthread_getname_np(pthread_self(), name, sizeof name);
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  if (strcmp(name, "tvmgo-worker") != 0) atomic_fetch_add(wrong, 1);
  if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGPROF)) atomic_fetch_add(wrong, 1);
  if (sigismember(&blocked, SIGSEGV)) atomic_fetch_add(wrong, 1);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0 ||
      CPU_COUNT(&cores) != tvmgo_parallel_affinity(&cores))
    atomic_fetch_add(wrong, 1);
  return 0;
}

/* A caller bound to one core doesn't bind its workers, nor change their signals. */
static void* launch_from_one_core(void* arg) {
  cpu_set_t one;
  tvmgo_parallel_affinity(&one);
  int first = 0;
  while (!CPU_ISSET(first, &one)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  sched_setaffinity(0, sizeof one, &one);
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, NULL, &before);
  tvmgo_team_retire_idle();
  CHECK_OK(TVMBackendParallelLaunch(look_at_thread, arg, 0));
  pthread_sigmask(SIG_BLOCK, NULL, &after);
  CHECK_EQ_INT(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
  return NULL;
}

static void test_workers_inherit_nothing(void) {
  _Atomic int wrong = 0;
  run_threads(1, launch_from_one_core, (void*)&wrong);
  CHECK_EQ_INT(atomic_load(&wrong), 0);
}

/* No thread can be made: what leaves the number of tasks open runs as one, the rest is an error. */
static void test_no_threads(void) {
  pthread_attr_t before, huge;
  REQUIRE(pthread_getattr_default_np(&before) == 0 && pthread_attr_init(&huge) == 0);
  REQUIRE(pthread_attr_setstacksize(&huge, (size_t)1 << 46) == 0); /* more than can be mapped */
  tvmgo_team_retire_idle();
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  record r = {0}, after = {0};
  int all = TVMBackendParallelLaunch(note, &r, 0);
  int some = TVMBackendParallelLaunch(note, &after, 2);
  pthread_setattr_default_np(&before);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
  CHECK_EQ_INT(some, -1);
  CHECK_ERROR(TVMGO_RUNTIME_ERROR, "parallel launch of 2 tasks: no worker threads: ");
  CHECK_EQ_INT(all, 0);
  check_ran(&r, 1);
  CHECK_OK(TVMBackendParallelLaunch(note, &after, 0)); /* and it heals */
  check_ran(&after, THREADS);
}

/* One worker of three could be made: two tasks run on what there is, and nothing more is tried. */
static void test_part_of_the_threads(void) {
  tvmgo_team_retire_idle();
  atomic_store(&may_create, 1);
  record two = {0}, three = {0}, after = {0};
  int first = TVMBackendParallelLaunch(note, &two, 2);
  int tried = atomic_load(&may_create);
  int again = TVMBackendParallelLaunch(note, &two, 2);
  int same = atomic_load(&may_create) == tried;
  int more = TVMBackendParallelLaunch(note, &three, 3);
  atomic_store(&may_create, INT_MAX);
  CHECK_ERROR(TVMGO_RUNTIME_ERROR, "parallel launch of 3 tasks: no worker threads: ");
  CHECK_EQ_INT(more, -1);
  CHECK_EQ_INT(first, 0);
  CHECK_EQ_INT(again, 0);
  CHECK(same);
  CHECK_EQ_INT(atomic_load(&two.runs[1]), 2);
  CHECK_OK(TVMBackendParallelLaunch(note, &after, THREADS));
  check_ran(&after, THREADS);
}

/* Sleeping workers are woken: the gap is longer than any spinning. */
static void test_sleepers_wake(void) {
  for (int i = 0; i < 50; i++) {
    struct timespec gap = {0, 500000};
    nanosleep(&gap, NULL);
    record r = {0};
    CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
    check_ran(&r, THREADS);
  }
}

static void test_forked_child(void) {
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
  RUN(test_size_from_environment);
  RUN(test_quota_of_cgroup);
  RUN(test_configure);
  RUN(test_many_callers);
  RUN(test_callers_do_not_wait_for_each_other);
  RUN(test_thread_limit);
  RUN(test_idle_teams_retire);
  RUN(test_workers_inherit_nothing);
  RUN(test_no_threads);
  RUN(test_part_of_the_threads);
  RUN(test_sleepers_wake);
  RUN(test_forked_child);
  return check_end();
}
