/* Teams: the worker threads of one parallel launch.
 *
 * Each task of a launch has a thread of its own, or tasks would wait forever at a barrier. So a launch takes a whole
 * team for itself, and as many teams exist as there are launches at one time: A caller never waits for another's tasks.
 *
 * When the caller has finished task 0, it takes those tasks that no worker has begun, one after the other: on a machine
 * whose cores are in use, a worker may get a core only after milliseconds. A barrier does not hinder that. Task 0 has
 * passed its barriers by then, so either all tasks have begun, or there was none. And whatever a taken task waits for,
 * the other tasks still have their workers. */
#pragma once

#include "object/counted.h"
#include <tvm/runtime/c_backend_api.h>

enum {
  TVMGO_BARRIER_STRIDE = 16,   /* int32 counters of a barrier: 64 bytes apart */
  TVMGO_TEAM_MAX_WORKERS = 256, /* threads of all teams together, unless one team has more */
  TVMGO_TEAM_KEEP = 2          /* idle teams that stay; others retire after a second */
};

/* A task that ended with an error before a barrier leaves this in its counter. */
#define TVMGO_BARRIER_BROKEN INT32_MIN

typedef struct tvmgo_team tvmgo_team;

typedef struct {
  _Alignas(64) _Atomic uint64_t claimed; /* the last job whose task is taken: by this worker or by the caller */
  tvmgo_team* team;
  int32_t task_id;     /* 1 and up; the caller runs task 0 */
  int32_t rc;          /* of the last launch when it failed, else 0 */
  TVMFFIObject* error; /* raised by the task, owned; NULL with rc != 0 when it raised none */
  _Atomic int cpu;     /* where its last task began */
  int64_t aside_after; /* when it may move to another core again (ns), and the pause after that move */
  int64_t aside_pause;
  _Atomic pid_t tid; /* 0 until it runs */
  uint64_t start;      /* job word at its creation: it runs the later jobs */
} tvmgo_worker;

struct tvmgo_team {
  /* Workers poll this word. It has a cache line of its own, because their reads would slow down writes to a neighbor.
   * See TEAM_WORD in team.c; all ones ends the threads. */
  _Alignas(64) _Atomic uint64_t word;

  /* The job: written by the caller, and only what changes, while no worker runs. */
  _Alignas(64) FTVMParallelLambda task;
  void* cdata;
  TVMParallelGroupEnv env;
  _Atomic uint32_t waiting; /* the caller sleeps on done */
  _Atomic int caller_cpu;   /* where it made the launch */
  _Atomic int kept_off;     /* 1 + the core that no worker may use; 0: they differ */
  int64_t keep_after;       /* when that may change again (ns) */

  _Alignas(64) _Atomic uint32_t done; /* tasks finished since the team was made; a futex */
  _Atomic uint32_t failed;            /* some task of this launch returned non-zero */

  _Alignas(64) _Atomic uint32_t sleeping; /* set when a worker is about to sleep on wake; cleared by who wakes them */
  _Atomic uint32_t wake;                  /* a futex: changes when sleepers must check for work */

  _Alignas(64) _Atomic int refs; /* one per thread, and one of the team's owner */
  int size;                /* tasks of a full launch */
  int count;               /* workers there are: size - 1, fewer when threads could not be made */
  int spin_count;          /* iterations of a waiting loop before a thread goes to sleep */
  uint32_t forks;          /* of the process that made it: a forked child has no workers */
  int is_idle;             /* in the list of idle teams; guarded by the pool's lock */
  tvmgo_team* next;
  _Atomic int32_t* counters; /* of the barrier */
  _Alignas(64) tvmgo_worker workers[]; /* apart from what callers write */
};

/* A team for the caller alone, with at least one worker. NULL when there is none: *reason is 0 when
 * the threads of all teams are in use (never with wait set), else the errno of making a thread. */
tvmgo_team* tvmgo_team_take(int size, int wait, int* reason);

/* Returns it for other launches. */
void tvmgo_team_give(tvmgo_team* g, int size_now);

/* Makes the workers that the team lacks; errno of the failure, or 0. */
int tvmgo_team_grow(tvmgo_team* g);

/* Starts tasks 1 to num_task-1 on the workers. */
void tvmgo_team_start(tvmgo_team* g, FTVMParallelLambda task, void* cdata, int num_task);

/* Takes a task that no worker has begun: its number, from *next up, or 0 if there is none. The caller then runs it. */
int tvmgo_team_steal(tvmgo_team* g, int* next);

/* Waits until these tasks are done, of which the caller ran some itself; 0 in a forked child, which has no workers to
 * wait for. */
int tvmgo_team_join(tvmgo_team* g, int stolen);

/* In a forked child, which has the memory of all teams but none of their threads: its launches make new teams. */
void tvmgo_teams_renew(void);

/* Ends the threads of idle teams. */
void tvmgo_team_retire_idle(void);

static inline void tvmgo_cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}
