// softmax=main(x: const float32[4096, 1024], y: out float32[4096, 1024])
// launch blockIdx.x=4096, threadIdx.x=8
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// A subgroup computes a row, which stays in its registers.
#define LANES 8
#define OWN 128
layout(local_size_x = LANES) in;
layout(std430, binding = 0) readonly restrict buffer X { float x[]; };
layout(std430, binding = 1) writeonly restrict buffer Y { float y[]; };
void main() {
  uint first = gl_WorkGroupID.x * 1024 + gl_LocalInvocationID.x;
  float v[OWN];
  for (int i = 0; i < OWN; i++) v[i] = x[first + i * LANES];
  float m = v[0];
  for (int i = 1; i < OWN; i++) m = max(m, v[i]);
  m = subgroupMax(m);
  float s = 0.0;
  for (int i = 0; i < OWN; i++) { v[i] = exp(v[i] - m); s += v[i]; }
  float f = 1.0 / subgroupAdd(s);
  for (int i = 0; i < OWN; i++) y[first + i * LANES] = v[i] * f;
}
