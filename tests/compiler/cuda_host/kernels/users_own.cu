// A kernel as a user has it, with the test of it below.
#include "dietcode.cuh"

template <class T> __global__ void transpose(T *to, const T *from, int rows, int columns) {
  __shared__ T tile[8][8 + 1];
  const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = from[y * columns + x];
  __syncthreads();
  const int tx = blockIdx.y * 8 + threadIdx.x, ty = blockIdx.x * 8 + threadIdx.y;
  if (tx < rows && ty < columns) to[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];
}

template __global__ void transpose<int>(int *, const int *, int, int);

__global__ void turns(int *order, int *counter) { order[(*counter)++] = threadIdx.x; }

__global__ void checks(int limit) { assert(static_cast<int>(threadIdx.x) < limit); }

#ifndef __CUDACC__
#include <algorithm>
#include <numeric>

int main() {
  const int rows = 19, columns = 13;
  std::vector<int> from(rows * columns), to(from.size()), expected(from.size());
  std::iota(from.begin(), from.end(), 0);
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) expected[x * rows + y] = from[y * columns + x];
  std::string error = DIETCODE_LAUNCH(transpose<int>, dim3(2, 3), dim3(8, 8), 0, to.data(), from.data(), rows, columns);
  printf("transpose: %s\n", error.empty() && to == expected ? "right" : error.c_str());
  printf("checks: %s\n", DIETCODE_LAUNCH(checks, 1, 4, 0, 3).c_str());

  int order[8], counter = 0;
  error = DIETCODE_LAUNCH(turns, 1, 8, 0, order, &counter);
  printf("turns:");
  for (int turn : order) printf(" %d", turn);
  printf("\n");
}
#endif
