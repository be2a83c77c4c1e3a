// triad(x: const float32[n], y: const float32[n], z: out float32[n], n: int32)
// launch blockIdx.x=ceildiv(n, 256), threadIdx.x=256

extern "C" __global__ void triad(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + 3 * y[i];
}
