//go:build cuda

/* The names of the last launches, for errors of kernels that are reported later. */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept {
  struct kept* next;
  char name[];
} kept;

const char* tvmgo_cu_intern_name(const char* name) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static kept* all;
  size_t size = strlen(name) + 1;
  pthread_mutex_lock(&lock);
  kept* k = all;
  while (k != NULL && strcmp(k->name, name) != 0) k = k->next;
  if (k == NULL && (k = malloc(sizeof *k + size)) != NULL) {
    memcpy(k->name, name, size);
    k->next = all;
    all = k;
  }
  pthread_mutex_unlock(&lock);
  return k == NULL ? NULL : k->name;
}

/* Lists the kernels that were launched on a stream since the last wait for it, or the last kernels on all streams. The
 * newest is first, and each occurs once. Returns their number. */
static int list(const cu_device* d, CUstream stream, int any, char* out, size_t size) {
  enum { MOST = 8 };
  const char* seen[MOST];
  int n = 0;
  size_t at = 0;
  uint32_t end = atomic_load(&d->num_launched);
  for (uint32_t i = 0; i < KEPT_LAUNCHES && i < end && n < MOST; i++) {
    const cu_launched* l = &d->launched[(end - 1 - i) % KEPT_LAUNCHES];
    const char* kernel = atomic_load(&l->kernel);
    if (atomic_load(&l->stream) != stream && !any) continue;
    if (kernel == NULL && !any) break; /* earlier work is done */
    int known = kernel == NULL;
    for (int j = 0; j < n; j++) known |= seen[j] == kernel;
    if (known) continue;
    seen[n++] = kernel;
    int wrote = snprintf(out + at, size - at, "%s%s", at == 0 ? "" : ", ", kernel);
    at = wrote < 0 || (size_t)wrote >= size - at ? size - 1 : at + (size_t)wrote;
  }
  return n;
}

int tvmgo_cu_raise_waited(CUresult code, const cu_device* d, CUstream stream, const char* format, ...) {
  char what[512], names[1024] = "";
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  if (!tvmgo_cu_is_sticky(code)) return tvmgo_cu_raise(code, "%s", what);
  if (list(d, stream, 0, names, sizeof names) > 0)
    return tvmgo_cu_raise(code, "%s, on which these kernels were launched since the last wait (newest first): %s", what,
                          names);
  if (list(d, stream, 1, names, sizeof names) > 0)
    return tvmgo_cu_raise(code, "%s, on which no kernel was launched since the last wait; the last kernels on other "
                                "streams (newest first): %s", what, names);
  return tvmgo_cu_raise(code, "%s", what);
}
