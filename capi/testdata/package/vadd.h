/* Shared by the programs of this folder: loads a module and calls its function that adds two float32 vectors; then
 * opens a file that contains other modules, which is read by Go. For C and C++. */
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/runtime/c_runtime_api.h>

static int fail(const char* what) {
  printf("%s: %s\n", what, TVMGetLastError());
  return 1;
}

static int add_vectors(const char* file, const char* name) {
  float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, c[4];
  int64_t n = 4;
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL, builtin = NULL;
  TVMArrayHandle arrays[3];
  TVMValue args[3], ret;
  int codes[3], ret_code, i;
  /* The built-in functions and the CPU are registered by constructors. */
  if (TVMFuncGetGlobal("ffi.Array", &builtin) != 0 || builtin == NULL || TVMFuncFree(builtin) != 0) return fail(
      "ffi.Array");
  for (i = 0; i < 3; i++) {
    if (TVMArrayAlloc(&n, 1, kDLFloat, 32, 1, kDLCPU, 0, &arrays[i]) != 0) return fail("allocate");
    args[i].v_handle = arrays[i];
    codes[i] = kTVMNDArrayHandle;
  }
  if (TVMArrayCopyFromBytes(arrays[0], a, sizeof a) != 0 || TVMArrayCopyFromBytes(arrays[1], b,
      sizeof b) != 0) return fail("fill");
  if (TVMModLoadFromFile(file, "so", &module) != 0) return fail("load");
  if (TVMModGetFunction(module, name, 0, &f) != 0 || f == NULL) return fail("look up");
  if (TVMFuncCall(f, args, codes, 3, &ret, &ret_code) != 0) return fail("call");
  if (TVMArrayCopyToBytes(arrays[2], c, sizeof c) != 0) return fail("read");
  for (i = 0; i < 4; i++)
    if (c[i] != a[i] + b[i]) return printf("element %d is %g\n", i, c[i]), 1;
  codes[2] = kTVMArgInt;
  if (TVMFuncCall(f, args, codes, 3, &ret, &ret_code) == 0) return printf("a number was accepted as a tensor\n"), 1;
  if (*TVMGetLastError() == 0) return printf("an error without text\n"), 1;
  for (i = 0; i < 3; i++)
    if (TVMArrayFree(arrays[i]) != 0) return fail("free");
  return TVMFuncFree(f) != 0 || TVMModFree(module) != 0 ? fail("free") : 0;
}

static int enter_go(const char* file) {
  TVMModuleHandle module = NULL;
  if (TVMModLoadFromFile(file, "so", &module) != 0) return fail("load a file with other modules");
  return TVMModFree(module) != 0 ? fail("free") : 0;
}

static int add_and_enter(int argc, char** argv) {
  TVMFFIVersion version;
  if (argc != 4) return printf("usage: %s MODULE FUNCTION FILE-WITH-MODULES\n", argv[0]), 2;
  TVMFFIGetVersion(&version);
  return add_vectors(argv[1], argv[2]) != 0 || enter_go(argv[3]) != 0;
}
