/* Conversions between element types, bit by bit as the device's cvt does them, and functions that CUDA has beside <math.h>.
 *
 * What takes or returns a struct is inlined always: GCC does not tell of a struct in memory that a call takes by value or is assigned to. */
#ifndef DIETCODE_HOST_NUMBERS_H
#define DIETCODE_HOST_NUMBERS_H

inline unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
inline int __float_as_int(float x) { return static_cast<int>(__float_as_uint(x)); }
inline float __int_as_float(int bits) { return __uint_as_float(static_cast<unsigned>(bits)); }

/* Towards zero. */
inline float __double2float_rz(double x) {
  const float near = static_cast<float>(x);
  return fabs(static_cast<double>(near)) > fabs(x) ? __uint_as_float(__float_as_uint(near) - 1) : near;
}

__forceinline__ float dietcode_load(float x) { return x; }
__forceinline__ float dietcode_load(dietcode_bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
__forceinline__ float dietcode_load(dietcode_f16 x) {
  /* With its fields where a float has them, it is too small by 2^112, the difference of the biases: also where subnormal. */
  const unsigned magnitude = (x.bits & 0x7fffu) << 13;
  const unsigned value = (x.bits & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000u
                                                     : __float_as_uint(__uint_as_float(magnitude) * 0x1p112f);
  return __uint_as_float(value | (x.bits & 0x8000u) << 16);
}

template <class T> T dietcode_round(float x);
template <> __forceinline__ float dietcode_round<float>(float x) { return x; }
template <> __forceinline__ dietcode_bf16 dietcode_round<dietcode_bf16>(float x) {
  const unsigned bits = __float_as_uint(x);
  return {x != x ? static_cast<unsigned short>(0x7fff)
                 : static_cast<unsigned short>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}
template <> __forceinline__ dietcode_f16 dietcode_round<dietcode_f16>(float x) {
  const unsigned bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu;
  unsigned rounded;
  if (x != x) return {0x7fff};
  if (magnitude >= __float_as_uint(0x1p16f)) {
    rounded = 0x7c00;
  } else if (magnitude < __float_as_uint(0x1p-14f)) {
    /* The last bit of a sum with 1/2 is worth what the last bit of a subnormal is. */
    rounded = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - __float_as_uint(0.5f);
  } else {
    rounded = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  }
  return {static_cast<unsigned short>(rounded | (bits >> 16 & 0x8000u))};
}

inline unsigned dietcode_tf32(float x) {
  const unsigned bits = __float_as_uint(x);
  if (x != x) return 0x7fffffffu;
  return isinf(x) ? bits : (bits + 0x1000u) & ~0x1fffu;
}

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0f / x; }

template <class A, class B>
using dietcode_host_common = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>>;

/* Of a NaN and a number, the number. */
template <class A, class B> dietcode_host_common<A, B> min(A x, B y) {
  const dietcode_host_common<A, B> a = x, b = y;
  return b != b || a < b ? a : b;
}
template <class A, class B> dietcode_host_common<A, B> max(A x, B y) {
  const dietcode_host_common<A, B> a = x, b = y;
  return b != b || a > b ? a : b;
}

template <class T> __forceinline__ T __ldg(const T *from) { return *from; }

#endif
