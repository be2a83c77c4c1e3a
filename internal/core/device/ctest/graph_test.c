/* Memory in the order of streams and graphs, on a device that counts its calls; and devices compiled before these
 * fields existed. */
#include "ctest/check.h"
#include "device/graph.h"

#include <pthread.h>
#include <sched.h>

enum { DEVICE = 20, OLD = 21, HALF = 22 };

static _Atomic int data_frees, stream_frees, allocs, orders, open_graphs, after_free;
static _Atomic int stream_is_there; /* of the hammer */

#define API const TVMGODeviceAPI* api
static int set_device(API, int32_t id) { return (void)api, (void)id, 0; }
static int get_attr(API, int32_t id, int32_t kind, TVMFFIAny* out) {
  (void)api, (void)id, (void)kind;
  *out = tvmgo_any_none();
  return 0;
}
static int alloc(API, DLDevice dev, size_t n, size_t alignment, DLDataType hint, void** out) {
  (void)api, (void)dev, (void)hint;
  allocs++;
  *out = aligned_alloc(alignment, (n + alignment) / alignment * alignment);
  return 0;
}
static int free_space(API, DLDevice dev, void* p) {
  (void)api, (void)dev;
  data_frees++;
  free(p);
  return 0;
}
static int copy(API, const DLTensor* from, const DLTensor* to, TVMFFIStreamHandle s) {
  return (void)api, (void)from, (void)to, (void)s, 0;
}
static int sync(API, DLDevice dev, TVMFFIStreamHandle s) { return (void)api, (void)dev, (void)s, 0; }
static int create(API, DLDevice dev, TVMFFIStreamHandle* out) {
  static _Atomic intptr_t next = 0x100;
  (void)api, (void)dev;
  *out = (void*)(next += 16);
  return 0;
}
static int free_stream(API, DLDevice dev, TVMFFIStreamHandle s) {
  stream_is_there = 0;
  return sync(api, dev, s);
}
static int order(API, DLDevice dev, TVMFFIStreamHandle a, TVMFFIStreamHandle b) {
  (void)api, (void)dev, (void)a, (void)b;
  orders++;
  return 0;
}
static int alloc_on(API, DLDevice dev, size_t n, size_t alignment, DLDataType t, TVMFFIStreamHandle s, void** out) {
  (void)s;
  return alloc(api, dev, n, alignment, t, out);
}
static int free_on(API, DLDevice dev, void* p, TVMFFIStreamHandle s) {
  (void)api, (void)dev, (void)s;
  sched_yield();
  if (!stream_is_there) after_free++;
  stream_frees++;
  free(p);
  return 0;
}
static int begin(API, DLDevice dev, TVMFFIStreamHandle s) { return sync(api, dev, s); }
static int end(API, DLDevice dev, TVMFFIStreamHandle s, void** out) {
  (void)api, (void)dev, (void)s;
  if (out == NULL) return 0;
  open_graphs++;
  *out = malloc(1);
  return 0;
}
static int launch(API, DLDevice dev, void* g, TVMFFIStreamHandle s) { return (void)g, sync(api, dev, s); }
static int free_graph(API, DLDevice dev, void* g) {
  (void)api, (void)dev;
  open_graphs--;
  free(g);
  return 0;
}

#define UP_TO_STREAMS                                                                                            \
  .set_device = set_device, .get_attr = get_attr, .alloc_data_space = alloc, .free_data_space = free_space,     \
  .copy_data_from_to = copy, .stream_sync = sync, .create_stream = create, .free_stream = free_stream,          \
  .set_stream = sync, .sync_stream_from_to = order
#define NEW_FIELDS                                                                                               \
  .alloc_on_stream = alloc_on, .free_on_stream = free_on, .capture_begin = begin, .capture_end = end,           \
  .graph_launch = launch, .graph_free = free_graph

static const TVMGODeviceAPI full = {.struct_size = sizeof full, UP_TO_STREAMS, NEW_FIELDS};
/* Half of each group of functions counts as none. */
static const TVMGODeviceAPI half = {.struct_size = sizeof half, UP_TO_STREAMS, .alloc_on_stream = alloc_on,
                                    .capture_begin = begin, .capture_end = end, .graph_launch = launch};
/* A device compiled before these fields existed: the memory after its table is not part of the table. */
static struct {
  _Alignas(TVMGODeviceAPI) char table[offsetof(TVMGODeviceAPI, alloc_on_stream)];
  char behind[64];
} old;

static const DLDataType f32 = {kDLFloat, 32, 1};
static DLDevice on(int32_t type) { return (DLDevice){(DLDeviceType)type, 0}; }

static tvmgo_tensor* tensor_on(int32_t type, TVMFFIStreamHandle s) {
  int64_t shape = 16;
  tvmgo_tensor* t = tvmgo_tensor_on_stream(&shape, 1, f32, on(type), s);
  CHECK(t != NULL);
  return t;
}

static void test_older_devices(void) {
  static const int32_t types[] = {OLD, HALF};
  for (int i = 0; i < 2; i++) {
    void* s = NULL;
    int frees = data_frees;
    CHECK_OK(tvmgo_device_stream_create(on(types[i]), &s));
    tvmgo_object_release(tensor_on(types[i], s));
    CHECK_EQ_INT(data_frees, frees + 1);
    CHECK(tvmgo_graph_begin(on(types[i]), s) == NULL);
    CHECK_ERROR(TVMGO_NOT_SUPPORTED_ERROR, "cannot record work");
    CHECK_OK(tvmgo_device_stream_free(on(types[i]), s));
  }
  CHECK_EQ_INT(stream_frees, 0);
}

static void test_memory_finds_its_way(void) {
  void *s = NULL, *r = NULL;
  CHECK_OK(tvmgo_device_stream_create(on(DEVICE), &s));
  CHECK_OK(tvmgo_device_stream_create(on(DEVICE), &r));
  int on_stream = stream_frees, frees = data_frees;
  tvmgo_tensor *a = tensor_on(DEVICE, s), *b = tensor_on(DEVICE, s), *c = tensor_on(DEVICE, r),
      *d = tensor_on(DEVICE, NULL);
  stream_is_there = 1;
  tvmgo_object_release(a);
  CHECK_EQ_INT(stream_frees, on_stream + 1);
  CHECK_OK(tvmgo_device_stream_free(on(DEVICE), s));
  tvmgo_object_release(b); /* its stream was freed */
  CHECK_EQ_INT(data_frees, frees + 1);
  tvmgo_object_release(c); /* the other one is not */
  tvmgo_object_release(d);
  CHECK_EQ_INT(stream_frees, on_stream + 3);
  CHECK_OK(tvmgo_device_stream_free(on(DEVICE), r));
}

/* Memory that is returned to the recorded stream may be reused there at once, so that stream waits for launches on
 * other streams. */
static void test_launches_elsewhere(void) {
  void *s = NULL, *r = NULL;
  CHECK_OK(tvmgo_device_stream_create(on(DEVICE), &s));
  CHECK_OK(tvmgo_device_stream_create(on(DEVICE), &r));
  stream_is_there = 1;
  tvmgo_tensor* x = tensor_on(DEVICE, s);
  int64_t shape = 4;
  tvmgo_tensor* view = tvmgo_tensor_view(x, &shape, 1, f32, NULL, 0);
  tvmgo_tensor* plain = tvmgo_tensor_new(&shape, 1, f32, on(DEVICE), NULL);
  for (int uses = 0; uses < 2; uses++) {
    tvmgo_graph* g = tvmgo_graph_begin(on(DEVICE), s);
    REQUIRE(g != NULL);
    CHECK_EQ_INT(check_live(TVMGO_LIVE_GRAPHS), 1);
    CHECK(tvmgo_graph_begin(on(DEVICE), s) == NULL);
    CHECK_ERROR(TVMGO_VALUE_ERROR, "records already");
    CHECK_FAILS(tvmgo_graph_launch(g, s), TVMGO_VALUE_ERROR, "launch graph: the stream records");
    CHECK_FAILS(tvmgo_device_sync(on(DEVICE), s), TVMGO_VALUE_ERROR, "synchronize: the stream records");
    CHECK_OK(tvmgo_recording_retain(on(DEVICE), s, uses ? &view->header : &plain->header));
    CHECK_OK(tvmgo_recording_retain(on(DEVICE), r, &x->header)); /* doesn't record */
    CHECK_OK(tvmgo_graph_end(g, 0));
    int before = orders;
    CHECK_OK(tvmgo_graph_launch(g, s));
    CHECK_EQ_INT(orders, before);
    CHECK_OK(tvmgo_graph_launch(g, r));
    CHECK_EQ_INT(orders, before + uses);
    if (uses) {
      CHECK_OK(tvmgo_device_stream_free(on(DEVICE), s));
      CHECK_OK(tvmgo_graph_launch(g, r));
      CHECK_EQ_INT(orders, before + uses);
    }
    tvmgo_object_release(g);
    CHECK_EQ_INT(open_graphs, 0);
    CHECK_EQ_INT(check_live(TVMGO_LIVE_GRAPHS), 0);
  }
  tvmgo_object_release(plain);
  tvmgo_object_release(view);
  tvmgo_object_release(x);
  CHECK_OK(tvmgo_device_stream_free(on(DEVICE), r));
}

/* ---- threads ---- */

enum { THREADS = 4, EACH = 200 };
static tvmgo_tensor* shared[THREADS][EACH];

static void* release_mine(void* arg) {
  tvmgo_tensor** mine = arg;
  for (int i = 0; i < EACH; i++) tvmgo_object_release(mine[i]);
  return NULL;
}

/* A stream is freed while other threads return its memory: none of it is returned to a freed stream. */
static void test_stream_freed_meanwhile(void) {
  after_free = 0;
  for (int round = 0; round < 20; round++) {
    void* s = NULL;
    pthread_t t[THREADS];
    CHECK_OK(tvmgo_device_stream_create(on(DEVICE), &s));
    stream_is_there = 1;
    for (int i = 0; i < THREADS; i++)
      for (int k = 0; k < EACH; k++) shared[i][k] = tensor_on(DEVICE, s);
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, release_mine, shared[i]);
    CHECK_OK(tvmgo_device_stream_free(on(DEVICE), s));
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  }
  CHECK_EQ_INT(after_free, 0);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_TENSOR_BYTES), 0);
}

/* Each thread records on its own stream, and tries to record on a shared one. */
static void* record(void* common) {
  void* s = NULL;
  CHECK_OK(tvmgo_device_stream_create(on(DEVICE), &s));
  tvmgo_tensor* x = tensor_on(DEVICE, NULL);
  for (int i = 0; i < EACH; i++) {
    tvmgo_graph *g = tvmgo_graph_begin(on(DEVICE), s), *h = tvmgo_graph_begin(on(DEVICE), common);
    if (g == NULL) break;
    CHECK_OK(tvmgo_recording_retain(on(DEVICE), s, &x->header));
    CHECK_OK(tvmgo_recording_retain(on(DEVICE), common, &x->header));
    CHECK_OK(tvmgo_graph_end(g, i % 2));
    if (i % 2 == 0) CHECK_OK(tvmgo_graph_launch(g, NULL));
    tvmgo_object_release(g);
    if (h == NULL) {
      CHECK_ERROR(TVMGO_VALUE_ERROR, "records already");
    } else {
      CHECK_OK(tvmgo_graph_end(h, 0));
      tvmgo_object_release(h);
    }
  }
  tvmgo_object_release(x);
  CHECK_OK(tvmgo_device_stream_free(on(DEVICE), s));
  return NULL;
}

static void test_recordings_of_threads(void) {
  void* common = NULL;
  pthread_t t[THREADS];
  CHECK_OK(tvmgo_device_stream_create(on(DEVICE), &common));
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, record, common);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  CHECK_EQ_INT(tvmgo_recordings, 0);
  CHECK_EQ_INT(open_graphs, 0);
  CHECK_EQ_INT(check_live(TVMGO_LIVE_GRAPHS), 0);
  CHECK_OK(tvmgo_device_stream_free(on(DEVICE), common));
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  static const TVMGODeviceAPI before = {.struct_size = offsetof(TVMGODeviceAPI, alloc_on_stream), UP_TO_STREAMS};
  memcpy(old.table, &before, sizeof old.table);
  memset(old.behind, 0x5a, sizeof old.behind);
  const TVMGODeviceSpec specs[] = {
      {.struct_size = sizeof *specs, .device_type = DEVICE, .name = "graphdev", .api = &full},
      {.struct_size = sizeof *specs, .device_type = OLD, .name = "olddev", .api = (const TVMGODeviceAPI*)(void*)&old},
      {.struct_size = sizeof *specs, .device_type = HALF, .name = "halfdev", .api = &half}};
  for (int i = 0; i < 3; i++)
    if (TVMGODeviceAPIRegister(&specs[i]) != 0) return 1;
  RUN(test_older_devices);
  RUN(test_memory_finds_its_way);
  RUN(test_launches_elsewhere);
  RUN(test_stream_freed_meanwhile);
  RUN(test_recordings_of_threads);
  return check_end();
}
