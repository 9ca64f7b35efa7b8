#ifndef DIETCODE_I64
#define DIETCODE_I64
/* Integers of 64 bits: what is too large is the largest, and what is too small the smallest. */
static inline int64_t dietcode_i64_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dietcode_i64_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t dietcode_i64_saturating_add(int64_t a, int64_t b) {
  if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
  if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
  return a + b;
}
static inline int64_t dietcode_i64_saturating_sub(int64_t a, int64_t b) {
  if (b < 0 && a > INT64_MAX + b) return INT64_MAX;
  if (b > 0 && a < INT64_MIN + b) return INT64_MIN;
  return a - b;
}
static inline int64_t dietcode_i64_saturating_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a > 0 ? (b > 0 && a > INT64_MAX / b) : (b < 0 && b < INT64_MAX / a)) return INT64_MAX;
  if (a > 0 ? (b < 0 && b < INT64_MIN / a) : (b > 0 && a < INT64_MIN / b)) return INT64_MIN;
  return a * b;
}
#endif
