/* Whole models: the runtime's virtual machine on the CPU, called through functions of its module. */
#include "program.h"

/* A function of the executable in a library, made ready as users do: the host is the only device, with a pool. */
static TVMFFIAny function_of(const char* file, const char* name) {
  TVMFFIAny library = bench_load(file);
  TVMFFIAny load = bench_module_function(library, "vm_load_executable", 0);
  TVMFFIAny machine = bench_call(load.v_obj, NULL, 0);
  TVMFFIAny start = bench_module_function(machine, "vm_initialization", 0);
  TVMFFIAny host[3] = {bench_int(kDLCPU), bench_int(0), bench_int(2)};
  bench_release(bench_call(start.v_obj, host, 3));
  TVMFFIAny f = bench_module_function(machine, name, 0);
  bench_release(start);
  bench_release(machine);
  bench_release(load);
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

static TVMFFIAny forward, forward_args[5], chain, chain_arg;

static void prepare_forward(void) {
  forward = function_of(bench_relax_mlp_so, "forward");
  static const int64_t sizes[5][2] = {{1, 16}, {32, 16}, {32, 0}, {10, 32}, {10, 0}};
  for (int i = 0; i < 5; i++) forward_args[i] = tensor(sizes[i][0], sizes[i][1]);
  TVMFFIAny y = bench_call(forward.v_obj, forward_args, 5);
  const DLTensor* t = TVMFFITensorGetDLTensorPtr(y.v_obj);
  bench_need(t->ndim == 2 && t->shape[0] == 1 && t->shape[1] == 10, "the shape of the result");
  bench_release(y);
}

static void run_forward(int64_t n) {
  for (int64_t i = 0; i < n; i++) bench_release(bench_call(forward.v_obj, forward_args, 5));
}

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
    {"vm-chain", prepare_chain, run_chain},
    {0},
};
