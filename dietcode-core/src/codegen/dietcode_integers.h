/* Integers, for files that define DIETCODE_INTEGERS. What is computed in 32 bits is held as an unsigned number, whose sums, differences and products
 * are those modulo 2^32, as a signed one's are not in C; where its sign matters, it is cast. */
#if defined(DIETCODE_INTEGERS) && !defined(DIETCODE_INTEGERS_H)
#define DIETCODE_INTEGERS_H

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
  typedef dietcode_u8 dietcode_u8x##n __attribute__((vector_size(n)));                                       \
  typedef dietcode_i8 dietcode_i8x##n __attribute__((vector_size(n)));                                       \
  typedef dietcode_u8 dietcode_u8x##n##u __attribute__((vector_size(n), aligned(1), may_alias));             \
  typedef dietcode_i8 dietcode_i8x##n##u __attribute__((vector_size(n), aligned(1), may_alias));
/* A transposing copy converts what it loads. */
#define DIETCODE_TRANSPOSES_TO(C, V, T, n, loaded)                                                           \
  static inline dietcode_##V##x##n dietcode_load_##C##_##V##x##n(const dietcode_##C *from) {                 \
    return __builtin_convertvector(loaded, dietcode_##V##x##n);                                              \
  }                                                                                                          \
  DIETCODE_TRANSPOSE(n, C##_##V, V, T, dietcode_##C)
#define DIETCODE_INTEGER_VECTORS(n)                                                                          \
  DIETCODE_SIGNED(n)                                                                                         \
  DIETCODE_VECTOR(dietcode_i32, i32, _i32, n)                                                                \
  DIETCODE_TRANSPOSE(n, i32, i32, dietcode_i32, dietcode_i32)                                                \
  DIETCODE_TRANSPOSES_TO(u8, i32, dietcode_i32, n, *(const dietcode_u8x##n##u *)from)                        \
  DIETCODE_TRANSPOSES_TO(i8, i32, dietcode_i32, n, *(const dietcode_i8x##n##u *)from)                        \
  DIETCODE_TRANSPOSES_TO(u8, f32, float, n, *(const dietcode_u8x##n##u *)from)                               \
  DIETCODE_TRANSPOSES_TO(i8, f32, float, n, *(const dietcode_i8x##n##u *)from)                               \
  DIETCODE_TRANSPOSES_TO(i32, f32, float, n, (dietcode_s32x##n)dietcode_load_i32x##n(from))
DIETCODE_INTEGER_VECTORS(2)
DIETCODE_INTEGER_VECTORS(4)
DIETCODE_INTEGER_VECTORS(8)
DIETCODE_INTEGER_VECTORS(16)
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
#ifdef __AVX512F__
DIETCODE_SOME_BITS(16)
#else
DIETCODE_SOME(dietcode_i32, i32, 16)
#endif

#ifdef DIETCODE_F64
DIETCODE_CONVERTED(u8, f64, double, x)
DIETCODE_CONVERTED(i8, f64, double, x)
DIETCODE_CONVERTED(i32, f64, double, (int32_t)x)
#define DIETCODE_INTEGERS_TO_F64(n)                                                                          \
  DIETCODE_TRANSPOSES_TO(u8, f64, double, n, *(const dietcode_u8x##n##u *)from)                              \
  DIETCODE_TRANSPOSES_TO(i8, f64, double, n, *(const dietcode_i8x##n##u *)from)                              \
  DIETCODE_TRANSPOSES_TO(i32, f64, double, n, (dietcode_s32x##n)dietcode_load_i32x##n(from))
DIETCODE_INTEGERS_TO_F64(2)
DIETCODE_INTEGERS_TO_F64(4)
DIETCODE_INTEGERS_TO_F64(8)
DIETCODE_INTEGERS_TO_F64(16)
#endif

#endif
