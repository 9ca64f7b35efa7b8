#include "dietcode.h"

#define EXPORT(n)                                                                 \
  void store_##n(float *to, const float *from, int64_t some) {                    \
    dietcode_store_some_f32x##n(to, *(const dietcode_f32x##n##u *)from, some);    \
  }                                                                               \
  void load_##n(float *to, const float *from, int64_t some) {                     \
    *(dietcode_f32x##n##u *)to = dietcode_load_some_f32x##n(from, some);          \
  }
EXPORT(2)
EXPORT(4)
EXPORT(8)
EXPORT(16)
