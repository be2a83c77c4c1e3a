/* Loading: a small library and a lookup of one of its functions, and libraries with a blob. */
#include "program.h"

#include <string.h>
#ifdef BENCH_CLASSIC
#include <tvm/runtime/c_runtime_api.h>
#endif

static TVMFFIObjectHandle load_file, get_function;

static void prepare(void) {
  if (load_file != NULL) return;
  load_file = bench_global("ffi.ModuleLoadFromFile");
  get_function = bench_global("ffi.ModuleGetFunction");
}

static void load_and_look_up(const char* file, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny path = bench_text(file);
    TVMFFIAny args[3] = {bench_call(load_file, &path, 1), bench_text("addone"),
                         {.type_index = kTVMFFIBool}};
    TVMFFIAny f = bench_call(get_function, args, 3);
    bench_check(f.type_index != kTVMFFIFunction, "look up addone");
    bench_release(f);
    bench_release(args[0]);
  }
}

static void load_small(int64_t n) { load_and_look_up(bench_addone_so, n); }
static void load_with_libm(int64_t n) { load_and_look_up(bench_multi_llvm_so, n); }

#ifdef BENCH_CLASSIC
static void load_small_classic(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMModuleHandle m = NULL;
    TVMFunctionHandle f = NULL;
    bench_check(TVMModLoadFromFile(bench_addone_so, "so", &m), "load");
    bench_check(TVMModGetFunction(m, "addone", 0, &f) != 0 || f == NULL, "look up addone");
    TVMFuncFree(f);
    TVMModFree(m);
  }
}
#endif

/* The loader of the blob's only entry checks the size and returns an existing module, so that the row measures how the
 * payload is passed to the loader. */
static int load_payload(void* handle, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)handle;
  size_t size = 0;
  if (n == 1 && args[0].type_index == kTVMFFIBytes)
    size = TVMFFIBytesGetByteArrayPtr(args[0].v_obj)->size;
  else if (n == 1 && args[0].type_index == kTVMFFIByteArrayPtr)
    size = ((TVMFFIByteArray*)args[0].v_ptr)->size;
  if (size < 1024) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "the payload has a wrong size");
    return -1;
  }
  TVMFFIObjectHandle system_lib = bench_global("ffi.SystemLib");
  *result = bench_call(system_lib, NULL, 0);
  TVMFFIObjectDecRef(system_lib);
  return 0;
}

static void prepare_blob(void) {
  static const char name[] = "ffi.Module.load_from_bytes.benchblob";
  TVMFFIByteArray n = {name, strlen(name)};
  TVMFFIObjectHandle f = NULL;
  prepare();
  bench_check(TVMFFIFunctionCreate(NULL, load_payload, NULL, &f), "create");
  bench_check(TVMFFIFunctionSetGlobal(&n, f, 1), "register loader");
  TVMFFIObjectDecRef(f);
}

static void load_blob(const char* file, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    TVMFFIAny path = bench_text(file);
    bench_release(bench_call(load_file, &path, 1));
  }
}

static void load_blob_1k(int64_t n) { load_blob(bench_blob_1k_so, n); }
static void load_blob_64m(int64_t n) { load_blob(bench_blob_64m_so, n); }

const bench_row bench_load_rows[] = {
    {"load", prepare, load_small},
    {"load-libm", prepare, load_with_libm},
#ifdef BENCH_CLASSIC
    {"load-classic", prepare, load_small_classic},
#endif
    {"load-blob-1k", prepare_blob, load_blob_1k},
    {"load-blob-64m", prepare_blob, load_blob_64m},
    {0},
};
