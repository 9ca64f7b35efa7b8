/* NVIDIA's own calculator on standard input: a line of limits and resources in, a number of blocks out. */
#include <stdio.h>
#include <string.h>

#include <cuda_occupancy.h>

int main(void) {
    cudaOccDeviceProp device;
    cudaOccFuncAttributes kernel;
    cudaOccDeviceState state;
    int threads;
    size_t shared;
    memset(&device, 0, sizeof device);
    memset(&kernel, 0, sizeof kernel);
    memset(&state, 0, sizeof state);
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    kernel.numBlockBarriers = 1;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    while (scanf("%d %d %d %d %d %d %d %zu %zu %zu %zu %d %d %zu", &device.computeMajor, &device.computeMinor,
                 &device.warpSize, &device.maxThreadsPerBlock, &device.maxThreadsPerMultiprocessor,
                 &device.regsPerBlock, &device.regsPerMultiprocessor, &device.sharedMemPerBlock,
                 &device.sharedMemPerBlockOptin, &device.reservedSharedMemPerBlock,
                 &device.sharedMemPerMultiprocessor, &threads, &kernel.numRegs, &shared) == 14) {
        cudaOccResult result;
        kernel.maxThreadsPerBlock = device.maxThreadsPerBlock;
        kernel.maxDynamicSharedSizeBytes = device.sharedMemPerBlockOptin;
        device.numSms = 1;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, shared)) {
            return 1;
        }
        printf("%d\n", result.activeBlocksPerMultiprocessor);
    }
    return 0;
}
