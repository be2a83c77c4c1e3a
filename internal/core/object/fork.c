#include "object/object.h"

_Atomic uint32_t tvmgo_fork_count;

int tvmgo_raise_forked(const char* what) {
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "after fork only exec is safe: this process was made by fork, and %s needs Go, "
                     "whose threads stayed in the parent: do it there, or exec a program here",
                     what);
}

int tvmgo_enter_loader(const char* name) {
  if (__builtin_expect(tvmgo_forks() == 0, 1)) return 0;
  return tvmgo_raise(TVMGO_RUNTIME_ERROR,
                     "load %s: after fork only exec is safe: this process was made by fork, perhaps "
                     "while another thread of the parent was in the dynamic linker: load it before "
                     "the fork, or exec a program here",
                     name);
}

pthread_mutex_t tvmgo_renewed_lock = PTHREAD_MUTEX_INITIALIZER;
static tvmgo_renewed head = {.prev = &head, .next = &head};

void tvmgo_renewed_init(tvmgo_renewed* r, pthread_mutex_t* mutex) {
  pthread_mutex_init(mutex, NULL);
  r->mutex = mutex;
  pthread_mutex_lock(&tvmgo_renewed_lock);
  r->next = &head;
  r->prev = head.prev;
  r->prev->next = head.prev = r;
  pthread_mutex_unlock(&tvmgo_renewed_lock);
}

void tvmgo_renewed_destroy(tvmgo_renewed* r) {
  pthread_mutex_lock(&tvmgo_renewed_lock);
  r->prev->next = r->next;
  r->next->prev = r->prev;
  pthread_mutex_unlock(&tvmgo_renewed_lock);
  pthread_mutex_destroy(r->mutex);
}

void tvmgo_renewed_renew(void) {
  for (tvmgo_renewed* r = head.next; r != &head; r = r->next) pthread_mutex_init(r->mutex, NULL);
}
