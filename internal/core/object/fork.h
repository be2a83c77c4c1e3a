/* Processes made by fork. The child has one thread: the one that forked. C code still runs there. Go cannot be entered,
 * because the threads that its runtime needs exist only in the parent. ld.so cannot open, close or list libraries: if
 * another thread of the parent was doing that during the fork, ld.so's lock is held forever or its lists are
 * inconsistent. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* Forks between this process and the one that loaded the library; 0 in that one. */
extern _Atomic uint32_t tvmgo_fork_count;

static inline uint32_t tvmgo_forks(void) {
  return atomic_load_explicit(&tvmgo_fork_count, memory_order_relaxed);
}

/* Raises the error of tvmgo_enter_go; always returns -1. */
int tvmgo_raise_forked(const char* what);

/* Called before C enters Go: 0, or -1 with an error raised that begins with the reason and names what needs Go ("a
 * function written in Go"). */
static inline int tvmgo_enter_go(const char* what) {
  return __builtin_expect(tvmgo_forks() == 0, 1) ? 0 : tvmgo_raise_forked(what);
}

/* The same for operations that cannot fail, such as a release: whether Go can be entered. A forked child does not
 * release what Go holds; the parent still owns it. */
static inline int tvmgo_can_enter_go(void) { return tvmgo_forks() == 0; }

/* Called before a library is opened: 0, or -1 with an error raised that names it. */
int tvmgo_enter_loader(const char* name);

/* Whether a library can be closed. In a forked child it stays mapped. */
static inline int tvmgo_can_enter_loader(void) { return tvmgo_forks() == 0; }

/* A mutex of an object that a forked child initializes again, because a thread that exists only in the parent may hold
 * it. What it protects must then be usable whatever part of a critical section was executed. */
typedef struct tvmgo_renewed {
  struct tvmgo_renewed *prev, *next; /* all of them; under tvmgo_renewed_lock */
  pthread_mutex_t* mutex;
} tvmgo_renewed;
void tvmgo_renewed_init(tvmgo_renewed* r, pthread_mutex_t* mutex); /* also initializes the mutex */
void tvmgo_renewed_destroy(tvmgo_renewed* r);

/* at_fork.c takes the lock, and renews all in the child. */
extern pthread_mutex_t tvmgo_renewed_lock;
void tvmgo_renewed_renew(void);
