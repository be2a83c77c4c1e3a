//// async_copy
/* Copies from global to shared memory that do not wait, from sm_80 on; older devices copy at once. */
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void tvmgo_cp_async_4(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
               :: "r"((unsigned int)__cvta_generic_to_shared(shared)), "l"(__cvta_generic_to_global(global))
               : "memory");
}
__device__ __forceinline__ void tvmgo_cp_async_8(void* shared, const void* global) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
               :: "r"((unsigned int)__cvta_generic_to_shared(shared)), "l"(__cvta_generic_to_global(global))
               : "memory");
}
__device__ __forceinline__ void tvmgo_cp_async_16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :: "r"((unsigned int)__cvta_generic_to_shared(shared)), "l"(__cvta_generic_to_global(global))
               : "memory");
}
__device__ __forceinline__ void tvmgo_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups>
__device__ __forceinline__ void tvmgo_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(groups) : "memory");
}
#else
__device__ __forceinline__ void tvmgo_cp_async_4(void* shared, const void* global) {
  *(unsigned int*)shared = *(const unsigned int*)global;
}
__device__ __forceinline__ void tvmgo_cp_async_8(void* shared, const void* global) {
  *(uint2*)shared = *(const uint2*)global;
}
__device__ __forceinline__ void tvmgo_cp_async_16(void* shared, const void* global) {
  *(uint4*)shared = *(const uint4*)global;
}
__device__ __forceinline__ void tvmgo_cp_async_commit() {}
template <int groups>
__device__ __forceinline__ void tvmgo_cp_async_wait() {}
#endif

//// prefetch
__device__ __forceinline__ void tvmgo_prefetch(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" :: "l"(__cvta_generic_to_global(address)));
}

//// report
/* Records the first index outside of its dimension. Returns false. */
__device__ __forceinline__ bool tvmgo_report(long long* record, int access, long long index, long long size) {
  if (atomicCAS((int*)record, 0, access) == 0) {
    record[1] = index;
    record[2] = size;
  }
  return false;
}
