// Kernels that are wrong in one place each; those with cp.async are in async.cu.
#include "dietcode.cuh"

#define MISTAKE(symbol, ...)                             \
  extern "C" __global__ void symbol(float *global) {     \
    DIETCODE_DYNAMIC_SHARED(bytes)                       \
    float *shared = reinterpret_cast<float *>(bytes);    \
    const int i = threadIdx.x, n = blockDim.x;           \
    __VA_ARGS__                                          \
    if (i > n) global[i] = shared[i];                    \
  }                                                      \
  DIETCODE_ENTRY(symbol)

MISTAKE(early_exit, if (i == 5) return; __syncthreads();)

extern "C" __global__ void two_barriers(float *global) {
  if (threadIdx.x < 40)
    __syncthreads();
  else
    global[0] = 1, __syncthreads();
}
DIETCODE_ENTRY(two_barriers)

MISTAKE(barrier_against_vote, if (i == 7) __syncthreads(); else __ballot_sync(0xffffffffu, 1);)
MISTAKE(lane_exited, if (i == 9) return; __syncwarp();)
MISTAKE(masks_differ, global[i] = __any_sync(i < 4 ? 0xffffffffu : 0xfffffff0u, 1);)
MISTAKE(functions_differ, if (i == 3) __any_sync(0xffffffffu, 1); else __all_sync(0xffffffffu, 1);)
MISTAKE(not_in_mask, global[i] = __shfl_sync(0xfffffffeu, 1.0f, 1);)
MISTAKE(reads_lane_not_in_mask, if (i < 16) global[i] = __shfl_sync(0xffffu, 1.0f, 20);)
MISTAKE(past_the_end, shared[n + i] = 1; __syncthreads();)
MISTAKE(past_the_end_last, shared[n] = 1;)
MISTAKE(before_the_beginning, if (i == 0) shared[-1] = 1;)
MISTAKE(misaligned_load, dietcode_copy<float, 4>(global + 8, 1, global + 2, 4, true);)
MISTAKE(not_whole, dietcode_copy<float, 4>(global + 8, 1, global, i == 3 ? 2 : 4, DIETCODE_WHOLE);)
MISTAKE(misaligned_store, float x[4] = {}; dietcode_store<float, 4>(global + 1, x, 4, true);)
MISTAKE(misaligned_row, unsigned d[4]; dietcode_ldmatrix_x4<false>(d, bytes + i % 4 * 24); global[i] = d[0];)
MISTAKE(row_past_the_end, unsigned d[2]; dietcode_ldmatrix_x2<false>(d, bytes + i * 16); global[i] = d[0];)
MISTAKE(traps, if (i == 2) __trap();)
