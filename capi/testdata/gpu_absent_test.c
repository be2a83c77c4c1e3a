/* A device that cannot be used: each use is an error with the reason, the same each time, and the CPU still works.
 *   gpu_absent_test TYPE FILE     the device type as a number; FILE has addone for the CPU
 * Prints the errors. */
#include <tvm/runtime/c_runtime_api.h>

#include "ffi_abi_test.h"

int failures;

static void run_on_the_cpu(const char* file) {
  enum { N = 16 };
  static _Alignas(64) float in[N], out[N];
  int64_t shape = N;
  DLTensor t[2];
  TVMValue args[2], ret;
  int codes[2] = {kTVMDLTensorHandle, kTVMDLTensorHandle}, ret_code;
  TVMModuleHandle module = NULL;
  TVMFunctionHandle f = NULL;
  for (int i = 0; i < N; i++) in[i] = (float)i, out[i] = 0;
  for (int i = 0; i < 2; i++) {
    t[i] = (DLTensor){.data = i ? out : in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1},
        .shape = &shape};
    args[i].v_handle = &t[i];
  }
  CHECK(TVMModLoadFromFile(file, "", &module) == 0);
  CHECK(TVMModGetFunction(module, "addone", 0, &f) == 0 && f != NULL);
  CHECK(TVMFuncCall(f, args, codes, 2, &ret, &ret_code) == 0 && out[N - 1] == N);
  CHECK(TVMFuncFree(f) == 0 && TVMModFree(module) == 0);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  int type = atoi(argv[1]), ret_code = 0;
  int64_t shape = 4;
  TVMArrayHandle array = NULL;
  TVMStreamHandle stream = NULL;
  TVMFunctionHandle attr = NULL;
  TVMValue args[3], ret;
  int codes[3] = {kTVMArgInt, kTVMArgInt, kTVMArgInt};
  for (int round = 0; round < 2; round++) {
    CHECK(TVMArrayAlloc(&shape, 1, kDLFloat, 32, 1, type, 0, &array) == -1);
    puts(TVMGetLastError());
    CHECK(TVMStreamCreate(type, 0, &stream) == -1);
    puts(TVMGetLastError());
    CHECK(TVMSynchronize(type, 0, NULL) == -1);
    run_on_the_cpu(argv[2]);
  }
  CHECK(TVMFuncGetGlobal("runtime.GetDeviceAttr", &attr) == 0 && attr != NULL);
  args[0].v_int64 = type, args[1].v_int64 = 0, args[2].v_int64 = 0; /* querying its existence is not an error */
  CHECK(TVMFuncCall(attr, args, codes, 3, &ret, &ret_code) == 0 && ret.v_int64 == 0);
  CHECK(TVMFuncFree(attr) == 0);
  return report();
}
