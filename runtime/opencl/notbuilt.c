//go:build !opencl

/* A device that says how to have it. */
#include "core.h"

#include <stdlib.h>

static int create(void* ctx, const TVMGODeviceAPI** out) {
  (void)ctx, (void)out;
  return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR,
                     "OpenCL is not built in: build with \"go run tvmgo/build/env -- build -tags opencl\", or make dist");
}

__attribute__((constructor(120))) static void register_opencl(void) {
  static const TVMGODeviceSpec spec = {
      .struct_size = sizeof spec, .device_type = kDLOpenCL, .name = "opencl", .create = create};
  if (TVMGODeviceAPIRegister(&spec) != 0) abort();
}
