/* Returns memory to the devices that the pools have held idle for some time. */
#include "device/device.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <time.h>

enum { AGES = 4, TRIM_FROM = 1 << 20 };
static const int64_t second = 1000000000;

_Atomic uint32_t tvmgo_idle_watched;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;         /* idle_time was set */
static int64_t idle_time = 10000000000; /* 10 s; like running under the lock */
static int running;

__attribute__((constructor(110))) static void init_condition(void) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&changed, &attr);
  pthread_condattr_destroy(&attr);
}

/* Sleeps for an AGES-th of the time. 0: memory may be idle for ever, or the time has changed meanwhile: *again is set.
 * Under the lock. */
static int sleep_one_age(int* again) {
  int64_t before = idle_time;
  if (before == 0) return 0;
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t ns = until.tv_nsec + before / AGES % second;
  until.tv_sec += (time_t)(before / AGES / second + ns / second);
  until.tv_nsec = ns % second;
  while (idle_time == before)
    if (pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT) break;
  *again = idle_time != before;
  return !*again;
}

void tvmgo_idle_freed(int64_t bytes) {
  if (bytes >= TRIM_FROM) malloc_trim(0);
}

static int64_t age(void) {
  int64_t freed, idle = tvmgo_pool_age(AGES, &freed);
  tvmgo_idle_freed(freed);
  return idle;
}

/* The watch ends if nothing is idle. Memory that is returned afterwards starts it again; memory that was returned just
 * before is noticed by the second look, because both happen under the lock of the pool. */
static void* watch(void* arg) {
  pthread_mutex_lock(&lock);
  for (;;) {
    int again = 0;
    int aged = sleep_one_age(&again);
    if (again) continue;
    if (!aged) break; /* for ever */
    pthread_mutex_unlock(&lock);
    int64_t idle = age();
    pthread_mutex_lock(&lock);
    if (idle > 0) continue;
    atomic_store_explicit(&tvmgo_idle_watched, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    idle = tvmgo_pool_idle();
    pthread_mutex_lock(&lock);
    if (idle == 0 && atomic_load_explicit(&tvmgo_idle_watched, memory_order_relaxed) == 0) break;
    atomic_store_explicit(&tvmgo_idle_watched, 1, memory_order_relaxed);
  }
  running = 0;
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* Starts the thread; without one, the pools keep their memory. Signals are for the program's threads. */
static void start(void) {
  sigset_t all, before;
  pthread_attr_t attr;
  pthread_t thread;
  sigfillset(&all);
  if (pthread_attr_init(&attr) != 0) return;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running = pthread_create(&thread, &attr, watch, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
}

void tvmgo_idle_watch(void) {
  if (tvmgo_forks() != 0) { /* the lock may be held by a thread of the parent, and drivers cannot be used */
    atomic_store_explicit(&tvmgo_idle_watched, 1, memory_order_relaxed);
    return;
  }
  pthread_mutex_lock(&lock);
  atomic_store_explicit(&tvmgo_idle_watched, 1, memory_order_relaxed);
  if (!running && idle_time > 0) start();
  pthread_mutex_unlock(&lock);
}

int64_t tvmgo_idle_set_time(int64_t ns) {
  if (tvmgo_forks() != 0) return 0;
  pthread_mutex_lock(&lock);
  int64_t before = idle_time;
  idle_time = ns > 0 ? ns : 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  tvmgo_idle_watch(); /* there may be idle memory */
  return before;
}
