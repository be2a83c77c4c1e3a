/* The tvm-ffi C ABI: the environment (streams, allocator, signals, handles created once) and queries of devices. */
#include <pthread.h>
#include <tvm/runtime/c_backend_api.h>

#include "ffi_abi_test.h"

static void* stream_of_other_thread(void* arg) {
  (void)arg;
  return TVMFFIEnvGetStream(kDLCUDA, 0);
}

static void test_streams(void) {
  int one, two;
  TVMFFIStreamHandle old = &two;
  pthread_t thread;
  void* seen = &one;
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == NULL);
  OK(TVMFFIEnvSetStream(kDLCUDA, 0, &one, &old)); /* needs no device: only a table of this thread */
  CHECK(old == NULL && TVMFFIEnvGetStream(kDLCUDA, 0) == &one && TVMFFIEnvGetStream(kDLCUDA, 1) == NULL);
  OK(TVMFFIEnvSetStream(kDLCUDA, 0, &two, &old));
  CHECK(old == &one);
  NEED(pthread_create(&thread, NULL, stream_of_other_thread, NULL) == 0);
  pthread_join(thread, &seen);
  CHECK(seen == NULL);
  for (int id = 0; id < 100; id++) OK(TVMFFIEnvSetStream(kDLMetal, id, &one, NULL));
  CHECK(TVMFFIEnvGetStream(kDLMetal, 99) == &one);
  for (int id = 0; id < 100; id++) OK(TVMFFIEnvSetStream(kDLMetal, id, NULL, NULL));
  OK(TVMFFIEnvSetStream(kDLCUDA, 0, NULL, NULL));
  CHECK(TVMFFIEnvGetStream(kDLCUDA, 0) == NULL && TVMFFIEnvGetStream(-1, -1) == NULL);
}

/* ---- allocator ---- */

static int allocations, live;
static void free_tensor(DLManagedTensorVersioned* self) {
  live--;
  free(self);
}

static int allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* ctx,
    void (*set_error)(void*, const char*, const char*)) {
  if (prototype->shape[0] == 13) {
    set_error(ctx, "MemoryError", "thirteen is too many");
    return -1;
  }
  if (prototype->shape[0] == 14) return -1; /* without an error message */
  DLManagedTensorVersioned* m = calloc(1, sizeof *m + 16 * sizeof(float));
  if (m == NULL) return -1;
  m->version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  m->deleter = free_tensor, m->dl_tensor = *prototype, m->dl_tensor.data = m + 1;
  *out = m;
  allocations++, live++;
  return 0;
}

static void* allocator_of_other_thread(void* arg) {
  (void)arg;
  return (void*)TVMFFIEnvGetDLPackManagedTensorAllocator();
}

static void test_allocator(void) {
  int64_t n = 4;
  DLTensor prototype = {.device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &n};
  TVMFFIObjectHandle t = NULL;
  OK(TVMFFIEnvTensorAlloc(&prototype, &t)); /* no allocator: the device's data space */
  NEED(t != NULL);
  CHECK(TVMFFITensorGetDLTensorPtr(t)->shape[0] == 4);
  TVMFFIObjectDecRef(t);

  DLPackManagedTensorAllocator old = allocate;
  pthread_t thread;
  void* seen = NULL;
  CHECK(TVMFFIEnvGetDLPackManagedTensorAllocator() == NULL);
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 0, &old));
  CHECK(old == NULL && TVMFFIEnvGetDLPackManagedTensorAllocator() == allocate);
  NEED(pthread_create(&thread, NULL, allocator_of_other_thread, NULL) == 0);
  pthread_join(thread, &seen);
  CHECK(seen == NULL); /* this thread's own */
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(allocate, 1, NULL));
  NEED(pthread_create(&thread, NULL, allocator_of_other_thread, NULL) == 0);
  pthread_join(thread, &seen);
  CHECK(seen == (void*)allocate);

  OK(TVMFFIEnvTensorAlloc(&prototype, &t));
  CHECK(allocations == 1 && live == 1 && TVMFFITensorGetDLTensorPtr(t)->ndim == 1);
  TVMFFIObjectDecRef(t);
  CHECK(live == 0);
  n = 13;
  FAILS(TVMFFIEnvTensorAlloc(&prototype, &t), "MemoryError", "thirteen is too many");
  n = 14;
  FAILS(TVMFFIEnvTensorAlloc(&prototype, &t), "MemoryError", "without a reason");
  OK(TVMFFIEnvSetDLPackManagedTensorAllocator(NULL, 1, &old));
  CHECK(old == allocate && TVMFFIEnvGetDLPackManagedTensorAllocator() == NULL);
  n = -1;
  FAILS(TVMFFIEnvTensorAlloc(&prototype, &t), "ValueError", "negative");
  FAILS(TVMFFIEnvTensorAlloc(NULL, &t), "ValueError", "NULL");
  FAILS(TVMFFIEnvTensorAlloc(&prototype, NULL), "ValueError", "NULL");
}

/* ---- front end ---- */

static int pending, gil;
static int check_signals(void) {
  if (!pending || gil != 1) return 0;
  TVMFFIErrorSetRaisedFromCStr("KeyboardInterrupt", "Ctrl-C");
  return -1;
}
static int ensure(void) { return gil++; }
static void release(int state) { gil = state; }

static void test_front_end(void) {
  OK(TVMFFIEnvCheckSignals()); /* no hook is registered */
  OK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", (void*)check_signals));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Ensure", (void*)ensure));
  OK(TVMFFIEnvRegisterCAPI("PyGILState_Release", (void*)release));
  OK(TVMFFIEnvCheckSignals());
  pending = 1;
  FAILS(TVMFFIEnvCheckSignals(), "KeyboardInterrupt", "Ctrl-C");
  CHECK(gil == 0);
  FAILS(TVMFFIEnvRegisterCAPI("PyNonsense", NULL), "ValueError", "PyNonsense");
  FAILS(TVMFFIEnvRegisterCAPI(NULL, NULL), "ValueError", "register C API");
  OK(TVMFFIEnvRegisterCAPI("PyErr_CheckSignals", NULL));
  OK(TVMFFIEnvCheckSignals());
}

/* ---- once ---- */

static int made, ended, refuse;
static int make(void** result) {
  if (refuse) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "not yet");
    return -1;
  }
  *result = &made;
  __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  return 0;
}
static int make_nothing(void** result) { return (void)result, 0; }
static int end(void* handle) { return ended += handle == &made, 0; }

static void* handle;
static void* make_once(void* arg) {
  (void)arg;
  return (void*)(intptr_t)TVMFFIHandleInitOnce(&handle, make);
}

static void test_once(void) {
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  void *other = NULL, *rc;
  refuse = 1;
  FAILS(TVMFFIHandleInitOnce(&handle, make), "ValueError", "not yet");
  refuse = 0;
  for (int i = 0; i < THREADS; i++) NEED(pthread_create(&threads[i], NULL, make_once, NULL) == 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], &rc);
    CHECK(rc == NULL);
  }
  CHECK(made == 1 && handle == &made);
  for (int i = 0; i < 2; i++) OK(TVMFFIHandleDeinitOnce(&handle, end));
  CHECK(ended == 1 && handle == NULL);
  FAILS(TVMFFIHandleInitOnce(&other, make_nothing), "RuntimeError", "NULL");
  FAILS(TVMFFIHandleInitOnce(NULL, make), "ValueError", "NULL");
  FAILS(TVMFFIHandleInitOnce(&other, NULL), "ValueError", "NULL");
  FAILS(TVMFFIHandleDeinitOnce(NULL, end), "ValueError", "NULL");
  FAILS(TVMFFIHandleDeinitOnce(&other, NULL), "ValueError", "NULL");
}

/* ---- devices ---- */

static void test_devices(void) {
  TVMFFIAny out, cpu = any_of(kTVMFFIDevice), none = any_of(kTVMFFINone);
  cpu.v_device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  OK(CALL("runtime.RuntimeEnabled", &out, text_view("cpu")));
  CHECK(out.type_index == kTVMFFIBool && out.v_int64 == 1);
  OK(CALL("runtime.RuntimeEnabled", &out, text_view("cuda")));
  CHECK(out.type_index == kTVMFFIBool);
  FAILS(CALL("runtime.RuntimeEnabled", &out, text_view("no such thing")), "ValueError", "no such thing");
  OK(CALL("runtime.GetDeviceAttr", &out, int_view(kDLCPU), int_view(0), int_view(0)));
  CHECK(out.v_int64 == 1);
  OK(CALL("runtime.GetDeviceAttr", &out, int_view(kDLCUDA), int_view(0), int_view(0))); /* queries never fail */
  OK(CALL("runtime.GetDeviceAttr", &out, int_view(kDLCPU), int_view(0), int_view(4)));
  CHECK(out.type_index == kTVMFFINone);
  FAILS(CALL("runtime.GetDeviceAttr", &out, int_view(100), int_view(0), int_view(1)), "ValueError", "100");
  OK(CALL("__tvm_set_device", &out, int_view(kDLCPU), int_view(0)));
  FAILS(CALL("__tvm_set_device", &out, int_view(100), int_view(0)), "ValueError", "100");
  FAILS(CALL("__tvm_set_device", &out, int_view(kDLCPU), int_view((int64_t)1 << 32)), "ValueError", "4294967296");
  FAILS(CALL("__tvm_set_device", &out, text_view("cpu"), int_view(0)), "TypeError", "int");
  OK(call_global("device_api.cpu", NULL, 0, &out));
  CHECK(out.type_index == kTVMFFIOpaquePtr && out.v_ptr != NULL);
  OK(CALL("runtime.Device_StreamCreate", &out, cpu));
  CHECK(out.type_index == kTVMFFIInt && out.v_int64 == 0);
  OK(CALL("runtime.Device_SetStream", &out, cpu, int_view(0)));
  OK(CALL("runtime.Device_StreamSync", &out, cpu, none));
  OK(CALL("runtime.Device_StreamSyncFromTo", &out, cpu, int_view(0), int_view(0)));
  OK(CALL("runtime.Device_StreamFree", &out, cpu, int_view(0)));
  OK(CALL("runtime.TVMSetStream", &out, int_view(kDLCPU), int_view(0), none));
  /* Any stream of a front end may become the CPU's current one. The CPU rejects another stream. */
  int theirs, others;
  TVMFFIAny synced[2] = {cpu, {.type_index = kTVMFFIOpaquePtr, .v_ptr = &theirs}};
  FAILS(call_global("runtime.Device_StreamSync", synced, 2, &out), "ValueError", "has only the stream NULL");
  OK(TVMFFIEnvSetStream(kDLCPU, 0, &theirs, NULL));
  CHECK(TVMFFIEnvGetStream(kDLCPU, 0) == &theirs);
  OK(call_global("runtime.Device_StreamSync", synced, 2, &out));
  synced[1].v_ptr = &others;
  FAILS(call_global("runtime.Device_StreamSync", synced, 2, &out), "ValueError", "has only the stream NULL");
  void* memory = TVMBackendAllocWorkspace(kDLCPU, 0, 64, kDLFloat, 32);
  CHECK(memory != NULL && TVMBackendFreeWorkspace(kDLCPU, 0, memory) == 0);
  OK(TVMFFIEnvSetStream(kDLCPU, 0, NULL, NULL));
  FAILS(CALL("runtime.Device_StreamSync", &out, text_view("cpu")), "TypeError", "runtime.Device_StreamSync");
  FAILS(CALL("runtime.Device_SetStream", &out, cpu, text_view("stream")), "TypeError", "must be a stream");
  OK(call_global("runtime.NumThreads", NULL, 0, &out));
  CHECK(out.v_int64 >= 1);
  int64_t before = out.v_int64;
  OK(CALL("runtime.config_threadpool", &out, int_view(1), int_view(3)));
  OK(call_global("runtime.NumThreads", NULL, 0, &out));
  CHECK(out.v_int64 == 3);
  OK(CALL("runtime.config_threadpool", &out, int_view(1), int_view(before)));
  FAILS(CALL("runtime.config_threadpool", &out, int_view(1), int_view(1 << 30)), "ValueError", "1073741824");
  FAILS(CALL("runtime.config_threadpool", &out, int_view(1), int_view((int64_t)1 << 40)), "ValueError",
      "1099511627776");
  FAILS(CALL("runtime.config_threadpool", &out, int_view(1)), "TypeError", "2 arguments");
}

void test_environment(void) {
  test_streams();
  test_allocator();
  test_front_end();
  test_once();
  test_devices();
}
