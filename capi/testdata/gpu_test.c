/* OpenCL, or with -DCUDA or -DVULKAN these, as C programs use them: the device table, TVM's modules through both ABIs,
 * signal handlers, fork.
 *   gpu_test table                events, page-locked memory, copies, and invalid handles
 *   gpu_test module FILE DIR      runs vadd of FILE through the classic and the tvm-ffi ABI; DIR has the arrays
 *   gpu_test signals FILE DIR     the same with handlers for every signal, which are in force before and after
 *   gpu_test fork FILE DIR        children before the first use, and of a process that uses the device
 *   gpu_test fork-meanwhile       another thread opens the driver while a fork is under way
 *   gpu_test absent               without a driver: the errors give the reason, and the CPU works
 * There are two devices (POCL_DEVICES, TVMGO_VULKAN_DEVICE_TWICE, the fake driver of CUDA). */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tvm/runtime/c_runtime_api.h>
#include <tvmgo/device_api.h>
#include <unistd.h>

#include "ffi_abi_test.h"
#include "npy.h"

#if defined(VULKAN)
#define TYPE kDLVulkan
#define NAME "vulkan"
#define FIRST "1" /* the second device has streams, even if there is only one queue */
#define SECOND "0"
#elif defined(CUDA)
#define TYPE kDLCUDA
#define NAME "cuda"
#else
#define TYPE kDLOpenCL
#define NAME "opencl"
#endif

#ifndef FIRST
#define FIRST "0"
#define SECOND "1"
#endif

int failures;

enum { N = 1 << 20 };
static const DLDevice first = {TYPE, FIRST[0] - '0'}, second = {TYPE, SECOND[0] - '0'}, host = {kDLCPU, 0};
static const DLDataType f32 = {kDLFloat, 32, 1};
static int64_t shape[1] = {N};

static DLTensor array(void* data, DLDevice dev) {
  return (DLTensor){.data = data, .device = dev, .ndim = 1, .dtype = f32, .shape = shape};
}

static const TVMGODeviceAPI* table(void) {
  const TVMGODeviceAPI* api = NULL;
  OK(TVMGODeviceAPIGet(TYPE, 0, &api));
  if (api == NULL) exit(report());
  return api;
}

static void* memory(const TVMGODeviceAPI* api, DLDevice dev) {
  void* p = NULL;
  OK(api->alloc_data_space(api, dev, N * sizeof(float), 64, f32, &p));
  return p;
}

/* ---- table ---- */

static void copy(const TVMGODeviceAPI* api, DLTensor from, DLTensor to, TVMFFIStreamHandle stream) {
  OK(api->copy_data_from_to(api, &from, &to, stream));
}

/* Host memory, pageable or page-locked, may be freed immediately. */
static void test_host_memory(const TVMGODeviceAPI* api, DLDevice dev, TVMFFIStreamHandle stream) {
  size_t bytes = N * sizeof(float);
  void *there = memory(api, dev), *other = memory(api, dev);
  for (int pinned = 0; pinned < 2; pinned++) {
    for (int round = 0; round < 4; round++) {
      float *in = NULL, *out = NULL;
      void* p = NULL;
      if (pinned) OK(api->pinned_alloc(api, dev, bytes, &p));
      else p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      in = p;
      for (int i = 0; i < N; i++) in[i] = (float)(i + round);
      for (int i = 0; i < 10; i++) copy(api, array(there, dev), array(other, dev), stream); /* keeps it busy */
      copy(api, array(in, host), array(there, dev), stream);
      memset(in, 0xff, bytes);
      if (pinned) OK(api->pinned_free(api, dev, in));
      else munmap(in, bytes);
      if (pinned) OK(api->pinned_alloc(api, dev, bytes, &p));
      else p = malloc(bytes);
      out = p;
      copy(api, array(there, dev), array(out, host), stream);
      for (int i = 0; i < N; i++)
        if (out[i] != (float)(i + round)) {
          FAIL("pinned %d: element %d is %g", pinned, i, out[i]);
          break;
        }
      if (pinned) OK(api->pinned_free(api, dev, out));
      else free(out);
    }
  }
  OK(api->free_data_space(api, dev, there));
  OK(api->free_data_space(api, dev, other));
}

/* One stream waits for another's event, and then copies what the other one has written. */
static void test_events(const TVMGODeviceAPI* api, DLDevice dev) {
  TVMFFIStreamHandle a = NULL, b = NULL;
  void *event = NULL, *timer = NULL, *x = memory(api, dev), *y = memory(api, dev), *z = memory(api, dev),
      *w = memory(api, dev);
  float *in = malloc(N * sizeof(float)), *out = malloc(N * sizeof(float));
  int32_t done = -1;
  int64_t ns = -1;
  OK(api->create_stream(api, dev, &a));
  OK(api->create_stream(api, dev, &b));
  CHECK(a != NULL && b != NULL && a != b);
  OK(api->event_create(api, dev, &event));
  OK(api->event_query(api, event, &done));
  CHECK(done == 1);
  OK(api->event_sync(api, event));
  OK(api->event_wait(api, event, b)); /* does not block */
  OK(api->timer_create(api, dev, &timer));
  FAILS(api->timer_stop(api, timer, a), "ValueError", "it was not started");
  FAILS(api->timer_elapsed_ns(api, timer, &ns), "ValueError", "it was not stopped");
  for (int round = 0; round < 8; round++) {
    for (int i = 0; i < N; i++) in[i] = (float)(i * round);
    OK(api->timer_start(api, timer, a));
    copy(api, array(in, host), array(x, dev), a);
    for (int i = 0; i < 20; i++) copy(api, array(x, dev), array(w, dev), a); /* keeps it busy */
    copy(api, array(x, dev), array(y, dev), a);
    OK(api->timer_stop(api, timer, a));
    OK(api->event_record(api, event, a));
    OK(api->event_wait(api, event, b));
    copy(api, array(y, dev), array(z, dev), b);
    copy(api, array(z, dev), array(out, host), b);
    CHECK(memcmp(in, out, N * sizeof(float)) == 0);
    OK(api->event_sync(api, event));
    OK(api->event_query(api, event, &done));
    CHECK(done == 1);
    OK(api->timer_elapsed_ns(api, timer, &ns));
    CHECK(ns > 0 && ns < 60000000000);
  }
  OK(api->event_record(api, event, a));
  OK(api->event_free(api, event));
  OK(api->timer_free(api, timer));
  OK(api->free_stream(api, dev, a));
  OK(api->free_stream(api, dev, b));
  OK(api->free_data_space(api, dev, x));
  OK(api->free_data_space(api, dev, y));
  OK(api->free_data_space(api, dev, z));
  OK(api->free_data_space(api, dev, w));
  free(in);
  free(out);
}

__attribute__((unused)) static void test_wrong_handles(const TVMGODeviceAPI* api) {
  static float somewhere[N];
  void *x = memory(api, first), *y = memory(api, second), *freed = memory(api, first), *out = NULL, *event = NULL;
  TVMFFIStreamHandle stream = NULL;
  DLTensor from = array(x, first), to = array(y, second), at_host = array(somewhere, host);
  OK(api->free_data_space(api, first, freed));
  OK(api->create_stream(api, first, &stream));
  OK(api->event_create(api, first, &event));
  FAILS(api->free_data_space(api, first, freed), "ValueError", "it was freed, or created elsewhere");
  FAILS(api->free_data_space(api, first, somewhere), "ValueError", "is not memory of " NAME);
  FAILS(api->free_data_space(api, first, (char*)x + 1), "ValueError", "is not memory of " NAME);
  FAILS(api->free_data_space(api, first, stream), "ValueError", "is a stream of " NAME ", not memory");
  FAILS(api->free_data_space(api, second, x), "ValueError",
      "is memory of " NAME ":" FIRST ", not of " NAME ":" SECOND "");
  FAILS(api->stream_sync(api, first, x), "ValueError", "is memory of " NAME ", not a stream");
  FAILS(api->stream_sync(api, second, stream), "ValueError",
      "belongs to " NAME ":" FIRST ", but the operation is on " NAME ":" SECOND "");
  FAILS(api->set_stream(api, first, somewhere), "ValueError", "is not a stream of " NAME);
  FAILS(api->event_record(api, stream, NULL), "ValueError", "is a stream of " NAME ", not an event");
  FAILS(api->timer_start(api, event, NULL), "ValueError", "is an event of " NAME ", not a timer");
  FAILS(api->event_free(api, x), "ValueError", "is memory of " NAME ", not an event");
  FAILS(api->pinned_free(api, first, somewhere), "ValueError", "was not allocated by " NAME ":" FIRST);
  from.data = freed;
  FAILS(api->copy_data_from_to(api, &from, &at_host, NULL), "ValueError", "copy: source");
  from.data = x;
  from.device = second;
  FAILS(api->copy_data_from_to(api, &from, &at_host, NULL), "ValueError",
      "the memory is on " NAME ":" FIRST ", but the array's device is " NAME ":" SECOND "");
  from.device = first;
  from.byte_offset = 4;
  FAILS(api->copy_data_from_to(api, &from, &to, NULL), "ValueError", "exceed the allocation of 4194304 bytes");
  FAILS(api->set_device(api, 2), "DeviceUnavailableError", "there is no device " NAME ":2: this machine has 2");
  FAILS(api->alloc_data_space(api, first, 64, 48, f32, &out), "ValueError", "not a power of two");
  FAILS(api->alloc_data_space(api, first, (size_t)1 << 50, 64, f32, &out), "MemoryError", "a buffer has at most");
  FAILS(api->pinned_alloc(api, first, (size_t)1 << 50, &out), "MemoryError", "page-locked memory");
  CHECK(out == NULL);
  FAILS(api->alloc_data_space(api, first, 64, 1 << 20, f32, &out), "ValueError", "alignment 1048576 is more than "
      "256 bytes");
  OK(api->event_free(api, event));
  OK(api->free_stream(api, first, stream));
  FAILS(api->free_stream(api, first, stream), "ValueError", "it was freed, or created elsewhere");
  OK(api->free_data_space(api, first, x));
  OK(api->free_data_space(api, second, y));
}

static void test_table(void) {
  const TVMGODeviceAPI* api = table();
  TVMGOMemoryStats before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
  TVMFFIStreamHandle stream = NULL;
  OK(api->memory_stats(api, first, &before));
  for (int i = 0; i < 2; i++) {
    DLDevice dev = i ? second : first;
    OK(api->create_stream(api, dev, &stream));
    test_host_memory(api, dev, NULL);
    /* it has one queue */
    if (stream == NULL && dev.device_id == second.device_id && dev.device_type == kDLVulkan) continue;
    test_host_memory(api, dev, stream);
    OK(api->free_stream(api, dev, stream));
    test_events(api, dev);
  }
#ifndef CUDA /* in CUDA, streams and data belong to the driver */
  test_wrong_handles(api);
#endif
  OK(api->memory_stats(api, first, &after));
  CHECK(before.data_bytes == after.data_bytes && before.data_count == after.data_count && after.pinned_bytes == 0);
  CHECK(after.data_peak_bytes >= N * 4 && after.total_bytes > 0);
  TVMFFIAny v = any_of(kTVMFFINone);
  OK(api->target_property(api, 0, "max_num_threads", &v));
  CHECK(v.type_index == kTVMFFIInt && v.v_int64 > 0);
  v = any_of(kTVMFFINone);
  OK(api->target_property(api, 0, "no_such_option", &v));
  CHECK(v.type_index == kTVMFFINone);
}

/* ---- module ---- */

static npy in[2], want, got;
static const char* file;

static void read_arrays(const char* dir) {
  char path[1024];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/vadd_in%d.npy", dir, i);
    if (!npy_read(path, &in[i])) exit(2);
  }
  snprintf(path, sizeof path, "%s/vadd_out.npy", dir);
  if (!npy_read(path, &want) || !npy_alloc(&got, &want)) exit(2);
}

static void compare(const char* how) {
  if (!(npy_error(&got, &want) < 1e-5)) FAIL("vadd through %s is off", how);
  memset(got.data, 0xff, (size_t)want.count * 4);
}

#define CLASSIC(call)                                            \
  do {                                                           \
    if ((call) != 0) FAIL("%s: %s", #call, TVMGetLastError());   \
  } while (0)

static void run_classic(void) {
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  TVMArrayHandle a[3];
  TVMValue args[3], ret;
  TVMStreamHandle stream = NULL;
  int codes[3], ret_code;
  size_t bytes = (size_t)want.count * 4;
  CLASSIC(TVMModLoadFromFile(file, "", &module));
  CLASSIC(TVMModGetFunction(module, "vadd", 0, &f));
  NEED(f != NULL);
  for (int i = 0; i < 3; i++) {
    CLASSIC(TVMArrayAlloc(want.shape, want.ndim, kDLFloat, 32, 1, TYPE, 0, &a[i]));
    if (i < 2) CLASSIC(TVMArrayCopyFromBytes(a[i], in[i].data, bytes));
    args[i].v_handle = a[i];
    codes[i] = kTVMDLTensorHandle;
  }
  CLASSIC(TVMStreamCreate(TYPE, 0, &stream));
  for (int with_stream = 0; with_stream < 2; with_stream++) {
    CLASSIC(TVMSetStream(TYPE, 0, with_stream ? stream : NULL));
    CLASSIC(TVMFuncCall(f, args, codes, 3, &ret, &ret_code));
    CLASSIC(TVMSynchronize(TYPE, 0, with_stream ? stream : NULL));
    CLASSIC(TVMArrayCopyToBytes(a[2], got.data, bytes));
    compare("the classic ABI");
  }
  CLASSIC(TVMSetStream(TYPE, 0, NULL));
  CLASSIC(TVMStreamFree(TYPE, 0, stream));
  for (int i = 0; i < 3; i++) CLASSIC(TVMArrayFree(a[i]));
  CLASSIC(TVMFuncFree(f));
  CLASSIC(TVMModFree(module));
}

static void run_ffi(void) {
  const TVMGODeviceAPI* api = table();
  TVMFFIAny module, f, result = any_of(kTVMFFINone), args[3], v;
  DLTensor t[3];
  npy* all[3] = {&in[0], &in[1], &got};
  OK(CALL("ffi.ModuleLoadFromFile", &module, text_view(file)));
  NEED(module.type_index == kTVMFFIModule);
  OK(CALL("ffi.ModuleGetFunction", &f, object_view(module.v_obj), text_view("vadd"), int_view(0)));
  NEED(f.type_index == kTVMFFIFunction);
  for (int i = 0; i < 3; i++) {
    t[i] = (DLTensor){.device = first, .ndim = want.ndim, .dtype = f32, .shape = want.shape};
    OK(api->alloc_data_space(api, first, (size_t)want.count * 4, 64, f32, &t[i].data));
    DLTensor from = t[i];
    from.data = all[i]->data, from.device = host;
    OK(api->copy_data_from_to(api, &from, &t[i], NULL));
    args[i] = ptr_view(kTVMFFIDLTensorPtr, &t[i]);
  }
  OK(TVMFFIFunctionCall(f.v_obj, args, 3, &result));
  DLTensor to = t[2];
  to.data = got.data, to.device = host;
  OK(api->copy_data_from_to(api, &t[2], &to, NULL));
  compare("the tvm-ffi ABI");
  for (int i = 0; i < 3; i++) OK(api->free_data_space(api, first, t[i].data));
  drop(&f);
  drop(&module);
  OK(CALL("runtime.RuntimeEnabled", &v, text_view(NAME)));
  CHECK(v.v_int64 == 1);
  OK(CALL("runtime.GetDeviceAttr", &v, int_view(TYPE), int_view(1), int_view(0)));
  CHECK(v.v_int64 == 1);
  OK(CALL("runtime.GetDeviceAttr", &v, int_view(TYPE), int_view(2), int_view(0)));
  CHECK(v.v_int64 == 0);
  OK(CALL("__tvm_set_device", &v, int_view(TYPE), int_view(1)));
  FAILS(CALL("__tvm_set_device", &v, int_view(TYPE), int_view(2)), "DeviceUnavailableError",
      "there is no device " NAME ":2");
}

/* ---- signals ---- */

static void handler(int s) { (void)s; }

static struct sigaction actions[NSIG];

static int settable(int s) { return s != SIGKILL && s != SIGSTOP && s != 32 && s != 33; }

static void remember(void) {
  for (int s = 1; s < NSIG; s++)
    if (settable(s)) sigaction(s, NULL, &actions[s]);
}

static void same_actions(const char* when) {
  for (int s = 1; s < NSIG; s++) {
    struct sigaction now;
    if (!settable(s)) continue;
    sigaction(s, NULL, &now);
    if (now.sa_sigaction != actions[s].sa_sigaction || now.sa_flags != actions[s].sa_flags) FAIL(
        "signal %d is changed %s", s, when);
  }
}

static void test_signals(void (*action)(int)) {
  TVMModuleHandle module = NULL;
  CHECK(TVMModLoadFromFile("/nowhere.so", "", &module) == -1);
  OK(CALL("runtime.GetDeviceAttr", &(TVMFFIAny){0}, int_view(kDLCPU), int_view(0), int_view(0)));
  for (int s = 1; s < NSIG; s++) /* Go keeps its handlers, and calls the previous ones */
    if (settable(s) && s != SIGSEGV && s != SIGBUS && s != SIGFPE && s != SIGPIPE && s != SIGURG) {
      struct sigaction a = {.sa_handler = action, .sa_flags = SA_ONSTACK};
      sigaction(s, &a, NULL);
    }
  remember();
  const TVMGODeviceAPI* api = table();
  same_actions("after the driver was started");
  OK(api->free_data_space(api, first, memory(api, first)));
  OK(api->stream_sync(api, first, NULL));
  same_actions("after memory was allocated");
  if (file == NULL) return;
  run_classic();
  same_actions("after a kernel was compiled and run");
  run_ffi();
  same_actions("at the end");
}

/* ---- fork ---- */

static void in_child(void (*test)(void)) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    failures = 0;
    test();
    _exit(report());
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void* kept;

static void child_of_user(void) {
  const TVMGODeviceAPI* api = table();
  static float here[N];
  void* p = NULL;
  DLTensor from = array(kept, first), to = array(here, host);
  FAILS(api->alloc_data_space(api, first, 64, 64, f32, &p), "DeviceUnavailableError", "this process is a fork");
  FAILS(api->copy_data_from_to(api, &from, &to, NULL), "DeviceUnavailableError", "this process is a fork");
  FAILS(api->stream_sync(api, first, NULL), "DeviceUnavailableError", "this process is a fork");
}

static void child_of_nobody(void) {
  const TVMGODeviceAPI* api = NULL;
  CHECK(TVMGODeviceAPIGet(TYPE, 0, &api) == -1);
  taken_error e = take_error();
  if (strstr(e.message, "fork") == NULL) FAIL("error \"%s\"", e.message);
}

static void* allocate_thread(void* arg) {
  kept = memory(table(), first);
  return arg;
}

/* Runs when a fork has begun, once. */
static void use_elsewhere(void) {
  pthread_t thread;
  if (kept != NULL) return;
  CHECK(pthread_create(&thread, NULL, allocate_thread, NULL) == 0);
  pthread_join(thread, NULL);
}

/* The driver is opened while the fork is under way. */
static void test_fork_meanwhile(void) {
  pthread_atfork(use_elsewhere, NULL, NULL);
  in_child(child_of_user);
  OK(table()->free_data_space(table(), first, kept));
}

static void test_fork(void) {
  in_child(child_of_nobody);
  const TVMGODeviceAPI* api = table();
  kept = memory(api, first);
  if (file != NULL) run_classic();
  in_child(child_of_user);
  if (file != NULL) run_classic(); /* the parent is unchanged */
  OK(api->free_data_space(api, first, kept));
}

/* ---- absent ---- */

static void test_absent(void) {
  const TVMGODeviceAPI* api = NULL;
  TVMFFIAny v;
  TVMArrayHandle a = NULL;
  for (int i = 0; i < 2; i++) {
    CHECK(TVMGODeviceAPIGet(TYPE, 0, &api) == -1 && api == NULL);
    taken_error e = take_error();
    puts(e.message);
  }
  OK(CALL("runtime.GetDeviceAttr", &v, int_view(TYPE), int_view(0), int_view(0)));
  CHECK(v.v_int64 == 0);
  CLASSIC(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &a));
  CLASSIC(TVMArrayFree(a));
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (argc == 4) {
    file = argv[2];
    read_arrays(argv[3]);
  }
  if (strcmp(what, "table") == 0) test_table();
  else if (strcmp(what, "absent") == 0) test_absent();
  else if (strcmp(what, "module") == 0 && argc == 4) run_classic(), run_ffi();
  else if (strcmp(what, "signals") == 0) test_signals(handler);
  else if (strcmp(what, "defaults") == 0) test_signals(SIG_DFL);
  else if (strcmp(what, "fork") == 0) test_fork();
  else if (strcmp(what, "fork-meanwhile") == 0) test_fork_meanwhile();
  else return 2;
  return report();
}
