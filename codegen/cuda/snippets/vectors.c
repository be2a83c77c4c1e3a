//// vectors
/* Vectors that CUDA C lacks. In memory each is one word. */
template <typename Element, int lanes, typename Word>
union tvmgo_vector {
  Word all;
  Element lane[lanes];
};
typedef tvmgo_vector<signed char, 8, uint2> char8;
typedef tvmgo_vector<signed char, 16, uint4> char16;
typedef tvmgo_vector<unsigned char, 8, uint2> uchar8;
typedef tvmgo_vector<unsigned char, 16, uint4> uchar16;
typedef tvmgo_vector<short, 8, uint4> short8;
typedef tvmgo_vector<unsigned short, 8, uint4> ushort8;

template <typename Vector, typename Element, typename... More>
__device__ __forceinline__ Vector tvmgo_make(Element first, More... more) {
  const Element list[] = {first, (Element)more...};
  Vector v;
#pragma unroll
  for (int i = 0; i <= (int)sizeof...(more); ++i) v.lane[i] = list[i];
  return v;
}

//// pairs: vectors
/* Vectors of small floats, which are computed and converted in pairs. */
template <typename Element, int lanes, typename Word, typename Pair>
union tvmgo_pairs {
  Word all;
  Element lane[lanes];
  Pair pair[lanes / 2];
};

/* Converts numbers to a vector of small floats. */
template <typename Vector, typename Number, typename... More>
__device__ __forceinline__ Vector tvmgo_to(Number first, More... more) {
  const Number list[] = {first, (Number)more...};
  Vector v;
#pragma unroll
  for (int i = 0; i <= (int)sizeof...(more) / 2; ++i) v.pair[i] = tvmgo_pair_of(v.lane, list[2 * i], list[2 * i + 1]);
  return v;
}

//// float16_vectors: float16 pairs
typedef tvmgo_pairs<half, 2, unsigned int, unsigned int> half2;
typedef tvmgo_pairs<half, 4, uint2, unsigned int> half4;
typedef tvmgo_pairs<half, 8, uint4, unsigned int> half8;

#if __CUDA_ARCH__ >= 530
__device__ __forceinline__ unsigned int tvmgo_f16x2_add(unsigned int a, unsigned int b) {
  unsigned int sum;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}
__device__ __forceinline__ unsigned int tvmgo_f16x2_sub(unsigned int a, unsigned int b) {
  unsigned int difference;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}
__device__ __forceinline__ unsigned int tvmgo_f16x2_mul(unsigned int a, unsigned int b) {
  unsigned int product;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}
#else
__device__ __forceinline__ unsigned int tvmgo_f16x2_add(unsigned int a, unsigned int b) {
  return tvmgo_f16_add(a, b) | (unsigned int)tvmgo_f16_add(a >> 16, b >> 16) << 16;
}
__device__ __forceinline__ unsigned int tvmgo_f16x2_sub(unsigned int a, unsigned int b) {
  return tvmgo_f16_sub(a, b) | (unsigned int)tvmgo_f16_sub(a >> 16, b >> 16) << 16;
}
__device__ __forceinline__ unsigned int tvmgo_f16x2_mul(unsigned int a, unsigned int b) {
  return tvmgo_f16_mul(a, b) | (unsigned int)tvmgo_f16_mul(a >> 16, b >> 16) << 16;
}
#endif
__device__ __forceinline__ unsigned int tvmgo_f16x2_of_f32(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned int pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return (unsigned int)tvmgo_f16_of_f32(low) | (unsigned int)tvmgo_f16_of_f32(high) << 16;
#endif
}
__device__ __forceinline__ unsigned int tvmgo_pair_of(const half*, float low, float high) {
  return tvmgo_f16x2_of_f32(low, high);
}
template <typename Number>
__device__ __forceinline__ unsigned int tvmgo_pair_of(const half*, Number low, Number high) {
  return (unsigned int)half(low).bits | (unsigned int)half(high).bits << 16;
}
template <int lanes, typename Word>
__device__ __forceinline__ tvmgo_pairs<half, lanes, Word, unsigned int> operator+(
    tvmgo_pairs<half, lanes, Word, unsigned int> a, tvmgo_pairs<half, lanes, Word, unsigned int> b) {
#pragma unroll
  for (int i = 0; i < lanes / 2; ++i) a.pair[i] = tvmgo_f16x2_add(a.pair[i], b.pair[i]);
  return a;
}
template <int lanes, typename Word>
__device__ __forceinline__ tvmgo_pairs<half, lanes, Word, unsigned int> operator-(
    tvmgo_pairs<half, lanes, Word, unsigned int> a, tvmgo_pairs<half, lanes, Word, unsigned int> b) {
#pragma unroll
  for (int i = 0; i < lanes / 2; ++i) a.pair[i] = tvmgo_f16x2_sub(a.pair[i], b.pair[i]);
  return a;
}
template <int lanes, typename Word>
__device__ __forceinline__ tvmgo_pairs<half, lanes, Word, unsigned int> operator*(
    tvmgo_pairs<half, lanes, Word, unsigned int> a, tvmgo_pairs<half, lanes, Word, unsigned int> b) {
#pragma unroll
  for (int i = 0; i < lanes / 2; ++i) a.pair[i] = tvmgo_f16x2_mul(a.pair[i], b.pair[i]);
  return a;
}

//// bfloat16_vectors: bfloat16 pairs
typedef tvmgo_pairs<bfloat16, 2, unsigned int, unsigned int> bfloat16_2;
typedef tvmgo_pairs<bfloat16, 4, uint2, unsigned int> bfloat16_4;
typedef tvmgo_pairs<bfloat16, 8, uint4, unsigned int> bfloat16_8;

__device__ __forceinline__ unsigned int tvmgo_bf16x2_add(unsigned int a, unsigned int b) {
#if __CUDA_ARCH__ >= 900
  unsigned int sum;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
#else
  return (unsigned int)tvmgo_bf16_add((unsigned short)a, (unsigned short)b) |
         (unsigned int)tvmgo_bf16_add((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16;
#endif
}
__device__ __forceinline__ unsigned int tvmgo_bf16x2_sub(unsigned int a, unsigned int b) {
#if __CUDA_ARCH__ >= 900
  unsigned int difference;
  asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
#else
  return (unsigned int)tvmgo_bf16_sub((unsigned short)a, (unsigned short)b) |
         (unsigned int)tvmgo_bf16_sub((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16;
#endif
}
__device__ __forceinline__ unsigned int tvmgo_bf16x2_mul(unsigned int a, unsigned int b) {
#if __CUDA_ARCH__ >= 900
  unsigned int product;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
#else
  return (unsigned int)tvmgo_bf16_mul((unsigned short)a, (unsigned short)b) |
         (unsigned int)tvmgo_bf16_mul((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16;
#endif
}
__device__ __forceinline__ unsigned int tvmgo_bf16x2_of_f32(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned int pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return (unsigned int)tvmgo_bf16_of_f32(low) | (unsigned int)tvmgo_bf16_of_f32(high) << 16;
#endif
}
__device__ __forceinline__ unsigned int tvmgo_pair_of(const bfloat16*, float low, float high) {
  return tvmgo_bf16x2_of_f32(low, high);
}
template <typename Number>
__device__ __forceinline__ unsigned int tvmgo_pair_of(const bfloat16*, Number low, Number high) {
  return (unsigned int)bfloat16(low).bits | (unsigned int)bfloat16(high).bits << 16;
}
template <int lanes, typename Word>
__device__ __forceinline__ tvmgo_pairs<bfloat16, lanes, Word, unsigned int> operator+(
    tvmgo_pairs<bfloat16, lanes, Word, unsigned int> a, tvmgo_pairs<bfloat16, lanes, Word, unsigned int> b) {
#pragma unroll
  for (int i = 0; i < lanes / 2; ++i) a.pair[i] = tvmgo_bf16x2_add(a.pair[i], b.pair[i]);
  return a;
}
template <int lanes, typename Word>
__device__ __forceinline__ tvmgo_pairs<bfloat16, lanes, Word, unsigned int> operator-(
    tvmgo_pairs<bfloat16, lanes, Word, unsigned int> a, tvmgo_pairs<bfloat16, lanes, Word, unsigned int> b) {
#pragma unroll
  for (int i = 0; i < lanes / 2; ++i) a.pair[i] = tvmgo_bf16x2_sub(a.pair[i], b.pair[i]);
  return a;
}
template <int lanes, typename Word>
__device__ __forceinline__ tvmgo_pairs<bfloat16, lanes, Word, unsigned int> operator*(
    tvmgo_pairs<bfloat16, lanes, Word, unsigned int> a, tvmgo_pairs<bfloat16, lanes, Word, unsigned int> b) {
#pragma unroll
  for (int i = 0; i < lanes / 2; ++i) a.pair[i] = tvmgo_bf16x2_mul(a.pair[i], b.pair[i]);
  return a;
}
