// The functions of cuBLAS that package blas calls, on memory of the host: matrices store columns together.
#include <stdint.h>

int cublasCreate_v2(void** handle) {
  static int some;
  *handle = &some;
  return 0;
}

#define GEMM(type)                                                       \
  for (int i = 0; i < m; i++)                                            \
    for (int j = 0; j < n; j++) {                                        \
      float sum = 0;                                                     \
      for (int l = 0; l < k; l++)                                        \
        sum += (float)((const type*)a)[l * lda + i] * (float)((const type*)b)[j * ldb + l]; \
      ((type*)c)[j * ldc + i] = (type)sum;                               \
    }

int cublasSgemm_v2(void* handle, int opa, int opb, int m, int n, int k, const float* alpha, const float* a, int lda,
                   const float* b, int ldb, const float* beta, float* c, int ldc) {
  if (!handle || opa || opb || *alpha != 1 || *beta != 0) return 7;
  GEMM(float)
  return 0;
}

int cublasGemmEx(void* handle, int opa, int opb, int m, int n, int k, const void* alpha, const void* a, int ta,
                 int lda, const void* b, int tb, int ldb, const void* beta, void* c, int tc, int ldc, int compute,
                 int algorithm) {
  if (!handle || opa || opb || *(const float*)alpha != 1 || *(const float*)beta != 0) return 7;
  if (ta != 2 || tb != 2 || tc != 2 || compute != 68 || algorithm != -1) return 7;
  GEMM(_Float16)
  return 0;
}

int cublasDestroy_v2(void* handle) { return handle ? 0 : 1; }
