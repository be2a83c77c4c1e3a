// sum=main(x: const float32[n], n: uint32) launch blockIdx.x=4096, threadIdx.x=256
#version 450
// Reads x, and writes nothing; the compiler does not know that no sum has the value.
layout(local_size_x = 256) in;
layout(std430, binding = 0) restrict buffer X { vec4 x[]; };
layout(push_constant) uniform Scalars { uint n; };
void main() {
  vec4 s = vec4(0.0);
  for (uint i = gl_GlobalInvocationID.x; i < n / 4; i += 4096 * 256) s += x[i];
  if (s.x + s.y + s.z + s.w == -1.0) x[0] = s;
}
