/* Lookups of functions: a global function that the benchmark registered, and a function of a module. */
#include "program.h"

#include <string.h>
#ifdef BENCH_CLASSIC
#include <tvm/runtime/c_runtime_api.h>
#endif

static const char global_name[] = "bench.lookup.target";

static int nothing(void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)handle, (void)args, (void)n, (void)result;
  return 0;
}

static void prepare_global(void) {
  TVMFFIByteArray name = {global_name, strlen(global_name)};
  TVMFFIObjectHandle f = NULL;
  bench_check(TVMFFIFunctionCreate(NULL, nothing, NULL, &f), "create");
  bench_check(TVMFFIFunctionSetGlobal(&name, f, 1), "register");
  TVMFFIObjectDecRef(f);
}

static void lookup_global(int64_t n) {
  TVMFFIByteArray name = {global_name, sizeof global_name - 1};
  for (int64_t i = 0; i < n; i++) {
    TVMFFIObjectHandle f = NULL;
    bench_check(TVMFFIFunctionGetGlobal(&name, &f), "look up");
    TVMFFIObjectDecRef(f);
  }
}

static TVMFFIAny module;
static TVMFFIObjectHandle get_function;

static void prepare_module(void) {
  if (get_function != NULL) return;
  module = bench_load(bench_multi_llvm_so);
  get_function = bench_global("ffi.ModuleGetFunction");
}

static void lookup_in_module(int64_t n) {
  TVMFFIAny args[3] = {module, bench_text("vadd"), {.type_index = kTVMFFIBool}};
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny f = bench_call(get_function, args, 3);
    bench_check(f.type_index != kTVMFFIFunction, "look up vadd");
    TVMFFIObjectDecRef(f.v_obj);
  }
}

#ifdef BENCH_CLASSIC
static void lookup_in_module_classic(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFunctionHandle f = NULL;
    bench_check(TVMModGetFunction(module.v_obj, "vadd", 0, &f) != 0 || f == NULL, "look up vadd");
    TVMFuncFree(f);
  }
}
#endif

const bench_row bench_lookup_rows[] = {
    {"lookup-global", prepare_global, lookup_global},
    {"lookup-module", prepare_module, lookup_in_module},
#ifdef BENCH_CLASSIC
    {"lookup-module-classic", prepare_module, lookup_in_module_classic},
#endif
    {0},
};
