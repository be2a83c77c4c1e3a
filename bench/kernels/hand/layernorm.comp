// layernorm=main(x: const float32[4096, 1024], gamma: const float32[1024], beta: const float32[1024],
//   y: out float32[4096, 1024])
// launch blockIdx.x=4096, threadIdx.x=8
#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// A subgroup computes a row, which stays in its registers.
#define LANES 8
#define OWN 128
layout(local_size_x = LANES) in;
layout(std430, binding = 0) readonly restrict buffer X { float x[]; };
layout(std430, binding = 1) readonly restrict buffer G { float gamma[]; };
layout(std430, binding = 2) readonly restrict buffer B { float beta[]; };
layout(std430, binding = 3) writeonly restrict buffer Y { float y[]; };
void main() {
  uint l = gl_LocalInvocationID.x;
  uint first = gl_WorkGroupID.x * 1024 + l;
  float v[OWN], s = 0.0, q = 0.0;
  for (int i = 0; i < OWN; i++) { v[i] = x[first + i * LANES]; s += v[i]; }
  float mean = subgroupAdd(s) / 1024.0;
  for (int i = 0; i < OWN; i++) { float d = v[i] - mean; q += d * d; }
  float scale = inversesqrt(subgroupAdd(q) / 1024.0 + 1e-5);
  for (int i = 0; i < OWN; i++)
    y[first + i * LANES] = (v[i] - mean) * scale * gamma[i * LANES + l] + beta[i * LANES + l];
}
