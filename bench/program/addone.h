/* addone of a module on a device, as its kernel and as its generated host function. The file that includes this defines
 * LAUNCH_DEVICE, a device type, and LAUNCH_FILE, the path of the module. */
#include <stdlib.h>
#include <string.h>

enum { ROUND = 256 };

#include "launch.h"

static TVMFFIAny kernel_function, host_function, module;
static TVMFFIAny values[5]; /* in, out, elements, grid, block */

static void prepare_module(void) {
  if (module.v_obj != NULL) return;
  module = bench_load(LAUNCH_FILE);
  host_function = bench_module_function(module, "addone", 0);
  kernel_function = bench_module_function(module, "addone_kernel", 1);
  for (int i = 0; i < 2; i++) values[i] = bench_tensor(1, (DLDataType){kDLFloat, 32, 1}, (DLDevice){LAUNCH_DEVICE, 0});
  for (int i = 2; i < 5; i++) values[i] = bench_int(1);
  bench_call(kernel_function.v_obj, values, 5);
  bench_call(host_function.v_obj, values, 2);
}

static void launch_kernel(int64_t n) { launch(kernel_function.v_obj, values, 5, n); }
static void launch_host(int64_t n) { launch(host_function.v_obj, values, 2, n); }

/* The code of the module's kernels, as it is in the file; the caller frees it. */
static char* kernel_code(void) {
  TVMFFIAny import = bench_import(module);
  TVMFFIAny args[2] = {import, bench_text("")};
  TVMFFIAny text = bench_call_global("ffi.ModuleInspectSource", args, 2);
  TVMFFIByteArray bytes;
  if (text.type_index == kTVMFFISmallStr) bytes = TVMFFISmallBytesGetContentByteArray(&text);
  else bytes = *TVMFFIBytesGetByteArrayPtr(text.v_obj);
  char* code = strndup(bytes.data, bytes.size);
  bench_release(text), bench_release(import);
  return code;
}
