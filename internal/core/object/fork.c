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
