/* What the generated C files of dietcode share: the ABI of a micro-kernel (mirrored by dietcode_core::abi), vectors,
 * and the transposing copy. */
#ifndef DIETCODE_H
#define DIETCODE_H

#include <stdint.h>

/* A step of a micro-kernel: its tiles may be carried out in any order, and at once. */
struct dietcode_phase {
  int64_t (*grid)(const int64_t *shape);
  void (*run)(void *const *buffers, const int64_t *strides, const int64_t *shape, void *scratch, int64_t begin,
              int64_t end);
};

struct dietcode_micro_kernel {
  const char *name;
  uint64_t cpu_features; /* bits as in dietcode_core::cpu_features */
  int64_t scratch_bytes; /* per thread, aligned to 64 bytes */
  const struct dietcode_phase *phases; /* one after the other */
  int64_t phases_len;
  int64_t (*workspace_bytes)(const int64_t *shape); /* of a call, aligned to 64 bytes; NULL: none */
  const int64_t *parameters; /* what stands behind the shape variables in `shape` */
  int64_t parameters_len;
};

struct dietcode_table {
  const struct dietcode_micro_kernel *const *micro_kernels;
  int64_t micro_kernels_len;
};

/* The CPU features that the compiler may use, as bits of dietcode_core::cpu_features. */
#ifdef __SSE4_2__
#define DIETCODE_BIT_0 (UINT64_C(1) << 0) /* sse4.2 */
#else
#define DIETCODE_BIT_0 0
#endif
#ifdef __AVX__
#define DIETCODE_BIT_1 (UINT64_C(1) << 1) /* avx */
#else
#define DIETCODE_BIT_1 0
#endif
#ifdef __AVX2__
#define DIETCODE_BIT_2 (UINT64_C(1) << 2) /* avx2 */
#else
#define DIETCODE_BIT_2 0
#endif
#ifdef __FMA__
#define DIETCODE_BIT_3 (UINT64_C(1) << 3) /* fma */
#else
#define DIETCODE_BIT_3 0
#endif
#ifdef __BMI__
#define DIETCODE_BIT_4 (UINT64_C(1) << 4) /* bmi1 */
#else
#define DIETCODE_BIT_4 0
#endif
#ifdef __BMI2__
#define DIETCODE_BIT_5 (UINT64_C(1) << 5) /* bmi2 */
#else
#define DIETCODE_BIT_5 0
#endif
#ifdef __F16C__
#define DIETCODE_BIT_6 (UINT64_C(1) << 6) /* f16c */
#else
#define DIETCODE_BIT_6 0
#endif
#ifdef __AVX512F__
#define DIETCODE_BIT_7 (UINT64_C(1) << 7) /* avx512f */
#else
#define DIETCODE_BIT_7 0
#endif
#ifdef __AVX512BW__
#define DIETCODE_BIT_8 (UINT64_C(1) << 8) /* avx512bw */
#else
#define DIETCODE_BIT_8 0
#endif
#ifdef __AVX512CD__
#define DIETCODE_BIT_9 (UINT64_C(1) << 9) /* avx512cd */
#else
#define DIETCODE_BIT_9 0
#endif
#ifdef __AVX512DQ__
#define DIETCODE_BIT_10 (UINT64_C(1) << 10) /* avx512dq */
#else
#define DIETCODE_BIT_10 0
#endif
#ifdef __AVX512VL__
#define DIETCODE_BIT_11 (UINT64_C(1) << 11) /* avx512vl */
#else
#define DIETCODE_BIT_11 0
#endif
#ifdef __AVX512VBMI__
#define DIETCODE_BIT_12 (UINT64_C(1) << 12) /* avx512vbmi */
#else
#define DIETCODE_BIT_12 0
#endif
#ifdef __AVX512VNNI__
#define DIETCODE_BIT_13 (UINT64_C(1) << 13) /* avx512vnni */
#else
#define DIETCODE_BIT_13 0
#endif
#ifdef __AVX512BF16__
#define DIETCODE_BIT_14 (UINT64_C(1) << 14) /* avx512bf16 */
#else
#define DIETCODE_BIT_14 0
#endif
#ifdef __AVXVNNI__
#define DIETCODE_BIT_15 (UINT64_C(1) << 15) /* avxvnni */
#else
#define DIETCODE_BIT_15 0
#endif
#define DIETCODE_CPU_FEATURES \
  (DIETCODE_BIT_0 | DIETCODE_BIT_1 | DIETCODE_BIT_2 | DIETCODE_BIT_3 | DIETCODE_BIT_4 | \
   DIETCODE_BIT_5 | DIETCODE_BIT_6 | DIETCODE_BIT_7 | DIETCODE_BIT_8 | DIETCODE_BIT_9 | \
   DIETCODE_BIT_10 | DIETCODE_BIT_11 | DIETCODE_BIT_12 | DIETCODE_BIT_13 | DIETCODE_BIT_14 | \
   DIETCODE_BIT_15)

typedef int64_t dietcode_int;

static inline dietcode_int dietcode_imin(dietcode_int a, dietcode_int b) { return a < b ? a : b; }
static inline dietcode_int dietcode_imax(dietcode_int a, dietcode_int b) { return a > b ? a : b; }

/* Functions of elements that C's library does not have, of float and, for what checks results, of double.
 *
 * max, min: Rust's f32::max and f32::min: of a NaN and a number, the number.
 * clamp: NaN stays, and a bound that is NaN does not bind.
 * powi: by squaring, which rounds less often than n is large. */
#define DIETCODE_FUNCTIONS(T, f)                                                     \
  static inline T dietcode_max##f(T a, T b) { return b != b || a > b ? a : b; }      \
  static inline T dietcode_min##f(T a, T b) { return b != b || a < b ? a : b; }      \
  static inline T dietcode_clamp##f(T a, T low, T high) {                            \
    const T raised = a < low ? low : a;                                              \
    return raised > high ? high : raised;                                            \
  }                                                                                  \
  static inline T dietcode_powi##f(T a, int32_t n) {                                 \
    T power = 1;                                                                     \
    for (uint32_t left = n < 0 ? 0 - (uint32_t)n : (uint32_t)n; left != 0; left /= 2, a *= a) \
      if (left % 2 == 1) power *= a;                                                 \
    return n < 0 ? 1 / power : power;                                                \
  }
DIETCODE_FUNCTIONS(float, f)
DIETCODE_FUNCTIONS(double, )

#define DIETCODE_INFINITY __builtin_inff()

/* Asks for the lines of a cache in which elements of a tensor lie, so many bytes each. An address may lie outside of it. */
static inline void dietcode_prefetch(const void *tensor, dietcode_int bytes, dietcode_int first, dietcode_int elements) {
  const uintptr_t begin = (uintptr_t)tensor + (uintptr_t)(first * bytes), end = begin + (uintptr_t)(elements * bytes);
  for (uintptr_t line = begin & ~(uintptr_t)63; line < end; line += 64) __builtin_prefetch((const void *)line);
}

/* How a maximum and a minimum take a term x: one that is NaN is passed over, and an accumulator that is NaN stays. */
#define DIETCODE_TAKEN(T, F)                                                       \
  static inline T dietcode_larger##F(T acc, T x) { return x > acc ? x : acc; }     \
  static inline T dietcode_smaller##F(T acc, T x) { return x < acc ? x : acc; }
DIETCODE_TAKEN(float, )

static inline float dietcode_load_f32(float x) { return x; }

/* Keeps the loop around it scalar. Of neighbours that are read under one condition in each iteration, such as x[2 * i] and
 * x[2 * i + 1], GCC 12 reads vectors with the conditions of other iterations, and so behind the end of a tensor. */
#define DIETCODE_SCALAR __asm__ volatile("")

/* The same of vectors. GCC 12 makes one instruction of a loop over lanes, and two of a mask; clang 14 makes one of a mask, and of the loop code
 * for each lane. A mask compares what is held as another type as numbers of the type S. */
#ifdef __clang__
#define DIETCODE_LANES_TAKEN(S, E, F, n, name, op)                                                                      \
  static inline dietcode_##E##x##n dietcode_##name##_##E##x##n(dietcode_##E##x##n acc, dietcode_##E##x##n x) {          \
    typedef S compared __attribute__((vector_size(sizeof(S) * (n))));                                                   \
    typedef __typeof__(x op acc) mask;                                                                                  \
    const mask taken = (compared)x op (compared)acc;                                                                    \
    return (dietcode_##E##x##n)(((mask)x & taken) | ((mask)acc & ~taken));                                              \
  }
#else
#define DIETCODE_LANES_TAKEN(S, E, F, n, name, op)                                                                      \
  static inline dietcode_##E##x##n dietcode_##name##_##E##x##n(dietcode_##E##x##n acc, dietcode_##E##x##n x) {          \
    for (int lane = 0; lane < (n); ++lane) acc[lane] = dietcode_##name##F(acc[lane], x[lane]);                          \
    return acc;                                                                                                         \
  }
#endif

/* A vector of n numbers of a type, E by its name, and the same at any address of an element; F is how the names of its functions end, and S the
 * type as which they are compared. */
#define DIETCODE_VECTOR(T, S, E, F, n)                                                                                  \
  typedef T dietcode_##E##x##n __attribute__((vector_size(sizeof(T) * (n))));                                           \
  typedef T dietcode_##E##x##n##u __attribute__((vector_size(sizeof(T) * (n)), aligned(sizeof(T)), may_alias));         \
  static inline dietcode_##E##x##n dietcode_load_##E##x##n(const T *from) { return *(const dietcode_##E##x##n##u *)from; } \
  DIETCODE_LANES_TAKEN(S, E, F, n, larger, >)                                                                           \
  DIETCODE_LANES_TAKEN(S, E, F, n, smaller, <)
DIETCODE_VECTOR(float, float, f32, , 2)
DIETCODE_VECTOR(float, float, f32, , 4)
DIETCODE_VECTOR(float, float, f32, , 8)
DIETCODE_VECTOR(float, float, f32, , 16)

#define DIETCODE_NOINLINE __attribute__((noinline))

/* The first lanes of a vector, `some` of them or all: the others are not touched in memory, and are 0 in the vector. */
#define DIETCODE_SOME(T, E, n)                                                                             \
  static inline void dietcode_store_some_##E##x##n(T *to, dietcode_##E##x##n x, dietcode_int some) {       \
    for (int lane = 0; lane < (n); ++lane)                                                                 \
      if (lane < some) to[lane] = x[lane];                                                                 \
  }                                                                                                        \
  static inline dietcode_##E##x##n dietcode_load_some_##E##x##n(const T *from, dietcode_int some) {        \
    dietcode_##E##x##n x = {0};                                                                            \
    for (int lane = 0; lane < (n); ++lane)                                                                 \
      if (lane < some) x[lane] = from[lane];                                                               \
    return x;                                                                                              \
  }
DIETCODE_SOME(float, f32, 2)
DIETCODE_SOME(float, f32, 4)
#ifdef __AVX__
typedef int32_t dietcode_mask8 __attribute__((vector_size(32)));
static inline dietcode_mask8 dietcode_mask_8(dietcode_int some) {
  const int32_t all = (int32_t)dietcode_imax(dietcode_imin(some, 8), 0);
  return (dietcode_mask8){0, 1, 2, 3, 4, 5, 6, 7} < (all - (dietcode_mask8){0});
}
static inline void dietcode_store_some_f32x8(float *to, dietcode_f32x8 x, dietcode_int some) {
  __builtin_ia32_maskstoreps256((void *)to, dietcode_mask_8(some), x);
}
static inline dietcode_f32x8 dietcode_load_some_f32x8(const float *from, dietcode_int some) {
  return __builtin_ia32_maskloadps256((const void *)from, dietcode_mask_8(some));
}
#else
DIETCODE_SOME(float, f32, 8)
#endif
#ifdef __AVX512F__
static inline uint16_t dietcode_mask_16(dietcode_int some) {
  return (uint16_t)((UINT32_C(1) << dietcode_imax(dietcode_imin(some, 16), 0)) - 1);
}
static inline void dietcode_store_some_f32x16(float *to, dietcode_f32x16 x, dietcode_int some) {
  __builtin_ia32_storeups512_mask((void *)to, x, dietcode_mask_16(some));
}
static inline dietcode_f32x16 dietcode_load_some_f32x16(const float *from, dietcode_int some) {
  return __builtin_ia32_loadups512_mask((const void *)from, (dietcode_f32x16){0}, dietcode_mask_16(some));
}
#else
DIETCODE_SOME(float, f32, 16)
#endif

#if defined(__clang__) || __GNUC__ >= 12
#define DIETCODE_SHUFFLE(n, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
/* Which lanes are taken is a vector of integers as wide as they are. */
#define DIETCODE_PLACES(n)                                                    \
  typedef int32_t dietcode_places4x##n __attribute__((vector_size(4 * (n)))); \
  typedef int64_t dietcode_places8x##n __attribute__((vector_size(8 * (n))));
DIETCODE_PLACES(2)
DIETCODE_PLACES(4)
DIETCODE_PLACES(8)
DIETCODE_PLACES(16)
#define DIETCODE_SHUFFLE(n, a, b, ...)                                                                               \
  __builtin_shuffle(a, b, (__typeof__(__builtin_choose_expr(sizeof((a)[0]) == 4, (dietcode_places4x##n){0},          \
                                                            (dietcode_places8x##n){0}))){__VA_ARGS__})
#endif

/* A block's rows are registers, at any level of optimisation. */
#define DIETCODE_UNROLL _Pragma("GCC unroll 16")

/* Of two vectors of n lanes a and b, the first and the second ones of each two runs of d lanes, those of a before those of b: lanes of a have
 * numbers from 0 on, and those of b from n on. */
#define DIETCODE_LOW_2_1 0, 2
#define DIETCODE_HIGH_2_1 1, 3
#define DIETCODE_LOW_4_2 0, 1, 4, 5
#define DIETCODE_HIGH_4_2 2, 3, 6, 7
#define DIETCODE_LOW_4_1 0, 4, 2, 6
#define DIETCODE_HIGH_4_1 1, 5, 3, 7
#define DIETCODE_LOW_8_4 0, 1, 2, 3, 8, 9, 10, 11
#define DIETCODE_HIGH_8_4 4, 5, 6, 7, 12, 13, 14, 15
#define DIETCODE_LOW_8_2 0, 1, 8, 9, 4, 5, 12, 13
#define DIETCODE_HIGH_8_2 2, 3, 10, 11, 6, 7, 14, 15
#define DIETCODE_LOW_8_1 0, 8, 2, 10, 4, 12, 6, 14
#define DIETCODE_HIGH_8_1 1, 9, 3, 11, 5, 13, 7, 15
#define DIETCODE_LOW_16_8 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define DIETCODE_HIGH_16_8 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define DIETCODE_LOW_16_4 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define DIETCODE_HIGH_16_4 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define DIETCODE_LOW_16_2 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define DIETCODE_HIGH_16_2 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define DIETCODE_LOW_16_1 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define DIETCODE_HIGH_16_1 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31

/* An n × n transposition exchanges, for each bit d of the index, the off-diagonal d × d blocks of rows r and r + d. */
#define DIETCODE_EXCHANGE(n, rows, d)                                         \
  DIETCODE_UNROLL for (int r = 0; r < (n); ++r) {                             \
    if ((r & (d)) == 0) {                                                     \
      const __typeof__(rows[r]) a = rows[r], b = rows[r + (d)];               \
      rows[r] = DIETCODE_SHUFFLE(n, a, b, DIETCODE_LOW_##n##_##d);            \
      rows[r + (d)] = DIETCODE_SHUFFLE(n, a, b, DIETCODE_HIGH_##n##_##d);     \
    }                                                                         \
  }
/* What `step` does for each bit of an index of n values, the highest first. */
#define DIETCODE_BITS_2(step, ...) step(__VA_ARGS__, 1)
#define DIETCODE_BITS_4(step, ...) step(__VA_ARGS__, 2) step(__VA_ARGS__, 1)
#define DIETCODE_BITS_8(step, ...) step(__VA_ARGS__, 4) step(__VA_ARGS__, 2) step(__VA_ARGS__, 1)
#define DIETCODE_BITS_16(step, ...) step(__VA_ARGS__, 8) step(__VA_ARGS__, 4) step(__VA_ARGS__, 2) step(__VA_ARGS__, 1)

/* The lanes of vectors meet half by half: the lower half of each with the upper one, until one lane is left. As many vectors as there are lanes
 * do so together, in as many steps as a transposition has, and after each they are half as many. Where there are fewer, each vector is first
 * halved. to[n] = what the lanes of all[n] make. */
#define DIETCODE_MEET_add(V, a, b) ((a) + (b))
#define DIETCODE_MEET_mul(V, a, b) ((a) * (b))
#define DIETCODE_MEET_larger(V, a, b) dietcode_larger_##V(a, b)
#define DIETCODE_MEET_smaller(V, a, b) dietcode_smaller_##V(a, b)
#define DIETCODE_MEET_STEP(n, V, op, rows, d)                                                                  \
  DIETCODE_UNROLL for (int r = 0; r < (d); ++r)                                                                \
    rows[r] = DIETCODE_MEET_##op(V, DIETCODE_SHUFFLE(n, rows[r], rows[r + (d)], DIETCODE_LOW_##n##_##d),       \
                                 DIETCODE_SHUFFLE(n, rows[r], rows[r + (d)], DIETCODE_HIGH_##n##_##d));
#define DIETCODE_MEET_PAIRS(T, V, op)                                                                          \
  static inline __attribute__((always_inline)) void dietcode_meet_##op##_##V(T *to, const dietcode_##V *all, int count) { \
    DIETCODE_UNROLL for (int first = 0; first < count; first += 2) {                                           \
      const int last = first + 1 < count ? first + 1 : first;                                                  \
      dietcode_##V rows[2] = {all[first], all[last]};                                                          \
      DIETCODE_MEET_STEP(2, V, op, rows, 1)                                                                    \
      to[first] = rows[0][0];                                                                                  \
      to[last] = rows[0][last - first];                                                                        \
    }                                                                                                          \
  }
#define DIETCODE_MEET_LANES(T, n, V, H, op)                                                                    \
  static inline __attribute__((always_inline)) void dietcode_meet_##op##_##V(T *to, const dietcode_##V *all, int count) { \
    int first = 0;                                                                                             \
    DIETCODE_UNROLL for (; first + (n) <= count; first += (n)) {                                               \
      dietcode_##V rows[n];                                                                                    \
      DIETCODE_UNROLL for (int r = 0; r < (n); ++r) rows[r] = all[first + r];                                  \
      DIETCODE_BITS_##n(DIETCODE_MEET_STEP, n, V, op, rows)                                                    \
      *(dietcode_##V##u *)(to + first) = rows[0];                                                              \
    }                                                                                                          \
    dietcode_##H halves[n];                                                                                    \
    DIETCODE_UNROLL for (int r = 0; r < (n); ++r) {                                                            \
      const int last = first + r < count ? first + r : count - 1;                                              \
      dietcode_##H half[2];                                                                                    \
      __builtin_memcpy(half, &all[last], sizeof half);                                                         \
      halves[r] = DIETCODE_MEET_##op(H, half[0], half[1]);                                                     \
    }                                                                                                          \
    if (first < count) dietcode_meet_##op##_##H(to + first, halves, count - first);                            \
  }
#define DIETCODE_MEET(T, E, op)                       \
  DIETCODE_MEET_PAIRS(T, E##x2, op)                   \
  DIETCODE_MEET_LANES(T, 4, E##x4, E##x2, op)         \
  DIETCODE_MEET_LANES(T, 8, E##x8, E##x4, op)         \
  DIETCODE_MEET_LANES(T, 16, E##x16, E##x8, op)
DIETCODE_MEET(float, f32, add)
DIETCODE_MEET(float, f32, mul)
DIETCODE_MEET(float, f32, larger)
DIETCODE_MEET(float, f32, smaller)

/* to[column * to_stride + lane] = lane < valid ? from[lane * from_stride + column] : 0, n lanes of an element type. Where no lane is
 * valid, nothing is computed of them that is stored, and `to` stays as it is. */
#define DIETCODE_TRANSPOSE(n, name, V, copied, element)                                                    \
  DIETCODE_TRANSPOSE_BY(1, n, name, V, copied, element,                                                    \
    to[column * to_stride + r] = r < valid ? dietcode_load_##name(from[r * from_stride + column]) : 0)

/* The same of elements that are `by` neighbours each, as many bytes as an element of the vectors V in `to`; `move` does it for a lane of a
 * column. */
#define DIETCODE_TRANSPOSE_BY(by, n, name, V, copied, element, move)                                       \
  static inline void dietcode_transpose##n##_##name(copied *restrict to, dietcode_int to_stride,           \
                                                    const element *restrict from, dietcode_int from_stride,\
                                                    dietcode_int valid, dietcode_int columns) {            \
    if (valid <= 0) return;                                                                                \
    dietcode_int column = 0;                                                                               \
    for (; column + (n) <= columns; column += (n)) {                                                       \
      dietcode_##V##x##n rows[n];                                                                          \
      if (valid == (n)) {                                                                                  \
        DIETCODE_UNROLL for (int r = 0; r < (n); ++r)                                                      \
          rows[r] = dietcode_load_##name##x##n(from + r * from_stride + (by) * column);                    \
      } else {                                                                                             \
        DIETCODE_UNROLL for (int r = 0; r < (n); ++r) {                                                    \
          rows[r] = (dietcode_##V##x##n){0};                                                               \
          if (r < valid) rows[r] = dietcode_load_##name##x##n(from + r * from_stride + (by) * column);     \
        }                                                                                                  \
      }                                                                                                    \
      DIETCODE_BITS_##n(DIETCODE_EXCHANGE, n, rows)                                                        \
      DIETCODE_UNROLL for (int r = 0; r < (n); ++r)                                                        \
        *(dietcode_##V##x##n##u *)(to + (column + r) * to_stride) = rows[r];                               \
    }                                                                                                      \
    for (; column < columns; ++column)                                                                     \
      DIETCODE_UNROLL for (int r = 0; r < (n); ++r) move;                                                  \
  }                                                                                                        \
  /* The same in rows of columns and planes of rows; what follows each other on both sides is one run. */  \
  static inline void dietcode_transpose##n##_##name##_runs(                                                \
      copied *restrict to, dietcode_int to_stride, const element *restrict from, dietcode_int from_stride, \
      dietcode_int valid, dietcode_int columns, dietcode_int rows, dietcode_int to_row,                    \
      dietcode_int from_row, dietcode_int planes, dietcode_int to_plane, dietcode_int from_plane) {        \
    if (from_row == (by) * columns && to_row == columns * to_stride) {                                     \
      columns *= rows;                                                                                     \
      rows = 1;                                                                                            \
      if (from_plane == (by) * columns && to_plane == columns * to_stride) {                               \
        columns *= planes;                                                                                 \
        planes = 1;                                                                                        \
      }                                                                                                    \
    }                                                                                                      \
    for (dietcode_int plane = 0; plane < planes; ++plane)                                                  \
      for (dietcode_int row = 0; row < rows; ++row)                                                        \
        dietcode_transpose##n##_##name(to + plane * to_plane + row * to_row, to_stride,                    \
                                       from + plane * from_plane + row * from_row, from_stride, valid,     \
                                       columns);                                                           \
  }
DIETCODE_TRANSPOSE(2, f32, f32, float, float)
DIETCODE_TRANSPOSE(4, f32, f32, float, float)
DIETCODE_TRANSPOSE(8, f32, f32, float, float)
DIETCODE_TRANSPOSE(16, f32, f32, float, float)

#endif
