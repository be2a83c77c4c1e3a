/* Parallel launches: TVMBackendParallelLaunch and TVMBackendParallelBarrier.
 *
 * The calling thread runs task 0, the workers of a team (team.h) the others, unless the caller is there first. */
#include "parallel/parallel.h"
#include "parallel/team.h"
#include "parallel/thread_count.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int num_threads; /* 0 = not determined yet */

int tvmgo_parallel_threads(void) {
  int n = atomic_load_explicit(&num_threads, memory_order_relaxed);
  if (TVMGO_LIKELY(n != 0)) return n;
  int found = tvmgo_parallel_default();
  /* The first thread sets it; a size that was set meanwhile is kept. */
  return atomic_compare_exchange_strong(&num_threads, &n, found) ? found : n;
}

int tvmgo_parallel_configure(int n) {
  if (n > TVMGO_PARALLEL_MAX_THREADS)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "configure thread pool: %d threads: at most %d", n,
                       TVMGO_PARALLEL_MAX_THREADS);
  atomic_store(&num_threads, n > 0 ? n : tvmgo_parallel_default());
  tvmgo_team_retire_idle();
  return 0;
}

/* Text that grows. A failed allocation leaves data NULL for good. */
typedef struct {
  char* data;
  size_t size, cap;
  int failed;
} text_buffer;

static void text_add(text_buffer* b, const char* data, size_t size) {
  if (b->size + size > b->cap) {
    size_t cap = (b->size + size) * 2;
    char* grown = b->failed ? NULL : realloc(b->data, cap);
    if (grown == NULL) {
      b->failed = 1;
      return;
    }
    b->data = grown;
    b->cap = cap;
  }
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

static int same_bytes(TVMFFIByteArray a, TVMFFIByteArray b) {
  return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* The result of one task. */
typedef struct {
  int32_t rc;
  TVMFFIObject* error; /* owned; may be NULL with rc != 0 */
} task_result;

/* Raises one error for all failed tasks: with their common kind, else RuntimeError. The
 * first error's backtrace is kept. Consumes the results. */
static void raise_joined(task_result* results, int n) {
  static const TVMFFIByteArray runtime_error = {TVMGO_RUNTIME_ERROR,
                                                sizeof TVMGO_RUNTIME_ERROR - 1};
  TVMFFIObject* first = NULL;
  TVMFFIByteArray kind = {NULL, 0};
  int mixed = 0;
  for (int i = 0; i < n; i++) {
    if (results[i].rc == 0) continue;
    TVMFFIObject* e = results[i].error;
    TVMFFIByteArray k = e != NULL ? tvmgo_error_cell(e)->kind : runtime_error;
    if (kind.data == NULL) kind = k;
    if (!same_bytes(kind, k)) mixed = 1;
    if (first == NULL) first = e;
  }
  text_buffer text = {0};
  for (int i = 0; i < n; i++) {
    if (results[i].rc == 0) continue;
    char head[96];
    const TVMFFIErrorCell* e = results[i].error != NULL ? tvmgo_error_cell(results[i].error) : NULL;
    int len = snprintf(head, sizeof head, "%sTask %d error: ", text.size != 0 ? "\n" : "", i);
    text_add(&text, head, (size_t)len);
    if (e == NULL) {
      len = snprintf(head, sizeof head, "returned %d without an error", results[i].rc);
      text_add(&text, head, (size_t)len);
      continue;
    }
    if (mixed) {
      text_add(&text, e->kind.data, e->kind.size);
      text_add(&text, ": ", 2);
    }
    text_add(&text, e->message.data, e->message.size);
  }
  TVMFFIByteArray backtrace = {"", 0};
  if (first != NULL) backtrace = tvmgo_error_cell(first)->backtrace;
  if (mixed) kind = runtime_error;
  TVMFFIObject* joined =
      text.failed ? NULL
                  : tvmgo_error_new(kind.data, kind.size, text.data, text.size, backtrace.data,
                                    backtrace.size);
  if (joined != NULL) {
    TVMFFIErrorSetRaised(joined);
    tvmgo_object_release(joined);
  } else {
    tvmgo_raise_oom();
  }
  free(text.data);
  for (int i = 0; i < n; i++) tvmgo_object_release(results[i].error);
}

/* Joins the errors of a launch. own is the task that failed on this thread, with code rc, unless rc is 0. If it alone
 * failed, with a front end's error (-2), the error stays with the front end on this thread. */
static int launch_failed(tvmgo_team* g, tvmgo_thread* t, int own, int rc, int num_task) {
  int others = 0;
  for (int i = 1; i < num_task; i++) others += g->workers[i - 1].rc != 0;
  if (others == 0 && rc == -2 && t->error == NULL) return rc;
  task_result* results = calloc((size_t)num_task, sizeof *results);
  for (int i = 1; i < num_task; i++) {
    tvmgo_worker* w = &g->workers[i - 1];
    if (results != NULL) {
      results[i] = (task_result){w->rc, w->error};
    } else {
      tvmgo_object_release(w->error);
    }
    w->rc = 0;
    w->error = NULL;
  }
  atomic_store_explicit(&g->failed, 0, memory_order_relaxed);
  if (results == NULL) return tvmgo_raise_oom();
  if (rc != 0) results[own] = (task_result){rc, tvmgo_error_take()};
  raise_joined(results, num_task);
  free(results);
  return -1;
}

/* Runs one task on the calling thread. Its error, if it raised one, is the launch's. */
static int launch_inline(FTVMParallelLambda task, void* cdata) {
  _Alignas(64) _Atomic int32_t counter[TVMGO_BARRIER_STRIDE] = {0};
  TVMParallelGroupEnv env = {.sync_handle = (void*)counter, .num_task = 1};
  int rc = task(0, &env, cdata);
  if (TVMGO_LIKELY(rc == 0)) return 0;
  if (rc != -2 && tvmgo_thread_get()->error == NULL)
    return tvmgo_raise(TVMGO_RUNTIME_ERROR, "Task 0 error: returned %d without an error", rc);
  return rc;
}

static int launch_on_team(tvmgo_team* g, FTVMParallelLambda task, void* cdata, int num_task) {
  tvmgo_thread* t = tvmgo_thread_get();
  if (TVMGO_UNLIKELY(t->error != NULL)) /* an older error must not be reported as task 0's */
    tvmgo_object_release(tvmgo_error_take());
  tvmgo_team_start(g, task, cdata, num_task);
  t->parallel_depth++;
  int id = 0, next = 1, stolen = 0;
  int rc = task(0, &g->env, cdata);
  /* After a failure this thread runs no further task, which might replace the error. */
  while (TVMGO_LIKELY(rc == 0)) {
    if (TVMGO_UNLIKELY(t->error != NULL)) /* raised during the task, and handled */
      tvmgo_object_release(tvmgo_error_take());
    id = tvmgo_team_steal(g, &next);
    if (id == 0) break;
    stolen++;
    rc = task(id, &g->env, cdata);
  }
  t->parallel_depth--;
  if (TVMGO_UNLIKELY(rc != 0))
    atomic_store_explicit(&g->counters[id * TVMGO_BARRIER_STRIDE], TVMGO_BARRIER_BROKEN, memory_order_release);
  if (TVMGO_UNLIKELY(!tvmgo_team_join(g, stolen))) {
    if (t->error != NULL) tvmgo_object_release(tvmgo_error_take());
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "parallel launch: the process forked inside a task: the child has task 0 "
                       "alone: fork outside kernels");
  }
  if (TVMGO_UNLIKELY(rc != 0 || atomic_load_explicit(&g->failed, memory_order_relaxed) != 0))
    rc = launch_failed(g, t, id, rc, num_task);
  tvmgo_team_give(g, tvmgo_parallel_threads());
  return rc;
}

int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void* cdata, int num_task) {
  int threads = tvmgo_parallel_threads();
  if (TVMGO_UNLIKELY(flambda == NULL))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "parallel launch: no function to run (flambda is NULL)");
  if (TVMGO_UNLIKELY(num_task < 0))
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "parallel launch of %d tasks: give 0 for one task per worker, or the number "
                       "of tasks",
                       num_task);
  if (num_task == 1 || threads == 1) return launch_inline(flambda, cdata);
  if (TVMGO_UNLIKELY(num_task > threads))
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "parallel launch of %d tasks: there are %d threads and all tasks run at "
                       "once: launch with num_task 0, or set TVM_NUM_THREADS=%d",
                       num_task, threads, num_task);
  if (TVMGO_UNLIKELY(tvmgo_thread_get()->parallel_depth != 0)) {
    if (num_task == 0) return launch_inline(flambda, cdata);
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "nested parallel launch of %d tasks: this thread already runs a task of a launch: launch "
                       "with num_task 0, or fuse the loops into one parallel loop",
                       num_task);
  }
  int reason;
  tvmgo_team* g = tvmgo_team_take(threads, num_task != 0, &reason);
  if (TVMGO_UNLIKELY(g != NULL && g->count + 1 < num_task)) {
    reason = tvmgo_team_grow(g);
    if (reason != 0) {
      tvmgo_team_give(g, threads);
      g = NULL;
    }
  }
  if (TVMGO_UNLIKELY(g == NULL)) {
    if (num_task == 0) return launch_inline(flambda, cdata);
    return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                       "parallel launch of %d tasks: no worker threads: %s: launch with num_task 0, "
                       "or raise the limits on threads and memory",
                       num_task, strerror(reason));
  }
  return launch_on_team(g, flambda, cdata, num_task != 0 ? num_task : g->count + 1);
}

int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv* penv) {
  enum { PAUSES = 128 }; /* for some microseconds; then another thread may need this core */
  if (TVMGO_UNLIKELY(penv == NULL || penv->sync_handle == NULL || task_id < 0 ||
                     task_id >= penv->num_task))
    return tvmgo_raise(TVMGO_VALUE_ERROR, "parallel barrier: task %d is none of this launch",
                       task_id);
  _Atomic int32_t* counters = penv->sync_handle;
  int n = penv->num_task;
  uint32_t old = (uint32_t)atomic_fetch_add_explicit(&counters[task_id * TVMGO_BARRIER_STRIDE], 1,
                                                     memory_order_acq_rel);
  for (int i = 0; i < n; i++) {
    if (i == task_id) continue;
    _Atomic int32_t* other = &counters[i * TVMGO_BARRIER_STRIDE];
    int32_t value;
    for (int tries = 0;
         (value = atomic_load_explicit(other, memory_order_acquire)) != TVMGO_BARRIER_BROKEN &&
         (int32_t)((uint32_t)value - old) <= 0;
         tries++) {
      if (tries < PAUSES) {
        tvmgo_cpu_pause();
      } else {
        sched_yield();
      }
    }
    if (TVMGO_UNLIKELY(value == TVMGO_BARRIER_BROKEN))
      return tvmgo_raise(TVMGO_RUNTIME_ERROR, "parallel barrier: task %d failed before it", i);
  }
  return 0;
}
