/* Events and timers. An event is a stream and the number of a batch. Recording an event submits nothing; the batch is
 * submitted when the event is queried or waited for. */
#include "stream.h"

static int event_or_timer_new(DLDevice dev, handle_kind kind, void** out) {
  vk_device* d = tvmgo_vk_device(dev.device_id);
  vk_handle* h = d == NULL ? NULL : tvmgo_vk_handle_new(kind, d->index);
  if (h == NULL) return -1;
  if (kind == HANDLE_TIMER) {
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 2};
    VkResult rc = d->f.vkCreateQueryPool(d->handle, &info, NULL, &h->pool);
    if (rc != VK_SUCCESS) {
      tvmgo_vk_handle_free(h);
      return tvmgo_vk_failed(d, rc, "create a timer of vulkan:%d", dev.device_id);
    }
    tvmgo_vk_name(d, VK_OBJECT_TYPE_QUERY_POOL, (uint64_t)(uintptr_t)h->pool, "timer");
  }
  pthread_mutex_init(&h->lock, NULL);
  *out = h;
  return 0;
}

int tvmgo_vk_event_create(const TVMGODeviceAPI* api, DLDevice dev, void** event) {
  return event_or_timer_new(dev, HANDLE_EVENT, event);
}

int tvmgo_vk_timer_create(const TVMGODeviceAPI* api, DLDevice dev, void** timer) {
  return event_or_timer_new(dev, HANDLE_TIMER, timer);
}

static void set_recorded(vk_handle* h, vk_stream* s, uint64_t value) {
  tvmgo_vk_stream_keep(s);
  pthread_mutex_lock(&h->lock);
  vk_stream* old = h->recorded_on;
  h->recorded_on = s;
  h->value = value;
  pthread_mutex_unlock(&h->lock);
  if (old != NULL) tvmgo_vk_stream_drop(old);
}

/* The stream that recorded the event last, with a new reference, and the batch's number; NULL if none did. */
static vk_stream* get_recorded(vk_handle* h, uint64_t* value) {
  pthread_mutex_lock(&h->lock);
  vk_stream* s = h->recorded_on;
  *value = h->value;
  if (s != NULL) tvmgo_vk_stream_keep(s);
  pthread_mutex_unlock(&h->lock);
  return s;
}

/* Waits for the batch in which the event was recorded, and ignores errors. */
static void wait_recorded(vk_handle* h) {
  if (h->recorded_on == NULL || tvmgo_vk_wait(h->recorded_on, h->value) == 0) return;
  TVMFFIObject* e = tvmgo_error_take();
  if (e != NULL) TVMFFIObjectDecRef(e);
}

int tvmgo_vk_event_or_timer_free(const TVMGODeviceAPI* api, void* p) {
  int is_timer = tvmgo_vk_handle_kind(p) == HANDLE_TIMER;
  vk_handle* h = tvmgo_vk_handle_need(p, is_timer ? HANDLE_TIMER : HANDLE_EVENT, "free event");
  if (h == NULL) return -1;
  vk_device* d = &tvmgo_vk_devices[h->device];
  if (is_timer) {
    wait_recorded(h);
    if (!atomic_load(&d->lost) || tvmgo_vk_lost_is_idle(d)) d->f.vkDestroyQueryPool(d->handle, h->pool, NULL);
  }
  if (h->recorded_on != NULL) tvmgo_vk_stream_drop(h->recorded_on);
  pthread_mutex_destroy(&h->lock);
  tvmgo_vk_handle_free(h);
  return 0;
}

int tvmgo_vk_event_record(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream) {
  vk_handle* h = tvmgo_vk_handle_need(event, HANDLE_EVENT, "record event");
  vk_stream* s = h == NULL ? NULL : tvmgo_vk_stream(&tvmgo_vk_devices[h->device], stream);
  if (s == NULL) return -1;
  set_recorded(h, s, tvmgo_vk_stream_current(s));
  return 0;
}

int tvmgo_vk_event_wait(const TVMGODeviceAPI* api, void* event, TVMFFIStreamHandle stream) {
  uint64_t value;
  vk_handle* h = tvmgo_vk_handle_need(event, HANDLE_EVENT, "wait for event");
  vk_stream* s = h == NULL ? NULL : tvmgo_vk_stream(&tvmgo_vk_devices[h->device], stream);
  if (s == NULL) return -1;
  vk_stream* on = get_recorded(h, &value);
  if (on == NULL) return 0;
  int rc = on == s ? 0 : tvmgo_vk_stream_flush(on, value);
  if (rc == 0 && on != s) rc = tvmgo_vk_stream_after(s, on, value);
  tvmgo_vk_stream_drop(on);
  return rc;
}

int tvmgo_vk_event_sync(const TVMGODeviceAPI* api, void* event) {
  uint64_t value;
  vk_handle* h = tvmgo_vk_handle_need(event, HANDLE_EVENT, "wait for event");
  vk_stream* on = h == NULL ? NULL : get_recorded(h, &value);
  if (on == NULL) return h == NULL ? -1 : 0;
  int rc = tvmgo_vk_wait(on, value) != 0 || tvmgo_vk_stream_check(on) != 0 ? -1 : 0;
  tvmgo_vk_stream_drop(on);
  return rc;
}

int tvmgo_vk_event_query(const TVMGODeviceAPI* api, void* event, int32_t* done) {
  uint64_t value;
  vk_handle* h = tvmgo_vk_handle_need(event, HANDLE_EVENT, "query event");
  if (h == NULL) return -1;
  vk_stream* on = get_recorded(h, &value);
  int rc = on == NULL ? 0 : tvmgo_vk_stream_flush(on, value);
  int is_done = on == NULL || (rc == 0 && tvmgo_vk_is_done(on, value));
  if (on != NULL) tvmgo_vk_stream_drop(on);
  if (rc == 0) *done = is_done;
  return rc;
}

/* Records a command that writes the time at which all earlier commands are done into a timer's pool. */
static int write_time(vk_handle* h, uint32_t query, TVMFFIStreamHandle stream) {
  vk_device* d = &tvmgo_vk_devices[h->device];
  vk_stream* s;
  VkCommandBuffer c = tvmgo_vk_begin(d, stream, &s);
  if (c == NULL) return -1;
  if (query == 0) d->f.vkCmdResetQueryPool(c, h->pool, 0, 2);
  d->f.vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, h->pool, query);
  uint64_t number = tvmgo_vk_number(s);
  int rc = tvmgo_vk_end(s);
  set_recorded(h, s, number);
  return rc;
}

int tvmgo_vk_timer_start(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  vk_handle* h = tvmgo_vk_handle_need(timer, HANDLE_TIMER, "start timer");
  if (h == NULL) return -1;
  vk_stream* s = tvmgo_vk_stream(&tvmgo_vk_devices[h->device], stream);
  if (s == NULL) return -1;
  if (h->recorded_on != NULL && h->recorded_on != s) wait_recorded(h); /* the two streams are not ordered */
  h->set = 0;
  if (write_time(h, 0, stream) != 0) return -1;
  h->set = 1;
  return 0;
}

int tvmgo_vk_timer_stop(const TVMGODeviceAPI* api, void* timer, TVMFFIStreamHandle stream) {
  vk_handle* h = tvmgo_vk_handle_need(timer, HANDLE_TIMER, "stop timer");
  if (h == NULL) return -1;
  if (h->set == 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "stop timer: it was not started");
  vk_stream* s = tvmgo_vk_stream(&tvmgo_vk_devices[h->device], stream);
  if (s == NULL) return -1;
  if (h->recorded_on != s) wait_recorded(h);
  if (write_time(h, 1, stream) != 0) return -1;
  h->set = 3;
  return 0;
}

int tvmgo_vk_timer_elapsed_ns(const TVMGODeviceAPI* api, void* timer, int64_t* ns) {
  vk_handle* h = tvmgo_vk_handle_need(timer, HANDLE_TIMER, "read timer");
  if (h == NULL) return -1;
  if (h->set != 3) return tvmgo_raise(TVMGO_VALUE_ERROR, "read timer: it was not stopped");
  vk_device* d = &tvmgo_vk_devices[h->device];
  if (tvmgo_vk_wait(h->recorded_on, h->value) != 0) return -1;
  uint64_t at[2] = {0, 0};
  VkResult rc = d->f.vkGetQueryPoolResults(d->handle, h->pool, 0, 2, sizeof at, at, sizeof *at,
                                           VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (rc != VK_SUCCESS) return tvmgo_vk_failed(d, rc, "read timer of vulkan:%d", (int)h->device);
  uint64_t mask = d->timestamp_bits >= 64 ? ~0ull : (1ull << d->timestamp_bits) - 1;
  *ns = (int64_t)((double)((at[1] - at[0]) & mask) * (double)d->properties.limits.timestampPeriod);
  return 0;
}
