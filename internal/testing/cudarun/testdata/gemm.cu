// C = A B for matrices of any size: tiles in shared memory, in two buffers, with guarded edges.
extern "C" __global__ void __launch_bounds__(256)
gemm(float* __restrict__ C, const float* __restrict__ A, const float* __restrict__ B, int M, int N, int K) {
  __shared__ __align__(16) float As[2][16][17];
  __shared__ __align__(16) float Bs[2][16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  As[0][y][x] = row < M && x < K ? A[row * K + x] : 0.0f;
  Bs[0][y][x] = y < K && column < N ? B[y * N + column] : 0.0f;
  __syncthreads();
  int buffer = 0;
  for (int k = 0; k < K; k += 16) {
    if (k + 16 < K) {
      As[1 - buffer][y][x] = row < M && k + 16 + x < K ? A[row * K + k + 16 + x] : 0.0f;
      Bs[1 - buffer][y][x] = k + 16 + y < K && column < N ? B[(k + 16 + y) * N + column] : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += As[buffer][y][i] * Bs[buffer][i][x];
    buffer = 1 - buffer;
    __syncthreads();
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
