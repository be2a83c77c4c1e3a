/* Processes made by fork. The child has one thread: the one that forked. What is C goes on there; Go
 * cannot be entered, because the threads that its runtime needs stayed in the parent. Nor can ld.so be
 * asked to open, close or list libraries: another thread of the parent may have been doing that; then its lock is held
 * forever, or its lists are inconsistent. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Forks between this process and the one that loaded the library; 0 in that one. */
extern _Atomic uint32_t tvmgo_fork_count;

static inline uint32_t tvmgo_forks(void) {
  return atomic_load_explicit(&tvmgo_fork_count, memory_order_relaxed);
}

/* Raises the error of tvmgo_enter_go; always returns -1. */
int tvmgo_raise_forked(const char* what);

/* Asked wherever C enters Go, before it does: 0, or -1 with an error raised that begins with the
 * reason and names what needs Go ("a function written in Go"). */
static inline int tvmgo_enter_go(const char* what) {
  return __builtin_expect(tvmgo_forks() == 0, 1) ? 0 : tvmgo_raise_forked(what);
}

/* The same for what cannot fail, such as releasing: whether Go can be entered. In a forked child what
 * Go holds is left alone; the parent has it still. */
static inline int tvmgo_can_enter_go(void) { return tvmgo_forks() == 0; }

/* Asked before a library is opened: 0, or -1 with an error raised that names it. */
int tvmgo_enter_loader(const char* name);

/* Whether one can be closed. In a forked child it stays mapped. */
static inline int tvmgo_can_enter_loader(void) { return tvmgo_forks() == 0; }
