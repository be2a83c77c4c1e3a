/* Global functions about the threads of parallel launches. */
#include "call/builtin.h"
#include "parallel/parallel.h"

TVMGO_BUILTIN(num_threads) {
  if (tvmgo_check_count(f, n, 0, 0) != 0) return -1;
  *result = tvmgo_any_int(tvmgo_parallel_threads());
  return 0;
}

TVMGO_BUILTIN(config_threadpool) {
  int32_t mode, threads;
  if (tvmgo_check_count(f, n, 2, -1) != 0 || tvmgo_arg_int32(f, args, 0, &mode) != 0 ||
      tvmgo_arg_int32(f, args, 1, &threads) != 0)
    return -1;
  return tvmgo_parallel_configure(threads); /* threads are not pinned, so the mode is moot */
}

__attribute__((constructor(111))) static void register_builtins(void) {
  tvmgo_global_builtin("runtime.NumThreads", num_threads);
  tvmgo_global_builtin("runtime.config_threadpool", config_threadpool);
}
