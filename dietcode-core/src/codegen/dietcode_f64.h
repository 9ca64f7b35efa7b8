/* Numbers of 64 bits, for files that define DIETCODE_F64: what such a nest computes in. Elements of other types are widened, exactly, where they
 * are read. */
#if defined(DIETCODE_F64) && !defined(DIETCODE_F64_H)
#define DIETCODE_F64_H

DIETCODE_TAKEN(double, _f64)
DIETCODE_VECTOR(double, double, f64, _f64, 2)
DIETCODE_VECTOR(double, double, f64, _f64, 4)
DIETCODE_VECTOR(double, double, f64, _f64, 8)
DIETCODE_VECTOR(double, double, f64, _f64, 16)
DIETCODE_MEET(double, f64, add)
DIETCODE_MEET(double, f64, mul)
DIETCODE_MEET(double, f64, larger)
DIETCODE_MEET(double, f64, smaller)

DIETCODE_SOME(double, f64, 2)
#ifdef __AVX__
typedef long long dietcode_mask4 __attribute__((vector_size(32)));
static inline dietcode_mask4 dietcode_mask_4(dietcode_int some) {
  return (dietcode_mask4){0, 1, 2, 3} < ((long long)some - (dietcode_mask4){0});
}
static inline void dietcode_store_some_f64x4(double *to, dietcode_f64x4 x, dietcode_int some) {
  __builtin_ia32_maskstorepd256((void *)to, dietcode_mask_4(some), x);
}
static inline dietcode_f64x4 dietcode_load_some_f64x4(const double *from, dietcode_int some) {
  return __builtin_ia32_maskloadpd256((const void *)from, dietcode_mask_4(some));
}
#else
DIETCODE_SOME(double, f64, 4)
#endif
#ifdef __AVX512F__
static inline uint8_t dietcode_mask_8_of_64(dietcode_int some) {
  return (uint8_t)((UINT32_C(1) << dietcode_imax(dietcode_imin(some, 8), 0)) - 1);
}
static inline void dietcode_store_some_f64x8(double *to, dietcode_f64x8 x, dietcode_int some) {
  __builtin_ia32_storeupd512_mask((void *)to, x, dietcode_mask_8_of_64(some));
}
static inline dietcode_f64x8 dietcode_load_some_f64x8(const double *from, dietcode_int some) {
  return __builtin_ia32_loadupd512_mask((const void *)from, (dietcode_f64x8){0}, dietcode_mask_8_of_64(some));
}
#else
DIETCODE_SOME(double, f64, 8)
#endif
DIETCODE_SOME(double, f64, 16)

/* The float beside a number, towards zero, of which the last bit is set if it is not the number itself: rounded to fewer bits, it becomes what
 * the number becomes that is rounded once (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Transactions on Computers
 * 57(4), 2008). */
static inline float dietcode_odd(double x) {
  float near = (float)x;
  uint32_t bits;
  __builtin_memcpy(&bits, &near, sizeof bits);
  if (near != x) bits = (__builtin_fabs((double)near) > __builtin_fabs(x) ? bits - 1 : bits) | 1;
  __builtin_memcpy(&near, &bits, sizeof bits);
  return near;
}

static inline double dietcode_load_f64(double x) { return x; }
static inline double dietcode_load_f32_f64(float x) { return x; }

#define DIETCODE_WIDENED(n)                                                                                \
  static inline dietcode_f32x##n dietcode_odd_f64x##n(dietcode_f64x##n x) {                                \
    dietcode_f32x##n odd;                                                                                  \
    for (int lane = 0; lane < (n); ++lane) odd[lane] = dietcode_odd(x[lane]);                              \
    return odd;                                                                                            \
  }                                                                                                        \
  static inline dietcode_f64x##n dietcode_load_f32_f64x##n(const float *from) {                            \
    return __builtin_convertvector(dietcode_load_f32x##n(from), dietcode_f64x##n);                         \
  }                                                                                                        \
  DIETCODE_TRANSPOSE(n, f64, f64, double, double)                                                          \
  DIETCODE_TRANSPOSE(n, f32_f64, f64, double, float)
DIETCODE_WIDENED(2)
DIETCODE_WIDENED(4)
DIETCODE_WIDENED(8)
DIETCODE_WIDENED(16)

#endif

/* What a file needs of two parts may be asked for once one of them was read. */
#if defined(DIETCODE_F64) && defined(DIETCODE_HALF) && !defined(DIETCODE_F64_HALF_H)
#define DIETCODE_F64_HALF_H
static inline double dietcode_load_f16_f64(dietcode_f16 x) { return dietcode_load_f16(x); }
static inline double dietcode_load_bf16_f64(dietcode_bf16 x) { return dietcode_load_bf16(x); }
#define DIETCODE_WIDENED_HALF(n)                                                                           \
  static inline dietcode_f64x##n dietcode_load_f16_f64x##n(const dietcode_f16 *from) {                     \
    return __builtin_convertvector(dietcode_load_f16x##n(from), dietcode_f64x##n);                         \
  }                                                                                                        \
  static inline dietcode_f64x##n dietcode_load_bf16_f64x##n(const dietcode_bf16 *from) {                   \
    return __builtin_convertvector(dietcode_load_bf16x##n(from), dietcode_f64x##n);                        \
  }                                                                                                        \
  DIETCODE_TRANSPOSE(n, f16_f64, f64, double, dietcode_f16)                                                \
  DIETCODE_TRANSPOSE(n, bf16_f64, f64, double, dietcode_bf16)
DIETCODE_WIDENED_HALF(2)
DIETCODE_WIDENED_HALF(4)
DIETCODE_WIDENED_HALF(8)
DIETCODE_WIDENED_HALF(16)
#endif

/* Functions are C's, lane by lane. */
#if defined(DIETCODE_F64) && defined(DIETCODE_MATH) && !defined(DIETCODE_F64_MATH_H)
#define DIETCODE_F64_MATH_H
DIETCODE_MANY(_f64x16, dietcode_f64x16, dietcode_i64x16)
#define DIETCODE_F64_FUNCTIONS(n)                                                                          \
  DIETCODE_LANES_OF(f64, , n)                                                                              \
  DIETCODE_LANES(f64, n, exp, __builtin_exp(a[lane]))                                                      \
  DIETCODE_LANES(f64, n, exp2, __builtin_exp2(a[lane]))                                                    \
  DIETCODE_LANES(f64, n, expm1, __builtin_expm1(a[lane]))                                                  \
  DIETCODE_LANES(f64, n, log, __builtin_log(a[lane]))                                                      \
  DIETCODE_LANES(f64, n, log2, __builtin_log2(a[lane]))                                                    \
  DIETCODE_LANES(f64, n, log1p, __builtin_log1p(a[lane]))                                                  \
  DIETCODE_LANES(f64, n, tanh, __builtin_tanh(a[lane]))                                                    \
  DIETCODE_LANES(f64, n, erf, __builtin_erf(a[lane]))                                                      \
  static inline dietcode_f64x##n dietcode_pow_f64x##n(dietcode_f64x##n a, dietcode_f64x##n b) {            \
    for (int lane = 0; lane < (n); ++lane) a[lane] = __builtin_pow(a[lane], b[lane]);                      \
    return a;                                                                                              \
  }
DIETCODE_F64_FUNCTIONS(2)
DIETCODE_F64_FUNCTIONS(4)
DIETCODE_F64_FUNCTIONS(8)
DIETCODE_F64_FUNCTIONS(16)
#endif
