// The kernels of testdata/artifacts, from the image that the program is given.
#include "check.h"

CASE(image_of_artifacts) {
  begin();
  CUdeviceptr a, b, c;
  static float x[64 * 64], y[64 * 64], back[64 * 64];
  long long n = 1000; // or 32 bits of it: the image says which
  CU(cuMemAlloc_v2(&a, sizeof x));
  CU(cuMemAlloc_v2(&b, sizeof x));
  CU(cuMemAlloc_v2(&c, sizeof x));
  for (int i = 0; i < 64 * 64; i++) x[i] = (float)(i % 7), y[i] = (float)(i % 5);
  CU(cuMemcpyHtoD_v2(a, x, sizeof x));
  CU(cuMemcpyHtoD_v2(b, y, sizeof y));
  void *three[] = {&a, &b, &c, &n}, *two[] = {&a, &c, &n};
  CU(cuMemsetD8_v2(c, 0, sizeof x));
  CU(cuLaunchKernel(kernel("vadd_kernel"), 4, 1, 1, 256, 1, 1, 0, NULL, three, NULL));
  CU(cuMemcpyDtoH_v2(back, c, sizeof back));
  for (int i = 0; i < 1024; i++) TRUE(back[i] == (i < n ? x[i] + y[i] : 0));
  CU(cuLaunchKernel(kernel("addone_kernel"), 4, 1, 1, 256, 1, 1, 0, NULL, two, NULL));
  CU(cuMemcpyDtoH_v2(back, c, sizeof back));
  for (int i = 0; i < 1024; i++) TRUE(back[i] == (i < n ? x[i] + 1 : 0));
  CU(cuLaunchKernel(kernel("matmul_kernel"), 4, 4, 1, 16, 16, 1, 0, NULL, three, NULL));
  CU(cuMemcpyDtoH_v2(back, c, sizeof back));
  for (int i = 0; i < 64; i++) {
    for (int j = 0; j < 64; j++) {
      float sum = 0;
      for (int k = 0; k < 64; k++) sum += x[i * 64 + k] * y[k * 64 + j];
      TRUE(back[i * 64 + j] == sum);
    }
  }
  IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(kernel("addone_kernel"), 4, 1, 1, 257, 1, 1, 0, NULL, two, NULL));
  REPORTED("with 257 threads a block, 256 are possible");
  CU(cuMemFree_v2(a));
  CU(cuMemFree_v2(b));
  CU(cuMemFree_v2(c));
  end();
}

// The image is for another architecture.
CASE(image_of_another_architecture) {
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&ctx, 0));
  CU(cuCtxSetCurrent(ctx));
  IS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mod, ptx));
  SILENT();
}
