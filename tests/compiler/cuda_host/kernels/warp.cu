// Functions of a warp: every thread writes what it got.
#include "dietcode.cuh"

// All shuffles of one width by one distance, in this order: from lane, up, down, xor.
#define SHUFFLES(symbol, T)                                                                    \
  extern "C" __global__ void symbol(T *to, const T *from, int by, int width) {                 \
    const int i = threadIdx.x, n = blockDim.x;                                                 \
    to[i] = __shfl_sync(0xffffffffu, from[i], by, width);                                      \
    to[n + i] = __shfl_up_sync(0xffffffffu, from[i], by, width);                               \
    to[2 * n + i] = __shfl_down_sync(0xffffffffu, from[i], by, width);                         \
    to[3 * n + i] = __shfl_xor_sync(0xffffffffu, from[i], by, width);                          \
  }                                                                                            \
  DIETCODE_ENTRY(symbol)
SHUFFLES(shuffles_i32, int)
SHUFFLES(shuffles_u32, unsigned)
SHUFFLES(shuffles_f32, float)
SHUFFLES(shuffles_f64, double)
SHUFFLES(shuffles_i64, long long)

// Votes of the whole warp, then of even and odd lanes apart, in branches of their own.
extern "C" __global__ void votes(unsigned *to, const int *from) {
  const int i = threadIdx.x, n = blockDim.x;
  to[i] = __ballot_sync(0xffffffffu, from[i]);
  to[n + i] = __any_sync(0xffffffffu, from[i]);
  to[2 * n + i] = __all_sync(0xffffffffu, from[i]);
  if (i % 2 == 0) {
    to[3 * n + i] = __ballot_sync(0x55555555u, from[i]);
    __syncwarp(0x55555555u);
    to[4 * n + i] = __all_sync(0x55555555u, from[i]);
  } else {
    to[3 * n + i] = __ballot_sync(0xaaaaaaaau, from[i]);
    to[4 * n + i] = __all_sync(0xaaaaaaaau, from[i]);
  }
}
DIETCODE_ENTRY(votes)

// The sum of a block by a tree of shuffles, then of the warps' sums.
extern "C" __global__ void block_sum(float *to, const float *from) {
  __shared__ float sums[32];
  float sum = from[blockIdx.x * blockDim.x + threadIdx.x];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < blockDim.x / 32; ++i) sum += sums[i];
    to[blockIdx.x] = sum;
  }
}
DIETCODE_ENTRY(block_sum)
