/* Batches: commands of a stream that are recorded into one command buffer, submitted together and waited for together.
 * A batch keeps the objects that its commands use until it is done. */
#include "stream.h"

#include <stdlib.h>

/* A batch is submitted when it reaches one of these limits, so that the device begins early and staging memory becomes
 * free. IDLE_COMMANDS applies if no batch is in flight. */
enum { MAX_COMMANDS = 128, IDLE_COMMANDS = 16, MAX_BYTES = STAGING };
/* If more than this is in flight, recording waits for the oldest batch. */
enum { MAX_BATCHES = 32, MAX_BYTES_IN_FLIGHT = 64 << 20 };

int tvmgo_vk_stream_failed(vk_stream* s, VkResult rc, const char* op) {
  return tvmgo_vk_failed(s->d, rc, "%s on vulkan:%d", op, (int)s->d->index);
}

int tvmgo_vk_stream_lost(const vk_stream* s) {
  if (TVMGO_LIKELY(!atomic_load_explicit(&s->d->lost, memory_order_relaxed))) return 0;
  tvmgo_vk_raise(VK_ERROR_DEVICE_LOST, "vulkan:%d", (int)s->d->index);
  return 1;
}

/* ---- creating, freeing and retiring batches ---- */

static void drop_waits(vk_waits* w) {
  for (size_t i = 0; i < w->num; i++) tvmgo_vk_stream_drop(w->list[i].stream);
  w->num = 0;
}

static void drop_kept(vk_batch* b) {
  for (size_t i = 0; i < b->num_kept; i++) b->kept[i].drop(b->kept[i].object);
  b->num_kept = 0;
  drop_waits(&b->waits);
}

static void batch_free(vk_device* d, vk_batch* b) {
  if (b == NULL) return;
  drop_kept(b);
  if (b->pool != NULL) d->f.vkDestroyCommandPool(d->handle, b->pool, NULL);
  free(b->kept);
  free(b->waits.list);
  free(b);
}

static void free_list(vk_device* d, vk_batch* b) {
  while (b != NULL) {
    vk_batch* next = b->next;
    batch_free(d, b);
    b = next;
  }
}

void tvmgo_vk_free_batches(vk_stream* s) {
  batch_free(s->d, s->open);
  free_list(s->d, s->first);
  free_list(s->d, s->spare);
  drop_waits(&s->pending_waits);
  free(s->pending_waits.list);
  free(s->lost);
}

VkResult tvmgo_vk_poll(vk_stream* s) {
  uint64_t value = 0;
  VkResult rc = s->d->f.vkGetSemaphoreCounterValue(s->d->handle, s->timeline, &value);
  if (rc == VK_ERROR_DEVICE_LOST) atomic_store(&s->d->lost, 1);
  uint64_t have = atomic_load(&s->done);
  while (rc == VK_SUCCESS && value > have && !atomic_compare_exchange_weak(&s->done, &have, value)) {
  }
  return rc;
}

void tvmgo_vk_retire(vk_stream* s) {
  uint64_t done = atomic_load(&s->done);
  int lost = atomic_load(&s->d->lost);
  while (s->first != NULL && (s->first->number <= done || (lost && tvmgo_vk_lost_is_idle(s->d)))) {
    vk_batch* b = s->first;
    s->first = b->next;
    if (s->first == NULL) s->last = NULL;
    s->num_in_flight--;
    s->bytes_in_flight -= b->num_bytes;
    drop_kept(b);
    b->next = s->spare;
    s->spare = b;
  }
  if (s->first == NULL && s->open == NULL) s->used = 0;
}

/* ---- submission ---- */

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

VkResult tvmgo_vk_open_batch(vk_stream* s) {
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
  if (s->pending_waits.num > 0) {
    vk_waits empty = b->waits;
    b->waits = s->pending_waits;
    s->pending_waits = empty;
  }
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
  VkSemaphore semaphores[b->waits.num + 1];
  uint64_t values[b->waits.num + 1];
  VkPipelineStageFlags stages[b->waits.num + 1];
  for (size_t i = 0; i < b->waits.num; i++) {
    semaphores[i] = b->waits.list[i].stream->timeline;
    values[i] = b->waits.list[i].value;
    stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  }
  VkTimelineSemaphoreSubmitInfo numbers = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                           .waitSemaphoreValueCount = (uint32_t)b->waits.num,
                                           .pWaitSemaphoreValues = values,
                                           .signalSemaphoreValueCount = 1,
                                           .pSignalSemaphoreValues = &b->number};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = &numbers,
                       .waitSemaphoreCount = (uint32_t)b->waits.num,
                       .pWaitSemaphores = semaphores,
                       .pWaitDstStageMask = stages,
                       .commandBufferCount = 1,
                       .pCommandBuffers = &b->commands,
                       .signalSemaphoreCount = 1,
                       .pSignalSemaphores = &s->timeline};
  pthread_mutex_lock(&d->queue_locks[s->queue]);
  VkResult rc = atomic_load(&d->lost) ? VK_ERROR_DEVICE_LOST : d->f.vkQueueSubmit(d->queues[s->queue], 1, &info, NULL);
  pthread_mutex_unlock(&d->queue_locks[s->queue]);
  return rc;
}

/* Records that a batch could not be submitted. -1 if out of memory; then the last range is extended, so that it may
 * also contain batches that were submitted. */
static int store_lost(vk_stream* s, const vk_batch* b) {
  size_t n = s->num_lost;
  if (n > 0 && s->lost[n - 1].to + 1 == b->number) {
    s->lost[n - 1].to = b->number;
    return 0;
  }
  if (n == s->cap_lost) {
    size_t cap = n == 0 ? 4 : 2 * n;
    vk_lost* more = realloc(s->lost, cap * sizeof *more);
    if (more == NULL) {
      if (n > 0) s->lost[n - 1].to = b->number;
      return -1;
    }
    s->lost = more;
    s->cap_lost = cap;
  }
  s->lost[n] = (vk_lost){b->number, b->number};
  atomic_store(&s->num_lost, n + 1);
  return 0;
}

int tvmgo_vk_is_lost(const vk_stream* s, uint64_t number) {
  size_t n = atomic_load(&s->num_lost);
  while (n > 0 && s->lost[n - 1].from > number) n--;
  return n > 0 && number <= s->lost[n - 1].to;
}

/* Handles a batch that could not be submitted: its commands will never run. */
static void lose(vk_stream* s, vk_batch* b, VkResult rc, int implied) {
  store_lost(s, b);
  s->lost_code = rc;
  if (implied && b->num_commands > 1) s->unreported += b->num_commands; /* a single command's own call reports it */
  s->hazards.unknown = 1; /* the batch's barriers do not take effect */
  if (b->waits.num > 0) { /* the next batch must wait instead; pending_waits is empty, because this batch took them */
    vk_waits empty = s->pending_waits;
    s->pending_waits = b->waits;
    b->waits = empty;
  }
  /* Earlier batches may use the objects that it keeps, so they are dropped when those batches are done. */
  b->num_bytes = 0;
  if (s->last != NULL || rc == VK_ERROR_DEVICE_LOST) { /* a lost device may have begun to execute it */
    if (rc != VK_ERROR_DEVICE_LOST) b->number = s->last->number;
    if (s->last != NULL) s->last->next = b;
    else s->first = b;
    s->last = b;
    s->num_in_flight++;
  } else {
    drop_kept(b);
    b->next = s->spare;
    s->spare = b;
  }
}

int tvmgo_vk_submit(vk_stream* s, int implied) {
  vk_batch* b = s->open;
  if (b == NULL) return 0;
  if (b->to_host) barrier(s, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  s->open = NULL;
  VkResult rc = s->d->f.vkEndCommandBuffer(b->commands);
  if (rc == VK_SUCCESS) rc = queue_submit(s, b);
  if (rc != VK_SUCCESS) {
    unsigned num = b->num_commands;
    lose(s, b, rc, implied);
    tvmgo_vk_failed(s->d, rc, "submit work on vulkan:%d: %u commands that were queued are lost", (int)s->d->index, num);
    tvmgo_vk_retire(s); /* retires all batches if the device is lost */
    return -1;
  }
  atomic_store(&s->submitted, b->number);
  s->num_in_flight++;
  s->bytes_in_flight += b->num_bytes;
  if (s->last != NULL) s->last->next = b;
  else s->first = b;
  s->last = b;
  return 0;
}

/* ---- recording ---- */

VkResult tvmgo_vk_block(vk_stream* s, uint64_t number) {
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &s->timeline,
                              .pValues = &number};
  VkResult rc = s->d->f.vkWaitSemaphores(s->d->handle, &info, UINT64_MAX);
  uint64_t have = atomic_load(&s->done);
  while (rc == VK_SUCCESS && number > have && !atomic_compare_exchange_weak(&s->done, &have, number)) {
  }
  return rc;
}

/* Opens a batch when the batches in flight are within the limits. The caller holds the lock, which is released during
 * the wait for the oldest batch. That batch completes without further submissions, because a batch waits only for
 * batches that were submitted before it. */
static VkResult open_within_limits(vk_stream* s) {
  while (s->open == NULL) {
    VkResult rc = s->first != NULL ? tvmgo_vk_poll(s) : VK_SUCCESS;
    tvmgo_vk_retire(s);
    if (rc != VK_SUCCESS) return rc;
    if (s->num_in_flight < MAX_BATCHES && s->bytes_in_flight < MAX_BYTES_IN_FLIGHT) return tvmgo_vk_open_batch(s);
    uint64_t oldest = s->first->number;
    pthread_mutex_unlock(&s->lock);
    rc = tvmgo_vk_block(s, oldest);
    pthread_mutex_lock(&s->lock);
    if (rc != VK_SUCCESS) return rc;
  }
  return VK_SUCCESS;
}

int tvmgo_vk_stream_begin(vk_stream* s) {
  if (tvmgo_vk_stream_lost(s)) return -1;
  pthread_mutex_lock(&s->lock);
  VkResult rc = open_within_limits(s);
  if (rc == VK_SUCCESS) return 0;
  if (rc == VK_ERROR_DEVICE_LOST) {
    atomic_store(&s->d->lost, 1);
    tvmgo_vk_retire(s);
  }
  pthread_mutex_unlock(&s->lock);
  return tvmgo_vk_stream_failed(s, rc, "record work");
}

int tvmgo_vk_add_wait(vk_stream* s, vk_stream* other, uint64_t number) {
  vk_waits* w = &s->open->waits;
  for (size_t i = 0; i < w->num; i++)
    if (w->list[i].stream == other) {
      if (w->list[i].value < number) w->list[i].value = number;
      return 0;
    }
  if (w->num == w->cap) {
    size_t cap = w->cap == 0 ? 4 : 2 * w->cap;
    vk_wait* more = realloc(w->list, cap * sizeof *more);
    if (more == NULL) return tvmgo_raise_oom();
    w->list = more;
    w->cap = cap;
  }
  tvmgo_vk_stream_keep(other);
  w->list[w->num++] = (vk_wait){other, number};
  return 0;
}

VkCommandBuffer tvmgo_vk_begin(vk_device* d, TVMFFIStreamHandle stream, vk_stream** s) {
  *s = tvmgo_vk_stream(d, stream);
  return *s == NULL || tvmgo_vk_stream_begin(*s) != 0 ? NULL : (*s)->open->commands;
}

int tvmgo_vk_keep(vk_stream* s, void (*drop)(void*), void* object) {
  vk_batch* b = s->open;
  if (b->num_kept == b->cap_kept) {
    size_t cap = b->cap_kept == 0 ? 32 : 2 * b->cap_kept;
    vk_kept* more = realloc(b->kept, cap * sizeof *more);
    if (more == NULL) return tvmgo_raise_oom();
    b->kept = more;
    b->cap_kept = cap;
  }
  b->kept[b->num_kept++] = (vk_kept){drop, object};
  return 0;
}

static void drop_memory(void* m) { tvmgo_vk_memory_drop(m); }

int tvmgo_vk_use_memory(vk_stream* s, vk_memory* m, VkDeviceSize offset, VkDeviceSize size, int access) {
  /* One reference per batch is enough. Two streams that use the memory alternately hold more, which is harmless. */
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
  if (tvmgo_vk_hazard(&s->hazards, m, offset, offset + size, access))
    barrier(s, DEVICE_STAGES, DEVICE_READS | DEVICE_WRITES);
  return 0;
}

int tvmgo_vk_use(vk_stream* s, const void* handle, size_t offset, size_t size, int access, VkBuffer* buffer) {
  vk_handle* h = tvmgo_vk_data(s->d, handle, "memory of a command");
  if (h == NULL) return -1;
  if (size == (size_t)-1 && offset <= h->nbytes) size = h->nbytes - offset;
  if (offset > h->nbytes || size > h->nbytes - offset)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%zu bytes at offset %zu exceed the allocation of %zu bytes at %p", size,
                       offset, h->nbytes, handle);
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
  int large = b->num_commands >= MAX_COMMANDS || b->num_bytes >= MAX_BYTES;
  int rc = large || (s->first == NULL && b->num_commands >= IDLE_COMMANDS) ? tvmgo_vk_submit(s, 1) : 0;
  pthread_mutex_unlock(&s->lock);
  return rc;
}

int tvmgo_vk_cancel(vk_stream* s) {
  tvmgo_vk_hazard_next(&s->hazards);
  pthread_mutex_unlock(&s->lock);
  return -1;
}
