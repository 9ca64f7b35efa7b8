// Products of a 16 x K and a K x 8 matrix by one warp, operands in every layout.
#include "dietcode.cuh"

// Element [row, column] of d lies where a fragment of mma has it.
__device__ void load_d(float (&d)[4], const float *c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 4; ++i) d[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
}
__device__ void store_d(float *c, const float (&d)[4]) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

// c += a * b with fragments made element by element, as the table in dietcode.cuh has them. a and b are row by row.
template <class T> __device__ void by_element(float *c, const T *a, const T *b) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const auto pair = [](T low, T high) { return static_cast<unsigned>(low.bits) | static_cast<unsigned>(high.bits) << 16; };
  unsigned fa[4], fb[2];
  for (int i = 0; i < 4; ++i) {
    const T *at = a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
    fa[i] = pair(at[0], at[1]);
  }
  for (int i = 0; i < 2; ++i) {
    const T *at = b + (2 * t + i * 8) * 8 + g;
    fb[i] = pair(at[0], at[8]);
  }
  float d[4];
  load_d(d, c);
  dietcode_mma(d, fa, fb, T{});
  store_d(c, d);
}
extern "C" __global__ void elements_f16(float *c, const dietcode_f16 *a, const dietcode_f16 *b) { by_element(c, a, b); }
DIETCODE_ENTRY(elements_f16)
extern "C" __global__ void elements_bf16(float *c, const dietcode_bf16 *a, const dietcode_bf16 *b) { by_element(c, a, b); }
DIETCODE_ENTRY(elements_bf16)

// c += op(a) * op(b) with fragments by ldmatrix: a lies as [16][16] or, with A_TRANS, as its transpose; b lies as [16][8] or,
// with B_TRANS, as its transpose.
template <class T, bool A_TRANS, bool B_TRANS> __device__ void by_ldmatrix(float *c, const T *a, const T *b) {
  DIETCODE_DYNAMIC_SHARED(bytes)
  T *sa = reinterpret_cast<T *>(bytes), *sb = sa + 256;
  const int lane = threadIdx.x, matrix = lane / 8, row = lane % 8;
  dietcode_copy_async<T, 8>(sa + lane * 8, a + lane * 8, 8, true);
  if (lane < 16) dietcode_copy_async<T, 8>(sb + lane * 8, b + lane * 8, 8, true);
  dietcode_commit();
  dietcode_wait<0>();
  __syncthreads();
  unsigned fa[4], fb[2];
  if (A_TRANS)
    dietcode_ldmatrix_x4<true>(fa, sa + (row + matrix / 2 * 8) * 16 + matrix % 2 * 8);
  else
    dietcode_ldmatrix_x4<false>(fa, sa + (row + matrix % 2 * 8) * 16 + matrix / 2 * 8);
  if (B_TRANS)
    dietcode_ldmatrix_x2<false>(fb, sb + row * 16 + matrix % 2 * 8);
  else
    dietcode_ldmatrix_x2<true>(fb, sb + (row + matrix % 2 * 8) * 8);
  float d[4];
  load_d(d, c);
  dietcode_mma(d, fa, fb, T{});
  store_d(c, d);
}
#define BY_LDMATRIX(symbol, T, A_TRANS, B_TRANS)                                                        \
  extern "C" __global__ void symbol(float *c, const T *a, const T *b) { by_ldmatrix<T, A_TRANS, B_TRANS>(c, a, b); } \
  DIETCODE_ENTRY(symbol)
BY_LDMATRIX(nn_f16, dietcode_f16, false, false)
BY_LDMATRIX(nt_f16, dietcode_f16, false, true)
BY_LDMATRIX(tn_f16, dietcode_f16, true, false)
BY_LDMATRIX(tt_f16, dietcode_f16, true, true)
BY_LDMATRIX(nn_bf16, dietcode_bf16, false, false)
BY_LDMATRIX(nt_bf16, dietcode_bf16, false, true)

// c += a * b in tf32, a is [16][8], b is [8][8]; `rounded` as it should be.
extern "C" __global__ void tf32(float *c, const float *a, const float *b, int rounded) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const auto operand = [=](float x) { return rounded ? dietcode_tf32(x) : __float_as_uint(x); };
  unsigned fa[4], fb[2];
  for (int i = 0; i < 4; ++i) fa[i] = operand(a[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
  for (int i = 0; i < 2; ++i) fb[i] = operand(b[(t + i * 4) * 8 + g]);
  float d[4];
  load_d(d, c);
  dietcode_mma(d, fa, fb, float{});
  store_d(c, d);
}
DIETCODE_ENTRY(tf32)
