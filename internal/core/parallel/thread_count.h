/* How many tasks a full parallel launch has. */
#pragma once

#include <sched.h>

enum { TVMGO_PARALLEL_MAX_THREADS = 1024 };

/* Reads the sources of tvmgo_parallel_threads again: 1 to TVMGO_PARALLEL_MAX_THREADS. */
int tvmgo_parallel_default(void);

/* Cores that this process may use: the smaller of affinity mask and cgroup quota, at least 1. */
int tvmgo_parallel_cores(void);

/* Cores that a cgroup quota allows, rounded up; 0 when there is none. membership is a file in the form of
 * /proc/self/cgroup, root the folder where cgroups are mounted. The quotas of all parent groups count, too. */
int tvmgo_parallel_quota(const char* membership, const char* root);

/* An integer from 1 up in text, alone or before a comma (OMP_NUM_THREADS may be a list); numbers
 * above the maximum give the maximum, anything else gives 0. */
int tvmgo_parallel_parse(const char* text);

/* Cores of the process as a whole: those of its main thread. 0 on failure. */
int tvmgo_parallel_affinity(cpu_set_t* set);
