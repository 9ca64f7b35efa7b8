/* Functions of dietcode_math.h against those of C's double, input by input. */
#define DIETCODE_MATH
#include "dietcode.h"

/* What is found of a function: the largest error, in units in the last place of the exact result, and where; how many results are not what IEEE
 * 754 says of NaN, infinities and signs, or near one where it is one exactly, and how many lanes differ from what is computed of one float, with one such place each. */
struct found {
  double ulps;
  uint64_t wrong, differing;
  float worst[2], wrong_at[2], differing_at[2];
};

static float from_bits(uint32_t bits) { return dietcode_realf((int32_t)bits); }
static int same(float a, float b) { return dietcode_bitsf(a) == dietcode_bitsf(b) || (a != a && b != b); }

static void mark(float at[2], float x, float y) {
  at[0] = x;
  at[1] = y;
}

static void judge(struct found *found, float result, double exact, float x, float y) {
  /* Of an error function or a tangent that is one, nothing is left by 1 - y, which may be multiplied with anything. */
  const int is_one = __builtin_fabs(exact) == 1;
  const int is_nan = exact != exact, ends = is_one || __builtin_isinf(result) || __builtin_isinf((float)exact);
  const int right = is_nan || result != result ? is_nan && result != result
                    : !__builtin_signbit(result) != !__builtin_signbit(exact) ? 0
                    : !ends || result == (float)exact;
  if (!right) {
    ++found->wrong;
    mark(found->wrong_at, x, y);
  } else if (!is_nan && !ends) {
    /* The unit is a float's, of which subnormal ones have that of the smallest normal one. */
    const int64_t exponent = (dietcode_bits_f64(exact) >> 52) & 0x7ff, least = 1023 - 126;
    const double per_unit = dietcode_real_f64((2 * 1023 + 23 - (exponent < least ? least : exponent)) << 52);
    const double ulps = __builtin_fabs(result - exact) * per_unit;
    if (ulps > found->ulps) {
      found->ulps = ulps;
      mark(found->worst, x, y);
    }
  }
}

#define LANES(n, name, xs, ys, ...)                                                       \
  for (int first = 0; first < 16; first += (n)) {                                         \
    const dietcode_f32x##n x = dietcode_load_f32x##n(xs + first), y = dietcode_load_f32x##n(ys + first); \
    const dietcode_f32x##n lanes = dietcode_##name##_f32x##n(__VA_ARGS__);                \
    for (int lane = 0; lane < (n); ++lane)                                                \
      if (!same(lanes[lane], results[first + lane])) {                                    \
        ++found->differing;                                                               \
        mark(found->differing_at, xs[first + lane], ys[first + lane]);                    \
      }                                                                                   \
  }
#define TRY(name, exact, ...)                                                             \
  static void try_16_##name(struct found *found, const float *xs, const float *ys) {      \
    float results[16];                                                                    \
    for (int at = 0; at < 16; ++at) {                                                     \
      const float x = xs[at], y = ys[at];                                                 \
      results[at] = dietcode_##name##f(__VA_ARGS__);                                      \
      judge(found, results[at], exact, x, y);                                             \
    }                                                                                     \
    LANES(2, name, xs, ys, __VA_ARGS__)                                                   \
    LANES(4, name, xs, ys, __VA_ARGS__)                                                   \
    LANES(8, name, xs, ys, __VA_ARGS__)                                                   \
    LANES(16, name, xs, ys, __VA_ARGS__)                                                  \
  }                                                                                       \
  void try_##name(struct found *found, const float *xs, const float *ys, uint64_t count) { \
    for (uint64_t at = 0; at < count; at += 16) try_16_##name(found, xs + at, ys + at);   \
  }                                                                                       \
  /* Of the floats whose bits are first, first + step, …; the second arguments are the same. */ \
  void range_##name(struct found *found, uint64_t first, uint64_t step) {                 \
    for (uint64_t at = first; at < UINT64_C(1) << 32; at += 16 * step) {                  \
      float xs[16];                                                                       \
      for (int lane = 0; lane < 16; ++lane) xs[lane] = from_bits((uint32_t)(at + (uint64_t)lane * step)); \
      try_16_##name(found, xs, xs);                                                       \
    }                                                                                     \
  }
#define ONE(name) TRY(name, __builtin_##name(x), x)
ONE(exp)
ONE(exp2)
ONE(expm1)
ONE(log)
ONE(log2)
ONE(log1p)
ONE(tanh)
ONE(erf)
TRY(pow, __builtin_pow(x, y), x, y)
