/* Memory and threads: tensors, workspaces, parallel launches. */
#include "side.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <tvm/runtime/c_backend_api.h>
#ifdef BENCH_CLASSIC
#include <tvm/runtime/c_runtime_api.h>
#endif

static TVMFFIObjectHandle tensor_alloc;
static TVMFFIAny tensor_args[4];

/* 256 float32 elements: 1 KiB. */
static void prepare_tensor(void) {
  TVMFFIObjectHandle make_shape = bench_global("ffi.Shape");
  TVMFFIAny dim = bench_int(256);
  tensor_alloc = bench_global("runtime.TVMTensorAllocWithScope");
  tensor_args[0] = bench_call(make_shape, &dim, 1);
  tensor_args[1].type_index = kTVMFFIDataType;
  tensor_args[1].v_dtype = (DLDataType){kDLFloat, 32, 1};
  tensor_args[2].type_index = kTVMFFIDevice;
  tensor_args[2].v_device = (DLDevice){kDLCPU, 0};
  TVMFFIObjectDecRef(make_shape);
}

static void tensor_alloc_free(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny t = bench_call(tensor_alloc, tensor_args, 4);
    TVMFFIObjectDecRef(t.v_obj);
  }
}

#ifdef BENCH_CLASSIC
static void array_alloc_free(int64_t n) {
  const tvm_index_t shape[1] = {256};
  for (int64_t i = 0; i < n; i++) {
    TVMArrayHandle a = NULL;
    bench_check(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &a), "allocate");
    TVMArrayFree(a);
  }
}
#endif

static void workspaces(int64_t n) {
  static const uint64_t sizes[4] = {1024, 4096, 16384, 65536};
  void* p[4];
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < 4; k++) {
      p[k] = TVMBackendAllocWorkspace(kDLCPU, 0, sizes[k], kDLFloat, 32);
      bench_check(p[k] == NULL, "allocate workspace");
    }
    for (int k = 3; k >= 0; k--)
      bench_check(TVMBackendFreeWorkspace(kDLCPU, 0, p[k]), "free workspace");
  }
}

static int empty_task(int task_id, TVMParallelGroupEnv* env, void* cdata) {
  (void)task_id, (void)env, (void)cdata;
  return 0;
}

static void launches(int64_t n) {
  for (int64_t i = 0; i < n; i++)
    bench_check(TVMBackendParallelLaunch(empty_task, NULL, 2), "launch");
}

/* What a launch cannot be faster than: another thread sees a word change and changes one back. */
static _Alignas(128) _Atomic uint64_t word_there;
static _Alignas(128) _Atomic uint64_t word_back;

static uint64_t await(_Atomic uint64_t* word, uint64_t seen) {
  uint64_t now;
  for (int turn = 1; (now = atomic_load_explicit(word, memory_order_acquire)) == seen; turn++)
    if (turn % 65536 == 0) sched_yield(); /* both are on one core */
  return now;
}

static void* echo(void* unused) {
  (void)unused;
  for (uint64_t word = 0;;) {
    word = await(&word_there, word);
    atomic_store_explicit(&word_back, word, memory_order_release);
    if (word % 2 == 1) return NULL; /* the last one */
  }
}

static void handovers(int64_t n) {
  static uint64_t word;
  pthread_t other;
  word_there = word_back = word = 0;
  bench_check(pthread_create(&other, NULL, echo, NULL), "start a thread");
  for (int64_t i = 0; i < n; i++) {
    uint64_t before = word;
    word += i + 1 < n ? 2 : 1;
    atomic_store_explicit(&word_there, word, memory_order_release);
    await(&word_back, before);
  }
  pthread_join(other, NULL);
}

const bench_row bench_runtime_rows[] = {
    {"tensor", prepare_tensor, tensor_alloc_free},
#ifdef BENCH_CLASSIC
    {"tensor-classic", NULL, array_alloc_free},
#endif
    {"workspaces", NULL, workspaces},
    {"launch", NULL, launches},
    {"handover", NULL, handovers},
    {0},
};
