#include "parallel/parallel.h"
#include "parallel/team.h"
#include "parallel/thread_count.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A job word: the value of `done` at which all workers of the job have finished (48 bits, counted since the team was
 * made, so that no two jobs have the same word), and the number of tasks (16 bits). */
#define TEAM_WORD(target, num_task) ((target) << 16 | (uint64_t)(num_task))
#define WORD_TARGET(word) ((word) >> 16)
#define WORD_TASKS(word) ((int)((word) & 0xffff))
#define QUIT UINT64_MAX /* ends the threads */

static struct {
  tvmgo_spin lock; /* guards what follows, unless atomic */
  tvmgo_team* idle; /* the one used last comes first */
  int num_idle;
  int workers;      /* threads of all teams, those about to be made included */
  int waiters;      /* launches that wait for a team */
  tvmgo_team* lost; /* teams of the parent process: unusable, but not leaked */
  _Atomic uint32_t released; /* a futex: changes when a waiter may find a team */
  int spin_count, crowded_spin_count;
  int cores;
  int has_affinity;
  cpu_set_t affinity; /* of the process, so that a caller bound to one core does not bind its workers */
} pool;
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

/* Waits while *word == value; an errno, or 0. The futex is private to the process. */
static int futex_wait(_Atomic uint32_t* word, uint32_t value, const struct timespec* timeout) {
  return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0) == 0 ? 0 : errno;
}

static void futex_wake(_Atomic uint32_t* word, int n) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The number of pauses that take about 30 microseconds: longer than the gap between two launches of a model, too short
 * to be noticed. */
static int default_spin_count(void) {
  enum { PAUSES = 256, SPIN_NS = 30000 };
  int64_t best = INT64_MAX;
  for (int round = 0; round < 3; round++) {
    int64_t start = now_ns();
    for (int i = 0; i < PAUSES; i++) tvmgo_cpu_pause();
    int64_t took = now_ns() - start;
    if (took < best) best = took;
  }
  if (best < PAUSES) best = PAUSES; /* less than 1 ns per pause means that the clock does not advance */
  return (int)((int64_t)SPIN_NS * PAUSES / best);
}

void tvmgo_teams_renew(void) {
  pool.lost = pool.idle;
  pool.idle = NULL;
  pool.num_idle = pool.workers = pool.waiters = 0;
  tvmgo_spin_unlock(&pool.lock);
}

static void pool_init(void) {
  const char* text = getenv("TVM_THREAD_POOL_SPIN_COUNT");
  char* end = NULL;
  long n = text != NULL ? strtol(text, &end, 10) : -1;
  if (n >= 0 && end != text && *end == '\0') {
    pool.spin_count = pool.crowded_spin_count = n < INT_MAX ? (int)n : INT_MAX;
  } else {
    pool.spin_count = default_spin_count();
    /* With more threads than cores, a spinning thread delays the work that it waits for. */
    pool.crowded_spin_count = pool.spin_count / 100;
  }
  pool.cores = tvmgo_parallel_cores();
  pool.has_affinity = tvmgo_parallel_affinity(&pool.affinity) > 0;
}

/* Keeps the workers off this core, before they are woken: the kernel may wake a thread on the core of its waker, where
 * it waits until the caller sleeps or the next tick, also if other cores are idle. */
static void keep_off(tvmgo_team* g) {
  enum { PAUSE_NS = 100000 }; /* for each worker, so that a caller that changes its core often does little else */
  int here = sched_getcpu();
  if (atomic_load_explicit(&g->kept_off, memory_order_relaxed) == here + 1) return;
  int64_t now = now_ns();
  cpu_set_t others;
  if (now < g->keep_after || tvmgo_parallel_affinity(&others) < 2) return;
  g->keep_after = now + (int64_t)PAUSE_NS * g->count;
  CPU_CLR(here, &others);
  /* first, because a worker may step aside meanwhile */
  atomic_store_explicit(&g->kept_off, here + 1, memory_order_relaxed);
  for (int i = 0; i < g->count; i++) {
    pid_t tid = atomic_load_explicit(&g->workers[i].tid, memory_order_relaxed);
    if (tid == 0 || sched_setaffinity(tid, sizeof others, &others) != 0)
      atomic_store_explicit(&g->kept_off, 0, memory_order_relaxed);
  }
}

/* Publishes a job, or QUIT, and wakes sleeping workers. Either a worker that goes to sleep sees the new word, or this
 * sees that it is about to sleep: both sides write before they read, in one total order. The fence is separate from the
 * store, so that the cache lines of the word and of the job are transferred at the same time. Workers that were woken
 * but have no core yet are not woken again. */
static void publish(tvmgo_team* g, uint64_t word) {
  atomic_store_explicit(&g->word, word, memory_order_release);
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(&g->sleeping, memory_order_seq_cst) != 0) {
    if (word != QUIT) keep_off(g);
    atomic_store_explicit(&g->sleeping, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&g->wake, 1, memory_order_release);
    futex_wake(&g->wake, INT_MAX);
  }
}

static void unref(tvmgo_team* g) {
  if (atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) == 1) free(g);
}

/* Releases capacity for n threads. */
static void uncount_workers(int n) {
  if (n == 0) return;
  tvmgo_spin_lock(&pool.lock);
  pool.workers -= n;
  int wake = pool.waiters != 0;
  if (wake) atomic_fetch_add(&pool.released, 1);
  tvmgo_spin_unlock(&pool.lock);
  if (wake) futex_wake(&pool.released, INT_MAX);
}

/* Ends the threads of a team that is in no list, and releases it. The threads no longer count, although they may still
 * be running. */
static void retire(tvmgo_team* g) {
  int count = g->count;
  publish(g, QUIT);
  unref(g);
  uncount_workers(count);
}

/* Called by a team's first worker after a second without a job. Returns 1 if the worker need not check again: the team
 * was retired, or may stay idle forever. */
static int retire_if_spare(tvmgo_team* g) {
  int spare = 0, watch = 1;
  tvmgo_spin_lock(&pool.lock);
  if (g->is_idle) {
    watch = 0;
    if (pool.num_idle > TVMGO_TEAM_KEEP) {
      tvmgo_team** at = &pool.idle;
      while (*at != g) at = &(*at)->next;
      *at = g->next;
      g->is_idle = 0;
      pool.num_idle--;
      spare = 1;
    }
  }
  tvmgo_spin_unlock(&pool.lock);
  if (spare) retire(g);
  return !watch;
}

/* Records the core on which this thread runs; writes only if it has changed. */
static inline void note_cpu(_Atomic int* cpu) {
  int now = sched_getcpu();
  if (atomic_load_explicit(cpu, memory_order_relaxed) != now)
    atomic_store_explicit(cpu, now, memory_order_relaxed);
}

/* Whether a thread that last ran on `cpu` waits for this core: then spinning delays the work that this thread waits
 * for. With few cores the kernel leaves two threads on one core for long. */
static inline int is_here(const _Atomic int* cpu) {
  return atomic_load_explicit(cpu, memory_order_relaxed) == sched_getcpu();
}

static int a_worker_is_here(const tvmgo_team* g, int num_task) {
  for (int i = 0; i < num_task - 1; i++)
    if (is_here(&g->workers[i].cpu)) return 1;
  return 0;
}

/* Moves this thread off the core that it shares with the caller, as keep_off does. If the other cores are busy, this
 * costs more than it gains, so the pauses between attempts grow. 1 if it moved. */
static int step_aside(tvmgo_worker* w) {
  enum { FIRST_PAUSE_NS = 1000000, LONGEST_PAUSE_NS = 128000000 };
  cpu_set_t others;
  int64_t now = now_ns();
  if (now < w->aside_after) return 0;
  int is_rare = now - w->aside_after > 16 * w->aside_pause;
  w->aside_pause = is_rare ? FIRST_PAUSE_NS : w->aside_pause * 2;
  if (w->aside_pause > LONGEST_PAUSE_NS) w->aside_pause = LONGEST_PAUSE_NS;
  w->aside_after = now + w->aside_pause;
  if (tvmgo_parallel_affinity(&others) < 2) return 0;
  CPU_CLR(sched_getcpu(), &others);
  int moved = sched_setaffinity(0, sizeof others, &others) == 0;
  atomic_store_explicit(&w->team->kept_off, 0, memory_order_release); /* after the move, so that keep_off sees it */
  return moved;
}

/* Waits for a job word other than the last one. */
static uint64_t await_job(tvmgo_worker* w, uint64_t seen, int spin_count) {
  enum { YIELDS = 32, PATIENCE = 16 };
  static const struct timespec second = {1, 0};
  tvmgo_team* g = w->team;
  uint64_t word;
  /* A worker that must share the caller's core gives it away, but does not sleep yet: waking it would take the core
   * from the caller at each launch. */
  int crowded = 0;
  /* While other tasks of the job run, perhaps on the caller, which was faster, the next job has yet to come: to sleep
   * now would be to come too late again. */
  int patience = PATIENCE * spin_count;
  for (int i = 0; i < spin_count; i++) {
    word = atomic_load_explicit(&g->word, memory_order_acquire);
    if (word != seen) return word;
    if (i == 0) crowded = is_here(&g->caller_cpu) && !step_aside(w);
    if (!crowded) {
      tvmgo_cpu_pause();
      if (patience > 0 && atomic_load_explicit(&g->done, memory_order_relaxed) != (uint32_t)WORD_TARGET(seen)) {
        patience--;
        i = 0;
      }
    } else if (i < YIELDS) {
      sched_yield();
    } else {
      break;
    }
  }
  int watch = w->task_id == 1;
  for (;;) {
    int rc = 0;
    atomic_store_explicit(&g->sleeping, 1, memory_order_seq_cst);
    uint32_t ticket = atomic_load_explicit(&g->wake, memory_order_acquire);
    word = atomic_load_explicit(&g->word, memory_order_seq_cst);
    if (word == seen) rc = futex_wait(&g->wake, ticket, watch ? &second : NULL);
    word = atomic_load_explicit(&g->word, memory_order_acquire);
    if (word != seen) return word;
    if (rc == ETIMEDOUT && retire_if_spare(g)) watch = 0;
  }
}

/* Takes the worker's task of a job, which only one thread may do. The job stays in place until its tasks are done, so
 * who succeeds may read it. */
static int claim(tvmgo_worker* w, uint64_t word) {
  uint64_t last = atomic_load_explicit(&w->claimed, memory_order_acquire);
  return last < word && atomic_compare_exchange_strong_explicit(&w->claimed, &last, word, memory_order_acq_rel,
                                                                memory_order_relaxed);
}

static void run_task(tvmgo_worker* w, tvmgo_thread* t, uint64_t word) {
  tvmgo_team* g = w->team;
  note_cpu(&w->cpu);
  if (!claim(w, word)) return;
  int rc = g->task(w->task_id, &g->env, g->cdata);
  if (TVMGO_UNLIKELY(rc != 0)) {
    w->rc = rc;
    w->error = tvmgo_error_take();
    atomic_store_explicit(&g->counters[w->task_id * TVMGO_BARRIER_STRIDE], TVMGO_BARRIER_BROKEN,
                          memory_order_release);
    atomic_store_explicit(&g->failed, 1, memory_order_relaxed);
  } else if (TVMGO_UNLIKELY(t->error != NULL)) { /* raised during the task, and handled */
    tvmgo_object_release(tvmgo_error_take());
  }
  uint32_t done = atomic_fetch_add_explicit(&g->done, 1, memory_order_seq_cst) + 1;
  if (done == (uint32_t)WORD_TARGET(word) &&
      atomic_load_explicit(&g->waiting, memory_order_seq_cst) != 0)
    futex_wake(&g->done, 1);
}

static void* worker_main(void* arg) {
  tvmgo_worker* w = arg;
  tvmgo_team* g = w->team;
  if (pool.has_affinity) sched_setaffinity(0, sizeof pool.affinity, &pool.affinity);
  pthread_setname_np(pthread_self(), "tvmgo-worker");
  atomic_store_explicit(&w->tid, (pid_t)syscall(SYS_gettid), memory_order_relaxed);
  tvmgo_thread* t = tvmgo_thread_get();
  t->parallel_depth = 1;
  uint64_t word = w->start;
  int spin_count = g->spin_count; /* read once: callers write next to it */
  while ((word = await_job(w, word, spin_count)) != QUIT)
    if (w->task_id < WORD_TASKS(word)) run_task(w, t, word);
  unref(g);
  return NULL;
}

/* Makes the missing workers of the team; the pool has counted them already. */
static int make_workers(tvmgo_team* g) {
  /* Blocks signals, which are for the program's own threads, except those of faults. */
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  sigset_t block, before;
  sigfillset(&block);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&block, faults[i]);
  pthread_attr_t attr;
  int rc = pthread_attr_init(&attr);
  if (rc != 0) return rc;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &block, &before);
  while (g->count < g->size - 1) {
    tvmgo_worker* w = &g->workers[g->count];
    *w = (tvmgo_worker){.team = g, .task_id = g->count + 1, .cpu = -1,
                        .start = atomic_load_explicit(&g->word, memory_order_relaxed)};
    pthread_t thread;
    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    rc = pthread_create(&thread, &attr, worker_main, w);
    if (rc != 0) {
      atomic_fetch_sub_explicit(&g->refs, 1, memory_order_relaxed);
      break;
    }
    g->count++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return rc;
}

static tvmgo_team* make_team(int size, int* reason) {
  size_t head = sizeof(tvmgo_team) + (size_t)(size - 1) * sizeof(tvmgo_worker);
  size_t bytes = ((head + 63) & ~(size_t)63) + (size_t)size * 64;
  tvmgo_team* g = aligned_alloc(64, bytes);
  *reason = ENOMEM;
  if (g != NULL) {
    memset(g, 0, bytes);
    atomic_init(&g->refs, 1);
    g->size = size;
    g->spin_count = size > pool.cores ? pool.crowded_spin_count : pool.spin_count;
    g->forks = tvmgo_forks();
    g->counters = (_Atomic int32_t*)((char*)g + bytes - (size_t)size * 64);
    g->env.sync_handle = (void*)g->counters;
    *reason = make_workers(g);
    if (g->count > 0) {
      uncount_workers(size - 1 - g->count);
      return g;
    }
    free(g);
  }
  uncount_workers(size - 1);
  return NULL;
}

tvmgo_team* tvmgo_team_take(int size, int wait, int* reason) {
  pthread_once(&pool_once, pool_init);
  int cap = size - 1 > TVMGO_TEAM_MAX_WORKERS ? size - 1 : TVMGO_TEAM_MAX_WORKERS;
  *reason = 0;
  for (;;) {
    tvmgo_spin_lock(&pool.lock);
    tvmgo_team* g = pool.idle;
    if (g != NULL) {
      pool.idle = g->next;
      pool.num_idle--;
      g->is_idle = 0;
      tvmgo_spin_unlock(&pool.lock);
      if (TVMGO_LIKELY(g->size == size)) return g;
      retire(g);
      continue;
    }
    if (pool.workers + size - 1 <= cap) {
      pool.workers += size - 1;
      tvmgo_spin_unlock(&pool.lock);
      return make_team(size, reason);
    }
    if (!wait) {
      tvmgo_spin_unlock(&pool.lock);
      return NULL;
    }
    uint32_t ticket = atomic_load(&pool.released);
    pool.waiters++;
    tvmgo_spin_unlock(&pool.lock);
    futex_wait(&pool.released, ticket, NULL);
    tvmgo_spin_lock(&pool.lock);
    pool.waiters--;
    tvmgo_spin_unlock(&pool.lock);
  }
}

void tvmgo_team_give(tvmgo_team* g, int size_now) {
  if (TVMGO_UNLIKELY(g->size != size_now)) {
    retire(g);
    return;
  }
  tvmgo_spin_lock(&pool.lock);
  g->next = pool.idle;
  g->is_idle = 1;
  pool.idle = g;
  pool.num_idle++;
  int wake = pool.waiters != 0;
  if (TVMGO_UNLIKELY(wake)) atomic_fetch_add(&pool.released, 1);
  tvmgo_spin_unlock(&pool.lock);
  if (TVMGO_UNLIKELY(wake)) futex_wake(&pool.released, 1);
}

int tvmgo_team_grow(tvmgo_team* g) {
  int missing = g->size - 1 - g->count;
  tvmgo_spin_lock(&pool.lock);
  pool.workers += missing;
  tvmgo_spin_unlock(&pool.lock);
  int rc = make_workers(g);
  uncount_workers(g->size - 1 - g->count);
  return rc;
}

void tvmgo_team_start(tvmgo_team* g, FTVMParallelLambda task, void* cdata, int num_task) {
  for (int i = 0; i < num_task; i++) {
    _Atomic int32_t* counter = &g->counters[i * TVMGO_BARRIER_STRIDE];
    /* Reads first: if the last launch had no barrier, the cache line is not written. */
    if (atomic_load_explicit(counter, memory_order_relaxed) != 0)
      atomic_store_explicit(counter, 0, memory_order_relaxed);
  }
  note_cpu(&g->caller_cpu);
  if (g->task != task) g->task = task;
  if (g->cdata != cdata) g->cdata = cdata;
  if (g->env.num_task != num_task) g->env.num_task = num_task;
  uint64_t target = WORD_TARGET(atomic_load_explicit(&g->word, memory_order_relaxed));
  publish(g, TEAM_WORD(target + (uint64_t)num_task - 1, num_task));
}

int tvmgo_team_steal(tvmgo_team* g, int* next) {
  if (TVMGO_UNLIKELY(g->forks != tvmgo_forks())) return 0;
  uint64_t word = atomic_load_explicit(&g->word, memory_order_relaxed);
  while (*next < WORD_TASKS(word)) {
    int id = (*next)++;
    if (claim(&g->workers[id - 1], word)) return id;
  }
  return 0;
}

int tvmgo_team_join(tvmgo_team* g, int stolen) {
  if (TVMGO_UNLIKELY(g->forks != tvmgo_forks())) return 0;
  uint32_t target = (uint32_t)WORD_TARGET(atomic_load_explicit(&g->word, memory_order_relaxed));
  if (stolen != 0 &&
      atomic_fetch_add_explicit(&g->done, (uint32_t)stolen, memory_order_acq_rel) + (uint32_t)stolen == target)
    return 1;
  for (int i = 0; i < g->spin_count; i++) {
    if (atomic_load_explicit(&g->done, memory_order_acquire) == target) return 1;
    if (i == 0 && a_worker_is_here(g, g->env.num_task)) break;
    tvmgo_cpu_pause();
  }
  atomic_store_explicit(&g->waiting, 1, memory_order_seq_cst);
  uint32_t done;
  while ((done = atomic_load_explicit(&g->done, memory_order_seq_cst)) != target) {
    if (g->forks != tvmgo_forks()) return 0;
    futex_wait(&g->done, done, NULL);
  }
  atomic_store_explicit(&g->waiting, 0, memory_order_relaxed);
  return 1;
}

void tvmgo_team_retire_idle(void) {
  tvmgo_spin_lock(&pool.lock);
  tvmgo_team* g = pool.idle;
  pool.idle = NULL;
  pool.num_idle = 0;
  for (tvmgo_team* i = g; i != NULL; i = i->next) i->is_idle = 0;
  tvmgo_spin_unlock(&pool.lock);
  while (g != NULL) {
    tvmgo_team* next = g->next;
    retire(g);
    g = next;
  }
}
