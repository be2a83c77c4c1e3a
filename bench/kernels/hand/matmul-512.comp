// matmul_512=main(x: const float32[512, 512], y: const float32[512, 512], z: out float32[512, 512])
// launch blockIdx.x=8, blockIdx.y=64, threadIdx.x=8
#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// A subgroup computes 8 rows of 64 columns, in registers. Each lane has 4 pairs of columns. The lanes load 8 elements
// of a row of x together, and broadcast them.
#define N 512
layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly restrict buffer X { float x[]; };
layout(std430, binding = 1) readonly restrict buffer Y { uint64_t y[]; };
layout(std430, binding = 2) writeonly restrict buffer Z { uint64_t z[]; };

#define BROADCAST(i) \
  { float f = subgroupBroadcast(a[r], i); for (int j = 0; j < 4; j++) s[r][j] = fma(vec2(f), b[j], s[r][j]); }
#define STEP(i) \
  { vec2 b[4]; \
    for (int j = 0; j < 4; j++) b[j] = uintBitsToFloat(unpackUint2x32(y[(k + i) * (N / 2) + column + j * 8])); \
    for (int r = 0; r < 8; r++) BROADCAST(i) }

void main() {
  uint lane = gl_SubgroupInvocationID;
  uint row = min(gl_WorkGroupID.y * 8, N - 8) * N;
  uint column = min(gl_WorkGroupID.x * 64, N - 64) / 2 + lane;
  vec2 s[8][4];
  for (int r = 0; r < 8; r++)
    for (int j = 0; j < 4; j++) s[r][j] = vec2(0.0);
  for (uint k = 0; k < N; k += 8) {
    float a[8];
    for (int r = 0; r < 8; r++) a[r] = x[row + r * N + k + lane];
    STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
  }
  for (int r = 0; r < 8; r++)
    for (int j = 0; j < 4; j++) z[(row + r * N) / 2 + column + j * 8] = packUint2x32(floatBitsToUint(s[r][j]));
}
