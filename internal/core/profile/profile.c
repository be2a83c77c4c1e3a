/* Profiles, and the buffers of threads. */
#include "profile/parts.h"

#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

__thread tvmgo_profile_thread* tvmgo_profiling __attribute__((tls_model("initial-exec")));
int tvmgo_profile_reads_clock;

/* Nanoseconds over which the rate of the ticks is measured at least. */
enum { LEAST_SPAN = 10 * 1000 * 1000 };

static int64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Reads both clocks as near to each other as three attempts allow. */
static void read_clocks(int64_t* ticks, int64_t* ns) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < 3; i++) {
    int64_t before = tvmgo_profile_now(), clock = clock_ns(), after = tvmgo_profile_now();
    if (after - before >= best) continue;
    best = after - before;
    *ticks = before + (after - before) / 2;
    *ns = clock;
  }
}

__attribute__((constructor)) static void choose_clock(void) {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  tvmgo_profile_reads_clock = !__get_cpuid(0x80000007, &a, &b, &c, &d) || (d >> 8 & 1) == 0; /* invariant TSC */
#endif
}

/* ---- profiles ---- */

tvmgo_profile* tvmgo_profile_new(int64_t limit) {
  if (limit <= 0) {
    tvmgo_raise(TVMGO_VALUE_ERROR, "new profile: the limit is %lld events: it must be positive", (long long)limit);
    return NULL;
  }
  tvmgo_profile* p = calloc(1, sizeof *p);
  tvmgo_profile_maps* m = calloc(1, sizeof *m);
  if (p == NULL || m == NULL) {
    free(p);
    free(m);
    tvmgo_raise_oom();
    return NULL;
  }
  p->refs = 1;
  p->left = limit;
  p->others = (tvmgo_profile_thread){.profile = p, .maps = m};
  pthread_mutex_init(&p->lock, NULL);
  read_clocks(&p->ticks, &p->ns);
  return p;
}

void tvmgo_profile_retain(tvmgo_profile* p) { atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed); }

static void free_thread(tvmgo_profile_thread* t) {
  for (tvmgo_profile_chunk *c = t->chunk, *before; c != NULL; c = before) {
    before = c->before;
    free(c);
  }
  for (profile_numbers *n = t->maps->numbers, *next; n != NULL; n = next) {
    next = n->next;
    free(n);
  }
  free(t->maps->timed); /* tvmgo_profile_end has freed the timers */
  free(t->maps->taken);
  free(t->maps);
  free(t->opened);
}

void tvmgo_profile_release(tvmgo_profile* p) {
  if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
  for (tvmgo_profile_thread *t = p->threads, *next; t != NULL; t = next) {
    next = t->next;
    free_thread(t);
    free(t);
  }
  free_thread(&p->others);
  tvmgo_profile_table_free(&p->sites);
  tvmgo_profile_table_free(&p->shapes);
  pthread_mutex_destroy(&p->lock);
  free(p);
}

/* A buffer for this thread that is not in use, with depth 1; NULL: out of memory. */
static tvmgo_profile_thread* enter(tvmgo_profile* p) {
  int64_t id = syscall(SYS_gettid);
  pthread_mutex_lock(&p->lock);
  tvmgo_profile_thread* t = p->threads;
  while (t != NULL && (t->thread != id || t->depth != 0)) t = t->next;
  if (t == NULL) {
    t = calloc(1, sizeof *t);
    tvmgo_profile_maps* m = calloc(1, sizeof *m);
    if (t != NULL && m != NULL) {
      *t = (tvmgo_profile_thread){.profile = p, .next = p->threads, .thread = id, .maps = m};
      p->threads = t;
    } else {
      free(t);
      free(m);
      t = NULL;
    }
  }
  if (t != NULL) {
    t->depth = 1;
    t->num_opened = 0; /* a call may have been abandoned */
  }
  pthread_mutex_unlock(&p->lock);
  return t;
}

int tvmgo_profile_begin(tvmgo_profile* p) {
  tvmgo_profile_thread* t = tvmgo_profiling;
  if (t != NULL && t->profile == p) {
    t->depth++;
    return 0;
  }
  t = enter(p);
  if (t == NULL) return tvmgo_raise_oom();
  tvmgo_profile_retain(p);
  t->outer = tvmgo_profiling;
  t->last = tvmgo_profile_now();
  tvmgo_profiling = t;
  return 0;
}

/* Waits for the n oldest timers of a thread, which keeps the error that it has. */
static void read_timers(tvmgo_profile_thread* t, int32_t n) {
  tvmgo_profile_maps* m = t->maps;
  if (n == 0) return;
  TVMFFIObject* earlier = tvmgo_error_take();
  for (int32_t i = 0; i < n; i++) {
    profile_timed* w = &m->timed[i];
    int64_t ns = -1;
    if (w->timers->read(w->dev, w->timer, &ns) == 0)
      atomic_store_explicit(&w->event->on_stream, ns, memory_order_relaxed);
    else
      tvmgo_object_release(tvmgo_error_take());
    w->timers->free(w->dev, w->timer);
  }
  m->num_timed -= n;
  memmove(m->timed, m->timed + n, (size_t)m->num_timed * sizeof *m->timed);
  tvmgo_error_put_back(earlier);
}

void tvmgo_profile_end(void) {
  tvmgo_profile_thread* t = tvmgo_profiling;
  if (t == NULL) return;
  if (t->depth > 1) {
    t->depth--;
    return;
  }
  tvmgo_profile* p = t->profile;
  tvmgo_profiling = t->outer;
  read_timers(t, t->maps->num_timed);
  pthread_mutex_lock(&p->lock);
  t->depth = 0;
  pthread_mutex_unlock(&p->lock);
  tvmgo_profile_release(p);
}

tvmgo_profile* tvmgo_profile_current(void) {
  if (tvmgo_profiling == NULL) return NULL;
  tvmgo_profile_retain(tvmgo_profiling->profile);
  return tvmgo_profiling->profile;
}

/* ---- events ---- */

/* A new chunk for at most the events that are left; 0 if there is none. */
static int more(tvmgo_profile_thread* t) {
  tvmgo_profile* p = t->profile;
  int64_t left = atomic_load_explicit(&p->left, memory_order_relaxed), n;
  do {
    n = left < CHUNK_EVENTS ? left : CHUNK_EVENTS;
    if (n <= 0) return 0;
  } while (!atomic_compare_exchange_weak_explicit(&p->left, &left, left - n, memory_order_relaxed,
                                                  memory_order_relaxed));
  tvmgo_profile_chunk* c = malloc(sizeof *c + (size_t)n * sizeof *c->events);
  if (c == NULL) return 0;
  c->before = t->chunk;
  c->capacity = (int32_t)n;
  atomic_init(&c->count, 0);
  __atomic_store_n(&t->chunk, c, __ATOMIC_RELEASE); /* a snapshot may be taken */
  return 1;
}

tvmgo_profile_event* tvmgo_profile_add(tvmgo_profile_thread* t, int64_t begin, int64_t end, uint32_t site,
                                       uint32_t shapes, int64_t value) {
  tvmgo_profile_chunk* c = t->chunk;
  if (TVMGO_UNLIKELY(c == NULL || atomic_load_explicit(&c->count, memory_order_relaxed) == c->capacity || site == 0)) {
    if (site == 0 || !more(t)) {
      atomic_fetch_add_explicit(&t->profile->dropped, 1, memory_order_relaxed);
      return NULL;
    }
    c = t->chunk;
  }
  int32_t n = atomic_load_explicit(&c->count, memory_order_relaxed);
  tvmgo_profile_event* e = &c->events[n];
  e->begin = begin;
  e->end = end;
  e->site = site;
  e->shapes = shapes;
  e->value = value;
  atomic_store_explicit(&e->on_stream, -1, memory_order_relaxed);
  atomic_store_explicit(&c->count, n + 1, memory_order_release);
  return e;
}

void tvmgo_profile_open(tvmgo_profile_thread* t, int64_t begin, uint32_t site, uint32_t shapes) {
  int32_t n = t->num_opened++;
  if (TVMGO_UNLIKELY(n >= t->max_opened)) {
    int32_t max = n == 0 ? 64 : 2 * n;
    tvmgo_profile_opened* grown = realloc(t->opened, (size_t)max * sizeof *grown);
    if (grown == NULL) return; /* tvmgo_profile_close drops it */
    t->opened = grown;
    t->max_opened = max;
  }
  t->opened[n] = (tvmgo_profile_opened){begin, site, shapes};
}

void tvmgo_profile_close(tvmgo_profile_thread* t) {
  static const tvmgo_profile_opened lost;
  int32_t n = --t->num_opened;
  const tvmgo_profile_opened* o = n < t->max_opened ? &t->opened[n] : &lost;
  t->last = tvmgo_profile_now();
  tvmgo_profile_add(t, o->begin, t->last, o->site, o->shapes, 0);
}

void tvmgo_profile_time(tvmgo_profile_thread* t, tvmgo_profile_event* e, const tvmgo_profile_timers* timers,
                        DLDevice dev, void* timer) {
  tvmgo_profile_maps* m = t->maps;
  if (m->timed == NULL) m->timed = malloc(MAX_TIMED * sizeof *m->timed);
  if (m->timed == NULL) {
    timers->free(dev, timer);
    return;
  }
  if (m->num_timed == MAX_TIMED) read_timers(t, MAX_TIMED / 2); /* these are probably done: later work goes on */
  m->timed[m->num_timed++] = (profile_timed){e, timers, dev, timer};
}

/* ---- snapshots ---- */

static int64_t count_events(const tvmgo_profile_chunk* c) {
  int64_t n = 0;
  for (; c != NULL; c = c->before) n += atomic_load_explicit(&c->count, memory_order_acquire);
  return n;
}

/* Ticks to nanoseconds since the profile was made. */
static double rate(const tvmgo_profile* p) {
  int64_t ticks, ns;
  read_clocks(&ticks, &ns);
  while (ns - p->ns < LEAST_SPAN) {
    struct timespec wait = {0, LEAST_SPAN - (ns - p->ns)};
    nanosleep(&wait, NULL);
    read_clocks(&ticks, &ns);
  }
  return (double)(ns - p->ns) / (double)(ticks - p->ticks);
}

/* Copies the events that a buffer has now, at most max, to the end of the snapshot. The thread may add more. */
static void copy_events(tvmgo_profile* p, tvmgo_profile_thread* t, double per_tick, int64_t max,
                        tvmgo_profile_snapshot* s) {
  tvmgo_profile_chunk* c = __atomic_load_n(&t->chunk, __ATOMIC_ACQUIRE);
  int32_t count = c == NULL ? 0 : atomic_load_explicit(&c->count, memory_order_acquire);
  int64_t total = c == NULL ? 0 : count + count_events(c->before);
  int64_t n = total < max ? total : max, at = n, skip = total - n;
  s->threads[s->num_threads++] = (tvmgo_profile_thread_events){t->thread, s->num_events, n};
  while (at > 0) {
    while (count == 0) {
      c = c->before;
      count = atomic_load_explicit(&c->count, memory_order_acquire);
    }
    const tvmgo_profile_event* e = &c->events[--count];
    if (skip > 0) {
      skip--;
      continue;
    }
    tvmgo_profile_event* to = &s->events[s->num_events + --at];
    to->begin = (int64_t)((double)(e->begin - p->ticks) * per_tick);
    to->end = (int64_t)((double)(e->end - p->ticks) * per_tick);
    to->site = e->site;
    to->shapes = e->shapes;
    to->value = e->value;
    atomic_init(&to->on_stream, atomic_load_explicit(&e->on_stream, memory_order_relaxed));
  }
  s->num_events += n;
}

static void* copy_list(void** items, uint32_t count) {
  void** out = calloc((size_t)count + 1, sizeof *out);
  if (out != NULL && count > 0) memcpy(out, items, ((size_t)count + 1) * sizeof *out);
  return out;
}

int tvmgo_profile_read(tvmgo_profile* p, tvmgo_profile_snapshot* out) {
  double per_tick = rate(p);
  tvmgo_profile_snapshot s = {0};
  pthread_mutex_lock(&p->lock); /* no more threads, and none of the others' events */
  int64_t threads = 1, events = count_events(p->others.chunk);
  for (tvmgo_profile_thread* t = p->threads; t != NULL; t = t->next) {
    threads++;
    events += count_events(__atomic_load_n(&t->chunk, __ATOMIC_ACQUIRE));
  }
  s.events = malloc((size_t)(events + 1) * sizeof *s.events);
  s.threads = malloc((size_t)threads * sizeof *s.threads);
  if (s.events != NULL && s.threads != NULL) {
    copy_events(p, &p->others, per_tick, events, &s);
    for (tvmgo_profile_thread* t = p->threads; t != NULL; t = t->next)
      copy_events(p, t, per_tick, events - s.num_events, &s);
  }
  s.sites = copy_list(p->sites.items, p->sites.count); /* after the events that refer to them */
  s.shapes = copy_list(p->shapes.items, p->shapes.count);
  s.num_sites = p->sites.count + 1;
  s.num_shapes = p->shapes.count + 1;
  pthread_mutex_unlock(&p->lock);
  s.dropped = atomic_load_explicit(&p->dropped, memory_order_relaxed);
  if (s.events == NULL || s.threads == NULL || s.sites == NULL || s.shapes == NULL) {
    tvmgo_profile_snapshot_free(&s);
    return tvmgo_raise_oom();
  }
  *out = s;
  return 0;
}

void tvmgo_profile_snapshot_free(tvmgo_profile_snapshot* s) {
  free(s->events);
  free(s->threads);
  free(s->sites);
  free(s->shapes);
  *s = (tvmgo_profile_snapshot){0};
}
