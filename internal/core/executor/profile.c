/* Profiles of runs: each step is an event, and the memory of the executor is in use while it runs. */
#include "executor/session.h"

#include <stdlib.h>

/* Memory of an entry: an allocation and how much of it. Handles of devices are no addresses. */
typedef struct {
  DLDevice dev;
  uintptr_t data;
  size_t end;
} allocation;

static int by_place(const void* a, const void* b) {
  const allocation *x = a, *y = b;
  if (x->dev.device_type != y->dev.device_type) return x->dev.device_type < y->dev.device_type ? -1 : 1;
  if (x->dev.device_id != y->dev.device_id) return x->dev.device_id < y->dev.device_id ? -1 : 1;
  return x->data < y->data ? -1 : x->data > y->data;
}

static int same_device(DLDevice a, DLDevice b) { return a.device_type == b.device_type && a.device_id == b.device_id; }

/* Counts the executor's memory: entries share allocations. What callers gave does not count. */
static void count_memory(tvmgo_executor* e, graph_profile* p) {
  allocation* list = malloc(((size_t)e->sizes.data + 1) * sizeof *list);
  int32_t n = 0;
  if (list == NULL) return;
  for (int32_t i = 0; i < e->sizes.data; i++) {
    const data_entry* d = &e->data[i];
    size_t nbytes;
    if (d->planned == NULL || d->moved || d->dl.data == NULL || tvmgo_dl_bytes(&d->dl, &nbytes) != 0) continue;
    list[n++] = (allocation){d->dl.device, (uintptr_t)d->dl.data, d->dl.byte_offset + nbytes};
  }
  qsort(list, (size_t)n, sizeof *list, by_place);
  for (int32_t i = 0, k; i < n && p->devices < MAX_EXECUTOR_DEVICES; i = k) {
    int64_t bytes = 0;
    size_t counted = 0; /* of the allocation */
    for (k = i; k < n && same_device(list[k].dev, list[i].dev); k++) {
      if (k == i || list[k].data != list[k - 1].data) counted = 0;
      if (list[k].end <= counted) continue;
      bytes += (int64_t)(list[k].end - counted);
      counted = list[k].end;
    }
    if (bytes == 0 || !tvmgo_profile_memory(p->thread, list[i].dev, bytes)) continue;
    p->device[p->devices] = list[i].dev;
    p->bytes[p->devices++] = bytes;
  }
  free(list);
}

static uint32_t site_of(graph_profile* p, uint32_t* at, int32_t kind, int32_t number, const char* name) {
  tvmgo_profile_site site = {.kind = kind, .number = number, .name = name, .function = ""};
  if (*at == 0) *at = tvmgo_profile_site_of(p->thread->profile, &site);
  return *at;
}

int tvmgo_executor_profile_begin(tvmgo_executor* e, graph_profile* p) {
  tvmgo_profile_thread* t = tvmgo_profiling;
  *p = (graph_profile){.thread = t, .sites = tvmgo_profile_numbers(t, e->key, (int64_t)e->sizes.steps + 1)};
  if (p->sites == NULL) return -1;
  tvmgo_profile_retain(t->profile);
  count_memory(e, p);
  t->last = tvmgo_profile_now();
  tvmgo_profile_open(t, t->last, site_of(p, &p->sites[e->sizes.steps], TVMGO_PROFILE_FUNCTION, 0, "graph"), 0);
  return 0;
}

void tvmgo_executor_profile_step(tvmgo_executor* e, graph_profile* p, const graph_step* s) {
  tvmgo_profile_thread* t = p->thread;
  const char* name = s->kind == TVMGO_STEP_COPY ? "__copy" : s->func;
  t->shapes = s->kind == TVMGO_STEP_COPY ? 0 : tvmgo_profile_shapes_of(t, s->args, s->n);
  tvmgo_profile_open(t, t->last, site_of(p, &p->sites[s - e->steps], TVMGO_PROFILE_NODE, s->node, name), t->shapes);
}

void tvmgo_executor_profile_end(graph_profile* p) {
  tvmgo_profile_thread* t = p->thread;
  t->shapes = 0;
  tvmgo_profile_close(t);
  for (int32_t i = 0; i < p->devices; i++) tvmgo_profile_memory(t, p->device[i], -p->bytes[i]);
  tvmgo_profile_release(t->profile);
}
