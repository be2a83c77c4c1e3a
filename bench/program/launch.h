/* addone of a module on a device, as its kernel and as its generated host function. Whoever includes this defines
 * LAUNCH_DEVICE, a device type, and LAUNCH_FILE, the module's path. */
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/c_runtime_api.h>

#include "program.h"

enum { ROUND = 256 };

static TVMFFIAny kernel_function, host_function, module;
static TVMFFIAny values[5]; /* in, out, elements, grid, block */

static TVMFFIAny device_tensor(void) {
  TVMFFIAny dim = bench_int(1), args[4] = {{0}};
  TVMFFIObjectHandle shape = bench_global("ffi.Shape"), alloc = bench_global("runtime.TVMTensorAllocWithScope");
  args[0] = bench_call(shape, &dim, 1);
  args[1].type_index = kTVMFFIDataType, args[1].v_dtype = (DLDataType){kDLFloat, 32, 1};
  args[2].type_index = kTVMFFIDevice, args[2].v_device = (DLDevice){LAUNCH_DEVICE, 0};
  TVMFFIAny t = bench_call(alloc, args, 4);
  bench_release(args[0]);
  TVMFFIObjectDecRef(shape), TVMFFIObjectDecRef(alloc);
  return t;
}

static void prepare_module(void) {
  if (module.v_obj != NULL) return;
  module = bench_load(LAUNCH_FILE);
  host_function = bench_module_function(module, "addone");
  TVMFFIObjectHandle get = bench_global("ffi.ModuleGetFunction");
  TVMFFIAny args[3] = {module, bench_text("addone_kernel"), {.type_index = kTVMFFIBool}};
  args[2].v_int64 = 1; /* also in what it imports */
  kernel_function = bench_call(get, args, 3);
  if (kernel_function.type_index != kTVMFFIFunction) bench_fail("addone_kernel");
  TVMFFIObjectDecRef(get);
  values[0] = device_tensor(), values[1] = device_tensor();
  for (int i = 2; i < 5; i++) values[i] = bench_int(1);
  bench_call(kernel_function.v_obj, values, 5);
  bench_call(host_function.v_obj, values, 2);
}

static void launch(TVMFFIObjectHandle f, int32_t n_args, int64_t n) {
  TVMFFIAny result;
  for (int64_t i = 0; i < n; i++) {
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(f, values, n_args, &result), "launch");
    if (i % ROUND == ROUND - 1) bench_check(TVMSynchronize(LAUNCH_DEVICE, 0, NULL), "wait");
  }
  bench_check(TVMSynchronize(LAUNCH_DEVICE, 0, NULL), "wait");
}

static void launch_kernel(int64_t n) { launch(kernel_function.v_obj, 5, n); }
static void launch_host(int64_t n) { launch(host_function.v_obj, 2, n); }
