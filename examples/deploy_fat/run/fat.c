/* Runs a library that deploy_fat built on every device of this machine, and compares the results with those of the CPU.
 *
 *   fat_c LIBRARY
 *
 * The program names no variant: each call is the same, and the device of its arrays selects one. */
#include <tvm/runtime/c_runtime_api.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 33, INNER = 70, COLUMNS = 50, ARRAYS = 5 };

static const int64_t shapes[ARRAYS][2] = {{ROWS, INNER}, {INNER, COLUMNS}, {COLUMNS, 0}, {ROWS, COLUMNS},
                                           {ROWS, COLUMNS}};

static int failed(const char* what) {
  fprintf(stderr, "fat_c: %s: %s\n", what, TVMGetLastError());
  return -1;
}

/* Reports whether a device is there. */
static int exists(DLDevice d) {
  TVMFunctionHandle f = NULL;
  TVMValue args[3], result;
  int codes[3] = {kTVMArgInt, kTVMArgInt, kTVMArgInt}, code;
  args[0].v_int64 = d.device_type;
  args[1].v_int64 = d.device_id;
  args[2].v_int64 = 0; /* the attribute that says whether the device exists */
  if (TVMFuncGetGlobal("runtime.GetDeviceAttr", &f) != 0 || f == NULL) return 0;
  int rc = TVMFuncCall(f, args, codes, 3, &result, &code);
  TVMFuncFree(f);
  return rc == 0 && code == kTVMArgInt && result.v_int64 != 0;
}

/* Calls a function of the library with arrays. */
static int call(TVMModuleHandle library, const char* name, TVMArrayHandle* arrays, int n) {
  TVMFunctionHandle f = NULL;
  TVMValue args[ARRAYS], result;
  int codes[ARRAYS], code;
  for (int i = 0; i < n; i++) {
    args[i].v_handle = arrays[i];
    codes[i] = kTVMNDArrayHandle;
  }
  if (TVMModGetFunction(library, name, 0, &f) != 0) return -1;
  if (f == NULL) {
    TVMAPISetLastError("there is no such function");
    return -1;
  }
  int rc = TVMFuncCall(f, args, codes, n, &result, &code);
  TVMFuncFree(f);
  return rc;
}

/* Computes softmax(relu(a·b + bias)) on a device. Returns 1 if the library has no variant for it. */
static int network(TVMModuleHandle library, DLDevice d, float* out) {
  TVMArrayHandle arrays[ARRAYS] = {NULL};
  int rc = -1;
  for (int i = 0; i < ARRAYS; i++) {
    const int64_t* shape = shapes[i];
    const int ndim = shape[1] == 0 ? 1 : 2;
    const int64_t n = shape[0] * (ndim == 2 ? shape[1] : 1);
    float* values = malloc((size_t)n * sizeof(float));
    if (values == NULL) goto end;
    for (int64_t k = 0; k < n; k++) values[k] = (float)((2 * i + 3) * k % 13 - 6) / 16;
    int bad = TVMArrayAlloc(shape, ndim, kDLFloat, 32, 1, (int)d.device_type, d.device_id, &arrays[i]) != 0 ||
              TVMArrayCopyFromBytes(arrays[i], values, (size_t)n * sizeof(float)) != 0;
    free(values);
    if (bad) {
      failed("make an array");
      goto end;
    }
  }
  if (call(library, "dense", arrays, 4) != 0 || call(library, "softmax", arrays + 3, 2) != 0) {
    if (strstr(TVMGetLastError(), "the file has") != NULL) rc = 1;
    else failed("call");
    goto end;
  }
  if (TVMSynchronize((int)d.device_type, d.device_id, NULL) != 0 ||
      TVMArrayCopyToBytes(arrays[4], out, ROWS * COLUMNS * sizeof(float)) != 0)
    failed("read the result");
  else rc = 0;
end:
  for (int i = 0; i < ARRAYS; i++) TVMArrayFree(arrays[i]);
  return rc;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    DLDeviceType type;
  } kinds[] = {{"cpu", kDLCPU}, {"cuda", kDLCUDA}, {"opencl", kDLOpenCL}, {"vulkan", kDLVulkan}};
  static float want[ROWS * COLUMNS], got[ROWS * COLUMNS];
  TVMModuleHandle library = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  if (TVMModLoadFromFile(argv[1], "so", &library) != 0) return failed("load"), 1;
  int rc = 0;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds && rc == 0; k++) {
    DLDevice d = {kinds[k].type, 0};
    for (; (d.device_type != kDLCPU || d.device_id == 0) && exists(d) && rc == 0; d.device_id++) {
      char name[32];
      snprintf(name, sizeof name, "%s:%d", kinds[k].name, (int)d.device_id);
      const int missing = network(library, d, d.device_type == kDLCPU ? want : got);
      if (missing == 1) printf("%-10s no variant: %s\n", name, TVMGetLastError());
      if (missing != 0) {
        rc = missing < 0;
        continue;
      }
      const float* row = d.device_type == kDLCPU ? want : got;
      for (int i = 0; i < ROWS * COLUMNS && rc == 0; i++)
        if (!(fabsf(row[i] - want[i]) <= 1e-5f)) {
          fprintf(stderr, "fat_c: %s: element %d is %g, and %g on the CPU\n", name, i, row[i], want[i]);
          rc = 1;
        }
      if (rc == 0)
        printf("%-10s row 0: %.5f %.5f %.5f …, all %d elements as on the CPU\n", name, row[0], row[1], row[2],
               ROWS * COLUMNS);
    }
  }
  if (TVMModFree(library) != 0) rc = 1;
  return rc;
}
