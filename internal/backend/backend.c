/* Code that all device packages share. */
#include "backend.h"

#include <stdio.h>

int tvmgo_no_device(DLDevice dev, int32_t count, const char* advice) {
  const char* type = tvmgo_device_type_name(dev.device_type);
  return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR, "there is no device %s:%d: this machine has %d, from %s:0 to %s:%d%s",
                     type, (int)dev.device_id, (int)count, type, type, (int)count - 1, advice);
}

void tvmgo_memory_count(tvmgo_memory_counter* c, int64_t bytes) {
  int64_t now = atomic_fetch_add(&c->bytes, bytes) + bytes;
  atomic_fetch_add(&c->count, bytes < 0 ? -1 : 1);
  int64_t peak = atomic_load(&c->peak);
  while (now > peak && !atomic_compare_exchange_weak(&c->peak, &peak, now)) {
  }
}

int tvmgo_memory_report(const tvmgo_memory_counter* c, int64_t total, int64_t free_bytes, int64_t pinned,
                        TVMGOMemoryStats* out) {
  const TVMGOMemoryStats s = {
      .struct_size = out->struct_size,
      .total_bytes = total,
      .free_bytes = free_bytes,
      .data_bytes = atomic_load(&c->bytes),
      .data_peak_bytes = atomic_load(&c->peak),
      .data_count = atomic_load(&c->count),
      .pinned_bytes = pinned,
  };
  memcpy(out, &s, out->struct_size < sizeof s ? out->struct_size : sizeof s);
  return 0;
}

void tvmgo_pinned_add(tvmgo_pinned_list* list, tvmgo_pinned* p) {
  pthread_mutex_lock(&list->lock);
  p->next = list->first;
  list->first = p;
  pthread_mutex_unlock(&list->lock);
}

tvmgo_pinned* tvmgo_pinned_take(tvmgo_pinned_list* list, DLDevice dev, const void* at) {
  pthread_mutex_lock(&list->lock);
  tvmgo_pinned** link = &list->first;
  while (*link != NULL && ((*link)->at != at || (*link)->device != dev.device_id)) link = &(*link)->next;
  tvmgo_pinned* p = *link;
  if (p != NULL) *link = p->next;
  pthread_mutex_unlock(&list->lock);
  if (p == NULL)
    tvmgo_raise(TVMGO_VALUE_ERROR, "free page-locked memory: %p was not allocated by %s:%d, or already freed", at,
                tvmgo_device_type_name(dev.device_type), (int)dev.device_id);
  return p;
}

const char* tvmgo_uuid_text(const void* bytes, char* buf, size_t cap) {
  const unsigned char* b = bytes;
  size_t n = (size_t)snprintf(buf, cap, "GPU");
  for (int i = 0; i < 16 && n < cap; i++) {
    int group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    n += (size_t)snprintf(buf + n, cap - n, "%s%02x", group ? "-" : "", b[i]);
  }
  return buf;
}
