/* Teams of workers: how many threads there are, when they end, and what they inherit. */
#include "parallel/ctest/launches.h"
#include "parallel/team.h"
#include "parallel/thread_count.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

/* The number of further threads that the system lets the core make. */
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

/* Threads before any team: more than one where an emulator runs this program. */
static int threads_at_start;
__attribute__((constructor)) static void count_threads_at_start(void) { threads_at_start = count_threads(); }

/* Two teams of 101 threads fill the limit of 256. A third launch of any size runs as one task; one with a fixed number
 * of tasks waits. */
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

/* Eight teams were used at the same time; all but TVMGO_TEAM_KEEP end when they are not needed. */
static void test_idle_teams_retire(void) {
  pthread_barrier_init(&meeting, NULL, CALLERS);
  run_threads(CALLERS, meet_others, NULL);
  pthread_barrier_destroy(&meeting);
  int most = threads_at_start + TVMGO_TEAM_KEEP * (THREADS - 1) + CHECK_TSAN; /* TSan has a thread of its own */
  double start = check_seconds();
  while (count_threads() > most && check_seconds() - start < 120) sched_yield();
  CHECK(count_threads() <= most);
  record r = {0};
  CHECK_OK(TVMBackendParallelLaunch(note, &r, 0));
  check_ran(&r, THREADS);
}

/* ---- the threads themselves ---- */

static int look_at_thread(int id, TVMParallelGroupEnv* env, void* cdata) {
  _Atomic int* wrong = cdata;
  if (TVMBackendParallelBarrier(id, env) != 0) return -1; /* until then, the caller may take tasks */
  if (id == 0) return 0;
  char name[32];
  sigset_t blocked;
  cpu_set_t cores, all;
  pthread_getname_np(pthread_self(), name, sizeof name);
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  if (strcmp(name, "tvmgo-worker") != 0) atomic_fetch_add(wrong, 1);
  if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGPROF)) atomic_fetch_add(wrong, 1);
  if (sigismember(&blocked, SIGSEGV)) atomic_fetch_add(wrong, 1);
  /* all cores of the process, or all but the caller's */
  int own = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
  int missing = tvmgo_parallel_affinity(&all) - own;
  if (missing < 0 || missing > 1) atomic_fetch_add(wrong, 1);
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

/* No thread can be made: a launch without a fixed number of tasks runs as one task, others fail. */
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
  CHECK_OK(TVMBackendParallelLaunch(note, &after, 0)); /* and it recovers */
  check_ran(&after, THREADS);
}

/* Only one of three workers could be made: two tasks run on the existing threads, and no more threads are tried. */
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
    CHECK_OK(TVMBackendParallelLaunch(note_apart, &r, 0));
    check_ran(&r, THREADS);
  }
}

int main(int argc, char** argv) {
  set_env("4", NULL);
  check_begin(argc, argv);
  RUN(test_thread_limit);
  RUN(test_idle_teams_retire);
  RUN(test_workers_inherit_nothing);
  RUN(test_no_threads);
  RUN(test_part_of_the_threads);
  RUN(test_sleepers_wake);
  return check_end();
}
