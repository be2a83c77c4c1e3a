// add(x: const float32[16777216], y: const float32[16777216], z: out float32[16777216])
// launch blockIdx.x=4096, threadIdx.x=256

// A work item adds a vector.
kernel void add(global const float16* restrict x, global const float16* restrict y, global float16* restrict z) {
  const size_t i = get_global_id(0);
  z[i] = x[i] + y[i];
}
