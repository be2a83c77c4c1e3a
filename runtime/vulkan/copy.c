/* Copies (docs/abi.md E.4). A copy from host memory has read all bytes when the call returns. A copy to host memory is
 * complete when the call returns. A copy within a device is only enqueued. */
#include <string.h>

#include "stream.h"

/* The source or destination of a copy. */
typedef struct {
  vk_device* d;
  vk_memory* m;
  size_t offset;
} copy_side;

static int side_of(const DLTensor* t, size_t nbytes, const char* what, copy_side* out) {
  vk_device* d = tvmgo_vk_device(t->device.device_id);
  vk_handle* h = d == NULL ? NULL : tvmgo_vk_handle_need(t->data, HANDLE_BUFFER, what);
  if (h == NULL) return -1;
  if (h->device != d->index)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: the memory is on vulkan:%d, but the array's device is vulkan:%d", what,
                       (int)h->device, (int)d->index);
  *out = (copy_side){d, h->memory, t->byte_offset};
  if (out->offset > h->nbytes || nbytes > h->nbytes - out->offset)
    return tvmgo_raise(TVMGO_VALUE_ERROR, "%s: %zu bytes at offset %zu exceed the allocation of %zu bytes", what,
                       nbytes, out->offset, h->nbytes);
  return 0;
}

/* Enqueues a copy between two buffers. *number, unless NULL, is the number of its batch. */
static int queue_copy(vk_stream* s, vk_memory* from, VkDeviceSize at, vk_memory* to, VkDeviceSize into, VkDeviceSize n,
                      uint64_t* number) {
  if (tvmgo_vk_stream_begin(s) != 0) return -1;
  if (tvmgo_vk_use_memory(s, from, at, n, USE_READ) != 0 || tvmgo_vk_use_memory(s, to, into, n, USE_WRITE) != 0)
    return tvmgo_vk_cancel(s);
  VkBufferCopy part = {at, into, n};
  s->d->f.vkCmdCopyBuffer(s->open->commands, from->buffer, to->buffer, 1, &part);
  if (number != NULL) *number = tvmgo_vk_number(s);
  return tvmgo_vk_end(s);
}

static int copy_and_wait(vk_stream* s, vk_memory* from, VkDeviceSize at, vk_memory* to, VkDeviceSize into,
                         VkDeviceSize n) {
  uint64_t number;
  return queue_copy(s, from, at, to, into, n, &number) != 0 ? -1 : tvmgo_vk_wait(s, number);
}

/* Whether the host copies the data with memcpy: device and host share the memory, and the host caches it. */
static int host_accessible(const copy_side* p) {
  VkPhysicalDeviceType kind = p->d->properties.deviceType;
  return p->m->at != NULL && p->m->coherent && p->m->cached && !p->d->staged &&
         (kind == VK_PHYSICAL_DEVICE_TYPE_CPU || kind == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
}

/* ---- from the host ---- */

static void give_upload(void* m) { tvmgo_vk_staging_give(m, MEMORY_UPLOAD); }

/* Begins recording, with at least n free bytes of staging memory at s->used. 0, or -1 with an error raised. */
static int begin_upload(vk_stream* s, size_t n) {
  vk_memory* fresh = NULL;
  for (;;) {
    if (tvmgo_vk_stream_begin(s) != 0) break;
    if (s->upload != NULL && s->used + n <= s->upload->size) {
      if (fresh != NULL) tvmgo_vk_staging_give(fresh, MEMORY_UPLOAD);
      return 0;
    }
    if (fresh != NULL) { /* the full staging memory is returned when its copies are done */
      if (s->upload != NULL && tvmgo_vk_keep(s, give_upload, s->upload) != 0) {
        tvmgo_vk_cancel(s);
        break;
      }
      s->upload = fresh;
      s->used = 0;
      return 0;
    }
    tvmgo_vk_cancel(s);
    fresh = tvmgo_vk_staging_take(s->d, MEMORY_UPLOAD);
    if (fresh == NULL) return -1;
  }
  if (fresh != NULL) tvmgo_vk_staging_give(fresh, MEMORY_UPLOAD);
  return -1;
}

static int upload_part(vk_stream* s, const void* from, copy_side to, size_t n) {
  if (begin_upload(s, n) != 0) return -1;
  vk_memory* up = s->upload;
  VkDeviceSize at = s->used;
  memcpy(up->at + at, from, n);
  s->used = (at + n + 15) / 16 * 16;
  VkBufferCopy part = {at, to.offset, n};
  if (tvmgo_vk_memory_written(up, at, n) != 0 || tvmgo_vk_use_memory(s, up, at, n, USE_READ) != 0 ||
      tvmgo_vk_use_memory(s, to.m, to.offset, n, USE_WRITE) != 0)
    return tvmgo_vk_cancel(s);
  s->d->f.vkCmdCopyBuffer(s->open->commands, up->buffer, to.m->buffer, 1, &part);
  s->open->num_bytes += n;
  return tvmgo_vk_end(s);
}

static int from_host(vk_stream* s, const char* from, copy_side to, size_t n) {
  VkDeviceSize at;
  vk_memory* pinned = tvmgo_vk_pinned_of(s->d, from, n, &at);
  if (pinned != NULL) {
    int rc = tvmgo_vk_memory_written(pinned, at, n);
    if (rc == 0) rc = copy_and_wait(s, pinned, at, to.m, to.offset, n);
    tvmgo_vk_memory_drop(pinned);
    return rc;
  }
  if (host_accessible(&to) && atomic_load(&to.m->refs) > 1) tvmgo_vk_collect(s->d);
  /* With one reference, no enqueued command uses the memory. */
  if (host_accessible(&to) && atomic_load(&to.m->refs) == 1 && !atomic_load(&s->d->lost)) {
    memcpy(to.m->at + to.offset, from, n);
    return 0;
  }
  for (size_t done = 0; done < n;) {
    size_t part = n - done < STAGING ? n - done : STAGING;
    if (upload_part(s, from + done, to, part) != 0) return -1;
    done += part;
    to.offset += part;
  }
  return 0;
}

/* ---- to the host ---- */

/* Consumes n bytes that were copied from the device. `done` is their offset in the whole copy. */
typedef int (*chunk_consumer)(void* to, const char* bytes, size_t done, size_t n);

/* A chunk that the device copies to staging memory. */
typedef struct {
  vk_memory* m;
  uint64_t number;
  size_t n;
} chunk;

enum { CHUNKS = 2, MIN_CHUNK = 1 << 20 };

/* The size of the chunks of a copy. The device copies one chunk while the host consumes another. A small copy has a
 * single chunk. */
static size_t chunk_size(size_t n) {
  size_t part = n / (2 * CHUNKS);
  if (part < MIN_CHUNK) part = MIN_CHUNK;
  return part < STAGING ? part : STAGING;
}

/* Submits the copy of a chunk to staging memory. */
static int start(vk_stream* s, const copy_side* from, size_t done, chunk* p) {
  if (p->m == NULL) p->m = tvmgo_vk_staging_take(s->d, MEMORY_DOWNLOAD);
  if (p->m == NULL || queue_copy(s, from->m, from->offset + done, p->m, 0, p->n, &p->number) != 0) return -1;
  return tvmgo_vk_stream_flush(s, p->number);
}

/* Waits for a chunk and consumes it. */
static int finish(vk_stream* s, chunk* p, size_t done, chunk_consumer consume, void* to) {
  if (tvmgo_vk_wait(s, p->number) != 0 || tvmgo_vk_memory_seen(p->m, 0, p->n) != 0) return -1;
  return consume(to, p->m->at, done, p->n);
}

static int in_chunks(vk_stream* s, const copy_side* from, size_t n, chunk_consumer consume, void* to) {
  chunk list[CHUNKS] = {{0}};
  size_t part = chunk_size(n), started = 0, done = 0;
  int rc = tvmgo_vk_stream_check(s);
  for (unsigned first = 0, in_flight = 0; rc == 0 && done < n;) {
    if (in_flight < CHUNKS && started < n) {
      chunk* p = &list[(first + in_flight) % CHUNKS];
      p->n = n - started < part ? n - started : part;
      rc = start(s, from, started, p);
      started += p->n;
      in_flight++;
    } else {
      chunk* p = &list[first];
      rc = finish(s, p, done, consume, to);
      done += p->n;
      first = (first + 1) % CHUNKS;
      in_flight--;
    }
  }
  for (int i = 0; i < CHUNKS; i++) { /* after an error the device may still write to it, so it is not reused */
    if (list[i].m != NULL && rc == 0) tvmgo_vk_staging_give(list[i].m, MEMORY_DOWNLOAD);
    else if (list[i].m != NULL) tvmgo_vk_memory_drop(list[i].m);
  }
  return rc;
}

static int to_memory(void* to, const char* bytes, size_t done, size_t n) {
  memcpy((char*)to + done, bytes, n);
  return 0;
}

static int to_host(vk_stream* s, copy_side from, char* to, size_t n) {
  VkDeviceSize at;
  if (host_accessible(&from)) {
    if (tvmgo_vk_stream_wait(s) != 0) return -1;
    memcpy(to, from.m->at + from.offset, n);
    return 0;
  }
  vk_memory* pinned = tvmgo_vk_pinned_of(s->d, to, n, &at);
  if (pinned != NULL) {
    int rc = tvmgo_vk_stream_check(s);
    if (rc == 0) rc = copy_and_wait(s, from.m, from.offset, pinned, at, n);
    if (rc == 0) rc = tvmgo_vk_memory_seen(pinned, at, n);
    tvmgo_vk_memory_drop(pinned);
    return rc;
  }
  return in_chunks(s, &from, n, to_memory, to);
}

/* ---- between arrays ---- */

/* Copies between overlapping parts of a buffer, through a temporary buffer. */
static int within(vk_stream* s, copy_side from, copy_side to, size_t n) {
  if (from.m != to.m || from.offset >= to.offset + n || to.offset >= from.offset + n)
    return queue_copy(s, from.m, from.offset, to.m, to.offset, n, NULL);
  if (from.offset == to.offset) return 0;
  vk_memory* between = tvmgo_vk_memory_new(s->d, n, MEMORY_DATA);
  if (between == NULL) return -1;
  int rc = queue_copy(s, from.m, from.offset, between, 0, n, NULL);
  if (rc == 0) rc = queue_copy(s, between, 0, to.m, to.offset, n, NULL);
  tvmgo_vk_memory_release(between);
  return rc;
}

/* The destination of a copy between two devices. */
typedef struct {
  vk_stream* s;
  copy_side at;
} far_end;

static int to_device(void* to, const char* bytes, size_t done, size_t n) {
  const far_end* end = to;
  return from_host(end->s, bytes, (copy_side){end->at.d, end->at.m, end->at.offset + done}, n);
}

/* Copies between two devices, through host memory. The stream belongs to one device; the other device uses its default
 * stream. */
static int across(copy_side from, copy_side to, size_t n, TVMFFIStreamHandle stream) {
  const vk_handle* h = stream;
  int at_source = h == NULL || tvmgo_vk_handle_kind(h) != HANDLE_STREAM || h->device == from.d->index;
  vk_stream* out = tvmgo_vk_stream(from.d, at_source ? stream : NULL);
  vk_stream* in = out == NULL ? NULL : tvmgo_vk_stream(to.d, h != NULL && at_source ? NULL : stream);
  if (in == NULL) return -1;
  far_end end = {in, to};
  int rc;
  if (host_accessible(&from)) {
    rc = tvmgo_vk_stream_wait(out);
    if (rc == 0) rc = to_device(&end, from.m->at + from.offset, 0, n);
  } else {
    rc = in_chunks(out, &from, n, to_device, &end);
  }
  /* A wait for the source's stream must also wait for the copy, so the copy is complete here. */
  return rc == 0 && at_source ? tvmgo_vk_stream_wait(in) : rc;
}

int tvmgo_vk_copy(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle stream) {
  size_t n;
  copy_side a = {0}, b = {0};
  if (tvmgo_dl_bytes(from, &n) != 0) return -1;
  int from_here = from->device.device_type == kDLVulkan, to_here = to->device.device_type == kDLVulkan;
  if (from_here && side_of(from, n, "copy: source", &a) != 0) return -1;
  if (to_here && side_of(to, n, "copy: destination", &b) != 0) return -1;
  if (from_here && to_here && a.d != b.d) return n == 0 ? 0 : across(a, b, n, stream);
  vk_stream* s = tvmgo_vk_stream(from_here ? a.d : b.d, stream);
  if (s == NULL) return -1;
  if (n == 0) return 0;
  if (from_here && to_here) return within(s, a, b, n);
  return from_here ? to_host(s, a, (char*)to->data + to->byte_offset, n)
                   : from_host(s, (const char*)from->data + from->byte_offset, b, n);
}
