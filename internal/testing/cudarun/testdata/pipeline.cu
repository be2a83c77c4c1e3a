__device__ __forceinline__ void copy_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// y = the sums of neighbours of x, which three stages of cp.async bring to dynamic shared memory.
extern "C" __global__ void __launch_bounds__(64) pipeline(float* y, const float4* x, int tiles) {
  extern __shared__ __align__(16) float4 stages[];
  const int t = threadIdx.x;
  for (int s = 0; s < 2; ++s) {
    if (s < tiles) copy_16(&stages[s * 64 + t], &x[s * 64 + t]);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int s = 0; s < tiles; ++s) {
    asm volatile("cp.async.wait_group %0;" :: "n"(1) : "memory");
    __syncthreads();
    if (s + 2 < tiles) copy_16(&stages[(s + 2) % 3 * 64 + t], &x[(s + 2) * 64 + t]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    float4 a = stages[s % 3 * 64 + t], b = stages[s % 3 * 64 + (t + 1) % 64];
    y[s * 64 + t] = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
  }
}
