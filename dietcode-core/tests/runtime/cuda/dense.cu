/* y = x · wᵀ: a block stages a row of x in shared memory, then each thread computes some columns; blocks stride over rows. */
#include "dietcode.cuh"

extern "C" __global__ void __launch_bounds__(32) dense(const float *__restrict__ x, const float *__restrict__ w,
                                                       float *__restrict__ y, long long x_stride, long long w_stride,
                                                       long long y_stride, int M, int K, int N) {
  DIETCODE_DYNAMIC_SHARED(shared)
  float *row = reinterpret_cast<float *>(shared);
  for (int i = blockIdx.x; i < M; i += gridDim.x) {
    for (int k = threadIdx.x; k < K; k += blockDim.x) row[k] = x[i * x_stride + k];
    __syncthreads();
    for (int j = threadIdx.x; j < N; j += blockDim.x) {
      float sum = 0.0f;
      for (int k = 0; k < K; ++k) sum += row[k] * w[j * w_stride + k];
      y[i * y_stride + j] = sum;
    }
    __syncthreads();
  }
}
DIETCODE_ENTRY(dense)

/* One thread of a warp does not come to the barrier. */
extern "C" __global__ void hangs(float *y, int M) {
  if (threadIdx.x != 5) __syncthreads();
  y[0] = M;
}
DIETCODE_ENTRY(hangs)
