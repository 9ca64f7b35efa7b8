// Asynchronous copies, what is seen of them before they are waited for, and the mistakes that they invite.
#include "dietcode.cuh"

// Each thread copies LANES elements through shared memory, of which `valid` are there.
#define ROUND_TRIP(symbol, T, LANES)                                                                       \
  extern "C" __global__ void symbol(T *to, const T *from, int valid, int aligned) {                        \
    DIETCODE_DYNAMIC_SHARED(bytes)                                                                         \
    T *shared = reinterpret_cast<T *>(bytes);                                                              \
    const int at = threadIdx.x * LANES;                                                                    \
    dietcode_copy_async<T, LANES>(shared + at, from + at, valid - at, aligned);                            \
    dietcode_commit();                                                                                     \
    dietcode_wait<0>();                                                                                    \
    __syncthreads();                                                                                       \
    for (int i = threadIdx.x; i < LANES * static_cast<int>(blockDim.x); i += blockDim.x) to[i] = shared[i]; \
  }                                                                                                        \
  DIETCODE_ENTRY(symbol)
ROUND_TRIP(async_f32_1, float, 1)
ROUND_TRIP(async_f32_2, float, 2)
ROUND_TRIP(async_f32_4, float, 4)
ROUND_TRIP(async_f32_8, float, 8)
ROUND_TRIP(async_f16_1, dietcode_f16, 1)
ROUND_TRIP(async_f16_2, dietcode_f16, 2)
ROUND_TRIP(async_f16_8, dietcode_f16, 8)

// Three groups of one copy, and a fourth that is not committed: what has arrived after waiting for all but two, one, none.
extern "C" __global__ void groups(float *seen, const float *from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  float *shared = reinterpret_cast<float *>(bytes);
  for (int i = 0; i < 4; ++i) {
    dietcode_copy_async<float, 1>(shared + i, from + i, 1, true);
    if (i < 3) dietcode_commit();
  }
  for (int i = 0; i < 4; ++i) seen[i] = shared[i];
  dietcode_wait<2>();
  for (int i = 0; i < 4; ++i) seen[4 + i] = shared[i];
  dietcode_wait<1>();
  for (int i = 0; i < 4; ++i) seen[8 + i] = shared[i];
  dietcode_wait<0>();
  for (int i = 0; i < 4; ++i) seen[12 + i] = shared[i];
  dietcode_commit();
  dietcode_wait<0>();
  for (int i = 0; i < 4; ++i) seen[16 + i] = shared[i];
}
DIETCODE_ENTRY(groups)

// What fresh shared memory holds.
extern "C" __global__ void fresh(unsigned *to, int words) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  unsigned *shared = reinterpret_cast<unsigned *>(bytes);
  for (int i = 0; i < words; ++i) {
    to[blockIdx.x * words + i] = shared[i];
    shared[i] = 0;
  }
}
DIETCODE_ENTRY(fresh)

// A stage that is filled anew while other threads still read it: the barrier before the second copy is missing.
extern "C" __global__ void stage_reused(float *to, const float *from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  float *shared = reinterpret_cast<float *>(bytes);
  dietcode_copy_async<float, 1>(shared + threadIdx.x, from + threadIdx.x, 1, true);
  dietcode_commit();
  dietcode_wait<0>();
  __syncthreads();
  dietcode_copy_async<float, 1>(shared + threadIdx.x, from + threadIdx.x, 1, true);
  dietcode_commit();
  to[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
  dietcode_wait<0>();
}
DIETCODE_ENTRY(stage_reused)

extern "C" __global__ void never_waited(const float *from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  dietcode_copy_async<float, 4>(reinterpret_cast<float *>(bytes), from, 4, true);
  dietcode_commit();
}
DIETCODE_ENTRY(never_waited)

extern "C" __global__ void misaligned_to(const float *from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  dietcode_copy_async<float, 4>(reinterpret_cast<float *>(bytes) + 2, from, 4, true);
}
DIETCODE_ENTRY(misaligned_to)

extern "C" __global__ void misaligned_from(const float *from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  dietcode_copy_async<float, 4>(reinterpret_cast<float *>(bytes), from + 1, 4, true);
}
DIETCODE_ENTRY(misaligned_from)

extern "C" __global__ void past_the_end(const float *from) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  dietcode_copy_async<float, 4>(reinterpret_cast<float *>(bytes) + 16, from, 4, true);
}
DIETCODE_ENTRY(past_the_end)
