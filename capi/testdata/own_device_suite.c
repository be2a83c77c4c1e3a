#include "own_device_suite.h"

#include <pthread.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

static int32_t type;
static const TVMGODeviceAPI* api;

static const char* last_error(void) { return TVMGetLastError(); }
#define OK(x)                                            \
  do {                                                   \
    if ((x) != 0) FAIL("%s: %s", #x, last_error());      \
  } while (0)
#define FAILS(x, says)                                                             \
  do {                                                                             \
    if ((x) == 0) FAIL("%s succeeds", #x);                                         \
    else if (strstr(last_error(), says) == NULL) FAIL("%s: the error is \"%s\", want \"%s\"", #x, last_error(), says); \
  } while (0)

static DLDevice device(int32_t id) { return (DLDevice){(DLDeviceType)type, id}; }
static const DLDevice host = {kDLCPU, 0};
static const DLDataType u8 = {kDLUInt, 8, 1};

static void* data_space(int32_t id, size_t n) {
  void* p = NULL;
  OK(TVMDeviceAllocDataSpace(device(id), n, 64, u8, &p));
  return p;
}

static int copy_at(DLDevice fdev, void* from, size_t foff, DLDevice tdev, void* to, size_t toff, size_t n,
    void* stream) {
  int64_t shape = (int64_t)n;
  DLTensor f = {from, fdev, 1, u8, &shape, NULL, foff}, t = {to, tdev, 1, u8, &shape, NULL, toff};
  return TVMDeviceCopyDataFromTo(&f, &t, stream);
}

/* The byte at index i of the pattern of a seed. */
static unsigned char byte_of(size_t i, int seed) { return (unsigned char)(i * 7 + (size_t)seed * 31); }
static void fill(unsigned char* p, size_t n, int seed) {
  for (size_t i = 0; i < n; i++) p[i] = byte_of(i, seed);
}
static int holds(const unsigned char* p, size_t n, int seed) {
  for (size_t i = 0; i < n; i++)
    if (p[i] != byte_of(i, seed)) return 0;
  return 1;
}

/* Calls a global function with integer arguments, and returns the result if it is an integer. */
static int call(const char* name, const int64_t* ints, int n, TVMFFIAny* out) {
  TVMFFIObjectHandle f = NULL;
  TVMFFIAny args[4] = {{0}};
  TVMFFIByteArray key = {name, strlen(name)};
  if (TVMFFIFunctionGetGlobal(&key, &f) != 0 || f == NULL) return -1;
  for (int i = 0; i < n; i++) {
    args[i].type_index = kTVMFFIInt;
    args[i].v_int64 = ints[i];
  }
  memset(out, 0, sizeof *out);
  int rc = TVMFFIFunctionCall(f, args, n, out);
  TVMFFIObjectDecRef(f);
  return rc;
}
#define CALL(name, out, ...) call(name, (int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), out)

static void release_value(TVMFFIAny* v) {
  if (v->type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(v->v_obj);
}

static void attributes(void) {
  TVMFFIAny out;
  OK(CALL("runtime.GetDeviceAttr", &out, type, 0, kTVMGODeviceAttrExist));
  CHECK(out.type_index == kTVMFFIInt && out.v_int64 == 1);
  OK(CALL("runtime.GetDeviceAttr", &out, type, 99, kTVMGODeviceAttrExist));
  CHECK(out.type_index == kTVMFFIInt && out.v_int64 == 0);
  for (int kind = 1; kind < 20; kind++) {
    int text = kind == 4 || kind == 5 || kind == 8 || kind == 10 || kind == 12;
    OK(CALL("runtime.GetDeviceAttr", &out, type, 0, kind));
    int is_text = out.type_index == kTVMFFISmallStr || out.type_index == kTVMFFIStr;
    if (out.type_index != kTVMFFINone && is_text != text) FAIL("attribute %d is of type %d", kind, (int)out.type_index);
    if (out.type_index != kTVMFFINone && !text && out.type_index != kTVMFFIInt) FAIL("attribute %d is no int", kind);
    if (kind > kTVMGODeviceAttrImagePitchAlignment) CHECK(out.type_index == kTVMFFINone);
    release_value(&out);
  }
  OK(CALL("__tvm_set_device", &out, type, 1));
  OK(CALL("__tvm_set_device", &out, type, 0));
  if (CALL("__tvm_set_device", &out, type, 99) == 0) FAIL("a device that does not exist was made active");
}

static void allocation(void) {
  static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1000000}, alignments[] = {64, 128, 256, 4096};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t k = 0; k < sizeof alignments / sizeof *alignments; k++) {
      void* p = NULL;
      OK(TVMDeviceAllocDataSpace(device(0), sizes[i], alignments[k], u8, &p));
      CHECK(p != NULL && (size_t)p % alignments[k] == 0);
      OK(TVMDeviceFreeDataSpace(device(0), p));
    }
  void* p = NULL;
  FAILS(TVMDeviceAllocDataSpace(device(0), (size_t)1 << 50, 64, u8, &p), "MemoryError");
  CHECK(p == NULL);
  FAILS(TVMDeviceAllocDataSpace(device(99), 64, 64, u8, &p), ":");
  p = data_space(0, 64); /* it still works */
  OK(TVMDeviceFreeDataSpace(device(0), p));
}

enum { N = 1000 };

static void copies(void) {
  unsigned char a[N], b[N], got[N];
  struct {
    const char* name;
    DLDevice dev;
    void* p;
    int workspace;
  } places[4] = {{"data space", device(0), data_space(0, N), 0},
                 {"workspace", device(0), TVMBackendAllocWorkspace(type, 0, N, 1, 8), 1},
                 {"host", host, malloc(N), 0},
                 {"second device", device(1), data_space(1, N), 0}};
  static const size_t parts[][3] = {{0, 0, N}, {3, 0, 50}, {0, 5, 50}, {9, 20, 40}, {N - 1, 0, 1}};
  for (int f = 0; f < 4; f++)
    for (int t = 0; t < 4; t++)
      for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (f == t || (f == 2 && t == 2)) continue;
        size_t at = parts[k][0], into = parts[k][1], n = parts[k][2];
        fill(a, N, 1);
        fill(b, N, 2);
        OK(copy_at(host, a, 0, places[f].dev, places[f].p, 0, N, NULL));
        OK(copy_at(host, b, 0, places[t].dev, places[t].p, 0, N, NULL));
        OK(copy_at(places[f].dev, places[f].p, at, places[t].dev, places[t].p, into, n, NULL));
        OK(TVMSynchronize(type, 0, NULL));
        OK(TVMSynchronize(type, 1, NULL));
        OK(copy_at(places[t].dev, places[t].p, 0, host, got, 0, N, NULL));
        OK(TVMSynchronize(type, 0, NULL));
        memcpy(b + into, a + at, n);
        if (memcmp(got, b, N) != 0) FAIL("%zu bytes from byte %zu of %s to byte %zu of %s are wrong", n, at,
            places[f].name, into, places[t].name);
      }
  for (int i = 0; i < 4; i++) {
    if (places[i].dev.device_type == kDLCPU) free(places[i].p);
    else if (places[i].workspace) OK(TVMBackendFreeWorkspace(type, 0, places[i].p));
    else OK(TVMDeviceFreeDataSpace(places[i].dev, places[i].p));
  }
}

/* The host's memory is changed and freed as soon as the call returns. */
static void host_memory(void) {
  void *x = data_space(0, N), *y = data_space(0, N), *s = NULL;
  OK(TVMStreamCreate(type, 0, &s));
  for (int round = 0; round < 4; round++) {
    void* on = round % 2 ? s : NULL;
    for (int i = 0; i < 2; i++) {
      unsigned char* h = malloc(N);
      fill(h, N, round * 2 + i);
      OK(copy_at(host, h, 0, device(0), i ? y : x, 0, N, on));
      memset(h, 0xff, N);
      free(h);
    }
    for (int i = 0; i < 2; i++) {
      unsigned char* h = malloc(N);
      memset(h, 0, N);
      OK(copy_at(device(0), i ? y : x, 0, host, h, 0, N, on));
      if (!holds(h, N, round * 2 + i)) FAIL("round %d: what was copied to the host is not there when the "
          "call returns", round);
      OK(TVMSynchronize(type, 0, on));
      free(h);
    }
  }
  OK(TVMStreamFree(type, 0, s));
  OK(TVMDeviceFreeDataSpace(device(0), x));
  OK(TVMDeviceFreeDataSpace(device(0), y));
}

static void streams(void) {
  enum { HOPS = 6 };
  void *at[HOPS + 1], *s[HOPS + 1];
  unsigned char h[N];
  for (int i = 0; i <= HOPS; i++) {
    at[i] = data_space(0, N);
    OK(TVMStreamCreate(type, 0, &s[i]));
    fill(h, N, 50);
    OK(copy_at(host, h, 0, device(0), at[i], 0, N, NULL));
  }
  fill(h, N, 7);
  OK(copy_at(host, h, 0, device(0), at[0], 0, N, NULL));
  OK(TVMSynchronize(type, 0, NULL));
  for (int i = 0; i < HOPS; i++) {
    OK(copy_at(device(0), at[i], 0, device(0), at[i + 1], 0, N, s[i]));
    OK(TVMStreamStreamSynchronize(type, 0, s[i], s[i + 1]));
  }
  OK(TVMSynchronize(type, 0, s[HOPS]));
  memset(h, 0, N);
  OK(copy_at(device(0), at[HOPS], 0, host, h, 0, N, s[HOPS]));
  if (!holds(h, N, 7)) FAIL("data that streams pass on, each waiting for the one before, arrive wrong");
  OK(TVMSetStream(type, 0, s[0]));
  CHECK(TVMFFIEnvGetStream(type, 0) == s[0] && TVMFFIEnvGetStream(type, 1) == NULL);
  OK(TVMSetStream(type, 0, NULL));
  /* Frees memory that queued work still uses, and a stream with pending work. */
  fill(h, N, 8);
  OK(copy_at(host, h, 0, device(0), at[0], 0, N, s[0]));
  OK(copy_at(device(0), at[0], 0, device(0), at[1], 0, N, s[0]));
  OK(TVMDeviceFreeDataSpace(device(0), at[0]));
  for (int i = 0; i <= HOPS; i++) OK(TVMStreamFree(type, 0, s[i]));
  OK(copy_at(device(0), at[1], 0, host, h, 0, N, NULL));
  if (!holds(h, N, 8)) FAIL("work that was queued before its memory was freed went wrong");
  for (int i = 1; i <= HOPS; i++) OK(TVMDeviceFreeDataSpace(device(0), at[i]));
}

static void* workspace_on(void* s, size_t n) {
  OK(TVMSetStream(type, 0, s));
  void* p = TVMBackendAllocWorkspace(type, 0, n, 1, 8);
  if (p == NULL) FAIL("workspace: %s", last_error());
  return p;
}
static void give_on(void* s, void* p) {
  OK(TVMSetStream(type, 0, s));
  OK(TVMBackendFreeWorkspace(type, 0, p));
}

static void workspaces(void) {
  enum { LARGE = 200000 };
  static unsigned char h[LARGE];
  void *a = NULL, *b = NULL;
  TVMFFIAny out;
  OK(TVMStreamCreate(type, 0, &a));
  OK(TVMStreamCreate(type, 0, &b));
  for (size_t n = 0; n < 100000; n = n * 3 + 1) {
    char *p = workspace_on(a, n), *q = workspace_on(a, n);
    CHECK(p != NULL && q != NULL && (size_t)p % 64 == 0 && (size_t)q % 64 == 0);
    CHECK(p + n <= q || q + n <= p); /* disjoint */
    give_on(a, p);
    give_on(a, q);
    int reused = 0; /* not always immediately: under TVMGO_VALIDATE=1 freed memory is kept for a while */
    for (int k = 0; k < 100 && !reused; k++) {
      char* again = workspace_on(a, n);
      reused = again == p || again == q;
      give_on(a, again);
    }
    CHECK(reused);
  }
  void *x = data_space(0, LARGE), *y = data_space(0, LARGE), *z = data_space(0, LARGE);
  for (int round = 0; round < 5; round++) {
    fill(h, LARGE, round);
    OK(copy_at(host, h, 0, device(0), x, 0, LARGE, NULL));
    fill(h, LARGE, 90 + round);
    OK(copy_at(host, h, 0, device(0), z, 0, LARGE, NULL));
    OK(TVMSynchronize(type, 0, NULL));
    void* w = workspace_on(a, LARGE);
    OK(copy_at(device(0), x, 0, device(0), w, 0, LARGE, a));
    OK(TVMSynchronize(type, 0, a));
    for (int k = 0; k < 20; k++) OK(copy_at(device(0), w, 0, device(0), y, 0, LARGE, a)); /* work for a while */
    give_on(a, w);
    void* v = workspace_on(b, LARGE);
    OK(copy_at(device(0), z, 0, device(0), v, 0, LARGE, b));
    OK(TVMSynchronize(type, 0, b));
    OK(TVMSynchronize(type, 0, a));
    OK(copy_at(device(0), y, 0, host, h, 0, LARGE, NULL));
    if (!holds(h, LARGE, round)) FAIL("round %d: a stream wrote into a workspace before another's work on "
        "it was done", round);
    give_on(b, v);
    OK(TVMSynchronize(type, 0, b));
  }
  OK(TVMSetStream(type, 0, NULL));
  FAILS(TVMBackendFreeWorkspace(type, 0, NULL), "NULL");
  CHECK(CALL("tvmgo.workspace.trim", &out, type, 0) == 0 && out.type_index == kTVMFFIInt && out.v_int64 > 0);
  CHECK(CALL("tvmgo.workspace.trim", &out, type, 0) == 0 && out.v_int64 == 0);
  CHECK(TVMBackendAllocWorkspace(type, 99, 64, 1, 8) == NULL);
  OK(TVMStreamFree(type, 0, a));
  OK(TVMStreamFree(type, 0, b));
  OK(TVMDeviceFreeDataSpace(device(0), x));
  OK(TVMDeviceFreeDataSpace(device(0), y));
  OK(TVMDeviceFreeDataSpace(device(0), z));
}

static void events_and_timers(void) {
  void *x = data_space(0, N), *y = data_space(0, N), *s = NULL;
  unsigned char h[N];
  int64_t ns = -1;
  fill(h, N, 3);
  OK(copy_at(host, h, 0, device(0), x, 0, N, NULL));
  OK(TVMSynchronize(type, 0, NULL));
  OK(TVMStreamCreate(type, 0, &s));
  if (TVMGODeviceAPIHas(api, event_create)) {
    void* e = NULL;
    int32_t done = 0;
    OK(api->event_create(api, device(0), &e));
    OK(api->event_wait(api, e, s)); /* never recorded: does not block */
    for (int k = 0; k < 20; k++) OK(copy_at(device(0), x, 0, device(0), y, 0, N, s));
    OK(api->event_record(api, e, s));
    OK(api->event_query(api, e, &done));
    if (done) {
      memset(h, 0, N); /* then the copy is there, without a wait */
      memcpy(h, y, N);
      if (!holds(h, N, 3)) FAIL("an event was reached before the work that it stands for was done");
    }
    OK(api->event_sync(api, e));
    OK(api->event_query(api, e, &done));
    CHECK(done == 1);
    OK(copy_at(device(0), y, 0, host, h, 0, N, NULL));
    if (!holds(h, N, 3)) FAIL("an event was waited for, but the work before it is not done");
    OK(api->event_free(api, e));
  }
  if (TVMGODeviceAPIHas(api, timer_create)) {
    void* t = NULL;
    OK(api->timer_create(api, device(0), &t));
    CHECK(api->timer_elapsed_ns(api, t, &ns) != 0);
    OK(api->timer_start(api, t, s));
    OK(copy_at(device(0), x, 0, device(0), y, 0, N, s));
    OK(api->timer_stop(api, t, s));
    OK(api->timer_elapsed_ns(api, t, &ns));
    if (ns <= 0) FAIL("a copy takes %lld ns", (long long)ns);
    OK(api->timer_free(api, t));
  }
  OK(TVMStreamFree(type, 0, s));
  OK(TVMDeviceFreeDataSpace(device(0), x));
  OK(TVMDeviceFreeDataSpace(device(0), y));
}

static void* on_thread(void* arg) {
  int seed = (int)(intptr_t)arg;
  unsigned char h[N];
  for (int round = 0; round < 30; round++) {
    void *x = data_space(seed % 2, N), *s = NULL;
    OK(TVMStreamCreate(type, seed % 2, &s));
    OK(TVMSetStream(type, seed % 2, s));
    void* w = TVMBackendAllocWorkspace(type, seed % 2, N, 1, 8);
    CHECK(w != NULL);
    fill(h, N, seed + round);
    OK(copy_at(host, h, 0, device(seed % 2), x, 0, N, s));
    OK(copy_at(device(seed % 2), x, 0, device(seed % 2), w, 0, N, s));
    memset(h, 0, N);
    OK(copy_at(device(seed % 2), w, 0, host, h, 0, N, s));
    if (!holds(h, N, seed + round)) FAIL("thread %d, round %d: wrong data", seed, round);
    OK(TVMBackendFreeWorkspace(type, seed % 2, w));
    OK(TVMSetStream(type, seed % 2, NULL));
    OK(TVMStreamFree(type, seed % 2, s));
    OK(TVMDeviceFreeDataSpace(device(seed % 2), x));
  }
  return NULL;
}

static void many_threads(void) {
  pthread_t t[8];
  for (intptr_t i = 0; i < 8; i++) CHECK(pthread_create(&t[i], NULL, on_thread, (void*)i) == 0);
  for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
}

static void books(int32_t id, TVMGOMemoryStats* s) {
  TVMFFIAny out;
  *s = (TVMGOMemoryStats){.struct_size = sizeof *s};
  OK(CALL("tvmgo.workspace.trim", &out, type, id));
  if (TVMGODeviceAPIHas(api, memory_stats)) OK(api->memory_stats(api, device(id), s));
}

void device_suite(int32_t device_type) {
  static const struct {
    const char* name;
    void (*run)(void);
  } parts[] = {{"attributes", attributes},   {"allocation", allocation}, {"copies", copies},
               {"host memory", host_memory}, {"streams", streams},       {"workspaces", workspaces},
               {"events and timers", events_and_timers}, {"many threads", many_threads}};
  type = device_type;
  if (TVMGODeviceAPIGet(type, 0, &api) != 0) {
    FAIL("%s", last_error());
    return;
  }
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    TVMGOMemoryStats before[2], after[2];
    int failed = failures;
    for (int id = 0; id < 2; id++) books(id, &before[id]);
    parts[i].run();
    for (int id = 0; id < 2; id++) {
      books(id, &after[id]);
      if (before[id].data_bytes != after[id].data_bytes || before[id].data_count != after[id].data_count ||
          before[id].pinned_bytes != after[id].pinned_bytes)
        FAIL("memory is held that was not before");
    }
    printf("%s: %s\n", failures == failed ? "passed" : "FAILED", parts[i].name);
    fflush(stdout);
  }
}
