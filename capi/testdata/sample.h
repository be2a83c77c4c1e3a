/* A function of a module that Apache TVM exported, with inputs and what TVM computed from them: <function>_in<i>.npy
 * and <function>_out.npy of a directory. */
#ifndef SAMPLE_H_
#define SAMPLE_H_

#include "check.h"
#include "npy.h"

enum { MAX_INPUTS = 2 };

typedef struct {
  const char* name;
  npy value[MAX_INPUTS + 1], want; /* inputs, then the output */
  int n;                           /* inputs */
} sample;

static inline int read_sample(sample* s, const char* dir, const char* name) {
  char path[1024];
  s->name = name, s->n = 0;
  for (;;) {
    snprintf(path, sizeof path, "%s/%s_in%d.npy", dir, name, s->n);
    FILE* f = s->n < MAX_INPUTS ? fopen(path, "rb") : NULL;
    if (f == NULL) break;
    fclose(f);
    if (!npy_read(path, &s->value[s->n++])) return 0;
  }
  snprintf(path, sizeof path, "%s/%s_out.npy", dir, name);
  return s->n > 0 && npy_read(path, &s->want) && npy_alloc(&s->value[s->n], &s->want);
}

static inline void forget(sample* s) { memset(s->value[s->n].data, 0xff, (size_t)s->want.count * sizeof(float)); }

static inline void compare(sample* s, const char* how) {
  double e = npy_error(&s->value[s->n], &s->want);
  if (!(e < 1e-4)) FAIL("%s through %s is off by %g", s->name, how, e);
}

/* Checks that an error message contains a word that helps the user. */
static inline void readable(const char* what, const char* got, const char* word) {
  if (got == NULL || strstr(got, word) == NULL) FAIL("%s: error \"%s\" has no \"%s\"", what, got ? got : "NULL", word);
}

#endif
