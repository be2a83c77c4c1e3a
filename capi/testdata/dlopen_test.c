/* A host that is not linked with the library but opens it RTLD_LOCAL, as plugins and language bindings do.
 *   dlopen_test LIBRARY globals FILE     prints the global functions that the first call finds; all later calls must
 *                                        find the same
 *   dlopen_test LIBRARY lookup NAME...   the very first calls look these up
 *   dlopen_test LIBRARY vadd FILE        loads a module and calls its vadd, well and badly
 *   dlopen_test LIBRARY exit FILE        leaves main while threads work
 * For globals FILE is a module that carries others, of a kind without a loader. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <tvm/runtime/c_runtime_api.h>
#include <unistd.h>

#include "check.h"

int failures;

static struct {
  __typeof__(&TVMFuncListGlobalNames) list_names;
  __typeof__(&TVMFuncGetGlobal) get_global;
  __typeof__(&TVMModLoadFromFile) load;
  __typeof__(&TVMModGetFunction) get_function;
  __typeof__(&TVMModFree) free_module;
  __typeof__(&TVMFuncCall) call;
  __typeof__(&TVMFuncFree) free_function;
  __typeof__(&TVMGetLastError) last_error;
} api;

static void open_library(const char* path) {
  void* lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) puts(dlerror()), exit(2);
  static const char* const names[] = {"TVMFuncListGlobalNames", "TVMFuncGetGlobal", "TVMModLoadFromFile",
      "TVMModGetFunction",
                                      "TVMModFree", "TVMFuncCall", "TVMFuncFree", "TVMGetLastError"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    void* p = dlsym(lib, names[i]);
    if (p == NULL) puts(dlerror()), exit(2);
    ((void**)&api)[i] = p;
  }
}

/* Starts Go: a file with other modules is read by Go, and its kernels need a device that does not exist. */
static void enter_go(const char* file) {
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  if (api.load(file, "", &module) != 0) FAIL("%s", api.last_error());
  CHECK(api.get_function(module, "vadd_kernel", 1, &f) == -1);
  CHECK(strstr(api.last_error(), "nothing here can run modules of kind \"rocm\"") != NULL);
  api.free_module(module);
}

static int globals(const char* file) {
  int n = 0, later = 0;
  const char** names = NULL;
  if (api.list_names(&n, &names) != 0) return puts(api.last_error()), 1;
  for (int i = 0; i < n; i++) puts(names[i]);
  enter_go(file);
  if (api.list_names(&later, &names) != 0 || later != n) FAIL("%d names at first, then %d", n, later);
  return failures != 0;
}

static int lookup(int n, char** names) {
  for (int i = 0; i < n; i++) {
    TVMFunctionHandle f = NULL;
    if (api.get_global(names[i], &f) != 0 || f == NULL) FAIL("%s is missing", names[i]);
    api.free_function(f);
  }
  return report();
}

/* ---- a module ---- */

static int vadd(const char* file) {
  enum { N = 7 };
  static _Alignas(64) float a[N] = {1, 2, 3, 4, 5, 6, 7}, b[N] = {10, 10, 10, 10, 10, 10, 10}, c[N];
  int64_t shape = N;
  DLTensor t[3];
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  TVMValue args[3], ret;
  int codes[3], ret_code;
  float* data[] = {a, b, c};
  for (int i = 0; i < 3; i++) {
    t[i] = (DLTensor){.data = data[i], .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &shape};
    args[i].v_handle = &t[i], codes[i] = kTVMDLTensorHandle;
  }
  if (api.load(file, "", &module) != 0) return puts(api.last_error()), 1;
  if (api.get_function(module, "vadd", 0, &f) != 0 || f == NULL) return puts("no vadd"), 1;
  if (api.call(f, args, codes, 3, &ret, &ret_code) != 0) FAIL("%s", api.last_error());
  for (int i = 0; i < N; i++) CHECK(c[i] == a[i] + b[i]);
  t[1].dtype.code = kDLInt;
  CHECK(api.call(f, args, codes, 3, &ret, &ret_code) == -1);
  CHECK(strstr(api.last_error(), "dtype") != NULL && strstr(api.last_error(), "vadd") != NULL);
  api.free_module(module);
  api.free_function(f);
  return report();
}

/* ---- leaving main while threads work ---- */

enum { WORKERS = 4 };
static _Atomic int rounds[WORKERS];
static const char* exit_file;

static void* work(void* arg) {
  for (;;) {
    TVMModuleHandle module = NULL;
    TVMFunctionHandle f = NULL, global = NULL;
    TVMValue ret;
    int code = -1;
    if (api.load(exit_file, "", &module) != 0) FAIL("%s", api.last_error());
    if (api.get_function(module, "addone", 0, &f) != 0 || f == NULL) FAIL("no addone: %s", api.last_error());
    api.free_module(module);
    api.free_function(f);
    CHECK(api.load("missing.so", "", &module) == -1 && strstr(api.last_error(), "missing.so") != NULL);
    CHECK(api.get_global("runtime.NumThreads", &global) == 0 && global != NULL);
    CHECK(api.call(global, NULL, NULL, 0, &ret, &code) == 0 && code == kTVMArgInt);
    api.free_function(global);
    if (failures != 0) _exit(1);
    atomic_fetch_add((_Atomic int*)arg, 1);
  }
  return NULL;
}

static void wait_for_work(void) {
  int start[WORKERS];
  for (int i = 0; i < WORKERS; i++) start[i] = atomic_load(&rounds[i]);
  for (int i = 0; i < WORKERS; i++)
    while (atomic_load(&rounds[i]) - start[i] < 5) sched_yield();
}

/* When a process ends, the C library writes buffered output last, after all destructors. */
static ssize_t write_last(void* cookie, const char* text, size_t size) {
  (void)cookie, (void)text;
  wait_for_work();
  return (ssize_t)size;
}

static int leave(const char* file) {
  exit_file = file;
  for (int i = 0; i < WORKERS; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &rounds[i]) != 0) return 2;
  }
  FILE* last = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_last});
  if (last == NULL || fputs("unwritten", last) < 0) return 2;
  wait_for_work();
  return 0;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (argc < 3) return 2;
  const char *library = argv[1], *what = argv[2];
  open_library(library);
  if (strcmp(what, "globals") == 0 && argc == 4) return globals(argv[3]);
  if (strcmp(what, "lookup") == 0) return lookup(argc - 3, argv + 3);
  if (strcmp(what, "vadd") == 0 && argc == 4) return vadd(argv[3]);
  if (strcmp(what, "exit") == 0 && argc == 4) return leave(argv[3]);
  return 2;
}
