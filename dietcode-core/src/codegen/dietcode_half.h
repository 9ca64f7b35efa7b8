/* Elements of 16 bits, for files that define DIETCODE_HALF: IEEE 754's binary16, and the upper half of a float.
 * Arithmetic is in float; dietcode_load converts what is read, and what is stored is rounded to nearest even. */
#if defined(DIETCODE_HALF) && !defined(DIETCODE_HALF_H)
#define DIETCODE_HALF_H

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#define DIETCODE_MASKS_HALF
#endif
#if defined(__F16C__) || defined(__AVX2__) || defined(DIETCODE_MASKS_HALF)
#include <immintrin.h>
#endif

typedef struct {
  uint16_t bits;
} dietcode_f16;
typedef struct {
  uint16_t bits;
} dietcode_bf16;

static inline float dietcode_from_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint32_t dietcode_to_bits(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float dietcode_load_bf16(dietcode_bf16 x) { return dietcode_from_bits((uint32_t)x.bits << 16); }
static inline dietcode_bf16 dietcode_round_bf16(float x) {
  const uint32_t bits = dietcode_to_bits(x);
  const uint32_t rounded = x != x ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
  return (dietcode_bf16){(uint16_t)(rounded >> 16)};
}

#ifdef __F16C__
static inline float dietcode_load_f16(dietcode_f16 x) { return _cvtsh_ss(x.bits); }
static inline dietcode_f16 dietcode_round_f16(float x) {
  return (dietcode_f16){_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)};
}
#else
/* Exponent and fraction at their places in a float are the number times 2^-112, a subnormal one too. */
static inline float dietcode_load_f16(dietcode_f16 x) {
  const uint32_t size = (uint32_t)(x.bits & 0x7fff) << 13, sign = (uint32_t)(x.bits & 0x8000) << 16;
  const uint32_t bits = dietcode_to_bits(dietcode_from_bits(size) * 0x1p112f);
  return dietcode_from_bits(sign | bits | (size >= 0x0f800000 ? 0x7f800000 : 0));
}
static inline dietcode_f16 dietcode_round_f16(float x) {
  const uint32_t bits = dietcode_to_bits(x), size = bits & 0x7fffffff;
  uint32_t rounded;
  if (size > 0x7f800000) {
    rounded = 0x7e00 | (size >> 13 & 0x3ff);
  } else if (size >= 0x477ff000) { /* 65520 */
    rounded = 0x7c00;
  } else if (size < 0x38800000) { /* 2^-14: the sum's last place is the smallest subnormal number */
    rounded = dietcode_to_bits(dietcode_from_bits(size) + 0.5f) - 0x3f000000;
  } else {
    rounded = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  }
  return (dietcode_f16){(uint16_t)(bits >> 16 & 0x8000 | rounded)};
}
#endif

#define dietcode_load(x) _Generic((x), dietcode_f16: dietcode_load_f16, dietcode_bf16: dietcode_load_bf16)(x)

/* n elements, each in twice its bits. GCC 12 makes of 16 two halves, and these from halves. */
#define DIETCODE_WIDEN(n, from) __builtin_convertvector(*(const dietcode_u16x##n##u *)(from), dietcode_u32x##n)
#define DIETCODE_WIDEN_2(from) DIETCODE_WIDEN(2, from)
#define DIETCODE_WIDEN_4(from) DIETCODE_WIDEN(4, from)
#ifdef __AVX2__
#define DIETCODE_WIDEN_8(from) _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from)))
#else
#define DIETCODE_WIDEN_8(from) DIETCODE_WIDEN(8, from)
#endif
#ifdef __AVX512F__
#define DIETCODE_WIDEN_16(from) _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(from)))
#else
#define DIETCODE_WIDEN_16(from) DIETCODE_WIDEN(16, from)
#endif

/* Vectors of n, at any address of an element. */
#define DIETCODE_BF16_VECTOR(n)                                                                           \
  typedef uint32_t dietcode_u32x##n __attribute__((vector_size(4 * (n))));                                \
  typedef uint16_t dietcode_u16x##n __attribute__((vector_size(2 * (n))));                                \
  typedef uint16_t dietcode_u16x##n##u __attribute__((vector_size(2 * (n)), aligned(2), may_alias));      \
  static inline dietcode_f32x##n dietcode_load_bf16x##n(const dietcode_bf16 *from) {                      \
    return (dietcode_f32x##n)((dietcode_u32x##n)DIETCODE_WIDEN_##n(from) << 16);                          \
  }                                                                                                       \
  static inline void dietcode_store_bf16x##n(dietcode_bf16 *to, dietcode_f32x##n x) {                     \
    const dietcode_u32x##n bits = (dietcode_u32x##n)x, nan = (dietcode_u32x##n)(x != x);                  \
    const dietcode_u32x##n number = bits + 0x7fff + (bits >> 16 & 1);                                     \
    const dietcode_u32x##n rounded = (nan & (bits | 0x400000)) | (~nan & number);                         \
    *(dietcode_u16x##n##u *)to = __builtin_convertvector(rounded >> 16, dietcode_u16x##n);                \
  }
DIETCODE_BF16_VECTOR(2)
DIETCODE_BF16_VECTOR(4)
DIETCODE_BF16_VECTOR(8)
DIETCODE_BF16_VECTOR(16)

#define DIETCODE_F16_VECTOR(n, load, store)                                                               \
  static inline dietcode_f32x##n dietcode_load_f16x##n(const dietcode_f16 *from) { return load; }         \
  static inline void dietcode_store_f16x##n(dietcode_f16 *to, dietcode_f32x##n x) { store; }
#define DIETCODE_F16_LANES(n)                                                                             \
  static inline dietcode_f32x##n dietcode_load_f16x##n(const dietcode_f16 *from) {                        \
    dietcode_f32x##n x;                                                                                   \
    for (int r = 0; r < (n); ++r) x[r] = dietcode_load_f16(from[r]);                                      \
    return x;                                                                                             \
  }                                                                                                       \
  static inline void dietcode_store_f16x##n(dietcode_f16 *to, dietcode_f32x##n x) {                       \
    for (int r = 0; r < (n); ++r) to[r] = dietcode_round_f16(x[r]);                                       \
  }
DIETCODE_F16_LANES(2)
#ifdef __F16C__
DIETCODE_F16_VECTOR(4, _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)from)),
                    _mm_storel_epi64((__m128i *)to, _mm_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)))
DIETCODE_F16_VECTOR(8, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)),
                    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)))
#else
DIETCODE_F16_LANES(4)
DIETCODE_F16_LANES(8)
#endif
#ifdef __AVX512F__
DIETCODE_F16_VECTOR(16, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from)),
                    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)))
#else
DIETCODE_F16_LANES(16)
#endif

/* The first lanes of a vector, as DIETCODE_SOME says. */
#define DIETCODE_HALF_SOME(E, n)                                                                             \
  static inline dietcode_f32x##n dietcode_load_some_##E##x##n(const dietcode_##E *from, dietcode_int some) { \
    dietcode_##E all[n] = {{0}};                                                                             \
    for (int lane = 0; lane < (n); ++lane)                                                                   \
      if (lane < some) all[lane] = from[lane];                                                               \
    return dietcode_load_##E##x##n(all);                                                                     \
  }                                                                                                          \
  static inline void dietcode_store_some_##E##x##n(dietcode_##E *to, dietcode_f32x##n x, dietcode_int some) { \
    dietcode_##E all[n];                                                                                     \
    dietcode_store_##E##x##n(all, x);                                                                        \
    for (int lane = 0; lane < (n); ++lane)                                                                   \
      if (lane < some) to[lane] = all[lane];                                                                 \
  }
DIETCODE_HALF_SOME(f16, 2)
DIETCODE_HALF_SOME(bf16, 2)
DIETCODE_HALF_SOME(f16, 4)
DIETCODE_HALF_SOME(bf16, 4)
DIETCODE_HALF_SOME(f16, 8)
DIETCODE_HALF_SOME(bf16, 8)
#ifdef DIETCODE_MASKS_HALF
#define DIETCODE_HALF_SOME_16(E)                                                                           \
  static inline dietcode_f32x16 dietcode_load_some_##E##x16(const dietcode_##E *from, dietcode_int some) { \
    const __m256i all = _mm256_maskz_loadu_epi16(dietcode_mask_16(some), from);                            \
    return dietcode_load_##E##x16((const dietcode_##E *)&all);                                             \
  }                                                                                                        \
  static inline void dietcode_store_some_##E##x16(dietcode_##E *to, dietcode_f32x16 x, dietcode_int some) { \
    __m256i all;                                                                                           \
    dietcode_store_##E##x16((dietcode_##E *)&all, x);                                                      \
    _mm256_mask_storeu_epi16(to, dietcode_mask_16(some), all);                                             \
  }
DIETCODE_HALF_SOME_16(f16)
DIETCODE_HALF_SOME_16(bf16)
#else
DIETCODE_HALF_SOME(f16, 16)
DIETCODE_HALF_SOME(bf16, 16)
#endif

#define DIETCODE_HALF_TRANSPOSES(n)                       \
  DIETCODE_TRANSPOSE(n, f16, f32, float, dietcode_f16)   \
  DIETCODE_TRANSPOSE(n, bf16, f32, float, dietcode_bf16)
DIETCODE_HALF_TRANSPOSES(2)
DIETCODE_HALF_TRANSPOSES(4)
DIETCODE_HALF_TRANSPOSES(8)
DIETCODE_HALF_TRANSPOSES(16)

#ifdef __AVX512BF16__
/* to[column * to_stride + 2 * lane + step] = lane < valid ? from[lane * from_stride + 2 * column + step] : 0, for steps 0 and 1. */
static inline dietcode_f32x16 dietcode_load_bf16x2x16(const dietcode_bf16 *from) {
  dietcode_f32x16 pairs;
  __builtin_memcpy(&pairs, from, sizeof pairs);
  return pairs;
}
DIETCODE_TRANSPOSE_BY(2, 16, bf16x2, f32, dietcode_bf16, dietcode_bf16,
  for (int step = 0; step < 2; ++step)
    to[column * to_stride + 2 * r + step].bits = r < valid ? from[r * from_stride + 2 * column + step].bits : 0)

/* acc[lane] + pairs[2 * lane] * pair[0] + pairs[2 * lane + 1] * pair[1]; see ir/dot.rs for how it rounds. */
static inline dietcode_f32x16 dietcode_vdpbf16ps(dietcode_f32x16 acc, const dietcode_bf16 *pairs, const dietcode_bf16 *pair) {
  int32_t both;
  __builtin_memcpy(&both, pair, sizeof both);
  return (dietcode_f32x16)_mm512_dpbf16_ps((__m512)acc, (__m512bh)_mm512_loadu_si512(pairs), (__m512bh)_mm512_set1_epi32(both));
}
#endif

#endif
