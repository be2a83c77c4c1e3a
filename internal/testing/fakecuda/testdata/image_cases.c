// The kernels of testdata/artifacts, from the image that the program is given.
#include "check.h"

// n is passed as 8 bytes, of which some images read only 4; done is the number of elements that vadd then computes.
static void artifacts(long long n, int done) {
  begin();
  CUdeviceptr a, b, c;
  static float x[64 * 64], y[64 * 64], back[64 * 64];
  int m = 1000;
  CU(cuMemAlloc_v2(&a, sizeof x));
  CU(cuMemAlloc_v2(&b, sizeof x));
  CU(cuMemAlloc_v2(&c, sizeof x));
  for (int i = 0; i < 64 * 64; i++) x[i] = (float)(i % 7), y[i] = (float)(i % 5);
  CU(cuMemcpyHtoDAsync_v2(a, x, sizeof x, NULL));
  CU(cuMemcpyHtoDAsync_v2(b, y, sizeof y, NULL));
  void *three[] = {&a, &b, &c, &n}, *two[] = {&a, &c, &m};
  CU(cuMemsetD32Async(c, 0, 64 * 64, NULL));
  CU(cuLaunchKernel(kernel("vadd_kernel"), 4, 1, 1, 256, 1, 1, 0, NULL, three, NULL));
  CU(cuMemcpyDtoH_v2(back, c, sizeof back));
  for (int i = 0; i < 1024; i++) TRUE(back[i] == (i < done ? x[i] + y[i] : 0));
  CU(cuLaunchKernel(kernel("addone_kernel"), 4, 1, 1, 256, 1, 1, 0, NULL, two, NULL));
  CU(cuMemcpyDtoH_v2(back, c, sizeof back));
  for (int i = 0; i < 1024; i++) TRUE(back[i] == (i < m ? x[i] + 1 : done > m ? x[i] + y[i] : 0));
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

CASE(image_with_32_bits) { artifacts((1ll << 32) + 1000, 1000); }
CASE(image_with_64_bits) { artifacts((1ll << 32) + 1000, 1024); }

// The image is for another architecture.
CASE(image_of_another_architecture) {
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&ctx, 0));
  CU(cuCtxSetCurrent(ctx));
  IS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&mod, ptx));
  SILENT();
}
