/* Memory in use, by device. */
#include "profile/parts.h"

static uint32_t site_of(tvmgo_profile* p, DLDevice dev) {
  tvmgo_profile_site site = {.kind = TVMGO_PROFILE_MEMORY, .device = dev, .name = "", .function = ""};
  return tvmgo_profile_site_of(p, &site);
}

static int add(tvmgo_profile_thread* t, DLDevice dev, int64_t bytes, int64_t at) {
  tvmgo_profile_maps* m = t->maps;
  int32_t i = 0;
  for (; i < m->num_memory; i++)
    if (m->devices[i].device_type == dev.device_type && m->devices[i].device_id == dev.device_id) break;
  uint32_t site = i < m->num_memory ? m->memory[i] : site_of(t->profile, dev);
  if (i == m->num_memory && i < MEMORY_SITES && site != 0) {
    m->devices[i] = dev;
    m->memory[i] = site;
    m->num_memory++;
  }
  return tvmgo_profile_add(t, at, at, site, 0, bytes) != NULL;
}

int tvmgo_profile_memory(tvmgo_profile_thread* t, DLDevice dev, int64_t bytes) {
  return add(t, dev, bytes, tvmgo_profile_now());
}

/* Storages change between instructions and in those that make them: the begin of these is near enough. */
static int64_t near(const tvmgo_profile_thread* t) { return t->num_opened > 0 ? t->last : tvmgo_profile_now(); }

tvmgo_profile* tvmgo_profile_allocated(DLDevice dev, int64_t bytes) {
  tvmgo_profile_thread* t = tvmgo_profiling;
  if (t == NULL || !add(t, dev, bytes, near(t))) return NULL;
  tvmgo_profile_retain(t->profile);
  return t->profile;
}

void tvmgo_profile_freed(tvmgo_profile* p, DLDevice dev, int64_t bytes) {
  tvmgo_profile_thread* t = tvmgo_profiling;
  if (t != NULL && t->profile == p) {
    add(t, dev, -bytes, near(t));
  } else {
    uint32_t site = site_of(p, dev);
    pthread_mutex_lock(&p->lock);
    int64_t now = tvmgo_profile_now();
    tvmgo_profile_add(&p->others, now, now, site, 0, -bytes);
    pthread_mutex_unlock(&p->lock);
  }
  tvmgo_profile_release(p);
}

void tvmgo_profile_took(tvmgo_profile_thread* t, DLDevice dev, const void* address, int64_t bytes) {
  tvmgo_profile_maps* m = t->maps;
  if (m->num_taken == m->max_taken) {
    int32_t max = m->max_taken == 0 ? 16 : 2 * m->max_taken;
    profile_taken* grown = realloc(m->taken, (size_t)max * sizeof *grown);
    if (grown == NULL) return;
    m->taken = grown;
    m->max_taken = max;
  }
  if (tvmgo_profile_memory(t, dev, bytes)) m->taken[m->num_taken++] = (profile_taken){address, bytes};
}

void tvmgo_profile_gave(tvmgo_profile_thread* t, DLDevice dev, const void* address) {
  tvmgo_profile_maps* m = t->maps;
  for (int32_t i = m->num_taken; i-- > 0;) {
    if (m->taken[i].address != address) continue;
    tvmgo_profile_memory(t, dev, -m->taken[i].bytes);
    m->taken[i] = m->taken[--m->num_taken];
    return;
  }
}
