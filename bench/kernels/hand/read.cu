// sum=read(x: const float32[n], n: int64) launch blockIdx.x=4096, threadIdx.x=256

// Reads x, and writes nothing; the compiler does not know that no sum has the value.
extern "C" __global__ void __launch_bounds__(256) read(float4* __restrict__ x, long long n) {
  float s = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n / 4; i += 4096 * 256) {
    const float4 v = x[i];
    s += v.x + v.y + v.z + v.w;
  }
  if (s == -1) x[0].x = s;
}
