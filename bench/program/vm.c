/* Whole models: the runtime's virtual machine on the CPU, called through functions of its module. */
#include "program.h"

/* A function of an executable in a library, made ready as users do: the host is the only device, with a pool. */
static TVMFFIAny function_in(TVMFFIAny library, const char* name) {
  TVMFFIAny load = bench_module_function(library, "vm_load_executable", 0);
  TVMFFIAny machine = bench_call(load.v_obj, NULL, 0);
  TVMFFIAny start = bench_module_function(machine, "vm_initialization", 0);
  TVMFFIAny host[3] = {bench_int(kDLCPU), bench_int(0), bench_int(2)};
  bench_release(bench_call(start.v_obj, host, 3));
  TVMFFIAny f = bench_module_function(machine, name, 0);
  bench_release(start);
  bench_release(machine);
  bench_release(load);
  return f;
}

static TVMFFIAny function_of(const char* file, const char* name) {
  TVMFFIAny library = bench_load(file);
  TVMFFIAny f = function_in(library, name);
  bench_release(library);
  return f;
}

/* A tensor of float32 with one dimension, or two where columns is not 0. */
static TVMFFIAny tensor(int64_t rows, int64_t columns) {
  TVMFFIAny sizes[2] = {bench_int(rows), bench_int(columns)}, args[4];
  bench_tensor_args(args, 1, (DLDataType){kDLFloat, 32, 1}, (DLDevice){kDLCPU, 0});
  bench_release(args[0]);
  args[0] = bench_call_global("ffi.Shape", sizes, columns == 0 ? 1 : 2);
  TVMFFIAny t = bench_call_global("runtime.TVMTensorAllocWithScope", args, 4);
  bench_release(args[0]);
  float* data = TVMFFITensorGetDLTensorPtr(t.v_obj)->data;
  int64_t n = rows * (columns == 0 ? 1 : columns);
  for (int64_t i = 0; i < n; i++) data[i] = (float)(i % 7) / 7;
  return t;
}

/* forward of relax_mlp.so with its arguments for a batch. */
typedef struct {
  TVMFFIAny f, args[5];
} network;

static network forward, batch;
static TVMFFIAny chain, chain_arg;

static void prepare_args(TVMFFIAny args[5], int64_t rows) {
  const int64_t sizes[5][2] = {{rows, 16}, {32, 16}, {32, 0}, {10, 32}, {10, 0}};
  for (int i = 0; i < 5; i++) args[i] = tensor(sizes[i][0], sizes[i][1]);
}

enum { BATCH = 4096, CALLS = 100 /* of a profile */ };

static void prepare(network* net, int64_t rows) {
  net->f = function_of(bench_relax_mlp_so, "forward");
  prepare_args(net->args, rows);
  TVMFFIAny y = bench_call(net->f.v_obj, net->args, 5);
  const DLTensor* t = TVMFFITensorGetDLTensorPtr(y.v_obj);
  bench_need(t->ndim == 2 && t->shape[0] == rows && t->shape[1] == 10, "the shape of the result");
  bench_release(y);
}

static void run(network* net, int64_t n) {
  for (int64_t i = 0; i < n; i++) bench_release(bench_call(net->f.v_obj, net->args, 5));
}

static void prepare_forward(void) { prepare(&forward, 1); }
static void run_forward(int64_t n) { run(&forward, n); }

static void prepare_batch(void) {
  if (batch.f.v_obj == NULL) prepare(&batch, BATCH);
}
static void run_batch(int64_t n) { run(&batch, n * CALLS); }

/* The same under a profile, which is dropped. */
static void profiled(network* net, int64_t n) {
  TVMFFIAny read = {.type_index = kTVMFFIBool};
  bench_release(bench_call_global("tvmgo.profile.start", NULL, 0));
  run(net, n);
  bench_release(bench_call_global("tvmgo.profile.stop", &read, 1));
}

static void prepare_profile(void) {
  prepare_forward();
  enum { NAMES = 17 }; /* a row of the table for each name, a head and a sum */
  bench_release(bench_call_global("tvmgo.profile.start", NULL, 0));
  run(&forward, 1);
  TVMFFIAny all = bench_call_global("tvmgo.profile.stop", NULL, 0), args[2] = {all, bench_text("table")};
  TVMFFIAny table = bench_call_global("ffi.MapGetItem", args, 2);
  bench_need(table.type_index == kTVMFFIStr, "the table of a profile");
  const TVMFFIByteArray* text = (const TVMFFIByteArray*)(table.v_obj + 1);
  int lines = 0;
  for (size_t i = 0; i < text->size; i++) lines += text->data[i] == '\n';
  bench_need(lines == NAMES + 2, "the table of a profile");
  bench_release(table);
  bench_release(all);
}
static void run_profile_one(int64_t n) { profiled(&forward, n); }
static void run_profile(int64_t n) {
  for (int64_t i = 0; i < n; i++) profiled(&batch, CALLS);
}
static void prepare_profile_batch(void) {
  prepare_batch();
  prepare_profile();
}

/* Two threads that call forward, each with an input of its own and the same weights. One session serves both, or each
 * has its own, which Apache TVM requires; the kernels of relax_mlp.so run on the thread that calls them. */
typedef struct {
  TVMFFIAny function, args[5];
  int64_t n;
} worker;
static worker with_one[2], with_own[2];

static void prepare_workers(worker w[2], int own) {
  TVMFFIAny library = bench_load(bench_relax_mlp_so);
  w[0].function = w[1].function = function_in(library, "forward");
  if (own) w[1].function = function_in(library, "forward");
  prepare_args(w[0].args, 1);
  for (int i = 0; i < 5; i++) w[1].args[i] = i == 0 ? tensor(1, 16) : w[0].args[i];
  bench_release(library);
}
static void prepare_threads(void) { prepare_workers(with_one, 0); }
static void prepare_threads_own(void) { prepare_workers(with_own, 1); }

static void* work(void* arg) {
  worker* w = arg;
  for (int64_t i = 0; i < w->n; i++) bench_release(bench_call(w->function.v_obj, w->args, 5));
  return NULL;
}

/* n calls in all. */
static void run_workers(worker w[2], int64_t n) {
  w[0].n = n / 2;
  w[1].n = n - n / 2;
  bench_run_two(work, &w[0], work, &w[1]);
}
static void run_threads(int64_t n) { run_workers(with_one, n); }
static void run_threads_own(int64_t n) { run_workers(with_own, n); }

static void prepare_chain(void) {
  chain = function_of(bench_chain_so, "main");
  chain_arg = tensor(1, 0);
  TVMFFIAny y = bench_call(chain.v_obj, &chain_arg, 1);
  bench_need(y.v_obj == chain_arg.v_obj, "a chain of moves returns its argument: it");
  bench_release(y);
}

static void run_chain(int64_t n) {
  for (int64_t i = 0; i < n; i++) bench_release(bench_call(chain.v_obj, &chain_arg, 1));
}

const bench_row bench_vm_rows[] = {
    {"vm-forward", prepare_forward, run_forward},
    {"vm-threads", prepare_threads, run_threads},
    {"vm-threads-own", prepare_threads_own, run_threads_own},
    {"vm-chain", prepare_chain, run_chain},
    {"vm-batch", prepare_batch, run_batch},
    {"vm-profile", prepare_profile_batch, run_profile},
    {"vm-profile-1", prepare_profile, run_profile_one},
    {0},
};
