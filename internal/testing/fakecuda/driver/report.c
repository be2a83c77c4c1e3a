// Reports of misuse: kept in a list, and written to the file that FAKECUDA_LOG names, or to stderr.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

static char **texts;
static int ntexts, captexts;

void report(const char *format, ...) {
  char *text = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) text = NULL;
  va_end(args);
  if (!text) return;
  if (ntexts == captexts) {
    captexts = captexts ? 2 * captexts : 16;
    texts = realloc(texts, captexts * sizeof *texts);
  }
  texts[ntexts++] = text;
  const char *path = getenv("FAKECUDA_LOG");
  FILE *f = path && *path ? fopen(path, "a") : stderr;
  if (f) fprintf(f, "fakecuda: %s\n", text);
  if (f && f != stderr) fclose(f);
}

const char *object_name(const object *o) {
  static const char *const kinds[KINDS] = {"context", "stream", "event", "module", "function", "graph",
                                           "executable graph",
      "pool"};
  static __thread char names[4][64];
  static __thread unsigned turn;
  char *name = names[turn++ % 4];
  if (o->kind == STREAM && ((const stream *)o)->legacy) {
    snprintf(name, 64, "the default stream");
  } else {
    snprintf(name, 64, "%s %u", kinds[o->kind], o->serial);
  }
  return name;
}

void report_reset(void) {
  for (int i = 0; i < ntexts; i++) free(texts[i]);
  free(texts);
  texts = NULL;
  ntexts = captexts = 0;
}

API int fakecuda_reports(void) {
  pthread_mutex_lock(&fake_lock);
  int n = ntexts;
  pthread_mutex_unlock(&fake_lock);
  return n;
}

API const char *fakecuda_report(int i) {
  pthread_mutex_lock(&fake_lock);
  const char *text = i >= 0 && i < ntexts ? texts[i] : NULL;
  pthread_mutex_unlock(&fake_lock);
  return text;
}

API void fakecuda_clear_reports(void) {
  pthread_mutex_lock(&fake_lock);
  report_reset();
  pthread_mutex_unlock(&fake_lock);
}
