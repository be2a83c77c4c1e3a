// C = A B of 16 x 16 and 16 x 8 halves by one warp, through shared memory and ldmatrix.
extern "C" __global__ void __launch_bounds__(32)
tensor_f16(float* C, const unsigned short* A, const unsigned short* B) {
  __shared__ __align__(16) unsigned short As[16 * 16], Bs[16 * 8];
  const int t = threadIdx.x;
  *(uint4*)(As + t * 8) = *(const uint4*)(A + t * 8);
  *(uint2*)(Bs + t * 4) = *(const uint2*)(B + t * 4);
  __syncwarp();
  unsigned a[4], b[2];
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"((unsigned)__cvta_generic_to_shared(As + t % 16 * 16 + t / 16 * 8)) : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1]) : "r"((unsigned)__cvta_generic_to_shared(Bs + t % 16 * 8)) : "memory");
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  *(float2*)(C + t / 4 * 8 + t % 4 * 2) = make_float2(c[0], c[1]);
  *(float2*)(C + (t / 4 + 8) * 8 + t % 4 * 2) = make_float2(c[2], c[3]);
}
