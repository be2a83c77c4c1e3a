// C = A B of 16 x 8 and 8 x 8 floats by one warp, as TF32.
extern "C" __global__ void __launch_bounds__(32) tensor_tf32(float* C, const float* A, const float* B) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  unsigned a[4], b[2];
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int i = 0; i < 4; ++i) {
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(a[i]) : "f"(A[(g + i % 2 * 8) * 8 + t + i / 2 * 4]));
  }
  for (int i = 0; i < 2; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(b[i]) : "f"(B[(t + i * 4) * 8 + g]));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%10, %11, %12, %13};"
               : "=f"(c[0]), "=f"(c[1]), "=f"(c[2]), "=f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),
                 "f"(c[3]));
  for (int i = 0; i < 4; ++i) C[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = c[i];
}
