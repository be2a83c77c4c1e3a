/* A program of the comparison: linked with one TVM runtime that measures rows on request.
 *
 * It is compiled twice from the same source, once against each library. BENCH_CLASSIC adds the rows
 * of the classic C ABI, which the peer no longer has, BENCH_OPENCL, BENCH_CUDA and BENCH_VULKAN
 * those of OpenCL, CUDA and Vulkan, which its wheels don't have. */
#pragma once

#include <stdint.h>
#include <tvm/ffi/c_api.h>

/* prepare runs once, before the first measurement; run does the operation n times. */
typedef struct {
  const char* name;
  void (*prepare)(void);
  void (*run)(int64_t n);
} bench_row;

/* Tables that end with a row without a name. */
extern const bench_row bench_call_rows[];
extern const bench_row bench_lookup_rows[];
extern const bench_row bench_load_rows[];
extern const bench_row bench_runtime_rows[];
extern const bench_row bench_map_rows[];
extern const bench_row bench_text_rows[];
extern const bench_row bench_error_rows[];
extern const bench_row bench_opencl_rows[];
extern const bench_row bench_cuda_rows[];
extern const bench_row bench_vulkan_rows[];

/* Files that the rows use, as given on the command line: libraries exported by Apache TVM, of which
 * the first has no dependencies, the second needs libm and has parallel loops, the third neither. */
extern const char *bench_addone_so, *bench_multi_llvm_so, *bench_multi_c_so;
extern const char *bench_blob_1k_so, *bench_blob_64m_so;
extern const char* bench_throw_so; /* program/throw.cc, linked with the same library */
extern const char* bench_opencl_so; /* exported for OpenCL */
extern const char* bench_cuda_so; /* exported for CUDA, with PTX */
extern const char* bench_vulkan_so; /* with the shader step, */
extern const char* bench_step_spv;  /* which is this */

/* Ends the program with `what` and the error of this thread. */
_Noreturn void bench_fail(const char* what);

/* Ends the program when rc is not 0. */
static inline void bench_check(int rc, const char* what) {
  if (__builtin_expect(rc != 0, 0)) bench_fail(what);
}

/* A global function; ends the program when there is none. Owned. */
TVMFFIObjectHandle bench_global(const char* name);

/* Calls f; the result is the caller's. */
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

/* ffi.ModuleLoadFromFile, ffi.ModuleGetFunction and a float32 tensor of one dimension. Owned. */
TVMFFIAny bench_load(const char* path);
TVMFFIAny bench_module_function(TVMFFIAny module, const char* name);
TVMFFIAny bench_tensor(int64_t length);
