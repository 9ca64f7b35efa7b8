/* Functions of floats, for files that define DIETCODE_MATH: without a branch, a table or a call, each written once, for a float and for the
 * vectors of dietcode.h, so that a lane has the bits that a float has.
 *
 * NaN, infinities, zeros with their signs, and subnormal numbers are as in C. These are the largest errors, in units in the last place of the
 * exact result, with fused multiply-adds and without, found by trying every float (of powers, pairs at random) against functions of double
 * (tests/compiler/functions/accuracy.rs, which reads them here):
 *
 *            fused  not fused
 *   exp      1.00   1.20
 *   exp2     1.00   1.30
 *   expm1    1.50   1.50
 *   log      1.00   1.20
 *   log2     1.25   1.75
 *   log1p    1.65   1.70
 *   tanh     1.96   1.96
 *   erf      1.30   1.65
 *   pow      0.54   0.54
 *
 * Polynomials are minimax for the relative error of the result (erf's upper part: the absolute one), by Remez's exchange in 40 digits; their
 * coefficients are rounded afterwards. ln 2 is taken away in two parts (Cody and Waite, "Software Manual for the Elementary Functions", 1980),
 * of which the first has few enough bits for its products to be exact. */
#if defined(DIETCODE_MATH) && !defined(DIETCODE_MATH_H)
#define DIETCODE_MATH_H

/* What a float, or a double, and vectors of them say in different words: F is how the names of their functions end, T the numbers, I integers
 * of the same size, of which all bits are set where a comparison holds. */
#define DIETCODE_ONE(F, T, I)                                                                    \
  static inline I dietcode_bits##F(T x) {                                                        \
    I bits;                                                                                      \
    __builtin_memcpy(&bits, &x, sizeof bits);                                                    \
    return bits;                                                                                 \
  }                                                                                              \
  static inline T dietcode_real##F(I bits) {                                                     \
    T x;                                                                                         \
    __builtin_memcpy(&x, &bits, sizeof x);                                                       \
    return x;                                                                                    \
  }                                                                                              \
  static inline I dietcode_mask##F(I holds) { return -holds; }                                   \
  static inline T dietcode_pick##F(I holds, T a, T b) { return holds ? a : b; }                  \
  static inline T dietcode_from##F(I x) { return (T)x; }
/* GCC makes of these bits an exclusive or of three, and of a loop over lanes a minimum or a blend. */
#ifdef __clang__
#define DIETCODE_PICK(F, T, I)                                                                   \
  static inline T dietcode_pick##F(I holds, T a, T b) { return (T)((holds & (I)a) | (~holds & (I)b)); }
#else
#define DIETCODE_PICK(F, T, I)                                                                   \
  static inline T dietcode_pick##F(I holds, T a, T b) {                                          \
    for (uint32_t lane = 0; lane < sizeof a / sizeof a[0]; ++lane) b[lane] = holds[lane] ? a[lane] : b[lane]; \
    return b;                                                                                    \
  }
#endif
#define DIETCODE_MANY(F, T, I)                                                                   \
  static inline I dietcode_bits##F(T x) { return (I)x; }                                         \
  static inline T dietcode_real##F(I bits) { return (T)bits; }                                   \
  static inline I dietcode_mask##F(I holds) { return holds; }                                    \
  static inline T dietcode_from##F(I x) { return __builtin_convertvector(x, T); }                \
  DIETCODE_PICK(F, T, I)

#define DIETCODE_TYPES(n)                                                                        \
  typedef int32_t dietcode_s32x##n __attribute__((vector_size(4 * (n))));                        \
  typedef int64_t dietcode_i64x##n __attribute__((vector_size(8 * (n))));                        \
  typedef double dietcode_f64x##n __attribute__((vector_size(8 * (n))));
DIETCODE_TYPES(2)
DIETCODE_TYPES(4)
DIETCODE_TYPES(8)
DIETCODE_TYPES(16)
DIETCODE_ONE(f, float, int32_t)
DIETCODE_ONE(_f64, double, int64_t)
DIETCODE_MANY(_f32x2, dietcode_f32x2, dietcode_s32x2)
DIETCODE_MANY(_f32x4, dietcode_f32x4, dietcode_s32x4)
DIETCODE_MANY(_f32x8, dietcode_f32x8, dietcode_s32x8)
DIETCODE_MANY(_f32x16, dietcode_f32x16, dietcode_s32x16)
DIETCODE_MANY(_f64x2, dietcode_f64x2, dietcode_i64x2)
DIETCODE_MANY(_f64x4, dietcode_f64x4, dietcode_i64x4)
DIETCODE_MANY(_f64x8, dietcode_f64x8, dietcode_i64x8)

/* a * b + c, rounded once where the CPU has an instruction for it. It is said by the compiler's own function, since what -ffp-contract makes
 * of a * b + c depends on what stands around it. */
#define DIETCODE_STEP(F, T, ...) \
  static inline T dietcode_step##F(T a, T b, T c) { return __VA_ARGS__; }
#define DIETCODE_BOTH(F, T, H, half)                                                             \
  static inline T dietcode_step##F(T a, T b, T c) {                                              \
    union { T all; H parts[2]; } x = {a}, y = {b}, z = {c};                                      \
    for (int part = 0; part < 2; ++part) z.parts[part] = dietcode_step##half(x.parts[part], y.parts[part], z.parts[part]); \
    return z.all;                                                                                \
  }
#if defined(__x86_64__) && defined(__FMA__)
DIETCODE_STEP(f, float, __builtin_fmaf(a, b, c))
DIETCODE_STEP(_f64, double, __builtin_fma(a, b, c))
DIETCODE_STEP(_f32x4, dietcode_f32x4, __builtin_ia32_vfmaddps(a, b, c))
DIETCODE_STEP(_f64x2, dietcode_f64x2, __builtin_ia32_vfmaddpd(a, b, c))
DIETCODE_STEP(_f32x8, dietcode_f32x8, __builtin_ia32_vfmaddps256(a, b, c))
DIETCODE_STEP(_f64x4, dietcode_f64x4, __builtin_ia32_vfmaddpd256(a, b, c))
static inline dietcode_f32x2 dietcode_step_f32x2(dietcode_f32x2 a, dietcode_f32x2 b, dietcode_f32x2 c) {
  const dietcode_f32x4 sum = dietcode_step_f32x4((dietcode_f32x4){a[0], a[1]}, (dietcode_f32x4){b[0], b[1]},
                                                 (dietcode_f32x4){c[0], c[1]});
  return (dietcode_f32x2){sum[0], sum[1]};
}
#ifdef __AVX512F__
DIETCODE_STEP(_f32x16, dietcode_f32x16, __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4))
DIETCODE_STEP(_f64x8, dietcode_f64x8, __builtin_ia32_vfmaddpd512_mask(a, b, c, -1, 4))
#else
DIETCODE_BOTH(_f32x16, dietcode_f32x16, dietcode_f32x8, _f32x8)
DIETCODE_BOTH(_f64x8, dietcode_f64x8, dietcode_f64x4, _f64x4)
#endif
#else
DIETCODE_STEP(f, float, a * b + c)
DIETCODE_STEP(_f64, double, a * b + c)
DIETCODE_STEP(_f32x2, dietcode_f32x2, a * b + c)
DIETCODE_STEP(_f32x4, dietcode_f32x4, a * b + c)
DIETCODE_STEP(_f32x8, dietcode_f32x8, a * b + c)
DIETCODE_STEP(_f32x16, dietcode_f32x16, a * b + c)
DIETCODE_STEP(_f64x2, dietcode_f64x2, a * b + c)
DIETCODE_STEP(_f64x4, dietcode_f64x4, a * b + c)
DIETCODE_STEP(_f64x8, dietcode_f64x8, a * b + c)
#endif

/* A number in each lane, and a comparison. */
#define DIETCODE_ALL(T, x) ((x) - (T){0})
#define DIETCODE_WHERE(F, holds, a, b) dietcode_pick##F(dietcode_mask##F(holds), a, b)

/* x * 2^n, rounded once, of a number x near 1 and an integer n of at most 2^8; `shifted` is n + 1.5 * 2^23, whose last bits are n's. The last
 * product is a step: a compiler that contracts would make one instruction of a plain product and what is added to it behind the function, which
 * neither rounds nor overflows between them. It adds 0 and not -0, which is added to any product without effect, so that clang would leave it out:
 * this product is no -0. */
#define DIETCODE_SCALE(F, T, I)                                                                  \
  static inline T dietcode_scale##F(T x, T n, T shifted) {                                       \
    const I all = dietcode_bits##F(shifted) - 0x4b400000, half = all >> 1;                       \
    return dietcode_step##F(x * dietcode_real##F((half + 127) << 23),                            \
                            dietcode_real##F((all - half + 127) << 23), (T){0});                 \
  }
DIETCODE_SCALE(f, float, int32_t)
DIETCODE_SCALE(_f32x2, dietcode_f32x2, dietcode_s32x2)
#ifdef __AVX512VL__
static inline dietcode_f32x4 dietcode_scale_f32x4(dietcode_f32x4 x, dietcode_f32x4 n, dietcode_f32x4 shifted) {
  return __builtin_ia32_scalefps128_mask(x, n, x, -1);
}
static inline dietcode_f32x8 dietcode_scale_f32x8(dietcode_f32x8 x, dietcode_f32x8 n, dietcode_f32x8 shifted) {
  return __builtin_ia32_scalefps256_mask(x, n, x, -1);
}
#else
DIETCODE_SCALE(_f32x4, dietcode_f32x4, dietcode_s32x4)
DIETCODE_SCALE(_f32x8, dietcode_f32x8, dietcode_s32x8)
#endif
#ifdef __AVX512F__
static inline dietcode_f32x16 dietcode_scale_f32x16(dietcode_f32x16 x, dietcode_f32x16 n, dietcode_f32x16 shifted) {
  return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4);
}
#else
DIETCODE_SCALE(_f32x16, dietcode_f32x16, dietcode_s32x16)
#endif

/* exp, exp2: 2^n * e^r, where n is the nearest integer and |r| <= ln 2 / 2. Beyond the bounds of x the result is 0 or infinite.
 * expm1: 2^n * (e^r - 1) + (2^n - 1), doubled at the end so that 2^n is finite.
 * log, log2, log1p: x = 2^e * (1 + f), where -1/3 <= f < 1/3; log1p computes f from x, since 1 + x is rounded.
 * tanh: (e^2x - 1) / (e^2x + 1).
 * erf: x + x * p(x^2) below 1.15, and 1 - p(x - 2.5), a polynomial of the complement, up to 3.9, from where on it is 1: what is 1 - erf of that must be
 * 0, whatever is multiplied with it. */
#define DIETCODE_MATH_OF(F, T, I)                                                                \
  static inline T dietcode_next##F(T sum, T x, float c) { return dietcode_step##F(sum, x, DIETCODE_ALL(T, c)); } \
  static inline T dietcode_times##F(T x, float a, float c) {                                     \
    return dietcode_step##F(x, DIETCODE_ALL(T, a), DIETCODE_ALL(T, c));                          \
  }                                                                                              \
  static inline T dietcode_most##F(T x, float most) { return DIETCODE_WHERE(F, x > most, DIETCODE_ALL(T, most), x); } \
  static inline T dietcode_least##F(T x, float least) { return DIETCODE_WHERE(F, x < least, DIETCODE_ALL(T, least), x); } \
  static inline T dietcode_size##F(T x) { return dietcode_real##F(dietcode_bits##F(x) & 0x7fffffff); } \
  static inline T dietcode_signed##F(T size, T x) {                                              \
    return dietcode_real##F(dietcode_bits##F(size) | (dietcode_bits##F(x) & INT32_MIN));         \
  }                                                                                              \
  static inline T dietcode_without_ln2##F(T x, T n) {                                            \
    const T most = dietcode_step##F(n, DIETCODE_ALL(T, -0x1.63p-1f), x);                         \
    return dietcode_step##F(n, DIETCODE_ALL(T, 0x1.bd0106p-13f), most);                          \
  }                                                                                              \
  static inline T dietcode_exp##F(T x) {                                                         \
    x = dietcode_least##F(dietcode_most##F(x, 89), -104);                                        \
    const T shifted = dietcode_times##F(x, 0x1.715476p0f, 0x1.8p23f), n = shifted - 0x1.8p23f;   \
    const T r = dietcode_without_ln2##F(x, n);                                                   \
    T p = dietcode_times##F(r, 0x1.6a2366p-10f, 0x1.123a6cp-7f);                                 \
    p = dietcode_next##F(p, r, 0x1.5558f4p-5f);                                                  \
    p = dietcode_next##F(p, r, 0x1.555490p-3f);                                                  \
    p = dietcode_next##F(p, r, 0x1.fffffcp-2f);                                                  \
    p = dietcode_next##F(p, r, 1);                                                               \
    p = dietcode_next##F(p, r, 1);                                                               \
    return dietcode_scale##F(p, n, shifted);                                                     \
  }                                                                                              \
  static inline T dietcode_exp2##F(T x) {                                                        \
    x = dietcode_least##F(dietcode_most##F(x, 129), -151);                                       \
    const T shifted = x + 0x1.8p23f, n = shifted - 0x1.8p23f, r = x - n;                         \
    T p = dietcode_times##F(r, 0x1.41fb2ep-13f, 0x1.5f3f30p-10f);                                \
    p = dietcode_next##F(p, r, 0x1.3b2d50p-7f);                                                  \
    p = dietcode_next##F(p, r, 0x1.c6aee6p-5f);                                                  \
    p = dietcode_next##F(p, r, 0x1.ebfbdcp-3f);                                                  \
    p = dietcode_next##F(p, r, 0x1.62e430p-1f);                                                  \
    p = dietcode_next##F(p, r, 1);                                                               \
    return dietcode_scale##F(p, n, shifted);                                                     \
  }                                                                                              \
  static inline T dietcode_half_expm1##F(T x) {                                                  \
    const T shifted = dietcode_times##F(x, 0x1.715476p0f, 0x1.8p23f);                            \
    const T r = dietcode_without_ln2##F(x, shifted - 0x1.8p23f);                                 \
    T p = dietcode_times##F(r, 0x1.a032cap-13f, 0x1.6d7296p-10f);                                \
    p = dietcode_next##F(p, r, 0x1.11118ap-7f);                                                  \
    p = dietcode_next##F(p, r, 0x1.5554b0p-5f);                                                  \
    p = dietcode_next##F(p, r, 0x1.555554p-3f);                                                  \
    p = dietcode_next##F(p, r, 0.5f);                                                            \
    p = dietcode_step##F(p, r * r, r);                                                           \
    const T scale = dietcode_real##F((dietcode_bits##F(shifted) - 0x4b400000 + 126) << 23);      \
    return dietcode_step##F(scale, p, scale - 0.5f);                                             \
  }                                                                                              \
  static inline T dietcode_expm1##F(T x) {                                                       \
    const T half = dietcode_half_expm1##F(dietcode_least##F(dietcode_most##F(x, 89), -25));      \
    return DIETCODE_WHERE(F, dietcode_size##F(x) < 0x1p-25f, x, half + half);                    \
  }                                                                                              \
  static inline T dietcode_tanh##F(T x) {                                                        \
    const T half = dietcode_half_expm1##F(2 * dietcode_most##F(dietcode_size##F(x), 9.1f));      \
    const T sum = half + 1, tanh = half / sum, rounded = DIETCODE_WHERE(F, half < 1, sum - 1 - half, (T){0}); \
    return dietcode_signed##F(dietcode_step##F(tanh, rounded, tanh), x);                         \
  }                                                                                              \
  static inline T dietcode_log_domain##F(T x, T log) {                                           \
    const T finite = DIETCODE_WHERE(F, x < __builtin_inff(), log, x);                            \
    const T none = DIETCODE_WHERE(F, x == 0, DIETCODE_ALL(T, -__builtin_inff()), DIETCODE_ALL(T, __builtin_nanf(""))); \
    return DIETCODE_WHERE(F, x > 0, finite, none);                                               \
  }                                                                                              \
  static inline I dietcode_exponent##F(T x) { return (dietcode_bits##F(x) - 0x3f2aaaab) >> 23; } \
  static inline T dietcode_fraction##F(T x, I exponent) {                                        \
    return dietcode_real##F(dietcode_bits##F(x) - (exponent << 23)) - 1;                         \
  }                                                                                              \
  static inline T dietcode_log_of##F(T f, T e) {                                                 \
    const T square = f * f;                                                                      \
    T even = dietcode_times##F(square, -0x1.080648p-3f, -0x1.f310f0p-4f);                        \
    even = dietcode_next##F(even, square, -0x1.559dcep-3f);                                      \
    even = dietcode_next##F(even, square, -0x1.fffef0p-3f);                                      \
    even = dietcode_next##F(even, square, -0.5f);                                                \
    T odd = dietcode_times##F(square, 0x1.1e676cp-3f, 0x1.1ed6f6p-3f);                           \
    odd = dietcode_next##F(odd, square, 0x1.99d02ap-3f);                                         \
    odd = dietcode_next##F(odd, square, 0x1.555506p-2f);                                         \
    const T p = dietcode_step##F(dietcode_step##F(odd, f, even), square, f);                     \
    return dietcode_step##F(e, DIETCODE_ALL(T, 0x1.62e430p-1f), p);                              \
  }                                                                                              \
  static inline T dietcode_log##F(T x) {                                                         \
    const T normal = DIETCODE_WHERE(F, x < 0x1p-126f, x * 0x1p23f, x);                           \
    const I e = dietcode_exponent##F(normal);                                                    \
    const T shift = DIETCODE_WHERE(F, x < 0x1p-126f, DIETCODE_ALL(T, 23), (T){0});               \
    return dietcode_log_domain##F(x, dietcode_log_of##F(dietcode_fraction##F(normal, e), dietcode_from##F(e) - shift)); \
  }                                                                                              \
  static inline T dietcode_log2##F(T x) {                                                        \
    const T normal = DIETCODE_WHERE(F, x < 0x1p-126f, x * 0x1p23f, x);                           \
    const I e = dietcode_exponent##F(normal);                                                    \
    const T shift = DIETCODE_WHERE(F, x < 0x1p-126f, DIETCODE_ALL(T, 23), (T){0}), f = dietcode_fraction##F(normal, e); \
    T p = dietcode_times##F(f, -0x1.7e992cp-3f, 0x1.9dcb84p-3f);                                 \
    p = dietcode_next##F(p, f, -0x1.677ebep-3f);                                                 \
    p = dietcode_next##F(p, f, 0x1.9daed0p-3f);                                                  \
    p = dietcode_next##F(p, f, -0x1.ece6e8p-3f);                                                 \
    p = dietcode_next##F(p, f, 0x1.279f6cp-2f);                                                  \
    p = dietcode_next##F(p, f, -0x1.715364p-2f);                                                 \
    p = dietcode_next##F(p, f, 0x1.ec7024p-2f);                                                  \
    p = dietcode_next##F(p, f, -0x1.715476p-1f);                                                 \
    const T log2_e = DIETCODE_ALL(T, 0x1.715476p0f), whole = dietcode_from##F(e) - shift;        \
    const T most = dietcode_step##F(f, log2_e, whole), rest = dietcode_step##F(f, log2_e, whole - most); \
    return dietcode_log_domain##F(x, most + dietcode_step##F(p, f * f, rest));                   \
  }                                                                                              \
  static inline T dietcode_log1p##F(T x) {                                                       \
    const T sum = x + 1;                                                                         \
    const I e = dietcode_exponent##F(sum);                                                       \
    const T scale = dietcode_real##F((129 - e) << 23);                                           \
    const T f = dietcode_step##F(x * 0.25f, scale, dietcode_times##F(scale, 0.25f, -1));         \
    const T log = dietcode_log_domain##F(sum, dietcode_log_of##F(f, dietcode_from##F(e)));       \
    return DIETCODE_WHERE(F, dietcode_size##F(x) < 0x1p-25f, x, log);                            \
  }                                                                                              \
  static inline T dietcode_erf##F(T x) {                                                         \
    const T size = dietcode_most##F(dietcode_size##F(x), 3.9f), square = size * size, y = size - 2.5f; \
    T p = dietcode_times##F(square, 0x1.1f8f7ep-14f, -0x1.931c10p-11f);                          \
    p = dietcode_next##F(p, square, 0x1.517982p-8f);                                             \
    p = dietcode_next##F(p, square, -0x1.b79e30p-6f);                                            \
    p = dietcode_next##F(p, square, 0x1.ce2740p-4f);                                             \
    p = dietcode_next##F(p, square, -0x1.81271cp-2f);                                            \
    p = dietcode_next##F(p, square, 0x1.06eba6p-3f);                                             \
    p = dietcode_step##F(p, size, size);                                                         \
    T q = dietcode_times##F(y, 0x1.2de848p-17f, -0x1.5c5bfep-16f);                               \
    q = dietcode_next##F(q, y, -0x1.0160b4p-14f);                                                \
    q = dietcode_next##F(q, y, 0x1.231e32p-12f);                                                 \
    q = dietcode_next##F(q, y, -0x1.2d2ec6p-12f);                                                \
    q = dietcode_next##F(q, y, -0x1.29f282p-11f);                                                \
    q = dietcode_next##F(q, y, 0x1.716e56p-9f);                                                  \
    q = dietcode_next##F(q, y, -0x1.90140cp-8f);                                                 \
    q = dietcode_next##F(q, y, 0x1.1a4e54p-7f);                                                  \
    q = dietcode_next##F(q, y, -0x1.11b496p-7f);                                                 \
    q = dietcode_next##F(q, y, 0x1.64f36cp-8f);                                                  \
    q = dietcode_next##F(q, y, -0x1.1d7d4ap-9f);                                                 \
    q = dietcode_next##F(q, y, 0x1.aab314p-12f);                                                 \
    return dietcode_signed##F(DIETCODE_WHERE(F, size < 1.15f, p, 1 - q), x);                     \
  }
DIETCODE_MATH_OF(f, float, int32_t)
DIETCODE_MATH_OF(_f32x2, dietcode_f32x2, dietcode_s32x2)
DIETCODE_MATH_OF(_f32x4, dietcode_f32x4, dietcode_s32x4)
DIETCODE_MATH_OF(_f32x8, dietcode_f32x8, dietcode_s32x8)
DIETCODE_MATH_OF(_f32x16, dietcode_f32x16, dietcode_s32x16)

/* x^y = 2^(y * log2 |x|), in double: |x| = 2^e * m, where m is between 1/sqrt 2 and sqrt 2, and log2 m = s * p(s^2), s = (m - 1) / (m + 1).
 * D are doubles, L integers of their size. The sign is that of x if y is odd. */
#define DIETCODE_POW_OF(F, T, I, FD, D, L)                                                       \
  static inline I dietcode_whole##F(T size) {                                                    \
    return dietcode_mask##F(size >= 0x1p23f) | dietcode_mask##F(size + 0x1p23f - 0x1p23f == size); \
  }                                                                                              \
  static inline D dietcode_nextd##F(D sum, D x, double c) { return dietcode_step##FD(sum, x, DIETCODE_ALL(D, c)); } \
  static inline T dietcode_pow##F(T x, T y) {                                                    \
    const T base = dietcode_size##F(x), exponent = dietcode_size##F(y);                          \
    const L bits = dietcode_bits##FD(dietcode_wide##F(base)) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd); \
    const D e = dietcode_real##FD((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023);          \
    const D m = dietcode_real##FD((bits & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);             \
    const D s = (m - 1) / (m + 1), square = s * s;                                               \
    D p = dietcode_nextd##F(DIETCODE_ALL(D, 0x1.5ce7e95a98e18p-2), square, 0x1.a58d8e54e24c9p-2); \
    p = dietcode_nextd##F(p, square, 0x1.27777fdd3dc31p-1);                                      \
    p = dietcode_nextd##F(p, square, 0x1.ec709d12ddcf6p-1);                                      \
    p = dietcode_nextd##F(p, square, 0x1.71547652bede8p+1);                                      \
    D log = dietcode_step##FD(s, p, e);                                                          \
    log = DIETCODE_WHERE(FD, dietcode_wide##F(base) == 0, DIETCODE_ALL(D, -__builtin_inf()), log); \
    log = DIETCODE_WHERE(FD, dietcode_wide##F(base) == __builtin_inf(), DIETCODE_ALL(D, __builtin_inf()), log); \
    D t = log * dietcode_wide##F(y);                                                             \
    t = DIETCODE_WHERE(FD, t > 160, DIETCODE_ALL(D, 160), t);                                    \
    t = DIETCODE_WHERE(FD, t < -160, DIETCODE_ALL(D, -160), t);                                  \
    const D shifted = t + 0x1.8p52, r = t - (shifted - 0x1.8p52);                                \
    D q = dietcode_nextd##F(DIETCODE_ALL(D, 0x1.41d344a10b3fap-13), r, 0x1.5f456fd7617ddp-10);   \
    q = dietcode_nextd##F(q, r, 0x1.3b2dbbaba9f36p-7);                                           \
    q = dietcode_nextd##F(q, r, 0x1.c6aed4ae85353p-5);                                           \
    q = dietcode_nextd##F(q, r, 0x1.ebfbdadcd40a7p-3);                                           \
    q = dietcode_nextd##F(q, r, 0x1.62e430c7f15f1p-1);                                           \
    q = dietcode_nextd##F(q, r, 0x1.00000002612e4p+0);                                           \
    const T power = dietcode_narrow##F(q * dietcode_real##FD((dietcode_bits##FD(shifted) << 52) + 0x3ff0000000000000)); \
    const I whole = dietcode_whole##F(exponent), odd = whole & ~dietcode_whole##F(exponent * 0.5f); \
    T z = dietcode_real##F(dietcode_bits##F(power) | (dietcode_bits##F(x) & odd & INT32_MIN));   \
    const I no_root = dietcode_mask##F(x < 0) & dietcode_mask##F(base < __builtin_inff()) & ~whole; \
    z = dietcode_pick##F(no_root | dietcode_mask##F(x != x), DIETCODE_ALL(T, __builtin_nanf("")), z); \
    const I one = dietcode_mask##F(x == 1) | dietcode_mask##F(y == 0) | (dietcode_mask##F(x == -1) & dietcode_mask##F(exponent == __builtin_inff())); \
    return dietcode_pick##F(one, DIETCODE_ALL(T, 1), z);                                         \
  }
#define DIETCODE_CONVERT(F, T, D)                                                                \
  static inline D dietcode_wide##F(T x) { return __builtin_convertvector(x, D); }                \
  static inline T dietcode_narrow##F(D x) { return __builtin_convertvector(x, T); }
#define DIETCODE_POW_BOTH(F, T, H, half)                                                         \
  static inline T dietcode_pow##F(T x, T y) {                                                    \
    union { T all; H parts[2]; } a = {x}, b = {y};                                               \
    for (int part = 0; part < 2; ++part) a.parts[part] = dietcode_pow##half(a.parts[part], b.parts[part]); \
    return a.all;                                                                                \
  }
static inline double dietcode_widef(float x) { return x; }
static inline float dietcode_narrowf(double x) { return x; }
DIETCODE_CONVERT(_f32x2, dietcode_f32x2, dietcode_f64x2)
DIETCODE_CONVERT(_f32x4, dietcode_f32x4, dietcode_f64x4)
DIETCODE_CONVERT(_f32x8, dietcode_f32x8, dietcode_f64x8)
DIETCODE_POW_OF(f, float, int32_t, _f64, double, int64_t)
DIETCODE_POW_OF(_f32x2, dietcode_f32x2, dietcode_s32x2, _f64x2, dietcode_f64x2, dietcode_i64x2)
DIETCODE_POW_OF(_f32x4, dietcode_f32x4, dietcode_s32x4, _f64x4, dietcode_f64x4, dietcode_i64x4)
DIETCODE_POW_OF(_f32x8, dietcode_f32x8, dietcode_s32x8, _f64x8, dietcode_f64x8, dietcode_i64x8)
DIETCODE_POW_BOTH(_f32x16, dietcode_f32x16, dietcode_f32x8, _f32x8)

/* Lane by lane, which is one instruction each, or a few: what C's library and dietcode.h have of a float, f standing behind their names. */
#define DIETCODE_LANES(E, n, name, ...)                                                          \
  static inline dietcode_##E##x##n dietcode_##name##_##E##x##n(dietcode_##E##x##n a) {           \
    for (int lane = 0; lane < (n); ++lane) a[lane] = __VA_ARGS__;                                \
    return a;                                                                                    \
  }
#define DIETCODE_LANES_OF(E, f, n)                                                               \
  DIETCODE_LANES(E, n, fabs, __builtin_fabs##f(a[lane]))                                         \
  DIETCODE_LANES(E, n, floor, __builtin_floor##f(a[lane]))                                       \
  DIETCODE_LANES(E, n, ceil, __builtin_ceil##f(a[lane]))                                         \
  DIETCODE_LANES(E, n, round, __builtin_round##f(a[lane]))                                       \
  DIETCODE_LANES(E, n, sqrt, __builtin_sqrt##f(a[lane]))                                         \
  static inline dietcode_##E##x##n dietcode_max_##E##x##n(dietcode_##E##x##n a, dietcode_##E##x##n b) { \
    for (int lane = 0; lane < (n); ++lane) a[lane] = dietcode_max##f(a[lane], b[lane]);          \
    return a;                                                                                    \
  }                                                                                              \
  static inline dietcode_##E##x##n dietcode_min_##E##x##n(dietcode_##E##x##n a, dietcode_##E##x##n b) { \
    for (int lane = 0; lane < (n); ++lane) a[lane] = dietcode_min##f(a[lane], b[lane]);          \
    return a;                                                                                    \
  }                                                                                              \
  static inline dietcode_##E##x##n dietcode_clamp_##E##x##n(dietcode_##E##x##n a, dietcode_##E##x##n low, dietcode_##E##x##n high) { \
    for (int lane = 0; lane < (n); ++lane) a[lane] = dietcode_clamp##f(a[lane], low[lane], high[lane]); \
    return a;                                                                                    \
  }                                                                                              \
  static inline dietcode_##E##x##n dietcode_fma_##E##x##n(dietcode_##E##x##n a, dietcode_##E##x##n b, dietcode_##E##x##n c) { \
    for (int lane = 0; lane < (n); ++lane) a[lane] = __builtin_fma##f(a[lane], b[lane], c[lane]); \
    return a;                                                                                    \
  }                                                                                              \
  static inline dietcode_##E##x##n dietcode_powi_##E##x##n(dietcode_##E##x##n a, int32_t exponent) { \
    for (int lane = 0; lane < (n); ++lane) a[lane] = dietcode_powi##f(a[lane], exponent);        \
    return a;                                                                                    \
  }
DIETCODE_LANES_OF(f32, f, 2)
DIETCODE_LANES_OF(f32, f, 4)
DIETCODE_LANES_OF(f32, f, 8)
DIETCODE_LANES_OF(f32, f, 16)
#endif
