// Blocks whose threads meet at barriers.
#include "dietcode.cuh"

// Each block reverses its part, through shared memory of both kinds.
extern "C" __global__ void __launch_bounds__(256) reverse(float *__restrict__ to, const float *__restrict__ from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  __shared__ float fixed[256];
  float *shared = reinterpret_cast<float *>(bytes);
  const int i = threadIdx.x, n = blockDim.x;
  shared[i] = from[blockIdx.x * n + i];
  __syncthreads();
  fixed[i] = shared[n - 1 - i];
  __syncthreads();
  to[blockIdx.x * n + i] = fixed[(i + 1) % n];
}
DIETCODE_ENTRY(reverse)

// The same without its first barrier.
extern "C" __global__ void reverse_without_barrier(float *to, const float *from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  float *shared = reinterpret_cast<float *>(bytes);
  const int i = threadIdx.x, n = blockDim.x;
  shared[i] = from[i];
  to[i] = shared[n - 1 - i];
}
DIETCODE_ENTRY(reverse_without_barrier)

// In which order threads come by, phase after phase.
extern "C" __global__ void turns(int *order, int *counter, int phases) {
  for (int phase = 0; phase < phases; ++phase) {
    order[phase * blockDim.x + atomicAdd(counter, 1) % blockDim.x] = threadIdx.x;
    __syncthreads();
  }
}
DIETCODE_ENTRY(turns)

// A tree sum over shared memory, a barrier at each level, grid and block of three dimensions reduced to one.
extern "C" __global__ void tree_sum(float *to, const float *from, int n) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  float *shared = reinterpret_cast<float *>(bytes);
  const int i = threadIdx.x, at = blockIdx.x * blockDim.x + i;
  shared[i] = at < n ? from[at] : 0;
  for (int by = blockDim.x / 2; by > 0; by /= 2) {
    __syncthreads();
    if (i < by) shared[i] += shared[i + by];
  }
  if (i == 0) atomicAdd(to, shared[0]);
}
DIETCODE_ENTRY(tree_sum)

// In which order blocks come by.
extern "C" __global__ void turns_of_blocks(int *order, int *counter) { order[atomicAdd(counter, 1)] = blockIdx.x; }
DIETCODE_ENTRY(turns_of_blocks)

// Each of the grid's threads has a row, of which it writes a column.
extern "C" __global__ void write_column(int *to, int columns, int column) {
  to[(blockIdx.x * blockDim.x + threadIdx.x) * columns] = column + 1;
}
DIETCODE_ENTRY(write_column)
