// transpose=main(x: const float32[4096, 4096], y: out float32[4096, 4096])
// launch blockIdx.x=256, blockIdx.y=256, threadIdx.x=16
#version 450
// A work item transposes 4 by 4 elements.
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly restrict buffer X { vec4 x[]; };
layout(std430, binding = 1) writeonly restrict buffer Y { vec4 y[]; };
void main() {
  uint r = gl_WorkGroupID.y * 16 + 4 * (gl_LocalInvocationID.x % 4);
  uint c = gl_WorkGroupID.x * 16 + 4 * (gl_LocalInvocationID.x / 4);
  mat4 m;
  for (uint i = 0; i < 4; i++) m[i] = x[((r + i) * 4096 + c) / 4];
  m = transpose(m);
  for (uint i = 0; i < 4; i++) y[((c + i) * 4096 + r) / 4] = m[i];
}
