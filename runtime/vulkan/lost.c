/* The wait for a lost device. After VK_ERROR_DEVICE_LOST, commands that were submitted earlier, on this queue or
 * another, may still run. The objects that they use may be destroyed only after a wait for these commands has returned,
 * with any code (Vulkan 1.3, 5.2.3, Lost Device). So there is one wait for the whole device before anything is
 * destroyed. The wait has a time limit: if the device exceeds it, its objects are never destroyed. */
#include <errno.h>
#include <time.h>

#include "stream.h"

enum { MAX_WAIT = 5 }; /* seconds */

/* Protects the waits of all devices. A caller may hold a stream's lock when it takes this lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t returned = PTHREAD_COND_INITIALIZER;

static void* wait_for_device(void* arg) {
  vk_device* d = arg;
  /* With these locks, no other thread can submit to the device. */
  for (uint32_t i = 0; i < d->num_queues; i++) pthread_mutex_lock(&d->queue_locks[i]);
  d->f.vkDeviceWaitIdle(d->handle);
  for (uint32_t i = 0; i < d->num_queues; i++) pthread_mutex_unlock(&d->queue_locks[i]);
  pthread_mutex_lock(&lock);
  atomic_store(&d->lost_is_idle, 1);
  pthread_cond_broadcast(&returned);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int tvmgo_vk_lost_is_idle(vk_device* d) {
  if (atomic_load(&d->lost_is_idle)) return 1;
  pthread_mutex_lock(&lock);
  if (d->lost_deadline == 0) {
    pthread_t thread;
    d->lost_deadline = time(NULL) + MAX_WAIT;
    if (pthread_create(&thread, NULL, wait_for_device, d) == 0) pthread_detach(thread);
    else d->lost_deadline = 1; /* without a wait, nothing may be destroyed */
  }
  struct timespec until = {.tv_sec = d->lost_deadline};
  while (!atomic_load(&d->lost_is_idle) && pthread_cond_timedwait(&returned, &lock, &until) != ETIMEDOUT) {
  }
  int rc = atomic_load(&d->lost_is_idle);
  pthread_mutex_unlock(&lock);
  return rc;
}
