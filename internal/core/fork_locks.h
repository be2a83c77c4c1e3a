/* The locks that fork.c takes, or makes anew, when the process forks. Each belongs to the file named
 * beside it. */
#ifndef TVMGO_FORK_LOCKS_H_
#define TVMGO_FORK_LOCKS_H_

#include <pthread.h>

#include "thread.h"

extern pthread_mutex_t tvmgo_kept_lock;            /* builtins_module.c */
extern pthread_mutex_t tvmgo_import_lock;          /* module.c */
extern pthread_mutex_t tvmgo_system_lib_lock;      /* system_lib.c */
extern pthread_mutex_t tvmgo_mapping_lock;         /* mapping.c */
extern pthread_mutex_t tvmgo_device_lock;          /* device.c */
extern pthread_mutex_t tvmgo_context_symbols_lock; /* env.c */
extern pthread_mutex_t tvmgo_late_lock;            /* late.c */
extern pthread_mutex_t tvmgo_symbolize_lock;       /* symbolize.c */
extern pthread_mutex_t tvmgo_type_lock;            /* type.c */
extern tvmgo_spin tvmgo_global_lock;               /* global.c */
extern pthread_mutex_t tvmgo_threads_lock;         /* thread.c */

/* In the child: frees what another thread of the parent held. */
void tvmgo_once_lock_renew(void);    /* env.c */
void tvmgo_device_locks_renew(void); /* device.c */

#endif
