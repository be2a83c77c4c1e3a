// layernorm(x: const float32[4096, 1024], g: const float32[1024], b: const float32[1024], y: out float32[4096, 1024])
// launch blockIdx.x=4096

// A work item computes a row, alone in its group.
#define VECTORS 64
inline float total(float16 s) {
  float8 s8 = s.lo + s.hi; float4 s4 = s8.lo + s8.hi; float2 s2 = s4.lo + s4.hi;
  return s2.x + s2.y;
}
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void layernorm(global const float16* restrict x, global const float16* restrict g, global const float16* restrict b,
               global float16* restrict y) {
  x += get_group_id(0) * VECTORS; y += get_group_id(0) * VECTORS;
  float16 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int i = 0; i < VECTORS; i += 4) { s0 += x[i]; s1 += x[i+1]; s2 += x[i+2]; s3 += x[i+3]; }
  const float mean = total(s0 + s1 + s2 + s3) / 1024;
  s0 = s1 = s2 = s3 = 0;
  for (int i = 0; i < VECTORS; i += 4) {
    float16 d0 = x[i] - mean, d1 = x[i+1] - mean, d2 = x[i+2] - mean, d3 = x[i+3] - mean;
    s0 = fma(d0, d0, s0); s1 = fma(d1, d1, s1); s2 = fma(d2, d2, s2); s3 = fma(d3, d3, s3);
  }
  const float scale = rsqrt(total(s0 + s1 + s2 + s3) / 1024 + 1e-5f);
  for (int i = 0; i < VECTORS; i++) y[i] = (x[i] - mean) * scale * g[i] + b[i];
}
