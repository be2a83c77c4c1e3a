/* Memory that is idle for long goes back to the device, and the pool has a limit. */
#include "ctest/check.h"
#include "ctest/device.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEVICE = 29 };

static const DLDevice dev = {(DLDeviceType)DEVICE, 0}, cpu = {kDLCPU, 0};
static const TVMGODeviceAPI table = {DEVICE_FUNCTIONS};

static void* take(DLDevice d, size_t n) {
  void* p = NULL;
  const TVMGODeviceAPI* api = tvmgo_device_api(d.device_type);
  CHECK_OK(tvmgo_pool_alloc(api, d, n, NULL, &p));
  return p;
}
static void give(DLDevice d, void* p) { CHECK_OK(tvmgo_pool_free(d, p, NULL)); }
static int64_t trim(DLDevice d) {
  int64_t freed;
  CHECK_OK(tvmgo_workspace_trim_device(d, &freed));
  return freed;
}

static int num_threads(void) {
  int n = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (readdir(tasks) != NULL) n++;
  closedir(tasks);
  return n - 2;
}
static void nap(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

static void test_ages(void) {
  int64_t cpu_bytes;
  void *a = take(dev, 4096), *b = take(dev, 4096), *c = take(dev, 8192);
  give(dev, a), give(dev, b);
  CHECK_EQ_INT(tvmgo_pool_age(2, &cpu_bytes), 8192); /* the first interval was shorter than a whole one */
  give(dev, c);
  CHECK_EQ_INT(tvmgo_pool_age(2, &cpu_bytes), 16384);
  CHECK_EQ_PTR(take(dev, 4096), b); /* the newest is used, the other one grows old */
  give(dev, b);
  CHECK_EQ_INT(tvmgo_pool_age(2, &cpu_bytes), 12288);
  CHECK_EQ_INT(in_device, 12288);
  CHECK_EQ_PTR(take(dev, 4096), b);
  CHECK_EQ_INT(tvmgo_pool_age(2, &cpu_bytes), 0); /* c was as old as a then */
  CHECK_EQ_INT(in_device, 4096);
  for (int i = 0; i < 5; i++) tvmgo_pool_age(2, &cpu_bytes); /* what is in use stays */
  CHECK_EQ_INT(in_device, 4096);
  give(dev, b);
  CHECK_EQ_INT(tvmgo_pool_idle(), 4096);
  CHECK_EQ_INT(trim(dev), 4096);
  CHECK_EQ_INT(in_device, 0);
}

static void* one_more_return(void* arg) {
  (void)arg;
  give(dev, take(dev, 100));
  return NULL;
}

/* The thread exists only while memory is idle. */
static void test_watch(void) {
  pthread_t first; /* a sanitizer may start a thread of its own with it */
  if (pthread_create(&first, NULL, one_more_return, NULL) == 0) pthread_join(first, NULL);
  trim(dev);
  int before = num_threads();
  for (int round = 0; round < 3; round++) {
    give(dev, take(dev, 100000));
    tvmgo_idle_set_time(20000000);
    while (in_device != 0) nap(); /* core-test has a time limit */
    while (num_threads() > before) nap();
    tvmgo_idle_set_time(0);
  }
  tvmgo_idle_set_time(3600 * INT64_C(1000000000));
  one_more_return(NULL);
  while (num_threads() != before + 1) nap();
  one_more_return(NULL);
  CHECK_EQ_INT(tvmgo_idle_set_time(7200 * INT64_C(1000000000)), 3600 * INT64_C(1000000000));
  CHECK_EQ_INT(num_threads(), before + 1); /* one is enough */
  CHECK_EQ_INT(tvmgo_idle_set_time(0), 7200 * INT64_C(1000000000));
  while (num_threads() > before) nap();
  CHECK(in_device > 0);
  tvmgo_idle_set_time(1000000); /* the thread looks often while memory is returned */
  for (int i = 0; i < 200; i++) {
    pthread_t t;
    if (pthread_create(&t, NULL, one_more_return, NULL) == 0) pthread_join(t, NULL);
    if (i % 20 == 0) nap();
  }
  while (in_device != 0) nap(); /* none was missed */
  tvmgo_idle_set_time(0);
  while (num_threads() > before) nap();
}

static void test_forked_child(void) {
  tvmgo_idle_set_time(3600 * INT64_C(1000000000));
  give(cpu, take(cpu, 5000)); /* the thread runs in the parent */
  pid_t child = fork();
  if (child == 0) {
    void* p = NULL;
    int rc = tvmgo_pool_alloc(tvmgo_device_api(kDLCPU), cpu, 5000, NULL, &p);
    if (rc == 0) rc = tvmgo_pool_free(cpu, p, NULL);
    tvmgo_idle_set_time(5);
    _exit(rc == 0 && num_threads() == 1 ? 0 : 1);
  }
  int status = -1;
  CHECK_EQ_INT(waitpid(child, &status, 0), child);
  CHECK_EQ_INT(status, 0);
  trim(cpu);
  tvmgo_idle_set_time(1000000);
  give(dev, take(dev, 5000));
  while (atomic_load(&tvmgo_idle_watched) != 0 || in_device != 0) nap(); /* the thread has ended */
  child = fork();
  if (child == 0) {
    give(dev, take(dev, 5000));
    _exit(num_threads() <= 1 + CHECK_TSAN ? 0 : 1); /* drivers cannot be used here: nothing watches */
  }
  CHECK_EQ_INT(waitpid(child, &status, 0), child);
  CHECK_EQ_INT(status, 0);
  tvmgo_idle_set_time(0);
}

static int call(const char* name, int32_t n, int64_t a, int64_t b, int64_t c, int64_t* out) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  if (TVMFFIFunctionGetGlobal(&text, &f) != 0 || f == NULL) return -1;
  TVMFFIAny args[3] = {tvmgo_any_int(a), tvmgo_any_int(b), tvmgo_any_int(c)}, result = tvmgo_any_none();
  int rc = TVMFFIFunctionCall(f, args, n, &result);
  if (rc == 0) *out = result.v_int64;
  tvmgo_object_release(f);
  return rc;
}

static void test_limit(void) {
  int64_t old = -1;
  void* p = NULL;
  CHECK_OK(call("tvmgo.workspace.set_limit", 3, DEVICE, 0, 40960, &old));
  CHECK_EQ_INT(old, 0);
  void *a = take(dev, 20480), *b = take(dev, 16384);
  CHECK(tvmgo_pool_alloc(&table, dev, 8192, NULL, &p) != 0);
  CHECK_ERROR("MemoryError", "allocate workspace of 8192 bytes: it exceeds the memory limit of limited:0: 36864 of "
                             "40960 bytes are in use");
  give(dev, b);
  void* c = take(dev, 20480); /* what was idle has gone */
  CHECK_EQ_INT(in_device, 40960);
  give(dev, c);
  tvmgo_workspace_stats s;
  CHECK_OK(call("tvmgo.workspace.set_limit", 3, DEVICE, 0, 30720, &old));
  CHECK_EQ_INT(old, 40960);
  tvmgo_pool_stats(dev, &s);
  CHECK_EQ_INT(s.held, 20480);
  CHECK_EQ_INT(s.limit, 30720);
  CHECK_OK(call("tvmgo.workspace.set_limit", 3, DEVICE, 0, 0, &old));
  give(dev, a);
  give(dev, take(dev, 1 << 20));
  trim(dev);
  CHECK_EQ_INT(in_device, 0);
  CHECK_FAILS(call("tvmgo.workspace.set_limit", 3, DEVICE, 0, -1, &old), "ValueError", "the limit is negative: -1");
  CHECK_FAILS(call("tvmgo.workspace.set_limit", 3, DEVICE, 7, 1, &old), "ValueError", "there is no device 7");
  CHECK_FAILS(call("tvmgo.workspace.set_limit", 3, 99, 7, 1, &old), "ValueError", "99");
  CHECK_FAILS(call("tvmgo.workspace.set_limit", 0, 0, 0, 0, &old), "TypeError", "tvmgo.workspace.set_limit");
  CHECK_FAILS(call("tvmgo.workspace.set_idle_time", 1, -5, 0, 0, &old), "ValueError", "the time is -5 ms");
  CHECK_OK(call("tvmgo.workspace.set_idle_time", 1, 90, 0, 0, &old));
  CHECK_OK(call("tvmgo.workspace.set_idle_time", 1, 0, 0, 0, &old));
  CHECK_EQ_INT(old, 90);
}

static _Atomic int64_t refused;
static void* take_within_limit(void* arg) {
  (void)arg;
  for (int i = 0; i < 2000; i++) {
    void* p = NULL;
    if (tvmgo_pool_alloc(&table, dev, (size_t)(i % 5 + 1) * 8192, NULL, &p) == 0) {
      give(dev, p);
    } else {
      tvmgo_object_release(tvmgo_error_take());
      refused++;
    }
    tvmgo_workspace_stats s;
    tvmgo_pool_stats(dev, &s);
    CHECK(s.held <= 65536); /* the device has more while it is freeing some */
  }
  return NULL;
}

static void test_limit_of_many_threads(void) {
  pthread_t threads[8];
  int64_t old;
  CHECK_OK(tvmgo_workspace_set_limit(dev, 65536, &old));
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, take_within_limit, NULL);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  CHECK_OK(tvmgo_workspace_set_limit(dev, 0, &old));
  trim(dev);
  CHECK_EQ_INT(in_device, 0);
}

/* Bytes of the process in physical memory. */
static int64_t resident(void) {
  long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f == NULL || fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
  if (f != NULL) fclose(f);
  return pages * sysconf(_SC_PAGESIZE);
}

/* Blocks of the C library's heap do not leave it when they are freed. */
static void test_the_system_gets_it(void) {
  if (CHECK_ASAN || CHECK_TSAN) SKIP("sanitizers keep freed memory");
  enum { BLOCKS = 2000, SIZE = 65536 };
  static void* blocks[BLOCKS];
  int64_t before = resident();
  for (int i = 0; i < BLOCKS; i++) memset(blocks[i] = take(cpu, SIZE), 1, SIZE);
  CHECK(resident() - before > BLOCKS * (SIZE / 10 * 9));
  for (int i = 0; i < BLOCKS; i++) /* some stay between the others, so that the heap does not shrink */
    if (i % 100 != 99) give(cpu, blocks[i]);
  CHECK_EQ_INT(trim(cpu), BLOCKS / 100 * 99 * SIZE);
  CHECK(resident() - before < BLOCKS * (SIZE / 10));
  for (int i = 99; i < BLOCKS; i += 100) give(cpu, blocks[i]);
  trim(cpu);
}

int main(int argc, char** argv) {
  static const TVMGODeviceSpec spec = {
      .struct_size = sizeof spec, .device_type = DEVICE, .name = "limited", .api = &table};
  check_begin(argc, argv);
  tvmgo_idle_set_time(0);
  if (TVMGODeviceAPIRegister(&spec) != 0) return 1;
  RUN(test_ages);
  RUN(test_watch);
  RUN(test_forked_child);
  RUN(test_limit);
  RUN(test_limit_of_many_threads);
  RUN(test_the_system_gets_it);
  return check_end();
}
