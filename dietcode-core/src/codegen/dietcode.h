/* What the generated C files of dietcode share: the ABI of a micro-kernel (mirrored by dietcode_core::abi). */
#ifndef DIETCODE_H
#define DIETCODE_H

#include <stdint.h>

struct dietcode_micro_kernel {
  const char *name;
  uint64_t cpu_features; /* bits as in dietcode_core::cpu_features */
  int64_t scratch_bytes; /* per thread, aligned to 64 bytes */
  int64_t (*grid)(const int64_t *shape);
  void (*run)(void *const *buffers, const int64_t *strides, const int64_t *shape, void *scratch, int64_t begin,
              int64_t end);
};

struct dietcode_table {
  const struct dietcode_micro_kernel *micro_kernels;
  int64_t len;
};

#endif
