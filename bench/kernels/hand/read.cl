// sum=read(x: const float32[n], n: int64) launch blockIdx.x=4096, threadIdx.x=256

// Reads x, and writes nothing; the compiler does not know that no sum has the value.
kernel void read(global float4* restrict x, long n) {
  float4 s = 0;
  for (long i = get_global_id(0); i < n / 4; i += get_global_size(0)) s += x[i];
  if (s.x + s.y + s.z + s.w == -1) x[0] = s;
}
