// triad(x: const float32[n], y: const float32[n], z: out float32[n], n: int32)
// launch blockIdx.x=ceildiv(n, 256), threadIdx.x=256

void triad(const float* x, const float* y, float* z, int n) {
  for (int i = 0; i < n; i++) z[i] = x[i] + 3 * y[i];
}
