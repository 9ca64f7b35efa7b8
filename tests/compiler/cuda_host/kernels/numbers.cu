// Conversions and small functions, one element a thread.
#include "dietcode.cuh"

#define EACH(symbol, To, From, value)                              \
  extern "C" __global__ void symbol(To *to, const From *from, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;           \
    if (i < n) to[i] = value;                                      \
  }                                                                \
  DIETCODE_ENTRY(symbol)
EACH(load_f32, float, float, dietcode_load(from[i]))
EACH(load_f16, float, dietcode_f16, dietcode_load(from[i]))
EACH(load_bf16, float, dietcode_bf16, dietcode_load(from[i]))
EACH(round_f32, float, float, dietcode_round<float>(from[i]))
EACH(round_f16, dietcode_f16, float, dietcode_round<dietcode_f16>(from[i]))
EACH(round_bf16, dietcode_bf16, float, dietcode_round<dietcode_bf16>(from[i]))
EACH(max_pairs, float, float, dietcode_maxf(from[i], from[n - 1 - i]))
EACH(min_pairs, float, float, dietcode_minf(from[i], from[n - 1 - i]))
EACH(clamped, float, float, dietcode_clampf(from[i], from[n - 1 - i], 2.0f))
EACH(cubed, float, float, dietcode_powif(from[i], 3))
EACH(inverse_squared, float, float, dietcode_powif(from[i], -2))
EACH(integers, long long, long long,
     dietcode_imax(from[i], 0LL) - dietcode_imin(static_cast<int>(from[i]), 5) + dietcode_imax(1, 2) - dietcode_imin(from[i], 9LL))

extern "C" __global__ void sum(float *to, const float *from) { dietcode_atomic_add(to, from[threadIdx.x]); }
DIETCODE_ENTRY(sum)

extern "C" __global__ void atomics(int *to, unsigned long long *wide) {
  const int i = threadIdx.x;
  atomicAdd(to, 1);
  atomicMax(to + 1, i);
  atomicMin(to + 2, -i);
  if (atomicCAS(to + 3, 0, i + 1) == 0) atomicExch(to + 4, i);
  atomicAdd(wide, 1ull << 40);
}
DIETCODE_ENTRY(atomics)
