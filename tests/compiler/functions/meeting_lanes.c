#define DIETCODE_F64
#define DIETCODE_INTEGERS
#include "dietcode.h"

/* What the lanes of `count` vectors make, which lie one behind the other. */
#define MEET(T, E, op, n, count)                                                           \
  void meet_##op##_##E##x##n##_##count(T *to, const T *from) {                             \
    dietcode_##E##x##n all[count];                                                         \
    for (int row = 0; row < (count); ++row) all[row] = *(const dietcode_##E##x##n##u *)(from + row * (n)); \
    dietcode_meet_##op##_##E##x##n(to, all, count);                                        \
  }
#define FEW(T, E, op, n) MEET(T, E, op, n, 1) MEET(T, E, op, n, 3) MEET(T, E, op, n, 15)
#define MANY(T, E, op, n) FEW(T, E, op, n) MEET(T, E, op, n, 2) MEET(T, E, op, n, 5) MEET(T, E, op, n, 8) MEET(T, E, op, n, 25)
#define BY_ALL(COUNTS, T, E, n) \
  COUNTS(T, E, add, n) COUNTS(T, E, mul, n) COUNTS(T, E, larger, n) COUNTS(T, E, smaller, n)
BY_ALL(FEW, float, f32, 2)
BY_ALL(FEW, float, f32, 4)
BY_ALL(FEW, float, f32, 8)
BY_ALL(MANY, float, f32, 16)
BY_ALL(FEW, double, f64, 4)
BY_ALL(MANY, double, f64, 8)
BY_ALL(FEW, dietcode_i32, i32, 2)
BY_ALL(MANY, dietcode_i32, i32, 16)
