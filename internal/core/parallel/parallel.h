/* Package parallel: the threads behind TVMBackendParallelLaunch.
 *
 * Depends on object and call. A launch takes a team of worker threads for itself (team.h), so that launches of several
 * threads never wait for each other's tasks; its caller runs task 0. Errors of tasks are raised on the caller. Any
 * thread may launch, also a task. A forked child has no workers and makes new ones.
 *
 * Lock: one spin lock of the list of idle teams, held for a few instructions. */
#pragma once

#include "call/call.h"

/* Tasks of a full launch: TVM_NUM_THREADS, else OMP_NUM_THREADS, else what the cgroup allows, else
 * the cores of the affinity mask. At least 1. */
int tvmgo_parallel_threads(void);
/* Changes the size for later launches (runtime.config_threadpool); n <= 0 restores the default. */
int tvmgo_parallel_configure(int n);
