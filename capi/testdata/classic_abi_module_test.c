/* The classic C ABI: modules. Compiles two small libraries as TVM 0.20 would have exported them ($CC, else cc) and
 * loads them. */
#define _GNU_SOURCE
#include "classic_abi_test.h"
#include "scratch.h"

static const char scale_source[] =
    "#include <tvm/runtime/c_backend_api.h>\n"
    "TVM_DLL void* __tvm_module_ctx;\n"
    "TVM_DLL int scale(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* resource) {\n"
    "  (void)resource;\n"
    "  if (n != 2 || codes[1] != kTVMArgInt) { TVMAPISetLastError(\"TypeError: scale wants (tensor, int)\"); "
        "return -1; }\n"
    "  DLTensor* t = args[0].v_handle;\n"
    "  for (int64_t i = 0; i < t->shape[0]; i++) ((float*)t->data)[i] *= (float)args[1].v_int64;\n"
    "  ret->v_int64 = t->shape[0], *ret_code = kTVMArgInt;\n"
    "  return 0;\n"
    "}\n";

static const char caller_source[] =
    "#include <tvm/runtime/c_backend_api.h>\n"
    "TVM_DLL void* __tvm_module_ctx;\n"
    "TVM_DLL int scale_twice(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* resource) {\n"
    "  static TVMFunctionHandle scale;\n"
    "  (void)resource;\n"
    "  if (scale == 0 && TVMBackendGetFuncFromEnv(__tvm_module_ctx, \"scale\", &scale) != 0) return -1;\n"
    "  if (TVMFuncCall(scale, args, codes, n, ret, ret_code) != 0) return -1;\n"
    "  return TVMFuncCall(scale, args, codes, n, ret, ret_code);\n"
    "}\n";

static TVMArrayHandle three(void) {
  const tvm_index_t shape[1] = {3};
  float data[3] = {1, 2, 3};
  TVMArrayHandle a = NULL;
  OK(TVMArrayAlloc(shape, 1, kDLFloat, 32, 1, kDLCPU, 0, &a));
  OK(TVMArrayCopyFromBytes(a, data, sizeof data));
  return a;
}

static int call(TVMFunctionHandle f, TVMArrayHandle array, int64_t by, int by_code, int64_t* count) {
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, by_code}, ret_code = -1;
  args[0].v_handle = array;
  args[1].v_int64 = by;
  int rc = TVMFuncCall(f, args, codes, 2, &ret, &ret_code);
  if (rc == 0) CHECK(ret_code == kTVMArgInt);
  *count = ret.v_int64;
  return rc;
}

static void test_load_and_call(void) {
  TVMModuleHandle scale = NULL, caller = NULL;
  TVMFunctionHandle f = NULL, g = NULL;
  TVMArrayHandle a = three();
  int64_t count = 0;
  float out[3];
  NEED(a != NULL);
  OK(TVMModLoadFromFile(in_dir("scale.so"), "", &scale));
  OK(TVMModLoadFromFile(in_dir("caller.dso"), NULL, &caller)); /* another suffix of the same format */
  NEED(scale != NULL && caller != NULL);
  OK(TVMModGetFunction(scale, "scale", 0, &f));
  NEED(f != NULL);
  OK(call(f, a, 3, kTVMArgInt, &count));
  CHECK(count == 3);
  OK(TVMArrayCopyToBytes(a, out, sizeof out));
  CHECK(out[0] == 3 && out[1] == 6 && out[2] == 9);
  FAILS(call(f, a, 3, kTVMArgFloat, &count), "TypeError: scale wants (tensor, int)");
  OK(call(f, a, 1, kTVMArgBool, &count)); /* files of this generation represent bools as ints */

  OK(TVMModGetFunction(caller, "scale_twice", 0, &g));
  NEED(g != NULL);
  FAILS(call(g, a, 2, kTVMArgInt, &count), "scale");
  OK(TVMModImport(caller, scale));
  OK(call(g, a, 2, kTVMArgInt, &count));
  OK(TVMArrayCopyToBytes(a, out, sizeof out));
  CHECK(out[0] == 12 && out[1] == 24 && out[2] == 36);
  OK(TVMFuncFree(f));
  OK(TVMFuncFree(g));
  OK(TVMModGetFunction(caller, "scale", 0, &f));
  CHECK(f == NULL);
  OK(TVMModGetFunction(caller, "scale", 1, &f));
  CHECK(f != NULL);
  OK(TVMModGetFunction(caller, "no_such_function", 1, &g));
  CHECK(g == NULL);
  FAILS(TVMModImport(scale, caller), "Cyclic dependency detected during import");
  FAILS(TVMModImport(scale, scale), "Cyclic dependency detected during import");

  OK(TVMModFree(caller));
  OK(TVMModFree(scale));
  OK(call(f, a, 1, kTVMArgInt, &count)); /* the function keeps its module */
  OK(TVMFuncFree(f));
  OK(TVMArrayFree(a));
}

static void test_module_type_index(void) {
  TVMModuleHandle mod = NULL;
  unsigned index = 99;
  OK(TVMModLoadFromFile(in_dir("scale.so"), "so", &mod));
  NEED(mod != NULL);
  OK(TVMObjectGetTypeIndex(mod, &index));
  CHECK(index == 1);
  OK(TVMModFree(mod));
  OK(TVMModFree(NULL));
}

static void test_bad_files(void) {
  TVMModuleHandle mod = (TVMModuleHandle)&mod;
  CHECK(write_file(in_dir("text.so"), "this is no library"));
  CHECK(write_file(in_dir("empty.so"), ""));
  FAILS(TVMModLoadFromFile(in_dir("missing.so"), "", &mod), "missing.so");
  CHECK(mod == NULL);
  FAILS(TVMModLoadFromFile(in_dir("text.so"), "", &mod), "text.so");
  FAILS(TVMModLoadFromFile(in_dir("empty.so"), "", &mod), "empty.so");
  FAILS(TVMModLoadFromFile(in_dir("scale.nonsense"), "", &mod), "format \"nonsense\"");
  FAILS(TVMModLoadFromFile(in_dir("scale"), "", &mod), "suffix");
  FAILS(TVMModLoadFromFile("", "", &mod), "suffix");
  FAILS(TVMModLoadFromFile(NULL, "so", &mod), "NULL");
  FAILS(TVMModLoadFromFile(in_dir("scale.so"), "", NULL), "NULL");
}

static int nothing(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)args, (void)codes, (void)n, (void)ret, (void)resource;
  return 0;
}

static void test_bad_handles(void) {
  TVMModuleHandle mod = NULL;
  TVMFunctionHandle f = NULL, out = NULL;
  OK(TVMModLoadFromFile(in_dir("scale.so"), "", &mod));
  OK(TVMFuncCreateFromCFunc(nothing, NULL, NULL, &f));
  NEED(mod != NULL && f != NULL);
  FAILS(TVMModGetFunction(NULL, "scale", 0, &out), "NULL");
  FAILS(TVMModGetFunction(f, "scale", 0, &out), "not Module");
  FAILS(TVMModGetFunction(mod, NULL, 0, &out), "NULL");
  FAILS(TVMModGetFunction(mod, "scale", 0, NULL), "NULL");
  OK(TVMModGetFunction(mod, "", 0, &out));
  CHECK(out == NULL);
  FAILS(TVMModImport(mod, NULL), "NULL");
  FAILS(TVMModImport(NULL, mod), "NULL");
  FAILS(TVMModImport(mod, f), "not Module");
  TVMValue ret;
  int ret_code;
  FAILS(TVMFuncCall(mod, NULL, NULL, 0, &ret, &ret_code), "not Function");
  FAILS(TVMBackendGetFuncFromEnv(mod, "no_such_function", &out), "Cannot find function no_such_function");
  OK(TVMFuncFree(f));
  OK(TVMModFree(mod));
}

static int loads;
static int refuse(TVMValue* args, int* codes, int n, TVMRetValueHandle ret, void* resource) {
  (void)ret, (void)resource;
  loads++;
  CHECK(n == 2 && codes[0] == kTVMStr && codes[1] == kTVMStr);
  if (n == 2) SAME_TEXT(args[1].v_str, "classicabi");
  return 0;
}

/* A loader is a global function, and its result must be a module. */
static void test_own_loader(void) {
  static const char name[] = "runtime.module.loadfile_classicabi";
  TVMModuleHandle mod = NULL;
  TVMFunctionHandle f = NULL;
  OK(TVMFuncCreateFromCFunc(refuse, NULL, NULL, &f));
  OK(TVMFuncRegisterGlobal(name, f, 0));
  FAILS(TVMModLoadFromFile("x.classicabi", "", &mod), "no module");
  FAILS(TVMModLoadFromFile("x.so", "classicabi", &mod), "no module");
  CHECK(loads == 2);
  OK(TVMFuncRemoveGlobal(name));
  OK(TVMFuncFree(f));
}

static int run_result;
static int run(void* cdata) { return run_result += *(int*)cdata; }

static void test_run_once(void) {
  void* handle = NULL;
  int step = 5;
  run_result = -5;
  CHECK(TVMBackendRunOnce(&handle, run, &step, sizeof step) == 0);
  CHECK(TVMBackendRunOnce(&handle, run, &step, sizeof step) == 0);
  CHECK(run_result == 0 && handle != NULL);
}

void test_modules(void) {
  NEED(scratch_make() && compile(scale_source, "scale.so", "") && compile(caller_source, "caller.dso", ""));
  test_load_and_call();
  test_module_type_index();
  test_bad_files();
  test_bad_handles();
  test_own_loader();
  test_run_once();
  scratch_remove();
}
