/* The thread pool behind TVMBackendParallelLaunch. */
#ifndef TVMGO_PARALLEL_H_
#define TVMGO_PARALLEL_H_

/* Tasks of a full launch: TVM_NUM_THREADS, else OMP_NUM_THREADS, else what the cgroup allows, else
 * the cores of the affinity mask. At least 1. */
int tvmgo_parallel_threads(void);
/* Changes the size for later launches (runtime.config_threadpool); n <= 0 restores the default. */
int tvmgo_parallel_configure(int n);

#endif
