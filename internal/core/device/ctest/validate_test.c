/* TVMGO_VALIDATE=1: misuse is an error that names the allocation, on the CPU and on a device with streams, events and
 * page-locked memory; correct use still works. */
#include "device/ctest/validate_device.h"
#include "device/validate.h"

#include <unistd.h>

/* ---- what tests share ---- */

static const DLDataType u8 = {kDLUInt, 8, 1};

static DLDevice on(int32_t type, int32_t id) { return (DLDevice){(DLDeviceType)type, id}; }
static const TVMGODeviceAPI* api_of(int32_t type) { return tvmgo_device_api(type); }

static void* space_of(DLDevice dev, size_t n) {
  void* p = NULL;
  const TVMGODeviceAPI* api = api_of(dev.device_type);
  CHECK_OK(api->alloc_data_space(api, dev, n, 64, u8, &p));
  return p;
}
static int free_of(DLDevice dev, void* p) {
  const TVMGODeviceAPI* api = api_of(dev.device_type);
  return api->free_data_space(api, dev, p);
}
static int copy_of(DLDevice fdev, void* from, uint64_t foff, DLDevice tdev, void* to, uint64_t toff, int64_t n,
                   void* s) {
  DLTensor f = {from, fdev, 1, u8, &n, NULL, foff}, t = {to, tdev, 1, u8, &n, NULL, toff};
  return tvmgo_dl_copy(&f, &t, s);
}

/* The error of the call has every one of these texts. */
#define REFUSES(x, ...)                                                                        \
  do {                                                                                         \
    const char* const says[] = {__VA_ARGS__};                                                  \
    CHECK((x) != 0);                                                                           \
    TVMFFIObject* e_ = tvmgo_error_take();                                                     \
    REQUIRE(e_ != NULL);                                                                       \
    const TVMFFIErrorCell* c_ = tvmgo_error_cell(e_);                                          \
    for (size_t i_ = 0; i_ < sizeof says / sizeof *says; i_++)                                 \
      if (memmem(c_->message.data, c_->message.size, says[i_], strlen(says[i_])) == NULL)      \
        check_fail(__FILE__, __LINE__, "\"%.*s\" does not say \"%s\"", (int)c_->message.size,   \
                   c_->message.data, says[i_]);                                                \
    tvmgo_object_release(e_);                                                                  \
  } while (0)

static const int32_t types[] = {kDLCPU, DEVICE, PLAIN};

static void each(void (*f)(DLDevice)) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    f(on(types[i], 0));
    tvmgo_validate_flush();
  }
}

/* ---- memory ---- */

static void bounds(DLDevice dev) {
  char host[4096], what[64];
  void* p = space_of(dev, 100);
  snprintf(what, sizeof what, "data space of %s:0, 100 bytes at %p", tvmgo_device_type_name(dev.device_type), p);
  int before = copies;
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, dev, p, 0, 100, NULL));
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, dev, p, 40, 60, NULL));
  CHECK_OK(copy_of(dev, (char*)p + 10, 30, on(kDLCPU, 0), host, 0, 60, NULL)); /* a place inside */
  int did = copies;
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, dev, p, 0, 101, NULL),
          "validate: copy to: out of bounds: 101 bytes from byte 0", what, "thread");
  REFUSES(copy_of(dev, p, 41, on(kDLCPU, 0), host, 0, 60, NULL),
          "validate: copy from: out of bounds: 60 bytes from byte 41", what, "#");
  REFUSES(copy_of(dev, (char*)p + 11, 30, on(kDLCPU, 0), host, 0, 60, NULL), "out of bounds: 60 bytes from byte 41",
          what);
  REFUSES(copy_of(dev, p, 101, on(kDLCPU, 0), host, 0, 1, NULL), "out of bounds", what);
  REFUSES(copy_of(dev, p, 100, on(kDLCPU, 0), host, 0, 1, NULL), "out of bounds", what);
  REFUSES(copy_of(dev, p, (uint64_t)INT64_MAX, on(kDLCPU, 0), host, 0, 1, NULL), "out of bounds", what);
  CHECK_EQ_INT(copies, did); /* the device was not asked */
  CHECK(dev.device_type == kDLCPU || did == before + 3);
  CHECK_OK(free_of(dev, p));
}
static void test_bounds(void) { each(bounds); }

static void freed(DLDevice dev) {
  char host[64];
  void *p = space_of(dev, 64), *q = space_of(dev, 0);
  CHECK_OK(free_of(dev, p));
  REFUSES(free_of(dev, p), "validate: free: double free", "data space", "64 bytes at", "made by call #",
          "freed by call #", "of thread");
  REFUSES(copy_of(dev, p, 0, on(kDLCPU, 0), host, 0, 8, NULL), "validate: copy from: use after free", "64 bytes at",
          "freed by call #");
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, dev, (char*)p + 8, 0, 8, NULL), "validate: copy to: use after free",
          "64 bytes at");
  REFUSES(free_of(dev, host), "is no allocation of");
  void* r = space_of(dev, 64);
  CHECK(r != p); /* the address means nothing else meanwhile */
  REFUSES(free_of(dev, (char*)r + 8), "lies inside of an allocation", "64 bytes at");
  CHECK_OK(free_of(dev, q));
  CHECK_OK(free_of(dev, r));
}
static void test_freed(void) { each(freed); }

static void workspaces(DLDevice dev) {
  int type = (int)dev.device_type;
  char host[64];
  char* p = TVMBackendAllocWorkspace(type, 0, 64, kDLUInt, 8);
  REQUIRE(p != NULL);
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, dev, p, 0, 64, NULL));
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, dev, p, 1, 64, NULL), "out of bounds", "workspace of", "64 bytes");
  REFUSES(free_of(dev, p), "it is no data space", "workspace of");
  CHECK_OK(TVMBackendFreeWorkspace(type, 0, p));
  REFUSES(TVMBackendFreeWorkspace(type, 0, p), "free workspace: double free", "workspace of");
  REFUSES(copy_of(dev, p, 0, on(kDLCPU, 0), host, 0, 8, NULL), "use after free", "workspace of");
  REFUSES(TVMBackendFreeWorkspace(type, 0, host), "is no allocation");
  void* d = space_of(dev, 64);
  REFUSES(TVMBackendFreeWorkspace(type, 0, d), "it is no workspace", "data space of");
  CHECK_OK(free_of(dev, d));
}
static void test_workspaces(void) { each(workspaces); }

static void test_wrong_device(void) {
  char host[64];
  DLDevice a = on(DEVICE, 0), b = on(DEVICE, 1), other = on(PLAIN, 0), cpu = on(kDLCPU, 0);
  void *p = space_of(a, 64), *c = space_of(cpu, 64);
  REFUSES(free_of(b, p), "wrong device", "valdev:1 was asked to free", "data space of valdev:0");
  REFUSES(free_of(other, p), "wrong device", "plainval:0 was asked to free", "data space of valdev:0");
  REFUSES(copy_of(b, p, 0, cpu, host, 0, 8, NULL), "wrong device: the tensor says valdev:1", "data space of valdev:0");
  REFUSES(copy_of(cpu, p, 0, a, p, 0, 8, NULL), "wrong device: the tensor says cpu:0", "data space of valdev:0");
  REFUSES(copy_of(a, c, 0, cpu, host, 0, 8, NULL), "wrong device: the tensor says valdev:0", "data space of cpu:0");
  CHECK_OK(copy_of(on(kDLCPU, 1), c, 0, a, p, 0, 8, NULL)); /* the host is one */
  CHECK_OK(free_of(a, p));
  CHECK_OK(free_of(cpu, c));
}

static void test_streams(void) {
  const TVMGODeviceAPI* api = api_of(DEVICE);
  DLDevice a = on(DEVICE, 0), b = on(DEVICE, 1);
  char host[64];
  void *s = NULL, *t = NULL, *p = space_of(a, 64), *q = space_of(b, 64), *e = NULL, *timer = NULL;
  CHECK_OK(tvmgo_device_stream_create(a, &s));
  next_stream += 16;
  CHECK_OK(tvmgo_device_stream_create(b, &t));
  next_stream += 16;
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, a, p, 0, 8, s));
  CHECK_OK(copy_of(a, p, 0, b, q, 0, 8, s)); /* between both, on either's */
  CHECK_OK(copy_of(a, p, 0, b, q, 0, 8, t));
  void* w = NULL; /* a workspace may go to the other index on that one's stream */
  CHECK_OK(tvmgo_workspace_take(a, 64, u8, NULL, &w));
  CHECK_OK(copy_of(a, w, 0, b, q, 0, 8, t));
  CHECK_OK(tvmgo_workspace_give(a, w, NULL));
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, a, p, 0, 8, (void*)0x77)); /* of another library: not checked */
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, a, p, 0, 8, t), "validate: copy: wrong stream",
          "for valdev:1, not for valdev:0");
  REFUSES(tvmgo_device_sync(a, t), "validate: synchronize: wrong stream");
  REFUSES(tvmgo_device_sync(on(PLAIN, 0), t), "wrong stream", "for valdev:1, not for plainval:0");
  REFUSES(api->sync_stream_from_to(api, a, s, t), "validate: order streams: wrong stream");
  CHECK_OK(api->sync_stream_from_to(api, a, s, NULL));
  CHECK_OK(tvmgo_device_stream_free(a, s));
  REFUSES(tvmgo_device_stream_free(a, s), "validate: free stream", "was freed by call #");
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, a, p, 0, 8, s), "validate: copy: stream", "of valdev:0, made by call #",
          "was freed by call #");
  REFUSES(tvmgo_device_sync(a, s), "validate: synchronize: stream", "was freed");
  REFUSES(tvmgo_stream_set(DEVICE, 0, s, NULL), "validate: set stream", "was freed");
  REFUSES(tvmgo_workspace_take(a, 64, u8, s, &e), "validate: allocate workspace", "was freed");
  CHECK_OK(api->event_create(api, a, &e));
  REFUSES(api->event_record(api, e, s), "validate: record event", "was freed");
  REFUSES(api->event_wait(api, e, s), "validate: wait for event", "was freed");
  CHECK_OK(api->event_free(api, e));
  CHECK_OK(api->timer_create(api, a, &timer));
  REFUSES(api->timer_start(api, timer, s), "validate: start timer", "was freed");
  REFUSES(api->timer_stop(api, timer, s), "validate: stop timer", "was freed");
  next_stream = (intptr_t)s; /* the device makes a new one of the same handle */
  void* again = NULL;
  CHECK_OK(tvmgo_device_stream_create(a, &again));
  CHECK_EQ_PTR(again, s);
  CHECK_OK(tvmgo_device_sync(a, s));
  CHECK_OK(tvmgo_device_stream_free(a, s));
  CHECK_OK(tvmgo_device_stream_free(b, t));
  CHECK_OK(free_of(a, p));
  CHECK_OK(free_of(b, q));
}

static void test_workspace_of_another_stream(void) {
  DLDevice a = on(DEVICE, 0);
  char host[64];
  void *s = NULL, *w = NULL;
  next_stream = 0x5000;
  CHECK_OK(tvmgo_device_stream_create(a, &s));
  CHECK_OK(tvmgo_workspace_take(a, 64, u8, s, &w));
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, a, w, 0, 64, s));
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, a, w, 0, 64, NULL), "wrong stream: the copy is on stream",
          "the workspace is for stream 0x5000",
          "workspace of valdev:0, 64 bytes at");
  CHECK_OK(tvmgo_device_sync(a, s)); /* then it may be read from anywhere */
  CHECK_OK(copy_of(a, w, 0, on(kDLCPU, 0), host, 0, 64, NULL));
  CHECK_OK(tvmgo_workspace_give(a, w, s));
  CHECK_OK(tvmgo_device_stream_free(a, s));
}

static void test_memory_of_streams(void) {
  DLDevice a = on(DEVICE, 0), b = on(DEVICE, 1);
  const TVMGODeviceAPI* api = api_of(DEVICE);
  char host[128];
  tvmgo_validate_flush();
  int before = spaces;
  void *s = NULL, *r = NULL, *t = NULL, *p = NULL, *q = NULL;
  next_stream = 0x6000;
  CHECK_OK(tvmgo_device_stream_create(a, &s));
  next_stream += 16;
  CHECK_OK(tvmgo_device_stream_create(a, &r));
  next_stream += 16;
  CHECK_OK(tvmgo_device_stream_create(b, &t));
  REFUSES(api->alloc_on_stream(api, a, 64, 64, u8, t, &p), "validate: allocate on stream: wrong stream",
          "for valdev:1, not for valdev:0");
  CHECK_OK(api->alloc_on_stream(api, a, 64, 64, u8, s, &p));
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, a, p, 0, 64, s));
  CHECK_OK(copy_of(on(kDLCPU, 0), host, 0, a, p, 0, 64, r)); /* on any stream: the order is the caller's affair */
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, a, p, 1, 64, s), "out of bounds",
          "memory of a stream of valdev:0, 64 bytes at");
  REFUSES(copy_of(b, p, 0, on(kDLCPU, 0), host, 0, 8, t), "wrong device", "memory of a stream of valdev:0");
  REFUSES(api->free_on_stream(api, a, p, t), "validate: free on stream: wrong stream");
  REFUSES(api->free_on_stream(api, b, p, t), "validate: free on stream: wrong device",
          "memory of a stream of valdev:0");
  REFUSES(api->free_on_stream(api, a, (char*)p + 8, s), "lies inside of an allocation");
  CHECK_OK(api->free_on_stream(api, a, p, r)); /* nor need it be the one that it was made on */
  REFUSES(api->free_on_stream(api, a, p, s), "validate: free on stream: double free", "memory of a stream");
  REFUSES(free_of(a, p), "validate: free: double free", "memory of a stream");
  REFUSES(copy_of(a, p, 0, on(kDLCPU, 0), host, 0, 8, s), "use after free", "memory of a stream");
  CHECK_OK(api->alloc_on_stream(api, a, 64, 64, u8, s, &q));
  CHECK(q != p); /* the address means nothing else meanwhile */
  void* d = space_of(a, 64);
  REFUSES(api->free_on_stream(api, a, d, s), "it is no memory of a stream", "data space of valdev:0");
  CHECK_OK(free_of(a, d));
  CHECK_OK(tvmgo_device_stream_free(a, s));
  REFUSES(api->free_on_stream(api, a, q, s), "validate: free on stream: stream", "was freed by call #");
  REFUSES(api->alloc_on_stream(api, a, 64, 64, u8, s, &p), "validate: allocate on stream: stream",
          "was freed by call #");
  CHECK_OK(free_of(a, q)); /* the other way to free it */
  room = 1;                /* what is kept goes before an allocation fails */
  CHECK_FAILS(api->alloc_on_stream(api, a, 64, 64, u8, r, &p), TVMGO_MEMORY_ERROR, "full");
  CHECK_EQ_INT(spaces, before);
  room = INT64_MAX / 2;
  CHECK_OK(tvmgo_device_stream_free(a, r));
  CHECK_OK(tvmgo_device_stream_free(b, t));
  CHECK(!TVMGODeviceAPIHas(api_of(PLAIN), alloc_on_stream) && !TVMGODeviceAPIHas(api_of(PLAIN), free_on_stream));
}

static void test_graphs(void) {
  DLDevice a = on(DEVICE, 0), b = on(DEVICE, 1);
  const TVMGODeviceAPI* api = api_of(DEVICE);
  char host[64];
  void *s = NULL, *t = NULL, *g = NULL, *w = NULL, *pinned = NULL, *p = space_of(a, 64);
  next_stream = 0x7000;
  CHECK_OK(tvmgo_device_stream_create(a, &s));
  next_stream += 16;
  CHECK_OK(tvmgo_device_stream_create(b, &t));
  CHECK_OK(api->pinned_alloc(api, a, 64, &pinned));
  REFUSES(api->capture_end(api, a, s, &g), "validate: end recording: stream 0x7000 of valdev:0 doesn't record");
  REFUSES(api->capture_begin(api, a, t), "validate: begin recording: wrong stream");
  CHECK_OK(api->capture_begin(api, a, s));
  REFUSES(api->capture_begin(api, a, s), "validate: begin recording: stream 0x7000 of valdev:0 records already");
  CHECK_OK(copy_of(on(kDLCPU, 0), pinned, 0, a, p, 0, 64, s)); /* the layer puts no mark of its own into it */
  CHECK_OK(api->alloc_workspace(api, a, 64, u8, s, &w)); /* nor to learn whether another stream may use this */
  REFUSES(copy_of(on(kDLCPU, 0), host, 0, a, w, 0, 64, NULL), "wrong stream: the copy is on stream");
  CHECK_OK(api->free_workspace(api, a, w));
  REFUSES(api->capture_end(api, a, t, &g), "validate: end recording: wrong stream");
  CHECK_OK(api->capture_end(api, a, s, &g));
  CHECK_OK(api->pinned_free(api, a, pinned)); /* a recorded copy is not in flight */
  CHECK_EQ_INT(graphs, 1);
  CHECK_OK(api->graph_launch(api, a, g, s));
  CHECK_OK(api->graph_launch(api, a, g, NULL));
  int did = launches;
  REFUSES(api->graph_launch(api, a, g, t), "validate: launch graph: wrong stream");
  REFUSES(api->graph_launch(api, b, g, t), "validate: launch graph: wrong device: the graph",
          "is of valdev:0, not of valdev:1");
  REFUSES(api->graph_launch(api, a, p, s), "validate: launch graph", "is no graph of valdev:0");
  REFUSES(api->graph_free(api, b, g), "validate: free graph: wrong device");
  CHECK_EQ_INT(graphs, 1);
  CHECK_OK(api->graph_free(api, a, g));
  CHECK_EQ_INT(graphs, 0);
  REFUSES(api->graph_free(api, a, g), "validate: free graph", "is no graph of valdev:0: it was freed");
  REFUSES(api->graph_launch(api, a, g, s), "validate: launch graph", "it was freed");
  CHECK_EQ_INT(launches, did);
  CHECK_OK(api->capture_begin(api, a, s)); /* thrown away */
  CHECK_OK(api->capture_end(api, a, s, NULL));
  refuse = 1; /* what the device refuses is not begun, and what it fails to end is ended */
  CHECK_FAILS(api->capture_begin(api, a, s), TVMGO_RUNTIME_ERROR, "the device sulks");
  refuse = 0;
  CHECK_OK(api->capture_begin(api, a, s));
  refuse = 1;
  CHECK_FAILS(api->capture_end(api, a, s, &g), TVMGO_RUNTIME_ERROR, "the device sulks");
  refuse = 0;
  CHECK_OK(api->capture_begin(api, a, s));
  give_no_graph = 1;
  g = NULL;
  CHECK_FAILS(api->capture_end(api, a, s, &g), TVMGO_INTERNAL_ERROR, "the device gave no graph");
  give_no_graph = 0;
  CHECK_OK(tvmgo_device_stream_free(a, s));
  REFUSES(api->capture_begin(api, a, s), "validate: begin recording: stream", "was freed");
  CHECK_OK(tvmgo_device_stream_free(b, t));
  CHECK_OK(free_of(a, p));
  CHECK(!TVMGODeviceAPIHas(api_of(PLAIN), capture_begin) && !TVMGODeviceAPIHas(api_of(PLAIN), graph_free));
}

static void in_flight_on(int32_t type) {
  DLDevice a = on(type, 0);
  const TVMGODeviceAPI* api = api_of(type);
  void *pinned = NULL, *p = space_of(a, 64);
  CHECK_OK(api->pinned_alloc(api, a, 64, &pinned));
  CHECK_OK(copy_of(on(kDLCPU, 0), pinned, 0, a, p, 0, 64, NULL));
  REFUSES(api->pinned_free(api, a, pinned), "freed while in flight: call #", "page-locked memory of", "64 bytes at");
  CHECK_OK(tvmgo_device_sync(a, NULL));
  CHECK_OK(copy_of(a, p, 0, on(kDLCPU, 0), (char*)pinned + 8, 0, 8, NULL)); /* the other way, inside of it */
  REFUSES(api->pinned_free(api, a, pinned), "freed while in flight");
  REFUSES(copy_of(a, p, 0, on(kDLCPU, 0), pinned, 8, 64, NULL), "out of bounds", "page-locked memory of");
  CHECK_OK(tvmgo_device_sync(a, NULL));
  CHECK_OK(api->pinned_free(api, a, pinned));
  REFUSES(api->pinned_free(api, a, pinned), "double free", "page-locked memory of");
  REFUSES(copy_of(on(kDLCPU, 0), pinned, 0, a, p, 0, 8, NULL), "use after free", "page-locked memory of");
  REFUSES(api->pinned_free(api, a, p), "it is no page-locked memory");
  CHECK_OK(free_of(a, p));
  tvmgo_validate_flush();
}
static void test_freed_in_flight(void) {
  int before = events; /* of the pool of workspaces */
  in_flight_on(DEVICE);
  in_flight_on(PLAIN);
  CHECK_EQ_INT(events, before);
}

/* ---- the layer itself ---- */

static void test_tensors_are_tracked(void) {
  int64_t shape = 16, before = check_live(TVMGO_LIVE_DATA_BYTES);
  tvmgo_tensor* t = tvmgo_tensor_new(&shape, 1, u8, on(kDLCPU, 0), NULL);
  REQUIRE(t != NULL);
  char host[32];
  REFUSES(copy_of(on(kDLCPU, 0), t->dl.data, 0, on(kDLCPU, 0), host, 0, 17, NULL), "out of bounds", "16 bytes at");
  void* p = t->dl.data;
  tvmgo_object_release(t);
  REFUSES(copy_of(on(kDLCPU, 0), p, 0, on(kDLCPU, 0), host, 0, 16, NULL), "use after free", "16 bytes at");
  tvmgo_validate_flush();
  CHECK_EQ_INT(check_live(TVMGO_LIVE_DATA_BYTES), before);
}

static void test_freed_memory_is_kept_for_a_while(void) {
  DLDevice a = on(DEVICE, 0);
  int before = spaces;
  for (int i = 0; i < 500; i++) CHECK_OK(free_of(a, space_of(a, 64)));
  CHECK_EQ_INT(spaces - before, 64);
  for (int i = 0; i < 40; i++) CHECK_OK(free_of(a, space_of(a, 1 << 20)));
  CHECK_EQ_INT(spaces - before, 16);
  CHECK_OK(free_of(a, space_of(a, 64 << 20)));
  CHECK_EQ_INT(spaces - before, 1); /* the newest, whatever its size */
  room = 1;                         /* what is kept goes before an allocation fails */
  void* p = NULL;
  const TVMGODeviceAPI* api = api_of(DEVICE);
  CHECK_FAILS(api->alloc_data_space(api, a, 64, 64, u8, &p), TVMGO_MEMORY_ERROR, "full");
  CHECK_EQ_INT(spaces, before);
  room = INT64_MAX / 2;
  CHECK_OK(free_of(a, space_of(a, 17 << 20)));
  refuse = 1; /* the device's own errors are not lost */
  p = space_of(a, 17 << 20);
  CHECK_FAILS(free_of(a, p), TVMGO_RUNTIME_ERROR, "validate: memory that was freed before: the device sulks");
  refuse = 0;
  tvmgo_validate_flush();
}

static void test_device_hands_out_memory_twice(void) {
  DLDevice a = on(DEVICE, 0);
  const TVMGODeviceAPI* api = api_of(DEVICE);
  void *p = space_of(a, 64), *q = NULL;
  hand_out_next = p;
  CHECK_FAILS(api->alloc_data_space(api, a, 64, 64, u8, &q), TVMGO_INTERNAL_ERROR,
              "memory that is still in use: data space of valdev:0");
  CHECK_EQ_PTR(q, NULL);
  hand_out_next = NULL;
  CHECK_OK(free_of(a, p));
}

static void test_scopes_and_what_is_passed_on(void) {
  DLDevice a = on(DEVICE, 0);
  const TVMGODeviceAPI* api = api_of(DEVICE);
  int64_t shape[2] = {4, 8}, ns = 0;
  char host[64];
  void *p = NULL, *timer = NULL;
  TVMFFIAny out;
  CHECK_OK(api->alloc_data_space_with_scope(api, a, 2, shape, u8, "global.texture", &p));
  REFUSES(copy_of(a, p, 0, on(kDLCPU, 0), host, 0, 33, NULL), "out of bounds", "32 bytes at");
  CHECK_OK(free_of(a, p));
  CHECK_OK(api->get_attr(api, 0, 0, &out));
  CHECK_FAILS(api->set_device(api, 9), TVMGO_VALUE_ERROR, "no device 9");
  CHECK_OK(api->timer_create(api, a, &timer));
  CHECK_OK(api->timer_elapsed_ns(api, timer, &ns));
  CHECK_EQ_INT(ns, 5);
  CHECK(!TVMGODeviceAPIHas(api_of(PLAIN), event_create));
  CHECK(!TVMGODeviceAPIHas(api_of(PLAIN), target_property));
  /* A table that already is a validation layer gets no second one. */
  TVMGODeviceSpec twice = {.struct_size = sizeof twice, .device_type = 31, .name = "twiceval", .api = api};
  CHECK_OK(TVMGODeviceAPIRegister(&twice));
  CHECK_OK(free_of(on(31, 0), space_of(on(31, 0), 64)));
}

int main(int argc, char** argv) {
  static const TVMGODeviceSpec specs[2] = {
      {.struct_size = sizeof *specs, .device_type = DEVICE, .name = "valdev", .api = &full},
      {.struct_size = sizeof *specs, .device_type = PLAIN, .name = "plainval", .api = &plain}};
  if (getenv("TVMGO_VALIDATE") == NULL) { /* it is read before main */
    setenv("TVMGO_VALIDATE", "1", 1);
    execv("/proc/self/exe", argv);
    return 1;
  }
  check_begin(argc, argv);
  if (TVMGODeviceAPIRegister(&specs[0]) != 0 || TVMGODeviceAPIRegister(&specs[1]) != 0) return 1;
  RUN(test_bounds);
  RUN(test_freed);
  RUN(test_workspaces);
  RUN(test_wrong_device);
  RUN(test_streams);
  RUN(test_workspace_of_another_stream);
  RUN(test_memory_of_streams);
  RUN(test_graphs);
  RUN(test_freed_in_flight);
  RUN(test_tensors_are_tracked);
  RUN(test_freed_memory_is_kept_for_a_while);
  RUN(test_device_hands_out_memory_twice);
  RUN(test_scopes_and_what_is_passed_on);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    int64_t bytes;
    if (tvmgo_workspace_trim_device(on(types[i], 0), &bytes) != 0) return 1;
  }
  return check_end();
}
