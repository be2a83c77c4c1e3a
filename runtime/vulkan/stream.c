/* Streams: commands of one after the other, recorded into batches, with a timeline semaphore that tells which are done. Several
 * streams may share a queue: a batch waits only for batches that were submitted before it, so that none blocks the queue. */
#include "stream.h"

#include <stdlib.h>


/* A batch is submitted when it has so much, so that the device begins early and staging memory comes back. */
enum { MOST_COMMANDS = 128, IDLE_COMMANDS = 16, MOST_BYTES = 16 << 20 };

static int fail(vk_stream* s, VkResult rc, const char* op) {
  return tvmgo_vk_failed(s->d, rc, "%s on vulkan:%d", op, (int)s->d->index);
}

static int is_lost(const vk_stream* s) {
  if (TVMGO_LIKELY(!atomic_load_explicit(&s->d->lost, memory_order_relaxed))) return 0;
  tvmgo_vk_raise(VK_ERROR_DEVICE_LOST, "vulkan:%d", (int)s->d->index);
  return 1;
}

/* ---- life ---- */

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
  s->id = atomic_fetch_add(&last_id, 1) + 1; /* those after it in the list are younger */
  *link = s;
  pthread_mutex_unlock(&d->lock);
  tvmgo_vk_name(d, VK_OBJECT_TYPE_SEMAPHORE, (uint64_t)(uintptr_t)s->timeline, "stream %llu", (unsigned long long)s->id);
  return s;
}

void tvmgo_vk_stream_keep(vk_stream* s) { atomic_fetch_add(&s->refs, 1); }

static void batch_free(vk_device* d, vk_batch* b) {
  if (b == NULL) return;
  if (b->pool != NULL) d->f.vkDestroyCommandPool(d->handle, b->pool, NULL);
  free(b->kept);
  free(b->waits);
  free(b);
}

static void drop_kept(vk_batch* b) {
  for (size_t i = 0; i < b->num_kept; i++) b->kept[i].drop(b->kept[i].object);
  b->num_kept = 0;
}

void tvmgo_vk_stream_drop(vk_stream* s) {
  if (atomic_fetch_sub(&s->refs, 1) != 1) return;
  vk_device* d = s->d;
  pthread_mutex_lock(&d->lock);
  vk_stream** link = &d->all_streams;
  while (*link != s) link = &(*link)->next;
  *link = s->next;
  pthread_mutex_unlock(&d->lock);
  /* Whoever had the stream waited for its work, or the device is lost. */
  if (s->open != NULL) drop_kept(s->open);
  batch_free(d, s->open);
  for (vk_batch* b = s->first; b != NULL;) {
    vk_batch* next = b->next;
    drop_kept(b);
    batch_free(d, b);
    b = next;
  }
  while (s->spare != NULL) {
    vk_batch* next = s->spare->next;
    batch_free(d, s->spare);
    s->spare = next;
  }
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
  tvmgo_raise(TVMGO_VALUE_ERROR, "stream: %p is one of vulkan:%d, the work is on vulkan:%d", stream, (int)h->device,
              (int)d->index);
  return NULL;
}

/* ---- batches ---- */

/* Notes what is done by now. */
static VkResult poll(vk_stream* s) {
  uint64_t value = 0;
  VkResult rc = s->d->f.vkGetSemaphoreCounterValue(s->d->handle, s->timeline, &value);
  if (rc == VK_ERROR_DEVICE_LOST) atomic_store(&s->d->lost, 1);
  uint64_t have = atomic_load(&s->done);
  while (rc == VK_SUCCESS && value > have && !atomic_compare_exchange_weak(&s->done, &have, value)) {
  }
  return rc;
}

/* Drops what batches that are done had kept. Under the lock. */
static void retire(vk_stream* s) {
  uint64_t done = atomic_load(&s->done);
  int lost = atomic_load(&s->d->lost);
  while (s->first != NULL && (s->first->number <= done || lost)) {
    vk_batch* b = s->first;
    s->first = b->next;
    if (s->first == NULL) s->last = NULL;
    drop_kept(b);
    b->next = s->spare;
    s->spare = b;
  }
  if (s->first == NULL && s->open == NULL) s->used = 0;
}

static VkResult batch_new(vk_stream* s, vk_batch** out) {
  vk_device* d = s->d;
  vk_batch* b = calloc(1, sizeof *b);
  if (b == NULL) return VK_ERROR_OUT_OF_HOST_MEMORY;
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
                                  .queueFamilyIndex = d->family};
  VkResult rc = d->f.vkCreateCommandPool(d->handle, &pool, NULL, &b->pool);
  if (rc == VK_SUCCESS) {
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = b->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    rc = d->f.vkAllocateCommandBuffers(d->handle, &info, &b->commands);
  }
  if (rc != VK_SUCCESS) batch_free(d, b);
  else *out = b;
  return rc;
}

/* Opens a batch to record in. Under the lock. */
static VkResult open_batch(vk_stream* s) {
  vk_batch* b = s->spare;
  VkResult rc = VK_SUCCESS;
  if (b != NULL) {
    rc = s->d->f.vkResetCommandPool(s->d->handle, b->pool, 0);
    if (rc == VK_SUCCESS) s->spare = b->next;
  } else {
    rc = batch_new(s, &b);
  }
  if (rc != VK_SUCCESS) return rc;
  b->next = NULL;
  b->num_commands = 0;
  b->num_bytes = 0;
  b->to_host = 0;
  b->num_waits = 0;
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                   .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  rc = s->d->f.vkBeginCommandBuffer(b->commands, &info);
  if (rc != VK_SUCCESS) {
    b->next = s->spare;
    s->spare = b;
    return rc;
  }
  static _Atomic uint64_t last_serial;
  b->number = ++s->last_number;
  b->serial = atomic_fetch_add(&last_serial, 1) + 1;
  s->open = b;
  return VK_SUCCESS;
}

enum {
  DEVICE_STAGES = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
  DEVICE_WRITES = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
  DEVICE_READS = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_UNIFORM_READ_BIT,
};

static void barrier(vk_stream* s, VkPipelineStageFlags to, VkAccessFlags access) {
  VkMemoryBarrier all = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = DEVICE_WRITES, .dstAccessMask = access};
  s->d->f.vkCmdPipelineBarrier(s->open->commands, DEVICE_STAGES, to, 0, 1, &all, 0, NULL, 0, NULL);
}

static VkResult queue_submit(vk_stream* s, vk_batch* b) {
  vk_device* d = s->d;
  VkSemaphore semaphores[b->num_waits + 1];
  uint64_t values[b->num_waits + 1];
  VkPipelineStageFlags stages[b->num_waits + 1];
  for (size_t i = 0; i < b->num_waits; i++) {
    semaphores[i] = b->waits[i].semaphore;
    values[i] = b->waits[i].value;
    stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  }
  VkTimelineSemaphoreSubmitInfo numbers = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                           .waitSemaphoreValueCount = (uint32_t)b->num_waits,
                                           .pWaitSemaphoreValues = values,
                                           .signalSemaphoreValueCount = 1,
                                           .pSignalSemaphoreValues = &b->number};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &numbers,
                       .waitSemaphoreCount = (uint32_t)b->num_waits,
                       .pWaitSemaphores = semaphores,
                       .pWaitDstStageMask = stages,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &b->commands,
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &s->timeline};
  pthread_mutex_lock(&d->queue_locks[s->queue]);
  VkResult rc = d->f.vkQueueSubmit(d->queues[s->queue], 1, &info, NULL);
  pthread_mutex_unlock(&d->queue_locks[s->queue]);
  return rc;
}

int tvmgo_vk_submit(vk_stream* s) {
  vk_batch* b = s->open;
  if (b == NULL) return 0;
  if (b->to_host) barrier(s, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  s->open = NULL;
  VkResult rc = s->d->f.vkEndCommandBuffer(b->commands);
  if (rc == VK_SUCCESS) rc = atomic_load(&s->d->lost) ? VK_ERROR_DEVICE_LOST : queue_submit(s, b);
  if (rc != VK_SUCCESS) { /* what was recorded is not done, and never will be */
    drop_kept(b);
    b->next = s->spare;
    s->spare = b;
    s->failed = b->number;
    s->hazards.unknown = 1; /* nor are its barriers there */
    return fail(s, rc, "submit work");
  }
  atomic_store(&s->submitted, b->number);
  if (s->last != NULL) s->last->next = b;
  else s->first = b;
  s->last = b;
  return 0;
}

/* ---- recording ---- */

int tvmgo_vk_stream_begin(vk_stream* s) {
  if (is_lost(s)) return -1;
  pthread_mutex_lock(&s->lock);
  VkResult rc = VK_SUCCESS;
  if (s->open == NULL) {
    if (s->first != NULL) rc = poll(s);
    retire(s);
    if (rc == VK_SUCCESS) rc = open_batch(s);
  }
  if (rc == VK_SUCCESS) return 0;
  pthread_mutex_unlock(&s->lock);
  return fail(s, rc, "record work");
}

VkCommandBuffer tvmgo_vk_begin(vk_device* d, TVMFFIStreamHandle stream, vk_stream** s) {
  *s = tvmgo_vk_stream(d, stream);
  return *s == NULL || tvmgo_vk_stream_begin(*s) != 0 ? NULL : (*s)->open->commands;
}

int tvmgo_vk_keep(vk_stream* s, void (*drop)(void*), void* object) {
  vk_batch* b = s->open;
  if (b->num_kept == b->room_kept) {
    size_t room = b->room_kept == 0 ? 32 : 2 * b->room_kept;
    vk_kept* more = realloc(b->kept, room * sizeof *more);
    if (more == NULL) return tvmgo_raise_oom();
    b->kept = more;
    b->room_kept = room;
  }
  b->kept[b->num_kept++] = (vk_kept){drop, object};
  return 0;
}

static void drop_memory(void* m) { tvmgo_vk_memory_drop(m); }

int tvmgo_vk_use_memory(vk_stream* s, vk_memory* m, VkDeviceSize offset, VkDeviceSize size, int access) {
  /* One reference a batch is enough; two streams that take turns hold more, which does no harm. */
  if (atomic_load(&m->last_batch) != s->open->serial) {
    tvmgo_vk_memory_keep(m);
    if (tvmgo_vk_keep(s, drop_memory, m) != 0) {
      tvmgo_vk_memory_drop(m);
      return -1;
    }
    atomic_store(&m->last_batch, s->open->serial);
  }
  if (size > m->size - offset) size = m->size - offset;
  if (access & USE_WRITE && m->at != NULL) s->open->to_host = 1;
  if (tvmgo_vk_hazard(&s->hazards, m, offset, offset + size, access)) barrier(s, DEVICE_STAGES, DEVICE_READS | DEVICE_WRITES);
  return 0;
}

int tvmgo_vk_use(vk_stream* s, const void* handle, size_t offset, size_t size, int access, VkBuffer* buffer) {
  vk_handle* h = tvmgo_vk_data(s->d, handle, "memory of a command");
  if (h == NULL) return -1;
  if (size == (size_t)-1 && offset <= h->nbytes) size = h->nbytes - offset;
  if (offset > h->nbytes || size > h->nbytes - offset)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%zu bytes from %zu on are beyond the %zu that were allocated at %p", size, offset,
                       h->nbytes, handle);
  if (tvmgo_vk_use_memory(s, h->memory, offset, size, access) != 0) return -1;
  if (buffer != NULL) *buffer = h->memory->buffer;
  return 0;
}

void tvmgo_vk_next(vk_stream* s) {
  tvmgo_vk_hazard_next(&s->hazards);
  s->open->num_commands++;
}

uint64_t tvmgo_vk_number(const vk_stream* s) { return s->open->number; }

int tvmgo_vk_end(vk_stream* s) {
  tvmgo_vk_next(s);
  vk_batch* b = s->open;
  int large = b->num_commands >= MOST_COMMANDS || b->num_bytes >= MOST_BYTES;
  int rc = large || (s->first == NULL && b->num_commands >= IDLE_COMMANDS) ? tvmgo_vk_submit(s) : 0;
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int tvmgo_vk_cancel(vk_stream* s) {
  tvmgo_vk_hazard_next(&s->hazards);
  pthread_mutex_unlock(&s->lock);
  return -1;
}

/* ---- waiting ---- */

int tvmgo_vk_is_done(vk_stream* s, uint64_t number) {
  if (number <= atomic_load(&s->done)) return 1;
  if (number > atomic_load(&s->submitted)) return 0;
  poll(s);
  return number <= atomic_load(&s->done);
}

int tvmgo_vk_stream_flush(vk_stream* s, uint64_t number) {
  if (is_lost(s)) return -1;
  pthread_mutex_lock(&s->lock);
  int rc = s->open != NULL && s->open->number == number ? tvmgo_vk_submit(s) : 0;
  if (rc == 0 && number > 0 && (number > atomic_load(&s->submitted) || number == s->failed))
    rc = tvmgo_raise(TVMGO_RUNTIME_ERROR, "vulkan:%d: the work could not be submitted", (int)s->d->index);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

uint64_t tvmgo_vk_stream_current(vk_stream* s) {
  pthread_mutex_lock(&s->lock);
  const vk_batch* b = s->open;
  uint64_t number = b != NULL && (b->num_commands > 0 || b->num_waits > 0) ? b->number : atomic_load(&s->submitted);
  pthread_mutex_unlock(&s->lock);
  return number;
}

int tvmgo_vk_wait(vk_stream* s, uint64_t number) {
  if (number == 0) return is_lost(s) ? -1 : 0;
  if (tvmgo_vk_stream_flush(s, number) != 0) goto failed;
  if (number > atomic_load(&s->done)) {
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &s->timeline,
                                .pValues = &number};
    VkResult code = s->d->f.vkWaitSemaphores(s->d->handle, &info, UINT64_MAX);
    if (code != VK_SUCCESS) {
      fail(s, code, "wait for work");
      goto failed;
    }
    uint64_t have = atomic_load(&s->done);
    while (number > have && !atomic_compare_exchange_weak(&s->done, &have, number)) {
    }
  }
  pthread_mutex_lock(&s->lock);
  retire(s);
  pthread_mutex_unlock(&s->lock);
  return 0;
failed:
  pthread_mutex_lock(&s->lock);
  retire(s); /* all of it, when the device is lost */
  pthread_mutex_unlock(&s->lock);
  return -1;
}

int tvmgo_vk_stream_mark(vk_stream* s, uint64_t* number) {
  if (is_lost(s)) return -1;
  pthread_mutex_lock(&s->lock);
  int rc = tvmgo_vk_submit(s);
  *number = atomic_load(&s->submitted);
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int tvmgo_vk_stream_wait(vk_stream* s) {
  uint64_t number;
  return tvmgo_vk_stream_mark(s, &number) != 0 ? -1 : tvmgo_vk_wait(s, number);
}

static void drop_stream(void* s) { tvmgo_vk_stream_drop(s); }

int tvmgo_vk_stream_after(vk_stream* s, vk_stream* other, uint64_t number) {
  if (s == other || number == 0 || tvmgo_vk_is_done(other, number)) return is_lost(s) ? -1 : 0;
  if (tvmgo_vk_stream_begin(s) != 0) return -1;
  /* What is recorded already need not wait. */
  int rc = s->open->num_commands > 0 ? tvmgo_vk_submit(s) : 0;
  VkResult code = rc == 0 && s->open == NULL ? open_batch(s) : VK_SUCCESS;
  if (code != VK_SUCCESS) rc = fail(s, code, "order streams");
  vk_batch* b = s->open;
  if (rc == 0 && b->num_waits == b->room_waits) {
    size_t room = b->room_waits == 0 ? 4 : 2 * b->room_waits;
    vk_wait* more = realloc(b->waits, room * sizeof *more);
    if (more == NULL) rc = tvmgo_raise_oom();
    else b->waits = more, b->room_waits = room;
  }
  if (rc == 0) {
    tvmgo_vk_stream_keep(other);
    rc = tvmgo_vk_keep(s, drop_stream, other);
    if (rc != 0) atomic_fetch_sub(&other->refs, 1); /* the caller has one */
    else b->waits[b->num_waits++] = (vk_wait){other->timeline, number};
  }
  pthread_mutex_unlock(&s->lock);
  return rc;
}

/* The first stream of a device with an id beyond one, with a reference. */
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

int tvmgo_vk_drain(vk_device* d) {
  int rc = 0;
  uint64_t id = 0;
  for (vk_stream* s; (s = after(d, id)) != NULL;) {
    id = s->id;
    if (tvmgo_vk_stream_wait(s) != 0) rc = -1;
    tvmgo_vk_stream_drop(s);
  }
  return rc;
}

void tvmgo_vk_collect(vk_device* d) {
  uint64_t id = 0;
  for (vk_stream* s; (s = after(d, id)) != NULL;) {
    id = s->id;
    if (pthread_mutex_trylock(&s->lock) == 0) {
      if (s->first != NULL) poll(s);
      retire(s);
      pthread_mutex_unlock(&s->lock);
    }
    tvmgo_vk_stream_drop(s);
  }
}

/* ---- the table's functions ---- */

int tvmgo_vk_stream_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  (void)api;
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_stream* s = d == NULL ? NULL : tvmgo_vk_stream(d, stream);
  return s == NULL ? -1 : tvmgo_vk_stream_wait(s);
}

int tvmgo_vk_stream_create(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle* out) {
  (void)api;
  vk_device* d = tvmgo_vk_device(dev.device_id);
  if (d != NULL && d->num_queues == 1 && !d->staged) { /* they would only take turns */
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
  (void)api;
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_handle* h = d == NULL ? NULL : tvmgo_vk_handle_need(stream, HANDLE_STREAM, "free stream");
  if (h == NULL || tvmgo_vk_stream(d, stream) == NULL) return -1;
  vk_stream* s = h->stream;
  int rc = tvmgo_vk_stream_wait(s);
  tvmgo_vk_handle_free(h);
  tvmgo_vk_stream_drop(s);
  return atomic_load(&d->lost) ? 0 : rc; /* of a lost device there is nothing to wait for */
}

int tvmgo_vk_stream_set(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  (void)api;
  vk_device* d = tvmgo_vk_device(dev.device_id);
  return d == NULL || tvmgo_vk_stream(d, stream) == NULL ? -1 : 0;
}

int tvmgo_vk_stream_order(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle src, TVMFFIStreamHandle dst) {
  (void)api;
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_stream* from = d == NULL ? NULL : tvmgo_vk_stream(d, src);
  vk_stream* to = from == NULL ? NULL : tvmgo_vk_stream(d, dst);
  uint64_t number;
  if (to == NULL) return -1;
  if (from == to) return 0;
  return tvmgo_vk_stream_mark(from, &number) != 0 ? -1 : tvmgo_vk_stream_after(to, from, number);
}
