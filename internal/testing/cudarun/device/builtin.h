// CUDA C on the CPU: what nvcc and NVRTC define without a header. Compiled kernels call the engine, which runs each
// thread of a block as a fiber (engine/engine.h).
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __constant__
#define __managed__
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define CUDARUN_API __attribute__((visibility("default")))
#define CUDARUN_SHARED __attribute__((section("cudarun_shared")))
#define CUDARUN_RED_ZONE(n) CUDARUN_SHARED static char cudarun_red_##n[64] __attribute__((used));

#include "vectors.h"

extern "C" {
// Constants for the compiler, because a fiber never sees them change; the engine sets them.
CUDARUN_API extern const uint3 threadIdx, blockIdx, blockDim, gridDim;
}
static constexpr int warpSize = 32;

namespace cudarun {

// An operation that the lanes of mask execute together: the argument of each.
struct collective {
  unsigned mask;
  int line;
  const char *doing;
  void *arguments[32];
};

CUDARUN_API int barrier(int line, const char *doing, int predicate);
// Returns when all lanes of mask have called it with equal line, mask and operation. The last one to arrive executes
// complete, which may be null.
CUDARUN_API void together(unsigned mask, void *argument, void (*complete)(collective *), int line, const char *doing);
CUDARUN_API unsigned active_mask(int line);
CUDARUN_API void *dynamic_shared(void);
CUDARUN_API void fence(void);
[[noreturn]] CUDARUN_API void trap(int line, const char *why);

} // namespace cudarun

#define __syncthreads() ((void)cudarun::barrier(__LINE__, "__syncthreads", 0))
#define __syncthreads_or(p) cudarun::barrier(__LINE__, "__syncthreads_or", (p) != 0)
#define __syncthreads_and(p) cudarun::barrier(__LINE__, "__syncthreads_and", (p) != 0)
#define __syncthreads_count(p) cudarun::barrier(__LINE__, "__syncthreads_count", (p) != 0)
#define __threadfence() cudarun::fence()
#define __threadfence_system() cudarun::fence()
#define __threadfence_block() cudarun::block_fence()
#define __trap() cudarun::trap(__LINE__, "executes __trap")
#define assert(c) ((c) ? (void)0 : cudarun::trap(__LINE__, "assertion failed: " #c))
namespace cudarun {
static inline void block_fence() { asm volatile("" ::: "memory"); }
} // namespace cudarun

#include "number.h"
#include "warp.h"
#include "atomic.h"
#include "ptx.h"

