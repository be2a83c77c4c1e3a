// triad(x: const float32[n], y: const float32[n], z: out float32[n], n: int32)
// launch blockIdx.x=ceildiv(n, 256), threadIdx.x=256

kernel void triad(global const float* x, global const float* y, global float* z, int n) {
  int i = get_global_id(0);
  if (i < n) z[i] = x[i] + 3 * y[i];
}
