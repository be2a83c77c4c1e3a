/* What happens around a fork. The order in which locks are taken is the order in which a thread may hold them
 * (docs/architecture.md). */
#include "core.h"
#include "call/deferred.h"
#include "object/symbolize.h"
#include "object/type_internal.h"
#include "parallel/team.h"
#include "profile/profile.h"

#include <pthread.h>

/* Outer locks first: one may be taken while those above it are held. None is held while the
 * program's own code runs. */
static pthread_mutex_t* const locks[] = {
    &tvmgo_kept_lock,   &tvmgo_import_lock,          &tvmgo_system_lib_lock, &tvmgo_mapping_lock,
    &tvmgo_device_lock, &tvmgo_context_symbols_lock, &tvmgo_deferred_lock,
    &tvmgo_type_lock,     &tvmgo_symbolize_lock,       &tvmgo_renewed_lock,
};
enum { NUM_LOCKS = sizeof locks / sizeof *locks };

/* The forking thread holds every lock, so that all tables are consistent in the child. The thread list comes
 * last: any thread's first allocation takes its lock. */
static void before_fork(void) {
  for (int i = 0; i < NUM_LOCKS; i++) pthread_mutex_lock(locks[i]);
  tvmgo_spin_lock(&tvmgo_global_lock);
  pthread_mutex_lock(&tvmgo_threads_lock);
}

static void after_fork(void) {
  pthread_mutex_unlock(&tvmgo_threads_lock);
  tvmgo_spin_unlock(&tvmgo_global_lock);
  for (int i = NUM_LOCKS; i-- > 0;) pthread_mutex_unlock(locks[i]);
}

/* Another thread may hold a lock for long if the program's code runs under it, and objects such as sessions have locks
 * of their own. A fork does not wait for such locks; the child initializes them again. */
static void in_child(void) {
  after_fork();
  atomic_fetch_add_explicit(&tvmgo_fork_count, 1, memory_order_relaxed);
  tvmgo_once_lock_renew();
  tvmgo_renewed_renew();
  tvmgo_device_locks_renew();
  tvmgo_teams_renew();
  tvmgo_profiling = NULL; /* another thread may have held the lock of the profile */
}

/* When the library is loaded: a handler that another thread adds after a fork has begun does not run in the child. */
__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork, in_child);
}
