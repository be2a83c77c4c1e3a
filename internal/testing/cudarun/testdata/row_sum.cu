// The sum of each row, a block of 128 threads per row: shuffles in a warp, shared memory between warps.
extern "C" __global__ void __launch_bounds__(128) row_sum(float* out, const float* in, int columns) {
  __shared__ float partial[4];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 128) sum += __ldg(in + blockIdx.x * columns + i);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < 4 ? partial[threadIdx.x] : 0.0f;
    for (int step = 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}
