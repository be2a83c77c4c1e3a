//go:build !cuda

/* Without the build tag: registers devices whose errors explain how to build with CUDA. */
#include "core.h"

__attribute__((constructor(120))) static void register_cuda(void) {
  static const char why[] = "CUDA is not built in: build with \"go run tvmgo/build/env -- build -tags cuda\", or "
                            "make dist";
  tvmgo_device_not_built(kDLCUDA, why);
  tvmgo_device_not_built(kDLCUDAHost, why);
  tvmgo_device_not_built(kDLCUDAManaged, why);
}
