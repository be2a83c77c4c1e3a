/* Many threads at the library's C API at once; afterwards nothing is left: memory in use, mappings and descriptors are what they
 * were. Go's own memory is not malloc's, so what malloc has lent out counts C objects to the byte.
 *   hammer_test threads CARRIER FILE...   16 threads load, look up, call, register, free
 *   hammer_test short CARRIER FILE        10 000 threads that use workspaces, each for a moment
 *   hammer_test cycles CARRIER FILE...    1000 times load and free each file
 * CARRIER is a module that carries others, of a kind without a loader: reading it waits until Go has started. */
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "check.h"

int failures;

#define OK(call)                                                            \
  do {                                                                      \
    if ((call) != 0) FAIL("%s: %s", #call, TVMGetLastError());              \
  } while (0)

/* ---- what the process holds ---- */

typedef struct {
  long lent;        /* bytes that malloc has lent out */
  long maps, files; /* mappings of files, open descriptors */
  long resident;    /* KiB */
} usage;

static usage measure(void) {
  usage u = {0, 0, 0, 0};
  char line[512];
  malloc_trim(0);
  struct mallinfo2 m = mallinfo2();
  u.lent = (long)(m.uordblks + m.hblkhd);
  FILE* f = fopen("/proc/self/maps", "r"); /* a line with a path; "[heap]" and what has no name are not counted */
  while (f != NULL && fgets(line, sizeof line, f) != NULL) u.maps += strchr(line, '/') != NULL;
  if (f != NULL) fclose(f);
  DIR* d = opendir("/proc/self/fd");
  while (d != NULL && readdir(d) != NULL) u.files++;
  if (d != NULL) closedir(d);
  f = fopen("/proc/self/statm", "r");
  if (f != NULL && fscanf(f, "%*d %ld", &u.resident) == 1) u.resident *= 4;
  if (f != NULL) fclose(f);
  return u;
}

/* Equal but for `bytes`, and for what the allocator and Go keep for themselves. */
static void compare(usage before, usage after, long bytes) {
  if (after.lent - before.lent > bytes) FAIL("%ld bytes more are in use", after.lent - before.lent);
  if (after.maps > before.maps) FAIL("%ld more mappings", after.maps - before.maps);
  if (after.files > before.files) FAIL("%ld more open files", after.files - before.files);
  if (after.resident - before.resident > 8 << 10) FAIL("%ld KiB more are resident", after.resident - before.resident);
}

/* ---- one module, used once ---- */

enum { N = 33 };
typedef struct {
  _Alignas(64) float in[N + 15];
  _Alignas(64) float out[N + 15];
} vectors;

static int is_classic(const char* file) { return strstr(file, "classic") != NULL; }

static void use(const char* file, unsigned step) {
  vectors v;
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL, none = NULL;
  int64_t shape = N;
  DLTensor t[2];
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, ret_code;
  OK(TVMModLoadFromFile(file, "", &module));
  if (module == NULL) return;
  OK(TVMModGetFunction(module, "addone", 0, &f));
  OK(TVMModGetFunction(module, "no_such_function", 1, &none));
  CHECK(f != NULL && none == NULL);
  if (step % 2) OK(TVMModFree(module)); /* the function keeps it */
  for (int i = 0; i < N; i++) v.in[i] = (float)(step + (unsigned)i);
  for (int i = 0; i < 2; i++) {
    t[i] = (DLTensor){.data = i ? v.out : v.in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &shape};
    args[i].v_handle = &t[i];
  }
  OK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code));
  for (int i = 0; i < N; i++) CHECK(v.out[i] == v.in[i] + 1);
  t[0].ndim = 2; /* the module's own error, on this thread */
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code) == -1);
  CHECK(strstr(TVMGetLastError(), "ndim") != NULL && strstr(TVMGetLastError(), is_classic(file) ? "Assert" : "addone") != NULL);
  if (step % 2 == 0) OK(TVMModFree(module));
  OK(TVMFuncFree(f));
}

/* 2A + 2A' - A with two workspaces of 1 MiB. */
static void use_workspaces(TVMFunctionHandle f) {
  enum { M = 512 };
  float *a = aligned_alloc(64, M * M * 4), *b = aligned_alloc(64, M * M * 4);
  int64_t shape[2] = {M, M};
  DLTensor t[2];
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, ret_code;
  for (int i = 0; i < M * M; i++) a[i] = (float)(i % 1000);
  for (int i = 0; i < 2; i++) {
    t[i] = (DLTensor){.data = i ? b : a, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape};
    args[i].v_handle = &t[i];
  }
  OK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code));
  CHECK(b[0] == a[0] && b[1] == a[1] + 2 * a[M] && b[M * M - 2] == a[M * M - 2] + 2 * a[(M - 2) * M + M - 1]);
  free(a);
  free(b);
}

/* ---- threads ---- */

enum { THREADS = 16, ROUNDS = 400 };
static char** files;
static int num_files, rounds;
static _Atomic int finalized;

static void finalize(void* resource) { (void)resource, atomic_fetch_add(&finalized, 1); }

static int answer(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)args, (void)codes, (void)n;
  TVMValue v = {.v_int64 = (intptr_t)resource};
  int code = kTVMArgInt;
  return TVMCFuncSetReturn(ret, &v, &code, 1);
}

/* A global of this thread's own, and one that all threads fight for. */
static void globals(int thread) {
  char own[64];
  const char *shared = "hammer_test.shared", **names;
  TVMFunctionHandle f = NULL, got = NULL;
  TVMValue ret;
  int code, count;
  snprintf(own, sizeof own, "hammer_test.of_thread_%d", thread);
  OK(TVMFuncCreateFromCFunc(answer, (void*)(intptr_t)thread, finalize, &f));
  OK(TVMFuncRegisterGlobal(own, f, 1));
  OK(TVMFuncRegisterGlobal(shared, f, 1));
  OK(TVMFuncFree(f));
  OK(TVMFuncGetGlobal(own, &got));
  OK(TVMFuncCall(got, NULL, NULL, 0, &ret, &code));
  CHECK(ret.v_int64 == thread);
  OK(TVMFuncFree(got));
  OK(TVMFuncGetGlobal(shared, &got));
  if (got != NULL) {
    OK(TVMFuncCall(got, NULL, NULL, 0, &ret, &code));
    CHECK(ret.v_int64 >= 0 && ret.v_int64 < THREADS);
    OK(TVMFuncFree(got));
  }
  OK(TVMFuncListGlobalNames(&count, &names));
  CHECK(count > 50);
  OK(TVMFuncRemoveGlobal(shared));
  OK(TVMFuncRemoveGlobal(own));
}

static void arrays(unsigned step) {
  tvm_index_t shape[2] = {1 + step % 7, 100};
  TVMArrayHandle a = NULL, b = NULL;
  DLManagedTensor* loan = NULL;
  OK(TVMArrayAlloc(shape, 2, kDLFloat, 32, 1, kDLCPU, 0, &a));
  OK(TVMArrayToDLPack(a, &loan));
  OK(TVMArrayFree(a));
  OK(TVMArrayFromDLPack(loan, &b));
  OK(TVMArrayFree(b));
  void* p = TVMBackendAllocWorkspace(kDLCPU, 0, 1000 * (1 + step % 50), kDLFloat, 32);
  CHECK(p != NULL);
  OK(TVMBackendFreeWorkspace(kDLCPU, 0, p));
}

static int parallel(int id, TVMParallelGroupEnv* env, void* cdata) {
  atomic_fetch_add((_Atomic int*)cdata, 1);
  return TVMBackendParallelBarrier(id, env);
}

static void* hammer(void* arg) {
  int thread = (int)(intptr_t)arg;
  for (int i = 0; i < rounds; i++) {
    unsigned step = (unsigned)(thread + i);
    use(files[step % (unsigned)num_files], step);
    globals(thread);
    arrays(step);
    _Atomic int tasks = 0;
    OK(TVMBackendParallelLaunch(parallel, &tasks, 2));
    CHECK(tasks == 2);
    TVMModuleHandle none = NULL; /* another error, with another text, at the same time */
    CHECK(TVMModLoadFromFile("missing.so", "", &none) == -1 && strstr(TVMGetLastError(), "missing.so") != NULL);
  }
  return NULL;
}

static void run_threads(int n) {
  pthread_t threads[THREADS];
  rounds = n;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, hammer, (void*)(intptr_t)i) != 0) FAIL("no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void test_threads(void) {
  run_threads(3); /* what is made once is made now */
  usage before = measure();
  atomic_store(&finalized, 0);
  run_threads(ROUNDS);
  CHECK(atomic_load(&finalized) == ROUNDS * THREADS);
  compare(before, measure(), 64 << 10);
}

/* ---- short-lived threads ---- */

static TVMFunctionHandle short_function;
static void* live_shortly(void* arg) {
  if ((intptr_t)arg % 50 == 0) use_workspaces(short_function);
  void* p = TVMBackendAllocWorkspace(kDLCPU, 0, 100000, kDLFloat, 32); /* kept for the thread, which ends */
  CHECK(p != NULL);
  OK(TVMBackendFreeWorkspace(kDLCPU, 0, p));
  TVMAPISetLastError("an error that the thread takes along");
  CHECK(TVMGetLastError() != NULL);
  return NULL;
}

static void run_short(int n) {
  enum { AT_ONCE = 4 };
  pthread_t threads[AT_ONCE];
  for (int i = 0; i < n; i += AT_ONCE) {
    for (int k = 0; k < AT_ONCE; k++)
      if (pthread_create(&threads[k], NULL, live_shortly, (void*)(intptr_t)(i + k)) != 0) FAIL("no thread");
    for (int k = 0; k < AT_ONCE; k++) pthread_join(threads[k], NULL);
  }
}

static void test_short(void) {
  TVMModuleHandle module = NULL;
  OK(TVMModLoadFromFile(files[0], "", &module));
  OK(TVMModGetFunction(module, "wsfunc", 0, &short_function));
  if (short_function == NULL) return;
  run_short(400);
  usage before = measure();
  run_short(10000);
  compare(before, measure(), 64 << 10);
  OK(TVMFuncFree(short_function));
  OK(TVMModFree(module));
}

/* ---- load and unload ---- */

static void test_cycles(void) {
  usage before = measure();
  for (int i = 0; i < 1020; i++) {
    for (int k = 0; k < num_files; k++) use(files[k], (unsigned)i);
    if (i == 19) before = measure();
  }
  compare(before, measure(), 64 << 10);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 4) return 2;
  TVMModuleHandle carrier = NULL;
  TVMFunctionHandle kernel = NULL;
  CHECK(TVMModLoadFromFile(argv[2], "", &carrier) == 0);
  CHECK(TVMModGetFunction(carrier, "vadd_kernel", 1, &kernel) == -1 && strstr(TVMGetLastError(), "nothing here can run") != NULL);
  CHECK(TVMModFree(carrier) == 0);
  files = argv + 3, num_files = argc - 3;
  if (strcmp(argv[1], "threads") == 0) test_threads();
  else if (strcmp(argv[1], "short") == 0) test_short();
  else if (strcmp(argv[1], "cycles") == 0) test_cycles();
  else return 2;
  return report();
}
