/* Streams. A stream's commands run in order. They are recorded into batches; a timeline semaphore says which batches
 * are done. Several streams may share a queue: a batch waits only for batches that were submitted before it, so that it
 * never blocks the queue. */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- creating and freeing ---- */

vk_stream* tvmgo_vk_stream_new(vk_device* d) {
  vk_stream* s = calloc(1, sizeof *s);
  if (s == NULL) {
    tvmgo_raise_oom();
    return NULL;
  }
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  VkResult rc = d->f.vkCreateSemaphore(d->handle, &info, NULL, &s->timeline);
  if (rc != VK_SUCCESS) {
    free(s);
    tvmgo_vk_failed(d, rc, "create a stream of vulkan:%d", (int)d->index);
    return NULL;
  }
  s->d = d;
  atomic_init(&s->refs, 1);
  pthread_mutex_init(&s->lock, NULL);
  s->queue = atomic_fetch_add(&d->next_queue, 1) % d->num_queues;
  pthread_mutex_lock(&d->lock);
  static _Atomic uint64_t last_id;
  vk_stream** link = &d->all_streams;
  while (*link != NULL) link = &(*link)->next;
  s->id = atomic_fetch_add(&last_id, 1) + 1; /* the list is sorted by id */
  *link = s;
  pthread_mutex_unlock(&d->lock);
  tvmgo_vk_name(d, VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)(uintptr_t)s->timeline, "stream %llu",
                (unsigned long long)s->id);
  return s;
}

void tvmgo_vk_stream_keep(vk_stream* s) { atomic_fetch_add(&s->refs, 1); }

void tvmgo_vk_stream_drop(vk_stream* s) {
  if (atomic_fetch_sub(&s->refs, 1) != 1) return;
  vk_device* d = s->d;
  pthread_mutex_lock(&d->lock);
  vk_stream** link = &d->all_streams;
  while (*link != s) link = &(*link)->next;
  *link = s->next;
  pthread_mutex_unlock(&d->lock);
  /* The owner of the last reference has waited for the stream's work, unless the device is lost. */
  if (atomic_load(&d->lost) && s->first != NULL && !tvmgo_vk_lost_is_idle(d)) return; /* the device may still use it */
  tvmgo_vk_free_batches(s);
  if (s->upload != NULL) tvmgo_vk_staging_give(s->upload, MEMORY_UPLOAD);
  d->f.vkDestroySemaphore(d->handle, s->timeline, NULL);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

vk_stream* tvmgo_vk_stream(vk_device* d, TVMFFIStreamHandle stream) {
  if (stream == NULL) return d->stream;
  vk_handle* h = tvmgo_vk_handle_need(stream, HANDLE_STREAM, "stream");
  if (h == NULL) return NULL;
  if (TVMGO_LIKELY(h->device == d->index)) return h->stream;
  tvmgo_raise(TVMGO_VALUE_ERROR, "stream: %p belongs to vulkan:%d, but the operation is on vulkan:%d", stream,
              (int)h->device, (int)d->index);
  return NULL;
}

/* ---- waiting ---- */

int tvmgo_vk_is_done(vk_stream* s, uint64_t number) {
  if (number <= atomic_load(&s->done)) return 1;
  if (number > atomic_load(&s->submitted)) return 0;
  tvmgo_vk_poll(s);
  return number <= atomic_load(&s->done);
}

/* Raises the error that work could not be submitted; always -1. The caller holds the lock. */
static int raise_lost(vk_stream* s, const char* what) {
  return tvmgo_vk_raise(s->lost_code, "vulkan:%d: %s could not be submitted, and is lost: queue it again",
                        (int)s->d->index, what);
}

int tvmgo_vk_stream_flush(vk_stream* s, uint64_t number) {
  if (tvmgo_vk_stream_lost(s)) return -1;
  pthread_mutex_lock(&s->lock);
  int rc = s->open != NULL && s->open->number == number ? tvmgo_vk_submit(s, 0) : 0;
  if (rc == 0 && (tvmgo_vk_is_lost(s, number) || number > atomic_load(&s->submitted)))
    rc = raise_lost(s, "the awaited work");
  pthread_mutex_unlock(&s->lock);
  return rc;
}

/* Raises an error if commands of earlier calls are lost and no error has reported it yet. The caller holds the lock. 0,
 * or -1 with an error raised. */
static int report_lost(vk_stream* s) {
  char what[64];
  if (TVMGO_LIKELY(s->unreported == 0)) return 0;
  snprintf(what, sizeof what, "earlier work (%llu commands)", (unsigned long long)s->unreported);
  s->unreported = 0;
  return raise_lost(s, what);
}

int tvmgo_vk_stream_check(vk_stream* s) {
  pthread_mutex_lock(&s->lock);
  int rc = report_lost(s);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

uint64_t tvmgo_vk_stream_current(vk_stream* s) {
  pthread_mutex_lock(&s->lock);
  const vk_batch* b = s->open;
  uint64_t number = b != NULL && (b->num_commands > 0 || b->waits.num > 0) ? b->number : atomic_load(&s->submitted);
  pthread_mutex_unlock(&s->lock);
  return number;
}

int tvmgo_vk_wait(vk_stream* s, uint64_t number) {
  if (number == 0) return tvmgo_vk_stream_lost(s) ? -1 : 0;
  if (tvmgo_vk_stream_flush(s, number) != 0) goto failed;
  VkResult code = number > atomic_load(&s->done) ? tvmgo_vk_block(s, number) : VK_SUCCESS;
  if (code != VK_SUCCESS) {
    tvmgo_vk_stream_failed(s, code, "wait for work");
    goto failed;
  }
  pthread_mutex_lock(&s->lock);
  tvmgo_vk_retire(s);
  pthread_mutex_unlock(&s->lock);
  return 0;
failed:
  pthread_mutex_lock(&s->lock);
  tvmgo_vk_retire(s); /* retires all batches if the device is lost */
  pthread_mutex_unlock(&s->lock);
  return -1;
}

int tvmgo_vk_stream_submit(vk_stream* s, uint64_t* number) {
  pthread_mutex_lock(&s->lock);
  int rc = tvmgo_vk_submit(s, 0);
  if (rc == 0 && tvmgo_vk_stream_lost(s)) {
    tvmgo_vk_retire(s); /* retires all batches */
    rc = -1;
  }
  if (rc == 0) rc = report_lost(s);
  else s->unreported = 0;
  *number = atomic_load(&s->submitted);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int tvmgo_vk_stream_wait(vk_stream* s) {
  uint64_t number;
  if (tvmgo_vk_stream_is_idle(s)) return 0;
  return tvmgo_vk_stream_submit(s, &number) != 0 ? -1 : tvmgo_vk_wait(s, number);
}

int tvmgo_vk_stream_after(vk_stream* s, vk_stream* other, uint64_t number) {
  if (s == other || number == 0 || tvmgo_vk_is_done(other, number)) return tvmgo_vk_stream_lost(s) ? -1 : 0;
  if (tvmgo_vk_stream_begin(s) != 0) return -1;
  /* Commands that are already recorded need not wait. */
  int rc = s->open->num_commands > 0 ? tvmgo_vk_submit(s, 1) : 0;
  VkResult code = rc == 0 && s->open == NULL ? tvmgo_vk_open_batch(s) : VK_SUCCESS;
  if (code != VK_SUCCESS) rc = tvmgo_vk_stream_failed(s, code, "order streams");
  if (rc == 0) rc = tvmgo_vk_add_wait(s, other, number);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

/* The first stream of a device whose id is larger than id, with a new reference; NULL if there is none. */
static vk_stream* after(vk_device* d, uint64_t id) {
  vk_stream* found = NULL;
  pthread_mutex_lock(&d->lock);
  for (vk_stream* s = d->all_streams; s != NULL && found == NULL; s = s->next) {
    int32_t refs = atomic_load(&s->refs);
    if (s->id <= id) continue;
    while (refs > 0 && !atomic_compare_exchange_weak(&s->refs, &refs, refs + 1)) {
    }
    if (refs > 0) found = s;
  }
  pthread_mutex_unlock(&d->lock);
  return found;
}

void tvmgo_vk_drain(vk_device* d) {
  uint64_t id = 0;
  for (vk_stream* s; (s = after(d, id)) != NULL;) {
    id = s->id;
    pthread_mutex_lock(&s->lock);
    int rc = tvmgo_vk_submit(s, 1); /* an error is reported when the owner waits */
    uint64_t number = atomic_load(&s->submitted);
    pthread_mutex_unlock(&s->lock);
    if (rc != 0 || tvmgo_vk_wait(s, number) != 0) tvmgo_object_release(tvmgo_error_take());
    tvmgo_vk_stream_drop(s);
  }
}

void tvmgo_vk_collect(vk_device* d) {
  uint64_t id = 0;
  for (vk_stream* s; (s = after(d, id)) != NULL;) {
    id = s->id;
    if (pthread_mutex_trylock(&s->lock) == 0) {
      if (s->first != NULL) tvmgo_vk_poll(s);
      tvmgo_vk_retire(s);
      pthread_mutex_unlock(&s->lock);
    }
    tvmgo_vk_stream_drop(s);
  }
}

/* ---- the table's functions ---- */

int tvmgo_vk_stream_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_stream* s = d == NULL ? NULL : tvmgo_vk_stream(d, stream);
  return s == NULL ? -1 : tvmgo_vk_stream_wait(s);
}

int tvmgo_vk_stream_create(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  /* Streams on one queue would not run concurrently, so all of them are the default stream. */
  if (d != NULL && d->num_queues == 1 && !d->staged) {
    *out = NULL;
    return 0;
  }
  vk_handle* h = d == NULL ? NULL : tvmgo_vk_handle_new(HANDLE_STREAM, d->index);
  if (h == NULL) return -1;
  h->stream = tvmgo_vk_stream_new(d);
  if (h->stream == NULL) {
    tvmgo_vk_handle_free(h);
    return -1;
  }
  *out = h;
  return 0;
}

int tvmgo_vk_stream_free(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_handle* h = d == NULL ? NULL : tvmgo_vk_handle_need(stream, HANDLE_STREAM, "free stream");
  if (h == NULL || tvmgo_vk_stream(d, stream) == NULL) return -1;
  vk_stream* s = h->stream;
  int rc = tvmgo_vk_stream_wait(s);
  tvmgo_vk_handle_free(h);
  tvmgo_vk_stream_drop(s);
  return atomic_load(&d->lost) ? 0 : rc; /* a lost device has nothing to wait for */
}

int tvmgo_vk_stream_set(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  return d == NULL || tvmgo_vk_stream(d, stream) == NULL ? -1 : 0;
}

int tvmgo_vk_stream_order(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_stream* from = d == NULL ? NULL : tvmgo_vk_stream(d, src);
  vk_stream* to = from == NULL ? NULL : tvmgo_vk_stream(d, dst);
  uint64_t number;
  if (to == NULL) return -1;
  if (from == to) return 0;
  return tvmgo_vk_stream_submit(from, &number) != 0 ? -1 : tvmgo_vk_stream_after(to, from, number);
}
