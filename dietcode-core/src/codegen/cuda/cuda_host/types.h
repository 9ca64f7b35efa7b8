/* CUDA's vectors and dim3. Kernels read memory of any type as vectors, so the compiler must not conclude what they overlap from
 * their types. What makes them is inlined, see numbers.h. */
#ifndef DIETCODE_HOST_TYPES_H
#define DIETCODE_HOST_TYPES_H

#define DIETCODE_HOST_VECTORS(T, name)                                        \
  struct __align__(2 * sizeof(T)) DIETCODE_MAY_ALIAS name##2 {                \
    T x, y;                                                                   \
  };                                                                          \
  struct DIETCODE_MAY_ALIAS name##3 {                                         \
    T x, y, z;                                                                \
  };                                                                          \
  struct __align__(4 * sizeof(T)) DIETCODE_MAY_ALIAS name##4 {                \
    T x, y, z, w;                                                             \
  };                                                                          \
  __forceinline__ name##2 make_##name##2(T x, T y) { return {x, y}; }                  \
  __forceinline__ name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }          \
  __forceinline__ name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
DIETCODE_HOST_VECTORS(float, float)
DIETCODE_HOST_VECTORS(int, int)
DIETCODE_HOST_VECTORS(unsigned, uint)
#undef DIETCODE_HOST_VECTORS

struct __align__(16) DIETCODE_MAY_ALIAS double2 {
  double x, y;
};
__forceinline__ double2 make_double2(double x, double y) { return {x, y}; }

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#endif
