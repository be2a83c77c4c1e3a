// How often each of 16 values occurs: atomics in shared and then in global memory.
extern "C" __global__ void __launch_bounds__(128) histogram(int* counts, const unsigned char* values, int n) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) atomicAdd(&own[values[i]], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}
