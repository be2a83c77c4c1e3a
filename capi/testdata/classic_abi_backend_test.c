/* The classic C ABI: the functions that generated code calls. */
#include <pthread.h>
#include <stdint.h>

#include "classic_abi_test.h"

/* ---- workspaces ---- */

static void* workspace(uint64_t nbytes) { return TVMBackendAllocWorkspace(kDLCPU, 0, nbytes, kDLFloat, 32); }

static void* free_elsewhere(void* p) { return (void*)(intptr_t)TVMBackendFreeWorkspace(kDLCPU, 0, p); }

static void test_workspaces(void) {
  enum { N = 6 };
  static const uint64_t sizes[N] = {0, 1, 64, 4097, 1 << 20, 5 << 20};
  char* p[N];
  for (int i = 0; i < N; i++) {
    p[i] = workspace(sizes[i]);
    NEED(p[i] != NULL);
    CHECK((uintptr_t)p[i] % 64 == 0);
    memset(p[i], i + 1, sizes[i]);
  }
  for (int i = 0; i < N; i++) CHECK(sizes[i] == 0 || (p[i][0] == i + 1 && p[i][sizes[i] - 1] == i + 1));

  pthread_t thread;
  void* rc = NULL;
  NEED(pthread_create(&thread, NULL, free_elsewhere, p[2]) == 0);
  pthread_join(thread, &rc);
  CHECK((intptr_t)rc == -1); /* another thread's */
  for (int i = N; i-- > 0;) OK(TVMBackendFreeWorkspace(kDLCPU, 0, p[i]));
  FAILS(TVMBackendFreeWorkspace(kDLCPU, 0, p[4]), "given back before");
  FAILS(TVMBackendFreeWorkspace(kDLCPU, 0, NULL), "NULL");
  FAILS(TVMBackendFreeWorkspace(kDLCPU, 0, (char*)workspace(64) + 8), "not the start");

  FAILS(workspace(UINT64_MAX) == NULL ? -1 : 0, "18446744073709551615");
  FAILS(workspace((uint64_t)1 << 46) == NULL ? -1 : 0, "out of memory");
  FAILS(TVMBackendAllocWorkspace(1000, 0, 64, kDLFloat, 32) == NULL ? -1 : 0, "1000");
  FAILS(TVMBackendFreeWorkspace(1000, 0, p[0]), "1000");
}

/* ---- parallel launches ---- */

typedef struct {
  int before[64], after[64], fail;
} tally;

static int task(int id, TVMParallelGroupEnv* env, void* cdata) {
  tally* t = cdata;
  t->before[id] = env->num_task;
  if (TVMBackendParallelBarrier(id, env) != 0) return -1;
  for (int i = 0; i < env->num_task; i++) t->after[id] += t->before[i]; /* all tasks have arrived */
  return 0;
}

static int failing(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)env;
  if (!((tally*)cdata)->fail) return 0;
  TVMAPISetLastError(id == 0 ? "ValueError: task 0 refuses" : "ValueError: another refuses");
  return -1;
}

static int nested(int id, TVMParallelGroupEnv* env, void* cdata) {
  (void)id, (void)env;
  return TVMBackendParallelLaunch(failing, cdata, 2);
}

static void test_parallel(void) {
  for (int n = 1; n <= 2; n++) {
    tally t = {{0}, {0}, 0};
    OK(TVMBackendParallelLaunch(task, &t, n));
    for (int i = 0; i < n; i++) CHECK(t.before[i] == n && t.after[i] == n * n);
  }
  tally t = {{0}, {0}, 0};
  OK(TVMBackendParallelLaunch(failing, &t, 0));
  t.fail = 1;
  FAILS(TVMBackendParallelLaunch(failing, &t, 2), "ValueError: Task 0 error: task 0 refuses");
  CHECK(strstr(TVMGetLastError(), "Task 1 error: another refuses") != NULL);
  FAILS(TVMBackendParallelLaunch(nested, &t, 2), "nested");
  FAILS(TVMBackendParallelLaunch(failing, &t, 100000), "100000");
  FAILS(TVMBackendParallelLaunch(failing, &t, -1), "-1");
  FAILS(TVMBackendParallelLaunch(NULL, &t, 0), "NULL");
  FAILS(TVMBackendParallelBarrier(0, NULL), "task 0");
}

/* ---- register files of compiled VM functions, modern signatures ---- */

static void test_any_list(void) {
  TVMFFIAny list[2], args[2];
  memset(list, 0, sizeof list);
  memset(args, 0, sizeof args);
  TVMFFIByteArray text = {"text that needs an object", 25};
  OK(TVMFFIStringFromByteArray(&text, &args[1]));
  void* object = args[1].v_obj;
  OK(TVMBackendAnyListMoveFromPackedReturn(list, 0, args, 1));
  CHECK(list[0].v_obj == object && args[1].type_index == kTVMFFINone);
  OK(TVMBackendAnyListSetPackedArg(list, 0, args, 0));
  CHECK(args[0].type_index == kTVMFFIStr && args[0].v_obj == object && list[0].v_obj == object);
  OK(TVMBackendAnyListResetItem(list, 0));
  CHECK(list[0].type_index == kTVMFFINone);
  FAILS(TVMBackendAnyListSetPackedArg(NULL, 0, args, 0), "NULL");
  FAILS(TVMBackendAnyListSetPackedArg(list, -1, args, 0), "negative");
  FAILS(TVMBackendAnyListResetItem(NULL, 0), "NULL");
  FAILS(TVMBackendAnyListMoveFromPackedReturn(list, 0, args, -1), "negative");
}

/* ---- the system library ---- */

static int seven(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* resource) {
  (void)args, (void)codes, (void)n, (void)resource;
  ret->v_int64 = 7, *ret_code = kTVMArgInt;
  return 0;
}

static void test_system_library(void) {
  TVMFunctionHandle make = NULL, f = NULL;
  TVMValue arg, ret;
  int code = kTVMStr, ret_code = -1;
  OK(TVMBackendRegisterSystemLibSymbol("classicabi_seven", (void*)seven));
  OK(TVMFuncGetGlobal("runtime.SystemLib", &make));
  NEED(make != NULL);
  arg.v_str = "classicabi_";
  OK(TVMFuncCall(make, &arg, &code, 1, &ret, &ret_code));
  NEED(ret_code == kTVMModuleHandle);
  TVMModuleHandle module = ret.v_handle;
  for (int i = 0; i < 2; i++) { /* with the prefix and without */
    OK(TVMModGetFunction(module, i ? "seven" : "classicabi_seven", 0, &f));
    NEED(f != NULL);
    OK(TVMFuncCall(f, NULL, NULL, 0, &ret, &ret_code));
    CHECK(ret_code == kTVMArgInt && ret.v_int64 == 7);
    OK(TVMFuncFree(f));
  }
  OK(TVMModGetFunction(module, "eight", 1, &f));
  CHECK(f == NULL);
  OK(TVMModFree(module));
  OK(TVMFuncFree(make));
  FAILS(TVMBackendRegisterSystemLibSymbol("", (void*)seven), "empty");
  FAILS(TVMBackendRegisterSystemLibSymbol(NULL, (void*)seven), "NULL");
}

/* ---- look-ups ---- */

static void test_lookup(void) {
  TVMFunctionHandle out = NULL, other = NULL;
  OK(TVMBackendGetFuncFromEnv(NULL, "runtime.NumThreads", &out)); /* no module: the globals */
  CHECK(out != NULL);
  FAILS(TVMBackendGetFuncFromEnv(NULL, "no.such.function", &other), "Cannot find function no.such.function");
  CHECK(other == NULL);
  FAILS(TVMBackendGetFuncFromEnv(NULL, NULL, &other), "NULL");
  FAILS(TVMBackendGetFuncFromEnv(NULL, "runtime.NumThreads", NULL), "NULL");
  FAILS(TVMBackendGetFuncFromEnv(out, "runtime.NumThreads", &other), "not Module");
}

void test_backend(void) {
  test_workspaces();
  test_parallel();
  test_any_list();
  test_system_library();
  test_lookup();
}
