/* Reads lines "major minor maxThreads sharedPerMultiprocessor sharedPerBlock reserved threads registers shared", and
   writes the number of blocks that NVIDIA's occupancy calculator finds for each. */
#include <cuda_occupancy.h>
#include <limits.h>
#include <stdio.h>

int main(void) {
  int major, minor, max_threads, threads, registers;
  long shared_sm, shared_block, reserved, shared;
  while (scanf("%d %d %d %ld %ld %ld %d %d %ld", &major, &minor, &max_threads, &shared_sm, &shared_block, &reserved,
               &threads, &registers, &shared) == 9) {
    cudaOccDeviceProp device = {0};
    cudaOccFuncAttributes function = {0};
    cudaOccDeviceState state = {0};
    cudaOccResult result;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = max_threads;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 << 10;
    device.sharedMemPerMultiprocessor = shared_sm;
    device.sharedMemPerBlockOptin = shared_block;
    device.reservedSharedMemPerBlock = reserved;
    device.numSms = 1;
    function.maxThreadsPerBlock = INT_MAX;
    function.numRegs = registers;
    function.maxDynamicSharedSizeBytes = shared_block;
    function.shmemLimitConfig = major < 7 ? FUNC_SHMEM_LIMIT_DEFAULT : FUNC_SHMEM_LIMIT_OPTIN;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, shared);
    if (status != CUDA_OCC_SUCCESS) {
      printf("error %d\n", status);
      return 1;
    }
    printf("%d\n", result.activeBlocksPerMultiprocessor);
  }
}
