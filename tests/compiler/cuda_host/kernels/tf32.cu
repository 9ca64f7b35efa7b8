// Rounding to tf32, one element a thread.
#include "dietcode.cuh"

extern "C" __global__ void round_tf32(unsigned *to, const float *from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = dietcode_tf32(from[i]);
}
DIETCODE_ENTRY(round_tf32)
