/* A loop that launches a kernel. The file that includes this defines LAUNCH_DEVICE, a device type, and ROUND, the
 * number of launches after which the loop waits for the device. */
#include <tvm/runtime/c_runtime_api.h>

#include "program.h"

static void launch(TVMFFIObjectHandle f, TVMFFIAny* values, int32_t n_values, int64_t n) {
  TVMFFIAny result;
  for (int64_t i = 0; i < n; i++) {
    result = (TVMFFIAny){0};
    bench_check(TVMFFIFunctionCall(f, values, n_values, &result), "launch");
    if (i % ROUND == ROUND - 1) bench_check(TVMSynchronize(LAUNCH_DEVICE, 0, NULL), "wait");
  }
  bench_check(TVMSynchronize(LAUNCH_DEVICE, 0, NULL), "wait");
}
