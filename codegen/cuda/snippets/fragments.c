//// fragment_lane
/* Fragments of matrices that the 32 threads of a warp hold in registers, as mma.sync expects them. Thread l holds, in
   32 bits, neighbours along k of row l / 4 of a left operand, or of column l / 4 of a right one; of sums, it holds
   columns 2 * (l % 4) and the next of rows l / 4 and l / 4 + 8. A fragment of 16 columns is two of 8. */
__device__ __forceinline__ int tvmgo_lane() {
  int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

//// fragment_fill
template <int registers, class T>
__device__ __forceinline__ void tvmgo_fragment_fill(T* f, T value) {
#pragma unroll
  for (int i = 0; i < registers; ++i) f[i] = value;
}

//// fragment_word
/* The 32 bits of elements that are step elements apart in memory. */
__device__ __forceinline__ unsigned int tvmgo_word(const unsigned char* at, int step) {
  return at[0] | (unsigned int)at[step] << 8 | (unsigned int)at[2 * step] << 16 | (unsigned int)at[3 * step] << 24;
}
__device__ __forceinline__ unsigned int tvmgo_word(const unsigned short* at, int step) {
  return at[0] | (unsigned int)at[step] << 16;
}
__device__ __forceinline__ unsigned int tvmgo_word(const unsigned int* at, int) { return at[0]; }

//// fragment_load_a: fragment_lane fragment_word
/* A left operand of 16 rows, whose elements are row_step and k_step apart in memory. */
template <int registers, class T>
__device__ __forceinline__ void tvmgo_load_a(unsigned int* f, const void* matrix, int row_step, int k_step) {
  const int lane = tvmgo_lane(), per = 4 / sizeof(T);
  const T* at = (const T*)matrix + lane / 4 * row_step + lane % 4 * per * k_step;
#pragma unroll
  for (int i = 0; i < registers; ++i) {
    f[i] = tvmgo_word(at + i % 2 * 8 * row_step + i / 2 * 4 * per * k_step, k_step);
  }
}

//// fragment_load_b: fragment_lane fragment_word
/* A right operand, of which 8 columns have k_registers registers. */
template <int registers, int k_registers, class T>
__device__ __forceinline__ void tvmgo_load_b(unsigned int* f, const void* matrix, int k_step, int column_step) {
  const int lane = tvmgo_lane(), per = 4 / sizeof(T);
  const T* at = (const T*)matrix + lane / 4 * column_step + lane % 4 * per * k_step;
#pragma unroll
  for (int i = 0; i < registers; ++i) {
    f[i] = tvmgo_word(at + i / k_registers * 8 * column_step + i % k_registers * 4 * per * k_step, k_step);
  }
}

//// fragment_ldmatrix: fragment_lane
/* 8x8 matrices of 16 bits, whose rows are 16 aligned bytes in shared memory, row_bytes apart. One of several is 8 rows
   below the previous one (down), or 16 bytes to the right of it; every second pair is in the other direction. */
template <int matrices, bool down, bool transposed>
__device__ __forceinline__ void tvmgo_ldmatrix(unsigned int* f, const void* matrix, int row_bytes) {
  const int lane = tvmgo_lane(), first = lane / 8 % 2, second = lane / 16;
  const unsigned int at = (unsigned int)__cvta_generic_to_shared(matrix) +
      (lane % 8 + (down ? first : second) * 8) * row_bytes + (down ? second : first) * 16;
  if (matrices == 4 && transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(at) : "memory");
  } else if (matrices == 4) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(at) : "memory");
  } else if (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(f[0]), "=r"(f[1]) : "r"(at) : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(f[0]), "=r"(f[1]) : "r"(at) : "memory");
  }
}

//// fragment_tf32
/* Rounds elements to TensorFloat-32. */
template <int registers>
__device__ __forceinline__ void tvmgo_round_tf32(unsigned int* f) {
#pragma unroll
  for (int i = 0; i < registers; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(f[i]) : "f"(__uint_as_float(f[i])));
}

//// fragment_sums: fragment_lane
/* Sums in memory, of 8 * parts columns. pairs: two columns are one aligned access. */
template <int parts, bool pairs, class T>
__device__ __forceinline__ void tvmgo_store_sums(void* matrix, const T* f, int row_step, int column_step) {
  const int lane = tvmgo_lane();
  T* at = (T*)matrix + lane / 4 * row_step + lane % 4 * 2 * column_step;
#pragma unroll
  for (int i = 0; i < 4 * parts; i += 2) {
    T* const to = at + i / 4 * 8 * column_step + i / 2 % 2 * 8 * row_step;
    if (pairs) {
      *(uint2*)to = make_uint2(*(const unsigned int*)&f[i], *(const unsigned int*)&f[i + 1]);
    } else {
      to[0] = f[i];
      to[column_step] = f[i + 1];
    }
  }
}
template <int parts, class T>
__device__ __forceinline__ void tvmgo_load_sums(T* f, const void* matrix, int row_step, int column_step) {
  const int lane = tvmgo_lane();
  const T* at = (const T*)matrix + lane / 4 * row_step + lane % 4 * 2 * column_step;
#pragma unroll
  for (int i = 0; i < 4 * parts; ++i) {
    f[i] = at[(i / 4 * 8 + i % 2) * column_step + i / 2 % 2 * 8 * row_step];
  }
}

//// fragment_half_sums: fragment_lane
/* Sums of float16, two in a register. */
template <int parts, bool pairs>
__device__ __forceinline__ void tvmgo_store_half_sums(void* matrix, const unsigned int* f, int row_step,
                                                      int column_step) {
  const int lane = tvmgo_lane();
  unsigned short* at = (unsigned short*)matrix + lane / 4 * row_step + lane % 4 * 2 * column_step;
#pragma unroll
  for (int i = 0; i < 2 * parts; ++i) {
    unsigned short* const to = at + i / 2 * 8 * column_step + i % 2 * 8 * row_step;
    if (pairs) {
      *(unsigned int*)to = f[i];
    } else {
      to[0] = (unsigned short)f[i];
      to[column_step] = (unsigned short)(f[i] >> 16);
    }
  }
}
template <int parts>
__device__ __forceinline__ void tvmgo_load_half_sums(unsigned int* f, const void* matrix, int row_step,
                                                     int column_step) {
  const int lane = tvmgo_lane();
  const unsigned short* at = (const unsigned short*)matrix + lane / 4 * row_step + lane % 4 * 2 * column_step;
#pragma unroll
  for (int i = 0; i < 2 * parts; ++i) {
    const unsigned short* const from = at + i / 2 * 8 * column_step + i % 2 * 8 * row_step;
    f[i] = from[0] | (unsigned int)from[column_step] << 16;
  }
}

//// fragment_mma_f16_f32
/* d += a * b of 16 x 16 and 16 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_f16_f32(float* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 4, b += 2) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b[1]));
#endif
  }
}

//// fragment_mma_f16_f16
/* d += a * b of 16 x 16 and 16 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_f16_f16(unsigned int* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 2, b += 2) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[2]), "r"(a[3]), "r"(b[1]));
#endif
  }
}

//// fragment_mma_bf16_f32
/* d += a * b of 16 x 16 and 16 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_bf16_f32(float* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 4, b += 2) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

//// fragment_mma_tf32_f32
/* d += a * b of 16 x 8 and 8 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_tf32_f32(float* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 4, b += 2) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

//// fragment_mma_s8_k16
/* d += a * b of 16 x 16 and 16 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_s8_k16(int* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 4, b += 1) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#else
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[2]), "+r"(d[3])
                 : "r"(a[1]), "r"(b[0]));
#endif
  }
}

//// fragment_mma_s8_k32
/* d += a * b of 16 x 32 and 32 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_s8_k32(int* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 4, b += 2) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[2]), "+r"(d[3])
                 : "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[2]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[2]), "+r"(d[3])
                 : "r"(a[3]), "r"(b[1]));
#endif
  }
}

//// fragment_mma_u8_k16
/* d += a * b of 16 x 16 and 16 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_u8_k16(int* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 4, b += 1) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#else
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[2]), "+r"(d[3])
                 : "r"(a[1]), "r"(b[0]));
#endif
  }
}

//// fragment_mma_u8_k32
/* d += a * b of 16 x 32 and 32 x (8 * parts) elements. */
template <int parts>
__device__ __forceinline__ void tvmgo_mma_u8_k32(int* d, const unsigned int* a, const unsigned int* b) {
#pragma unroll
  for (int i = 0; i < parts; ++i, d += 4, b += 2) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[2]), "+r"(d[3])
                 : "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[2]), "r"(b[1]));
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[2]), "+r"(d[3])
                 : "r"(a[3]), "r"(b[1]));
#endif
  }
}
