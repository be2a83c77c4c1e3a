/* Launches for the tests of this package: by one thread, and by several at the same time. */
#pragma once

#include "ctest/check.h"
#include "parallel/parallel.h"

#include <pthread.h>

enum { MAX_TASKS = 64, THREADS = 4, CALLERS = 8 };

static inline void set_env(const char* num_threads, const char* omp) {
  if (num_threads != NULL) setenv("TVM_NUM_THREADS", num_threads, 1);
  else unsetenv("TVM_NUM_THREADS");
  if (omp != NULL) setenv("OMP_NUM_THREADS", omp, 1);
  else unsetenv("OMP_NUM_THREADS");
}

/* The record of a launch: which tasks ran, and their number. */
typedef struct {
  _Atomic int runs[MAX_TASKS];
  _Atomic int num_task;
  pthread_t thread[MAX_TASKS];
} record;

static inline int note(int id, TVMParallelGroupEnv* env, void* cdata) {
  record* r = cdata;
  atomic_fetch_add(&r->runs[id], 1);
  atomic_store(&r->num_task, env->num_task);
  r->thread[id] = pthread_self();
  return 0;
}

/* The same, each task on a thread of its own: without the barrier, the caller takes those that no worker has begun. */
static inline int note_apart(int id, TVMParallelGroupEnv* env, void* cdata) {
  note(id, env, cdata);
  return TVMBackendParallelBarrier(id, env);
}

static inline void check_ran(record* r, int n) {
  CHECK_EQ_INT(atomic_load(&r->num_task), n);
  for (int i = 0; i < MAX_TASKS; i++) CHECK_EQ_INT(atomic_load(&r->runs[i]), i < n);
}

static inline void run_threads(int n, void* (*body)(void*), void* arg) {
  pthread_t threads[MAX_TASKS];
  for (int i = 0; i < n; i++) REQUIRE(pthread_create(&threads[i], NULL, body, arg) == 0);
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

/* All callers are inside their launches at the same time, so each has its own team. */
static pthread_barrier_t meeting;
static inline int meet(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env, (void)cdata;
  if (id == 0) pthread_barrier_wait(&meeting);
  return TVMBackendParallelBarrier(id, env);
}
static inline void* meet_others(void* arg) {
  CHECK_OK(TVMBackendParallelLaunch(meet, NULL, THREADS));
  return arg;
}
