// Copies and stores of one thread each, with every element type and width.
#include "dietcode.cuh"

#define COPY(symbol, T, LANES)                                                                                  \
  extern "C" __global__ void symbol(T *to, int to_step, const T *from, int valid, int aligned) {                \
    dietcode_copy<T, LANES>(to, to_step, from, valid, aligned);                                                 \
  }                                                                                                             \
  DIETCODE_ENTRY(symbol)
COPY(copy_f32_1, float, 1)
COPY(copy_f32_2, float, 2)
COPY(copy_f32_4, float, 4)
COPY(copy_f32_8, float, 8)
COPY(copy_f16_1, dietcode_f16, 1)
COPY(copy_f16_8, dietcode_f16, 8)
COPY(copy_bf16_4, dietcode_bf16, 4)

#define STORE(symbol, T, LANES)                                                                      \
  extern "C" __global__ void symbol(T *to, const float *from, int valid, int aligned) {              \
    float registers[LANES];                                                                          \
    DIETCODE_UNROLL                                                                                  \
    for (int lane = 0; lane < LANES; ++lane) registers[lane] = from[lane];                           \
    dietcode_store<T, LANES>(to, registers, valid, aligned != 0);                                    \
  }                                                                                                  \
  DIETCODE_ENTRY(symbol)
STORE(store_f32_1, float, 1)
STORE(store_f32_4, float, 4)
STORE(store_f16_4, dietcode_f16, 4)
STORE(store_f16_8, dietcode_f16, 8)
STORE(store_bf16_2, dietcode_bf16, 2)

// Memory that is written as elements, read as a vector, and written again: compilers must not reorder it.
extern "C" __global__ void vectors_of_elements(float *to, float *from) {
  for (int i = 0; i < 4; ++i) from[i] = i + 1;
  dietcode_copy<float, 4>(to, 1, from, 4, true);
  for (int i = 0; i < 4; ++i) from[i] = 2 * to[i];
  const float4 all = *reinterpret_cast<const float4 *>(from);
  from[0] = 7;
  *reinterpret_cast<float4 *>(to + 4) = all;
}
DIETCODE_ENTRY(vectors_of_elements)

extern "C" __global__ void is_aligned(int *to, const char *from, int bytes) { *to = dietcode_is_aligned(from, bytes); }
DIETCODE_ENTRY(is_aligned)
