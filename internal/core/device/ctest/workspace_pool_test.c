/* The pool of workspaces over a device's data space, with a device whose streams advance under control of the test. */
#include "ctest/check.h"

#include <pthread.h>

enum { DEVICE = 29, NO_EVENTS = 30, STREAMS = 4 };

/* Stream 0 is the default one, of handle NULL. */
static struct {
  int64_t queued, completed;
} queues[STREAMS];
static _Atomic int64_t allocs, frees, driver_calls, events;
static int64_t room = INT64_MAX / 2; /* bytes that the device has left */
static int refuse_events, refuse_free;
static TVMFFIStreamHandle freed_stream;

typedef struct {
  int stream;
  int64_t mark; /* 0: never recorded */
} event;

static int index_of(TVMFFIStreamHandle s) { return (int)((intptr_t)s / 1024); }
/* all in one bucket of the pool */
static TVMFFIStreamHandle handle_of(int i) { return (TVMFFIStreamHandle)(intptr_t)(i * 1024); }

typedef struct {
  _Alignas(64) size_t size;
} space;

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
static int alloc(API, DLDevice dev, size_t nbytes, size_t alignment, DLDataType hint, void** out) {
  (void)hint;
  driver_calls++;
  if (set_device(api, dev.device_id) != 0) return -1;
  if ((int64_t)nbytes > room) return tvmgo_raise(TVMGO_MEMORY_ERROR, "the device is full");
  CHECK_EQ_INT(alignment, 64);
  space* s = aligned_alloc(64, sizeof *s + nbytes);
  s->size = nbytes;
  room -= (int64_t)nbytes;
  allocs++;
  *out = s + 1;
  return 0;
}
static int free_space(API, DLDevice dev, void* p) {
  (void)api, (void)dev;
  driver_calls++;
  space* s = (space*)p - 1;
  room += (int64_t)s->size;
  frees++;
  free(s);
  return refuse_free ? tvmgo_raise(TVMGO_RUNTIME_ERROR, "the device sulks") : 0;
}
static int copy(API, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle s) {
  return (void)api, (void)from, (void)to, (void)s, 0;
}
static int stream_sync(API, DLDevice dev, TVMFFIStreamHandle s) {
  (void)api, (void)dev;
  queues[index_of(s)].completed = queues[index_of(s)].queued;
  return 0;
}
static int create_stream(API, DLDevice dev, TVMFFIStreamHandle* out) {
  (void)api, (void)dev;
  *out = handle_of(3);
  return 0;
}
static int free_stream(API, DLDevice dev, TVMFFIStreamHandle s) {
  (void)api, (void)dev;
  freed_stream = s;
  return 0;
}
static int set_stream(API, DLDevice dev, TVMFFIStreamHandle s) { return (void)api, (void)dev, (void)s, 0; }
static int order(API, DLDevice dev, TVMFFIStreamHandle a, TVMFFIStreamHandle b) {
  return (void)api, (void)dev, (void)a, (void)b, 0;
}
static int event_create(API, DLDevice dev, void** out) {
  (void)api, (void)dev;
  driver_calls++;
  if (refuse_events) return tvmgo_raise(TVMGO_RUNTIME_ERROR, "no events today");
  events++;
  *out = calloc(1, sizeof(event));
  return 0;
}
static int event_record(API, void* e, TVMFFIStreamHandle s) {
  (void)api;
  driver_calls++;
  CHECK(s == NULL || s != freed_stream); /* a freed stream must not be used */
  *(event*)e = (event){index_of(s), queues[index_of(s)].queued};
  return 0;
}
static int event_wait(API, void* e, TVMFFIStreamHandle s) { return (void)api, (void)e, (void)s, 0; }
static int event_sync(API, void* e) { return (void)api, (void)e, 0; }
static int event_query(API, void* e, int32_t* done) {
  (void)api;
  driver_calls++;
  event* ev = e;
  *done = queues[ev->stream].completed >= ev->mark;
  return 0;
}
static int event_free(API, void* e) {
  (void)api;
  events--;
  free(e);
  return 0;
}

#define COMMON                                                                                       \
  .struct_size = sizeof(TVMGODeviceAPI), .set_device = set_device, .get_attr = get_attr,               \
  .alloc_data_space = alloc, .free_data_space = free_space, .copy_data_from_to = copy,                 \
  .stream_sync = stream_sync, .create_stream = create_stream, .free_stream = free_stream,              \
  .set_stream = set_stream, .sync_stream_from_to = order
static const TVMGODeviceAPI with_events = {
    COMMON, .event_create = event_create, .event_record = event_record, .event_wait = event_wait,
    .event_sync = event_sync, .event_query = event_query, .event_free = event_free};
static const TVMGODeviceAPI without_events = {COMMON};

static DLDevice dev = {(DLDeviceType)DEVICE, 0};

static void* take(size_t nbytes, int stream) {
  void* p = NULL;
  CHECK_OK(tvmgo_workspace_take(dev, nbytes, (DLDataType){kDLFloat, 32, 1}, handle_of(stream), &p));
  return p;
}
static void give(void* p, int stream) { CHECK_OK(tvmgo_workspace_give(dev, p, handle_of(stream))); }

/* Queues work that is not done yet. */
static void work_on(int stream) { queues[stream].queued++; }

static void begin(int32_t type) {
  int64_t bytes;
  dev = (DLDevice){(DLDeviceType)type, 0};
  CHECK_OK(tvmgo_workspace_trim_device(dev, &bytes));
  memset(queues, 0, sizeof queues);
  freed_stream = NULL;
}

static void end(void) {
  int64_t bytes;
  tvmgo_workspace_stats s;
  CHECK_OK(tvmgo_workspace_trim_device(dev, &bytes));
  CHECK_OK(tvmgo_workspace_stats_of(dev, &s));
  CHECK_EQ_INT(s.held, 0);
  CHECK_EQ_INT(s.in_use, 0);
  CHECK_EQ_INT(s.blocks, 0);
  CHECK_EQ_INT(events, 0);
  CHECK_EQ_INT(allocs, frees);
}

static void test_own_stream_reuses_at_once(void) {
  begin(DEVICE);
  void* a = take(10000, 1);
  CHECK_EQ_INT((uintptr_t)a % 64, 0);
  work_on(1);
  give(a, 1);
  int64_t calls = driver_calls;
  for (int i = 0; i < 100; i++) {
    void* b = take(9000 + i, 1); /* of the same class */
    CHECK_EQ_PTR(b, a);
    work_on(1);
    give(b, 1);
  }
  CHECK_EQ_INT(driver_calls, calls); /* a hit asks no driver */
  void* b = take(10000, 1);
  void* c = take(10000, 1);
  CHECK(b != c);
  give(b, 1);
  give(c, 1);
  CHECK_EQ_PTR(take(10000, 1), c); /* the newest first */
  give(c, 1);
  end();
}

static void test_other_stream_waits_for_the_event(void) {
  begin(DEVICE);
  void* a = take(10000, 1);
  work_on(1);
  give(a, 1);
  void* b = take(10000, 2);
  CHECK(b != a); /* the work is pending */
  work_on(1);    /* later work must not delay the reuse of the block forever */
  queues[1].completed = 1;
  void* c = take(10000, 2);
  CHECK_EQ_PTR(c, a); /* the event was recorded by the first request */
  give(b, 2);
  give(c, 2);
  void* d = take(10000, 0); /* nor may the default stream have it while 2 is busy */
  CHECK(d == b || d == c);  /* stream 2 had no work */
  work_on(0);
  give(d, 0);
  void* e = take(10000, 1);
  CHECK(e != d && (e == b || e == c));
  give(e, 1);
  end();
}

static void test_newer_give_backs_need_newer_events(void) {
  begin(DEVICE);
  void* a = take(10000, 1);
  void* b = take(10000, 1);
  work_on(1);
  give(a, 1);
  void* x = take(10000, 2); /* records an event after the first give-back */
  CHECK(x != a);
  work_on(1);
  give(b, 1); /* the second, later in the stream */
  queues[1].completed = 1;
  void* first = take(10000, 2);
  CHECK_EQ_PTR(first, a);
  void* second = take(10000, 2);
  CHECK(second != b);
  queues[1].completed = 2;
  void* third = take(10000, 2);
  CHECK_EQ_PTR(third, b);
  give(x, 2), give(first, 2), give(second, 2), give(third, 2);
  end();
}

static void test_a_wait_frees_for_all(void) {
  begin(NO_EVENTS);
  void* a = take(5000, 1);
  work_on(1);
  give(a, 1);
  void* b = take(5000, 2);
  CHECK(b != a); /* without events nothing is known */
  CHECK_OK(tvmgo_device_sync(dev, handle_of(1)));
  void* c = take(5000, 2);
  CHECK_EQ_PTR(c, a);
  give(b, 2), give(c, 2);
  end();
}

static void test_a_stream_goes(void) {
  begin(DEVICE);
  void* a = take(5000, 1);
  void* kept = take(5000, 1);
  work_on(1);
  give(a, 1);
  CHECK_OK(tvmgo_device_stream_free(dev, handle_of(1)));
  CHECK_EQ_PTR(freed_stream, handle_of(1));
  void* b = take(5000, 2);
  CHECK(b != a);
  queues[1].completed = 1;
  void* c = take(5000, 2);
  CHECK_EQ_PTR(c, a); /* its event outlives it */
  int64_t before = frees;
  give(kept, 1); /* its stream does not exist: returned to the device */
  CHECK_EQ_INT(frees, before + 1);
  give(b, 2), give(c, 2);
  end();

  /* Without events the device gets all of it. */
  begin(NO_EVENTS);
  a = take(5000, 1);
  work_on(1);
  give(a, 1);
  before = frees;
  CHECK_OK(tvmgo_device_stream_free(dev, handle_of(1)));
  CHECK_EQ_INT(frees, before + 1);
  end();
}

/* A stream that was freed without the runtime, and a new one with its handle. */
static void test_a_handle_comes_again(void) {
  begin(NO_EVENTS);
  void* a = take(5000, 3);
  work_on(3);
  give(a, 3);
  TVMFFIStreamHandle s;
  int64_t before = frees;
  CHECK_OK(tvmgo_device_stream_create(dev, &s));
  CHECK_EQ_PTR(s, handle_of(3));
  CHECK_EQ_INT(frees, before + 1); /* blocks of the old one are not used for the new one */
  end();
}

static void test_given_back_on_another_stream(void) {
  begin(DEVICE);
  void* a = take(5000, 1);
  int64_t before = frees;
  give(a, 2);
  CHECK_EQ_INT(frees, before + 1); /* the device waits for every stream */
  end();
}

static void test_bad_addresses(void) {
  begin(DEVICE);
  int foreign;
  CHECK_FAILS(tvmgo_workspace_give(dev, &foreign, NULL), TVMGO_VALUE_ERROR, "is not a workspace of pooldev:0");
  CHECK_FAILS(tvmgo_workspace_give(dev, NULL, NULL), TVMGO_VALUE_ERROR, "NULL");
  void* a = take(5000, 1);
  DLDevice other = {dev.device_type, 1};
  CHECK_FAILS(tvmgo_workspace_give(other, a, handle_of(1)), TVMGO_VALUE_ERROR, "is not a workspace of pooldev:1");
  give(a, 1);
  CHECK_FAILS(tvmgo_workspace_give(dev, a, handle_of(1)), TVMGO_VALUE_ERROR, "given back before");
  DLDevice absent = {dev.device_type, 7};
  void* p = a;
  CHECK_FAILS(tvmgo_workspace_take(absent, 10, (DLDataType){0, 8, 1}, NULL, &p), TVMGO_VALUE_ERROR, "no device 7");
  CHECK_EQ_PTR(p, NULL);
  CHECK_FAILS(tvmgo_workspace_take(dev, SIZE_MAX, (DLDataType){0, 8, 1}, NULL, &p), TVMGO_MEMORY_ERROR, "no machine");
  end();
}

static void test_devices_are_apart(void) {
  begin(DEVICE);
  void* a = take(5000, 0);
  give(a, 0);
  DLDevice other = {dev.device_type, 1};
  void* b = NULL;
  CHECK_OK(tvmgo_workspace_take(other, 5000, (DLDataType){0, 8, 1}, NULL, &b));
  CHECK(a != b);
  tvmgo_workspace_stats s;
  tvmgo_pool_stats(other, &s);
  CHECK_EQ_INT(s.in_use, 5120);
  CHECK_OK(tvmgo_workspace_give(other, b, NULL));
  int64_t bytes;
  CHECK_OK(tvmgo_workspace_trim_device(other, &bytes));
  CHECK_EQ_INT(bytes, 5120);
  end();
}

static void test_out_of_memory(void) {
  begin(DEVICE);
  void* a = take(1 << 20, 1);
  work_on(1);
  give(a, 1);
  room = 1 << 20; /* beside what lies idle */
  void* b = take(3 << 19, 1); /* fits when that is given up */
  CHECK(b != NULL);
  give(b, 1);
  void* p = b;
  CHECK_FAILS(tvmgo_workspace_take(dev, 64 << 20, (DLDataType){0, 8, 1}, handle_of(1), &p), TVMGO_MEMORY_ERROR,
              "allocate workspace of 67108864 bytes: the device is full");
  CHECK_EQ_PTR(p, NULL);
  void* c = take(10, 1); /* it still works */
  give(c, 1);
  room = INT64_MAX / 2;
  end();
  room = INT64_MAX / 2;
}

static void test_statistics_and_trim(void) {
  begin(DEVICE);
  tvmgo_workspace_stats before, s;
  tvmgo_pool_stats(dev, &before);
  void* a = take(4096, 1);
  void* b = take(8192, 1);
  give(a, 1);
  give(take(100, 1), 1);
  tvmgo_pool_stats(dev, &s);
  CHECK_EQ_INT(s.held, 4096 + 8192);
  CHECK_EQ_INT(s.in_use, 8192);
  CHECK(s.peak >= 4096 + 8192);
  CHECK_EQ_INT(s.hits - before.hits, 1);
  CHECK_EQ_INT(s.misses - before.misses, 2);
  CHECK_EQ_INT(s.blocks, 2);
  int64_t bytes = 0;
  CHECK_OK(tvmgo_workspace_trim_device(dev, &bytes));
  CHECK_EQ_INT(bytes, 4096);
  give(b, 1);
  refuse_free = 1;
  CHECK_FAILS(tvmgo_workspace_trim_device(dev, &bytes), TVMGO_RUNTIME_ERROR, "trim workspaces: the device sulks");
  refuse_free = 0;
  end();
}

static void test_what_is_kept_is_bounded(void) {
  begin(DEVICE);
  tvmgo_workspace_stats s;
  int64_t most = 0;
  for (int64_t n = 1 << 20; n <= 100 << 20; n += 1 << 20) {
    give(take((size_t)n, 0), 0);
    tvmgo_pool_stats(dev, &s);
    if (s.held - n * 5 / 4 > most) most = s.held - n * 5 / 4;
  }
  CHECK(most <= 64 << 20);
  for (int i = 0; i < 3 * 4096; i++) give(take(1000, 0), 0);
  tvmgo_pool_stats(dev, &s);
  CHECK(s.held <= 64 << 20); /* the large ones went away */
  end();
}

static void test_events_fail(void) {
  begin(DEVICE);
  void* a = take(5000, 1);
  work_on(1);
  give(a, 1);
  refuse_events = 1;
  void* b = take(5000, 2);
  CHECK(b != a);
  CHECK_OK(tvmgo_device_stream_free(dev, handle_of(1))); /* no event: the device gets it */
  refuse_events = 0;
  queues[1].completed = 1;
  void* c = take(5000, 2);
  give(b, 2), give(c, 2);
  end();
}

/* ---- threads ---- */

enum { THREADS = 8, ROUNDS = 20000 };

static void* churn(void* arg) {
  unsigned seed = (unsigned)(uintptr_t)arg;
  int stream = (int)(seed % STREAMS);
  int64_t* held[8] = {0};
  for (int i = 0; i < ROUNDS; i++) {
    seed = seed * 1103515245 + 12345;
    int k = seed >> 16 & 7;
    if (held[k] == NULL) {
      held[k] = take(seed >> 8 & 0xffff, stream);
      *held[k] = (int64_t)(intptr_t)arg * 8 + k;
    } else {
      CHECK_EQ_INT(*held[k], (int64_t)(intptr_t)arg * 8 + k);
      give(held[k], stream);
      held[k] = NULL;
    }
    int64_t bytes;
    if (i % 1000 == 0) CHECK_OK(tvmgo_workspace_trim_device(dev, &bytes));
  }
  for (int k = 0; k < 8; k++)
    if (held[k] != NULL) give(held[k], stream);
  return NULL;
}

static int churn_alloc(API, DLDevice d, size_t nbytes, size_t alignment, DLDataType hint, void** out) {
  (void)api, (void)d, (void)hint;
  allocs++;
  *out = aligned_alloc(alignment, nbytes);
  return 0;
}
static int churn_free(API, DLDevice d, void* p) {
  (void)api, (void)d;
  frees++;
  free(p);
  return 0;
}

static void test_many_threads(void) {
  static TVMGODeviceAPI api;
  api = with_events;
  api.alloc_data_space = churn_alloc;
  api.free_data_space = churn_free;
  static const TVMGODeviceSpec spec = {.struct_size = sizeof spec, .device_type = 28, .name = "churndev", .api = &api};
  CHECK_OK(TVMGODeviceAPIRegister(&spec));
  begin(28);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    REQUIRE(pthread_create(&threads[i], NULL, churn, (void*)(uintptr_t)(i + 1)) == 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  end();
}

int main(int argc, char** argv) {
  static const TVMGODeviceSpec specs[2] = {
      {.struct_size = sizeof *specs, .device_type = DEVICE, .name = "pooldev", .api = &with_events},
      {.struct_size = sizeof *specs, .device_type = NO_EVENTS, .name = "plaindev", .api = &without_events}};
  check_begin(argc, argv);
  tvmgo_idle_set_time(0); /* the tests count what is idle */
  if (TVMGODeviceAPIRegister(&specs[0]) != 0 || TVMGODeviceAPIRegister(&specs[1]) != 0) return 1;
  RUN(test_own_stream_reuses_at_once);
  RUN(test_other_stream_waits_for_the_event);
  RUN(test_newer_give_backs_need_newer_events);
  RUN(test_a_wait_frees_for_all);
  RUN(test_a_stream_goes);
  RUN(test_a_handle_comes_again);
  RUN(test_given_back_on_another_stream);
  RUN(test_bad_addresses);
  RUN(test_devices_are_apart);
  RUN(test_out_of_memory);
  RUN(test_statistics_and_trim);
  RUN(test_what_is_kept_is_bounded);
  RUN(test_events_fail);
  RUN(test_many_threads);
  return check_end();
}
