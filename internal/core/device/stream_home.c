#include "device/device.h"
#include "device/stream_home.h"

#include <sched.h>
#include <stdlib.h>

struct tvmgo_stream_home {
  tvmgo_stream_home* next;
  DLDevice dev;
  TVMFFIStreamHandle stream;
  int64_t refs; /* under the lock */
  int gone;     /* under the lock, then in no list */
  int inside;   /* calls between enter and leave; under the lock */
};

static tvmgo_spin lock;
static tvmgo_stream_home* homes; /* of streams that are there */

static int is_of(const tvmgo_stream_home* h, DLDevice dev, TVMFFIStreamHandle stream) {
  return h->stream == stream && h->dev.device_type == dev.device_type && h->dev.device_id == dev.device_id;
}

tvmgo_stream_home* tvmgo_stream_home_get(DLDevice dev, TVMFFIStreamHandle stream) {
  tvmgo_stream_home* fresh = calloc(1, sizeof *fresh); /* before the lock; most streams have one already */
  if (fresh == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  *fresh = (tvmgo_stream_home){.dev = dev, .stream = stream, .refs = 1};
  tvmgo_spin_lock(&lock);
  tvmgo_stream_home* h = homes;
  while (h != NULL && !is_of(h, dev, stream)) h = h->next;
  if (h != NULL) {
    h->refs++;
  } else {
    fresh->next = homes;
    homes = fresh;
  }
  tvmgo_spin_unlock(&lock);
  if (h == NULL) return fresh;
  free(fresh);
  return h;
}

/* Under the lock. */
static void take_off_list(tvmgo_stream_home* h) {
  tvmgo_stream_home** at = &homes;
  while (*at != h) at = &(*at)->next;
  *at = h->next;
}

void tvmgo_stream_home_put(tvmgo_stream_home* h) {
  if (h == NULL) return;
  tvmgo_spin_lock(&lock);
  int last = --h->refs == 0;
  if (last && !h->gone) take_off_list(h);
  tvmgo_spin_unlock(&lock);
  if (last) free(h);
}

int tvmgo_stream_home_enter(tvmgo_stream_home* h) {
  tvmgo_spin_lock(&lock);
  int there = !h->gone;
  h->inside += there;
  tvmgo_spin_unlock(&lock);
  return there;
}

void tvmgo_stream_home_leave(tvmgo_stream_home* h) {
  tvmgo_spin_lock(&lock);
  h->inside--;
  tvmgo_spin_unlock(&lock);
}

void tvmgo_stream_home_gone(DLDevice dev, TVMFFIStreamHandle stream) {
  tvmgo_spin_lock(&lock);
  tvmgo_stream_home* h = homes;
  while (h != NULL && !is_of(h, dev, stream)) h = h->next;
  if (h != NULL) {
    take_off_list(h);
    h->gone = 1;
    h->refs++; /* ours, while we wait */
  }
  int busy = h != NULL && h->inside > 0;
  tvmgo_spin_unlock(&lock);
  while (busy) { /* those calls do not block */
    sched_yield();
    tvmgo_spin_lock(&lock);
    busy = h->inside > 0;
    tvmgo_spin_unlock(&lock);
  }
  tvmgo_stream_home_put(h);
}
