#include "object/object.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

__thread tvmgo_thread* tvmgo_tls __attribute__((tls_model("initial-exec")));
__thread uint32_t tvmgo_errors_raised __attribute__((tls_model("initial-exec")));
void (*tvmgo_frames_abandoned)(void);

pthread_mutex_t tvmgo_threads_lock = PTHREAD_MUTEX_INITIALIZER;
static tvmgo_thread threads_head = {.prev = &threads_head, .next = &threads_head};
static int64_t live_of_ended[TVMGO_LIVE_KINDS]; /* under tvmgo_threads_lock */

static uint32_t users_of_slot[TVMGO_SLOTS]; /* under tvmgo_threads_lock */

static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;

static void thread_end(void* arg) {
  tvmgo_thread* t = arg;
  /* Releasing may call deleters that count on this thread, so the counters go last. */
  tvmgo_tls = t;
  TVMFFIObject* error = t->error;
  t->error = NULL;
  tvmgo_object_release(error);
  while (t->num_targets > 0) tvmgo_object_release(t->targets[--t->num_targets]);
  if (t->workspace_end != NULL) t->workspace_end(t);
  if (t->error != NULL) tvmgo_object_release(t->error);
  tvmgo_tls = NULL;

  pthread_mutex_lock(&tvmgo_threads_lock);
  for (int k = 0; k < TVMGO_LIVE_KINDS; k++)
    live_of_ended[k] += atomic_load_explicit(&t->live[k], memory_order_relaxed);
  t->prev->next = t->next;
  t->next->prev = t->prev;
  users_of_slot[t->slot]--;
  pthread_mutex_unlock(&tvmgo_threads_lock);

  free(t->error_text);
  free(t->return_text);
  free(t->spare_text);
  free(t->names);
  free(t->backtrace_text);
  free(t->streams);
  free(t->targets);
  free(t);
}

static void make_key(void) {
  if (pthread_key_create(&thread_key, thread_end) != 0) abort();
}

/* The first of the slots with the fewest threads. */
static uint32_t take_slot(void) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < TVMGO_SLOTS && users_of_slot[best] > 0; i++)
    if (users_of_slot[i] < users_of_slot[best]) best = i;
  users_of_slot[best]++;
  return best;
}

tvmgo_thread* tvmgo_thread_init(void) {
  pthread_once(&thread_key_once, make_key);
  tvmgo_thread* t = NULL; /* in cache lines of its own: the thread writes its counters often */
  if (posix_memalign((void**)&t, TVMGO_CACHE_LINE, (sizeof *t + TVMGO_CACHE_LINE - 1) & ~(TVMGO_CACHE_LINE - 1)) == 0)
    *t = (tvmgo_thread){0};
  if (t == NULL) {
    fputs("tvmgo: out of memory while starting a thread\n", stderr);
    abort();
  }
  pthread_mutex_lock(&tvmgo_threads_lock);
  t->next = &threads_head;
  t->prev = threads_head.prev;
  t->prev->next = t;
  threads_head.prev = t;
  t->slot = take_slot();
  pthread_mutex_unlock(&tvmgo_threads_lock);
  pthread_setspecific(thread_key, t);
  tvmgo_tls = t;
  return t;
}

void tvmgo_live_add(tvmgo_live_kind kind, int64_t delta) {
  tvmgo_thread_live(tvmgo_thread_get(), kind, delta);
}

void tvmgo_live_snapshot(int64_t out[TVMGO_LIVE_KINDS]) {
  pthread_mutex_lock(&tvmgo_threads_lock);
  for (int k = 0; k < TVMGO_LIVE_KINDS; k++) out[k] = live_of_ended[k];
  for (tvmgo_thread* t = threads_head.next; t != &threads_head; t = t->next)
    for (int k = 0; k < TVMGO_LIVE_KINDS; k++)
      out[k] += atomic_load_explicit(&t->live[k], memory_order_relaxed);
  pthread_mutex_unlock(&tvmgo_threads_lock);
}

void tvmgo_threads_visit(void (*f)(tvmgo_thread* t, void* arg), void* arg) {
  pthread_mutex_lock(&tvmgo_threads_lock);
  f(NULL, arg);
  for (tvmgo_thread* t = threads_head.next; t != &threads_head; t = t->next) f(t, arg);
  pthread_mutex_unlock(&tvmgo_threads_lock);
}

void tvmgo_spin_lock_slow(tvmgo_spin* s) {
  uint32_t mine = tvmgo_forks() + 1;
  for (int spins = 0;; spins++) {
    if (atomic_load_explicit(&s->word, memory_order_relaxed) != mine &&
        atomic_exchange_explicit(&s->word, mine, memory_order_acquire) != mine)
      return;
    if (spins < 64) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else {
      sched_yield();
    }
  }
}
