/* Thousands of short-lived threads and modules, after which the process uses no more memory than before.
 *   life_test threads CARRIER FILE    rounds of threads that stay in C, and of threads that enter Go
 *   life_test cycles CARRIER FILE...  10 000 times load, use and free, through both ABIs
 * FILE has addone; for threads it has wsfunc too. CARRIER is a module that carries others, of a kind without a loader:
 * Go reads it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "check.h"
#include "usage.h"

int failures;

#define OK(call)                                               \
  do {                                                         \
    if ((call) != 0) FAIL("%s: %s", #call, TVMGetLastError()); \
  } while (0)

static char** files;
static int num_files;
static const char* carrier;

/* ---- calls, through either ABI ---- */

enum { N = 33 };

typedef struct {
  _Alignas(64) float in[N + 15];
  _Alignas(64) float out[N + 15];
  int64_t shape;
  DLTensor t[2];
} vectors;

static void fill(vectors* v, unsigned step) {
  v->shape = N;
  for (int i = 0; i < N; i++) v->in[i] = (float)(step + (unsigned)i), v->out[i] = -1;
  for (int i = 0; i < 2; i++)
    v->t[i] = (DLTensor){
        .data = i ? v->out : v->in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &v->shape};
}

static void check_sum(const vectors* v) {
  for (int i = 0; i < N; i++) CHECK(v->out[i] == v->in[i] + 1);
}

static void call_classic(TVMFunctionHandle f, unsigned step) {
  vectors v;
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, ret_code;
  fill(&v, step);
  for (int i = 0; i < 2; i++) args[i].v_handle = &v.t[i];
  OK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code));
  check_sum(&v);
  v.t[0].ndim = 2;
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code) == -1 && strstr(TVMGetLastError(), "ndim") != NULL);
}

static void use_classic(const char* file, unsigned step) {
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  OK(TVMModLoadFromFile(file, "", &module));
  OK(TVMModGetFunction(module, "addone", 0, &f));
  NEED(f != NULL);
  call_classic(f, step);
  OK(TVMModFree(module));
  OK(TVMFuncFree(f));
}

/* Clears this thread's error, whose message must contain this part. */
static void drop_error(const char* part) {
  TVMFFIObjectHandle e = NULL;
  TVMFFIErrorMoveFromRaised(&e);
  NEED(e != NULL);
  TVMFFIErrorCell* cell = (TVMFFIErrorCell*)((TVMFFIObject*)e + 1);
  CHECK(memmem(cell->message.data, cell->message.size, part, strlen(part)) != NULL);
  TVMFFIObjectDecRef(e);
}

static int call_global(const char* name, TVMFFIAny* args, int n, TVMFFIAny* ret) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  memset(ret, 0, sizeof *ret);
  if (TVMFFIFunctionGetGlobal(&key, &f) != 0 || f == NULL) return -1;
  int rc = TVMFFIFunctionCall(f, args, n, ret);
  TVMFFIObjectDecRef(f);
  return rc;
}

static void use_modern(const char* file, unsigned step) {
  vectors v;
  TVMFFIAny path = {.type_index = kTVMFFIRawStr}, module, f, args[3], ret;
  path.v_c_str = file;
  memset(args, 0, sizeof args);
  OK(call_global("ffi.ModuleLoadFromFile", &path, 1, &module));
  NEED(module.type_index == kTVMFFIModule);
  args[0] = module;
  args[1].type_index = kTVMFFIRawStr, args[1].v_c_str = "addone";
  args[2].type_index = kTVMFFIBool;
  OK(call_global("ffi.ModuleGetFunction", args, 3, &f));
  OK(TVMFFIObjectDecRef(module.v_obj)); /* the function keeps it */
  NEED(f.type_index == kTVMFFIFunction);
  fill(&v, step);
  for (int i = 0; i < 2; i++) args[i].type_index = kTVMFFIDLTensorPtr, args[i].v_ptr = &v.t[i];
  memset(&ret, 0, sizeof ret);
  OK(TVMFFIFunctionCall(f.v_obj, args, 2, &ret));
  check_sum(&v);
  v.t[0].ndim = 2;
  CHECK(TVMFFIFunctionCall(f.v_obj, args, 2, &ret) == -1);
  drop_error("ndim");
  OK(TVMFFIObjectDecRef(f.v_obj));
}

enum { GO_THREADS = 4 }; /* Go may create more */

/* ---- threads ---- */

static TVMFunctionHandle shared_function, workspace_function;

/* 2A + 2A' - A with two workspaces of 1 MiB. */
static void use_workspaces(void) {
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
  OK(TVMFuncCall(workspace_function, args, codes, 2, &ret, &ret_code));
  CHECK(b[0] == a[0] && b[1] == a[1] + 2 * a[M] && b[M * M - 2] == a[M * M - 2] + 2 * a[(M - 2) * M + M - 1]);
  free(a);
  free(b);
}

/* Uses everything that a thread can own: streams, names, a cached workspace, an error and its text. */
static void* stay_in_c(void* arg) {
  unsigned step = (unsigned)(uintptr_t)arg;
  int n = 0;
  const char** names = NULL;
  call_classic(shared_function, step);
  if (step % 100 == 0) use_workspaces();
  for (int id = 0; id < 20; id++) OK(TVMFFIEnvSetStream(kDLExtDev, id, (TVMFFIStreamHandle)&carrier, NULL));
  CHECK(TVMFFIEnvGetStream(kDLExtDev, 19) == (TVMFFIStreamHandle)&carrier);
  if (step % 50 == 0) OK(TVMFuncListGlobalNames(&n, &names));
  void* p = TVMBackendAllocWorkspace(kDLCPU, 0, 100000, kDLFloat, 32);
  CHECK(p != NULL);
  OK(TVMBackendFreeWorkspace(kDLCPU, 0, p));
  TVMAPISetLastError("an error that is freed with the thread");
  CHECK(strstr(TVMGetLastError(), "freed with the thread") != NULL);
  return NULL;
}

static void* enter_go(void* arg) {
  TVMModuleHandle module = NULL;
  CHECK(TVMModLoadFromFile(carrier, "", &module) == 0);
  CHECK(TVMModFree(module) == 0);
  return (uintptr_t)arg % 2 == 0 ? stay_in_c(arg) : NULL;
}

static void run(void* (*body)(void*), int n) {
  enum { AT_ONCE = 8 };
  pthread_t threads[AT_ONCE];
  for (int i = 0; i < n; i += AT_ONCE) {
    for (int k = 0; k < AT_ONCE; k++)
      if (pthread_create(&threads[k], NULL, body, (void*)(intptr_t)(i + k)) != 0) FAIL("no thread"), exit(1);
    for (int k = 0; k < AT_ONCE; k++) pthread_join(threads[k], NULL);
  }
}

static void test_threads(void) {
  enum { IN_C = 4000, IN_GO = 2000, ROUNDS = 3 };
  TVMModuleHandle module = NULL;
  OK(TVMModLoadFromFile(files[0], "", &module));
  OK(TVMModGetFunction(module, "addone", 0, &shared_function));
  OK(TVMModGetFunction(module, "wsfunc", 0, &workspace_function));
  NEED(shared_function != NULL && workspace_function != NULL);
  run(stay_in_c, IN_C / 4);
  run(enter_go, IN_GO / 4);
  usage before = measure();
  for (int i = 0; i < ROUNDS && failures == 0; i++) {
    run(stay_in_c, IN_C);
    compare(before, measure(), 16 << 10, GO_THREADS);
    run(enter_go, IN_GO);
    compare(before, measure(), 16 << 10, GO_THREADS);
  }
  OK(TVMFuncFree(shared_function));
  OK(TVMFuncFree(workspace_function));
  OK(TVMModFree(module));
}

/* ---- load and unload ---- */

static void test_cycles(void) {
  enum { CYCLES = 10000, WARM = 1000 };
  usage before = measure();
  for (int i = 0; i < CYCLES && failures == 0; i++) {
    if (i == WARM) before = measure();
    const char* file = files[i / 2 % num_files];
    if (i % 2)
      use_modern(file, (unsigned)i);
    else
      use_classic(file, (unsigned)i);
  }
  compare(before, measure(), 8 << 10, GO_THREADS);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 4) return 2;
  carrier = argv[2], files = argv + 3, num_files = argc - 3;
  enter_go((void*)1); /* waits until Go has started */
  if (strcmp(argv[1], "threads") == 0) test_threads();
  else if (strcmp(argv[1], "cycles") == 0) test_cycles();
  else return 2;
  return report();
}
