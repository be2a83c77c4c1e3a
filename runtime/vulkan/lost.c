/* What a lost device may still do. Vulkan lets it: a call that answers VK_ERROR_DEVICE_LOST says nothing of work that
 * other calls have submitted, on this queue or another; only when a wait for the work has returned, with whatever code,
 * is what it uses free to be destroyed (Vulkan 1.3, 5.2.3, Lost Device). So there is one wait for the whole device
 * before anything goes, and it has a bound: what a device that does not come back has in use stays allocated as long as
 * the process. */
#include <errno.h>
#include <time.h>

#include "stream.h"

enum { LONGEST_WAIT = 5 }; /* seconds */

/* of the waits of all devices; taken with a stream's lock held */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;

static void* wait_for_device(void* arg) {
  vk_device* d = arg;
  /* after this nobody submits to it any more */
  for (uint32_t i = 0; i < d->num_queues; i++) pthread_mutex_lock(&d->queue_locks[i]);
  d->f.vkDeviceWaitIdle(d->handle);
  for (uint32_t i = 0; i < d->num_queues; i++) pthread_mutex_unlock(&d->queue_locks[i]);
  pthread_mutex_lock(&lock);
  atomic_store(&d->let_go, 1);
  pthread_cond_broadcast(&returned);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int tvmgo_vk_has_let_go(vk_device* d) {
  if (atomic_load(&d->let_go)) return 1;
  pthread_mutex_lock(&lock);
  if (d->let_go_by == 0) {
    pthread_t thread;
    d->let_go_by = time(NULL) + LONGEST_WAIT;
    if (pthread_create(&thread, NULL, wait_for_device, d) == 0) pthread_detach(thread);
    else d->let_go_by = 1; /* nothing is known, so nothing is destroyed */
  }
  struct timespec until = {.tv_sec = d->let_go_by};
  while (!atomic_load(&d->let_go) && pthread_cond_timedwait(&returned, &lock, &until) != ETIMEDOUT) {
  }
  int rc = atomic_load(&d->let_go);
  pthread_mutex_unlock(&lock);
  return rc;
}
