//go:build !opencl

/* A device that reports how to build it in. */
#include "core.h"

__attribute__((constructor(120))) static void register_opencl(void) {
  tvmgo_device_not_built(kDLOpenCL, "OpenCL is not built in: build with \"go run tvmgo/build/env -- build -tags "
                                    "opencl\", or "
                                    "make dist");
}
