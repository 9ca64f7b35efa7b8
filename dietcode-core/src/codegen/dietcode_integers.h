/* Integers, for files that define DIETCODE_INTEGERS. What is computed in 32 bits is held as an unsigned number, whose sums, differences and products
 * are those modulo 2^32, as a signed one's are not in C; where its sign matters, it is cast. */
#if defined(DIETCODE_INTEGERS) && !defined(DIETCODE_INTEGERS_H)
#define DIETCODE_INTEGERS_H

#if defined(__AVX512F__) || defined(__AVXVNNI__)
#include <immintrin.h>
#endif

typedef uint8_t dietcode_u8;
typedef int8_t dietcode_i8;
typedef uint32_t dietcode_i32;

static inline dietcode_i32 dietcode_larger_i32(dietcode_i32 acc, dietcode_i32 x) { return (int32_t)x > (int32_t)acc ? x : acc; }
static inline dietcode_i32 dietcode_smaller_i32(dietcode_i32 acc, dietcode_i32 x) { return (int32_t)x < (int32_t)acc ? x : acc; }
#define dietcode_max_i32 dietcode_larger_i32
#define dietcode_min_i32 dietcode_smaller_i32

/* A number of an element type C as one of the type that is computed in, T by its name V. */
#define DIETCODE_CONVERTED(C, V, T, value) \
  static inline T dietcode_load_##C##_##V(dietcode_##C x) { return (T)value; }
DIETCODE_CONVERTED(u8, f32, float, x)
DIETCODE_CONVERTED(i8, f32, float, x)
DIETCODE_CONVERTED(i32, f32, float, (int32_t)x)
DIETCODE_CONVERTED(u8, i32, dietcode_i32, x)
DIETCODE_CONVERTED(i8, i32, dietcode_i32, x)
static inline dietcode_i32 dietcode_load_i32(dietcode_i32 x) { return x; }

/* Vectors of n: signed ones as `S`, at any address of an element. */
#define DIETCODE_SIGNED(n)                                                                                   \
  typedef int32_t dietcode_s32x##n __attribute__((vector_size(4 * (n))));                                    \
  typedef int16_t dietcode_s16x##n __attribute__((vector_size(2 * (n))));                                    \
  typedef dietcode_u8 dietcode_u8x##n __attribute__((vector_size(n)));                                       \
  typedef dietcode_i8 dietcode_i8x##n __attribute__((vector_size(n)));                                       \
  typedef dietcode_u8 dietcode_u8x##n##u __attribute__((vector_size(n), aligned(1), may_alias));             \
  typedef dietcode_i8 dietcode_i8x##n##u __attribute__((vector_size(n), aligned(1), may_alias));
/* As numbers of a type that is computed in, by signed ones of 32 bits; a transposing copy converts what it loads. */
#define DIETCODE_VECTORS_CONVERTED(C, V, T, n, as_signed)                                                    \
  static inline dietcode_##V##x##n dietcode_##C##_as_##V##x##n(dietcode_##C##x##n x) {                       \
    return __builtin_convertvector(as_signed, dietcode_##V##x##n);                                           \
  }                                                                                                          \
  static inline dietcode_##V##x##n dietcode_load_##C##_##V##x##n(const dietcode_##C *from) {                 \
    return dietcode_##C##_as_##V##x##n(*(const dietcode_##C##x##n##u *)from);                                \
  }                                                                                                          \
  DIETCODE_TRANSPOSE(n, C##_##V, V, T, dietcode_##C)
DIETCODE_SIGNED(2)
DIETCODE_SIGNED(4)
DIETCODE_SIGNED(8)
DIETCODE_SIGNED(16)
/* Bytes as signed numbers of 32 bits. GCC 12 converts each lane by itself, but for steps to types that are twice as wide. */
#define DIETCODE_BYTES(n, from_u8, from_i8)                                                                  \
  static inline dietcode_s32x##n dietcode_s32_u8x##n(dietcode_u8x##n x) { return (dietcode_s32x##n)from_u8; } \
  static inline dietcode_s32x##n dietcode_s32_i8x##n(dietcode_i8x##n x) { return (dietcode_s32x##n)from_i8; }
#define DIETCODE_ONE_STEP(n) __builtin_convertvector(x, dietcode_s32x##n)
#define DIETCODE_TWO_STEPS(n) __builtin_convertvector(__builtin_convertvector(x, dietcode_s16x##n), dietcode_s32x##n)
DIETCODE_BYTES(2, DIETCODE_ONE_STEP(2), DIETCODE_ONE_STEP(2))
DIETCODE_BYTES(4, DIETCODE_ONE_STEP(4), DIETCODE_ONE_STEP(4))
#if defined(__AVX2__) && !defined(__clang__)
typedef char dietcode_half_of __attribute__((vector_size(16)));
typedef int64_t dietcode_halves __attribute__((vector_size(16)));
#define DIETCODE_LOW_HALF (dietcode_half_of)((dietcode_halves){(int64_t)x, 0})
DIETCODE_BYTES(8, __builtin_ia32_pmovzxbd256(DIETCODE_LOW_HALF), __builtin_ia32_pmovsxbd256(DIETCODE_LOW_HALF))
#else
DIETCODE_BYTES(8, DIETCODE_ONE_STEP(8), DIETCODE_ONE_STEP(8))
#endif
#if defined(__AVX512F__)
DIETCODE_BYTES(16, _mm512_cvtepu8_epi32((__m128i)x), _mm512_cvtepi8_epi32((__m128i)x))
#else
DIETCODE_BYTES(16, DIETCODE_TWO_STEPS(16), DIETCODE_TWO_STEPS(16))
#endif
#define DIETCODE_INTEGER_VECTORS(n)                                                                          \
  DIETCODE_VECTOR(dietcode_i32, int32_t, i32, _i32, n)                                                       \
  DIETCODE_TRANSPOSE(n, i32, i32, dietcode_i32, dietcode_i32)                                                \
  DIETCODE_VECTORS_CONVERTED(u8, i32, dietcode_i32, n, dietcode_s32_u8x##n(x))                               \
  DIETCODE_VECTORS_CONVERTED(i8, i32, dietcode_i32, n, dietcode_s32_i8x##n(x))                               \
  DIETCODE_VECTORS_CONVERTED(u8, f32, float, n, dietcode_s32_u8x##n(x))                                      \
  DIETCODE_VECTORS_CONVERTED(i8, f32, float, n, dietcode_s32_i8x##n(x))                                      \
  DIETCODE_VECTORS_CONVERTED(i32, f32, float, n, (dietcode_s32x##n)x)
DIETCODE_INTEGER_VECTORS(2)
DIETCODE_INTEGER_VECTORS(4)
DIETCODE_INTEGER_VECTORS(8)
DIETCODE_INTEGER_VECTORS(16)
DIETCODE_MEET(dietcode_i32, i32, add)
DIETCODE_MEET(dietcode_i32, i32, mul)
DIETCODE_MEET(dietcode_i32, i32, larger)
DIETCODE_MEET(dietcode_i32, i32, smaller)
#define dietcode_max_i32x2 dietcode_larger_i32x2
#define dietcode_max_i32x4 dietcode_larger_i32x4
#define dietcode_max_i32x8 dietcode_larger_i32x8
#define dietcode_max_i32x16 dietcode_larger_i32x16
#define dietcode_min_i32x2 dietcode_smaller_i32x2
#define dietcode_min_i32x4 dietcode_smaller_i32x4
#define dietcode_min_i32x8 dietcode_smaller_i32x8
#define dietcode_min_i32x16 dietcode_smaller_i32x16

DIETCODE_SOME(dietcode_i32, i32, 2)
DIETCODE_SOME(dietcode_i32, i32, 4)
/* Bits are moved as those of floats are. */
#define DIETCODE_SOME_BITS(n)                                                                                \
  static inline void dietcode_store_some_i32x##n(dietcode_i32 *to, dietcode_i32x##n x, dietcode_int some) {  \
    dietcode_store_some_f32x##n((float *)to, (dietcode_f32x##n)x, some);                                     \
  }                                                                                                          \
  static inline dietcode_i32x##n dietcode_load_some_i32x##n(const dietcode_i32 *from, dietcode_int some) {   \
    return (dietcode_i32x##n)dietcode_load_some_f32x##n((const float *)from, some);                          \
  }
#ifdef __AVX__
DIETCODE_SOME_BITS(8)
#else
DIETCODE_SOME(dietcode_i32, i32, 8)
#endif
#define DIETCODE_SOME_BYTES(n)              \
  DIETCODE_SOME(dietcode_u8, u8, n)         \
  DIETCODE_SOME(dietcode_i8, i8, n)
DIETCODE_SOME_BYTES(2)
DIETCODE_SOME_BYTES(4)
DIETCODE_SOME_BYTES(8)
#if defined(__AVX512BW__) && defined(__AVX512VL__)
static inline dietcode_u8x16 dietcode_load_some_u8x16(const dietcode_u8 *from, dietcode_int some) {
  return (dietcode_u8x16)_mm_maskz_loadu_epi8(dietcode_mask_16(some), from);
}
static inline dietcode_i8x16 dietcode_load_some_i8x16(const dietcode_i8 *from, dietcode_int some) {
  return (dietcode_i8x16)_mm_maskz_loadu_epi8(dietcode_mask_16(some), from);
}
#else
DIETCODE_SOME_BYTES(16)
#endif
#ifdef __AVX512F__
DIETCODE_SOME_BITS(16)
#else
DIETCODE_SOME(dietcode_i32, i32, 16)
#endif

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
/* to[column * to_stride + 4 * lane + step] = lane < valid ? from[lane * from_stride + 4 * column + step] : 0, for steps 0 to 3. */
#define DIETCODE_QUADS(C, n)                                                                                 \
  static inline dietcode_f32x##n dietcode_load_##C##x4x##n(const dietcode_##C *from) {                       \
    dietcode_f32x##n quads;                                                                                  \
    __builtin_memcpy(&quads, from, sizeof quads);                                                            \
    return quads;                                                                                            \
  }                                                                                                          \
  DIETCODE_TRANSPOSE_BY(4, n, C##x4, f32, dietcode_##C, dietcode_##C,                                        \
    for (int step = 0; step < 4; ++step)                                                                     \
      to[column * to_stride + 4 * r + step] = r < valid ? from[r * from_stride + 4 * column + step] : 0)
DIETCODE_QUADS(u8, 8)
DIETCODE_QUADS(i8, 8)
DIETCODE_QUADS(u8, 16)
DIETCODE_QUADS(i8, 16)

/* acc[lane] + the products of quads[4 * lane] to [4 * lane + 3] and those of a quad; the unsigned operand is the instruction's first. Of
 * operands that are both signed, or both unsigned, the quad is shifted, so that it has the other sign: each byte's highest bit is flipped. */
static inline int32_t dietcode_quad(const void *quad) {
  int32_t all;
  __builtin_memcpy(&all, quad, sizeof all);
  return all;
}
#define DIETCODE_SHIFT ((int32_t)UINT32_C(0x80808080))
#define DIETCODE_VPDPBUSD(name, n, wide, load, dot)                                                          \
  static inline dietcode_i32x##n name##_i8(dietcode_i32x##n acc, const dietcode_i8 *quads, wide quad) {      \
    return (dietcode_i32x##n)dot((wide)acc, quad, load((const void *)quads));                                \
  }                                                                                                          \
  static inline dietcode_i32x##n name##_u8(dietcode_i32x##n acc, const dietcode_u8 *quads, wide quad) {      \
    return (dietcode_i32x##n)dot((wide)acc, load((const void *)quads), quad);                                \
  }
#define DIETCODE_BY_QUADS(name, quads) _Generic(*(quads), dietcode_i8: name##_i8, dietcode_u8: name##_u8)
#endif
#ifdef __AVX512VNNI__
DIETCODE_VPDPBUSD(dietcode_vpdpbusd, 16, __m512i, _mm512_loadu_si512, _mm512_dpbusd_epi32)
#define dietcode_vpdpbusd(acc, quads, quad) \
  DIETCODE_BY_QUADS(dietcode_vpdpbusd, quads)(acc, quads, _mm512_set1_epi32(dietcode_quad(quad)))
#define dietcode_vpdpbusd_shifted(acc, quads, quad) \
  DIETCODE_BY_QUADS(dietcode_vpdpbusd, quads)(acc, quads, _mm512_set1_epi32(dietcode_quad(quad)) ^ _mm512_set1_epi32(DIETCODE_SHIFT))
#define dietcode_vpdpbusd_shifted_zeros(acc, quads) \
  DIETCODE_BY_QUADS(dietcode_vpdpbusd, quads)(acc, quads, _mm512_set1_epi32(DIETCODE_SHIFT))
#endif
#ifdef __AVXVNNI__
DIETCODE_VPDPBUSD(dietcode_vpdpbusd_ymm, 8, __m256i, _mm256_loadu_si256, _mm256_dpbusd_avx_epi32)
#define dietcode_vpdpbusd_ymm(acc, quads, quad) \
  DIETCODE_BY_QUADS(dietcode_vpdpbusd_ymm, quads)(acc, quads, _mm256_set1_epi32(dietcode_quad(quad)))
#define dietcode_vpdpbusd_ymm_shifted(acc, quads, quad) \
  DIETCODE_BY_QUADS(dietcode_vpdpbusd_ymm, quads)(acc, quads, _mm256_set1_epi32(dietcode_quad(quad)) ^ _mm256_set1_epi32(DIETCODE_SHIFT))
#define dietcode_vpdpbusd_ymm_shifted_zeros(acc, quads) \
  DIETCODE_BY_QUADS(dietcode_vpdpbusd_ymm, quads)(acc, quads, _mm256_set1_epi32(DIETCODE_SHIFT))
#endif

#endif

#if defined(DIETCODE_INTEGERS) && defined(DIETCODE_F64) && !defined(DIETCODE_INTEGERS_F64_H)
#define DIETCODE_INTEGERS_F64_H
DIETCODE_CONVERTED(u8, f64, double, x)
DIETCODE_CONVERTED(i8, f64, double, x)
DIETCODE_CONVERTED(i32, f64, double, (int32_t)x)
#define DIETCODE_INTEGERS_TO_F64(n)                                                                          \
  DIETCODE_VECTORS_CONVERTED(u8, f64, double, n, dietcode_s32_u8x##n(x))                                     \
  DIETCODE_VECTORS_CONVERTED(i8, f64, double, n, dietcode_s32_i8x##n(x))                                     \
  DIETCODE_VECTORS_CONVERTED(i32, f64, double, n, (dietcode_s32x##n)x)
DIETCODE_INTEGERS_TO_F64(2)
DIETCODE_INTEGERS_TO_F64(4)
DIETCODE_INTEGERS_TO_F64(8)
DIETCODE_INTEGERS_TO_F64(16)
#endif
