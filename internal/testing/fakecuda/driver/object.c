// Handles: the addresses of all handles are kept forever, so that unknown and destroyed handles are detected.
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

object *objects;
static object **table;
static size_t cap, used;
static unsigned serials[KINDS];

static size_t place(const void *handle) {
  size_t at = ((uintptr_t)handle >> 4) * 0x9E3779B97F4A7C15u >> 20;
  for (at &= cap - 1; table[at] && table[at] != handle; at = (at + 1) & (cap - 1)) {
  }
  return at;
}

void object_add(object *o, object_kind kind, context *ctx) {
  if (2 * used >= cap) {
    object **old = table;
    size_t n = cap;
    cap = cap ? 2 * cap : 1024;
    table = calloc(cap, sizeof *table);
    for (size_t i = 0; i < n; i++) {
      if (old[i]) table[place(old[i])] = old[i];
    }
    free(old);
  }
  o->kind = kind;
  o->alive = true;
  o->ctx = ctx;
  o->serial = ++serials[kind];
  o->next = objects;
  objects = o;
  table[place(o)] = o;
  used++;
}

void object_kill(object *o) { o->alive = false; }

void *object_find(const guard *g, const void *handle, object_kind kind) {
  static const char *const names[KINDS] = {"context", "stream", "event", "module", "function", "graph",
                                           "executable graph",
      "pool"};
  object *o = handle && cap ? table[place(handle)] : NULL;
  if (!o || o->kind != kind) {
    report("%s: %p is no %s that this driver made%s%s", g->name, handle, names[kind], o ? ", it is " : "", o
        ? object_name(o) : "");
    return NULL;
  }
  if (!o->alive) {
    report("%s: %s was destroyed before", g->name, object_name(o));
    return NULL;
  }
  return o;
}

static int leak(char *text, size_t size, size_t *at, const char *line) {
  if (text && *at < size) *at += (size_t)snprintf(text + *at, size - *at, "%s\n", line);
  return 1;
}

API int fakecuda_leaks(int contexts, char *text, size_t size) {
  pthread_mutex_lock(&fake_lock);
  size_t at = 0;
  int n = 0;
  char line[160];
  if (text && size) *text = 0;
  for (object *o = objects; o; o = o->next) {
    if (!o->alive || o->kind == FUNCTION) continue;
    if (o->kind == STREAM && (((stream *)o)->legacy || ((stream *)o)->per_thread)) continue;
    if (o->kind == CONTEXT && !contexts) continue;
    snprintf(line, sizeof line, "%s", object_name(o));
    if (o->kind == CONTEXT) snprintf(line, sizeof line, "primary context of device %d",
        ((context *)o)->device);
    n += leak(text, size, &at, line);
  }
  for (int i = 0; i < nblocks; i++) {
    static const char *const kinds[] = {"device", "managed", "page-locked"};
    if (blocks[i]->freed || blocks[i]->module) continue;
    snprintf(line, sizeof line, "%zu bytes of %s memory at 0x%llx", blocks[i]->size, kinds[blocks[i]->kind],
             blocks[i]->base);
    n += leak(text, size, &at, line);
  }
  pthread_mutex_unlock(&fake_lock);
  return n;
}

// If FAKECUDA_LEAKS is set, programs that end with exit (Go programs do not) report what they have not released; if it
// is 2, also primary contexts.
__attribute__((destructor)) static void at_exit(void) {
  const char *want = getenv("FAKECUDA_LEAKS");
  if (!want || !*want || *want == '0') return;
  char *text = malloc(1 << 16);
  if (fakecuda_leaks(*want == '2', text, 1 << 16)) {
    pthread_mutex_lock(&fake_lock);
    report("left at the end of the process:\n%s", text);
    pthread_mutex_unlock(&fake_lock);
  }
  free(text);
}
