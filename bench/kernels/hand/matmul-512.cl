// matmul_512(x: const float32[512, 512], y: const float32[512, 512], z: out float32[512, 512])
// launch blockIdx.x=16

// A work item computes 32 columns: it copies them of y into an array of its own, where they are together, and computes
// 8 rows at a time in registers. It is alone in its group.
#define N 512
#define COLUMNS 32
#define ROWS 8
#define ROW(r) \
  { const float16 f = a[r * N]; s0[r] = fma(f, b0, s0[r]); s1[r] = fma(f, b1, s1[r]); }
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void matmul_512(global const float* restrict x, global const float* restrict y, global float* restrict z) {
  const int c = min((int)get_group_id(0) * COLUMNS, N - COLUMNS);
  float own[N * COLUMNS] __attribute__((aligned(64)));
  for (int k = 0; k < N; k++)
    for (int v = 0; v < COLUMNS; v += 16) vstore16(vload16(0, y + k * N + c + v), 0, own + k * COLUMNS + v);
  for (int r = 0; r < N; r += ROWS) {
    float16 s0[ROWS] = {0}, s1[ROWS] = {0};
    for (int k = 0; k < N; k++) {
      global const float* a = x + r * N + k;
      const float16 b0 = vload16(0, own + k * COLUMNS + 0);
      const float16 b1 = vload16(0, own + k * COLUMNS + 16);
      ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
    }
    for (int i = 0; i < ROWS; i++) {
      vstore16(s0[i], 0, z + (r + i) * N + c + 0);
      vstore16(s1[i], 0, z + (r + i) * N + c + 16);
    }
  }
}
