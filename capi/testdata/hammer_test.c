/* Many threads use the C API concurrently: load, look up, call, register, free. Nothing is left behind.
 *   hammer_test CARRIER FILE...
 * CARRIER is a module that carries others, of a kind without a loader: reading it waits until Go has started. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "check.h"
#include "usage.h"

int failures;

#define OK(call)                                                            \
  do {                                                                      \
    if ((call) != 0) FAIL("%s: %s", #call, TVMGetLastError());              \
  } while (0)

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
    t[i] = (DLTensor){.data = i ? v.out : v.in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1},
        .shape = &shape};
    args[i].v_handle = &t[i];
  }
  OK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code));
  for (int i = 0; i < N; i++) CHECK(v.out[i] == v.in[i] + 1);
  t[0].ndim = 2; /* the module's own error, on this thread */
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code) == -1);
  CHECK(strstr(TVMGetLastError(), "ndim") != NULL && strstr(TVMGetLastError(), is_classic(file)
      ? "Assert" : "addone") != NULL);
  if (step % 2 == 0) OK(TVMModFree(module));
  OK(TVMFuncFree(f));
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

/* A global function of each thread, and one that all threads set. */
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
    TVMModuleHandle none = NULL; /* another error at the same time */
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
  run_threads(3); /* creates everything that is created once */
  usage before = measure();
  atomic_store(&finalized, 0);
  run_threads(ROUNDS);
  CHECK(atomic_load(&finalized) == ROUNDS * THREADS);
  compare(before, measure(), 64 << 10, 2 * THREADS); /* workers of concurrent launches */
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 3) return 2;
  TVMModuleHandle carrier = NULL;
  TVMFunctionHandle kernel = NULL;
  CHECK(TVMModLoadFromFile(argv[1], "", &carrier) == 0);
  CHECK(TVMModGetFunction(carrier, "vadd_kernel", 1, &kernel) == -1 &&
      strstr(TVMGetLastError(), "nothing here can run") != NULL);
  CHECK(TVMModFree(carrier) == 0);
  files = argv + 2, num_files = argc - 2;
  test_threads();
  return report();
}
