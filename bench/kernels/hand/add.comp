// add=main(x: const float32[16777216], y: const float32[16777216], z: out float32[16777216])
// launch blockIdx.x=4096, threadIdx.x=256
#version 450
// A work item adds 4 vectors.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly restrict buffer X { vec4 x[]; };
layout(std430, binding = 1) readonly restrict buffer Y { vec4 y[]; };
layout(std430, binding = 2) writeonly restrict buffer Z { vec4 z[]; };
void main() {
  uint first = gl_WorkGroupID.x * 1024 + gl_LocalInvocationID.x;
  for (uint i = first; i < first + 1024; i += 256) z[i] = x[i] + y[i];
}
