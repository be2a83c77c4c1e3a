/* The pool of workspaces of one device.
 *
 * A block belongs to the stream that it was made for. A returned block is in that stream's list of its class, newest
 * first, with the number of the return. Later work of the same stream may use it immediately, since a stream is in
 * order. Another stream gets it once the stream has done all work that was queued at that return (`done`): because
 * somebody waited for the stream, or because an event that the pool recorded later has completed. Events are made and
 * queried only if a request would otherwise go to the device. Returning a block and reusing one of the same stream call
 * no driver.
 *
 * The lock of a pool is never held while a driver is called: drivers wait, and may be written in Go. */
#include "device/device.h"
#include "device/workspace_pool.h"
#include "device/workspace_pool_tables.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 256 };
static _Atomic(pool*) pools[TVMGO_MAX_DEVICE_TYPE]; /* never freed */

static inline pool* find_pool(DLDevice dev) {
  if ((uint32_t)dev.device_type >= TVMGO_MAX_DEVICE_TYPE) return NULL;
  pool* d = atomic_load_explicit(&pools[dev.device_type], memory_order_acquire);
  while (d != NULL && d->dev.device_id != dev.device_id) d = d->next;
  return d;
}

static pool* make_pool(const TVMGODeviceAPI* api, DLDevice dev) {
  pool* d = calloc(1, sizeof *d);
  pool_block** table = calloc(FIRST_BUCKETS, sizeof *table);
  if (d == NULL || table == NULL) {
    free(d);
    free(table);
    tvmgo_raise_oom();
    return NULL;
  }
  *d = (pool){.dev = dev, .api = api, .countdown = TVMGO_WORKSPACE_WINDOW,
              .by_address = table, .buckets = FIRST_BUCKETS};
  _Atomic(pool*)* head = &pools[dev.device_type];
  d->next = atomic_load_explicit(head, memory_order_acquire);
  do {
    pool* other = find_pool(dev);
    if (other != NULL) { /* of another thread */
      free(d->by_address);
      free(d);
      return other;
    }
  } while (!atomic_compare_exchange_weak_explicit(head, &d->next, d, memory_order_acq_rel,
                                                  memory_order_acquire));
  return d;
}

static inline void lend(pool* d, pool_block* b) {
  b->idle = 0;
  d->stats.in_use += (int64_t)b->size;
  if (d->stats.in_use > d->window_peak) {
    d->window_peak = d->stats.in_use;
    if (d->window_peak > d->stats.peak) d->stats.peak = d->window_peak;
  }
}

/* ---- streams ---- */

/* 1 when taken. */
static int try_lock(tvmgo_spin* s) {
  uint32_t mine = tvmgo_forks() + 1;
  return atomic_load_explicit(&s->word, memory_order_relaxed) != mine &&
         atomic_exchange_explicit(&s->word, mine, memory_order_acquire) != mine;
}

static void open_stream(pool* d, pool_stream* s, TVMFFIStreamHandle handle) {
  s->handle = handle;
  s->closed = 0;
  pool_stream** at = handle_bucket(d, handle);
  s->chain = *at;
  *at = s;
}

/* A struct of a freed stream without blocks, for reuse. Under the lock. */
static pool_stream* reopen(pool* d, TVMFFIStreamHandle handle) {
  for (pool_stream* s = atomic_load_explicit(&d->streams, memory_order_relaxed); s != NULL; s = s->next)
    if (s->closed && s->blocks == 0 && try_lock(&s->marking)) {
      s->done = s->marked = s->freed;
      open_stream(d, s, handle);
      tvmgo_spin_unlock(&s->marking);
      return s;
    }
  return NULL;
}

/* The stream's struct; NULL with an error when memory is out. */
static pool_stream* get_stream(pool* d, TVMFFIStreamHandle handle) {
  tvmgo_spin_lock(&d->lock);
  pool_stream* s = find_stream(d, handle);
  if (s == NULL) s = reopen(d, handle);
  tvmgo_spin_unlock(&d->lock);
  if (s != NULL) return s;
  pool_stream* fresh = calloc(1, sizeof *fresh);
  if (fresh == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  tvmgo_spin_lock(&d->lock);
  s = find_stream(d, handle);
  if (s == NULL) {
    s = fresh;
    fresh = NULL;
    open_stream(d, s, handle);
    s->next = atomic_load_explicit(&d->streams, memory_order_relaxed);
    atomic_store_explicit(&d->streams, s, memory_order_release);
  }
  tvmgo_spin_unlock(&d->lock);
  free(fresh);
  return s;
}

/* Records the pool's event after all work of the stream, and so after `freed` returns. The caller has set
 * s->marking. */
static int record(pool* d, pool_stream* s, TVMFFIStreamHandle handle, uint64_t freed) {
  if (!TVMGODeviceAPIHas(d->api, event_create)) return 0;
  if (s->event == NULL && d->api->event_create(d->api, d->dev, &s->event) != 0) s->event = NULL;
  if (s->event != NULL && d->api->event_record(d->api, s->event, handle) == 0) {
    s->marked = freed;
    return 1;
  }
  tvmgo_object_release(tvmgo_error_take());
  return 0;
}

/* Queries how far the stream has come; calls the driver. */
static void ask(pool* d, pool_stream* s) {
  if (!TVMGODeviceAPIHas(d->api, event_create) || !try_lock(&s->marking)) return;
  tvmgo_spin_lock(&d->lock);
  uint64_t freed = s->freed;
  int pending = s->marked > s->done, closed = s->closed;
  TVMFFIStreamHandle handle = s->handle;
  tvmgo_spin_unlock(&d->lock);
  int32_t reached = 0;
  if (!pending && !closed) pending = record(d, s, handle, freed);
  if (pending && d->api->event_query(d->api, s->event, &reached) != 0) {
    tvmgo_object_release(tvmgo_error_take()); /* a wait for the stream reports the error */
    reached = 0;
  }
  if (reached) {
    tvmgo_spin_lock(&d->lock);
    if (s->marked > s->done) s->done = s->marked;
    tvmgo_spin_unlock(&d->lock);
  }
  tvmgo_spin_unlock(&s->marking);
}

/* ---- back to the device ---- */

static int give_to_device(pool* d, pool_block* list, int64_t* bytes) {
  TVMFFIObject* error = NULL;
  for (pool_block* next; list != NULL; list = next) {
    next = list->next;
    *bytes += (int64_t)list->size;
    if (d->api->free_data_space(d->api, d->dev, list->address) != 0) {
      tvmgo_object_release(error);
      error = tvmgo_error_take();
    }
    free(list);
  }
  if (error == NULL) return 0;
  tvmgo_thread_get()->error = error;
  return -1;
}

static int64_t shrink(pool* d, int64_t keep) {
  int64_t bytes = 0;
  tvmgo_slots_flush(d->dev);
  tvmgo_spin_lock(&d->lock);
  pool_block* list = detach(d, NULL, keep);
  tvmgo_spin_unlock(&d->lock);
  if (give_to_device(d, list, &bytes) != 0) tvmgo_object_release(tvmgo_error_take());
  return bytes;
}

int64_t tvmgo_pool_age(int64_t ages, int64_t* freed) {
  *freed = tvmgo_slots_age(ages);
  int64_t idle = tvmgo_slots_idle();
  for (int type = 0; type < TVMGO_MAX_DEVICE_TYPE; type++)
    for (pool* d = atomic_load_explicit(&pools[type], memory_order_acquire); d != NULL; d = d->next) {
      int64_t bytes = 0;
      tvmgo_spin_lock(&d->lock);
      pool_block* list = detach_old(d, d->age - ages + 1);
      d->age++;
      idle += d->stats.held - d->stats.in_use;
      tvmgo_spin_unlock(&d->lock);
      if (give_to_device(d, list, &bytes) != 0) tvmgo_object_release(tvmgo_error_take());
      if (type == kDLCPU) *freed += bytes;
    }
  return idle;
}

int64_t tvmgo_pool_idle(void) {
  int64_t idle = tvmgo_slots_idle();
  for (int type = 0; type < TVMGO_MAX_DEVICE_TYPE; type++)
    for (pool* d = atomic_load_explicit(&pools[type], memory_order_acquire); d != NULL; d = d->next) {
      tvmgo_spin_lock(&d->lock);
      idle += d->stats.held - d->stats.in_use;
      tvmgo_spin_unlock(&d->lock);
    }
  return idle;
}

/* Counts a request of the device, or fails if it exceeds the limit, also without idle memory. */
static int within_limit(pool* d, size_t size, size_t nbytes) {
  for (int round = 0;; round++) {
    tvmgo_spin_lock(&d->lock);
    int64_t limit = d->stats.limit, in_use = d->stats.in_use, sum = d->stats.held + d->asked + (int64_t)size;
    int ok = limit == 0 || sum <= limit;
    if (ok) d->asked += (int64_t)size;
    tvmgo_spin_unlock(&d->lock);
    if (ok) return 0;
    if (round == 1 || shrink(d, 0) == 0)
      return tvmgo_raise(TVMGO_MEMORY_ERROR, "allocate workspace of %zu bytes: it exceeds the memory limit of %s:%d: "
          "%lld of %lld bytes are in use: raise the limit, or release results first", nbytes,
                         tvmgo_device_type_name(d->dev.device_type), (int)d->dev.device_id, (long long)in_use,
                         (long long)limit);
  }
}

static void end_request(pool* d, size_t size) {
  if (d == NULL) return;
  tvmgo_spin_lock(&d->lock);
  d->asked -= (int64_t)size;
  tvmgo_spin_unlock(&d->lock);
}

/* ---- requests ---- */

/* A block of another stream that is no longer in use. */
static pool_block* steal(pool* d, unsigned class, pool_stream* into) {
  for (pool_stream* s = atomic_load_explicit(&d->streams, memory_order_acquire); s != NULL; s = s->next) {
    if (s == into) continue;
    for (int round = 0; round < 2; round++) {
      tvmgo_spin_lock(&d->lock);
      pool_block** at = &s->idle[class];
      int any = *at != NULL;
      while (*at != NULL && (*at)->freed > s->done) at = &(*at)->next;
      pool_block* b = *at;
      if (b != NULL) {
        *at = b->next;
        s->blocks--;
        b->stream = into;
        into->blocks++;
        d->stats.hits++;
        lend(d, b);
      }
      tvmgo_spin_unlock(&d->lock);
      if (b != NULL) return b;
      if (!any) break;
      if (round == 0) ask(d, s);
    }
  }
  return NULL;
}

static __attribute__((noinline)) int alloc_slow(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes,
                                                TVMFFIStreamHandle stream, void** out) {
  static const DLDataType bytes = {kDLUInt, 8, 1};
  if (nbytes > TVMGO_WORKSPACE_LARGEST)
    return tvmgo_raise(TVMGO_MEMORY_ERROR, "allocate workspace of %zu bytes: no machine has as much", nbytes);
  unsigned class = tvmgo_workspace_class(nbytes);
  size_t size = tvmgo_workspace_class_size(class);
  pool* d = find_pool(dev);
  pool_stream* s = NULL;
  if (d != NULL) {
    if ((s = get_stream(d, stream)) == NULL) return -1;
    pool_block* b = steal(d, class, s);
    if (b != NULL) {
      *out = b->address;
      return 0;
    }
    tvmgo_spin_lock(&d->lock);
    int64_t live = d->stats.in_use + (int64_t)size, idle = d->stats.held - d->stats.in_use;
    int64_t limit = tvmgo_workspace_idle_limit(live, d->window_peak, d->last_peak);
    tvmgo_spin_unlock(&d->lock);
    if (idle > limit) shrink(d, limit);
    if (within_limit(d, size, nbytes) != 0) return -1;
  }
  pool* counted = d;
  void* p = NULL;
  int rc = api->alloc_data_space(api, dev, size, 64, bytes, &p);
  if (rc != 0 && d != NULL && shrink(d, 0) > 0) { /* idle memory may be enough for the request */
    tvmgo_object_release(tvmgo_error_take());
    rc = api->alloc_data_space(api, dev, size, 64, bytes, &p);
  }
  if (rc != 0) {
    end_request(counted, size);
    return tvmgo_raise_context("allocate workspace of %zu bytes", nbytes);
  }
  pool_block* b = calloc(1, sizeof *b);
  if (b == NULL) tvmgo_raise_oom();
  if (b != NULL && d == NULL) d = make_pool(api, dev);
  if (b != NULL && d != NULL && s == NULL) s = get_stream(d, stream);
  if (s == NULL || b == NULL) {
    TVMFFIObject* error = tvmgo_error_take();
    if (api->free_data_space(api, dev, p) != 0) tvmgo_object_release(tvmgo_error_take());
    tvmgo_thread_get()->error = error;
    free(b);
    end_request(counted, size);
    return -1;
  }
  *b = (pool_block){.address = p, .size = size, .stream = s, .class = class};
  tvmgo_spin_lock(&d->lock);
  add_block(d, b);
  if (counted != NULL) d->asked -= (int64_t)size;
  d->stats.misses++;
  lend(d, b);
  tvmgo_spin_unlock(&d->lock);
  *out = p;
  return 0;
}

int tvmgo_pool_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, TVMFFIStreamHandle stream, void** out) {
  *out = NULL;
  pool* d = find_pool(dev);
  if (TVMGO_LIKELY(d != NULL && nbytes <= TVMGO_WORKSPACE_LARGEST)) {
    unsigned class = tvmgo_workspace_class(nbytes);
    tvmgo_spin_lock(&d->lock);
    pool_stream* s = find_stream(d, stream);
    pool_block* b = s != NULL ? s->idle[class] : NULL;
    if (TVMGO_LIKELY(b != NULL)) {
      s->idle[class] = b->next;
      d->stats.hits++;
      lend(d, b);
      *out = b->address;
    }
    tvmgo_spin_unlock(&d->lock);
    if (TVMGO_LIKELY(b != NULL)) return 0;
  }
  return alloc_slow(api, dev, nbytes, stream, out);
}

int tvmgo_pool_has(DLDevice dev, const void* p) {
  pool* d = find_pool(dev);
  if (TVMGO_LIKELY(d == NULL)) return 0;
  tvmgo_spin_lock(&d->lock);
  int has = find_block(d, p) != NULL;
  tvmgo_spin_unlock(&d->lock);
  return has;
}

static int raise_foreign(DLDevice dev, void* p, int idle) {
  const char* name = tvmgo_device_type_name(dev.device_type);
  if (idle)
    return tvmgo_raise(TVMGO_VALUE_ERROR,
                       "free workspace: %p of %s:%d was given back before: free each workspace once", p,
                       name, (int)dev.device_id);
  return tvmgo_raise(TVMGO_VALUE_ERROR, "free workspace: %p is not a workspace of %s:%d", p, name, (int)dev.device_id);
}

int tvmgo_pool_free(DLDevice dev, void* p, TVMFFIStreamHandle on) {
  pool* d = find_pool(dev);
  if (TVMGO_UNLIKELY(d == NULL)) return raise_foreign(dev, p, 0);
  int64_t keep = -1, bytes = 0;
  tvmgo_spin_lock(&d->lock);
  pool_block* b = find_block(d, p);
  if (TVMGO_UNLIKELY(b == NULL || b->idle)) {
    tvmgo_spin_unlock(&d->lock);
    return raise_foreign(dev, p, b != NULL);
  }
  pool_stream* s = b->stream;
  d->stats.in_use -= (int64_t)b->size;
  if (TVMGO_UNLIKELY(s->closed || s->handle != on)) {
    drop_block(d, b);
    tvmgo_spin_unlock(&d->lock);
    b->next = NULL;
    return give_to_device(d, b, &bytes);
  }
  b->idle = 1;
  b->freed = ++s->freed;
  b->returned = d->age;
  b->next = s->idle[b->class];
  s->idle[b->class] = b;
  if (TVMGO_UNLIKELY(--d->countdown == 0)) {
    d->countdown = TVMGO_WORKSPACE_WINDOW;
    keep = tvmgo_workspace_idle_limit(d->stats.in_use, d->window_peak, d->last_peak);
    if (d->stats.held - d->stats.in_use <= keep) keep = -1;
    d->last_peak = d->window_peak;
    d->window_peak = d->stats.in_use;
  }
  tvmgo_spin_unlock(&d->lock);
  if (TVMGO_UNLIKELY(keep >= 0)) shrink(d, keep);
  tvmgo_idle_noted();
  return 0;
}

/* ---- what happens to streams ---- */

void tvmgo_pool_stream_gone(DLDevice dev, TVMFFIStreamHandle stream) {
  pool* d = stream == NULL ? NULL : find_pool(dev);
  if (d == NULL) return;
  tvmgo_spin_lock(&d->lock);
  pool_stream* s = find_stream(d, stream);
  uint64_t freed = s != NULL ? s->freed : 0;
  tvmgo_spin_unlock(&d->lock);
  if (s == NULL) return;
  tvmgo_spin_lock(&s->marking); /* no thread queries the stream any more */
  int marked = s->done == freed || record(d, s, stream, freed);
  pool_block* list = NULL;
  int64_t bytes = 0;
  tvmgo_spin_lock(&d->lock);
  s->closed = 1;
  pool_stream** at = handle_bucket(d, stream);
  while (*at != s) at = &(*at)->chain;
  *at = s->chain;
  if (!marked) list = detach(d, s, 0);
  tvmgo_spin_unlock(&d->lock);
  tvmgo_spin_unlock(&s->marking);
  if (give_to_device(d, list, &bytes) != 0) tvmgo_object_release(tvmgo_error_take());
}

tvmgo_pool_mark tvmgo_pool_before_sync(DLDevice dev, TVMFFIStreamHandle stream) {
  tvmgo_pool_mark mark = {NULL, 0};
  pool* d = find_pool(dev);
  if (d == NULL) return mark;
  tvmgo_spin_lock(&d->lock);
  pool_stream* s = find_stream(d, stream);
  if (s != NULL) mark = (tvmgo_pool_mark){s, s->freed};
  tvmgo_spin_unlock(&d->lock);
  return mark;
}

void tvmgo_pool_after_sync(DLDevice dev, tvmgo_pool_mark mark) {
  pool_stream* s = mark.stream;
  if (s == NULL) return;
  pool* d = find_pool(dev);
  tvmgo_spin_lock(&d->lock);
  if (mark.freed > s->done) s->done = mark.freed;
  tvmgo_spin_unlock(&d->lock);
}

/* ---- statistics ---- */

/* If nothing is idle, the progress of a stream does not matter. */
static void free_events(pool* d) {
  for (pool_stream* s = atomic_load_explicit(&d->streams, memory_order_acquire); s != NULL; s = s->next) {
    if (!try_lock(&s->marking)) continue;
    void* event = s->event;
    s->event = NULL;
    tvmgo_spin_lock(&d->lock);
    s->marked = s->done;
    tvmgo_spin_unlock(&d->lock);
    if (event != NULL && d->api->event_free(d->api, event) != 0)
      tvmgo_object_release(tvmgo_error_take());
    tvmgo_spin_unlock(&s->marking);
  }
}

int tvmgo_pool_trim(DLDevice dev, int64_t* freed) {
  *freed = 0;
  pool* d = find_pool(dev);
  if (d == NULL) return 0;
  tvmgo_slots_flush(dev);
  tvmgo_spin_lock(&d->lock);
  pool_block* list = detach(d, NULL, 0);
  tvmgo_spin_unlock(&d->lock);
  free_events(d);
  return give_to_device(d, list, freed);
}

int tvmgo_pool_trim_all(int64_t* freed) {
  int64_t some;
  int rc = 0;
  *freed = 0;
  for (int type = 0; type < TVMGO_MAX_DEVICE_TYPE; type++)
    for (pool* d = atomic_load_explicit(&pools[type], memory_order_acquire); d != NULL; d = d->next) {
      if (tvmgo_pool_trim(d->dev, &some) != 0) rc = -1;
      *freed += some;
      if (type == kDLCPU) tvmgo_idle_freed(some);
    }
  return rc;
}

int tvmgo_pool_set_limit(const TVMGODeviceAPI* api, DLDevice dev, int64_t bytes, int64_t* old) {
  pool* d = find_pool(dev);
  if (d == NULL) d = make_pool(api, dev);
  if (d == NULL) return -1;
  tvmgo_spin_lock(&d->lock);
  *old = d->stats.limit;
  d->stats.limit = bytes;
  int64_t excess = bytes > 0 ? d->stats.held - bytes : 0, idle = d->stats.held - d->stats.in_use;
  tvmgo_spin_unlock(&d->lock);
  if (excess > 0) shrink(d, idle > excess ? idle - excess : 0);
  return 0;
}

void tvmgo_pool_stats(DLDevice dev, tvmgo_workspace_stats* out) {
  *out = (tvmgo_workspace_stats){0};
  pool* d = find_pool(dev);
  if (d == NULL) return;
  tvmgo_spin_lock(&d->lock);
  *out = d->stats;
  tvmgo_spin_unlock(&d->lock);
  tvmgo_slots_stats(dev, out);
}
