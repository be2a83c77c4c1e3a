/* The measurements. A sample is the best of a few batches, because other processes may use the machine's cores. Each
 * checks the results of the device. All work is on two streams that do not wait for the default stream. */
#include "card.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

enum { BLOCK = 256, WORKSPACE = 4096, ALLOCATION = 1 << 20, ALLOCATIONS = 64, WAITS = 256 };

card_sizes sizes;

static DLDevice cuda = {kDLCUDA, 0}, cuda_host = {kDLCUDAHost, 0};
static const TVMGODeviceAPI *api, *host_api;

static TVMFFIAny kernels, artifact;                    /* modules */
static TVMFFIAny addone, vadd, host_addone;            /* their functions */
static CUmodule raw_module;
static CUfunction raw_addone, raw_vadd;
static TVMFFIStreamHandle stream;                      /* of the library */
static CUstream raw_stream;
static void *graph, *timer;
static CUgraphExec raw_graph;
static CUevent raw_start, raw_stop;

static void *cell, *cell_out;                          /* one float each */
static void *a, *b, *c;                                /* for vadd */
static void *from, *to;                                /* for copies */
static void *locked, *pinned;                          /* page-locked memory: of cuda_host, of the CUDA device */
static float *host_a, *host_b, *host_c;

static double now(void) { /* ns */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void wait_ours(void) { card_check(api->stream_sync(api, cuda, stream), "wait"); }
static void wait_raw(void) { raw_check(raw.cuStreamSynchronize(raw_stream), "cuStreamSynchronize"); }

static void* memory(size_t bytes) {
  void* p = NULL;
  card_check(api->alloc_data_space(api, cuda, bytes, 256, (DLDataType){kDLFloat, 32, 1}, &p), "memory of the device");
  return p;
}

static CUdeviceptr at(const void* p) { return (CUdeviceptr)(uintptr_t)p; }

static void write_device(void* p, const void* data, size_t bytes) {
  raw_check(raw.cuMemcpyHtoDAsync(at(p), data, bytes, raw_stream), "cuMemcpyHtoDAsync");
  wait_raw();
}
static void read_device(void* data, const void* p, size_t bytes) {
  raw_check(raw.cuMemcpyDtoHAsync(data, at(p), bytes, raw_stream), "cuMemcpyDtoHAsync");
  wait_raw();
}

static void poison(void* p, size_t bytes) {
  raw_check(raw.cuMemsetD32Async(at(p), 0x7fc0dead, bytes / 4, raw_stream), "cuMemsetD32Async"); /* NaN */
  wait_raw();
}

static void set_cell(void* p, float v) { write_device(p, &v, sizeof v); }
static void check_cell(const void* p, float want, const char* what) {
  float have;
  read_device(&have, p, sizeof have);
  if (have != want) card_fail("%s: the result is %g, not %g", what, (double)have, (double)want);
}

/* ---- launches: a kernel adds 1 to one float ---- */

static TVMFFIAny pointer(void* p) { return (TVMFFIAny){.type_index = kTVMFFIOpaquePtr, .v_ptr = p}; }
static TVMFFIAny number(int64_t i) { return (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = i}; }

static void call(TVMFFIAny f, TVMFFIAny* args, int32_t n, const char* what) {
  TVMFFIAny result = {0};
  card_check(TVMFFIFunctionCall(f.v_obj, args, n, &result), what);
}

static void add_ours(int n) {
  TVMFFIAny args[5] = {pointer(cell), pointer(cell), number(1), number(1), number(1)};
  for (int i = 0; i < n; i++) call(addone, args, 5, "launch");
}

static void add_raw(int n) {
  CUdeviceptr p = at(cell);
  int32_t elements = 1;
  void* params[] = {&p, &p, &elements};
  for (int i = 0; i < n; i++)
    raw_check(raw.cuLaunchKernel(raw_addone, 1, 1, 1, 1, 1, 1, 0, raw_stream, params, NULL), "cuLaunchKernel");
}

static void add_host(int n) {
  int64_t one = 1;
  DLTensor in = {.data = cell, .device = cuda, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &one}, out = in;
  out.data = cell_out;
  TVMFFIAny args[2] = {{.type_index = kTVMFFIDLTensorPtr, .v_ptr = &in}, {.type_index = kTVMFFIDLTensorPtr,
      .v_ptr = &out}};
  for (int i = 0; i < n; i++) call(host_addone, args, 2, "launch by the generated host function");
}

/* The time to queue one launch. The device is idle before. */
static double queue_time(void (*launch)(int), void (*wait)(void)) {
  double best = INFINITY;
  for (int i = 0; i < sizes.batches; i++) {
    double t = now();
    launch(sizes.launches);
    t = now() - t;
    wait();
    best = fmin(best, t / sizes.launches);
  }
  return best;
}

static double launch_ours(void) {
  set_cell(cell, 0);
  double t = queue_time(add_ours, wait_ours);
  check_cell(cell, (float)(sizes.batches * sizes.launches), "launches through a module function");
  return t;
}
static double launch_raw(void) {
  set_cell(cell, 0);
  double t = queue_time(add_raw, wait_raw);
  check_cell(cell, (float)(sizes.batches * sizes.launches), "launches by the driver");
  return t;
}
static double launch_host(void) {
  set_cell(cell, 41);
  poison(cell_out, sizeof(float));
  double t = queue_time(add_host, wait_ours);
  check_cell(cell_out, 42, "launches by the generated host function");
  return t;
}

/* ---- graphs: a chain of launches, each of which reads what the previous one wrote ---- */

static void replay_ours(int n) {
  for (int i = 0; i < n; i++) card_check(api->graph_launch(api, cuda, graph, stream), "launch a graph");
  wait_ours();
}
static void replay_raw(int n) {
  for (int i = 0; i < n; i++) raw_check(raw.cuGraphLaunch(raw_graph, raw_stream), "cuGraphLaunch");
  wait_raw();
}

/* The time of one operation until it is complete. */
static double whole_time(void (*run)(int)) {
  double best = INFINITY;
  for (int i = 0; i < sizes.batches; i++) {
    double t = now();
    run(1);
    best = fmin(best, now() - t);
  }
  return best;
}

static double graph_time(void (*run)(int), const char* what) {
  set_cell(cell, 0);
  double t = whole_time(run);
  check_cell(cell, (float)(sizes.batches * sizes.graph_launches), what);
  return t / 1e3;
}
static double graph_ours(void) { return graph_time(replay_ours, "replays of a graph"); }
static double graph_raw(void) { return graph_time(replay_raw, "replays of a graph by the driver"); }

static void record_graphs(void) {
  CUgraph recorded = NULL;
  CUgraphNode bad;
  char log[256];
  card_check(api->capture_begin(api, cuda, stream), "record a graph");
  add_ours(sizes.graph_launches);
  card_check(api->capture_end(api, cuda, stream, &graph), "end the recording");
  raw_check(raw.cuStreamBeginCapture(raw_stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  add_raw(sizes.graph_launches);
  raw_check(raw.cuStreamEndCapture(raw_stream, &recorded), "cuStreamEndCapture");
  raw_check(raw.cuGraphInstantiate(&raw_graph, recorded, &bad, log, sizeof log), "cuGraphInstantiate");
  raw_check(raw.cuGraphDestroy(recorded), "cuGraphDestroy");
}

/* ---- copies ---- */

static void copy_ours(void* source, DLDevice of, void* destination, DLDevice to_device, size_t bytes) {
  int64_t n = (int64_t)bytes;
  DLTensor s = {.data = source, .device = of, .ndim = 1, .dtype = {kDLUInt, 8, 1}, .shape = &n}, d = s;
  d.data = destination, d.device = to_device;
  card_check(api->copy_data_from_to(api, &s, &d, stream), "copy");
}

static const DLDevice cpu = {kDLCPU, 0};
static void h2d_ours(int n) {
  (void)n;
  copy_ours(locked, cuda_host, to, cuda, sizes.copy);
  wait_ours();
}
static void d2h_ours(int n) {
  (void)n;
  copy_ours(to, cuda, locked, cuda_host, sizes.copy);
  wait_ours();
}
static void h2d_pinned(int n) { /* the copy itself waits: for the runtime this is memory of the CPU */
  (void)n;
  copy_ours(pinned, cpu, to, cuda, sizes.copy);
}
static void d2h_pinned(int n) {
  (void)n;
  copy_ours(to, cuda, pinned, cpu, sizes.copy);
}
static void h2d_raw(int n) {
  (void)n;
  raw_check(raw.cuMemcpyHtoDAsync(at(to), locked, sizes.copy, raw_stream), "cuMemcpyHtoDAsync");
  wait_raw();
}
static void d2h_raw(int n) {
  (void)n;
  raw_check(raw.cuMemcpyDtoHAsync(locked, at(to), sizes.copy, raw_stream), "cuMemcpyDtoHAsync");
  wait_raw();
}
static void d2d_ours(int n) {
  (void)n;
  copy_ours(from, cuda, to, cuda, sizes.device_copy);
  wait_ours();
}
static void d2d_raw(int n) {
  (void)n;
  raw_check(raw.cuMemcpyDtoDAsync(at(to), at(from), sizes.device_copy, raw_stream), "cuMemcpyDtoDAsync");
  wait_raw();
}

/* Pseudorandom data; the same seed gives the same data. */
static void fill(void* p, size_t bytes, uint32_t seed) {
  uint32_t *words = p, x = seed * 2654435761u + 1;
  for (size_t i = 0; i < bytes / 4; i++) {
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    words[i] = x;
  }
}

static uint32_t seed; /* each sample uses a new one */

static void* allocate(size_t bytes) {
  void* p = calloc(1, bytes);
  if (p == NULL) card_fail("no memory for %zu bytes", bytes);
  return p;
}

static void same(const void* have, size_t bytes, const char* what) {
  void* want = allocate(bytes);
  fill(want, bytes, seed);
  int differs = memcmp(have, want, bytes) != 0;
  free(want);
  if (differs) card_fail("%s: the %zu bytes have errors", what, bytes);
}

static double to_device(void (*run)(int), void* source, const char* what) {
  fill(source, sizes.copy, ++seed);
  poison(to, sizes.copy);
  double t = whole_time(run);
  void* back = allocate(sizes.copy);
  read_device(back, to, sizes.copy);
  same(back, sizes.copy, what);
  free(back);
  return (double)sizes.copy / t;
}
static double to_host(void (*run)(int), void* destination, const char* what) {
  fill(destination, sizes.copy, ++seed);
  write_device(to, destination, sizes.copy);
  memset(destination, 0xdd, sizes.copy);
  double t = whole_time(run);
  same(destination, sizes.copy, what);
  return (double)sizes.copy / t;
}
static double on_device(void (*run)(int), const char* what) {
  void* data = allocate(sizes.device_copy);
  fill(data, sizes.device_copy, ++seed);
  write_device(from, data, sizes.device_copy);
  poison(to, sizes.device_copy);
  double t = whole_time(run);
  read_device(data, to, sizes.device_copy);
  same(data, sizes.device_copy, what);
  free(data);
  return 2 * (double)sizes.device_copy / t; /* each byte is read and written */
}

static double copy_h2d_ours(void) { return to_device(h2d_ours, locked, "copy from cuda_host"); }
static double copy_h2d_pinned(void) { return to_device(h2d_pinned, pinned, "copy from page-locked memory"); }
static double copy_h2d_raw(void) { return to_device(h2d_raw, locked, "cuMemcpyHtoDAsync"); }
static double copy_d2h_ours(void) { return to_host(d2h_ours, locked, "copy to cuda_host"); }
static double copy_d2h_pinned(void) { return to_host(d2h_pinned, pinned, "copy to page-locked memory"); }
static double copy_d2h_raw(void) { return to_host(d2h_raw, locked, "cuMemcpyDtoHAsync"); }
static double copy_d2d_ours(void) { return on_device(d2d_ours, "copy on the device"); }
static double copy_d2d_raw(void) { return on_device(d2d_raw, "cuMemcpyDtoDAsync"); }

/* ---- memory and waits ---- */

static double mean_time(void (*run)(int), int n) {
  double best = INFINITY;
  for (int i = 0; i < sizes.batches; i++) {
    double t = now();
    run(n);
    best = fmin(best, (now() - t) / n);
  }
  return best;
}

static void allocate_ours(int n) {
  for (int i = 0; i < n; i++) {
    void* p = NULL;
    card_check(api->alloc_on_stream(api, cuda, ALLOCATION, 256, (DLDataType){kDLFloat, 32, 1}, stream, &p),
               "allocate on a stream");
    card_check(api->free_on_stream(api, cuda, p, stream), "free on a stream");
  }
}
static void allocate_raw(int n) {
  for (int i = 0; i < n; i++) {
    CUdeviceptr p;
    raw_check(raw.cuMemAlloc(&p, ALLOCATION), "cuMemAlloc");
    raw_check(raw.cuMemFree(p), "cuMemFree");
  }
}
static void borrow_workspaces(int n) {
  for (int i = 0; i < n; i++) {
    void* p = TVMBackendAllocWorkspace(kDLCUDA, cuda.device_id, WORKSPACE, kDLFloat, 32);
    if (p == NULL) card_fail("workspace");
    card_check(TVMBackendFreeWorkspace(kDLCUDA, cuda.device_id, p), "free a workspace");
  }
}
static void idle_ours(int n) {
  for (int i = 0; i < n; i++) wait_ours();
}
static void idle_raw(int n) {
  for (int i = 0; i < n; i++) wait_raw();
}

/* Also checks that stream-ordered memory keeps what is written to it. */
static double alloc_ours(void) {
  void* p = NULL;
  float v = 7;
  card_check(api->alloc_on_stream(api, cuda, ALLOCATION, 256, (DLDataType){kDLFloat, 32, 1}, stream, &p),
             "allocate on a stream");
  wait_ours();
  poison(p, ALLOCATION);
  write_device((char*)p + ALLOCATION - sizeof v, &v, sizeof v);
  check_cell((char*)p + ALLOCATION - sizeof v, 7, "stream-ordered memory");
  card_check(api->free_on_stream(api, cuda, p, stream), "free on a stream");
  double t = mean_time(allocate_ours, ALLOCATIONS);
  wait_ours();
  return t;
}
static double alloc_raw(void) { return mean_time(allocate_raw, ALLOCATIONS); }
static double workspace(void) { return mean_time(borrow_workspaces, WAITS); }
static double sync_ours(void) { return mean_time(idle_ours, WAITS); }
static double sync_raw(void) { return mean_time(idle_raw, WAITS); }

/* ---- vadd, timed by the device ---- */

static double vadd_ours_ns(void) {
  int64_t ns = 0, n = (int64_t)sizes.elements;
  TVMFFIAny args[6] = {pointer(a), pointer(b), pointer(c), number(n), number((n + BLOCK - 1) / BLOCK), number(BLOCK)};
  card_check(api->timer_start(api, timer, stream), "start a timer");
  call(vadd, args, 6, "launch vadd");
  card_check(api->timer_stop(api, timer, stream), "stop a timer");
  card_check(api->timer_elapsed_ns(api, timer, &ns), "read a timer");
  return (double)ns;
}
static double vadd_raw_ns(void) {
  CUdeviceptr x = at(a), y = at(b), z = at(c);
  int32_t n = (int32_t)sizes.elements;
  float ms = 0;
  void* params[] = {&x, &y, &z, &n};
  raw_check(raw.cuEventRecord(raw_start, raw_stream), "cuEventRecord");
  raw_check(raw.cuLaunchKernel(raw_vadd, (unsigned)((n + BLOCK - 1) / BLOCK), 1, 1, BLOCK, 1, 1, 0, raw_stream, params,
                               NULL),
            "cuLaunchKernel");
  raw_check(raw.cuEventRecord(raw_stop, raw_stream), "cuEventRecord");
  raw_check(raw.cuEventSynchronize(raw_stop), "cuEventSynchronize");
  raw_check(raw.cuEventElapsedTime(&ms, raw_start, raw_stop), "cuEventElapsedTime");
  return (double)ms * 1e6;
}
static double vadd_time(double (*run)(void), const char* what) {
  size_t bytes = sizes.elements * sizeof(float);
  double best = INFINITY;
  poison(c, bytes);
  for (int i = 0; i < sizes.batches; i++) best = fmin(best, run());
  read_device(host_c, c, bytes);
  for (size_t i = 0; i < sizes.elements; i++)
    if (host_c[i] != host_a[i] + host_b[i])
      card_fail("%s: element %zu is %g, not %g", what, i, (double)host_c[i], (double)(host_a[i] + host_b[i]));
  return best / 1e3;
}
static double vadd_ours(void) { return vadd_time(vadd_ours_ns, "vadd"); }
static double vadd_raw(void) { return vadd_time(vadd_raw_ns, "vadd by the driver"); }

/* ---- the table ---- */

card_row card_rows[] = {
    {"launch", "ns", CARD_DIFFERENCE, 150, launch_ours, launch_raw, 0},
    {"launch by the generated host function", "ns", CARD_RECORD, 0, launch_host, launch_raw, 0},
    {"graph of dependent launches", "us", CARD_RATIO_AT_MOST, 1.02, graph_ours, graph_raw, 0},
    {"host to device, cuda_host", "GB/s", CARD_RATIO_AT_LEAST, 0.98, copy_h2d_ours, copy_h2d_raw, 0},
    {"host to device, pinned_alloc", "GB/s", CARD_RATIO_AT_LEAST, 0.98, copy_h2d_pinned, copy_h2d_raw, 0},
    {"device to host, cuda_host", "GB/s", CARD_RATIO_AT_LEAST, 0.98, copy_d2h_ours, copy_d2h_raw, 0},
    {"device to host, pinned_alloc", "GB/s", CARD_RATIO_AT_LEAST, 0.98, copy_d2h_pinned, copy_d2h_raw, 0},
    {"on the device, read and written", "GB/s", CARD_RECORD, 0, copy_d2d_ours, copy_d2d_raw, 0},
    {"stream-ordered allocation and free, 1 MiB", "ns", CARD_RATIO_AT_MOST, 0.1, alloc_ours, alloc_raw, 0},
    {"workspace of 4 KiB, hit", "ns", CARD_RECORD, 0, workspace, NULL, 0},
    {"wait for an idle stream", "ns", CARD_RECORD, 0, sync_ours, sync_raw, 0},
    {"vadd, by the device's timer", "us", CARD_RECORD, 0, vadd_ours, vadd_raw, 0},
    {0},
};

static float* numbers(uint32_t s) {
  float* p = malloc(sizes.elements * sizeof *p);
  if (p == NULL) card_fail("no memory for %zu numbers", sizes.elements);
  fill(p, sizes.elements * sizeof *p, s);
  for (size_t i = 0; i < sizes.elements; i++) p[i] = (float)(((uint32_t*)p)[i] >> 8) / 65536 - 128; /* exact */
  return p;
}

static size_t largest(size_t x, size_t y) { return x > y ? x : y; }

void rows_prepare(const char* folder, const char* file, int device) {
  char path[4096];
  cuda.device_id = cuda_host.device_id = device;
  card_check(TVMGODeviceAPIGet(kDLCUDA, 0, &api), "CUDA");
  card_check(TVMGODeviceAPIGet(kDLCUDAHost, 0, &host_api), "cuda_host");
  if (!TVMGODeviceAPIHas(api, create_stream_with_priority) || api->alloc_on_stream == NULL)
    card_fail("the library is older than this program");
  card_check(api->set_device(api, device), "the device");
  raw_open(device);
  if ((size_t)snprintf(path, sizeof path, "%s/kernels.ptx", folder) >= sizeof path)
    card_fail("the folder's name is too long");
  kernels = card_load(path);
  addone = card_function(kernels, "addone_kernel"), vadd = card_function(kernels, "vadd_kernel");
  artifact = card_load(file);
  host_addone = card_function(artifact, "addone");
  char* image = card_contents(path);
  raw_check(raw.cuModuleLoadData(&raw_module, image), "cuModuleLoadData");
  free(image);
  raw_check(raw.cuModuleGetFunction(&raw_addone, raw_module, "addone_kernel"), "cuModuleGetFunction");
  raw_check(raw.cuModuleGetFunction(&raw_vadd, raw_module, "vadd_kernel"), "cuModuleGetFunction");
  card_check(api->create_stream(api, cuda, &stream), "create a stream");
  raw_check(raw.cuStreamCreate(&raw_stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  card_check(TVMSetStream(kDLCUDA, device, stream), "use a stream");
  card_check(api->timer_create(api, cuda, &timer), "create a timer");
  raw_check(raw.cuEventCreate(&raw_start, 0), "cuEventCreate");
  raw_check(raw.cuEventCreate(&raw_stop, 0), "cuEventCreate");

  size_t bytes = sizes.elements * sizeof(float);
  cell = memory(sizeof(float)), cell_out = memory(sizeof(float));
  a = memory(bytes), b = memory(bytes), c = memory(bytes);
  from = memory(sizes.device_copy), to = memory(largest(sizes.copy, sizes.device_copy));
  card_check(host_api->alloc_data_space(host_api, cuda_host, sizes.copy, 256, (DLDataType){kDLUInt, 8, 1}, &locked),
             "memory on cuda_host");
  card_check(api->pinned_alloc(api, cuda, sizes.copy, &pinned), "page-locked memory");
  host_a = numbers(1), host_b = numbers(2), host_c = numbers(3);
  write_device(a, host_a, bytes), write_device(b, host_b, bytes);

  set_cell(cell, 0);
  add_ours(1); /* loads the module, which must not happen during a recording */
  wait_ours();
  check_cell(cell, 1, "the first launch");
  record_graphs();
  check_cell(cell, 1, "a recording");
  for (card_row* r = card_rows; r->name != NULL; r++) {
    if (r->ours == vadd_ours) r->bytes = 3 * bytes;
    if (r->ours == copy_d2d_ours) r->bytes = 2 * sizes.device_copy;
    if (strcmp(r->unit, "GB/s") == 0 && r->bytes == 0) r->bytes = sizes.copy;
  }
}

void rows_close(void) {
  void* all[] = {cell, cell_out, a, b, c, from, to};
  wait_ours(), wait_raw();
  card_check(api->graph_free(api, cuda, graph), "free a graph");
  raw_check(raw.cuGraphExecDestroy(raw_graph), "cuGraphExecDestroy");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    card_check(api->free_data_space(api, cuda, all[i]), "free memory");
  card_check(host_api->free_data_space(host_api, cuda_host, locked), "free memory of cuda_host");
  card_check(api->pinned_free(api, cuda, pinned), "free page-locked memory");
  free(host_a), free(host_b), free(host_c);
  card_check(api->timer_free(api, timer), "free a timer");
  raw_check(raw.cuEventDestroy(raw_start), "cuEventDestroy");
  raw_check(raw.cuEventDestroy(raw_stop), "cuEventDestroy");
  card_check(TVMSetStream(kDLCUDA, cuda.device_id, NULL), "use the default stream");
  card_check(api->free_stream(api, cuda, stream), "free a stream");
  raw_check(raw.cuStreamDestroy(raw_stream), "cuStreamDestroy");
  raw_check(raw.cuModuleUnload(raw_module), "cuModuleUnload");
  TVMFFIAny objects[] = {host_addone, artifact, addone, vadd, kernels};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
    card_check(TVMFFIObjectDecRef(objects[i].v_obj), "release");
}
