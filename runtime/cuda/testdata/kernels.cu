// Kernels of the tests. build.py compiles this file to kernels.ptx, kernels.cubin and kernels.fatbin; kernels.c has the
// same kernels for the fake driver.
extern "C" {

__global__ void scale(float *x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}

__global__ void types(double *out, long long a, int b, unsigned c, double d, float e) {
  out[0] = a, out[1] = b, out[2] = c, out[3] = d, out[4] = e;
}

// Stores the sizes of the launch: grid, block, cluster, bytes of dynamic shared memory.
#define SHAPE(out)                                                                         \
  if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) { \
    unsigned c[3], s;                                                                      \
    asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(c[0]));                                   \
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(c[1]));                                   \
    asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(c[2]));                                   \
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(s));                                     \
    out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;                            \
    out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;                         \
    out[6] = c[0], out[7] = c[1], out[8] = c[2], out[9] = s;                               \
  }

__global__ void shape(int *out) { SHAPE(out) }

// The same in a kernel with 1024 bytes of static shared memory.
__global__ void shape_static(int *out) {
  __shared__ volatile int own[256];
  own[threadIdx.x % 256] = 1;
  SHAPE(out)
}

__global__ void __launch_bounds__(64) few(float *x) { x[threadIdx.x] = threadIdx.x; }

// A tensor map: a parameter of 128 bytes that is passed by value.
struct alignas(64) map { unsigned long long words[16]; };
__global__ void words(unsigned long long *out, const __grid_constant__ map m) {
  for (int i = 0; i < 16; i++) out[i] = m.words[i];
}

__device__ unsigned __tvm_global_barrier_state = 7;
__global__ void count(int *out) { out[0] = __tvm_global_barrier_state++; }

}
