// transpose(x: const float32[4096, 4096], y: out float32[4096, 4096])
// launch blockIdx.x=256, blockIdx.y=256

// A work item transposes 16 by 16 elements in registers. It is alone in its group.
#define T 16
#define N 4096
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose(global const float* restrict x, global float* restrict y) {
  x += get_group_id(1) * T * N + get_group_id(0) * T;
  y += get_group_id(0) * T * N + get_group_id(1) * T;
  float t[T][T];
  #pragma unroll
  for (int r = 0; r < T; r++)
    #pragma unroll
    for (int c = 0; c < T; c++) t[r][c] = x[r * N + c];
  #pragma unroll
  for (int r = 0; r < T; r++)
    #pragma unroll
    for (int c = 0; c < T; c++) y[r * N + c] = t[c][r];
}
