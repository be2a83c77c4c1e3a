//go:build !opencl

/* Without the build tag: registers a device whose error explains how to build with OpenCL. */
#include "core.h"

__attribute__((constructor(120))) static void register_opencl(void) {
  tvmgo_device_not_built(kDLOpenCL, "OpenCL is not built in: build with \"go run tvmgo/build/env -- build -tags "
                                    "opencl\", or make dist");
}
