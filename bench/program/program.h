/* The program that measures rows of the comparison, linked with one TVM runtime.
 *
 * It is compiled twice from the same source, for tvmgo's library and for the peer's. BENCH_CLASSIC adds the rows of the
 * classic C ABI, which the peer no longer has. BENCH_OPENCL, BENCH_CUDA and BENCH_VULKAN add the rows of these devices,
 * which the peer's wheels do not support. */
#pragma once

#include <stdint.h>
#include <tvm/ffi/c_api.h>

/* prepare runs once, before the first measurement; run executes the operation n times. */
typedef struct {
  const char* name;
  void (*prepare)(void);
  void (*run)(int64_t n);
} bench_row;

/* A row that measures itself. */
typedef struct {
  const char* name;
  double (*figure)(void);
} bench_figure;

/* Tables of rows; each ends with a row without a name. */
extern const bench_row bench_call_rows[];
extern const bench_row bench_lookup_rows[];
extern const bench_row bench_load_rows[];
extern const bench_row bench_runtime_rows[];
extern const bench_row bench_parallel_rows[];
extern const bench_figure bench_parallel_figures[];
extern const bench_row bench_map_rows[];
extern const bench_row bench_text_rows[];
extern const bench_row bench_error_rows[];
extern const bench_row bench_opencl_rows[];
extern const bench_row bench_cuda_rows[];
extern const bench_row bench_vulkan_rows[];
extern const bench_row bench_vm_rows[];

/* Paths of the files that rows use, from the command line. */
extern const char* bench_addone_so;     /* exported by Apache TVM, without dependencies */
extern const char* bench_multi_llvm_so; /* exported by Apache TVM, needs libm, has parallel loops */
extern const char* bench_multi_c_so;    /* exported by Apache TVM, without libm and without parallel loops */
extern const char *bench_blob_1k_so, *bench_blob_64m_so;
extern const char* bench_throw_so;  /* program/throw.cc, linked with the same runtime */
extern const char* bench_opencl_so; /* exported by Apache TVM for OpenCL */
extern const char* bench_cuda_so;   /* exported by Apache TVM for CUDA, with PTX */
extern const char* bench_vulkan_so; /* with the shader step */
extern const char* bench_step_spv;  /* the shader step */
extern const char* bench_fat_so;    /* fatadd for several targets */
extern const char* bench_relax_mlp_so; /* a Relax executable, exported by Apache TVM */
extern const char* bench_chain_so;     /* a Relax executable with 1000 moves through tuples */

/* Ends the program with an error: `what` and the error of this thread. */
_Noreturn void bench_fail(const char* what);

/* Ends the program if rc is not 0. */
static inline void bench_check(int rc, const char* what) {
  if (__builtin_expect(rc != 0, 0)) bench_fail(what);
}

/* A global function, owned by the caller; ends the program if there is none. */
TVMFFIObjectHandle bench_global(const char* name);

/* Calls f; the caller owns the result. */
static inline TVMFFIAny bench_call(TVMFFIObjectHandle f, TVMFFIAny* args, int32_t n) {
  TVMFFIAny result = {0};
  bench_check(TVMFFIFunctionCall(f, args, n, &result), "call");
  return result;
}

static inline void bench_release(TVMFFIAny v) {
  if (v.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(v.v_obj);
}

static inline TVMFFIAny bench_int(int64_t i) {
  TVMFFIAny v = {.type_index = kTVMFFIInt};
  v.v_int64 = i;
  return v;
}
static inline TVMFFIAny bench_text(const char* s) {
  TVMFFIAny v = {.type_index = kTVMFFIRawStr};
  v.v_c_str = s;
  return v;
}
static inline TVMFFIAny bench_object(TVMFFIObjectHandle obj) {
  TVMFFIAny v = {.type_index = TVMFFIObjectGetTypeIndex(obj)};
  v.v_obj = obj;
  return v;
}

/* These return values that the caller owns, and end the program if they fail. */
TVMFFIAny bench_call_global(const char* name, TVMFFIAny* args, int32_t n);
TVMFFIAny bench_load(const char* path);
TVMFFIAny bench_import(TVMFFIAny module); /* the first imported module */
TVMFFIAny bench_module_function(TVMFFIAny module, const char* name, int imports);
TVMFFIAny bench_tensor(int64_t length, DLDataType dtype, DLDevice device); /* of one dimension */

/* Sets the arguments of runtime.TVMTensorAllocWithScope for bench_tensor; the caller owns args[0]. */
void bench_tensor_args(TVMFFIAny args[4], int64_t length, DLDataType dtype, DLDevice device);

/* Ends the program with `what` if ok is 0. */
void bench_need(int ok, const char* what);
/* Runs two functions on two threads, on two cores if the process may use two (pair.c), and waits for both. */
void bench_run_two(void* (*first)(void*), void* first_arg, void* (*second)(void*), void* second_arg);

/* Opens the library of a driver: the one that the environment variable names, or else `file`. It is never closed. */
void* bench_driver(const char* variable, const char* file);
void* bench_symbol(void* library, const char* name);
