#include "ctest/check.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

static int64_t in_use(void) { return check_live(TVMGO_LIVE_WORKSPACE_BYTES); }
static int64_t cached(void) { return check_live(TVMGO_LIVE_WORKSPACE_CACHED); }

static void* alloc(uint64_t nbytes) { return TVMBackendAllocWorkspace(kDLCPU, 0, nbytes, kDLFloat, 32); }
static int give_back(void* p) { return TVMBackendFreeWorkspace(kDLCPU, 0, p); }

static void test_sizes(void) {
  static const size_t sizes[] = {0,    1,     63,    64,      4095,    4096,    4097,   5120,
                                 5121, 8192,  8193,  65536,   100000,  1000000, 1 << 20, (1 << 20) + 1,
                                 3 << 20, 16 << 20};
  int64_t before = in_use();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char* p = alloc(sizes[i]);
    REQUIRE(p != NULL);
    CHECK_EQ_INT((uintptr_t)p % 64, 0);
    memset(p, 0x5a, sizes[i]);
    int64_t got = in_use() - before;
    CHECK(got >= (int64_t)sizes[i]);
    CHECK(got <= 4096 || got <= (int64_t)sizes[i] * 5 / 4 + 1);
    CHECK_OK(give_back(p));
    CHECK_EQ_INT(in_use(), before);
  }
  tvmgo_workspace_trim();
}

static void test_blocks_are_apart(void) {
  enum { BLOCKS = 300 };
  unsigned char* blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = alloc((uint64_t)i * 37);
    REQUIRE(blocks[i] != NULL);
    memset(blocks[i], i & 0xff, (size_t)i * 37);
  }
  int wrong = 0;
  for (int i = 0; i < BLOCKS; i++)
    for (int k = 0; k < i * 37; k++) wrong += blocks[i][k] != (i & 0xff);
  CHECK_EQ_INT(wrong, 0);
  for (int i = 0; i < BLOCKS; i++) CHECK_OK(give_back(blocks[(i * 7) % BLOCKS])); /* any order */
  CHECK_EQ_INT(in_use(), 0);
}

static void test_reuse(void) {
  tvmgo_workspace_trim();
  void* a = alloc(100000);
  CHECK_OK(give_back(a));
  void* b = alloc(99000); /* of the same class */
  CHECK_EQ_PTR(b, a);
  CHECK_OK(give_back(b));
  CHECK(cached() > 0);
  CHECK_EQ_INT((int64_t)tvmgo_workspace_trim(), (int64_t)(114688));
  CHECK_EQ_INT(cached(), 0);
  CHECK_EQ_INT((int64_t)tvmgo_workspace_trim(), 0);
}

static void test_bad_addresses(void) {
  static _Alignas(4096) char foreign[8192];
  char* p = alloc(1000);
  CHECK_FAILS(give_back(NULL), TVMGO_VALUE_ERROR, "NULL");
  CHECK_FAILS(give_back(p + 4), TVMGO_VALUE_ERROR, "not the start of a workspace");
  CHECK_FAILS(give_back(p + 128), TVMGO_VALUE_ERROR, "not the start of a workspace");
  for (int at = 0; at < 4096; at += 64)
    CHECK_FAILS(give_back(foreign + at), TVMGO_VALUE_ERROR, "not the start of a workspace");
  CHECK_OK(give_back(p));
  CHECK_FAILS(give_back(p), TVMGO_VALUE_ERROR, "given back before");
  void* q = alloc(1000);
  CHECK_EQ_PTR(q, p); /* the second free changed nothing */
  void* r = alloc(1000);
  CHECK(r != q);
  CHECK_OK(give_back(q));
  CHECK_OK(give_back(r));
  CHECK_EQ_INT(in_use(), 0);
}

static void test_too_large(void) {
  static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 63, UINT64_MAX / 2, UINT64_C(1) << 63,
                                   (UINT64_C(1) << 46) + 1, UINT64_C(1) << 46};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CHECK_EQ_PTR(alloc(sizes[i]), NULL);
    CHECK_ERROR(TVMGO_MEMORY_ERROR, "allocate workspace of");
  }
  void* p = alloc(10);
  CHECK_OK(give_back(p));
}

static void test_unknown_device(void) {
  CHECK_EQ_PTR(TVMBackendAllocWorkspace(99, 0, 64, 2, 32), NULL);
  CHECK_ERROR(TVMGO_VALUE_ERROR, "device type 99");
  CHECK_FAILS(TVMBackendFreeWorkspace(99, 0, &(int){0}), TVMGO_VALUE_ERROR, "device type 99");
  CHECK_FAILS(TVMBackendFreeWorkspace(99, 0, NULL), TVMGO_VALUE_ERROR, "NULL");
}

/* ---- devices that are not the CPU ---- */

/* Counts requests and records the last one. */
static struct {
  int workspaces, data_spaces;
  DLDevice dev;
  size_t nbytes, alignment;
  DLDataType hint;
  TVMFFIStreamHandle stream;
} asked;

static int fake_set_device(const TVMGODeviceAPI* api, int32_t id) { return (void)api, (void)id, 0; }
static int fake_get_attr(const TVMGODeviceAPI* api, int32_t id, int32_t kind, TVMFFIAny* out) {
  (void)api, (void)id, (void)kind;
  *out = tvmgo_any_none();
  return 0;
}
static int fake_alloc(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes, size_t alignment,
                      DLDataType hint, void** out) {
  (void)api;
  if (dev.device_id != 0) return tvmgo_raise(TVMGO_VALUE_ERROR, "no device %d", dev.device_id);
  asked.data_spaces++;
  asked.dev = dev, asked.nbytes = nbytes, asked.alignment = alignment, asked.hint = hint;
  return posix_memalign(out, alignment, nbytes);
}
static int fake_free(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  (void)api, (void)dev;
  asked.data_spaces--;
  free(p);
  return 0;
}
static int fake_copy(const TVMGODeviceAPI* api, const DLTensor* from, const DLTensor* to,
                     TVMFFIStreamHandle stream) {
  return (void)api, (void)from, (void)to, (void)stream, 0;
}
static int fake_sync(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  return (void)api, (void)dev, (void)stream, 0;
}
static int fake_alloc_workspace(const TVMGODeviceAPI* api, DLDevice dev, size_t nbytes,
                                DLDataType hint, TVMFFIStreamHandle stream, void** out) {
  (void)api;
  asked.workspaces++;
  asked.dev = dev, asked.nbytes = nbytes, asked.hint = hint, asked.stream = stream;
  return posix_memalign(out, 64, nbytes);
}
static int fake_free_workspace(const TVMGODeviceAPI* api, DLDevice dev, void* p) {
  (void)api, (void)dev;
  asked.workspaces--;
  free(p);
  return 0;
}

#define FAKE_MANDATORY                                                                \
  .set_device = fake_set_device, .get_attr = fake_get_attr, .alloc_data_space = fake_alloc, \
  .free_data_space = fake_free, .copy_data_from_to = fake_copy, .stream_sync = fake_sync

static void register_fake(int32_t type, const char* name, const TVMGODeviceAPI* api) {
  TVMGODeviceSpec spec = {.struct_size = sizeof spec, .device_type = type, .name = name, .api = api};
  CHECK_OK(TVMGODeviceAPIRegister(&spec));
}

/* A device without workspaces: the pool over its data space. */
static void test_device_without_workspaces(void) {
  static const TVMGODeviceAPI api = {.struct_size = sizeof api, FAKE_MANDATORY};
  register_fake(30, "plainfake", &api);
  void* p = TVMBackendAllocWorkspace(30, 0, 1000, kDLFloat, 16);
  REQUIRE(p != NULL);
  CHECK_EQ_INT(asked.data_spaces, 1);
  CHECK_EQ_INT(asked.nbytes, 4096);
  CHECK_EQ_INT(asked.alignment, 64);
  CHECK(asked.hint.code == kDLUInt && asked.hint.bits == 8 && asked.hint.lanes == 1);
  CHECK(asked.dev.device_type == 30 && asked.dev.device_id == 0);
  CHECK_OK(TVMBackendFreeWorkspace(30, 0, p));
  CHECK_EQ_INT(asked.data_spaces, 1); /* kept */
  CHECK_EQ_PTR(TVMBackendAllocWorkspace(30, 0, 2000, kDLFloat, 16), p);
  CHECK_OK(TVMBackendFreeWorkspace(30, 0, p));
  CHECK_FAILS(TVMBackendFreeWorkspace(30, 0, p), TVMGO_VALUE_ERROR, "given back before");
  int64_t bytes;
  CHECK_OK(tvmgo_workspace_trim_device((DLDevice){(DLDeviceType)30, 0}, &bytes));
  CHECK_EQ_INT(bytes, 4096);
  CHECK_EQ_INT(asked.data_spaces, 0);
  CHECK_EQ_PTR(TVMBackendAllocWorkspace(30, 1, 1000, kDLFloat, 16), NULL);
  CHECK_ERROR(TVMGO_VALUE_ERROR, "no device 1");
}

static void test_device_with_workspaces(void) {
  static const TVMGODeviceAPI api = {.struct_size = sizeof api, FAKE_MANDATORY,
                                     .alloc_workspace = fake_alloc_workspace,
                                     .free_workspace = fake_free_workspace};
  register_fake(31, "poolfake", &api);
  int stream;
  CHECK_OK(TVMFFIEnvSetStream(31, 2, &stream, NULL));
  void* p = TVMBackendAllocWorkspace(31, 2, 512, kDLInt, 8);
  REQUIRE(p != NULL);
  CHECK_EQ_INT(asked.workspaces, 1);
  CHECK_EQ_INT(asked.data_spaces, 0);
  CHECK_EQ_PTR(asked.stream, &stream);
  CHECK_OK(TVMBackendFreeWorkspace(31, 2, p));
  CHECK_EQ_INT(asked.workspaces, 0);
  CHECK_OK(TVMFFIEnvSetStream(31, 2, NULL, NULL));
}

/* The kept memory follows the recent maximum in use; memory of a size that is not requested again is freed. */
static void test_cache_is_bounded(void) {
  if (CHECK_TSAN) SKIP("ThreadSanitizer keeps a shadow of four times as much memory");
  tvmgo_workspace_trim();
  const int64_t slack = 64 << 20;
  void* big = alloc(100 << 20);
  REQUIRE(big != NULL);
  CHECK_OK(give_back(big));
  CHECK(cached() >= 100 << 20); /* just used: kept */
  CHECK_EQ_PTR(alloc(100 << 20), big);
  CHECK_OK(give_back(big));
  for (int i = 0; i < 3 * 4096; i++) CHECK_OK(give_back(alloc(1000)));
  CHECK(cached() <= slack);
  /* Growing requests don't accumulate memory. */
  tvmgo_workspace_trim();
  int64_t most = 0;
  for (int64_t n = 1 << 20; n <= 100 << 20; n += 1 << 20) {
    CHECK_OK(give_back(alloc((uint64_t)n)));
    if (cached() - n * 5 / 4 > most) most = cached() - n * 5 / 4;
  }
  CHECK(most <= slack);
  tvmgo_workspace_trim();
  CHECK_EQ_INT(cached(), 0);
}

/* ---- the whole CPU ---- */

static void test_cpu_statistics(void) {
  const DLDevice cpu = {kDLCPU, 0};
  tvmgo_workspace_stats before, s;
  int64_t bytes;
  CHECK_OK(tvmgo_workspace_trim_device(cpu, &bytes));
  CHECK_OK(tvmgo_workspace_stats_of(cpu, &before));
  CHECK_EQ_INT(before.held, 0);
  void* p = alloc(4096);
  CHECK_OK(give_back(p));
  CHECK_OK(give_back(alloc(4096)));
  void* pooled = NULL; /* that may go to another thread */
  CHECK_OK(tvmgo_workspace_take(cpu, 8192, (DLDataType){kDLInt, 8, 1}, NULL, &pooled));
  CHECK_EQ_INT((uintptr_t)pooled % 64, 0);
  CHECK_OK(tvmgo_workspace_stats_of(cpu, &s));
  CHECK_EQ_INT(s.held, 4096 + 8192);
  CHECK_EQ_INT(s.in_use, 8192);
  CHECK_EQ_INT(s.hits - before.hits, 1);
  CHECK_EQ_INT(s.misses - before.misses, 2);
  CHECK(s.peak >= 4096);
  CHECK_OK(tvmgo_workspace_give(cpu, pooled, NULL));
  CHECK_OK(tvmgo_workspace_trim_device(cpu, &bytes));
  CHECK_EQ_INT(bytes, 4096 + 8192);
}

static struct {
  pthread_barrier_t barrier;
} other;

static void* trimmed_from_outside(void* arg) {
  CHECK_OK(give_back(alloc(1 << 20)));
  pthread_barrier_wait(&other.barrier); /* the main thread trims now */
  pthread_barrier_wait(&other.barrier);
  CHECK_OK(give_back(alloc(4096))); /* a miss */
  CHECK_EQ_INT(cached(), 4096);
  return arg;
}

static void test_trim_reaches_other_threads(void) {
  int64_t bytes;
  pthread_t thread;
  tvmgo_workspace_trim();
  pthread_barrier_init(&other.barrier, NULL, 2);
  REQUIRE(pthread_create(&thread, NULL, trimmed_from_outside, NULL) == 0);
  pthread_barrier_wait(&other.barrier);
  CHECK_EQ_INT(cached(), 1 << 20);
  CHECK_OK(tvmgo_workspace_trim_device((DLDevice){kDLCPU, 0}, &bytes));
  pthread_barrier_wait(&other.barrier);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&other.barrier);
}

/* ---- threads ---- */

static void on_thread(void* (*body)(void*), void* arg) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, body, arg) == 0);
  pthread_join(thread, NULL);
}

static void* free_of_another(void* p) {
  CHECK_FAILS(give_back(p), TVMGO_RUNTIME_ERROR, "free it on the thread that allocated it");
  return NULL;
}

static void test_free_on_another_thread(void) {
  void* p = alloc(5000);
  on_thread(free_of_another, p);
  memset(p, 1, 5000);
  CHECK_OK(give_back(p)); /* still ours */
  CHECK_EQ_INT(in_use(), 0);
}

static void* leave_behind(void* out) {
  void** blocks = out;
  for (int i = 0; i < 3; i++) blocks[i] = alloc(10000);
  CHECK_OK(give_back(alloc(200000)));
  return NULL;
}
static void* free_all(void* blocks) {
  CHECK_OK(give_back(((void**)blocks)[2]));
  return NULL;
}

/* Blocks outlive their thread: any thread that frees them returns them to the system. */
static void test_blocks_of_an_ended_thread(void) {
  void* blocks[3];
  tvmgo_workspace_trim();
  on_thread(leave_behind, blocks);
  CHECK_EQ_INT(cached(), 0);
  CHECK(in_use() >= 30000);
  CHECK_OK(give_back(blocks[1]));
  memset(blocks[0], 1, 10000);
  CHECK_OK(give_back(blocks[0]));
  on_thread(free_all, blocks);
  CHECK_EQ_INT(in_use(), 0);
  CHECK_EQ_INT(cached(), 0);
}

/* Resident pages of the process. */
static long resident(void) {
  long total = 0, pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f == NULL) return 0;
  if (fscanf(f, "%ld %ld", &total, &pages) != 2) pages = 0;
  fclose(f);
  return pages;
}

static void* short_life(void* arg) {
  void* blocks[4];
  for (int i = 0; i < 4; i++) {
    blocks[i] = alloc((uint64_t)5000 << i);
    memset(blocks[i], 1, (size_t)5000 << i);
  }
  for (int i = 3; i >= 0; i--) CHECK_OK(give_back(blocks[i]));
  return arg;
}

static void test_many_short_threads(void) {
  enum { WARM = 200 };
  int threads = CHECK_TSAN || CHECK_ASAN ? 2000 : 10000;
  for (int i = 0; i < WARM; i++) on_thread(short_life, NULL);
  long pages = resident();
  size_t heap = mallinfo2().uordblks;
  for (int i = 0; i < threads; i++) on_thread(short_life, NULL);
  CHECK_EQ_INT(in_use(), 0);
  CHECK_EQ_INT(cached(), 0);
  if (CHECK_TSAN || CHECK_ASAN) return; /* they track every thread and freed block */
  CHECK(mallinfo2().uordblks < heap + (1 << 20));
  CHECK((resident() - pages) * sysconf(_SC_PAGESIZE) < 16 << 20);
}

static void* churn(void* arg) {
  unsigned seed = (unsigned)(uintptr_t)arg;
  unsigned char* held[16] = {0};
  for (int i = 0; i < 20000; i++) {
    seed = seed * 1103515245 + 12345;
    int k = seed >> 16 & 15;
    if (held[k] == NULL) {
      held[k] = alloc(seed >> 8 & 0xffff);
      if (held[k] == NULL) break;
      *held[k] = (unsigned char)k;
    } else {
      CHECK_EQ_INT(*held[k], k);
      CHECK_OK(give_back(held[k]));
      held[k] = NULL;
    }
  }
  for (int k = 0; k < 16; k++)
    if (held[k] != NULL) CHECK_OK(give_back(held[k]));
  return NULL;
}

static void test_churn_on_threads(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; i++)
    REQUIRE(pthread_create(&threads[i], NULL, churn, (void*)(uintptr_t)(i + 1)) == 0);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  CHECK_EQ_INT(in_use(), 0);
  CHECK_EQ_INT(cached(), 0);
}

int main(int argc, char** argv) {
  check_begin(argc, argv);
  RUN(test_sizes);
  RUN(test_blocks_are_apart);
  RUN(test_reuse);
  RUN(test_bad_addresses);
  RUN(test_too_large);
  RUN(test_unknown_device);
  RUN(test_device_without_workspaces);
  RUN(test_device_with_workspaces);
  RUN(test_cpu_statistics);
  RUN(test_trim_reaches_other_threads);
  RUN(test_free_on_another_thread);
  RUN(test_blocks_of_an_ended_thread);
  RUN(test_cache_is_bounded);
  RUN(test_many_short_threads);
  RUN(test_churn_on_threads);
  return check_end();
}
