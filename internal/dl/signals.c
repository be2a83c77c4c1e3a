/* Restores the program's signal handlers after calls of a driver. */
#define _GNU_SOURCE
#include "dl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int depth;
static struct sigaction before[_NSIG];
static char known[_NSIG];

void tvmgo_dl_quiet_begin(void) {
  pthread_mutex_lock(&lock);
  if (depth++ == 0)
    for (int s = 1; s < _NSIG; s++) known[s] = sigaction(s, NULL, &before[s]) == 0;
  pthread_mutex_unlock(&lock);
}

static int same(const struct sigaction* a, const struct sigaction* b) {
  return a->sa_sigaction == b->sa_sigaction && a->sa_flags == b->sa_flags &&
         memcmp(&a->sa_mask, &b->sa_mask, _NSIG / 8) == 0;
}

/* Whether a handler is in the same file as this code: then the Go runtime installed it, not a driver. */
static int is_ours(const struct sigaction* a) {
  Dl_info here, there;
  return dladdr((void*)is_ours, &here) && dladdr((void*)a->sa_sigaction, &there) && here.dli_fbase == there.dli_fbase;
}

void tvmgo_dl_quiet_end(void) {
  pthread_mutex_lock(&lock);
  if (--depth == 0)
    for (int s = 1; s < _NSIG; s++) {
      struct sigaction now;
      if (known[s] && sigaction(s, NULL, &now) == 0 && !same(&now, &before[s]) && !is_ours(&now))
        sigaction(s, &before[s], NULL);
    }
  pthread_mutex_unlock(&lock);
}

void tvmgo_dl_quiet_forked(void) {
  pthread_mutex_init(&lock, NULL);
  depth = 0;
}
