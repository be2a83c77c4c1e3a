/* Two threads for rows that measure two: each on a core of its own if the process may use two. They live until the
 * process ends and wait between the samples, so that no sample contains the start or the migration of a thread. */
#define _GNU_SOURCE
#include "program.h"

#include <pthread.h>
#include <sched.h>

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void* (*run[2])(void*); /* NULL: the thread is idle */
  void* args[2];
  int started;
} pair = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {NULL, NULL}, {NULL, NULL}, 0};

static void* serve(void* number) {
  int t = (int)(intptr_t)number;
  pthread_mutex_lock(&pair.lock);
  for (;;) {
    while (pair.run[t] == NULL) pthread_cond_wait(&pair.changed, &pair.lock);
    pthread_mutex_unlock(&pair.lock);
    pair.run[t](pair.args[t]);
    pthread_mutex_lock(&pair.lock);
    pair.run[t] = NULL;
    pthread_cond_broadcast(&pair.changed);
  }
  return NULL;
}

static void start(void) {
  cpu_set_t allowed;
  bench_check(sched_getaffinity(0, sizeof allowed, &allowed), "read the affinity");
  for (int t = 0, cpu = 0; t < 2; t++, cpu++) {
    pthread_t thread;
    pthread_attr_t attr;
    cpu_set_t one;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed)) cpu++;
    CPU_ZERO(&one);
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &one);
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof one, cpu < CPU_SETSIZE ? &one : &allowed);
    bench_check(pthread_create(&thread, &attr, serve, (void*)(intptr_t)t), "start a thread");
    pthread_attr_destroy(&attr);
  }
}

void bench_run_two(void* (*first)(void*), void* first_arg, void* (*second)(void*), void* second_arg) {
  if (!pair.started) start();
  pair.started = 1;
  pthread_mutex_lock(&pair.lock);
  pair.run[0] = first;
  pair.run[1] = second;
  pair.args[0] = first_arg;
  pair.args[1] = second_arg;
  pthread_cond_broadcast(&pair.changed);
  while (pair.run[0] != NULL || pair.run[1] != NULL) pthread_cond_wait(&pair.changed, &pair.lock);
  pthread_mutex_unlock(&pair.lock);
}
