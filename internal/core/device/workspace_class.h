/* Size classes of workspaces: four per doubling, from 4 KiB. */
#pragma once

#include <stddef.h>

enum {
  TVMGO_WORKSPACE_SMALLEST_LOG2 = 12, /* class 0: up to 4 KiB */
  TVMGO_WORKSPACE_LARGEST_LOG2 = 46,  /* more than any machine maps */
  TVMGO_WORKSPACE_CLASSES = (TVMGO_WORKSPACE_LARGEST_LOG2 - TVMGO_WORKSPACE_SMALLEST_LOG2) * 4 + 1
};
#define TVMGO_WORKSPACE_LARGEST ((size_t)1 << TVMGO_WORKSPACE_LARGEST_LOG2)

/* For up to TVMGO_WORKSPACE_LARGEST bytes. */
static inline unsigned tvmgo_workspace_class(size_t nbytes) {
  size_t smallest = (size_t)1 << TVMGO_WORKSPACE_SMALLEST_LOG2;
  size_t last = (nbytes > smallest ? nbytes : smallest) - 1;
  unsigned log2 = 63 - (unsigned)__builtin_clzl(last);
  return (log2 - (TVMGO_WORKSPACE_SMALLEST_LOG2 - 1)) * 4 + (unsigned)(last >> (log2 - 2)) - 7;
}

static inline size_t tvmgo_workspace_class_size(unsigned class) {
  return ((size_t)(class + 3) % 4 + 5) << ((class + 3) / 4 + TVMGO_WORKSPACE_SMALLEST_LOG2 - 3);
}

/* The bytes that may be idle in addition to `live` bytes in use: the recent maximum in use, and a little more,
 * so that memory of a size that is not needed again is freed. */
static inline int64_t tvmgo_workspace_idle_limit(int64_t live, int64_t peak, int64_t last_peak) {
  int64_t most = peak > last_peak ? peak : last_peak;
  return (most > live ? most - live : 0) + (64 << 20);
}
enum { TVMGO_WORKSPACE_WINDOW = 4096 }; /* "lately": within one to two times as many blocks given back */
