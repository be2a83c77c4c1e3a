//go:build !cuda

/* Devices that say how to have them. */
#include "core.h"

#include <stdlib.h>

static int create(void* ctx, const TVMGODeviceAPI** out) {
  (void)ctx, (void)out;
  return tvmgo_raise(TVMGO_UNAVAILABLE_ERROR,
                     "CUDA is not built in: build with \"go run tvmgo/build/env -- build -tags cuda\", or make dist");
}

static void register_one(int32_t type, const char* name) {
  const TVMGODeviceSpec spec = {.struct_size = sizeof spec, .device_type = type, .name = name, .create = create};
  if (TVMGODeviceAPIRegister(&spec) != 0) abort();
}

__attribute__((constructor(120))) static void register_cuda(void) {
  register_one(kDLCUDA, "cuda");
  register_one(kDLCUDAHost, "cuda_host");
  register_one(kDLCUDAManaged, "cuda_managed");
}
