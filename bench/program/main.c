/* Reads names of rows, one per line, and prints the nanoseconds per operation of each: the best of a few batches,
 * because other processes may use the machine's cores.
 *
 *   program SAMPLE_NS ADDONE.so MULTI_LLVM.so MULTI_C.so BLOB_1K.so BLOB_64M.so THROW.so OPENCL.so CUDA.so VULKAN.so \
 *     STEP.spv FAT.so */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *bench_addone_so, *bench_multi_llvm_so, *bench_multi_c_so;
const char *bench_blob_1k_so, *bench_blob_64m_so;
const char *bench_throw_so, *bench_opencl_so, *bench_cuda_so, *bench_vulkan_so, *bench_step_spv;
const char *bench_fat_so, *bench_relax_mlp_so, *bench_chain_so;

void bench_fail(const char* what) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  const TVMFFIErrorCell* cell = error == NULL ? NULL : TVMFFIErrorGetCellPtr(error);
  fprintf(stderr, "bench: %s: %.*s\n", what, cell == NULL ? 0 : (int)cell->message.size,
          cell == NULL ? "" : cell->message.data);
  exit(1);
}

TVMFFIObjectHandle bench_global(const char* name) {
  TVMFFIByteArray n = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  if (TVMFFIFunctionGetGlobal(&n, &f) != 0 || f == NULL) bench_fail(name);
  return f;
}

TVMFFIAny bench_call_global(const char* name, TVMFFIAny* args, int32_t n) {
  TVMFFIObjectHandle f = bench_global(name);
  TVMFFIAny result = bench_call(f, args, n);
  TVMFFIObjectDecRef(f);
  return result;
}

TVMFFIAny bench_load(const char* path) {
  TVMFFIAny args[1] = {bench_text(path)};
  return bench_call_global("ffi.ModuleLoadFromFile", args, 1);
}

TVMFFIAny bench_import(TVMFFIAny module) {
  TVMFFIAny args[2] = {module, bench_int(0)};
  return bench_call_global("runtime.ModuleGetImport", args, 2);
}

TVMFFIAny bench_module_function(TVMFFIAny module, const char* name, int imports) {
  TVMFFIAny args[3] = {module, bench_text(name), {.type_index = kTVMFFIBool}};
  args[2].v_int64 = imports;
  TVMFFIAny f = bench_call_global("ffi.ModuleGetFunction", args, 3);
  if (f.type_index != kTVMFFIFunction) bench_fail(name);
  return f;
}

void bench_tensor_args(TVMFFIAny args[4], int64_t length, DLDataType dtype, DLDevice device) {
  TVMFFIAny dim = bench_int(length);
  args[0] = bench_call_global("ffi.Shape", &dim, 1);
  args[1] = (TVMFFIAny){.type_index = kTVMFFIDataType, .v_dtype = dtype};
  args[2] = (TVMFFIAny){.type_index = kTVMFFIDevice, .v_device = device};
  args[3] = (TVMFFIAny){0};
}

TVMFFIAny bench_tensor(int64_t length, DLDataType dtype, DLDevice device) {
  TVMFFIAny args[4];
  bench_tensor_args(args, length, dtype, device);
  TVMFFIAny t = bench_call_global("runtime.TVMTensorAllocWithScope", args, 4);
  bench_release(args[0]);
  return t;
}

static const bench_row* find(const char* name) {
  const bench_row* tables[] = {bench_call_rows, bench_lookup_rows, bench_load_rows,
                               bench_runtime_rows, bench_parallel_rows, bench_map_rows,
                               bench_text_rows, bench_error_rows, bench_opencl_rows, bench_cuda_rows,
                               bench_vulkan_rows, bench_vm_rows};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const bench_row* r = tables[t]; r->name != NULL; r++)
      if (strcmp(r->name, name) == 0) return r;
  fprintf(stderr, "bench: there is no row %s\n", name);
  exit(1);
}

static int64_t time_of(const bench_row* r, int64_t n) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  r->run(n);
  clock_gettime(CLOCK_MONOTONIC, &to);
  return (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
}

enum { BATCHES = 5 };

/* Rows that are prepared, with the number of operations per batch. */
static struct {
  const bench_row* row;
  int64_t n;
} known[32];
static int num_known;

/* The nanoseconds of n operations: the best of a few batches. */
static int64_t best_of_batches(const bench_row* r, int64_t n) {
  int64_t best = INT64_MAX;
  for (int i = 0; i < BATCHES; i++) {
    int64_t took = time_of(r, n);
    if (took < best) best = took;
  }
  return best;
}

static int64_t repetitions(const bench_row* r, int64_t batch_ns) {
  for (int i = 0; i < num_known; i++)
    if (known[i].row == r) return known[i].n;
  if (num_known == sizeof known / sizeof *known) bench_fail("too many rows");
  if (r->prepare != NULL) r->prepare();
  int64_t n = 1;
  while (time_of(r, n) < batch_ns || best_of_batches(r, n) < batch_ns) n *= 2;
  known[num_known].row = r;
  known[num_known++].n = n;
  return n;
}

static double sample(const char* name, int64_t sample_ns) {
  for (const bench_figure* f = bench_parallel_figures; f->name != NULL; f++)
    if (strcmp(f->name, name) == 0) return f->figure();
  const bench_row* r = find(name);
  int64_t n = repetitions(r, sample_ns / BATCHES);
  return (double)best_of_batches(r, n) / (double)n;
}

int main(int argc, char** argv) {
  char line[64];
  if (argc != 15) {
    fprintf(stderr, "usage: program SAMPLE_NS ADDONE.so MULTI_LLVM.so MULTI_C.so BLOB_1K.so "
                    "BLOB_64M.so THROW.so OPENCL.so CUDA.so VULKAN.so STEP.spv FAT.so "
                    "RELAX_MLP.so CHAIN.so\n");
    return 2;
  }
  bench_addone_so = argv[2], bench_multi_llvm_so = argv[3], bench_multi_c_so = argv[4];
  bench_blob_1k_so = argv[5], bench_blob_64m_so = argv[6];
  bench_throw_so = argv[7], bench_opencl_so = argv[8], bench_cuda_so = argv[9], bench_vulkan_so = argv[10],
      bench_step_spv = argv[11], bench_fat_so = argv[12],
      bench_relax_mlp_so = argv[13], bench_chain_so = argv[14];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = 0;
    printf("%.4f\n", sample(line, atoll(argv[1])));
    fflush(stdout);
  }
  return 0;
}
