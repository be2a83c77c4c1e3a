/* A device for the tests of the validation layer: the test controls how far its streams have come. */
#pragma once

#include "ctest/check.h"
#include "device/device.h"

enum { DEVICE = 27, PLAIN = 28 };

static int64_t queued, completed; /* of all streams together */
static int spaces, refuse;
static int64_t room = INT64_MAX / 2;

#define API const TVMGODeviceAPI* api
static int set_device(API, int32_t id) {
  (void)api;
  return id < 2 ? 0 : tvmgo_raise(TVMGO_VALUE_ERROR, "there is no device %d", (int)id);
}
static int get_attr(API, int32_t id, int32_t kind, TVMFFIAny* out) {
  (void)api, (void)id, (void)kind;
  *out = tvmgo_any_none();
  return 0;
}
static void* hand_out_next; /* instead of new memory */
static int alloc(API, DLDevice dev, size_t n, size_t alignment, DLDataType hint, void** out) {
  (void)api, (void)dev, (void)hint;
  if ((int64_t)n > room) return tvmgo_raise(TVMGO_MEMORY_ERROR, "full");
  *out = hand_out_next != NULL ? hand_out_next : aligned_alloc(alignment, (n + alignment) / alignment * alignment);
  if (hand_out_next == NULL) spaces++;
  return 0;
}
static int free_space(API, DLDevice dev, void* p) {
  (void)api, (void)dev;
  spaces--;
  free(p);
  return refuse ? tvmgo_raise(TVMGO_RUNTIME_ERROR, "the device sulks") : 0;
}
static int copies;
static int copy(API, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle s) {
  (void)api, (void)from, (void)to, (void)s;
  copies++;
  queued++;
  return 0;
}
static int stream_sync(API, DLDevice dev, TVMFFIStreamHandle s) {
  (void)api, (void)dev, (void)s;
  completed = queued;
  return 0;
}
static intptr_t next_stream = 0x1000;
static int create_stream(API, DLDevice dev, TVMFFIStreamHandle* out) {
  (void)api, (void)dev;
  *out = (void*)next_stream;
  return 0;
}
static int on_stream(API, DLDevice dev, TVMFFIStreamHandle s) { return (void)api, (void)dev, (void)s, 0; }
static int order(API, DLDevice dev, TVMFFIStreamHandle a, TVMFFIStreamHandle b) {
  return (void)api, (void)dev, (void)a, (void)b, 0;
}
static int events;
static int event_create(API, DLDevice dev, void** out) {
  (void)api, (void)dev;
  events++;
  *out = calloc(1, sizeof(int64_t));
  return 0;
}
static TVMFFIStreamHandle recording; /* marks in it are never reached */
static int event_record(API, void* e, TVMFFIStreamHandle s) {
  (void)api;
  CHECK(s == NULL || s != recording);
  *(int64_t*)e = queued;
  return 0;
}
static int event_wait(API, void* e, TVMFFIStreamHandle s) { return (void)api, (void)e, (void)s, 0; }
static int event_sync(API, void* e) { return (void)api, (void)e, 0; }
static int event_query(API, void* e, int32_t* done) {
  (void)api;
  *done = completed >= *(int64_t*)e;
  return 0;
}
static int event_free(API, void* e) {
  (void)api;
  events--;
  free(e);
  return 0;
}
static int timer_make(API, DLDevice dev, void** out) {
  (void)api, (void)dev;
  *out = &events;
  return 0;
}
static int timer_mark(API, void* t, TVMFFIStreamHandle s) { return (void)api, (void)t, (void)s, 0; }
static int timer_read(API, void* t, int64_t* ns) {
  (void)api, (void)t;
  *ns = 5;
  return 0;
}
static int timer_free(API, void* t) { return (void)api, (void)t, 0; }
static int pinned_alloc(API, DLDevice dev, size_t n, void** out) {
  (void)api, (void)dev;
  *out = malloc(n);
  return 0;
}
static int pinned_free(API, DLDevice dev, void* p) {
  (void)api, (void)dev;
  free(p);
  return 0;
}
static int scoped(API, DLDevice dev, int32_t ndim, const int64_t* shape, DLDataType t, const char* scope, void** out) {
  (void)ndim, (void)shape, (void)scope;
  return alloc(api, dev, 4096, 64, t, out);
}

static int ordered_alloc(API, DLDevice dev, size_t n, size_t alignment, DLDataType t, TVMFFIStreamHandle s,
                         void** out) {
  (void)s;
  return alloc(api, dev, n, alignment, t, out);
}
static int ordered_free(API, DLDevice dev, void* p, TVMFFIStreamHandle s) {
  (void)s;
  return free_space(api, dev, p);
}
static int graphs, launches, give_no_graph;
static int capture_begin(API, DLDevice dev, TVMFFIStreamHandle s) {
  (void)api, (void)dev;
  if (refuse) return tvmgo_raise(TVMGO_RUNTIME_ERROR, "the device sulks");
  recording = s;
  return 0;
}
static int capture_end(API, DLDevice dev, TVMFFIStreamHandle s, void** out) {
  (void)api, (void)dev, (void)s;
  recording = NULL;
  if (refuse) return tvmgo_raise(TVMGO_RUNTIME_ERROR, "the device sulks");
  if (out == NULL || give_no_graph) return 0;
  graphs++;
  *out = malloc(1);
  return 0;
}
static int graph_launch(API, DLDevice dev, void* g, TVMFFIStreamHandle s) {
  (void)api, (void)dev, (void)g, (void)s;
  launches++;
  return 0;
}
static int graph_free(API, DLDevice dev, void* g) {
  (void)api, (void)dev;
  graphs--;
  free(g);
  return 0;
}

#define COMMON                                                                                          \
  .struct_size = sizeof(TVMGODeviceAPI), .set_device = set_device, .get_attr = get_attr,                  \
  .alloc_data_space = alloc, .free_data_space = free_space, .copy_data_from_to = copy,                    \
  .stream_sync = stream_sync, .create_stream = create_stream, .free_stream = on_stream,                   \
  .set_stream = on_stream, .sync_stream_from_to = order, .pinned_alloc = pinned_alloc,                    \
  .pinned_free = pinned_free, .alloc_data_space_with_scope = scoped
static const TVMGODeviceAPI full = {
    COMMON, .event_create = event_create, .event_record = event_record, .event_wait = event_wait,
    .event_sync = event_sync, .event_query = event_query, .event_free = event_free,
    .timer_create = timer_make, .timer_start = timer_mark, .timer_stop = timer_mark,
    .timer_elapsed_ns = timer_read, .timer_free = timer_free,
    .alloc_on_stream = ordered_alloc, .free_on_stream = ordered_free, .capture_begin = capture_begin,
    .capture_end = capture_end, .graph_launch = graph_launch, .graph_free = graph_free};
static const TVMGODeviceAPI plain = {COMMON};
